// SPDX-License-Identifier: BSD-3-Clause
//
// The send queue of one QP: the ring of 64-byte basic blocks that the device fetches WQEs from, its
// doorbell record and its doorbell. The data path; everything that runs per request is in this
// header, a request costs tens of instructions, and nothing here reads a clock or relaxes.
//
// A WQE becomes the device's in ring(): the record's release store hands over every WQE before it,
// the doorbell tells the device to look. post_* alone change nothing that the device acts on.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/cells.hpp"
#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "prm/doorbell.hpp"
#include "prm/view.hpp"
#include "prm/wqe.hpp"

namespace portcullis::pmd {

/// Where an RDMA WRITE goes and how its completion is told.
struct WriteRequest {
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0;
  std::uint64_t wr_id = 0;  // given back in the Completion
  bool signaled = true;     // unsignaled requests complete with the next signaled one, or in error
};

/// A piece of local memory to send.
struct GatherEntry {
  std::uint64_t address = 0;  // as the key addresses it
  std::uint32_t lkey = 0;
  std::uint32_t bytes = 0;
};

class SendQueue {
 public:
  /// A WQE here is at most four basic blocks, far below what any ConnectX-5 takes.
  static constexpr std::uint32_t kMaxWqeBytes = 256;
  static constexpr std::uint32_t kSegmentBytes = prm::kWqeOctowordBytes;
  static constexpr std::uint32_t kInlineHeaderBytes =
      2 * kSegmentBytes + prm::mlx5_wqe_inl_data_seg::bytes;
  static constexpr std::uint32_t kMaxInlineBytes = kMaxWqeBytes - kInlineHeaderBytes;
  static constexpr std::uint32_t kMaxGather = kMaxWqeBytes / kSegmentBytes - 2;

  /// `ring` holds 2^log_size basic blocks; `record` a doorbell record; `uar_page` the cells.
  SendQueue(DmaBuffer ring, DmaBuffer record, std::span<std::byte> uar_page,
            std::uint32_t log_size);
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  /// RDMA WRITE of bytes copied into the WQE. Busy when the queue has no room, InvalidArgument for
  /// more than kMaxInlineBytes.
  [[nodiscard]] Result<void> post_write_inline(std::span<const std::byte> data,
                                               const WriteRequest& request);
  /// RDMA WRITE of bytes the device fetches itself. InvalidArgument for more than kMaxGather pieces
  /// or one of 2 GiB or more.
  [[nodiscard]] Result<void> post_write(std::span<const GatherEntry> pieces,
                                        const WriteRequest& request);
  /// Hands everything posted to the device; nothing when nothing was.
  void ring() noexcept;

  /// Takes the WQE that a CQE names, and all before it, off the queue. Null when the device names
  /// one that is not outstanding; otherwise its wr_id.
  [[nodiscard]] const std::uint64_t* complete(std::uint16_t wqe_counter) noexcept {
    Slot& slot = slots_[wqe_counter & mask_];
    if (static_cast<std::uint16_t>(slot.start) != wqe_counter ||
        slot.start - tail_ >= head_ - tail_) [[unlikely]]
      return nullptr;
    tail_ = slot.end;
    return &slot.wr_id;
  }

  /// Basic blocks of posted WQEs whose completion has not been seen.
  [[nodiscard]] std::uint32_t outstanding_blocks() const noexcept { return head_ - tail_; }
  [[nodiscard]] std::uint32_t size_blocks() const noexcept { return mask_ + 1; }
  [[nodiscard]] Iova ring_iova() const noexcept { return ring_memory_.iova(); }
  [[nodiscard]] Iova record_iova() const noexcept { return record_memory_.iova(); }
  [[nodiscard]] std::uint32_t qpn() const noexcept { return qpn_; }

  /// After CREATE_QP: the number that every WQE carries.
  void set_qpn(std::uint32_t qpn) noexcept { qpn_ = qpn; }
  /// After 2RST_QP: empty, as the device takes it up from RESET.
  void reset() noexcept;
  /// The device may use the memory for ever: it is never given back.
  void quarantine() noexcept;

 private:
  struct Slot {
    std::uint64_t wr_id = 0;
    std::uint32_t start = 0;  // counters of basic blocks
    std::uint32_t end = 0;
  };

  [[nodiscard]] bool has_room(std::uint32_t blocks) const noexcept {
    return mask_ + 1 - (head_ - tail_) >= blocks;
  }
  [[nodiscard]] std::byte* block(std::uint32_t counter) const noexcept {
    return ring_ + (counter & mask_) * prm::kSendWqeBlockBytes;
  }
  std::byte* begin(std::uint32_t octowords, const WriteRequest& request) noexcept;
  void commit(std::uint32_t blocks, std::uint64_t wr_id) noexcept;
  void copy_inline(std::byte* first, std::span<const std::byte> data) noexcept;
  [[nodiscard]] tl::unexpected<Error> refuse_room(std::uint32_t blocks) const;
  [[nodiscard]] static tl::unexpected<Error> refuse_inline(std::size_t bytes);
  [[nodiscard]] static tl::unexpected<Error> refuse_pieces(std::size_t count);
  [[nodiscard]] static tl::unexpected<Error> refuse_piece(std::uint32_t bytes);

  // What a post touches, together.
  std::byte* ring_;
  Slot* slots_;
  std::uint32_t mask_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t rung_ = 0;  // head_ as the device knows it
  std::uint32_t qpn_ = 0;
  // The first 8 bytes of the last WQE as they stand in memory; the doorbell takes just these.
  std::uint64_t last_control_ = 0;
  std::array<std::uint64_t, 2> control_flags_;  // the other 8: unsignaled, signaled
  std::byte* record_;                           // the send half of the doorbell record
  std::byte* doorbells_;                        // two buffers, used in turn
  std::size_t doorbell_offset_ = 0;

