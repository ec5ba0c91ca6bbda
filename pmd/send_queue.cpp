// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/send_queue.hpp"

#include <string>
#include <utility>

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

SendQueue::SendQueue(DmaBuffer ring, DmaBuffer record, std::span<std::byte> uar_page,
                     std::uint32_t log_size)
    : ring_(ring.data()),
      mask_((std::uint32_t{1} << log_size) - 1),
      control_flags_{control_flags(0), control_flags(prm::kCtrlCqUpdate)},
      record_(record.data() + prm::record_byte(prm::kSndDbr)),
      doorbells_(uar_page.subspan(prm::kBfOffset, 2 * kDoorbellBufferBytes).data()),
      ring_memory_(std::move(ring)),
      record_memory_(std::move(record)),
      slot_memory_(std::make_unique<Slot[]>(std::size_t{1} << log_size)) {
  slots_ = slot_memory_.get();
}

void SendQueue::reset() noexcept {
  head_ = tail_ = rung_ = 0;
  std::fill_n(slots_, size_blocks(), Slot{});
  cells::store_release<std::uint32_t>(record_, 0);
}

void SendQueue::quarantine() noexcept {
  ring_memory_.quarantine();
  record_memory_.quarantine();
}

tl::unexpected<Error> SendQueue::refuse_room(std::uint32_t blocks) const {
  if (blocks > size_blocks())
    return fail(Errc::InvalidArgument, "a WQE of " + std::to_string(blocks) +
                                           " blocks; this send queue has " +
                                           std::to_string(size_blocks()) + " in all");
  return fail(Errc::Busy, "send queue of qpn " + std::to_string(qpn_) +
                              " is full: " + std::to_string(outstanding_blocks()) + " of " +
                              std::to_string(size_blocks()) + " blocks outstanding, " +
                              std::to_string(blocks) + " needed");
}

tl::unexpected<Error> SendQueue::refuse_inline(std::size_t bytes) {
  return fail(Errc::InvalidArgument, std::to_string(bytes) + " bytes inline; at most " +
                                         std::to_string(kMaxInlineBytes) + " are accepted");
}

tl::unexpected<Error> SendQueue::refuse_pieces(std::size_t count) {
  return fail(Errc::InvalidArgument, std::to_string(count) + " gather entries; at most " +
                                         std::to_string(kMaxGather) + " are accepted");
}

tl::unexpected<Error> SendQueue::refuse_piece(std::uint32_t bytes) {
  return fail(Errc::InvalidArgument, "a gather entry of " + std::to_string(bytes) +
                                         " bytes; at most " + std::to_string(prm::kInlineSeg - 1) +
                                         " are accepted");
}

}  // namespace portcullis::pmd
