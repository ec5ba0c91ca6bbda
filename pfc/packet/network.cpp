// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/packet/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "pfc/bound/pause_times.hpp"
#include "pfc/cbd/dependencies.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/routing.hpp"

namespace portcullis::pfc::packet {
namespace {

constexpr double kMostPicoseconds = 9e15;  // 256 of them fit 64 bits, Engine::inspection_ps()
constexpr double kMostPackets = 9e15;      // of a source: a double counts them one by one
constexpr std::uint32_t kMostPacketBytes = 1 << 20;

class Compiler {
 public:
  Compiler(const Topology& topology, const RunOptions& options)
      : topology_(topology), options_(options) {
    network_.ps_per_time = topology.units.time_s * 1e12;
    network_.bytes_per_data = topology.units.data_bytes;
    network_.priorities = cbd::priorities_of(topology);
    for (const Rewrite& rewrite : topology.rewrites) {
      network_.priorities.push_back(rewrite.becomes);
      rewrites_[{rewrite.from, rewrite.to, rewrite.was}] = rewrite.becomes;
    }
    std::ranges::sort(network_.priorities);
    network_.priorities.erase(std::unique(network_.priorities.begin(), network_.priorities.end()),
                              network_.priorities.end());
  }

  Result<Network> run() {
    if (options_.packet_bytes == 0 || options_.packet_bytes > kMostPacketBytes)
      return fail(Errc::InvalidArgument, fmt::format("packets of {} bytes; 1 to {} are accepted",
                                                     options_.packet_bytes, kMostPacketBytes));
    if (topology_.flows.empty())
      return fail(Errc::InvalidArgument, "no flows to simulate; a topology with flows is accepted");
    for (const Node& node : topology_.nodes)
      network_.nodes.push_back({bytes(node.shared_buffer), node.alpha});
    for (const Link& link : topology_.links) PORTCULLIS_TRY(add(link));
    for (const auto& cable : cbd::cables_of(topology_)) {
      if (cable.size() != 2) continue;
      network_.links[cable[0]].back = cable[1];
      network_.links[cable[1]].back = cable[0];
    }
    for (const Flow& flow : topology_.flows) PORTCULLIS_TRY(add(flow));
    for (const RateLimit& limit : options_.limits) PORTCULLIS_TRY(add(limit));
    return std::move(network_);
  }

 private:
  [[nodiscard]] Bytes bytes(double data) const {
    const double bytes = std::round(data * network_.bytes_per_data);
    return bytes < static_cast<double>(kBoundless) ? static_cast<Bytes>(bytes) : kBoundless;
  }

  Result<Picoseconds> time(double picoseconds, const std::string& what) const {
    if (picoseconds > kMostPicoseconds)
      return fail(Errc::InvalidArgument,
                  fmt::format("{}: {:g} s; at most {:g} s are accepted", what, picoseconds / 1e12,
                              kMostPicoseconds / 1e12));
    return static_cast<Picoseconds>(std::llround(picoseconds));
  }

  Result<void> add(const Link& link) {
    LinkPlan plan;
    plan.from = link.from;
    plan.to = link.to;
    plan.to_host = topology_.nodes[link.to].kind == NodeKind::Host;
    const double ps_per_byte = network_.ps_per_time / (link.capacity * network_.bytes_per_data);
    const std::string what = "link " + link.name;
    PORTCULLIS_TRY_ASSIGN(plan.packet_ps, time(ps_per_byte * options_.packet_bytes, what));
    PORTCULLIS_TRY_ASSIGN(plan.frame_ps, time(ps_per_byte * bound::kPauseFrameBytes, what));
    // A packet that takes no time would let events of one moment follow each other for ever.
    const std::uint32_t smallest = std::min(options_.packet_bytes, bound::kPauseFrameBytes);
    if (plan.packet_ps == 0 || plan.frame_ps == 0)
      return fail(
          Errc::InvalidArgument,
          fmt::format(
              "link {}: capacity {:g} sends {} bytes in less than a picosecond; at most {:g} "
              "is accepted",
              link.name, link.capacity, smallest,
              network_.ps_per_time * smallest / network_.bytes_per_data));
    PORTCULLIS_TRY_ASSIGN(plan.delay_ps, time(link.delay * network_.ps_per_time, what));
    plan.xoff = bytes(link.xoff);
    plan.xon = bytes(link.xon);
    plan.limit = bytes(link.buffer);
    if (!plan.to_host && plan.limit < options_.packet_bytes)
      return fail(
          Errc::InvalidArgument,
          fmt::format("link {}: a buffer of {} bytes holds no packet of {}; smaller packets "
                      "or a larger buffer are accepted",
                      link.name, plan.limit, options_.packet_bytes));
    network_.links.push_back(plan);
    return {};
  }

