// SPDX-License-Identifier: BSD-3-Clause
//
// Data segments, as send and receive queues write them. A piece of 0 bytes has none: mlx5_post_send
// and mlx5_post_recv of rdma-core pass over it, so nobody has told what a card makes of one.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.hpp"
#include "pmd/work_request.hpp"
#include "prm/view.hpp"
#include "prm/wqe.hpp"

namespace portcullis::pmd {

inline void put_piece(std::byte* at, const GatherEntry& piece) noexcept {
  const auto segment = prm::View<prm::mlx5_wqe_data_seg>::at({at, prm::mlx5_wqe_data_seg::bytes});
  segment.put<"byte_count">(piece.bytes);
  segment.put<"lkey">(piece.lkey);
  segment.put<"addr">(piece.address);
}

/// InvalidArgument for a piece whose length reaches the bit that marks inline data.
[[nodiscard]] inline tl::unexpected<Error> refuse_piece(std::uint32_t bytes) {
  return fail(Errc::InvalidArgument, "a piece of " + std::to_string(bytes) + " bytes; at most " +
                                         std::to_string(prm::kInlineSeg - 1) + " are accepted");
}

[[nodiscard]] inline Result<void> check_pieces(std::span<const GatherEntry> pieces,
                                               std::size_t most) {
  if (pieces.size() > most)
    return fail(Errc::InvalidArgument, std::to_string(pieces.size()) + " gather entries; at most " +
                                           std::to_string(most) + " are accepted");
  for (const GatherEntry& piece : pieces)
    if (piece.bytes >= prm::kInlineSeg) return refuse_piece(piece.bytes);
  return {};
}

}  // namespace portcullis::pmd
