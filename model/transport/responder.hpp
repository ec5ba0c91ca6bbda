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
// A QP in RST, INIT or ERR is silent. Every packet has its key checked anew. Checking a packet and
// carrying it out are two events: without a Pace they follow at once, else the packet waits in its
// QP's Lane, and whatever happens between them is put to the test.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "model/transport/engine.hpp"
#include "model/transport/requester.hpp"

namespace portcullis::model {

class Responder {
 public:
  Responder(const Engine& engine, Requester& requester) noexcept
      : engine_(&engine), requester_(&requester) {}
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  /// A request packet for `qp`.
  void handle(Qp& qp, const Packet& packet);
  /// Everything under way is forgotten, and memory stays as it is.
  void clear() noexcept { lanes_.clear(); }

 private:
  // Checks, which fill work_.
  void establish(Qp& qp) const;
  [[nodiscard]] Refusal admit(Qp& qp, const Packet& packet);
  [[nodiscard]] Refusal admit_write(Qp& qp, const Packet& packet);
  [[nodiscard]] Refusal admit_send(Qp& qp, const Packet& packet);
  [[nodiscard]] bool place_in_receive(const Qp& qp, std::size_t bytes);
  /// The QP goes on to the next packet.
  void advance(Qp& qp, const Packet& packet);
  void answer_duplicate(const Qp& qp, const Packet& packet);
  void answer_out_of_sequence(Qp& qp);
  void answer(const Qp& qp, std::uint8_t code, std::uint32_t psn);

  // work_ happens, now or in its lane.
  void submit(Qp& qp);
  void enqueue(Qp& qp);
  static void step_over(void* self, std::uint64_t lane_and_number);
  void pump(Lane& lane);
  [[nodiscard]] Qp* owner(const Lane& lane) const noexcept;
  [[nodiscard]] bool pass(const Lane& lane, std::size_t index, PacePoint at);

  // The parts of carrying out.
  void touch_memory(const Work& work) const;
  void complete(Qp& qp, const Work& work) const;
  void respond(Qp& qp, const Work& work) const;
  void refuse(Qp& qp, const Work& work) const;
  void transmit(const Qp& qp, std::uint8_t code, std::uint32_t psn, std::uint32_t msn) const;

  const Engine* engine_;
  Requester* requester_;
  Work work_;  // the packet in hand
  std::unordered_map<std::uint32_t, std::unique_ptr<Lane>> lanes_;
  std::uint32_t next_lane_ = 0;
};

}  // namespace portcullis::model
