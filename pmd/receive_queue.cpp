// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/receive_queue.hpp"

#include <string>

#include "pmd/data_segment.hpp"
#include "prm/enums.hpp"

namespace portcullis::pmd {

ReceiveQueue::ReceiveQueue(std::span<std::byte> ring, std::byte* record, std::uint32_t log_size,
                           std::uint32_t log_pieces)
    : ring_(ring.data()),
      record_(record + prm::record_byte(prm::kRcvDbr)),
      log_size_(log_size),
      log_pieces_(log_pieces),
      mask_((std::uint32_t{1} << log_size) - 1),
      posted_(std::make_unique<Posted[]>(std::size_t{1} << log_size)) {
  reset();
}

Result<void> ReceiveQueue::post(std::span<const GatherEntry> pieces, std::uint64_t wr_id) {
  const std::size_t most = std::size_t{1} << log_pieces_;
  PORTCULLIS_TRY(check_pieces(pieces, most));
  if (outstanding() == size())
    return fail(Errc::Busy,
                "the receive queue is full: all " + std::to_string(size()) + " outstanding");
  std::byte* wqe = ring_ + ((head_ & mask_) * most) * prm::kWqeOctowordBytes;
  Posted& posted = posted_[head_ & mask_];
  posted = {wr_id, 0};
  std::size_t segments = 0;
  for (const GatherEntry& piece : pieces) {
    if (piece.bytes == 0) continue;
    put_piece(wqe + segments++ * prm::kWqeOctowordBytes, piece);
    posted.bytes += piece.bytes;
  }
  // What ends a list that does not fill its WQE (mlx5_post_recv).
  if (segments < most)
    put_piece(wqe + segments * prm::kWqeOctowordBytes, {.lkey = prm::kInvalidLkey});
  ++head_;
  return {};
}

void ReceiveQueue::reset() noexcept {
  head_ = tail_ = 0;
  ring();
}

}  // namespace portcullis::pmd
