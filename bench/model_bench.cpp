// SPDX-License-Identifier: BSD-3-Clause
//
// How fast the stepped model is: RDMA WRITEs of 64 bytes from one QP to another, through real
// frames with ICRC, the key check and the IOMMU table, driver and model on one core. The only bench
// whose time is that of this process; it says how large a simulation can be, nothing about a NIC.
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <memory>

#include "bench/common/loopback.hpp"
#include "bench/common/suite.hpp"

namespace portcullis::bench {
namespace {

constexpr double kTargetPerSecond = 1e6;
constexpr std::uint64_t kBatch = 1'024;  // WRITEs a sample, so that reading the clock costs nothing
constexpr std::uint64_t kWindow = 32;    // WRITEs under way, what the send queue holds

/// What all batches took together.
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

struct Pair {
  std::unique_ptr<Endpoint> responder;
  std::unique_ptr<Endpoint> requester;
};

Result<std::shared_ptr<Pair>> make_pair_of(Session& session) {
  auto pair = std::make_shared<Pair>();
  PORTCULLIS_TRY_ASSIGN(pair->responder, Endpoint::create(session.context(), kPageBytes));
  PORTCULLIS_TRY_ASSIGN(pair->requester, Endpoint::create(session.context(), kPageBytes));
  PORTCULLIS_TRY(pair->responder->connect(session.path(), pair->requester->qpn()));
  PORTCULLIS_TRY(pair->requester->connect(session.path(), pair->responder->qpn()));
  return pair;
}

Result<void> write_window(Session& session, Pair& pair, const std::array<std::byte, 64>& data) {
  const std::uint32_t rkey = pair.responder->target().rkey;
  for (std::uint64_t i = 0; i < kWindow; ++i)
    PORTCULLIS_TRY(pair.requester->qp().post_write_inline(
        data, {.remote_address = i * data.size(), .rkey = rkey, .wr_id = i}));
  pair.requester->qp().ring();
  for (std::uint64_t i = 0; i < kWindow; ++i) {
    PORTCULLIS_TRY_ASSIGN(const pmd::Completion completion,
                          pair.requester->cq().wait(session.now_ns() + kNsPerSecond));
    if (!completion.ok()) return fail(Errc::DeviceFailed, pmd::describe(completion));
  }
  return {};
}

Result<std::optional<std::uint64_t>> one_batch(Session& session, Pair& pair, Totals& totals) {
  const std::array<std::byte, 64> data{};
  const std::uint64_t wall = time_ns(CLOCK_MONOTONIC);
  const std::uint64_t cpu = time_ns(CLOCK_PROCESS_CPUTIME_ID);
  for (std::uint64_t done = 0; done < kBatch; done += kWindow)
    PORTCULLIS_TRY(write_window(session, pair, data));
  totals.cpu_ns += time_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  const std::uint64_t took = time_ns(CLOCK_MONOTONIC) - wall;
  totals.wall_ns += took;
  totals.writes += kBatch;
  return std::optional<std::uint64_t>(took / kBatch);
}

std::vector<SeriesPlan> series(const Options& options, const std::shared_ptr<Totals>& totals) {
  SeriesPlan series;
  series.name = "model/WRITE/bytes:64";
  series.wall_samples = options.samples;
  series.prepare = [totals](Session& session) -> Result<Sampler> {
    PORTCULLIS_TRY_ASSIGN(const auto pair, make_pair_of(session));
    return Sampler([&session, pair, totals] { return one_batch(session, *pair, *totals); });
  };
  series.annotate = [totals](benchmark::State& state) {
    state.counters["writes_per_second"] = totals->per_wall_second();
    state.counters["writes_per_cpu_second"] = totals->per_cpu_second();
  };
  return {series};
}

void conclude(const Totals& totals) {
  fmt::print("\n{:.2f} M WRITEs of 64 B a second, wall time of this process; target {:.0f} M: {}\n",
             totals.per_wall_second() / 1e6, kTargetPerSecond / 1e6,
             totals.per_wall_second() >= kTargetPerSecond ? "met" : "NOT met");
  fmt::print("{:.2f} M a second of CPU time; the machine gave this process {:.0f} % of a core\n",
             totals.per_cpu_second() / 1e6, totals.share() * 100);
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
  const auto totals = std::make_shared<bench::Totals>();
  suite.series = [totals](const bench::Options& options) { return bench::series(options, totals); };
  suite.conclude = [totals](const bench::Report&) { bench::conclude(*totals); };
  return bench::run_suite(argc, argv, suite);
}
