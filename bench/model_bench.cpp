// SPDX-License-Identifier: BSD-3-Clause
//
// How fast the stepped model is: RDMA WRITEs of 64 bytes from one QP to another, through real
// frames with ICRC, the key check and the IOMMU table, driver and model on one core. The only bench
// whose time is that of this process; it says how large a simulation can be, nothing about a NIC.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>

#include "bench/common/loopback.hpp"
#include "bench/common/suite.hpp"

namespace portcullis::bench {
namespace {

constexpr double kTargetPerSecond = 1e6;
constexpr std::uint64_t kBatch = 1'024;  // WRITEs a sample, so that reading the clock costs nothing
constexpr std::uint64_t kWindow = 32;    // WRITEs under way, what the send queue holds

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

Result<std::optional<std::uint64_t>> one_batch(Session& session, Pair& pair) {
  const std::array<std::byte, 64> data{};
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t done = 0; done < kBatch; done += kWindow)
    PORTCULLIS_TRY(write_window(session, pair, data));
  const auto took = std::chrono::steady_clock::now() - start;
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
  return std::optional<std::uint64_t>(static_cast<std::uint64_t>(ns) / kBatch);
}

std::vector<SeriesPlan> series(const Options& options) {
  SeriesPlan series;
  series.name = "model/WRITE/bytes:64";
  series.wall_samples = options.samples;
  series.prepare = [](Session& session) -> Result<Sampler> {
    PORTCULLIS_TRY_ASSIGN(const auto pair, make_pair_of(session));
    return Sampler([&session, pair] { return one_batch(session, *pair); });
  };
  series.annotate = [](benchmark::State& state) {
    // The loop's time is that of one WRITE, averaged over a batch.
    state.counters["writes_per_second"] =
        benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  };
  return {series};
}

void conclude(const Report& report) {
  for (const Series& series : report.series()) {
    const double per_second = 1e9 / series.latency.mean_ns();
    fmt::print(
        "\n{}: {:.2f} M WRITEs of 64 B a second on one core, wall time of this process; "
        "target {:.0f} M: {}\n",
        series.name, per_second / 1e6, kTargetPerSecond / 1e6,
        per_second >= kTargetPerSecond ? "met" : "NOT met");
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
  suite.series = bench::series;
  suite.conclude = bench::conclude;
  return bench::run_suite(argc, argv, suite);
}
