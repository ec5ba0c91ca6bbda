// SPDX-License-Identifier: BSD-3-Clause
//
// Send WQEs as they stand in guest memory. Nothing in them is trusted: the index, the QP number,
// the size and every segment are checked before anything is used, each time a packet is built from
// one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/dma.hpp"
#include "model/queue_pages.hpp"
#include "prm/enums.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {

/// Where the blocks of a send queue lie: in the work queue's pages, behind the receive queue.
struct SendQueueMemory {
  QueuePages pages;
  std::uint64_t first_byte = 0;  // of block 0
  std::uint32_t blocks = 0;      // a power of two
  prm::QpServiceType service = prm::QpServiceType::RC;
  bool is_of_device = false;  // it has no memory: model/tag_matching/tagged_qp.hpp

  /// A block never straddles two pages: both are multiples of 64 bytes.
  [[nodiscard]] Iova block(std::uint16_t index) const noexcept {
    return pages.at(first_byte + (index & (blocks - 1)) * prm::kSendWqeBlockBytes);
  }
};

/// One source of a WQE's data: a key's memory, or bytes of the WQE itself.
struct WqePiece {
  bool is_inline = false;
  std::uint32_t bytes = 0;
  std::uint32_t lkey = 0;
  std::uint64_t at = 0;  // virtual address, or offset in the WQE
};

struct SendWqe {
  /// A UMR has its own control segment and a memory key's context; translations stand behind them,
  /// or a data segment that names them.
  static constexpr std::size_t kUmrContextAt =
      prm::mlx5_wqe_ctrl_seg::bytes + prm::mlx5_wqe_umr_ctrl_seg::bytes;
  static constexpr std::size_t kUmrDataAt = kUmrContextAt + prm::mlx5_wqe_mkey_context_seg::bytes;
  /// Of UD: its address vector.
  static constexpr std::size_t kAddressAt = prm::mlx5_wqe_ctrl_seg::bytes;
  static constexpr std::size_t kMaxBytes = prm::kSendWqeMaxBlocks * prm::kSendWqeBlockBytes;
  static constexpr std::size_t kMaxPieces = kMaxBytes / prm::kWqeOctowordBytes;

  prm::WqeOpcode opcode{};
  std::uint8_t fm_ce_se = 0;
  std::uint32_t blocks = 0;
  std::uint64_t raddr = 0;
  std::uint32_t rkey = 0;
  std::uint32_t xrc_srqn = 0;
  std::uint32_t immediate = 0;  // or the key of a UMR
  std::size_t end = 0;          // of the WQE's bytes
  std::uint64_t swap_add = 0;   // of an atomic
  std::uint64_t compare = 0;
  std::uint64_t length = 0;  // of what is sent or, by a READ or an atomic, fetched
  std::uint32_t piece_count = 0;
  std::array<WqePiece, kMaxPieces> pieces;
  alignas(64) std::array<std::byte, kMaxBytes> bytes;
};

enum class WqeFault : std::uint8_t {
  None,
  Unreadable,   // the queue's memory is not reachable by DMA
  Malformed,    // size, index, QP number or a segment contradicts the rest
  Unsupported,  // an opcode that this QP does not serve
};

/// The control segment and the blocks of the WQE at `index`, and nothing of what its opcode asks
/// for. `available` blocks have been posted from there on. After Malformed `out` holds opcode and
/// blocks as far as they make sense (blocks at least 1).
[[nodiscard]] WqeFault fetch_send_wqe(Dma& dma, const SendQueueMemory& queue, std::uint32_t qpn,
                                      std::uint16_t index, std::uint16_t available, SendWqe& out);
/// Data and inline segments from byte `at` of a fetched WQE to `end`. False: one does not fit.
[[nodiscard]] bool parse_pieces(SendWqe& wqe, std::size_t at, std::size_t end);

/// Reads the WQE at `index`. `available` blocks have been posted from there on. After Malformed and
/// Unsupported `out` holds opcode and blocks as far as they make sense (blocks at least 1).
[[nodiscard]] WqeFault read_send_wqe(Dma& dma, const SendQueueMemory& queue, std::uint32_t qpn,
                                     std::uint16_t index, std::uint16_t available, SendWqe& out);

}  // namespace portcullis::model
