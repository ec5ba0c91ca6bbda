// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/packet/live_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pfc/packet/engine.hpp"
#include "pfc/packet/network.hpp"

namespace portcullis::pfc::packet {

/// The engine refers to the options, so they stay where they are.
struct LiveFabric::State {
  State(const Topology& topology, Network network, RunOptions wanted)
      : options(std::move(wanted)), engine(topology, std::move(network), options) {}

  RunOptions options;
  Engine engine;
};

LiveFabric::LiveFabric(std::unique_ptr<State> state) : state_(std::move(state)) {}
LiveFabric::LiveFabric(LiveFabric&& other) noexcept = default;
LiveFabric& LiveFabric::operator=(LiveFabric&& other) noexcept = default;
LiveFabric::~LiveFabric() = default;

Result<LiveFabric> LiveFabric::create(const Topology& topology, const RunOptions& options,
                                      OnGuest on_guest) {
  if (options.until <= 0)
    return fail(Errc::InvalidArgument, "a run of no time; a time above 0 is accepted");
  if (options.ecn.is_on)
    return fail(Errc::InvalidArgument,
                "marks in a fabric with guests, which nothing slows down; none are accepted");
  RunOptions wanted = options;
  wanted.stop_at_deadlock = false;
  PORTCULLIS_TRY_ASSIGN(Network network, compile(topology, wanted));
  auto state = std::make_unique<State>(topology, std::move(network), std::move(wanted));
  state->engine.on_guest(std::move(on_guest));
  state->engine.begin();
  return LiveFabric(std::move(state));
}

Result<void> LiveFabric::offer(std::uint32_t flow, std::uint32_t bytes, std::uint64_t tag) {
  const Network& network = state_->engine.network();
  const std::size_t flows = network.flows.size() - state_->options.messages.size();
  if (flow >= flows)
    return fail(
        Errc::InvalidArgument,
        fmt::format("a packet of flow {}; {} flows, counted from 0, are accepted", flow, flows));
  Bytes room = kBoundless;
  const FlowPlan& plan = network.flows[flow];
  for (std::uint32_t hop = plan.first; hop < plan.last; ++hop)
    if (const LinkPlan& link = network.links[network.hops[hop]]; !link.to_host)
      room = std::min(room, link.limit);
  if (bytes == 0 || bytes > room)
    return fail(Errc::InvalidArgument,
                fmt::format("a packet of {} bytes; 1 to {} are accepted, what the buffers on its "
                            "way hold",
                            bytes, room));
  state_->engine.offer(flow, bytes, tag);
  return {};
}

void LiveFabric::run_until(Picoseconds time) {
  state_->engine.run_until(std::min(time, state_->options.until));
}

Picoseconds LiveFabric::now() const noexcept { return state_->engine.now(); }

std::optional<Picoseconds> LiveFabric::next_time() const noexcept {
  const Picoseconds next = state_->engine.next_time();
  return next <= state_->options.until ? std::optional(next) : std::nullopt;
}

RunReport LiveFabric::finish() && { return state_->engine.finish(); }

}  // namespace portcullis::pfc::packet
