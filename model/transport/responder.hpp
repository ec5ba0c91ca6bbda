// SPDX-License-Identifier: BSD-3-Clause
//
// The receive half of RC, for RDMA WRITE and SEND. Rules as rxe_resp.c has them
// (drivers/infiniband/sw/rxe), where a SEND's own memory is at fault as verbs name it:
//
//   PSN               expected: go on. Earlier: a duplicate, acknowledged again, nothing written.
//                     Later: NAK sequence error with the expected PSN, once until it comes.
//   opcode, length    out of place, not served or wrong: NAK invalid request, QP to ERR
//   qpc.rwe           missing: NAK invalid request, QP to ERR
//   key               dead, foreign PD or QP, range, right: NAK remote access, QP to ERR
//   receive WQE       none posted: RNR NAK with qpc.min_rnr_nak, nothing changes
//                     too short: NAK invalid request, LOCAL_LENGTH_ERR, QP to ERR
//                     a key of its own that does not allow it: NAK remote operational error,
//                     LOCAL_PROT_ERR, QP to ERR
//
// A QP in RST, INIT or ERR is silent. Every packet has its key checked anew. Checking and writing
// are two steps, so that what happens between them can be put to the test.
#pragma once

#include <cstdint>
#include <span>

#include "model/transport/engine.hpp"
#include "model/transport/requester.hpp"

namespace portcullis::model {

class Responder {
 public:
  Responder(const Engine& engine, Requester& requester) noexcept
      : engine_(&engine), requester_(&requester) {}

  /// A request packet for `qp`.
  void handle(Qp& qp, const Packet& packet);

 private:
  /// What admit() allowed and write() carries out.
  struct PendingWrite {
    Extents to;
    std::span<const std::byte> payload;
  };
  /// Why a request is refused.
  enum class Refusal : std::uint8_t {
    None,
    InvalidRequest,
    RemoteAccess,
    NotReady,    // no receive is posted
    TooLong,     // for the receive
    Protection,  // the receive's own memory
  };

  [[nodiscard]] Refusal admit(Qp& qp, const Packet& packet, PendingWrite& write) const;
  void write(const PendingWrite& write) const;
  [[nodiscard]] Refusal admit_send(Qp& qp, const Packet& packet) const;
  /// Goes over the receive's memory for the packet's payload: checks it, or writes it.
  [[nodiscard]] bool scatter(const Qp& qp, std::span<const std::byte> payload, bool write) const;
  void finish(Qp& qp, const Packet& packet) const;
  [[nodiscard]] bool complete(Qp& qp, const Packet& packet) const;
  void duplicate(const Qp& qp, const Packet& packet) const;
  void out_of_sequence(Qp& qp) const;
  void refuse(Qp& qp, const Packet& packet, Refusal refusal) const;
  void not_ready(Qp& qp, const Packet& packet) const;
  void answer(const Qp& qp, std::uint8_t code, std::uint32_t psn) const;

  const Engine* engine_;
  Requester* requester_;
};

}  // namespace portcullis::model
