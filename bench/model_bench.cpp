// SPDX-License-Identifier: BSD-3-Clause
//
// How fast the stepped model is: RDMA WRITEs of 64 bytes from one QP to another, through real
// frames with ICRC, the key check and the IOMMU table, driver and model on one core; and the same
// from 1024 queue pairs in turn, all on one UAR. The only bench whose time is that of this process;
// it says how large a simulation can be, nothing about a NIC.
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <memory>

#include "bench/common/suite.hpp"
#include "steering/loopback_pair.hpp"

namespace portcullis::bench {
namespace {

constexpr double kTargetPerSecond = 1e6;
constexpr double kTargetRatio = 2;       // of 1024 QPs to one, in time a WRITE
constexpr std::uint64_t kBatch = 1'024;  // WRITEs a sample, so that reading the clock costs nothing

/// How many queue pairs, and how many WRITEs of each are under way.
struct Shape {
  const char* name = "";
  std::size_t pairs = 1;
  std::uint64_t depth = 32;  // at most what the send queue holds
};
/// One QP, then many with as much of each under way.
constexpr std::array kShapes{Shape{"model/WRITE/bytes:64", 1, 32},
                             Shape{"model/WRITE/bytes:64/qps:1024", 1024, 32},
                             Shape{"model/WRITE/bytes:64/depth:1", 1, 1},
                             Shape{"model/WRITE/bytes:64/depth:1/qps:1024", 1024, 1}};

/// What all batches of a shape took together.
struct Totals {
  std::uint64_t writes = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t cpu_ns = 0;

  [[nodiscard]] double per_wall_second() const { return rate(wall_ns); }
  [[nodiscard]] double per_cpu_second() const { return rate(cpu_ns); }
  /// Of a core, that the machine gave this process.
  [[nodiscard]] double share() const {
    return wall_ns == 0 ? 0 : static_cast<double>(cpu_ns) / static_cast<double>(wall_ns);
  }

 private:
  [[nodiscard]] double rate(std::uint64_t ns) const {
    return ns == 0 ? 0 : static_cast<double>(writes) * 1e9 / static_cast<double>(ns);
  }
};

std::uint64_t time_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

using AllTotals = std::array<Totals, kShapes.size()>;

using Pairs = std::vector<std::unique_ptr<steering::LoopbackPair>>;

Result<void> post_window(steering::LoopbackPair& pair, std::uint64_t depth,
                         const std::array<std::byte, 64>& data) {
  for (std::uint64_t i = 0; i < depth; ++i)
    PORTCULLIS_TRY(pair.requester().post_write_inline(
        data, {.remote_address = i * data.size(), .rkey = pair.rkey(), .wr_id = i}));
  pair.requester().ring();
  return {};
}

Result<void> take_window(proof::Session& session, steering::LoopbackPair& pair,
                         std::uint64_t depth) {
  for (std::uint64_t i = 0; i < depth; ++i) {
    PORTCULLIS_TRY_ASSIGN(const pmd::Completion completion,
                          pair.cq().wait(session.now_ns() + kNsPerSecond));
    if (!completion.ok()) return fail(Errc::DeviceFailed, pmd::describe(completion));
  }
  return {};
}

Result<std::optional<std::uint64_t>> one_batch(proof::Session& session, Pairs& pairs,
                                               std::uint64_t depth, Totals& totals) {
  const std::array<std::byte, 64> data{};
  const std::uint64_t wall = time_ns(CLOCK_MONOTONIC);
  const std::uint64_t cpu = time_ns(CLOCK_PROCESS_CPUTIME_ID);
  std::uint64_t done = 0;
  for (; done < kBatch; done += depth * pairs.size()) {
    for (const auto& pair : pairs) PORTCULLIS_TRY(post_window(*pair, depth, data));
    for (const auto& pair : pairs) PORTCULLIS_TRY(take_window(session, *pair, depth));
  }
  totals.cpu_ns += time_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  const std::uint64_t took = time_ns(CLOCK_MONOTONIC) - wall;
  totals.wall_ns += took;
  totals.writes += done;
  return std::optional<std::uint64_t>(took / done);
}

SeriesPlan series_of(const Options& options, const Shape& shape,
                     const std::shared_ptr<AllTotals>& all, std::size_t index) {
  SeriesPlan series;
  series.name = shape.name;
  series.wall_samples = options.samples;
  series.prepare = [all, index, shape](proof::Session& session) -> Result<Sampler> {
    const auto pairs = std::make_shared<Pairs>();
    for (std::size_t i = 0; i < shape.pairs; ++i) {
      PORTCULLIS_TRY_ASSIGN(pairs->emplace_back(),
                            steering::LoopbackPair::create(session.context(), session.path()));
    }
    return Sampler([&session, pairs, depth = shape.depth, all, index] {
      return one_batch(session, *pairs, depth, (*all)[index]);
    });
  };
  series.annotate = [all, index](benchmark::State& state) {
    state.counters["writes_per_second"] = (*all)[index].per_wall_second();
    state.counters["writes_per_cpu_second"] = (*all)[index].per_cpu_second();
  };
  return series;
}

std::vector<SeriesPlan> series(const Options& options, const std::shared_ptr<AllTotals>& all) {
  std::vector<SeriesPlan> plans;
  for (std::size_t i = 0; i < kShapes.size(); ++i)
    plans.push_back(series_of(options, kShapes[i], all, i));
  return plans;
}

void conclude(const AllTotals& all) {
  const Totals& one = all[0];
  fmt::print("\n{:.2f} M WRITEs of 64 B a second, wall time of this process; target {:.0f} M: {}\n",
             one.per_wall_second() / 1e6, kTargetPerSecond / 1e6,
             one.per_wall_second() >= kTargetPerSecond ? "met" : "NOT met");
  fmt::print("{:.2f} M a second of CPU time; the machine gave this process {:.0f} % of a core\n",
             one.per_cpu_second() / 1e6, one.share() * 100);
  for (std::size_t i = 0; i < all.size(); i += 2) {
    if (all[i].writes == 0 || all[i + 1].writes == 0) continue;
    const double ratio = all[i].per_cpu_second() / all[i + 1].per_cpu_second();
    fmt::print("{}: {:.2f} times the CPU time a WRITE of one QP; target {:.0f}: {}\n",
               kShapes[i + 1].name, ratio, kTargetRatio, ratio <= kTargetRatio ? "met" : "NOT met");
  }
}

}  // namespace
}  // namespace portcullis::bench

int main(int argc, char** argv) {
  namespace bench = portcullis::bench;
  bench::Suite suite;
  suite.info = {.name = "model_bench",
                .summary = "How many RDMA WRITEs of 64 bytes the stepped model does a second.",
                .has_plans = false,
                .has_leases = false,
                .has_retry = false,
                .default_samples = 1000,
                .quick_samples = 20};
  suite.title = "model_bench: time of one 64 B WRITE through the stepped model";
  suite.timebase = bench::Timebase::Process;
  const auto totals = std::make_shared<bench::AllTotals>();
  suite.series = [totals](const bench::Options& options) { return bench::series(options, totals); };
  suite.conclude = [totals](const bench::Report&) -> portcullis::Result<void> {
    bench::conclude(*totals);
    return {};
  };
  return bench::run_suite(argc, argv, suite);
}