  Result<void> add(const Flow& flow) {
    std::vector<LinkId> links = paths_.first_way(flow);
    if (links.empty())
      return fail(
          Errc::InvalidArgument,
          fmt::format("flow {}: neither a path nor routes from {} to {}; one of them needed",
                      flow.name, topology_.nodes[flow.from].name, topology_.nodes[flow.to].name));
    if (const double packets = offered(flow.source); !(packets <= kMostPackets))
      return fail(Errc::InvalidArgument,
                  fmt::format("flow {}: {:g} packets offered by the end; at most {:g} are accepted",
                              flow.name, packets, kMostPackets));
    FlowPlan plan;
    plan.priority = position_of(flow.priority);
    plan.first = static_cast<std::uint32_t>(network_.hops.size());
    plan.again = kNothing;
    plan.ttl = flow.ttl;
    if (flow.path.empty() && !links.empty()) {
      const auto again = std::ranges::find(links, links.back()) - links.begin();
      links.pop_back();
      plan.again = plan.first + static_cast<std::uint32_t>(again);
    }
    if (plan.again != kNothing && !rewrites_.empty())
      return fail(
          Errc::InvalidArgument,
          fmt::format("flow {}: round a loop no priority is rewritten; a flow that arrives, "
                      "or no rewrites, accepted",
                      flow.name));
    std::uint32_t priority = flow.priority;
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (i > 0)
        if (const auto found = rewrites_.find({links[i - 1], links[i], priority});
            found != rewrites_.end())
          priority = found->second;
      network_.hop_priorities.push_back(position_of(priority));
    }
    network_.hops.insert(network_.hops.end(), links.begin(), links.end());
    plan.last = static_cast<std::uint32_t>(network_.hops.size());
    network_.flows.push_back(plan);
    return {};
  }

  [[nodiscard]] std::uint32_t position_of(std::uint32_t priority) const {
    return static_cast<std::uint32_t>(std::ranges::find(network_.priorities, priority) -
                                      network_.priorities.begin());
  }

  /// Packets until the end; of a greedy source, which takes what the link takes, 0.
  [[nodiscard]] double offered(const Source& source) const {
    const double per_data = network_.bytes_per_data / options_.packet_bytes;
    const double until = static_cast<double>(options_.until) / network_.ps_per_time;
    if (source.kind == SourceKind::Rate) return source.rate * until * per_data;
    return source.kind == SourceKind::Points ? source.points.back().data * per_data : 0;
  }

  Result<void> add(const RateLimit& limit) {
    if (limit.flow >= network_.flows.size())
      return fail(Errc::InvalidArgument,
                  fmt::format("rate limit of flow {}; 0 to {}, the flows there are, accepted",
                              limit.flow, network_.flows.size() - 1));
    if (!(limit.rate > 0) || !std::isfinite(limit.rate))
      return fail(Errc::InvalidArgument,
                  fmt::format("rate limit {} of flow {}; a rate above 0 is accepted", limit.rate,
                              topology_.flows[limit.flow].name));
    const double data = options_.packet_bytes / network_.bytes_per_data;
    PORTCULLIS_TRY_ASSIGN(network_.flows[limit.flow].spacing_ps,
                          time(data / limit.rate * network_.ps_per_time, "rate limit"));
    return {};
  }

  const Topology& topology_;
  const RunOptions& options_;
  cbd::FlowPaths paths_{topology_};
  std::map<std::tuple<LinkId, LinkId, std::uint32_t>, std::uint32_t> rewrites_;
  Network network_;
};

}  // namespace

Result<Network> compile(const Topology& topology, const RunOptions& options) {
  return Compiler(topology, options).run();
}

}  // namespace portcullis::pfc::packet
