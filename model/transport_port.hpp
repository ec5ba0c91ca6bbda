// SPDX-License-Identifier: BSD-3-Clause
//
// Where the command side meets the RC transport. The core checks what any command needs (numbers
// that exist, references, reserved bits); the transport owns every QP's state, both halves of RC,
// the frames and the wire. Calls come from inside a step, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "model/behaviours.hpp"
#include "model/cq.hpp"
#include "model/dma.hpp"
#include "model/eq.hpp"
#include "model/ethernet/frame_outlet.hpp"
#include "model/ethernet/ipoib.hpp"
#include "model/ethernet/origin.hpp"
#include "model/ethernet/port_counters.hpp"
#include "model/ethernet/receive_buffer.hpp"
#include "model/mkey.hpp"
#include "model/model.hpp"
#include "model/multicast_groups.hpp"
#include "model/port_settings.hpp"
#include "model/psv_table.hpp"
#include "model/q_counters.hpp"
#include "model/queue_pages.hpp"
#include "model/scheduler.hpp"
#include "model/shared_receives.hpp"
#include "model/steering/flow_tables.hpp"
#include "model/transport/pace.hpp"
#include "model/verdict.hpp"
#include "prm/qp_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

inline constexpr bool kHostEndian = true;

/// What the transport works with; all of it outlives the transport.
struct TransportDeps {
  Dma* dma = nullptr;
  MkeyTable* mkeys = nullptr;
  CqTable* cqs = nullptr;
  EqTable* eqs = nullptr;
  Scheduler* scheduler = nullptr;
  Counters* counters = nullptr;
  const PortSettings* port = nullptr;
  const Behaviours* behaviours = &no_behaviours;
  QCounterTable* q_counters = nullptr;
  FlowTables* flows = nullptr;
  /// The receive queues behind a TIR; null: there are none, and such a frame is lost. 0: it is
  /// gone, otherwise it waits at most so many ns, if `offer` lets it.
  std::function<std::uint64_t(const FlowDecision& decision, std::span<const std::byte> frame,
                              Origin from, Offer offer)>
      deliver_to_tir{};
  /// The same of IP over InfiniBand. `is_own`: the function sent it.
  std::function<void(const FlowDecision& decision, const IpoibDatagram& datagram, bool is_own)>
      deliver_datagram{};
  /// outlet() has room again.
  std::function<void()> room_for_frames{};
  PortCounters* port_counters = nullptr;      // null: nobody reads what Ethernet frames came
  SharedReceives* shared_receives = nullptr;  // null: no QP has one
  const MulticastGroups* groups = nullptr;    // null: there are none
  PsvTable* psvs = nullptr;                   // null: there are none
  /// What an atomic fetched goes to memory in the host's order, else big-endian.
  const bool* host_endian_atomics = &kHostEndian;
};

struct TransportOptions {
  std::shared_ptr<Wire> wire;    // null: frames come back to this model alone
  std::string pcap_path;         // empty: none
  std::uint64_t seed = 1;        // of frame faults
  std::uint32_t log_max_qp = 0;  // every qpn is below 1 << log_max_qp
  std::uint32_t log_max_msg = 0;
  bool is_virtual_function = false;
  std::shared_ptr<Pace> pace{};  // null: nothing takes time
  trace::OnRecordingLost on_recording_lost{};
};

enum class QpTransition : std::uint8_t {
  Rst2Init,
  Init2Init,
  Init2Rtr,
  Rtr2Rts,
  Rts2Rts,
  Rts2Sqd,
  Sqd2Rts,
  Sqerr2Rts,
  ToErr,
  ToRst,
};

/// CREATE_QP as the core accepted it: `qpn` is free, PD, CQs and UAR of the context exist.
struct QpCreate {
  std::uint32_t qpn = 0;
  std::uint32_t opt_param_mask = 0;
  prm::ConstView<prm::qpc> context;
  std::span<const Iova> pages;  // the work queue's pages, log_page_size of the context
  // What lies in a umem instead, of work_queue_bytes(): the work queue and its doorbell record.
  std::optional<QueuePages> queue{};
  std::optional<Iova> record{};
};

/// MODIFY as the core accepted it: `qpn` exists. `context` is absent for ToErr and ToRst.
struct QpModify {
  QpTransition transition = QpTransition::ToErr;
  std::uint32_t qpn = 0;
  std::uint32_t opt_param_mask = 0;
  std::optional<prm::ConstView<prm::qpc>> context;
  std::uint64_t opt_param_mask_95_32 = 0;
};

class Transport {
 public:
  /// System when the pcap file cannot be written.
  [[nodiscard]] static Result<std::unique_ptr<Transport>> create(const TransportDeps& deps,
                                                                 const TransportOptions& options);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// How many translation bytes the work queues of a context take, before CREATE_QP is accepted:
  /// the core uses it to know how many pages must follow. Nothing when sizes are not acceptable.
  [[nodiscard]] static std::optional<std::uint64_t> work_queue_bytes(
      prm::ConstView<prm::qpc> context);

  Verdict create_qp(const QpCreate& request);
  Verdict modify_qp(const QpModify& request);
  Verdict destroy_qp(std::uint32_t qpn);
  /// Fills the context of QUERY_QP, which is zeroed.
  Verdict query_qp(std::uint32_t qpn, prm::View<prm::qpc> context);

  /// Where Ethernet frames that are no packets of a queue pair go out.
  [[nodiscard]] FrameOutlet& outlet() noexcept;

  /// Whether packets have passed to `qpn` since it connected: flow steering's "hot".
  [[nodiscard]] bool has_received(std::uint32_t qpn) const noexcept;

  /// An SQ cell of `uar` was kicked: read the doorbell record of every QP on it.
  void kick_uar(std::uint32_t uar);
  /// What no kick tells of. True when there was something.
  bool look();
  /// The last pending DMA under some key is done.
  void keys_idle();
  /// PortSettings changed: MAC, RoCE switch or an entry of the address table.
  void port_changed();
  /// What waits in the receive buffer is lost.
  void forget_buffer();
  /// Function reset or teardown: every QP is gone, frames in flight to it meet an unknown number.
  void reset();

  void inject(const FrameFaultRule& rule);
  /// See Pace; false: nothing is held under `ticket`.
  bool release(Pace::Ticket ticket);

 private:
  struct State;
  explicit Transport(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The loop that every stepped model on this wire shares, made on first use.
[[nodiscard]] std::shared_ptr<EventLoop> shared_loop(Wire& wire, std::uint64_t seed);

}  // namespace portcullis::model
