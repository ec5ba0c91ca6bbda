// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/send_wqe.hpp"

#include <algorithm>

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

/// The segments behind the remote address, up to `end`. False: one does not fit.
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

bool parse_write(SendWqe& wqe, std::size_t end) {
  constexpr std::size_t kRaddrAt = prm::mlx5_wqe_ctrl_seg::bytes;
  constexpr std::size_t kDataAt = kRaddrAt + prm::mlx5_wqe_raddr_seg::bytes;
  if (end < kDataAt) return false;
  const auto remote =
      prm::ConstView<prm::mlx5_wqe_raddr_seg>::at(std::span<const std::byte>(wqe.bytes), kRaddrAt);
  wqe.raddr = remote.get<"raddr">();
  wqe.rkey = remote.get<"rkey">();
  return parse_pieces(wqe, kDataAt, end);
}

}  // namespace

WqeFault read_send_wqe(Dma& dma, const SendQueueMemory& queue, std::uint32_t qpn,
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
  const std::size_t end = out.end = ds * prm::kWqeOctowordBytes;
  switch (out.opcode) {
    case prm::WqeOpcode::NOP:
      return WqeFault::None;
    case prm::WqeOpcode::RDMA_WRITE:
      return parse_write(out, end) ? WqeFault::None : WqeFault::Malformed;
    case prm::WqeOpcode::SEND:
    case prm::WqeOpcode::SEND_IMM:
      out.immediate = ctrl.get<"imm">();
      return parse_pieces(out, prm::mlx5_wqe_ctrl_seg::bytes, end) ? WqeFault::None
                                                                   : WqeFault::Malformed;
    case prm::WqeOpcode::UMR:
      out.immediate = ctrl.get<"imm">();
      return end >= SendWqe::kUmrDataAt ? WqeFault::None : WqeFault::Malformed;
    default:
      return WqeFault::Unsupported;
  }
}

}  // namespace portcullis::model
