// SPDX-License-Identifier: BSD-3-Clause
#include "model/tag_matching/tagged_qp.hpp"

#include <algorithm>

#include "prm/view.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {

std::span<const std::byte> TaggedQp::data_of(std::span<const std::byte> payload,
                                             bool is_first) const noexcept {
  switch (reception) {
    case Reception::NoTag:
    case Reception::Unexpected:
      return payload;
    case Reception::Eager:
      return payload.subspan(is_first ? header.size() : 0);
    case Reception::Rendezvous:
      return {};
    case Reception::Software:
      return payload.first(std::min<std::size_t>(Rendezvous::kHeaderBytes, match.piece.bytes));
  }
  return payload;
}

/// A READ asks for a completion of its own, and so does the SEND behind it, which waits until the
/// data has come and ends the rendezvous.
void TaggedQp::write_wqe(std::uint16_t index, SendWqe& out) noexcept {
  const Rendezvous& rendezvous = at(index);
  const auto where = prm::ConstView<prm::ibv_rvh>::at(
      std::span<const std::byte>(rendezvous.headers), prm::ibv_tmh::bytes);
  const auto bytes = static_cast<std::uint32_t>(where.get<"len">());
  out.blocks = 1;
  out.xrc_srqn = out.immediate = 0;
  out.piece_count = 1;
  if (is_read(index)) {
    out.opcode = prm::WqeOpcode::RDMA_READ;
    out.fm_ce_se = prm::kCtrlCqUpdate;
    out.raddr = where.get<"va">();
    out.rkey = static_cast<std::uint32_t>(where.get<"rkey">());
    out.length = bytes;
    out.pieces[0] = {false, bytes, rendezvous.piece.lkey, rendezvous.piece.va};
    return;
  }
  out.opcode = prm::WqeOpcode::SEND;
  out.fm_ce_se = prm::kCtrlCqUpdate | prm::kCtrlFence;
  out.length = rendezvous.headers.size();
  out.pieces[0] = {true, static_cast<std::uint32_t>(rendezvous.headers.size()), 0, 0};
  std::ranges::copy(rendezvous.headers, out.bytes.begin());
  prm::View<prm::ibv_tmh>::at(std::span(out.bytes)).put<"opcode">(prm::TmhOp::FIN);
}

}  // namespace portcullis::model
