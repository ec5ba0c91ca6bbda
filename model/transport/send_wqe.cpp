// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/send_wqe.hpp"

#include <algorithm>
#include <optional>

#include "prm/block_signature.hpp"
#include "prm/tag_matching.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

constexpr std::uint32_t kByteCountMask = ~prm::kInlineSeg;

bool read_block(Dma& dma, const SendQueueMemory& queue, std::uint16_t index, std::uint32_t block,
                SendWqe& out) {
  const auto to =
      std::span(out.bytes).subspan(block * prm::kSendWqeBlockBytes, prm::kSendWqeBlockBytes);
  return dma.read(queue.block(static_cast<std::uint16_t>(index + block)), to);
}

/// The remote address segment; where the next one starts, or nothing when this one does not fit.
std::optional<std::size_t> parse_remote(SendWqe& wqe, std::size_t at, std::size_t end) {
  const std::size_t next = at + prm::mlx5_wqe_raddr_seg::bytes;
  if (end < next) return std::nullopt;
  const auto remote =
      prm::ConstView<prm::mlx5_wqe_raddr_seg>::at(std::span<const std::byte>(wqe.bytes), at);
  wqe.raddr = remote.get<"raddr">();
  wqe.rkey = remote.get<"rkey">();
  return next;
}

bool parse_write(SendWqe& wqe, std::size_t from, std::size_t end) {
  const auto at = parse_remote(wqe, from, end);
  return at && parse_pieces(wqe, *at, end);
}

/// What is fetched goes to memory, never into the WQE.
bool has_no_inline_piece(const SendWqe& wqe) {
  const auto pieces = std::span(wqe.pieces).first(wqe.piece_count);
  return std::ranges::none_of(pieces, &WqePiece::is_inline);
}

bool parse_read(SendWqe& wqe, std::size_t from, std::size_t end) {
  return parse_write(wqe, from, end) && has_no_inline_piece(wqe);
}

/// Operands are big-endian (_set_atomic_seg of rdma-core's mlx5/qp.c).
bool parse_atomic(SendWqe& wqe, std::size_t from, std::size_t end) {
  const auto at = parse_remote(wqe, from, end);
  if (!at || end < *at + prm::mlx5_wqe_atomic_seg::bytes) return false;
  const auto operands =
      prm::ConstView<prm::mlx5_wqe_atomic_seg>::at(std::span<const std::byte>(wqe.bytes), *at);
  wqe.swap_add = operands.get<"swap_add">();
  wqe.compare = operands.get<"compare">();
  return parse_pieces(wqe, *at + prm::mlx5_wqe_atomic_seg::bytes, end) && has_no_inline_piece(wqe);
}

/// Where the segments stand that the opcode asks for: behind those that the service does.
std::size_t opcode_segments_at(SendWqe& wqe, prm::QpServiceType service) {
  constexpr std::size_t kAt = prm::mlx5_wqe_ctrl_seg::bytes;
  const std::span<const std::byte> bytes(wqe.bytes);
  if (service == prm::QpServiceType::XRC) {
    wqe.xrc_srqn = prm::ConstView<prm::mlx5_wqe_xrc_seg>::at(bytes, kAt).get<"xrc_srqn">();
    return kAt + prm::mlx5_wqe_xrc_seg::bytes;
  }
  if (service != prm::QpServiceType::UD) return kAt;
  const auto address = prm::ConstView<prm::mlx5_wqe_av>::at(bytes, SendWqe::kAddressAt);
  const bool extended = (address.get<"dqp_dct">() & prm::kExtendedUdAv) != 0;
  return kAt + (extended ? prm::mlx5_wqe_av::bytes : prm::kShortUdAvBytes);
}

bool parse(SendWqe& wqe, prm::QpServiceType service, std::size_t end) {
  const std::size_t at = opcode_segments_at(wqe, service);
  if (at > end) return false;
  switch (wqe.opcode) {
    case prm::WqeOpcode::RDMA_WRITE:
    case prm::WqeOpcode::RDMA_WRITE_IMM:
      return parse_write(wqe, at, end);
    case prm::WqeOpcode::RDMA_READ:
      return parse_read(wqe, at, end);
    case prm::WqeOpcode::ATOMIC_CS:
    case prm::WqeOpcode::ATOMIC_FA:
      return parse_atomic(wqe, at, end);
    default:
      return parse_pieces(wqe, at, end);
  }
}

/// Of an entry that is appended one data segment follows (mlx5_post_srq_ops of rdma-core's
/// mlx5/qp.c).
bool has_tag_segments(const SendWqe& wqe) {
  constexpr std::size_t kAt = prm::mlx5_wqe_ctrl_seg::bytes;
  const std::size_t data = kAt + prm::mlx5_wqe_tm_seg::bytes;
  if (wqe.end < data) return false;
  const auto segment =
      prm::ConstView<prm::mlx5_wqe_tm_seg>::at(std::span<const std::byte>(wqe.bytes), kAt);
  return prm::tm_opcode(segment.get<"opcode">()) != prm::TmOpcode::APPEND ||
         wqe.end >= data + prm::mlx5_wqe_data_seg::bytes;
}

}  // namespace

