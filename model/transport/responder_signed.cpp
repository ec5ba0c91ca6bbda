// SPDX-License-Identifier: BSD-3-Clause
//
// Keys with signatures at the responder. What is written is not what came, so work_ keeps its own
// copy of the payload from the first such part on.
#include "model/transport/responder.hpp"
#include "model/transport/signature_report.hpp"

namespace portcullis::model {

/// Payload from byte `from` on goes to `key`, with signatures or without. False: it cannot.
bool Responder::place_part(const Qp& qp, const KeyUse& use, std::span<const std::byte> payload,
                           std::size_t from) {
  const auto part = payload.subspan(from, static_cast<std::size_t>(use.length));
  if (place(use.key, use.va, static_cast<std::uint32_t>(part.size()))) {
    if (work_.is_rewritten) work_.kept.insert(work_.kept.end(), part.begin(), part.end());
    return true;
  }
  return place_signed(qp, use, payload.first(from), part);
}

bool Responder::place_signed(const Qp& qp, const KeyUse& use, std::span<const std::byte> before,
                             std::span<const std::byte> part) {
  if (qp.is_datagram()) return false;  // Linux has them for connections alone (handle_qpt_rc)
  SignedTransfer transfer = signed_transfer(*engine_);
  SignedWrites writes;
  if (!transfer.scatter(use.key, use.va, part, writes)) return false;
  if (!std::exchange(work_.is_rewritten, true)) work_.kept.assign(before.begin(), before.end());
  work_.kept.insert(work_.kept.end(), writes.bytes.begin(), writes.bytes.end());
  for (const SignedWrites::Part& each : writes.parts) {
    for (std::uint32_t done = 0; done < each.bytes;) {
      const Extents where =
          engine_->deps.mkeys->translate_memory(use.key, each.at + done, each.bytes - done);
      if (where.count == 0) return false;
      work_.placements.push_back({use.key, where});
      done += where.bytes();
    }
  }
  if (transfer.fault())
    static_cast<void>(report_fault(*engine_, qp, qp.receive_owner().cqn, *transfer.fault()));
  return true;
}

/// The bytes of the next response, read now: what is computed from memory is not read again.
bool Responder::fetch_signed(const Qp& qp, Work& work) const {
  SignedTransfer transfer = signed_transfer(*engine_);
  if (!transfer.gather(work.rkey, work.va, work.kept)) return false;
  if (transfer.fault())
    static_cast<void>(report_fault(*engine_, qp, qp.receive_owner().cqn, *transfer.fault()));
  return true;
}

}  // namespace portcullis::model
