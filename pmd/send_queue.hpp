// SPDX-License-Identifier: BSD-3-Clause
//
// The send queue of one QP: the ring of 64-byte basic blocks that the device fetches WQEs from, its
// doorbell record and its doorbell. The data path; everything that runs per request is in this
// header, a request costs tens of instructions, and nothing here reads a clock or relaxes.
//
// A WQE becomes the device's in ring(): the record's release store hands over every WQE before it,
// the doorbell tells the device to look. post_* alone change nothing that the device acts on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "base/cells.hpp"
#include "base/result.hpp"
#include "pmd/data_segment.hpp"
#include "pmd/work_request.hpp"
#include "prm/doorbell.hpp"
#include "prm/numbers.hpp"
#include "prm/view.hpp"
#include "prm/wqe.hpp"

namespace portcullis::pmd {

class SendQueue {
 public:
  /// A WQE here is at most four basic blocks, far below what any ConnectX-5 takes.
  static constexpr std::uint32_t kMaxWqeBytes = 256;
  static constexpr std::uint32_t kSegmentBytes = prm::kWqeOctowordBytes;
  static constexpr std::uint32_t kInlineHeaderBytes =
      2 * kSegmentBytes + prm::mlx5_wqe_inl_data_seg::bytes;
  /// Of an RDMA WRITE; a SEND, without a remote address, has room for 16 bytes or one piece more.
  static constexpr std::uint32_t kMaxInlineBytes = kMaxWqeBytes - kInlineHeaderBytes;
  static constexpr std::uint32_t kMaxGather = kMaxWqeBytes / kSegmentBytes - 2;

  /// `ring` holds 2^log_size basic blocks, or none: nothing can be posted; `record` a doorbell
  /// record; `uar_page` the cells. All must outlive the queue.
  SendQueue(std::span<std::byte> ring, std::byte* record, std::span<std::byte> uar_page,
            std::optional<std::uint32_t> log_size);
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  /// RDMA WRITE of bytes copied into the WQE. Busy when the queue has no room, InvalidArgument for
  /// more than kMaxInlineBytes.
  [[nodiscard]] Result<void> post_write_inline(std::span<const std::byte> data,
                                               const WriteRequest& request);
  /// RDMA WRITE of bytes the device fetches itself. InvalidArgument for 2 GiB or more.
  [[nodiscard]] Result<void> post_write(const GatherEntry& piece, const WriteRequest& request);
  /// The same from several pieces, one after the other; at most kMaxGather.
  [[nodiscard]] Result<void> post_write(std::span<const GatherEntry> pieces,
                                        const WriteRequest& request);
  /// Any request of an RC QP (pmd/send_requests.cpp). A READ fills `pieces` in turn; an atomic
  /// takes one of 8 bytes for what was there before (Capabilities::atomic_host_order has its
  /// order). Refused as post_write, and InvalidArgument for an opcode that is not listed at
  /// WorkRequest.
  [[nodiscard]] Result<void> post(const WorkRequest& request, std::span<const GatherEntry> pieces);
  /// The same with its bytes copied into the WQE: WRITEs and SENDs.
  [[nodiscard]] Result<void> post_inline(const WorkRequest& request,
                                         std::span<const std::byte> data);
  /// Changes a memory key. What may be changed by whom is the device's verdict.
  [[nodiscard]] Result<void> post(const KeyRequest& request);
  /// Hands everything posted to the device. When there is nothing new it finds nothing new.
  void ring() noexcept;

  /// Takes the WQE that a CQE names, and all before it, off the queue. Null when the device names
  /// one that is not outstanding; otherwise its wr_id.
  [[nodiscard]] const std::uint64_t* complete(std::uint16_t wqe_counter) noexcept {
    const Slot& slot = slots_[wqe_counter & mask_];
    // Another lap's counter, the middle of a WQE; then a WQE that has completed before.
    if (static_cast<std::uint16_t>(slot.start) != wqe_counter || limit_ - slot.start - 1 > mask_)
        [[unlikely]]
      return nullptr;
    limit_ = slot.limit;
    return &slot.wr_id;
  }

  /// Basic blocks of posted WQEs whose completion has not been seen.
  [[nodiscard]] std::uint32_t outstanding_blocks() const noexcept {
    return head_ + size_blocks() - limit_;
  }
  [[nodiscard]] std::uint32_t size_blocks() const noexcept { return mask_ + 1; }
  [[nodiscard]] prm::QpNumber qpn() const noexcept { return qpn_; }

  /// After CREATE_QP: the number that every WQE carries.
  void set_qpn(prm::QpNumber qpn) noexcept;
  /// After 2RST_QP: empty, as the device takes it up from RESET.
  void reset() noexcept;

 private:
  // Counters run on through 32 bits; the ring's index is their low bits, the device's their low 16.
  struct Slot {
    std::uint64_t wr_id;
    std::uint32_t start;  // of the WQE
    std::uint32_t limit;  // what limit_ becomes when it completes
  };

  [[nodiscard]] std::byte* block(std::uint32_t counter) const noexcept {
    return ring_ + (counter & mask_) * prm::kSendWqeBlockBytes;
  }
  [[nodiscard]] bool has_room(std::uint32_t blocks) const noexcept {
    return limit_ - head_ >= blocks;
  }
  std::byte* begin(std::uint32_t blocks, std::uint32_t octowords,
                   const WriteRequest& request) noexcept;
  std::byte* open(std::uint32_t octowords, prm::WqeOpcode opcode, std::uint8_t fm_ce_se,
                  std::uint32_t immediate, std::uint64_t wr_id) noexcept;
  [[nodiscard]] std::byte* segment(std::uint32_t first_block, std::uint32_t index) const noexcept;
  [[nodiscard]] std::uint32_t put_header(const WorkRequest& request,
                                         std::uint32_t octowords) noexcept;
  [[nodiscard]] Result<void> check_room(std::uint32_t blocks) const;
  [[nodiscard]] tl::unexpected<Error> refuse_room(std::uint32_t blocks) const;

