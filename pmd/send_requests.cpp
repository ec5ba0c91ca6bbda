// SPDX-License-Identifier: BSD-3-Clause
//
// Posting whatever is not the one WRITE that pmd/send_queue.hpp is fast for: the WQE of every
// opcode of an RC QP, and of a UMR. Segments run on from the ring's last block to its first.
#include <algorithm>
#include <cstring>
#include <string>

#include "pmd/send_queue.hpp"

namespace portcullis::pmd {
namespace {

using prm::WqeOpcode;

constexpr std::uint32_t kSegment = SendQueue::kSegmentBytes;
constexpr std::uint32_t kBlock = prm::kSendWqeBlockBytes;
constexpr std::uint32_t kInBlock = kBlock / kSegment;
constexpr std::uint32_t kMostOctowords = SendQueue::kMaxWqeBytes / kSegment;
constexpr std::uint32_t kLengthBytes = prm::mlx5_wqe_inl_data_seg::bytes;
constexpr std::uint32_t kAtomicBytes = 8;

bool is_atomic(WqeOpcode opcode) noexcept {
  return opcode == WqeOpcode::ATOMIC_CS || opcode == WqeOpcode::ATOMIC_FA;
}

/// Octowords before the data; 0 for an opcode that no WorkRequest has.
std::uint32_t header_octowords(WqeOpcode opcode) noexcept {
  switch (opcode) {
    case WqeOpcode::SEND:
    case WqeOpcode::SEND_IMM:
    case WqeOpcode::SEND_INVAL:
      return 1;
    case WqeOpcode::RDMA_WRITE:
    case WqeOpcode::RDMA_WRITE_IMM:
    case WqeOpcode::RDMA_READ:
      return 2;
    case WqeOpcode::ATOMIC_CS:
    case WqeOpcode::ATOMIC_FA:
      return 3;
    default:
      return 0;
  }
}

bool has_immediate(WqeOpcode opcode) noexcept {
  return opcode == WqeOpcode::SEND_IMM || opcode == WqeOpcode::RDMA_WRITE_IMM ||
         opcode == WqeOpcode::SEND_INVAL;
}

std::uint8_t fm_ce_se(const WorkRequest& request) noexcept {
  return static_cast<std::uint8_t>((request.signaled ? prm::kCtrlCqUpdate : 0) |
                                   (request.fenced ? prm::kCtrlFence : 0) |
                                   (request.solicited ? prm::kCtrlSolicited : 0));
}

std::string name_of(WqeOpcode opcode) {
  return std::string(prm::name(opcode)) + " (" + std::to_string(prm::number(opcode)) + ")";
}

Result<void> check_opcode(WqeOpcode opcode) {
  if (header_octowords(opcode) != 0) return {};
  return fail(Errc::InvalidArgument,
              "a work request " + name_of(opcode) +
                  "; SEND, RDMA_WRITE, RDMA_READ, ATOMIC_CS, ATOMIC_FA and those with immediate "
                  "or invalidate are accepted");
}

Result<void> check_atomic(std::span<const GatherEntry> pieces) {
  if (pieces.size() == 1 && pieces[0].bytes == kAtomicBytes) return {};
  return fail(Errc::InvalidArgument,
              "an atomic into " + std::to_string(pieces.size()) + " pieces" +
                  (pieces.empty() ? "" : " of " + std::to_string(pieces[0].bytes) + " bytes") +
                  "; one of 8 bytes is accepted");
}

Result<void> check_inline(WqeOpcode opcode, std::size_t bytes) {
  if (opcode == WqeOpcode::RDMA_READ || is_atomic(opcode))
    return fail(Errc::InvalidArgument,
                name_of(opcode) + " inline; only WRITEs and SENDs carry their data");
  const std::uint32_t most =
      SendQueue::kMaxWqeBytes - header_octowords(opcode) * kSegment - kLengthBytes;
  if (bytes <= most) return {};
  return fail(Errc::InvalidArgument, std::to_string(bytes) + " bytes inline; at most " +
                                         std::to_string(most) + " are accepted");
}

std::uint8_t access_flags(Access access) noexcept {
  return static_cast<std::uint8_t>(prm::kMkeyLocalRead |
                                   (access.local_write ? prm::kMkeyLocalWrite : 0) |
                                   (access.remote_write ? prm::kMkeyRemoteWrite : 0) |
                                   (access.remote_read ? prm::kMkeyRemoteRead : 0) |
                                   (access.remote_atomic ? prm::kMkeyAtomic : 0));
}

/// The rights that a change of access replaces (get_umr_update_access_mask of Linux).
std::uint64_t access_mask(const KeyRequest& request) noexcept {
  using enum prm::MkeyMask;
  const std::uint64_t mask = LR | LW | RR | RW;
  return request.changes_atomic ? mask | A : mask;
}

/// Which fields a UMR changes and what it checks.
void put_control(prm::View<prm::mlx5_wqe_umr_ctrl_seg> control, const KeyRequest& request) {
  using enum prm::MkeyMask;
  const bool in_use = request.change == KeyRequest::Change::ACCESS;
  control.put<"flags">(
      static_cast<std::uint8_t>(prm::kUmrInline | (in_use ? prm::kUmrFailIfFree : 0)));
  switch (request.change) {
    case KeyRequest::Change::FREE:
      return control.put<"mkey_mask">(PD | FREE);
    case KeyRequest::Change::LOCAL_INVALIDATE:
      return control.put<"mkey_mask">(FREE);
    case KeyRequest::Change::ACCESS:
      return control.put<"mkey_mask">(access_mask(request) | PD);
  }
}

/// What they become.
void put_context(prm::View<prm::mlx5_wqe_mkey_context_seg> context, const KeyRequest& request) {
  if (request.change != KeyRequest::Change::ACCESS) context.set<"free", prm::kMkeyFree>();
  if (request.change == KeyRequest::Change::LOCAL_INVALIDATE) return;
  if (request.change == KeyRequest::Change::ACCESS)
    context.put<"access_flags">(access_flags(request.access));
  context.put<"qpn_mkey">(prm::qpn_mkey(prm::kMkcQpnAny, prm::number(request.key)));
  context.put<"flags_pd">(request.pdn);
}

}  // namespace

/// Takes the blocks of a WQE of `octowords` and fills its control segment.
std::byte* SendQueue::open(std::uint32_t octowords, WqeOpcode opcode, std::uint8_t flags,
                           std::uint32_t immediate, std::uint64_t wr_id) noexcept {
  const std::uint32_t head = head_;
  std::byte* wqe = block(head);
  head_ += prm::wqe_blocks(octowords);
  slots_[head & mask_] = {wr_id, head, head_ + size_blocks()};
  const auto control = prm::View<prm::mlx5_wqe_ctrl_seg>::at({wqe, kSegment});
  std::memset(wqe, 0, kSegment);
  control.put<"opmod_idx_opcode">(prm::opmod_idx_opcode(opcode, static_cast<std::uint16_t>(head)));
  control.put<"qpn_ds">(prm::qpn_ds(prm::number(qpn_), octowords));
  control.put<"fm_ce_se">(flags);
  control.put<"imm">(immediate);
  std::memcpy(&last_control_, wqe, sizeof last_control_);
  return wqe;
}

std::byte* SendQueue::segment(std::uint32_t first_block, std::uint32_t index) const noexcept {
  return block(first_block + index / kInBlock) + index % kInBlock * kSegment;
}

/// Everything before the data; returns the counter of the WQE's first block.
std::uint32_t SendQueue::put_header(const WorkRequest& request, std::uint32_t octowords) noexcept {
  const std::uint32_t head = head_;
  std::byte* wqe = open(octowords, request.opcode, fm_ce_se(request),
                        has_immediate(request.opcode) ? request.immediate : 0, request.wr_id);
  const std::uint32_t header = header_octowords(request.opcode);
  if (header == 1) return head;
  // The first block holds every header.
  std::memset(wqe + kSegment, 0, (header - 1) * kSegment);
  const auto remote = prm::View<prm::mlx5_wqe_raddr_seg>::at({wqe + kSegment, kSegment});
  remote.put<"raddr">(request.remote_address);
  remote.put<"rkey">(request.rkey);
  if (header == 2) return head;
  const auto atomic = prm::View<prm::mlx5_wqe_atomic_seg>::at({wqe + 2 * kSegment, kSegment});
  atomic.put<"swap_add">(request.swap_or_add);
  if (request.opcode == WqeOpcode::ATOMIC_CS) atomic.put<"compare">(request.compare);
  return head;
}

Result<void> SendQueue::post(const WorkRequest& request, std::span<const GatherEntry> pieces) {
  PORTCULLIS_TRY(check_opcode(request.opcode));
  const std::uint32_t header = header_octowords(request.opcode);
  PORTCULLIS_TRY(check_pieces(pieces, kMostOctowords - header));
  if (is_atomic(request.opcode)) {
    PORTCULLIS_TRY(check_atomic(pieces));
  }
  const auto segments = static_cast<std::uint32_t>(
      std::count_if(pieces.begin(), pieces.end(), [](const auto& p) { return p.bytes != 0; }));
  PORTCULLIS_TRY(check_room(prm::wqe_blocks(header + segments)));

  const std::uint32_t head = put_header(request, header + segments);
  std::uint32_t index = header;
  for (const GatherEntry& piece : pieces)
    if (piece.bytes != 0) put_piece(segment(head, index++), piece);
  return {};
}

Result<void> SendQueue::post_inline(const WorkRequest& request, std::span<const std::byte> data) {
  if (data.empty()) return post(request, {});  // no segment at all, as in set_data_inl_seg
  PORTCULLIS_TRY(check_opcode(request.opcode));
  PORTCULLIS_TRY(check_inline(request.opcode, data.size()));
  const auto bytes = static_cast<std::uint32_t>(data.size());
  const std::uint32_t header = header_octowords(request.opcode);
  const std::uint32_t octowords = header + (kLengthBytes + bytes + kSegment - 1) / kSegment;
  PORTCULLIS_TRY(check_room(prm::wqe_blocks(octowords)));

  const std::uint32_t head = put_header(request, octowords);
  prm::View<prm::mlx5_wqe_inl_data_seg>::at({segment(head, header), kLengthBytes})
      .put<"byte_count">(prm::inline_byte_count(bytes));
  std::uint32_t at = header * kSegment + kLengthBytes;  // in the WQE
  while (!data.empty()) {
    const std::size_t piece = std::min<std::size_t>(data.size(), kBlock - at % kBlock);
    std::copy_n(data.begin(), piece, block(head + at / kBlock) + at % kBlock);
    data = data.subspan(piece);
    at += static_cast<std::uint32_t>(piece);
  }
  return {};
}

// A UMR without translations is two basic blocks: control and UMR control, then the context
// (struct mlx5r_umr_wqe without its data segment, mlx5r_umr_post_send of Linux).
Result<void> SendQueue::post(const KeyRequest& request) {
  using Control = prm::mlx5_wqe_umr_ctrl_seg;
  using Context = prm::mlx5_wqe_mkey_context_seg;
  constexpr std::uint32_t kOctowords = (kSegment + Control::bytes + Context::bytes) / kSegment;
  constexpr std::uint32_t kMostPdn = 0xffffff;
  if (prm::number(request.pdn) > kMostPdn)
    return fail(Errc::InvalidArgument, "protection domain " +
                                           std::to_string(prm::number(request.pdn)) +
                                           "; its number has 24 bits");
  PORTCULLIS_TRY(check_room(prm::wqe_blocks(kOctowords)));
  const std::uint32_t head = head_;
  const auto flags = static_cast<std::uint8_t>(prm::kCtrlInitiatorSmallFence |
                                               (request.signaled ? prm::kCtrlCqUpdate : 0));
  std::byte* wqe = open(kOctowords, WqeOpcode::UMR, flags, prm::number(request.key), request.wr_id);
  std::memset(wqe + kSegment, 0, Control::bytes);
  put_control(prm::View<Control>::at({wqe + kSegment, Control::bytes}), request);
  std::byte* context = block(head + 1);
  std::memset(context, 0, Context::bytes);
  put_context(prm::View<Context>::at({context, Context::bytes}), request);
  return {};
}

}  // namespace portcullis::pmd
