// SPDX-License-Identifier: BSD-3-Clause
//
// The send half of RC: WQEs become packets, acknowledgements become completions. Rules as rxe_req.c
// and rxe_comp.c have them (drivers/infiniband/sw/rxe), with these of ConnectX where they differ:
// a retry count of 7 is seven retries, not for ever, and the budget to the error is
// (retry_count + 1) * 4.096 us * 2^ack_timeout.
//
// WQEs complete in order. One that cannot be carried out waits until all before it have completed,
// then takes the QP to error; what follows it is flushed.
//
// UC and UD: a packet counts as acknowledged when it has left, nothing is sent again, and a WQE
// that cannot be carried out takes the send half alone to error, SQER, as users of verbs expect of
// a service without acknowledgements (ib_mad_send_error of core/mad.c takes a QP out of it). That a
// ConnectX-5 does so is a hypothesis. Each WQE of UD says where its one packet goes.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "model/transport/engine.hpp"

namespace portcullis::model {

class Requester {
 public:
  /// Unacknowledged packets of one QP at most.
  static constexpr std::int32_t kWindowPackets = 128;

  explicit Requester(const Engine& engine) noexcept : engine_(&engine) {}
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  /// The doorbell record said `producer` when the QP's UAR was kicked.
  void ring(Qp& qp, std::uint16_t producer);
  /// SQD to RTS: goes on with what was posted.
  void resume(Qp& qp);
  /// RTS to SQD: no message is begun any more.
  void drain(Qp& qp);
  /// A packet that answers a request: an acknowledgement, or what a WRITE never asks for.
  void handle(Qp& qp, const Packet& packet);
  /// The wire has room again for QPs that waited.
  void room();
  /// A priority may be sent again: QPs that waited for theirs look.
  void go_on();
  /// To ERR: everything posted completes with a flush error.
  void enter_error(Qp& qp);
  /// Of a service without acknowledgements, where a WQE cannot be carried out: everything posted
  /// completes with a flush error until SQERR2RTS.
  void enter_send_error(Qp& qp);
  /// A rendezvous request has matched: the device's send queue fetches what it names.
  void begin_rendezvous(Qp& qp, const Rendezvous& rendezvous);
  /// A key has no pending DMA any more: a UMR may have waited for it.
  void keys_idle();
  /// No timer of this QP fires any more: it goes to RST, or away.
  void stop(Qp& qp) noexcept;

 private:
  static constexpr int kBurstPackets = 16;  // before other work of this instant has its turn

  enum class Step : std::uint8_t { Sent, Idle };

  void wake(Qp& qp);
  static void serve_task(void* self, std::uint64_t qpn);
  void serve(Qp& qp);
  [[nodiscard]] static std::size_t turn(const SendState& send) noexcept;
  void wait_for_room(Qp& qp);
  [[nodiscard]] bool waits_for_priority(Qp& qp);
  Step send_next(Qp& qp);
  Step send_packet(Qp& qp, Message& message);
  Step send_fetch(Qp& qp, Message& message);
  [[nodiscard]] bool has_turn(Qp& qp, const Message& message);
  [[nodiscard]] static bool may_fetch(const Qp& qp, const Message& message) noexcept;
  [[nodiscard]] bool between_packets(Qp& qp, std::uint32_t psn);
  static void step_task(void* self, std::uint64_t qpn);
  void note_sent(Qp& qp, std::uint32_t psn, std::uint32_t end_psn);
  [[nodiscard]] bool fetch(Qp& qp);
  [[nodiscard]] bool load(Qp& qp, const Message& message);
  [[nodiscard]] WqeFault read_wqe(const Qp& qp, std::uint16_t index, std::uint16_t available);
  [[nodiscard]] bool address(Qp& qp) const;
  [[nodiscard]] bool gather(Qp& qp, std::uint64_t offset, std::span<std::byte> out);
  [[nodiscard]] bool wants_ack(Qp& qp, const Message& message, bool last);

  [[nodiscard]] bool gather_signed(Qp& qp, std::uint32_t key, std::uint64_t va,
                                   std::span<std::byte> out);
  [[nodiscard]] bool scatter_signed(Qp& qp, std::uint32_t key, std::uint64_t va,
                                    std::span<const std::byte> data);
  void report(Qp& qp, const SignatureFault& fault);
  static void drain_task(void* self, std::uint64_t qpn);
  void forget_fetched(SendState& send) noexcept;

  Step carry_out_umr(Qp& qp, Message& message);
  Step fail_umr(Qp& qp, Message& message, const WqeError& error);
  [[nodiscard]] const WqeError* change_key(Qp& qp);
  [[nodiscard]] const WqeError* set_psv(const Qp& qp);
  [[nodiscard]] const WqeError* carry_out(Qp& qp, const Message& message);
  [[nodiscard]] const WqeError* change_tags(const Qp& qp, const Message& message);
  [[nodiscard]] bool complete_rendezvous(const Qp& qp, const Message& message);
  void fail_rendezvous(const Qp& qp, std::uint16_t index) const;
  [[nodiscard]] const WqeError* read_translations(Qp& qp, bool is_inline, std::span<std::byte> out);

  void handle_acknowledge(Qp& qp, const Packet& packet);
  void handle_data(Qp& qp, const Packet& packet);
  [[nodiscard]] const WqeError* take_response(Qp& qp, const Message& message, const Packet& packet);
  [[nodiscard]] const WqeError* take_original(Qp& qp, const Packet& packet);
  [[nodiscard]] bool scatter(Qp& qp, std::uint64_t offset, std::span<const std::byte> data);
  void handle_nak(Qp& qp, const Packet& packet);
  void handle_rnr_nak(Qp& qp, const Packet& packet);
  [[nodiscard]] static std::uint32_t reach(const SendState& send, std::uint32_t psn) noexcept;
  /// Packets before `psn` are acknowledged, unless data of one is missing: false, and the data is
  /// asked for again.
  [[nodiscard]] bool acknowledge_up_to(Qp& qp, std::uint32_t psn);
  /// Packets before `psn` are acknowledged.
  void acknowledge(Qp& qp, std::uint32_t psn);
  void retire(Qp& qp);
  static void align_cursor(SendState& send) noexcept;
  void send_again(Qp& qp);
  void retry(Qp& qp);
  void time_out(Qp& qp);
  [[nodiscard]] std::uint64_t ack_timeout_ns(const Qp& qp) const noexcept;
  void start_waiting(Qp& qp);
  static void go_back(SendState& send) noexcept;
  void check_drained(Qp& qp);
  [[nodiscard]] static bool has_work(const SendState& send) noexcept;

  void start_timer(Qp& qp);
  static void timer_task(void* self, std::uint64_t qpn);
  void on_timer(Qp& qp);

  void fail_oldest(Qp& qp, const WqeError& error);
  void flush(Qp& qp);
  bool complete(const Qp& qp, const Message& message);
  void complete_in_error(const Qp& qp, std::uint16_t wqe_index, prm::WqeOpcode opcode,
                         const WqeError& error);

  const Engine* engine_;
  std::deque<std::uint32_t> waiting_;           // QPs, for room(), each once
  std::vector<std::uint32_t> paused_;           // QPs, for go_on(), each once
  std::vector<std::uint32_t> waiting_for_dma_;  // QPs, for keys_idle()
  SendWqe wqe_;                                 // the one last read,
  const Message* loaded_ = nullptr;             // for this message
};

}  // namespace portcullis::model
