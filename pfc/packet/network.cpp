// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/packet/network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
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
constexpr std::uint32_t kMostQuanta = 65'535;
constexpr double kQuantumBytes = 64;  // 512 bits
constexpr Picoseconds kLeastTimer = 1'000'000;
constexpr Picoseconds kMostTimer = 1'000'000'000'000'000;
constexpr double kLeastRate = 1000;  // bits a second: more steps than a rate climbs in a moment

class Compiler {
 public:
  Compiler(const Topology& topology, const RunOptions& options)
      : topology_(topology), options_(options) {
    network_.ps_per_time = topology.units.time_s * 1e12;
    network_.bytes_per_data = topology.units.data_bytes;
    network_.priorities = cbd::priorities_of(topology);
    std::array<bool, kPriorities> is_used{};
    for (const Message& message : options.messages) is_used[message.priority % kPriorities] = true;
    for (std::uint32_t i = 0; i < kPriorities; ++i)
      if (is_used[i]) network_.priorities.push_back(i);
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
    if (topology_.flows.empty() && options_.messages.empty())
      return fail(Errc::InvalidArgument, "no flows to simulate; a topology with flows is accepted");
    for (const Node& node : topology_.nodes)
      network_.nodes.push_back({bytes(node.shared_buffer), node.alpha});
    PORTCULLIS_TRY(check_timer());
    PORTCULLIS_TRY(check_schedule());
    PORTCULLIS_TRY(check_congestion());
    PORTCULLIS_TRY_ASSIGN(sizes_, sizes());
    for (const Link& link : topology_.links) PORTCULLIS_TRY(add(link));
    for (const auto& cable : cbd::cables_of(topology_)) {
      if (cable.size() != 2) continue;
      network_.links[cable[0]].back = cable[1];
      network_.links[cable[1]].back = cable[0];
    }
    for (LinkId link = 0; link < network_.links.size(); ++link) time_pauses(link);
    for (const Flow& flow : topology_.flows) PORTCULLIS_TRY(add(flow));
    for (const Message& message : options_.messages) PORTCULLIS_TRY(add(message));
    for (const RateLimit& limit : options_.limits) PORTCULLIS_TRY(add(limit));
    for (const Storm& storm : options_.storms) PORTCULLIS_TRY(check(storm));
    for (const WatchedPort& port : options_.watchdog.ports)
      if (port.link >= topology_.links.size())
        return fail(Errc::InvalidArgument, fmt::format("watchdog of link {}; links there are, 0 to "
                                                       "{}, are accepted",
                                                       port.link, topology_.links.size() - 1));
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

  Result<void> check_timer() const {
    const PauseTimer& timer = options_.pause_timer;
    if (timer.quanta <= kMostQuanta && timer.refresh <= kMostQuanta) return {};
    return fail(
        Errc::InvalidArgument,
        fmt::format("PAUSE of {} quanta, sent again after {}; 16 bits, up to {}, are accepted",
                    timer.quanta, timer.refresh, kMostQuanta));
  }

  Result<void> check_schedule() const {
    double sum = 0;
    for (const double share : options_.schedule.shares) {
      if (!(share >= 0) || !std::isfinite(share))
        return fail(Errc::InvalidArgument,
                    fmt::format("a share of {}; weights from 0 on are accepted", share));
      sum += share;
    }
    if (options_.schedule.kind == Schedule::Kind::Shares && !(sum > 0 && std::isfinite(sum)))
      return fail(Errc::InvalidArgument, "shares that add up to nothing; one above 0 is accepted");
    return {};
  }

  Result<void> check_congestion() const {
    const Ecn& ecn = options_.ecn;
    if (ecn.least_bytes < 0 || ecn.most_bytes < ecn.least_bytes || !(ecn.most_marked >= 0) ||
        ecn.most_marked > 1)
      return fail(
          Errc::InvalidArgument,
          fmt::format("marks from {} to {} bytes with a probability up to {}; sizes from 0 on "
                      "that ascend and a probability are accepted",
                      ecn.least_bytes, ecn.most_bytes, ecn.most_marked));
    const Dcqcn& dcqcn = options_.dcqcn;
    const auto is_rate = [](double bps, double least) {
      return bps >= least && std::isfinite(bps);
    };
    const Picoseconds shortest = std::min({dcqcn.cnp_every, dcqcn.alpha_every, dcqcn.timer});
    const Picoseconds longest = std::max({dcqcn.cnp_every, dcqcn.alpha_every, dcqcn.timer});
    if (shortest < kLeastTimer || longest > kMostTimer)
      return fail(Errc::InvalidArgument,
                  fmt::format("DCQCN's times of {} to {} ps; 1 us to 1000 s are accepted", shortest,
                              longest));
    if (dcqcn.counter_bytes < 1 || !(dcqcn.gain > 0) || dcqcn.gain > 1 ||
        !is_rate(dcqcn.additive_bps, kLeastRate) || !is_rate(dcqcn.hyper_bps, 0) ||
        !is_rate(dcqcn.least_bps, kLeastRate))
      return fail(
          Errc::InvalidArgument,
          "DCQCN: a byte counter from 1 on, a gain above 0 and at most 1, and rates from 1000 "
          "bit/s on are accepted");
    if (dcqcn.is_on && !ecn.is_on)
      return fail(Errc::InvalidArgument, "DCQCN without marks; both, or neither, are accepted");
    return {};
  }

  Result<void> check(const Storm& storm) const {
    if (storm.host >= topology_.nodes.size() || topology_.nodes[storm.host].kind != NodeKind::Host)
      return fail(Errc::InvalidArgument, "a storm of what is no host; hosts are accepted");
    const std::string& name = topology_.nodes[storm.host].name;
    if (std::ranges::find(network_.priorities, storm.priority) == network_.priorities.end())
      return fail(
          Errc::InvalidArgument,
          fmt::format("a storm of {} in priority {}, which nothing is sent in; a priority of "
                      "flows is accepted",
                      name, storm.priority));
    if (storm.from < 0 || storm.to <= storm.from)
      return fail(Errc::InvalidArgument,
                  fmt::format("a storm of {} from {} ps to {} ps; times from 0 on that ascend are "
                              "accepted",
                              name, storm.from, storm.to));
    return {};
  }

  Result<std::vector<std::uint32_t>> sizes() {
    std::vector<std::uint32_t> sizes(topology_.flows.size(), options_.packet_bytes);
    for (const PacketSize& size : options_.sizes) {
      if (size.flow >= sizes.size())
        return fail(Errc::InvalidArgument,
                    fmt::format("packet size of flow {}; 0 to {}, the flows there are, accepted",
                                size.flow, sizes.size() - 1));
      if (size.bytes == 0 || size.bytes > kMostPacketBytes)
        return fail(Errc::InvalidArgument,
                    fmt::format("packets of {} bytes of flow {}; 1 to {} are accepted", size.bytes,
                                topology_.flows[size.flow].name, kMostPacketBytes));
      sizes[size.flow] = size.bytes;
    }
    for (const std::uint32_t size : sizes) {
      smallest_ = std::min(smallest_, size);
      largest_ = std::max(largest_, size);
    }
    return sizes;
  }

  /// How long a PAUSE holds, and whether the next one always comes in time: it may wait for a
  /// packet on the link back, and for frames of other priorities and of the same one.
  void time_pauses(LinkId id) {
    LinkPlan& link = network_.links[id];
    const PauseTimer& timer = options_.pause_timer;
    if (timer.quanta == 0) return;
    const double refresh = timer.refresh != 0 ? timer.refresh : timer.quanta / 2.0;
    const double quantum_ps = link.ps_per_byte * kQuantumBytes;
    link.pause_ps = std::max<Picoseconds>(1, std::llround(quantum_ps * timer.quanta));
    link.refresh_ps = std::max<Picoseconds>(1, std::llround(quantum_ps * refresh));
    Picoseconds late = 0;
    if (options_.pause_in_band && link.back != kNothing) {
      const LinkPlan& back = network_.links[link.back];
      late = std::llround(back.ps_per_byte * largest_) +
             2 * static_cast<Picoseconds>(network_.priorities.size()) * back.frame_ps;
    }
    // One that comes when the last runs out is too late: which of the two is first is chance.
    link.is_held = link.refresh_ps + late < link.pause_ps;
  }

  Result<void> add(const Link& link) {
    LinkPlan plan;
    plan.from = link.from;
    plan.to = link.to;
    plan.to_host = topology_.nodes[link.to].kind == NodeKind::Host;
    const double ps_per_byte = network_.ps_per_time / (link.capacity * network_.bytes_per_data);
    const std::string what = "link " + link.name;
    plan.ps_per_byte = ps_per_byte;
    PORTCULLIS_TRY_ASSIGN(plan.packet_ps, time(ps_per_byte * options_.packet_bytes, what));
    PORTCULLIS_TRY_ASSIGN(plan.frame_ps, time(ps_per_byte * bound::kPauseFrameBytes, what));
    // A packet that takes no time would let events of one moment follow each other for ever.
    const std::uint32_t smallest = std::min(smallest_, bound::kPauseFrameBytes);
    PORTCULLIS_TRY(time(ps_per_byte * largest_, what));
    if (std::llround(ps_per_byte * smallest) == 0)
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
    if (!plan.to_host && plan.limit < largest_)
      return fail(
          Errc::InvalidArgument,
          fmt::format("link {}: a buffer of {} bytes holds no packet of {}; smaller packets "
                      "or a larger buffer are accepted",
                      link.name, plan.limit, largest_));
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
    const std::uint32_t bytes = sizes_[network_.flows.size()];
    if (const double packets = offered(flow.source, bytes); !(packets <= kMostPackets))
      return fail(Errc::InvalidArgument,
                  fmt::format("flow {}: {:g} packets offered by the end; at most {:g} are accepted",
                              flow.name, packets, kMostPackets));
    FlowPlan plan;
    plan.priority = position_of(flow.priority);
    plan.first = static_cast<std::uint32_t>(network_.hops.size());
    plan.again = kNothing;
    plan.ttl = flow.ttl;
    plan.bytes = bytes;
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
    add_hops(plan, links, flow.priority);
    network_.flows.push_back(plan);
    return {};
  }

  /// Its way is one of those offered, at random.
  Result<void> add(const Message& message) {
    const auto bad = [](const std::string& text) { return fail(Errc::InvalidArgument, text); };
    const std::size_t nodes = topology_.nodes.size();
    if (message.from >= nodes || message.to >= nodes || message.from == message.to ||
        message.bytes == 0 || message.start < 0 || message.priority >= kPriorities)
      return bad("a message from a node to itself, of nothing or of no priority; others accepted");
    const std::string name =
        fmt::format("message from {} to {}", topology_.nodes[message.from].name,
                    topology_.nodes[message.to].name);
    const auto& said = topology_.priorities;
    if (!said.empty() && std::ranges::find(said, message.priority) == said.end())
      return bad(
          fmt::format("{} in priority {}; one of the fabric's \"priorities\", {}, is "
                      "accepted",
                      name, message.priority, fmt::join(said, ", ")));
    Flow flow;
    flow.from = message.from;
    flow.to = message.to;
    std::vector<LinkId> links;
    for (NodeId at = flow.from; at != flow.to; at = topology_.links[links.back()].to) {
      const std::vector<LinkId> hops = paths_.next_hops(flow, at);
      if (hops.empty())
        return bad(fmt::format("{}: no way on at {}; routes that lead there are accepted", name,
                               topology_.nodes[at].name));
      if (links.size() >= nodes)
        return bad(fmt::format("{}: its routes are a loop; others are accepted", name));
      links.push_back(hops[ways_() % hops.size()]);
    }
    FlowPlan plan;
    plan.priority = position_of(message.priority);
    plan.first = static_cast<std::uint32_t>(network_.hops.size());
    plan.again = kNothing;
    plan.bytes = options_.packet_bytes;
    add_hops(plan, links, message.priority);
    network_.flows.push_back(plan);
    return {};
  }

  void add_hops(FlowPlan& plan, const std::vector<LinkId>& links, std::uint32_t priority) {
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (i > 0)
        if (const auto found = rewrites_.find({links[i - 1], links[i], priority});
            found != rewrites_.end())
          priority = found->second;
      network_.hop_slots.push_back(network_.slot(links[i], position_of(priority)));
    }
    network_.hops.insert(network_.hops.end(), links.begin(), links.end());
    plan.line_bps = 8e12 / network_.links[links.front()].ps_per_byte;
    for (const LinkId link : links) {
      const LinkId back = network_.links[link].back;
      const LinkPlan& on = network_.links[back == kNothing ? link : back];
      plan.cnp_ps += on.delay_ps + on.frame_ps;
    }
    plan.last = static_cast<std::uint32_t>(network_.hops.size());
  }

