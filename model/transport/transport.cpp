// SPDX-License-Identifier: BSD-3-Clause
//
// The transport as the command side sees it, and the port behind which it receives.
#include <algorithm>
#include <cstring>
#include <utility>

#include "model/ethernet/ipoib.hpp"
#include "model/ethernet/pause_clock.hpp"
#include "model/ethernet/priority.hpp"
#include "model/transport/doorbells.hpp"
#include "model/transport/engine.hpp"
#include "model/transport/inbox.hpp"
#include "model/transport/path.hpp"
#include "model/transport/pcap.hpp"
#include "model/transport/qp_transitions.hpp"
#include "model/transport/requester.hpp"
#include "model/transport/responder.hpp"
#include "model/transport/tag_completions.hpp"
#include "model/transport_port.hpp"

namespace portcullis::model {
namespace {

constexpr std::uint32_t kNoSuchQp = 0x500001;
constexpr std::uint32_t kQpnInUse = 0x500002;
constexpr std::uint32_t kNoForcedLoopback = 0x500003;
constexpr std::uint32_t kNothingToDrain = 0x500004;

/// 0: none, as Packet::vlan_id() has it.
std::uint16_t vlan_of(const RoceAddress& entry) noexcept {
  return entry.vlan_valid ? entry.vlan_id : std::uint16_t{0};
}

/// What management asks of a datagram: its size, no immediate, and the lane and the permissive LID
/// for subnet management and nobody else (qib_ud_rcv of hw/qib/qib_ud.c).
bool is_well_managed(const Qp& qp, const Packet& packet) noexcept {
  const bool is_permissive =
      packet.dest_lid == prm::kPermissiveLid || packet.source_lid == prm::kPermissiveLid;
  const bool is_subnet = qp.wire_qpn == prm::kQp0;
  if (!is_subnet && (is_permissive || packet.virtual_lane == kManagementLane)) return false;
  if (!qp.is_special()) return true;
  return packet.operation() == BthOpcode::SendOnly &&
         packet.payload.size() == prm::kManagementBytes &&
         (!is_subnet || packet.virtual_lane == kManagementLane);
}

constexpr Origin kFromOutside{};

}  // namespace

struct Transport::State final : FrameSink, FrameOutlet {
  State(const TransportDeps& dependencies, const TransportOptions& options)
      : wire(options.wire ? options.wire : std::make_shared<Wire>(0, dependencies.port->type)),
        qps(options.log_max_qp),
        pacer(*dependencies.scheduler, options.pace),
        log_max_msg(options.log_max_msg),
        is_switched(options.is_virtual_function) {
    engine.deps = dependencies;
    engine.qps = &qps;
    engine.doorbells = &doorbells;
    engine.error_receives = &error_receives;
    engine.wire = wire.get();
    engine.pacer = &pacer;
    engine.port = wire->attach(*this, *dependencies.scheduler, *dependencies.counters);
    if (engine.deps.port_counters == nullptr) engine.deps.port_counters = &spare_counters;
    pauses.emplace(*dependencies.scheduler, PortSettings::kGbps,
                   engine.deps.port_counters->port.stopped, Task{&State::go_on, this, 0});
    way_out.emplace(*wire, engine.port, *pauses, dependencies.counters->frames_dropped);
    engine.way_out = &*way_out;
    buffer.emplace(ReceiveBuffer::Deps{
        dependencies.scheduler, dependencies.port, engine.deps.port_counters,
        &dependencies.counters->frames_dropped,
        [](void* state, const PauseFrame& frame) { return static_cast<State*>(state)->say(frame); },
        [](void* state, std::span<const std::byte> frame, Offer offer) {
          auto& self = *static_cast<State*>(state);
          return offer == Offer::First ? self.take_now(frame, kFromOutside, offer)
                                       : self.forward(frame, kFromOutside, offer);
        },
        this});
    wire->seed_faults(engine.port, options.seed);
    for (const FrameFaultRule& rule : frame_faults(*dependencies.behaviours))
      wire->inject(engine.port, rule);
    if (pacer.engaged()) wire->set_pacer(engine.port, &pacer);
    learn_port();
  }
  ~State() override { wire->detach(engine.port); }

