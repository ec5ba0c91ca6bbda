// SPDX-License-Identifier: BSD-3-Clause
//
// The receive half of RC. Rules as rxe_resp.c has them
// (drivers/infiniband/sw/rxe), where a SEND's own memory is at fault as verbs name it:
//
//   PSN               expected: go on. Earlier: a duplicate, acknowledged again, nothing written.
//                     Later: NAK sequence error with the expected PSN, once until it comes.
//   opcode, length    out of place, not served or wrong: NAK invalid request, QP to ERR
//   READs, atomics    more at a time than 2^qpc.log_rra_max: NAK invalid request, QP to ERR
//   qpc.rwe, rre, rae missing: NAK invalid request, QP to ERR
//   atomic's address  not a multiple of 8: NAK invalid request, QP to ERR
//   key               dead, foreign PD or QP, range, right: NAK remote access, QP to ERR
//   receive WQE       none posted: RNR NAK with qpc.min_rnr_nak, nothing changes
//                     too short: NAK invalid request, LOCAL_LENGTH_ERR, QP to ERR
//                     a key of its own that does not allow it: NAK remote operational error,
//                     LOCAL_PROT_ERR, QP to ERR
//   SEND's key        to be invalidated, and none that may be (mkey.hpp): as a key. That it is not
//                     rxe's receive that completes in error is a hypothesis
//   duplicate         READ: carried out again, rights and key checked anew. Atomic: answered from
//                     what was kept. Unknown, or no part of the first: dropped
//
// XRC is as RC, but each message says whose receives and whose keys it is about: the shared queue
// of its XRCETH, its PD and its CQ. One that is not there, or of another domain, is refused as a
// key is: qedr_affiliated_event of hw/qedr/main.c makes IB_EVENT_QP_ACCESS_ERR of both. That the
// NAK is the one of a key is a hypothesis.
//
// UC answers nothing, so of these a request takes the QP to ERR only where a receive of its own is
// at fault; for any other the message is dropped in silence, and what follows it until the next
// begins (check_psn, check_op_seq and do_class_d1e_error of rxe_resp.c). A message begins whatever
// its PSN, and one that is not whole leaves its receive to the next.
//
// UD is as UC, but takes from everybody who says its Q_Key, in messages of one packet. 40 bytes of
// the receive stand before the message: the GRH, or what RoCEv2 has in its place; where the packet
// has neither they stay as they are.
//
// A QP in RST, INIT or ERR is silent. Every packet has its key checked anew. Checking a packet and
// carrying it out are two events: without a Pace they follow at once, else the packet waits in its
// QP's Lane, and whatever happens between them is put to the test.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

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
  /// The wire has room again for READs that waited.
  void room();
  /// Everything under way is forgotten, and memory stays as it is.
  void clear() noexcept {
    lanes_.clear();
    waiting_.clear();
  }

 private:
  // rxe_resp_check_length: C9-94 of the InfiniBand specification
  static constexpr std::uint32_t kMaxDmaLength = std::uint32_t{1} << 31;
  // What a QP keeps that is admitted and not finished, as a receive buffer: more is lost, and the
  // requester sends it again.
  static constexpr std::size_t kMaxWork = 1024;

  // Checks, which fill work_.
  void establish(Qp& qp) const;
  [[nodiscard]] Refusal admit(Qp& qp, const Packet& packet);
  void handle_unreliable(Qp& qp, const Packet& packet);
  [[nodiscard]] bool goes_on(Qp& qp, const Packet& packet) const;
  void drop_message(Qp& qp);
  void take_datagram(Qp& qp, const Packet& packet);
  [[nodiscard]] bool find_receiver(Qp& qp, const Packet& packet) const;
  [[nodiscard]] Refusal admit_write(Qp& qp, const Packet& packet);
  [[nodiscard]] bool is_serving(const Qp& qp) const noexcept;
  [[nodiscard]] bool is_cached(const ReceiveState& receive, std::uint32_t bytes) const noexcept;
  [[nodiscard]] Refusal admit_send(Qp& qp, const Packet& packet);
  [[nodiscard]] Refusal take_receive(Qp& qp) const;
  [[nodiscard]] Refusal begin_tagged(Qp& qp, const Packet& packet) const;
  [[nodiscard]] static bool has_room(const Qp& qp, std::size_t bytes);
  [[nodiscard]] Refusal admit_datagram(Qp& qp, const Packet& packet);
  [[nodiscard]] static bool has_resource(const Qp& qp) noexcept;
  [[nodiscard]] Refusal admit_read(Qp& qp, const Packet& packet);
  [[nodiscard]] Refusal admit_atomic(Qp& qp, const Packet& packet);
  [[nodiscard]] bool place(std::uint32_t key, std::uint64_t va, std::uint32_t bytes);
  [[nodiscard]] bool place_in_receive(const Qp& qp, std::span<const std::byte> payload);
  [[nodiscard]] bool place_part(const Qp& qp, const KeyUse& use, std::span<const std::byte> payload,
                                std::size_t from);
  [[nodiscard]] bool place_signed(const Qp& qp, const KeyUse& use,
                                  std::span<const std::byte> before,
                                  std::span<const std::byte> part);
  [[nodiscard]] bool fetch_signed(const Qp& qp, Work& work) const;
  /// The QP goes on to the next packet.
  void advance(Qp& qp, const Packet& packet);
  void advance_read(Qp& qp, const Packet& packet);
  void advance_atomic(Qp& qp, const Packet& packet);
  void advance_data(Qp& qp, const Packet& packet);
  void prepare_completion(Qp& qp, const Packet& packet);
  void advance_tagged(Qp& qp, const Packet& packet);
  void keep_request(TaggedQp& tagged, const Packet& packet);
  void report_match(const Qp& qp);
  void report_end(Qp& qp, bool is_first);
  static void remember(Qp& qp, const ResponderResource& resource);
  [[nodiscard]] static ResponderResource* find_resource(Qp& qp, std::uint32_t psn) noexcept;
  void answer_duplicate(Qp& qp, const Packet& packet);
  void repeat_read(Qp& qp, const Packet& packet);
  void repeat_atomic(Qp& qp, const Packet& packet);
  void answer_out_of_sequence(Qp& qp);
  void answer(const Qp& qp, std::uint8_t code, std::uint32_t psn);

  // work_ happens, now or in its lane.
  void submit(Qp& qp);
  void enqueue(Qp& qp);
  static void step_over(void* self, std::uint64_t lane_and_number);
  [[nodiscard]] Task step_task(const Lane& lane, std::size_t index) noexcept;
  void pump(Lane& lane);
  void carry_out_ready(Lane& lane);
  void answer_ready(Lane& lane);
  [[nodiscard]] Qp* owner(const Lane& lane) const noexcept;
  [[nodiscard]] Qp* serving_owner(const Lane& lane) const noexcept;
  [[nodiscard]] bool pass(const Lane& lane, std::size_t index, PacePoint at);

  // The parts of carrying out.
  void carry_out(Qp* qp, Work& work) const;
  void carry_out_atomic(Qp* qp, Work& work) const;
  [[nodiscard]] bool go_on_reading(Lane& lane);
  [[nodiscard]] bool check_response(Qp& qp, Work& work) const;
  [[nodiscard]] bool fetch_response(Work& work) const;
  [[nodiscard]] bool send_response(const Qp& qp, Work& work) const;
  [[nodiscard]] static bool finish_read(Lane& lane);
  [[nodiscard]] static bool refuse_read(Qp& qp, Work& work, Refusal refusal);
  void complete(Qp& qp, const Work& work) const;
  void respond(Qp& qp, const Work& work) const;
  void refuse(Qp& qp, const Work& work) const;
  void end_with(Qp& qp, const Work& work, std::uint8_t code, prm::EventType event) const;
  void transmit(const Qp& qp, std::uint8_t code, const Work& work) const;

  const Engine* engine_;
  Requester* requester_;
  Work work_;  // the packet in hand
  std::unordered_map<std::uint32_t, std::unique_ptr<Lane>> lanes_;
  std::uint32_t next_lane_ = 0;
  std::vector<std::uint32_t> waiting_;  // lanes, for room()
};

}  // namespace portcullis::model