  [[nodiscard]] std::uint32_t position_of(std::uint32_t priority) const {
    return static_cast<std::uint32_t>(std::ranges::find(network_.priorities, priority) -
                                      network_.priorities.begin());
  }

  /// Packets until the end; of a greedy source, which takes what the link takes, 0.
  [[nodiscard]] double offered(const Source& source, std::uint32_t bytes) const {
    const double per_data = network_.bytes_per_data / bytes;
    const double until = static_cast<double>(options_.until) / network_.ps_per_time;
    if (source.kind == SourceKind::Rate) return source.rate * until * per_data;
    return source.kind == SourceKind::Points ? source.points.back().data * per_data : 0;
  }

  Result<void> add(const RateLimit& limit) {
    if (limit.flow >= topology_.flows.size())
      return fail(Errc::InvalidArgument,
                  fmt::format("rate limit of flow {}; 0 to {}, the flows there are, accepted",
                              limit.flow, topology_.flows.size() - 1));
    if (!(limit.rate > 0) || !std::isfinite(limit.rate))
      return fail(Errc::InvalidArgument,
                  fmt::format("rate limit {} of flow {}; a rate above 0 is accepted", limit.rate,
                              topology_.flows[limit.flow].name));
    const double data = network_.flows[limit.flow].bytes / network_.bytes_per_data;
    PORTCULLIS_TRY_ASSIGN(network_.flows[limit.flow].spacing_ps,
                          time(data / limit.rate * network_.ps_per_time, "rate limit"));
    return {};
  }

  const Topology& topology_;
  const RunOptions& options_;
  cbd::FlowPaths paths_{topology_};
  std::map<std::tuple<LinkId, LinkId, std::uint32_t>, std::uint32_t> rewrites_;
  std::mt19937_64 ways_{options_.ways_seed};
  std::vector<std::uint32_t> sizes_;  // of packets, by flow
  std::uint32_t smallest_ = options_.packet_bytes;
  std::uint32_t largest_ = options_.packet_bytes;
  Network network_;
};

}  // namespace

Result<Network> compile(const Topology& topology, const RunOptions& options) {
  return Compiler(topology, options).run();
}

}  // namespace portcullis::pfc::packet
