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
      limit_(std::uint32_t{1} << log_size),
      control_flags_{control_flags(0), control_flags(prm::kCtrlCqUpdate)},
      record_(record.data() + prm::record_byte(prm::kSndDbr)),
      doorbells_(uar_page.subspan(prm::kBfOffset, 2 * kDoorbellBufferBytes).data()),
      ring_memory_(std::move(ring)),
      record_memory_(std::move(record)),
      slot_memory_(std::make_unique<Slot[]>(std::size_t{1} << log_size)) {
  slots_ = slot_memory_.get();
  reset();
}

void SendQueue::set_qpn(std::uint32_t qpn) noexcept {
  qpn_ = qpn;
  control_base_ = std::uint64_t{prm::opmod_idx_opcode(prm::WqeOpcode::RDMA_WRITE, 0)} << 32 |
                  prm::qpn_ds(qpn, 0);
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

void SendQueue::quarantine() noexcept {
  ring_memory_.quarantine();
  record_memory_.quarantine();
}

Result<void> SendQueue::post_any_inline(std::span<const std::byte> data,
                                        const WriteRequest& request) {
  if (data.size() > kMaxInlineBytes)
    return fail(Errc::InvalidArgument, std::to_string(data.size()) + " bytes inline; at most " +
                                           std::to_string(kMaxInlineBytes) + " are accepted");
  const auto bytes = static_cast<std::uint32_t>(data.size());
  const std::uint32_t octowords = (kInlineHeaderBytes + bytes + kSegmentBytes - 1) / kSegmentBytes;
  const std::uint32_t blocks = prm::wqe_blocks(octowords);
  if (!has_room(blocks)) return refuse_room(blocks);

  std::uint32_t counter = head_;
  std::byte* wqe = begin(blocks, octowords, request);
  const auto segment = prm::View<prm::mlx5_wqe_inl_data_seg>::at(
      {wqe + 2 * kSegmentBytes, prm::mlx5_wqe_inl_data_seg::bytes});
  segment.put<"byte_count">(prm::inline_byte_count(bytes));
  std::span<std::byte> room(wqe + kInlineHeaderBytes, prm::kSendWqeBlockBytes - kInlineHeaderBytes);
  while (true) {
    const std::size_t piece = std::min(data.size(), room.size());
    std::copy_n(data.begin(), piece, room.begin());
    data = data.subspan(piece);
    if (data.empty()) break;
    room = {block(++counter), prm::kSendWqeBlockBytes};
  }
  return {};
}

Result<void> SendQueue::post_write(std::span<const GatherEntry> pieces,
                                   const WriteRequest& request) {
  if (pieces.size() > kMaxGather)
    return fail(Errc::InvalidArgument, std::to_string(pieces.size()) + " gather entries; at most " +
                                           std::to_string(kMaxGather) + " are accepted");
  for (const GatherEntry& piece : pieces)
    if (piece.bytes >= prm::kInlineSeg) return refuse_piece(piece.bytes);
  const std::uint32_t octowords = 2 + static_cast<std::uint32_t>(pieces.size());
  const std::uint32_t blocks = prm::wqe_blocks(octowords);
  if (!has_room(blocks)) return refuse_room(blocks);

  const std::uint32_t head = head_;
  begin(blocks, octowords, request);
  constexpr std::uint32_t kInBlock = prm::kSendWqeBlockBytes / kSegmentBytes;
  std::uint32_t segment = 2;
  for (const GatherEntry& piece : pieces) {
    put_piece(block(head + segment / kInBlock) + segment % kInBlock * kSegmentBytes, piece);
    ++segment;
  }
  return {};
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

tl::unexpected<Error> SendQueue::refuse_piece(std::uint32_t bytes) {
  return fail(Errc::InvalidArgument, "a gather entry of " + std::to_string(bytes) +
                                         " bytes; at most " + std::to_string(prm::kInlineSeg - 1) +
                                         " are accepted");
}

}  // namespace portcullis::pmd
