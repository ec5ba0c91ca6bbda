// SPDX-License-Identifier: BSD-3-Clause
//
// The least that can talk to a ConnectX-5: it fills command entries and mailboxes byte by byte as
// the layouts say and lets a test spoil any of them before it rings. It shares nothing with the
// driver but the layouts and DMA memory, so the model is judged by a third party.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dma_memory.hpp"
#include "model/model.hpp"
#include "prm/cmd_interface.hpp"
#include "prm/enums.hpp"
#include "prm/hca_cap.hpp"
#include "prm/hca_commands.hpp"
#include "prm/init_segment.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/port_commands.hpp"
#include "prm/qp_commands.hpp"
#include "prm/status.hpp"
#include "prm/view.hpp"

namespace portcullis::model::testing {

/// What came back in a slot.
struct Answer {
  bool returned = false;  // ownership was given back
  prm::DeliveryStatus delivery = prm::DeliveryStatus::OK;
  prm::CommandStatus status = prm::CommandStatus::OK;
  std::uint32_t syndrome = 0;
  std::vector<std::byte> out;

  [[nodiscard]] bool ok() const {
    return returned && delivery == prm::DeliveryStatus::OK && status == prm::CommandStatus::OK;
  }
  template <class L>
  [[nodiscard]] prm::ConstView<L> as() const {
    return prm::ConstView<L>::at(out);
  }
};

/// A command laid out in DMA memory, not yet owned by the device.
struct Posted {
  std::uint32_t slot = 0;
  std::span<std::byte, prm::cmd_queue_entry::bytes> entry;
  std::vector<DmaBuffer> in_blocks;
  std::vector<DmaBuffer> out_blocks;
  std::size_t out_bytes = 0;

  [[nodiscard]] prm::View<prm::cmd_queue_entry> view() const {
    return prm::View<prm::cmd_queue_entry>(entry);
  }
  [[nodiscard]] prm::View<prm::cmd_if_box> in_block(std::size_t i) const {
    return prm::View<prm::cmd_if_box>::at(in_blocks.at(i).bytes());
  }
  [[nodiscard]] prm::View<prm::cmd_if_box> out_block(std::size_t i) const {
    return prm::View<prm::cmd_if_box>::at(out_blocks.at(i).bytes());
  }
};

class MiniDriver {
 public:
  static constexpr std::uint8_t kToken = 0x5c;
  /// Virtual time costs nothing; on the wall clock it is for machines with much else to do.
  static constexpr std::uint64_t kPatienceNs = 60 * kNsPerSecond;

  explicit MiniDriver(const Options& options = {});
  ~MiniDriver();

  [[nodiscard]] Model& model() { return *model_; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] prm::Registers<prm::mlx5_init_seg> registers() const {
    return prm::Registers<prm::mlx5_init_seg>(device_.bar);
  }
  [[nodiscard]] DmaArena& arena() { return *arena_; }
  [[nodiscard]] DmaBuffer allocate(std::size_t bytes);

  /// Relaxes until `ns` of device time have passed.
  void pass(std::uint64_t ns);
  /// Writes the command queue's address and turns bus mastering on.
  void program_queue();

  /// Lays a command out in `slot`; signs everything when `sign`.
  [[nodiscard]] Posted lay_out(std::uint32_t slot, std::span<const std::byte> in,
                               std::size_t out_bytes, bool sign = false);
  void sign(Posted& posted);
  void hand_over(const Posted& posted);
  void ring(std::uint32_t slot);
  /// One dword to the command doorbell, as it stands.
  void ring_vector(std::uint32_t vector);
  [[nodiscard]] bool is_answered(const Posted& posted) const;
  [[nodiscard]] Answer read_answer(const Posted& posted) const;
  [[nodiscard]] Answer await(const Posted& posted, std::uint64_t patience_ns = kPatienceNs);

  /// The whole of a command in slot 0.
  [[nodiscard]] Answer execute(std::span<const std::byte> in, std::size_t out_bytes);
  template <class Out, class In>
  [[nodiscard]] Answer run(const prm::Buffer<In>& in) {
    return execute(in.all(), Out::bytes);
  }
  /// The same with a list of addresses behind the layout.
  template <class Out, class In>
  [[nodiscard]] Answer run(const prm::Buffer<In>& in, std::span<const Iova> list) {
    return execute(with_list(in.all(), list), Out::bytes);
  }
  [[nodiscard]] static std::vector<std::byte> with_list(std::span<const std::byte> in,
                                                        std::span<const Iova> list);

  // Bring-up in steps, each on top of the one before.
  [[nodiscard]] Answer enable();
  [[nodiscard]] std::int32_t pages_wanted(prm::QueryPagesOpMod what);
  [[nodiscard]] Answer give_pages(std::int32_t count);
  void bring_up_to_boot_pages();
  void bring_up();
  /// SET_HCA_CAP with cmdif_checksum.
  [[nodiscard]] Answer set_checksum(std::uint32_t value);

  // Objects; 0 when the device refused.
  [[nodiscard]] std::uint32_t alloc_uar();
  [[nodiscard]] std::uint32_t alloc_pd();

  [[nodiscard]] const std::vector<DmaBuffer>& given_pages() const { return given_pages_; }

 private:
  [[nodiscard]] std::vector<DmaBuffer> chain(std::span<const std::byte> data, std::size_t bytes);

  std::unique_ptr<Model> model_;
  Device device_;
  std::unique_ptr<DmaArena> arena_;
  DmaBuffer queue_;
  std::vector<DmaBuffer> given_pages_;
};

/// The header of any command.
template <class In>
[[nodiscard]] prm::Buffer<In> command(prm::Opcode opcode) {
  prm::Buffer<In> in;
  in.template put<"opcode">(opcode);
  return in;
}

}  // namespace portcullis::model::testing
