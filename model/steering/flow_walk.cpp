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
  frame.changed = std::make_shared<const FrameBuffer>(std::move(bytes));
  frame.bytes = *frame.changed;
  frame.key = flow_key(frame.bytes, deps_.port_type);
}

FlowTables::Walk FlowTables::walk(std::uint32_t id, Steered frame, bool underlay) {
  std::vector<FlowTarget> copies;
  const auto ends = [&](End end, std::uint32_t tirn = 0, std::uint32_t flow_tag = 0) {
    return Walk{end, {tirn, flow_tag, frame.changed}, std::move(copies)};
  };
  // Every step goes to a higher level, so this ends.
  for (;;) {
    const Table& table = tables_.at(id);
    const auto hit = std::ranges::find_if(table.entries, [&](const auto& indexed) {
      const Entry& entry = indexed.second;
      return frame.key.matches(table.groups.at(entry.group).mask, entry.value) &&
             !is_inert(table, entry, underlay);
    });
    if (hit == table.entries.end()) {
      if (table.miss == prm::FlowTableMiss::SWITCH_DOMAIN) return ends(End::OtherDomain);
      if (table.miss == prm::FlowTableMiss::DEF) return ends(End::Pass);
      id = table.miss_id;
      continue;
    }
    const Entry& entry = hit->second;
    for (const std::uint32_t counter : entry.counters) counters.count(counter, frame.bytes.size());
    if (entry.has(FlowAction::DROP)) return ends(End::Drop);
    change(entry, frame);
    if (entry.destinations.empty()) return ends(End::Pass);
    for (const Destination& other : std::span(entry.destinations).subspan(1))
      if (other.type == prm::FlowDestination::TIR)
        copies.push_back({other.id, entry.flow_tag, frame.changed});
    const Destination& to = entry.destinations.front();
    if (to.type == prm::FlowDestination::TIR) return ends(End::Tir, to.id, entry.flow_tag);
    id = to.id;
  }
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
    const Walk walked = walk(*nic_root_, as_it_came, /*underlay=*/false);
    if (walked.end == End::Drop) return {FlowDecision::Kind::Drop};
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

FlowDecision FlowTables::send(std::span<const std::byte> frame) {
  if (!send_root_) return {};
  return decide(walk(*send_root_, steered(frame), /*underlay=*/false));
}

FlowDecision FlowTables::classify(std::span<const std::byte> frame) {
  if (!nic_root_) return {};
  return decide(walk(*nic_root_, steered(frame), /*underlay=*/false));
}

}  // namespace portcullis::model
