// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/send_queue.hpp"

#include <algorithm>
#include <string>

namespace portcullis::pmd {
namespace {

/// The second half of a control segment: completion flag, no signature, no immediate.
std::uint64_t control_flags(std::uint8_t fm_ce_se) noexcept {
  prm::Buffer<prm::mlx5_wqe_ctrl_seg> control;
  control.put<"fm_ce_se">(fm_ce_se);
  std::uint64_t half = 0;
  std::memcpy(&half, control.all().last<sizeof half>().data(), sizeof half);
  return half;
}

}  // namespace

SendQueue::SendQueue(std::span<std::byte> ring, std::byte* record, std::span<std::byte> uar_page,
                     std::optional<std::uint32_t> log_size)
    : ring_(ring.data()),
      mask_(log_size ? (std::uint32_t{1} << *log_size) - 1 : ~std::uint32_t{0}),
      limit_(size_blocks()),
      control_flags_{control_flags(0), control_flags(prm::kCtrlCqUpdate)},
      record_(record + prm::record_byte(prm::kSndDbr)),
      doorbells_(uar_page.subspan(prm::kBfOffset, 2 * kDoorbellBufferBytes).data()),
      slot_memory_(log_size ? std::make_unique<Slot[]>(size_blocks()) : nullptr) {
  slots_ = slot_memory_.get();
  reset();
}

void SendQueue::set_qpn(prm::QpNumber qpn) noexcept {
  qpn_ = qpn;
  control_base_ = std::uint64_t{prm::opmod_idx_opcode(prm::WqeOpcode::RDMA_WRITE, 0)} << 32 |
                  prm::qpn_ds(prm::number(qpn), 0);
  last_control_ = cells::be64(control_base_);
}

void SendQueue::reset() noexcept {
  head_ = 0;
  limit_ = size_blocks();
  last_control_ = cells::be64(control_base_);
  // No slot may look outstanding: all start a lap too early.
  std::fill_n(slots_, size_blocks(), Slot{0, 0 - size_blocks(), 0});
  cells::store_release<std::uint32_t>(record_, 0);
}

tl::unexpected<Error> SendQueue::refuse_room(std::uint32_t blocks) const {
  if (blocks > size_blocks())
    return fail(Errc::InvalidArgument, "a WQE of " + std::to_string(blocks) +
                                           " blocks; this send queue has " +
                                           std::to_string(size_blocks()) + " in all");
  return fail(Errc::Busy, "send queue of qpn " + std::to_string(prm::number(qpn_)) +
                              " is full: " + std::to_string(outstanding_blocks()) + " of " +
                              std::to_string(size_blocks()) + " blocks outstanding, " +
                              std::to_string(blocks) + " needed");
}

Result<void> SendQueue::check_room(std::uint32_t blocks) const {
  if (!has_room(blocks)) return refuse_room(blocks);
  return {};
}

}  // namespace portcullis::pmd