  DmaBuffer ring_memory_;
  DmaBuffer record_memory_;
  std::unique_ptr<Slot[]> slot_memory_;
};

/// BlueFlame registers of ConnectX-5 are 512 bytes: two doorbell buffers of 256.
inline constexpr std::size_t kDoorbellBufferBytes = prm::bf_buffer_bytes(9);

/// Control and remote address segment of an RDMA WRITE; returns the WQE's first block.
inline std::byte* SendQueue::begin(std::uint32_t octowords, const WriteRequest& request) noexcept {
  std::byte* wqe = block(head_);
  const std::uint64_t control = std::uint64_t{prm::opmod_idx_opcode(
                                    prm::WqeOpcode::RDMA_WRITE, static_cast<std::uint16_t>(head_))}
                                    << 32 |
                                prm::qpn_ds(qpn_, octowords);
  last_control_ = cells::be64(control);
  std::memcpy(wqe, &last_control_, sizeof last_control_);
  const std::uint64_t flags = control_flags_[request.signaled ? 1 : 0];
  std::memcpy(wqe + sizeof last_control_, &flags, sizeof flags);

  prm::Buffer<prm::mlx5_wqe_raddr_seg> remote;
  remote.put<"raddr">(request.remote_address).put<"rkey">(request.rkey);
  std::memcpy(wqe + kSegmentBytes, remote.all().data(), kSegmentBytes);
  return wqe;
}

inline void SendQueue::commit(std::uint32_t blocks, std::uint64_t wr_id) noexcept {
  Slot& slot = slots_[head_ & mask_];
  slot.wr_id = wr_id;
  slot.start = head_;
  head_ += blocks;
  slot.end = head_;
}

/// The data of an inline segment runs on into the next block, which may be the ring's first.
inline void SendQueue::copy_inline(std::byte* first, std::span<const std::byte> data) noexcept {
  constexpr std::size_t kInFirst = prm::kSendWqeBlockBytes - kInlineHeaderBytes;
  constexpr std::size_t kCacheLine = 64;
  if (data.size() == kCacheLine) {  // the size everyone measures: copies of known length
    std::memcpy(first + kInlineHeaderBytes, data.data(), kInFirst);
    std::memcpy(block(head_ + 1), data.data() + kInFirst, kCacheLine - kInFirst);
    return;
  }
  const std::size_t head = std::min(data.size(), kInFirst);
  std::memcpy(first + kInlineHeaderBytes, data.data(), head);
  data = data.subspan(head);
  for (std::uint32_t counter = head_ + 1; !data.empty(); ++counter) {
    const std::size_t piece = std::min(data.size(), prm::kSendWqeBlockBytes);
    std::memcpy(block(counter), data.data(), piece);
    data = data.subspan(piece);
  }
}

inline Result<void> SendQueue::post_write_inline(std::span<const std::byte> data,
                                                 const WriteRequest& request) {
  if (data.size() > kMaxInlineBytes) [[unlikely]]
    return refuse_inline(data.size());
  const auto bytes = static_cast<std::uint32_t>(data.size());
  const std::uint32_t octowords = (kInlineHeaderBytes + bytes + kSegmentBytes - 1) / kSegmentBytes;
  const std::uint32_t blocks = prm::wqe_blocks(octowords);
  if (!has_room(blocks)) [[unlikely]]
    return refuse_room(blocks);

  std::byte* wqe = begin(octowords, request);
  prm::Buffer<prm::mlx5_wqe_inl_data_seg> segment;
  segment.put<"byte_count">(prm::inline_byte_count(bytes));
  std::memcpy(wqe + 2 * kSegmentBytes, segment.all().data(), segment.all().size());
  copy_inline(wqe, data);
  commit(blocks, request.wr_id);
  return {};
}

inline Result<void> SendQueue::post_write(std::span<const GatherEntry> pieces,
                                          const WriteRequest& request) {
  if (pieces.size() > kMaxGather) [[unlikely]]
    return refuse_pieces(pieces.size());
  const std::uint32_t octowords = 2 + static_cast<std::uint32_t>(pieces.size());
  const std::uint32_t blocks = prm::wqe_blocks(octowords);
  if (!has_room(blocks)) [[unlikely]]
    return refuse_room(blocks);

  std::byte* at = begin(octowords, request) + 2 * kSegmentBytes;
  std::uint32_t counter = head_;
  std::uint32_t left = prm::kSendWqeBlockBytes / kSegmentBytes - 2;
  for (const GatherEntry& piece : pieces) {
    if (piece.bytes >= prm::kInlineSeg) [[unlikely]]
      return refuse_piece(piece.bytes);
    if (left == 0) {
      at = block(++counter);
      left = prm::kSendWqeBlockBytes / kSegmentBytes;
    }
    prm::Buffer<prm::mlx5_wqe_data_seg> segment;
    segment.put<"byte_count">(piece.bytes).put<"lkey">(piece.lkey).put<"addr">(piece.address);
    std::memcpy(at, segment.all().data(), kSegmentBytes);
    at += kSegmentBytes;
    --left;
  }
  commit(blocks, request.wr_id);
  return {};
}

inline void SendQueue::ring() noexcept {
  if (rung_ == head_) return;
  rung_ = head_;
  // The record first: the device that sees the doorbell must find every WQE counted.
  cells::store_release<std::uint32_t>(record_, cells::be32(prm::sq_producer_index(head_)));
  cells::ring<std::uint64_t>(doorbells_ + doorbell_offset_, last_control_);
  doorbell_offset_ ^= kDoorbellBufferBytes;
}

}  // namespace portcullis::pmd
