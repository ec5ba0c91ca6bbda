// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "pfc/packet/engine.hpp"

namespace portcullis::pfc::packet {
namespace {

/// Starts with all gates that are closed now, and lets go of those that would open if everything
/// left that is not behind one of the rest. What remains waits for itself.
class BlockedSearch {
 public:
  BlockedSearch(const Network& network, std::vector<bool> is_blocked,
                const std::vector<Queue>& queues, const std::vector<Packet>& packets)
      : network_(network),
        is_blocked_(std::move(is_blocked)),
        queues_(queues),
        packets_(packets),
        held_(queues.size()),
        held_at_(network.nodes.size()) {}

  BlockedGates run() {
    for (Slot slot = 0; slot < queues_.size(); ++slot)
      if (is_blocked_[slot]) hold(slot, 1);
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (Slot slot = 0; slot < queues_.size(); ++slot) {
        if (!is_blocked_[slot] || !would_open(slot)) continue;
        is_blocked_[slot] = false;
        hold(slot, -1);
        has_changed = true;
      }
    }
    BlockedGates gates;
    for (Slot slot = 0; slot < queues_.size(); ++slot)
      if (is_blocked_[slot]) gates.slots.push_back(slot);
    if (!gates.slots.empty()) gates.cycle = cycle_from(gates.slots.front());
    return gates;
  }

 private:
  /// Adds what waits in a queue to what its ingresses hold for ever, or with -1 takes it out.
  void hold(Slot slot, Bytes sign) {
    for (PacketId id = queues_[slot].head; id != kNothing; id = packets_[id].next) {
      const Slot counted_in = packets_[id].counted_in;
      if (counted_in == kNothing) continue;
      const Bytes bytes = sign * static_cast<Bytes>(packets_[id].bytes);
      held_[counted_in] += bytes;
      held_at_[node_of(counted_in)] += bytes;
    }
  }

  [[nodiscard]] NodeId node_of(Slot slot) const { return link_of(slot).to; }
  [[nodiscard]] const LinkPlan& link_of(Slot slot) const {
    return network_.links[queues_[slot].link];
  }

  [[nodiscard]] bool would_open(Slot slot) const {
    const NodePlan& node = network_.nodes[node_of(slot)];
    Bytes below = link_of(slot).xon;
    if (node.alpha > 0) {
      const Bytes free = std::max(node.shared - held_at_[node_of(slot)], Bytes{0});
      below = std::min(below, static_cast<Bytes>(node.alpha * static_cast<double>(free)));
    }
    return held_[slot] < below || held_[slot] == 0;
  }

  /// Every gate that is left counts a packet that waits in the queue of another; follows them until
  /// one comes again.
  [[nodiscard]] std::vector<Slot> cycle_from(Slot start) const {
    std::vector<Slot> next(queues_.size(), kNothing);
    for (Slot slot = 0; slot < queues_.size(); ++slot) {
      if (!is_blocked_[slot]) continue;
      for (PacketId id = queues_[slot].head; id != kNothing; id = packets_[id].next) {
        const Slot counted_in = packets_[id].counted_in;
        if (counted_in != kNothing && next[counted_in] == kNothing) next[counted_in] = slot;
      }
    }
    std::vector<Slot> path;
    for (Slot slot = start;; slot = next[slot]) {
      const auto again = std::ranges::find(path, slot);
      if (again != path.end()) return {again, path.end()};
      path.push_back(slot);
    }
  }

  const Network& network_;
  std::vector<bool> is_blocked_;
  const std::vector<Queue>& queues_;
  const std::vector<Packet>& packets_;
  std::vector<Bytes> held_;     // by slot: bytes that count there and wait behind a blocked gate
  std::vector<Bytes> held_at_;  // likewise by node
};

}  // namespace

BlockedGates find_blocked(const Network& network, std::vector<bool> is_blocked,
                          const std::vector<Queue>& queues, const std::vector<Packet>& packets) {
  return BlockedSearch(network, std::move(is_blocked), queues, packets).run();
}

}  // namespace portcullis::pfc::packet
