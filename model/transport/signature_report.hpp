// SPDX-License-Identifier: BSD-3-Clause
//
// How a fault in a signature is said: by a CQE of its own, before the completion of the transfer,
// which does not fail (mlx5dv_mkey_check(3)). Of what a peer asked for it goes to the queue of the
// receives, a hypothesis: that page has one look "for a received message" then.
#pragma once

#include "model/signed_key.hpp"
#include "model/transport/engine.hpp"

namespace portcullis::model {

[[nodiscard]] inline SignedTransfer signed_transfer(const Engine& engine) {
  return {*engine.deps.mkeys, *engine.deps.dma, engine.deps.psvs};
}

/// False: the queue is in error.
inline bool report_fault(const Engine& engine, const Qp& qp, std::uint32_t cqn,
                         const SignatureFault& fault) {
  Completion completion;
  completion.opcode = prm::CqeOpcode::SIGNATURE_ERR;
  completion.qpn = qp.qpn;
  completion.fault = &fault;
  return engine.deps.cqs->complete(cqn, completion, engine.deps.scheduler->now_ns());
}

}  // namespace portcullis::model