  // What a post touches, together.
  std::byte* ring_;
  Slot* slots_;
  std::uint32_t mask_;      // all ones: of no block
  std::uint32_t head_ = 0;  // the next block to fill
  std::uint32_t limit_;     // the first block that is not free
  prm::QpNumber qpn_{};
  std::uint64_t control_base_ = 0;  // first half of a control segment, but for index and length
  // That half of the last WQE as it stands in memory: the doorbell takes just this.
  std::uint64_t last_control_ = 0;
  std::array<std::uint64_t, 2> control_flags_;  // the other half: unsignaled, signaled
  std::byte* record_;                           // the send half of the doorbell record
  std::byte* doorbells_;                        // two buffers, used in turn
  std::size_t doorbell_offset_ = 0;

  std::unique_ptr<Slot[]> slot_memory_;
};

/// BlueFlame registers of ConnectX-5 are 512 bytes: two doorbell buffers of 256.
inline constexpr std::size_t kDoorbellBufferBytes = prm::bf_buffer_bytes(9);

/// Takes `blocks` blocks for a WQE of `octowords`, fills its control and remote address segment and
/// returns the first block. What follows may still be filled: nothing is the device's yet.
inline std::byte* SendQueue::begin(std::uint32_t blocks, std::uint32_t octowords,
                                   const WriteRequest& request) noexcept {
  // Copies of the members: the stores through byte pointers below could change them for all that
  // the compiler knows, and each would be loaded again.
  const std::uint32_t head = head_;
  const std::uint32_t index = head & mask_;
  std::byte* wqe = ring_ + index * prm::kSendWqeBlockBytes;
  Slot& slot = slots_[index];
  head_ = head + blocks;
  slot.wr_id = request.wr_id;
  slot.start = head;

  constexpr unsigned kIndexShift = 40;  // opmod_idx_opcode is the upper dword
  const std::uint64_t control = cells::be64(
      control_base_ | std::uint64_t{static_cast<std::uint16_t>(head)} << kIndexShift | octowords);
  const std::uint64_t flags = control_flags_[request.signaled ? 1 : 0];
  last_control_ = control;
  std::memcpy(wqe, &control, sizeof control);
  std::memcpy(wqe + sizeof control, &flags, sizeof flags);

  std::byte* at = wqe + kSegmentBytes;
  const auto remote = prm::View<prm::mlx5_wqe_raddr_seg>::at({at, kSegmentBytes});
  std::memset(at + kSegmentBytes / 2, 0, kSegmentBytes / 2);  // beside the rkey: reserved
  remote.put<"raddr">(request.remote_address);
  remote.put<"rkey">(request.rkey);
  slot.limit = head + blocks + mask_ + 1;  // here, or gcc 12 packs it with start in a register
  return wqe;
}

// A cache line is what everyone measures: constant sizes, and one copy, as its data runs on into
// the next block. Only from the ring's last block it does not.
inline Result<void> SendQueue::post_write_inline(std::span<const std::byte> data,
                                                 const WriteRequest& request) {
  constexpr std::uint32_t kLine = 64;
  constexpr std::uint32_t kOctowords = (kInlineHeaderBytes + kLine) / kSegmentBytes + 1;
  constexpr std::uint32_t kBlocks = prm::wqe_blocks(kOctowords);
  if (data.size() != kLine || (~head_ & mask_) == 0) [[unlikely]]
    return post_inline(as_work_request(request), data);
  if (!has_room(kBlocks)) [[unlikely]]
    return refuse_room(kBlocks);

  std::byte* at = begin(kBlocks, kOctowords, request) + 2 * kSegmentBytes;
  const auto segment =
      prm::View<prm::mlx5_wqe_inl_data_seg>::at({at, prm::mlx5_wqe_inl_data_seg::bytes});
  segment.set<"byte_count", prm::inline_byte_count(kLine)>();
  std::memcpy(at + prm::mlx5_wqe_inl_data_seg::bytes, data.data(), kLine);
  Result<void> posted;  // not `return {}`, which would clear the whole object first
  return posted;
}

inline Result<void> SendQueue::post_write(const GatherEntry& piece, const WriteRequest& request) {
  constexpr std::uint32_t kOctowords = 3;
  if (piece.bytes - 1 >= prm::kInlineSeg - 1) [[unlikely]]  // none, or too many
    return post(as_work_request(request), {&piece, 1});
  if (!has_room(1)) [[unlikely]]
    return refuse_room(1);
  put_piece(begin(1, kOctowords, request) + 2 * kSegmentBytes, piece);
  Result<void> posted;
  return posted;
}

inline Result<void> SendQueue::post_write(std::span<const GatherEntry> pieces,
                                          const WriteRequest& request) {
  return post(as_work_request(request), pieces);
}

inline void SendQueue::ring() noexcept {
  // The record first: the device that sees the doorbell must find every WQE counted.
  cells::store_release<std::uint32_t>(record_, cells::be32(prm::sq_producer_index(head_)));
  cells::ring<std::uint64_t>(doorbells_ + doorbell_offset_, last_control_);
  doorbell_offset_ ^= kDoorbellBufferBytes;
}

}  // namespace portcullis::pmd
