// SPDX-License-Identifier: BSD-3-Clause
//
// The packet simulator beside a plain one: the same counts on random rings with odd speeds, so that
// no two events fall on one picosecond.
#include "tests/pfc/packet/small_simulator.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

constexpr unsigned kSeeds = 8;

double between(std::mt19937_64& random, double least, double most) {
  return least + (most - least) * std::ldexp(static_cast<double>(random() >> 11), -53);
}

/// A ring of four to six switches, flows of two or three switches from each host.
Topology odd_ring(std::mt19937_64& random) {
  const auto switches = static_cast<std::uint32_t>(4 + random() % 3);
  Topology topology =
      *cbd::ring(switches, static_cast<std::uint32_t>(2 + random() % 2), delayed(0.25));
  for (Link& link : topology.links) {
    link.capacity = between(random, 0.8, 1.2);
    link.delay = between(random, 0.05, 0.4);
    link.xoff = between(random, 0.5, 1.5);
    link.xon = link.xoff * between(random, 0.6, 1);
    link.buffer = link.xoff + between(random, 0.3, 1.2);
  }
  for (Flow& flow : topology.flows) flow.source.start = between(random, 0, 4);
  return topology;
}

struct Seen {
  std::vector<SmallSimulator::Counts> flows;
  std::vector<std::uint64_t> closings;
  std::vector<Picoseconds> closed;
  std::uint64_t storms = 0;
  std::uint64_t run_out = 0;
  [[nodiscard]] bool operator==(const Seen&) const = default;
};

Seen engine(const Topology& topology, const RunOptions& options) {
  const RunReport report = run(topology, options);
  Seen seen;
  for (const FlowReport& flow : report.flows)
    seen.flows.push_back(
        {flow.sent, flow.delivered, flow.overflowed, flow.discarded, flow.greatest_residence});
  for (const IngressReport& ingress : report.ingresses) {
    seen.closings.push_back(ingress.closings);
    seen.closed.push_back(ingress.closed);
  }
  seen.storms = report.storms;
  seen.run_out = report.run_out;
  return seen;
}

Seen small(const Topology& topology, const RunOptions& options) {
  SmallSimulator simulator(topology, options);
  simulator.run();
  Seen seen{simulator.counts(), {}, {}, simulator.storms(), simulator.run_out()};
  for (std::size_t link = 0; link < topology.links.size(); ++link) {
    seen.closings.push_back(simulator.closings(link));
    seen.closed.push_back(simulator.closed(link));
  }
  return seen;
}

/// What all fabrics together came to, so that a test can say that something happened.
struct Total {
  unsigned differing = 0;
  std::uint64_t storms = 0;
  std::uint64_t run_out = 0;
  std::uint64_t overflowed = 0;
  std::uint64_t closings = 0;
};

Total compare(const std::function<void(Topology&, RunOptions&, std::mt19937_64&)>& change) {
  Total total;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    Topology topology = odd_ring(random);
    RunOptions options = until(120);
    options.stop_at_deadlock = false;
    options.pause_in_band = seed % 2 == 0;
    change(topology, options, random);
    const Seen mine = engine(topology, options);
    total.differing += mine == small(topology, options) ? 0 : 1;
    total.storms += mine.storms;
    total.run_out += mine.run_out;
    for (const auto& flow : mine.flows) total.overflowed += flow.overflowed;
    for (const std::uint64_t closings : mine.closings) total.closings += closings;
  }
  return total;
}

void share(Topology& topology, std::mt19937_64& random) {
  for (Node& node : topology.nodes) {
    if (node.kind == NodeKind::Host) continue;
    node.shared_buffer = between(random, 2, 6);
    node.alpha = between(random, 0.2, 2);
  }
}

Watchdog watchdog(WatchdogAction action, std::mt19937_64& random) {
  Watchdog to;
  to.action = action;
  to.detect = static_cast<Picoseconds>(between(random, 6, 12) * 8e6);
  to.restore = static_cast<Picoseconds>(between(random, 3, 8) * 8e6);
  return to;
}

