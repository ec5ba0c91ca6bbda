// SPDX-License-Identifier: BSD-3-Clause
//
// A frame's way through the tables.
#include <algorithm>
#include <span>
#include <utility>

#include "model/steering/flow_tables.hpp"

namespace portcullis::model {

/// An entry that was accepted and never matches on this firmware.
bool FlowTables::is_inert(const Table& table, const Entry& entry, bool underlay) const {
  const auto group = table.groups.find(entry.group);
  FlowKey mask = group->second.mask;
  if (deps_.behaviours->dst_qp_inert && !underlay && mask.asks_for_dst_qp()) return true;
  return deps_.behaviours->bth_opcode_not_parsed && mask.asks_for_opcode();
}

FlowTables::Walk FlowTables::walk(std::uint32_t id, const FlowKey& key, std::size_t frame_bytes,
                                  bool underlay) {
  std::vector<FlowTarget> copies;
  // Every step goes to a higher level, so this ends.
  for (;;) {
    const Table& table = tables_.at(id);
    const auto hit = std::ranges::find_if(table.entries, [&](const auto& indexed) {
      const Entry& entry = indexed.second;
      return key.matches(table.groups.at(entry.group).mask, entry.value) &&
             !is_inert(table, entry, underlay);
    });
    if (hit == table.entries.end()) {
      if (table.miss == prm::FlowTableMiss::SWITCH_DOMAIN)
        return {End::OtherDomain, {}, std::move(copies)};
      if (table.miss == prm::FlowTableMiss::DEF) return {End::Pass, {}, std::move(copies)};
      id = table.miss_id;
      continue;
    }
    const Entry& entry = hit->second;
    for (const std::uint32_t counter : entry.counters) counters.count(counter, frame_bytes);
    if ((entry.action & prm::number(prm::FlowAction::DROP)) != 0)
      return {End::Drop, {}, std::move(copies)};
    if (entry.destinations.empty()) return {End::Pass, {}, std::move(copies)};
    for (const Destination& other : std::span(entry.destinations).subspan(1))
      if (other.type == prm::FlowDestination::TIR) copies.push_back({other.id, entry.flow_tag});
    const Destination& to = entry.destinations.front();
    if (to.type == prm::FlowDestination::TIR)
      return {End::Tir, {to.id, entry.flow_tag}, std::move(copies)};
    id = to.id;
  }
}

/// The copies are on their way, whatever becomes of the frame itself.
FlowDecision FlowTables::decide(Walk walk) noexcept {
  using Kind = FlowDecision::Kind;
  if (walk.end == End::Tir) return {Kind::Tir, walk.to, std::move(walk.copies)};
  if (walk.copies.empty()) return {walk.end == End::Drop ? Kind::Drop : Kind::Pass};
  const FlowTarget first = walk.copies.back();
  walk.copies.pop_back();
  return {Kind::Tir, first, std::move(walk.copies)};
}

FlowDecision FlowTables::admit(std::span<const std::byte> frame, std::uint32_t qpn, bool hot) {
  const bool cached = hot && deps_.behaviours->hot_qp_ignores_new_rules;
  const FlowKey key = flow_key(frame, deps_.port_type);
  if (const auto root = underlay_roots_.find(qpn); root != underlay_roots_.end() &&
                                                   !deps_.behaviours->underlay_root_inert &&
                                                   (!cached || root->second.before_traffic)) {
    Walk walked = walk(root->second.table, key, frame.size(), /*underlay=*/true);
    if (walked.end != End::Pass) return decide(std::move(walked));
  }
  if (cached) return {};
  if (nic_root_ && !deps_.behaviours->nic_rx_bypassed_for_roce) {
    // A receive queue of the network interface gets none of them: Linux's mlx5e sends all of UDP to
    // its own (mlx5_create_ttc_table in lib/fs_ttc.c), and RoCE works beside it on every card.
    const Walk walked = walk(*nic_root_, key, frame.size(), /*underlay=*/false);
    if (walked.end == End::Drop) return {FlowDecision::Kind::Drop};
  }
  if (!rdma_root_ || !deps_.behaviours->rdma_rx_in_path) return {};
  Walk walked = walk(*rdma_root_, key, frame.size(), /*underlay=*/false);
  if (walked.end != End::OtherDomain) return decide(std::move(walked));
  // A miss that switches the domain leaves RDMA: the frame is an Ethernet frame like any other.
  if (!nic_root_) return {FlowDecision::Kind::Drop};
  Walk ethernet = walk(*nic_root_, key, frame.size(), /*underlay=*/false);
  return ethernet.end == End::Tir ? decide(std::move(ethernet))
                                  : FlowDecision{FlowDecision::Kind::Drop};
}

FlowDecision FlowTables::admit_datagram(std::span<const std::byte> frame, std::uint32_t qpn) {
  const auto root = underlay_roots_.find(qpn);
  if (root == underlay_roots_.end() || deps_.behaviours->underlay_root_inert) return {};
  FlowKey key = flow_key(frame, PortType::Ethernet);
  static_cast<void>(key.misc().try_set<"bth_dst_qp">(qpn));
  return decide(walk(root->second.table, key, frame.size(), /*underlay=*/true));
}

bool FlowTables::lets_out(std::span<const std::byte> frame) {
  if (!send_root_) return true;
  const Walk walked =
      walk(*send_root_, flow_key(frame, deps_.port_type), frame.size(), /*underlay=*/false);
  return walked.end != End::Drop;
}

FlowDecision FlowTables::classify(std::span<const std::byte> frame) {
  if (!nic_root_) return {};
  return decide(
      walk(*nic_root_, flow_key(frame, deps_.port_type), frame.size(), /*underlay=*/false));
}

}  // namespace portcullis::model