  [[nodiscard]] bool owns(std::span<const std::byte> frame) const noexcept override;
  [[nodiscard]] bool owns_mac(const Mac& address) const noexcept;
  [[nodiscard]] bool listens(std::span<const std::byte> frame) const noexcept override;
  void receive(std::span<const std::byte> frame) override { take(frame, kFromOutside); }
  void receive_back(std::span<const std::byte> frame, std::uint32_t domain) override {
    take(frame, {true, domain});
  }
  void take(std::span<const std::byte> frame, Origin from);
  std::uint64_t take_now(std::span<const std::byte> frame, Origin from, Offer offer);
  std::uint64_t forward(std::span<const std::byte> frame, Origin from, Offer offer);
  [[nodiscard]] bool say(const PauseFrame& frame);
  [[nodiscard]] std::span<std::byte> next() override;
  void send(std::size_t length, std::uint32_t domain) override {
    wire->send(engine.port, length, way_of(wire->next_buffer()), domain);
  }
  [[nodiscard]] Way way_of(std::span<const std::byte> frame) const noexcept;
  [[nodiscard]] bool is_paused(std::span<const std::byte> frame,
                               std::uint8_t priority) const override;
  [[nodiscard]] std::optional<std::size_t> steer(std::span<std::byte> room, std::size_t length,
                                                 const FrameSender& sender) override;
  void hear(std::span<const std::byte> frame);
  static void go_on(void* state, std::uint64_t argument);
  bool send_datagram(const UnderlayDatagram& datagram) override;
  void accept(const Packet& packet);
  void room() override;
  static void hand_out_room(void* state, std::uint64_t argument);
  void learn_port();
  void learn_pkeys();
  [[nodiscard]] bool is_of_partition(const Qp& qp, const Packet& packet) const noexcept;
  std::uint64_t receive_other(std::span<const std::byte> frame, FrameFault fault, Origin from,
                              Offer offer);
  [[nodiscard]] int times_of_vport(std::span<const std::byte> frame) const noexcept;
  std::uint64_t receive_ethernet(std::span<const std::byte> frame, Origin from, Offer offer);
  [[nodiscard]] bool is_steered_away(std::span<const std::byte> frame, const Packet& packet) const;
  [[nodiscard]] bool is_too_long(std::span<const std::byte> frame, bool is_own) const noexcept;
  [[nodiscard]] bool is_ethernet_alone(bool is_own) const noexcept;
  [[nodiscard]] bool is_for_port(const Packet& packet) const noexcept;
  [[nodiscard]] bool is_from_port(const Packet& packet) const noexcept;
  [[nodiscard]] bool is_on_vlan(const Packet& packet) const noexcept;
  [[nodiscard]] bool has_groups() const noexcept;
  void count(const Packet& packet, std::span<const std::byte> frame) noexcept;
  std::uint64_t take_copy(std::span<const std::byte> frame, Origin from, Offer offer);
  void accept_of_group(const Packet& packet);
  void accept_underlay(const Qp& qp, const Packet& packet);
  [[nodiscard]] bool admits(const Qp& qp, const Packet& packet) const noexcept;
  [[nodiscard]] bool is_from_peer(const Qp& qp, const Packet& packet) const noexcept;

