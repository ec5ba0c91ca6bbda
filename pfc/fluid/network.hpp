// SPDX-License-Identifier: BSD-3-Clause
//
// A topology as the solvers walk it: the links that carry flows as ports, each flow at each link of
// its path as a slot. Indices only, so that a step touches a few small arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// One flow in front of one link.
struct Slot {
  std::uint32_t flow = 0;
  std::uint32_t hop = 0;
  std::uint32_t port = 0;         // the link it waits for
  std::uint32_t ingress = kNone;  // the port it came through; none at its host
  std::uint32_t next = kNone;     // where it goes from here; none where the flow ends
  std::uint32_t fed = kNone;      // the next one, if what leaves here is there at once
  std::uint32_t fed_port = kNone;
};

/// A link, and the ingress at its far end.
struct Port {
  LinkId link = 0;
  double capacity = 1;
  double delay = 0;
  double xoff = 1;
  double xon = 1;
  bool is_host = false;
  bool is_sliding = false;  // neither delay nor hysteresis: its gate can be open a part of the time
  std::vector<std::uint32_t> slots;   // wait for this link
  std::vector<std::uint32_t> stored;  // came through it and count against its threshold
};

struct Network {
  std::vector<Port> ports;
  std::vector<Slot> slots;
  std::vector<std::uint32_t> first_slot;  // by flow
  /// Ports in the order in which rates mostly depend on each other: hosts, which wait for their
  /// ingress, last.
  std::vector<std::uint32_t> order;
  /// Some queue gets its data without delay, so that rates depend on each other.
  bool is_coupled = false;
};

[[nodiscard]] Result<Network> make_network(const Topology& topology);

}  // namespace portcullis::pfc