bool parse_pieces(SendWqe& wqe, std::size_t at, std::size_t end) {
  const std::span<const std::byte> bytes(wqe.bytes);
  while (at < end) {
    const auto count =
        prm::ConstView<prm::mlx5_wqe_inl_data_seg>::at(bytes, at).get<"byte_count">();
    WqePiece& piece = wqe.pieces[wqe.piece_count++];
    piece.bytes = count & kByteCountMask;
    piece.is_inline = (count & prm::kInlineSeg) != 0;
    std::size_t size = prm::mlx5_wqe_data_seg::bytes;
    if (piece.is_inline) {
      piece.at = at + prm::mlx5_wqe_inl_data_seg::bytes;
      size = prm::mlx5_wqe_inl_data_seg::bytes + piece.bytes;
    } else {
      const auto data = prm::ConstView<prm::mlx5_wqe_data_seg>::at(bytes, at);
      piece.lkey = data.get<"lkey">();
      piece.at = data.get<"addr">();
    }
    if (size > end - at) return false;
    constexpr std::size_t kUnit = prm::kWqeOctowordBytes;
    at += (size + kUnit - 1) / kUnit * kUnit;
    wqe.length += piece.bytes;
  }
  return true;
}

WqeFault fetch_send_wqe(Dma& dma, const SendQueueMemory& queue, std::uint32_t qpn,
                        std::uint16_t index, std::uint16_t available, SendWqe& out) {
  out.piece_count = 0;
  out.length = 0;
  out.blocks = 1;
  out.opcode = prm::WqeOpcode::NOP;
  if (!read_block(dma, queue, index, 0, out)) return WqeFault::Unreadable;
  const auto ctrl =
      prm::ConstView<prm::mlx5_wqe_ctrl_seg>::at(std::span<const std::byte>(out.bytes));
  const std::uint32_t word = ctrl.get<"opmod_idx_opcode">();
  const std::uint32_t ds = prm::wqe_ds(ctrl.get<"qpn_ds">());
  out.opcode = prm::wqe_opcode(word);
  out.fm_ce_se = static_cast<std::uint8_t>(ctrl.get<"fm_ce_se">());
  if (ds == 0 || prm::wqe_blocks(ds) > std::min<std::uint32_t>(available, queue.blocks))
    return WqeFault::Malformed;
  out.blocks = prm::wqe_blocks(ds);
  if (prm::wqe_index(word) != index || prm::wqe_qpn(ctrl.get<"qpn_ds">()) != qpn)
    return WqeFault::Malformed;
  for (std::uint32_t block = 1; block < out.blocks; ++block) {
    if (!read_block(dma, queue, index, block, out)) return WqeFault::Unreadable;
  }
  out.end = ds * prm::kWqeOctowordBytes;
  return WqeFault::None;
}

WqeFault read_send_wqe(Dma& dma, const SendQueueMemory& queue, std::uint32_t qpn,
                       std::uint16_t index, std::uint16_t available, SendWqe& out) {
  if (const WqeFault fault = fetch_send_wqe(dma, queue, qpn, index, available, out);
      fault != WqeFault::None)
    return fault;
  const auto ctrl =
      prm::ConstView<prm::mlx5_wqe_ctrl_seg>::at(std::span<const std::byte>(out.bytes));
  const std::size_t end = out.end;
  switch (out.opcode) {
    case prm::WqeOpcode::NOP:
      return WqeFault::None;
    case prm::WqeOpcode::RDMA_WRITE:
    case prm::WqeOpcode::RDMA_WRITE_IMM:
    case prm::WqeOpcode::SEND:
    case prm::WqeOpcode::SEND_IMM:
    case prm::WqeOpcode::SEND_INVAL:
    case prm::WqeOpcode::RDMA_READ:
    case prm::WqeOpcode::ATOMIC_CS:
    case prm::WqeOpcode::ATOMIC_FA:
      out.immediate = ctrl.get<"imm">();
      return parse(out, queue.service, end) ? WqeFault::None : WqeFault::Malformed;
    case prm::WqeOpcode::UMR:
      out.immediate = ctrl.get<"imm">();
      return end >= SendWqe::kUmrDataAt ? WqeFault::None : WqeFault::Malformed;
    case prm::WqeOpcode::SET_PSV:
      return end >= prm::mlx5_wqe_ctrl_seg::bytes + prm::mlx5_seg_set_psv::bytes
                 ? WqeFault::None
                 : WqeFault::Malformed;
    case prm::WqeOpcode::TAG_MATCHING:
      return has_tag_segments(out) ? WqeFault::None : WqeFault::Malformed;
    default:
      return WqeFault::Unsupported;
  }
}

}  // namespace portcullis::model