  std::shared_ptr<Wire> wire;
  QpTable qps;
  Doorbells doorbells;
  ErrorReceives error_receives;
  Pacer pacer;
  Engine engine;
  Requester requester{engine};
  Responder responder{engine, requester};
  Inbox inbox{
      pacer,
      {[](void* state, const Packet& packet) { static_cast<State*>(state)->accept(packet); },
       this}};
  PortCounters spare_counters;       // where nobody else counts
  std::optional<PauseClock> pauses;  // always there, as the next
  std::optional<WayOut> way_out;
  std::optional<ReceiveBuffer> buffer;
  std::uint32_t log_max_msg;
  bool is_switched;  // a virtual function: the switch inside the card decides what it is sent
  bool room_posted = false;
  std::vector<std::byte> datagram;  // scratch of accept_underlay(), as the next
  std::vector<std::byte> datagram_frame;
  std::vector<Mac> addresses;  // of the port, its lists and its RoCE address table, each once
  bool has_more_listening = false;
  decltype(PortSettings::pkeys) known_pkeys = PortSettings{}.pkeys;
};

/// A frame is free. Not at once: when everything due now has happened there is room for many, and
/// each queue pair that waits gets some for its turn, not one frame at a time.
void Transport::State::room() {
  if (!std::exchange(room_posted, true))
    engine.deps.scheduler->post(Task{&State::hand_out_room, this, 0});
}

void Transport::State::hand_out_room(void* state, std::uint64_t /*argument*/) {
  auto& self = *static_cast<State*>(state);
  self.room_posted = false;
  if (!self.way_out->open()) self.wire->wait_for_room(self.engine.port);
  self.responder.room();
  self.requester.room();
  if (self.engine.deps.room_for_frames) self.engine.deps.room_for_frames();
}

std::span<std::byte> Transport::State::next() {
  if (wire->has_room()) return wire->next_buffer();
  wire->wait_for_room(engine.port);
  return {};
}

bool Transport::State::is_paused(std::span<const std::byte> frame, std::uint8_t priority) const {
  const bool stays_here = owns(frame) && way_of(frame) == Way::Anywhere;
  return !stays_here && pauses->is_paused(priority_of(frame, *engine.deps.port, priority));
}

std::optional<std::size_t> Transport::State::steer(std::span<std::byte> room, std::size_t length,
                                                   const FrameSender& sender) {
  const TransportDeps& deps = engine.deps;
  const FlowDecision decision = deps.flows->send(room.first(length), sender.sqn, sender.metadata);
  const std::span<const std::byte> frame = decision.to.frame(room.first(length));
  if (decision.kind == FlowDecision::Kind::Drop || frame.size() > room.size()) {
    ++deps.counters->frames_steered_away;
    ++deps.counters->frames_dropped;
    return std::nullopt;
  }
  if (decision.to.changed != nullptr) std::ranges::copy(frame, room.begin());
  return frame.size();
}

/// Of a frame of a send queue, which may come back to the vport by its address or not
/// (mlx5_nic_vport_update_local_lb of mlx5/core/vport.c; mlx5_ib_enable_lb of mlx5_ib has it so for
/// raw packets alone). That what may not goes out, as the next frame does, is a hypothesis.
Way Transport::State::way_of(std::span<const std::byte> frame) const noexcept {
  const PortSettings& port = *engine.deps.port;
  const bool is_unicast = cast_of(frame) == Cast::Unicast;
  return (is_unicast ? port.loops_unicast : port.loops_multicast) ? Way::Anywhere : Way::Away;
}

bool Transport::State::say(const PauseFrame& frame) {
  if (!wire->has_frame()) return false;
  build_pause(frame, engine.deps.port->mac, wire->next_buffer());
  wire->send(engine.port, kPauseFrameBytes, Way::Away);
  return true;
}

void Transport::State::hear(std::span<const std::byte> frame) {
  const std::optional<PauseFrame> said = parse_pause(frame);
  engine.deps.port_counters->count_control(said);
  if (said) pauses->hear(*said, engine.deps.port->obeyed(said->is_per_priority));
}

/// Some priority may be sent again: first what answers, then whoever waited to send.
void Transport::State::go_on(void* state, std::uint64_t /*argument*/) {
  auto& self = *static_cast<State*>(state);
  if (!self.way_out->open()) self.wire->wait_for_room(self.engine.port);
  self.requester.go_on();
  self.room();
}

bool Transport::State::send_datagram(const UnderlayDatagram& datagram) {
  Qp* const qp = qps.find(datagram.qpn);
  if (qp == nullptr || !qp->is_underlay || qp->state != prm::QpState::RTS) return false;
  if (!set_address(*qp, datagram.address, *engine.deps.port)) return false;
  PacketHeader header;
  header.opcode = BthOpcode::SendOnly;
  header.solicited = datagram.is_solicited;
  header.psn = std::exchange(qp->send.next_psn, psn_add(qp->send.next_psn, 1));
  header.q_key = q_key_of(datagram.address, qp->q_key);
  header.source_qpn = datagram.qpn;
  std::ranges::copy(datagram.payload,
                    wire->next_buffer().subspan(qp->frame.payload_offset(header.opcode)).begin());
  engine.transmit(*qp, header, datagram.payload.size());
  return true;
}

bool Transport::State::owns(std::span<const std::byte> frame) const noexcept {
  if (wire->port_type() == PortType::InfiniBand) {
    const std::uint32_t lid = prm::ConstView<lrh>::at(frame).get<"dlid">();
    return lid == engine.deps.port->lid || lid == prm::kPermissiveLid;
  }
  Mac address;
  std::memcpy(address.data(), frame.data(), address.size());
  return owns_mac(address);
}

bool Transport::State::owns_mac(const Mac& address) const noexcept {
  return std::ranges::find(addresses, address) != addresses.end();
}

/// A queue pair sends with what its entry of the table has now.
void Transport::State::learn_pkeys() {
  const PortSettings& port = *engine.deps.port;
  if (known_pkeys == port.pkeys) return;
  known_pkeys = port.pkeys;
  for (std::uint32_t qpn = 0; qpn < qps.limit(); ++qpn) {
    Qp* const qp = qps.find(qpn);
    if (qp == nullptr || !qp->has_peer() || !receives(qp->state)) continue;  // later, by its own
    qp->path.pkey = pkey_of(*qp, port);
    qp->frame = FrameTemplate(qp->path);
  }
}

void Transport::State::learn_port() {
  const PortSettings& port = *engine.deps.port;
  learn_pkeys();
  wire->set_link(engine.port, port.carries_data(), port.link_up);
  addresses.assign(1, port.mac);
  const auto add = [this](const Mac& address) {
    if (!owns_mac(address)) addresses.push_back(address);
  };
  for (const RoceAddress& entry : port.roce)
    if (entry.valid) add(entry.mac);
  std::ranges::for_each(port.unicast, add);
  for (const auto& [index, address] : port.l2_table) add(address);
  if (is_switched && engine.deps.behaviours->vf_needs_uc_list)
    std::erase_if(addresses, [&port](const Mac& address) {
      return std::ranges::find(port.unicast, address) == port.unicast.end();
    });
  has_more_listening =
      has_groups() ||
      (port.type == PortType::Ethernet &&
       (!port.multicast.empty() || port.promisc_uc || port.promisc_mc || port.promisc_all));
  wire->set_listening(engine.port, has_more_listening);
}

bool Transport::State::has_groups() const noexcept {
  return engine.deps.groups != nullptr && !engine.deps.groups->empty();
}

/// What the lists and the promiscuity of the vport ask for beside its addresses, and the groups of
/// its queue pairs. Linux has the port's list name a group's address too (cma_igmp_send of
/// core/cma.c); that a card without it there hears nothing of the group nobody says.
bool Transport::State::listens(std::span<const std::byte> frame) const noexcept {
  const PortSettings& port = *engine.deps.port;
  if (port.type == PortType::InfiniBand) {
    const auto lid = prm::ConstView<lrh>::at(frame).get<"dlid">();
    return has_groups() && prm::is_multicast_lid(static_cast<std::uint16_t>(lid));
  }
  if (port.promisc_all) return true;
  if ((frame[0] & std::byte{1}) == std::byte{0}) return port.promisc_uc;
  Mac address;
  std::memcpy(address.data(), frame.data(), address.size());
  return port.promisc_mc || std::ranges::find(port.multicast, address) != port.multicast.end() ||
         (has_groups() && engine.deps.groups->has_mac(address));
}

/// What a datagram asks of its address: that it is the port's, on the VLAN that it has there. A GID
/// that nobody has here is not ours (rxe_chk_dgid of rxe_recv.c), and Linux looks for it by GID and
/// VLAN (get_sgid_index_from_eth of core/verbs.c); that a card does so itself is a hypothesis.
bool Transport::State::is_for_port(const Packet& packet) const noexcept {
  const PortSettings& port = *engine.deps.port;
  if (wire->port_type() == PortType::InfiniBand)
    return !packet.has_grh || packet.dest_ip == port.default_gid();
  return std::ranges::any_of(port.roce, [&packet](const RoceAddress& entry) {
    return entry.valid && entry.gid == packet.dest_ip && vlan_of(entry) == packet.vlan_id();
  });
}

/// Subnet management asks for none, QP 1 for any of the port's: handle_responder of mlx5_ib/cq.c
/// looks for the index of the key that its completion has. What a card does is a hypothesis.
bool Transport::State::is_of_partition(const Qp& qp, const Packet& packet) const noexcept {
  const PortSettings& port = *engine.deps.port;
  if (port.type != PortType::InfiniBand || !qp.is_special())
    return pkeys_match(pkey_of(qp, port), packet.pkey);
  return qp.wire_qpn == prm::kQp0 || std::ranges::any_of(port.pkeys, [&packet](std::uint16_t own) {
           return pkeys_match(own, packet.pkey);
         });
}

/// Of the queue pair's transport and partition; who is of another partition is counted.
bool Transport::State::admits(const Qp& qp, const Packet& packet) const noexcept {
  // A UMR QP has no peer.
  if (qp.reg_umr || packet.transport() != qp.transport) return false;
  if (is_of_partition(qp, packet)) return true;
  if (receives(qp.state)) engine.deps.port_counters->violations.note_pkey();
  return false;
}

/// What comes over the link must come from the QP's peer: on InfiniBand by its LID, and by its GID
/// where the path is global; on Ethernet by its address, on the VLAN of the QP's own.
bool Transport::State::is_from_peer(const Qp& qp, const Packet& packet) const noexcept {
  if (qp.is_datagram()) return is_for_port(packet) && is_well_managed(qp, packet);
  // Of XRC one that sends hears answers alone, and one that receives asks nobody.
  if (qp.is_xrc() && packet.info().is_request() == qp.has_sq) return false;
  if (qp.force_loopback) return true;
  if (wire->port_type() == PortType::Ethernet)
    return qp.frame.vlan_id() == packet.vlan_id() &&
           qp.frame.is_way_back(packet.source_ip, packet.dest_ip);
  return packet.source_lid == qp.path.dest_lid && packet.has_grh == qp.path.has_grh &&
         packet.source_ip == qp.path.dest_ip && packet.dest_ip == qp.path.source_ip;
}

/// A frame that is no packet of a queue pair: of NIC_RX where it is no RoCE at all, otherwise lost.
/// What cannot be told, because a header is cut short or wrong, is no RoCE either.
std::uint64_t Transport::State::receive_other(std::span<const std::byte> frame, FrameFault fault,
                                              Origin from, Offer offer) {
  switch (fault) {
    case FrameFault::NotIp:
    case FrameFault::NotUdp:
    case FrameFault::NotRoce:
    case FrameFault::Fragment:
    case FrameFault::IpVersion:
    case FrameFault::IpChecksum:
    case FrameFault::TooShort:
      if (engine.deps.flows->engaged()) return receive_ethernet(frame, from, offer);
      break;
    case FrameFault::Icrc:
      ++engine.deps.counters->icrc_errors;
      ++engine.deps.port_counters->port.wrong_icrc;
      break;
    default:
      ++engine.deps.port_counters->port.malformed;
      break;
  }
  ++engine.deps.counters->frames_dropped;
  return 0;
}

/// Of a vport with all three kinds of promiscuity Snabb's connectx_test.lua asserts that it counts
/// a frame for a group twice, whether one queue gets it or four (`tx_mcast_packets*2 ==
/// stat1.rx_mcast_packets` of switch(), and of broadcasts likewise). That the two kinds do so which
/// both want it, and that no queue gets it twice, is a hypothesis.
int Transport::State::times_of_vport(std::span<const std::byte> frame) const noexcept {
  const PortSettings& port = *engine.deps.port;
  return port.promisc_mc && port.promisc_all && cast_of(frame) != Cast::Unicast ? 2 : 1;
}

std::uint64_t Transport::State::receive_ethernet(std::span<const std::byte> frame, Origin from,
                                                 Offer offer) {
  const TransportDeps& deps = engine.deps;
  const bool is_too_long = frame.size() > deps.port->most_frame_bytes();
  const bool is_too_short = frame.size() < PortCounters::kLeastBytes;
  if (!from.is_own) {
    if (is_too_long)
      deps.port_counters->count_too_long();
    else if (is_too_short)
      ++deps.port_counters->port.too_short;
    else
      deps.port_counters->count_received(frame, times_of_vport(frame),
                                         priority_of(frame, *deps.port));
  }
  if (!is_too_long && !is_too_short) return forward(frame, from, offer);
  ++deps.counters->frames_dropped;
  return 0;
}

/// A frame that was counted, to where NIC_RX has it.
std::uint64_t Transport::State::forward(std::span<const std::byte> frame, Origin from,
                                        Offer offer) {
  const TransportDeps& deps = engine.deps;
  const FlowDecision decision = deps.flows->classify(frame, from.is_own);
  if (decision.kind == FlowDecision::Kind::Tir && deps.deliver_to_tir)
    return deps.deliver_to_tir(decision, frame, from, from.is_own ? Offer::Final : offer);
  if (decision.kind == FlowDecision::Kind::Drop) ++deps.counters->frames_steered_away;
  ++deps.counters->frames_dropped;
  return 0;
}

/// Flow tables took the packet from its QP.
bool Transport::State::is_steered_away(std::span<const std::byte> frame,
                                       const Packet& packet) const {
  const Qp* const qp = qps.receiver(packet.dest_qpn);
  if (qp != nullptr && qp->is_underlay) return false;  // accept_underlay() asks for itself
  const FlowDecision decision =
      engine.deps.flows->admit(frame, packet.dest_qpn, qp != nullptr && qp->has_received());
  if (decision.kind == FlowDecision::Kind::Pass) return false;
  if (decision.kind == FlowDecision::Kind::Tir && engine.deps.deliver_to_tir) {
    engine.deps.deliver_to_tir(decision, frame, kFromOutside, Offer::Final);
    return true;
  }
  ++engine.deps.counters->frames_steered_away;
  ++engine.deps.counters->frames_dropped;
  return true;
}

/// Longer than the port carries, RoCE or not; the FCS is not among the frame's bytes here. Before
/// PMTU is written nobody has said how long, but by behaviour pmtu, which holds for what the port
/// sends to itself, too.
bool Transport::State::is_too_long(std::span<const std::byte> frame, bool is_own) const noexcept {
  constexpr std::size_t kFcs = 4;
  const PortSettings& port = *engine.deps.port;
  const auto most = engine.deps.behaviours->pmtu;
  if (port.type != PortType::Ethernet || (!most && (port.mtu == 0 || is_own))) return false;
  const std::uint64_t preset = PortSettings::kEthernetFrameBytes;
  return frame.size() + kFcs > (port.mtu != 0 ? port.mtu : std::min(*most, preset));
}

void Transport::State::take(std::span<const std::byte> frame, Origin from) {
  if (wire->port_type() == PortType::Ethernet && is_mac_control(frame)) return hear(frame);
  if (from.is_own) {
    static_cast<void>(take_now(frame, from, Offer::Final));
    return;
  }
  const PortSettings& port = *engine.deps.port;
  // Whoever comes later stands behind, whatever it is.
  if (!buffer->is_empty() && buffer->has_queue(priority_of(frame, port)))
    return buffer->keep(frame, priority_of(frame, port), 0);
  const std::uint64_t waits_ns = take_now(frame, from, Offer::First);
  if (waits_ns != 0) buffer->keep(frame, priority_of(frame, port), waits_ns);
}

/// 0: it is gone, otherwise it waits at most so many ns.
std::uint64_t Transport::State::take_now(std::span<const std::byte> frame, Origin from,
                                         Offer offer) {
  if (is_too_long(frame, from.is_own)) {
    if (!from.is_own) engine.deps.port_counters->count_too_long();
    ++engine.deps.counters->frames_dropped;
    return 0;
  }
  if (has_more_listening && !owns(frame)) return take_copy(frame, from, offer);
  if (is_ethernet_alone(from.is_own)) return receive_ethernet(frame, from, offer);
  const auto packet =
      wire->port_type() == PortType::InfiniBand ? decode_infiniband(frame) : decode(frame);
  if (!packet) return receive_other(frame, packet.error(), from, offer);
  count(*packet, frame);
  if (engine.deps.flows->engaged() && is_steered_away(frame, *packet)) return 0;
  if (!inbox.hold(*packet)) accept(*packet);
  return 0;
}

void Transport::State::count(const Packet& packet, std::span<const std::byte> frame) noexcept {
  engine.deps.port_counters->count_packet_received(packet.dest_qpn == prm::kMulticastQpn,
                                                   engine.counted_octets(frame.size()));
}

/// A copy that came for other reasons than its address is a queue pair's only through its group.
std::uint64_t Transport::State::take_copy(std::span<const std::byte> frame, Origin from,
                                          Offer offer) {
  const bool is_infiniband = wire->port_type() == PortType::InfiniBand;
  if (has_groups() && !is_ethernet_alone(from.is_own)) {
    const auto packet = is_infiniband ? decode_infiniband(frame) : decode(frame);
    if (packet && packet->dest_qpn == prm::kMulticastQpn &&
        engine.deps.groups->members(packet->dest_ip) != nullptr) {
      count(*packet, frame);
      if (engine.deps.flows->engaged() && is_steered_away(frame, *packet)) return 0;
      if (!inbox.hold(*packet)) accept(*packet);
      return 0;
    }
  }
  if (!is_infiniband && engine.deps.flows->engaged()) return receive_ethernet(frame, from, offer);
  ++engine.deps.counters->frames_dropped;
  return 0;
}

/// With RoCE off (nic_vport_context.roce_en) its packets are UDP like any other, which is what
/// Linux's rdma_rxe on such a netdev lives from. What loops back to queue pairs needs no RoCE
/// (fl_rc_qp_when_roce_disabled).
bool Transport::State::is_ethernet_alone(bool is_own) const noexcept {
  const PortSettings& port = *engine.deps.port;
  return port.type == PortType::Ethernet && !port.roce_enabled && !is_own &&
         engine.deps.flows->engaged();
}

bool Transport::State::is_from_port(const Packet& packet) const noexcept {
  const PortSettings& port = *engine.deps.port;
  if (port.type == PortType::InfiniBand) return packet.source_lid == port.lid;
  return std::ranges::any_of(port.roce, [&packet](const RoceAddress& entry) {
    return entry.valid && entry.gid == packet.source_ip && vlan_of(entry) == packet.vlan_id();
  });
}

/// Whether a packet came on a VLAN, or on none, on which the port has an address at all.
bool Transport::State::is_on_vlan(const Packet& packet) const noexcept {
  const PortSettings& port = *engine.deps.port;
  return port.type == PortType::InfiniBand ||
         std::ranges::any_of(port.roce, [&packet](const RoceAddress& entry) {
           return entry.valid && vlan_of(entry) == packet.vlan_id();
         });
}

/// Each member gets it. That qpc.block_lb_mc keeps from a member what its own port sent, and
/// nothing else, is a hypothesis: mlx4 says so of its bit in the group (mlx4_qp_attach_common of
/// mlx4/mcg.c).
void Transport::State::accept_of_group(const Packet& packet) {
  const auto* const members = has_groups() ? engine.deps.groups->members(packet.dest_ip) : nullptr;
  const bool is_own = is_from_port(packet);
  bool is_taken = false;
  if (members != nullptr && is_on_vlan(packet) && packet.info().is_request()) {
    for (const std::uint32_t qpn : *members) {
      Qp* const qp = qps.find(qpn);
      if (qp == nullptr || !qp->is_datagram() || !admits(*qp, packet)) continue;
      if (is_own && qp->context.get<"block_lb_mc">() != 0) continue;
      if (qp->is_underlay)
        accept_underlay(*qp, packet);
      else
        responder.handle(*qp, packet);
      is_taken = true;
    }
  }
  if (!is_taken) ++engine.deps.counters->frames_dropped;
}

/// To the receive queues that the queue pair's root of NIC_RX leads to. What a card does with a
/// datagram that the root does not forward is not known: it is lost here.
void Transport::State::accept_underlay(const Qp& qp, const Packet& packet) {
  const TransportDeps& deps = engine.deps;
  const bool has_key = packet.q_key == qp.q_key;
  if (receives(qp.state) && !has_key) deps.port_counters->violations.note_qkey();
  const bool is_taken = receives(qp.state) && has_key &&
                        packet.operation() == BthOpcode::SendOnly &&
                        packet.payload.size() >= kIpoibHeaderBytes;
  if (is_taken) {
    datagram.assign(grh::bytes - packet.network.size(), std::byte{0});
    datagram.insert(datagram.end(), packet.network.begin(), packet.network.end());
    datagram.insert(datagram.end(), packet.payload.begin(), packet.payload.end());
    datagram_frame.assign(kIpoibShift, std::byte{0});
    datagram_frame.insert(datagram_frame.end(), packet.payload.begin(), packet.payload.end());
    make_ethernet(datagram_frame);
    const FlowDecision decision = deps.flows->admit_datagram(datagram_frame, qp.qpn);
    if (decision.kind == FlowDecision::Kind::Tir && deps.deliver_datagram)
      return deps.deliver_datagram(
          decision,
          {datagram, datagram_frame, qp.qpn,
           prm::flags_rqpn(packet.has_grh, packet.service_level, packet.source_qpn),
           packet.source_lid, packet.solicited, packet.dest_qpn == prm::kMulticastQpn},
          is_from_port(packet));
    if (decision.kind == FlowDecision::Kind::Drop) ++deps.counters->frames_steered_away;
  }
  ++deps.counters->frames_dropped;
}

void Transport::State::accept(const Packet& packet) {
  if (packet.dest_qpn == prm::kMulticastQpn) return accept_of_group(packet);
  Qp* const qp = qps.receiver(packet.dest_qpn);
  if (qp == nullptr || !admits(*qp, packet) || !is_from_peer(*qp, packet)) {
    ++engine.deps.counters->frames_dropped;
    return;
  }
  if (qp->is_underlay) {
    accept_underlay(*qp, packet);
  } else if (packet.info().is_request()) {
    responder.handle(*qp, packet);
  } else {
    requester.handle(*qp, packet);
  }
}

Transport::Transport(std::unique_ptr<State> state) : state_(std::move(state)) {}
Transport::~Transport() = default;

Result<std::unique_ptr<Transport>> Transport::create(const TransportDeps& deps,
                                                     const TransportOptions& options) {
  if (options.wire && options.wire->port_type() != deps.port->type)
    return fail(Errc::InvalidArgument,
                "a wire of one link layer and a port of the other: both must be Ethernet or both "
                "InfiniBand");
  auto state = std::make_unique<State>(deps, options);
  if (!options.pcap_path.empty()) {
    PORTCULLIS_TRY_ASSIGN(auto writer, PcapWriter::create(options.pcap_path, deps.port->type,
                                                          options.on_recording_lost));
    state->wire->capture(state->engine.port, std::move(writer));
  }
  return std::unique_ptr<Transport>(new Transport(std::move(state)));
}

std::optional<std::uint64_t> Transport::work_queue_bytes(prm::ConstView<prm::qpc> context) {
  return model::work_queue_bytes(context);
}

Verdict Transport::create_qp(const QpCreate& request) {
  if (request.qpn >= state_->qps.limit() || state_->qps.find(request.qpn) != nullptr)
    return model::refuse(prm::CommandStatus::BAD_RES_ERR, kQpnInUse);
  std::unique_ptr<Qp> qp;
  if (const Verdict verdict = make_qp(request, qp); !verdict.ok()) return verdict;
  qp->counters = &state_->engine.deps.q_counters->at(0);
  if (state_->engine.deps.shared_receives != nullptr)
    join_xrq(*qp, *state_->engine.deps.shared_receives);
  state_->doorbells.attach(*qp);
  state_->qps.insert(std::move(qp));
  return {};
}

Verdict Transport::modify_qp(const QpModify& request) {
  Qp* const qp = state_->qps.find(request.qpn);
  if (qp == nullptr) return model::refuse(prm::CommandStatus::BAD_RES_ERR, kNoSuchQp);
  if (request.transition == QpTransition::ToErr) {
    const Engine& engine = state_->engine;
    ReceiveState& receive = qp->receive;
    if (const auto cache_ms = engine.deps.behaviours->dispatch_cache_ms;
        cache_ms && receives(qp->state) && receive.expected_psn != receive.first_psn)
      receive.cached_until_ns = engine.deps.scheduler->now_ns() + *cache_ms * kNsPerMs;
    state_->requester.enter_error(*qp);
    return {};
  }
  if (request.transition == QpTransition::ToRst) {
    state_->requester.stop(*qp);
    state_->doorbells.listen(*qp, false);
    state_->error_receives.remove(*qp);
    clear_connection(*qp);
    return {};
  }
  // There is no send queue to drain.
  if (request.transition == QpTransition::Rts2Sqd && qp->is_underlay)
    return model::refuse(prm::CommandStatus::BAD_QP_STATE_ERR, kNothingToDrain);
  if (request.transition == QpTransition::Init2Rtr &&
      state_->engine.deps.behaviours->loopback == Loopback::Refused && request.context &&
      request.context->get<"primary_address_path.fl">() != 0)
    return model::refuse(prm::CommandStatus::BAD_PARAM_ERR, kNoForcedLoopback);
  const Verdict verdict =
      apply_transition(*qp, request, *state_->engine.deps.port, state_->log_max_msg);
  if (!verdict.ok()) return verdict;
  qp->counters = &state_->engine.deps.q_counters->at(
      static_cast<std::uint32_t>(qp->context.get<"counter_set_id">()));
  if (qp->state == prm::QpState::RTS) state_->doorbells.listen(*qp, true);
  const bool is_device_woken = request.transition == QpTransition::Rtr2Rts && qp->sq.is_of_device;
  if (request.transition == QpTransition::Sqd2Rts || is_device_woken) state_->requester.resume(*qp);
  if (request.transition == QpTransition::Rts2Sqd) state_->requester.drain(*qp);
  return {};
}

Verdict Transport::destroy_qp(std::uint32_t qpn) {
  Qp* const qp = state_->qps.find(qpn);
  if (qp == nullptr) return model::refuse(prm::CommandStatus::BAD_RES_ERR, kNoSuchQp);
  state_->requester.stop(*qp);
  state_->doorbells.detach(*qp);
  state_->error_receives.remove(*qp);
  detach_lane(*qp);
  state_->qps.erase(qpn);
  return {};
}

Verdict Transport::query_qp(std::uint32_t qpn, prm::View<prm::qpc> context) {
  const Qp* const qp = state_->qps.find(qpn);
  if (qp == nullptr) return model::refuse(prm::CommandStatus::BAD_RES_ERR, kNoSuchQp);
  fill_context(*qp, context);
  return {};
}

FrameOutlet& Transport::outlet() noexcept { return *state_; }

bool Transport::has_received(std::uint32_t qpn) const noexcept {
  const Qp* const qp = state_->qps.find(qpn);
  return qp != nullptr && qp->has_received();
}

void Transport::kick_uar(std::uint32_t uar) {
  std::vector<Doorbells::News>& news = state_->doorbells.scan(uar, *state_->engine.deps.dma);
  if (news.size() > 1) state_->engine.deps.scheduler->shuffle(std::span(news));
  for (const Doorbells::News& one : news) state_->requester.ring(*one.qp, one.producer);
}

bool Transport::look() {
  const bool went = state_->buffer->look();
  return state_->error_receives.look(state_->engine) || went;
}

void Transport::keys_idle() { state_->requester.keys_idle(); }

void Transport::port_changed() { state_->learn_port(); }

void Transport::forget_buffer() { state_->buffer->forget(); }

void Transport::reset() {
  state_->wire->forget_frames(state_->engine.port);
  state_->room_posted = false;  // its task went with the scheduler's others
  state_->pauses->clear();
  state_->way_out->clear();
  state_->buffer->clear();
  state_->pacer.clear();
  state_->inbox.clear();
  state_->responder.clear();
  state_->doorbells.clear();
  state_->error_receives.clear();
  state_->qps.clear();
}

void Transport::inject(const FrameFaultRule& rule) {
  state_->wire->inject(state_->engine.port, rule);
}

bool Transport::release(Pace::Ticket ticket) { return state_->pacer.release(ticket); }

std::shared_ptr<EventLoop> shared_loop(Wire& wire, std::uint64_t seed) {
  if (!wire.loop()) wire.loop() = std::make_shared<EventLoop>(Execution::Stepped, seed);
  return wire.loop();
}

}  // namespace portcullis::model
