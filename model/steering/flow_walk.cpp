// SPDX-License-Identifier: BSD-3-Clause
//
// A frame's way through the tables.
#include <algorithm>
#include <span>
#include <utility>

#include "model/steering/flow_tables.hpp"

namespace portcullis::model {
namespace {

using prm::FlowAction;

constexpr std::string_view kEndless = "the way does not end";

constexpr std::uint32_t kChanges =
    prm::number(FlowAction::PACKET_REFORMAT) | prm::number(FlowAction::DECAP) |
    prm::number(FlowAction::MOD_HDR) | prm::number(FlowAction::VLAN_POP) |
    prm::number(FlowAction::VLAN_PUSH);

}  // namespace

/// An entry that was accepted and never matches on this firmware.
bool FlowTables::is_inert(const Table& table, const Entry& entry, bool underlay) const {
  const auto group = table.groups.find(entry.group);
  FlowKey mask = group->second.mask;
  if (deps_.behaviours->dst_qp_inert && !underlay && mask.asks_for_dst_qp()) return true;
  return deps_.behaviours->bth_opcode_not_parsed && mask.asks_for_opcode();
}

FlowTables::Steered FlowTables::steered(std::span<const std::byte> frame) const {
  return {frame, flow_key(frame, deps_.port_type)};
}

void FlowTables::become(Steered& frame, FrameBuffer&& bytes) const {
  frame.changed = std::make_shared<const FrameBuffer>(std::move(bytes));
  frame.bytes = *frame.changed;
  frame.key = flow_key(frame.bytes, deps_.port_type);
}

/// Whatever `entry` does to a frame. Of what a card makes of one that is in no tunnel, or has no
/// tag, and is to lose it nothing is published: the model leaves it.
void FlowTables::change(const Entry& entry, Steered& frame) const {
  if ((entry.action & kChanges) == 0) return;
  FrameBuffer bytes(frame.bytes.begin(), frame.bytes.end());
  const PacketReformat* const reformat =
      entry.has(FlowAction::PACKET_REFORMAT) ? headers.reformat(entry.reformat) : nullptr;
  const bool wraps = reformat != nullptr && is_wrap(reformat->type);
  if (entry.has(FlowAction::DECAP)) bytes = unwrap_frame(bytes).value_or(bytes);
  if (reformat != nullptr && !wraps) bytes = unwrap_packet(bytes, reformat->header).value_or(bytes);
  if (entry.has(FlowAction::VLAN_POP)) bytes = pop_tag(bytes).value_or(bytes);
  if (entry.has(FlowAction::MOD_HDR))
    change_headers(bytes, headers.changes(entry.modify_header)->actions);
  if (entry.has(FlowAction::VLAN_PUSH)) bytes = push_tag(bytes, entry.pushed_tag);
  if (wraps)
    bytes = wrap(bytes, reformat->header,
                 reformat->type == prm::ReformatType::L2_TO_L3_TUNNEL ? TunnelLoad::NetworkPacket
                                                                      : TunnelLoad::WholeFrame);
  become(frame, std::move(bytes));
}

FlowTables::Walk FlowTables::walk(std::uint32_t table, Steered frame, bool underlay) {
  Journey journey{.domain = tables_.at(table).type, .underlay = underlay};
  Walk walked = go({Stop::Kind::Table, table}, std::move(frame), journey);
  // A copy may make others, which stand behind it.
  for (std::size_t i = 0; i < journey.waiting.size(); ++i) {
    Copy copy = std::move(journey.waiting[i]);
    if (journey.steps_left == 0) {
      static_cast<void>(dropped(copy.at.where, kEndless));
      break;
    }
    Walk other = go(copy.at, std::move(copy.frame), journey);
    if (other.end == End::Tir) walked.copies.push_back(std::move(other.to));
  }
  return walked;
}

FlowTables::Walk FlowTables::go(Stop at, Steered frame, Journey& journey) {
  using Kind = Stop::Kind;
  const auto ends = [&](End end, std::uint32_t tirn = 0) {
    return Walk{
        end, {tirn, frame.flow_tag, frame.changed, frame.registers.b}, {}, journey.by_program};
  };
  for (; journey.steps_left != 0; --journey.steps_left) {
    const auto id = static_cast<std::uint32_t>(at.where);
    switch (at.kind) {
      case Kind::Table:
        at = through_table(id, frame, journey);
        break;
      case Kind::Entry:
        at = through_entry(at.where, frame, journey);
        break;
      case Kind::Sampler:
        at = through_sampler(id, frame, journey);
        break;
      case Kind::Pass:
        return ends(End::Pass);
      case Kind::Drop:
        return ends(End::Drop);
      case Kind::Tir:
        return ends(End::Tir, id);
      case Kind::OtherDomain:
        return ends(End::OtherDomain);
    }
  }
  static_cast<void>(dropped(at.where, kEndless));
  return ends(End::Drop);
}

/// The frame as it is now goes there, too. What becomes of it but that a queue gets it is its own.
void FlowTables::copy_to(Stop at, const Steered& frame, Journey& journey) {
  if (journey.steps_left <= 1) return;
  --journey.steps_left;
  journey.waiting.push_back({at, frame});
}

/// Between tables of commands every step goes to a higher level.
FlowTables::Stop FlowTables::through_table(std::uint32_t id, Steered& frame, Journey& journey) {
  using Kind = Stop::Kind;
  const auto stop_of = [](const Destination& to) {
    return Stop{to.type == prm::FlowDestination::TIR ? Kind::Tir : Kind::Table, to.id};
  };
  const Table& table = tables_.at(id);
  journey.by_program = table.is_programs;
  if (table.is_programs) {
    journey.uid = table.uid;
    return {Kind::Entry, table.entry_at};
  }
  const auto hit = std::ranges::find_if(table.entries, [&](const auto& indexed) {
    const Entry& entry = indexed.second;
    return frame.key.matches(table.groups.at(entry.group).mask, entry.value) &&
           !is_inert(table, entry, journey.underlay);
  });
  if (hit == table.entries.end()) {
    if (table.miss == prm::FlowTableMiss::SWITCH_DOMAIN) return {Kind::OtherDomain};
    if (table.miss == prm::FlowTableMiss::DEF) return {Kind::Pass};
    return {Kind::Table, table.miss_id};
  }
  const Entry& entry = hit->second;
  for (const std::uint32_t counter : entry.counters) counters.count(counter, frame.bytes.size());
  if (entry.has(FlowAction::DROP)) return {Kind::Drop};
  change(entry, frame);
  frame.flow_tag = entry.flow_tag != 0 ? entry.flow_tag : frame.program_tag;
  if (entry.destinations.empty()) return {Kind::Pass};
  for (const Destination& other : std::span(entry.destinations).subspan(1))
    copy_to(stop_of(other), frame, journey);
  return stop_of(entry.destinations.front());
}

/// The copies are on their way, whatever becomes of the frame itself.
FlowDecision FlowTables::decide(Walk walk) noexcept {
  using Kind = FlowDecision::Kind;
  if (walk.end == End::Tir) return {Kind::Tir, walk.to, std::move(walk.copies)};
  if (walk.copies.empty())
    return {walk.end == End::Drop ? Kind::Drop : Kind::Pass, {0, 0, std::move(walk.to.changed)}};
  const FlowTarget first = walk.copies.back();
  walk.copies.pop_back();
  return {Kind::Tir, first, std::move(walk.copies)};
}

FlowDecision FlowTables::admit(std::span<const std::byte> frame, std::uint32_t qpn, bool hot) {
  const bool cached = hot && deps_.behaviours->hot_qp_ignores_new_rules;
  const Steered as_it_came = steered(frame);
  if (const auto root = underlay_roots_.find(qpn); root != underlay_roots_.end() &&
                                                   !deps_.behaviours->underlay_root_inert &&
                                                   (!cached || root->second.before_traffic)) {
    Walk walked = walk(root->second.table, as_it_came, /*underlay=*/true);
    if (walked.end != End::Pass) return decide(std::move(walked));
  }
  if (cached) return {};
  if (nic_root_ && !deps_.behaviours->nic_rx_bypassed_for_roce) {
    // A receive queue of the network interface gets none of them: Linux's mlx5e sends all of UDP to
    // its own (mlx5_create_ttc_table in lib/fs_ttc.c), and RoCE works beside it on every card.
    // Nor does a program's table drop one: DPDK leads every frame into tables that drop what they
    // do not know, and the queue pair by which rdma-core writes their entries goes on.
    const Walk walked = walk(*nic_root_, as_it_came, /*underlay=*/false);
    if (walked.end == End::Drop && !walked.by_program) return {FlowDecision::Kind::Drop};
  }
  if (!rdma_root_ || !deps_.behaviours->rdma_rx_in_path) return {};
  Walk walked = walk(*rdma_root_, as_it_came, /*underlay=*/false);
  if (walked.end != End::OtherDomain) return decide(std::move(walked));
  // A miss that switches the domain leaves RDMA: the frame is an Ethernet frame like any other.
  if (!nic_root_) return {FlowDecision::Kind::Drop};
  Walk ethernet = walk(*nic_root_, as_it_came, /*underlay=*/false);
  return ethernet.end == End::Tir ? decide(std::move(ethernet))
                                  : FlowDecision{FlowDecision::Kind::Drop};
}

FlowDecision FlowTables::admit_datagram(std::span<const std::byte> frame, std::uint32_t qpn) {
  const auto root = underlay_roots_.find(qpn);
  if (root == underlay_roots_.end() || deps_.behaviours->underlay_root_inert) return {};
  Steered datagram{frame, flow_key(frame, PortType::Ethernet)};
  static_cast<void>(datagram.key.misc().try_set<"bth_dst_qp">(qpn));
  return decide(walk(root->second.table, std::move(datagram), /*underlay=*/true));
}

bool FlowTables::leave(std::span<const std::byte> frame) {
  return !rdma_send_root_ ||
         walk(*rdma_send_root_, steered(frame), /*underlay=*/false).end != End::Drop;
}

FlowDecision FlowTables::send(std::span<const std::byte> frame, std::uint32_t sqn,
                              std::uint32_t metadata) {
  if (!send_root_) return {};
  Steered sent = steered(frame);
  sent.from.sqn = sqn;
  sent.registers.a = metadata;
  return decide(walk(*send_root_, std::move(sent), /*underlay=*/false));
}

FlowDecision FlowTables::classify(std::span<const std::byte> frame, bool is_own) {
  if (!nic_root_) return {};
  Steered received = steered(frame);
  received.from.is_own = is_own;
  return decide(walk(*nic_root_, std::move(received), /*underlay=*/false));
}

}  // namespace portcullis::model
