// SPDX-License-Identifier: BSD-3-Clause
//
// The server's half of vfio-user: one PCI device for one client. Messages are checked here, and
// what passes reaches the Backend; what does not is answered with an errno and changes nothing. A
// client that breaks the framing itself is hung up on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/vfio_user/connection.hpp"
#include "model/vfio_user/guest_memory.hpp"

namespace portcullis::model::vfio_user {

/// The device behind the socket. Region indices are VFIO's (VFIO_PCI_BAR0_REGION_INDEX ..).
///
/// Nothing here may ask the client for memory: the client waits for the reply, and QEMU answers
/// nothing while it does (vfio_user_send_wait under its global lock, vfio_user_request in its main
/// loop). Everything here may be called while the device waits in dma_read() or dma_write().
class Backend {
 public:
  virtual ~Backend() = default;
  /// Bytes of a region; 0: the device has none of that index.
  [[nodiscard]] virtual std::uint64_t region_bytes(std::uint32_t region) const = 0;
  /// The file behind a region, which the client may map from its first byte on; -1: every access
  /// is a message.
  [[nodiscard]] virtual int region_file(std::uint32_t /*region*/) const { return -1; }
  /// Interrupts of an index; 0: none.
  [[nodiscard]] virtual std::uint32_t interrupts(std::uint32_t index) const = 0;
  /// Access inside the region, which the server has checked.
  virtual void read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> to) = 0;
  virtual void write(std::uint32_t region, std::uint64_t offset,
                     std::span<const std::byte> from) = 0;
  /// The range may be reached from now on.
  [[nodiscard]] virtual Result<void> mapped(const GuestRange& range) = 0;
  /// Returns when nothing touches the range any more. What was asked of the client by message is
  /// the client's to refuse.
  virtual void unmapped(const GuestRange& range) = 0;
  /// Whoever is in dma_read() or dma_write() then must not ask for anything before it is reset: see
  /// Server::abandon_dma().
  virtual void reset() = 0;
  /// False: no write() may come before the device has worked, so no message is read.
  [[nodiscard]] virtual bool has_room() const = 0;
};

/// How long one client may hold the server.
struct Patience {
  int message_ms = 5000;  // from the first byte of a command until its reply is taken
  int dma_ms = 2000;      // for one dma_read() or dma_write()
};

class Server {
 public:
  /// `backend` must outlive the server.
  Server(Backend& backend, UniqueFd client, Patience patience = {}) noexcept
      : backend_(&backend), connection_(std::move(client)), patience_(patience) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// The client is gone: its memory and interrupts are let go, the device keeps its state.
  ~Server();

  /// Hears in one line of the first DMA_MAP that is refused for want of something; the client has
  /// an errno for each.
  void on_refusal(std::function<void(std::string_view)> tell) { tell_ = std::move(tell); }

  [[nodiscard]] int fd() const noexcept { return connection_.fd(); }
  /// True when serve_one() will end the connection, whatever comes.
  [[nodiscard]] bool is_broken() const noexcept { return broken_.has_value(); }
  /// Takes one message and answers it. False when the client hung up; an error when it must be.
  [[nodiscard]] Result<bool> serve_one();

  /// Signals one interrupt of VFIO_PCI_MSIX_IRQ_INDEX; false when the client set none up there, or
  /// its eventfd takes no more.
  bool trigger_msix(std::uint32_t vector) noexcept;
  /// Memory that came without a file. The range has been checked by whoever asks. Commands that
  /// come before the reply are served, in order. After the first one that is not answered in time
  /// every other fails at once, and serve_one() hangs up.
  [[nodiscard]] Result<void> dma_read(Iova from, std::span<std::byte> to);
  [[nodiscard]] Result<void> dma_write(Iova to, std::span<const std::byte> from);
  /// The device is reset: a dma_read() or dma_write() that waits now fails as soon as the command
  /// in hand is answered, and the client's answer to it, which may come later, is passed over.
  void abandon_dma() noexcept { is_abandoning_ = true; }

 private:
  /// A reply's payload, or the errno that stands in its place.
  using Reply = tl::expected<std::vector<std::byte>, int>;

  [[nodiscard]] Result<bool> take_one();
  [[nodiscard]] tl::unexpected<Error> hang_up(const Error& why);
  [[nodiscard]] Result<void> serve(Message& message, const Deadline& deadline);
  [[nodiscard]] Reply dispatch(Message& message);
  [[nodiscard]] Reply negotiate(const Message& message);
  [[nodiscard]] Reply dma_map(Message& message);
  [[nodiscard]] Reply refuse_map(const Error& error);
  [[nodiscard]] Reply dma_unmap(const Message& message);
  [[nodiscard]] Reply device_info(const Message& message) const;
  [[nodiscard]] Reply region_info(const Message& message);
  [[nodiscard]] Reply irq_info(const Message& message) const;
  [[nodiscard]] Reply set_irqs(Message& message);
  [[nodiscard]] Reply region_read(const Message& message);
  [[nodiscard]] Reply region_write(const Message& message);
  void let_go(const GuestRange& range);
  void let_go_of_all();
  /// A command from us and its reply; nothing when it was abandoned.
  [[nodiscard]] Result<std::optional<Message>> request(Command command,
                                                       std::span<const std::byte> payload,
                                                       const Deadline& deadline);
  [[nodiscard]] Result<std::optional<Message>> exchange(Command command,
                                                        std::span<const std::byte> payload,
                                                        const Deadline& deadline);
  [[nodiscard]] bool forget_abandoned(const Message& message);
  [[nodiscard]] bool is_inside(const RegionAccess& access) const;

  Backend* backend_;
  Connection connection_;
  GuestMemory memory_;
  std::map<std::uint32_t, std::vector<UniqueFd>> eventfds_;  // by interrupt index
  std::vector<int> reply_files_;                             // that go with the reply in hand
  std::size_t max_transfer_bytes_ = kMaxTransferBytes;       // the client's
  Patience patience_;
  std::function<void(std::string_view)> tell_;
  bool negotiated_ = false;
  std::uint16_t next_id_ = 1;
  bool is_abandoning_ = false;
  std::vector<std::uint16_t> abandoned_;  // ids of requests whose replies nobody wants any more
  std::optional<Error> broken_;           // a request of ours was not answered: no other is made
};

}  // namespace portcullis::model::vfio_user
