// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/network.hpp"

#include <fmt/format.h>

#include <cmath>

namespace portcullis::pfc {
namespace {

class Builder {
 public:
  explicit Builder(const Topology& topology)
      : topology_(topology),
        port_of_(topology.links.size(), kNone),
        priority_of_(topology.links.size(), kNone) {}

  Result<Network> run() {
    PORTCULLIS_TRY(check(topology_));
    if (!topology_.rewrites.empty())
      return fail(Errc::Unsupported,
                  "priorities that are rewritten on the way; the packet simulator takes them");
    for (std::uint32_t i = 0; i < topology_.flows.size(); ++i) PORTCULLIS_TRY(flow(i));
    for (const Port& port : network_.ports)
      if (!port.is_host && !port.slots.empty())
        for (const std::uint32_t slot : port.slots)
          network_.is_coupled |= network_.ports[network_.slots[slot].ingress].delay == 0;
    for (const bool is_host : {false, true})
      for (std::uint32_t index = 0; index < network_.ports.size(); ++index)
        if (network_.ports[index].is_host == is_host) network_.order.push_back(index);
    return std::move(network_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> bad(const Flow& flow, std::string_view what) const {
    return fail(Errc::Unsupported, fmt::format("flow {}: {}", flow.name, what));
  }

  Result<void> flow(std::uint32_t index) {
    const Flow& flow = topology_.flows[index];
    if (flow.path.empty() || flow.ttl != 0)
      return bad(flow,
                 "goes round a loop or has a ttl; the fluid model takes flows with a path, "
                 "the packet simulator takes both");
    network_.first_slot.push_back(static_cast<std::uint32_t>(network_.slots.size()));
    std::uint32_t before = kNone;
    for (std::uint32_t hop = 0; hop < flow.path.size(); ++hop) {
      const LinkId link = flow.path[hop];
      PORTCULLIS_TRY_ASSIGN(const std::uint32_t port, port_for(flow, link, hop == 0));
      const auto slot = static_cast<std::uint32_t>(network_.slots.size());
      network_.slots.push_back({index, hop, port});
      network_.ports[port].slots.push_back(slot);
      if (hop > 0) {
        network_.slots[before].next = slot;
        if (network_.ports[network_.slots[before].port].delay == 0) {
          network_.slots[before].fed = slot;
          network_.slots[before].fed_port = port;
        }
        network_.slots[slot].ingress = network_.slots[before].port;
        network_.ports[network_.slots[before].port].stored.push_back(slot);
      }
      before = slot;
    }
    return {};
  }

  Result<std::uint32_t> port_for(const Flow& flow, LinkId link, bool is_first) {
    const Link& from = topology_.links[link];
    if (port_of_[link] == kNone) {
      port_of_[link] = static_cast<std::uint32_t>(network_.ports.size());
      priority_of_[link] = flow.priority;
      Port port;
      port.link = link;
      port.capacity = from.capacity;
      port.delay = from.delay;
      port.xoff = from.xoff;
      port.xon = from.xon;
      port.is_host = is_first;
      port.is_sliding = from.delay == 0 && from.xon == from.xoff;
      network_.ports.push_back(std::move(port));
    }
    const std::uint32_t port = port_of_[link];
    if (priority_of_[link] != flow.priority)
      return bad(flow, fmt::format("has another priority than others on link {}; the fluid model "
                                   "takes one a link, the packet simulator takes both",
                                   from.name));
    if (network_.ports[port].is_host != is_first)
      return bad(flow,
                 fmt::format("link {} begins one flow and carries another; let flows begin at "
                             "a host of their own",
                             from.name));
    return port;
  }

  const Topology& topology_;
  std::vector<std::uint32_t> port_of_;
  std::vector<std::uint32_t> priority_of_;
  Network network_;
};

}  // namespace

Result<Network> make_network(const Topology& topology) { return Builder(topology).run(); }

}  // namespace portcullis::pfc
