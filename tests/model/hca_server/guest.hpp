// SPDX-License-Identifier: BSD-3-Clause
//
// A guest of hca-server: the client's end of a real vfio-user socket, guest memory, and the least
// of a driver on top. It answers the server's DMA messages from its memory: at once, as QEMU does
// not before it has the reply it waits for, or when it is told to.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "model/hca_server/hca_function.hpp"
#include "model/hca_server/serve.hpp"
#include "prm/enums.hpp"
#include "prm/init_segment.hpp"

namespace portcullis::model::testing {

/// A function, a listening socket and the thread that serves it.
class ServedFunction {
 public:
  explicit ServedFunction(const Options& options = {}, const std::string& wire = "");
  /// As hca-server --shm: `linger` is how long the function goes on behind an owner.
  ServedFunction(Owner owner, std::chrono::milliseconds linger,
                 std::unique_ptr<FrameChannel> channel = nullptr);
  ~ServedFunction();
  ServedFunction(const ServedFunction&) = delete;
  ServedFunction& operator=(const ServedFunction&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Lines that the server logged so far.
  [[nodiscard]] std::vector<std::string> log() const;
  /// Waits for a line that holds `text`; false: a minute was not enough.
  [[nodiscard]] bool says(const std::string& text) const;
  /// Stops serving; what the function then holds can be looked at.
  HcaFunction& stop();

 private:
  std::string path_;
  std::unique_ptr<HcaFunction> function_;
  std::optional<vfio_user::Listener> listener_;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> log_;
  std::thread thread_;
};

/// What came back in a command entry.
struct GuestAnswer {
  bool returned = false;
  std::uint8_t delivery = 0;
  std::uint8_t status = 0;
  std::vector<std::byte> out;
  [[nodiscard]] bool ok() const { return returned && delivery == 0 && status == 0; }
};

class Guest {
 public:
  static constexpr std::size_t kMemoryBytes = std::size_t{4} << 20;
  static constexpr Iova kBase = 0x1'0000'0000;

  /// Connects and negotiates; maps nothing.
  explicit Guest(const std::string& path);
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  /// DMA_MAP of the whole memory at kBase. `with_file`: the server maps it; otherwise messages.
  [[nodiscard]] std::uint32_t map(bool with_file, std::uint32_t flags = 3);
  /// DMA_MAP of `bytes` of the memory from `offset` on.
  [[nodiscard]] std::uint32_t map_part(std::uint64_t offset, std::uint64_t bytes, bool with_file,
                                       std::uint32_t flags = 3);
  [[nodiscard]] std::uint32_t unmap(Iova address, std::uint64_t bytes);
  /// The memory's file has no page left; nobody may touch memory() after that.
  void cut_memory_short();

  /// One message and its reply; the errno of the reply, `payload` is replaced by the reply's.
  std::uint32_t call(vfio_user::Command command, std::vector<std::byte>& payload,
                     std::span<const int> fds = {});
  /// From now on DMA messages are answered when no reply is awaited: QEMU answers them in its main
  /// loop, whose lock the thread that waits for a reply holds (vfio_user_request and
  /// vfio_user_send_wait of hw/vfio-user/proxy.c).
  void answer_dma_late() { answers_ = Answers::AfterReplies; }
  /// From now on DMA messages are kept, until answer_dma().
  void withhold_dma() { answers_ = Answers::Withheld; }
  /// Those that were kept are answered, and from now on each at once.
  void answer_dma();
  /// A store, and what it sets off is over.
  void write_bar(std::uint64_t offset, std::uint32_t big_endian_value);
  /// Returns when the server has nothing to do.
  void settle();
  /// A store, and nothing else.
  void post_bar(std::uint64_t offset, std::uint32_t big_endian_value);
  [[nodiscard]] std::uint32_t read_bar(std::uint64_t offset);
  void write_config(std::uint64_t offset, std::uint16_t value);
  [[nodiscard]] std::uint16_t read_config(std::uint64_t offset);
  void reset_device();
  /// The eventfd of one MSI-X vector, and MSI-X enabled.
  void set_msix(std::uint32_t vector, int eventfd);
  /// Raw bytes on the socket, whatever they are.
  void send_raw(std::span<const std::byte> bytes);
  /// True when the server has hung up.
  [[nodiscard]] bool is_hung_up();
  void set_bus_master(bool on);

  [[nodiscard]] std::span<std::byte> memory() { return memory_; }
  [[nodiscard]] static constexpr Iova iova(std::size_t offset) { return kBase + offset; }
  /// How many DMA messages the server sent, reads and writes.
  [[nodiscard]] std::size_t dma_reads() const { return dma_reads_; }
  [[nodiscard]] std::size_t dma_writes() const { return dma_writes_; }
  /// Messages for addresses this guest has not mapped; each was answered with EFAULT.
  [[nodiscard]] std::size_t dma_refused() const { return dma_refused_; }

  /// Bus master on, queue address programmed, initialisation awaited.
  void start();
  /// A command in `slot`, laid out in memory from the first page on.
  void lay_out(std::span<const std::byte> in, std::size_t out_bytes, std::uint32_t slot = 0);
  static constexpr std::uint64_t kCommandDoorbell =
      prm::place<prm::mlx5_init_seg, "cmd_dbell">.offset / 8;
  /// What stands in an entry now, and in the output blocks.
  [[nodiscard]] GuestAnswer answer_in(std::uint32_t slot, std::size_t out_bytes);
  /// A command laid out, rung and awaited.
  [[nodiscard]] GuestAnswer execute(std::span<const std::byte> in, std::size_t out_bytes,
                                    std::uint32_t slot = 0);
  /// ENABLE_HCA, the pages asked for, INIT_HCA.
  [[nodiscard]] bool bring_up();
  /// The same of a driver that wants to hear of firmware resets.
  [[nodiscard]] bool bring_up_to_hear();

 private:
  enum class Answers : std::uint8_t { AtOnce, AfterReplies, Withheld };
  [[nodiscard]] bool enable();
  [[nodiscard]] bool give_pages(prm::QueryPagesOpMod what);
  [[nodiscard]] bool ask_to_hear();
  [[nodiscard]] bool init();
  [[nodiscard]] bool is_mapped(Iova address, std::uint64_t bytes) const;
  void serve_dma(const vfio_user::Message& message);
  void serve_kept();
  [[nodiscard]] std::size_t dma_messages() const { return dma_reads_ + dma_writes_ + dma_refused_; }
  std::uint64_t chain(std::size_t at, std::span<const std::byte> data, std::size_t bytes);

  UniqueFd file_;
  std::span<std::byte> memory_;
  std::optional<vfio_user::Connection> connection_;
  std::uint16_t next_id_ = 1;
  std::size_t dma_reads_ = 0;
  std::size_t dma_writes_ = 0;
  std::size_t dma_refused_ = 0;
  std::vector<std::pair<Iova, std::uint64_t>> mapped_;
  std::size_t given_ = 0;  // bytes of firmware pages
  Answers answers_ = Answers::AtOnce;
  std::vector<vfio_user::Message> kept_;
};

[[nodiscard]] GuestAnswer alloc_uar(Guest& guest);
/// An EQ of events of that type with its page at `offset` of the guest's memory, not armed; its
/// number, or nothing when a command failed.
[[nodiscard]] std::optional<std::uint32_t> create_eq(Guest& guest, prm::EventType type,
                                                     std::uint32_t uar, std::uint8_t vector,
                                                     std::size_t offset);

}  // namespace portcullis::model::testing