TEST(SmallSimulator, GatesAndHeadroom_AreCountedAlike) {
  const Total total = compare([](Topology&, RunOptions&, std::mt19937_64&) {});
  EXPECT_EQ(total.differing, 0u);
  EXPECT_GT(total.closings, 200u);
  EXPECT_GT(total.overflowed, 0u);
}

TEST(SmallSimulator, SharedBuffersWithDynamicThresholds_AreCountedAlike) {
  const Total total = compare(
      [](Topology& topology, RunOptions&, std::mt19937_64& random) { share(topology, random); });
  EXPECT_EQ(total.differing, 0u);
  EXPECT_GT(total.closings, 200u);
}

TEST(SmallSimulator, WatchdogThatDrops_IsCountedAlike) {
  const Total total = compare([](Topology&, RunOptions& options, std::mt19937_64& random) {
    options.watchdog = watchdog(WatchdogAction::Drop, random);
  });
  EXPECT_EQ(total.differing, 0u);
  EXPECT_GT(total.storms, 20u);
}

TEST(SmallSimulator, WatchdogThatPolls_IsCountedAlike) {
  const Total total = compare([](Topology&, RunOptions& options, std::mt19937_64& random) {
    options.watchdog = watchdog(WatchdogAction::Drop, random);
    options.watchdog.poll = static_cast<Picoseconds>(between(random, 1, 4) * 8e6);
  });
  EXPECT_EQ(total.differing, 0u);
  EXPECT_GT(total.storms, 20u);
}

TEST(SmallSimulator, QuantaThatHold_AreCountedAlike) {
  const Total total = compare([](Topology& topology, RunOptions& options, std::mt19937_64& random) {
    share(topology, random);
    options.pause_timer = {static_cast<std::uint32_t>(100 + random() % 65'000), 0};
  });
  EXPECT_EQ(total.differing, 0u);
  EXPECT_EQ(total.run_out, 0u);
  EXPECT_GT(total.closings, 200u);
}

TEST(SmallSimulator, QuantaThatRunOut_AreCountedAlike) {
  const Total total = compare([](Topology&, RunOptions& options, std::mt19937_64& random) {
    options.pause_timer.quanta = static_cast<std::uint32_t>(2 + random() % 100);
    options.pause_timer.refresh =
        options.pause_timer.quanta + static_cast<std::uint32_t>(random() % 50);
  });
  EXPECT_EQ(total.differing, 0u);
  EXPECT_GT(total.run_out, 200u);
}

TEST(SmallSimulator, OneToThreeQuanta_AreCountedAlike) {
  const Total total = compare([](Topology&, RunOptions& options, std::mt19937_64& random) {
    options.until /= 15;  // a closed gate says it again every 6 to 19 ns
    options.pause_timer.quanta = static_cast<std::uint32_t>(1 + random() % 3);
  });
  EXPECT_EQ(total.differing, 0u);
  EXPECT_GT(total.run_out, 200u);
}

TEST(SmallSimulator, QuantaWithAPollingWatchdog_AreCountedAlike) {
  const Total total = compare([](Topology&, RunOptions& options, std::mt19937_64& random) {
    options.pause_timer.quanta = static_cast<std::uint32_t>(200 + random() % 2000);
    options.watchdog = watchdog(WatchdogAction::Drop, random);
    options.watchdog.poll = static_cast<Picoseconds>(between(random, 1, 4) * 8e6);
  });
  EXPECT_EQ(total.differing, 0u);
  EXPECT_GT(total.storms, 20u);
}

TEST(SmallSimulator, SizesOfTheirOwn_AreCountedAlike) {
  const Total total = compare([](Topology& topology, RunOptions& options, std::mt19937_64& random) {
    for (std::uint32_t flow = 0; flow < topology.flows.size(); ++flow)
      options.sizes.push_back({flow, static_cast<std::uint32_t>(64 + random() % 4000)});
  });
  EXPECT_EQ(total.differing, 0u);
  EXPECT_GT(total.closings, 200u);
}

}  // namespace
}  // namespace portcullis::pfc::packet
