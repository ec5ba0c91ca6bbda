// SPDX-License-Identifier: BSD-3-Clause
#include "proof/stream.hpp"

#include <numeric>
#include <utility>

#include "base/dma_bytes.hpp"
#include "proof/client.hpp"

namespace portcullis::proof {

Result<std::unique_ptr<Stream>> Stream::create(const pmd::Context& context,
                                               const pmd::ProtectionDomain& pd) {
  static_assert(std::accumulate(kWriteBytes.begin(), kWriteBytes.end(), std::size_t{0}) ==
                kRingBytes);  // so no WRITE goes over the ring's end
  PORTCULLIS_TRY_ASSIGN(
      auto memory, DmaMemory::create(*context.device.dma, kRowBytes + kReadSlots * kReadBytes));
  PORTCULLIS_TRY_ASSIGN(
      auto key, pmd::MemoryKey::create_mtt(context, pd, pmd::MemoryRange::zero_based(memory),
                                           {.local_write = true}));
  return std::unique_ptr<Stream>(new Stream(std::move(memory), std::move(key)));
}

void Stream::begin(const StreamTarget& target) {
  target_ = target;
  writes_ = reads_ = 0;
  owes_read_ = only_reads();
  std::byte* const row = memory_.bytes().data();
  for (std::uint64_t at = 0; at < kRowBytes; at += kWordBytes)
    dma_poke_u64(row + at, word(at).value());
  for (auto* const count : {&posted_, &completed_, &read_posted_, &read_completed_})
    count->store(0, std::memory_order_release);
}

bool Stream::has_block(const pmd::QueuePair& qp) noexcept {
  return qp.outstanding_blocks() < std::uint32_t{1} << Client::kLogSendQueue;
}

Result<void> Stream::post(pmd::QueuePair& qp, std::uint64_t now_ns) {
  if (std::exchange(instant_ns_, now_ns) != now_ns) in_instant_ = 0;
  bool has_posted = false;
  while (has_block(qp) && in_instant_ < kMostInInstant) {
    if (owes_read_) {
      // So that no slot is in use twice.
      const std::uint64_t most = only_reads() ? (kReadsUnderWay - 1) * kReadBytes : kReadBytes;
      if (read_posted() - read_completed() > most) break;
      PORTCULLIS_TRY(post_read(qp));
    } else {
      const std::uint32_t bytes =
          stays_in_page() ? kPieceBytes : kWriteBytes[writes_ % kWriteBytes.size()];
      if (posted() + bytes - completed() > kRingBytes) break;
      PORTCULLIS_TRY(post_write(qp, bytes));
    }
    has_posted = true;
  }
  if (has_posted) qp.ring();
  return {};
}

Result<void> Stream::post_write(pmd::QueuePair& qp, std::uint32_t bytes) {
  const std::uint64_t at = posted();
  ++writes_;
  owes_read_ = !stays_in_page() && writes_ % kWritesPerRead == 0;
  in_instant_ += bytes;
  posted_.store(at + bytes, std::memory_order_release);
  return qp.post_write({.address = at % kRowBytes, .lkey = key_.lkey(), .bytes = bytes},
                       {.remote_address = target_.address + at % ring_bytes(),
                        .rkey = target_.rkey,
                        .wr_id = at + bytes});
}

Result<void> Stream::post_read(pmd::QueuePair& qp) {
  const std::uint64_t slot = reads_ % kReadSlots;
  const std::uint32_t bytes = kReadLengths[reads_ % kReadLengths.size()];
  ++reads_;
  owes_read_ = only_reads();
  const std::uint64_t posted = read_posted() + bytes;
  in_instant_ += bytes;
  read_posted_.store(posted, std::memory_order_release);
  pmd::WorkRequest request;
  request.opcode = prm::WqeOpcode::RDMA_READ;
  request.wr_id = kIsRead | posted;
  request.remote_address = target_.address + kRingBytes;
  request.rkey = target_.rkey;
  return qp.post(request,
                 {.address = kRowBytes + slot * kReadBytes, .lkey = key_.lkey(), .bytes = bytes});
}

void Stream::complete(std::uint64_t wr_id) noexcept {
  auto& count = (wr_id & kIsRead) != 0 ? read_completed_ : completed_;
  count.store(wr_id & ~kIsRead, std::memory_order_release);
}

std::int64_t Stream::distance(StreamWord word, std::uint64_t at) noexcept {
  const auto ahead = (word.number + kRowWords - at / kWordBytes % kRowWords) % kRowWords;
  const auto words = static_cast<std::int64_t>(ahead);
  return (words < static_cast<std::int64_t>(kRowWords / 2)
              ? words
              : words - static_cast<std::int64_t>(kRowWords)) *
         static_cast<std::int64_t>(kWordBytes);
}

std::uint64_t Stream::bytes_read(std::uint32_t mark) const noexcept {
  const auto slots = memory_.bytes().subspan(kRowBytes);
  const std::uint64_t wanted = StreamWord{target_.tag, mark}.value();
  std::uint64_t bytes = 0;
  for (std::size_t piece = 0; piece < slots.size(); piece += kPieceBytes) {
    bool is_there = false;
    for (std::size_t at = 0; at < kPieceBytes && !is_there; at += kWordBytes)
      is_there = dma_peek_u64(slots.data() + piece + at) == wanted;
    bytes += is_there ? kPieceBytes : 0;
  }
  return bytes;
}

}  // namespace portcullis::proof
