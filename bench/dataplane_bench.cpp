// SPDX-License-Identifier: BSD-3-Clause
//
// The data path: what posting and polling take of this process, how long a request takes to its
// completion, and how many are done a second, by opcode, size, queue depth and number of queue
// pairs on one UAR.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/common/lanes.hpp"
#include "bench/common/suite.hpp"

namespace portcullis::bench {
namespace {

using prm::WqeOpcode;

constexpr Operation kOperations[] = {
    {"write_inline", WqeOpcode::RDMA_WRITE, 64, true},
    {"write", WqeOpcode::RDMA_WRITE, 64},
    {"write", WqeOpcode::RDMA_WRITE, 4096},
    {"write", WqeOpcode::RDMA_WRITE, 65536},
    {"write_imm", WqeOpcode::RDMA_WRITE_IMM, 64},
    {"send_inline", WqeOpcode::SEND, 64, true},
    {"send", WqeOpcode::SEND, 64},
    {"send", WqeOpcode::SEND, 4096},
    {"read", WqeOpcode::RDMA_READ, 64},
    {"read", WqeOpcode::RDMA_READ, 4096},
    {"read", WqeOpcode::RDMA_READ, 65536},
    {"fetch_add", WqeOpcode::ATOMIC_FA, 8},
    {"compare_swap", WqeOpcode::ATOMIC_CS, 8},
};
constexpr const Operation& kLine = kOperations[0];  // what everyone measures

/// One of each way to post: the fast path inline and by reference, and any other request.
constexpr const Operation* kPosted[] = {&kOperations[0], &kOperations[1], &kOperations[8]};

constexpr std::uint32_t kDepths[] = {1, 16, 64};
constexpr std::uint32_t kQueuePairs[] = {1, 1024};
constexpr std::uint64_t kBatch = 32;           // of posts, and of polls
constexpr std::uint64_t kRateBytes = 1 << 20;  // of a rate's sample, at least
constexpr std::uint64_t kLeastMessages = 64;
constexpr std::uint64_t kMostMessages = 1024;

std::string label_of(const Operation& operation) {
  return fmt::format("op:{}/bytes:{}", operation.name, operation.bytes);
}

/// Requests on one QP, the last signaled, each with its doorbell.
Result<void> post_batch(Lanes& lanes, const Operation& operation, bool all_signaled) {
  for (std::uint64_t i = 0; i < kBatch; ++i) {
    PORTCULLIS_TRY(lanes.post(0, operation, i, all_signaled || i + 1 == kBatch));
    lanes.ring(0);
  }
  return {};
}

Result<std::optional<std::uint64_t>> time_posts(proof::Session& session, Lanes& lanes,
                                                const Operation& operation) {
  const std::uint64_t start = session.now_ns();
  PORTCULLIS_TRY(post_batch(lanes, operation, false));
  const std::uint64_t time = session.now_ns() - start;
  PORTCULLIS_TRY(lanes.wait());
  return std::optional<std::uint64_t>(time / kBatch);
}

/// A sample only when every poll found its completion at once.
Result<std::optional<std::uint64_t>> time_polls(proof::Session& session, Lanes& lanes) {
  constexpr std::uint64_t kSettleNs = 200 * kNsPerUs;
  PORTCULLIS_TRY(post_batch(lanes, kLine, true));
  (void)wait_until(session.device(), session.now_ns() + kSettleNs, [] { return false; });
  const std::uint64_t start = session.now_ns();
  std::uint64_t polled = 0;
  for (; polled < kBatch; ++polled) {
    PORTCULLIS_TRY_ASSIGN(const auto completion, lanes.poll(start));
    if (!completion) break;
  }
  const std::uint64_t time = session.now_ns() - start;
  const bool is_sample = polled == kBatch;
  for (; polled < kBatch; ++polled) PORTCULLIS_TRY(lanes.wait());
  return is_sample ? std::optional<std::uint64_t>(time / kBatch) : std::nullopt;
}

Result<std::optional<std::uint64_t>> time_round_trip(proof::Session& session, Lanes& lanes,
                                                     const Operation& operation) {
  const std::uint64_t start = session.now_ns();
  PORTCULLIS_TRY(lanes.post(0, operation, 0, true));
  lanes.ring(0);
  PORTCULLIS_TRY(lanes.wait());
  return std::optional<std::uint64_t>(session.now_ns() - start);
}

std::uint64_t messages_of(const Operation& operation) {
  return std::clamp(kRateBytes / operation.bytes, kLeastMessages, kMostMessages);
}

/// Time of one message with `depth` under way, of which every fourth part asks for a completion.
Result<std::optional<std::uint64_t>> time_messages(proof::Session& session, Lanes& lanes,
                                                   const Operation& operation,
                                                   std::uint32_t depth) {
  const std::uint64_t messages = messages_of(operation);
  const std::uint64_t interval = std::max(depth / 4, 1u);
  const std::uint64_t start = session.now_ns();
  std::uint64_t posted = 0, done = 0;
  while (done < messages) {
    const std::uint64_t before = posted;
    for (; posted < messages && posted - done < depth; ++posted) {
      const bool is_signaled = (posted + 1) % interval == 0 || posted + 1 == messages;
      PORTCULLIS_TRY(lanes.post(0, operation, posted, is_signaled));
    }
    if (posted != before) lanes.ring(0);
    PORTCULLIS_TRY_ASSIGN(const auto completion, lanes.wait());
    done = completion.wr_id + 1;
  }
  return std::optional<std::uint64_t>((session.now_ns() - start) / messages);
}

/// The same over many QPs in turn, each request with its own doorbell and completion.
Result<std::optional<std::uint64_t>> time_lanes(proof::Session& session, Lanes& lanes) {
  constexpr std::uint64_t kDepth = 64;
  const std::uint64_t messages = std::max<std::uint64_t>(kMostMessages, lanes.size());
  const std::uint64_t start = session.now_ns();
  std::uint64_t posted = 0;
  for (std::uint64_t done = 0; done < messages; ++done) {
    for (; posted < messages && posted - done < kDepth; ++posted) {
      PORTCULLIS_TRY(lanes.post(posted % lanes.size(), kLine, posted, true));
      lanes.ring(posted % lanes.size());
    }
    PORTCULLIS_TRY(lanes.wait());
  }
  return std::optional<std::uint64_t>((session.now_ns() - start) / messages);
}

using Measure = std::function<Result<std::optional<std::uint64_t>>(proof::Session&, Lanes&)>;

SeriesPlan plan(std::string name, const char* picture, std::uint64_t samples, std::uint32_t qps,
                std::uint32_t in_flight, const Measure& measure) {
  SeriesPlan series;
  series.name = std::move(name);
  series.picture = picture;
  series.wall_samples = samples;
  series.needs_wall_clock = true;  // but for data-path-ns the model times neither
  series.prepare = [=](proof::Session& session) -> Result<Sampler> {
    PORTCULLIS_TRY_ASSIGN(auto made, Lanes::create(session, qps, in_flight));
    std::shared_ptr<Lanes> lanes = std::move(made);
    return Sampler([&session, lanes, measure] { return measure(session, *lanes); });
  };
  return series;
}

/// Rates are told per message; a second holds this many.
SeriesPlan as_rate(SeriesPlan series) {
  series.annotate = [](benchmark::State& state) {
    const double ns = state.counters["p50"];
    state.counters["messages_per_s"] = ns > 0 ? 1e9 / ns : 0;
  };
  return series;
}

std::vector<SeriesPlan> series(const Options& options) {
  const std::uint64_t samples = options.samples;
  const std::uint64_t rounds = std::max<std::uint64_t>(samples / 20, 5);
  std::vector<SeriesPlan> all;
  for (const Operation* operation : kPosted)
    all.push_back(plan("post/" + label_of(*operation), "post and poll", samples, 1,
                       Lanes::kMostInFlight, [operation](proof::Session& session, Lanes& lanes) {
                         return time_posts(session, lanes, *operation);
                       }));
  all.push_back(plan("poll", "post and poll", samples, 1, Lanes::kMostInFlight, time_polls));
  for (const Operation& operation : kOperations)
    all.push_back(plan("round_trip/" + label_of(operation), "round trip", samples, 1, 1,
                       [&operation](proof::Session& session, Lanes& lanes) {
                         return time_round_trip(session, lanes, operation);
                       }));
  for (const Operation& operation : kOperations)
    for (const std::uint32_t depth : kDepths)
      all.push_back(as_rate(plan(fmt::format("message/{}/depth:{}", label_of(operation), depth),
                                 "time of a message", rounds, 1, depth,
                                 [&operation, depth](proof::Session& session, Lanes& lanes) {
                                   return time_messages(session, lanes, operation, depth);
                                 })));
  for (const std::uint32_t qps : kQueuePairs)
    all.push_back(
        as_rate(plan(fmt::format("message/{}/qps:{}", label_of(kLine), qps), "one UAR, many QPs",
                     rounds, qps, qps == 1 ? Lanes::kMostInFlight : 1, time_lanes)));
  return all;
}

}  // namespace
}  // namespace portcullis::bench

int main(int argc, char** argv) {
  using portcullis::bench::Suite;
  Suite suite;
  suite.info = {.name = "dataplane_bench",
                .summary = "Post, poll, round trip and message rate by opcode, size and depth.",
                .has_plans = false,
                .has_leases = false,
                .has_retry = false,
                .default_samples = 1000,
                .quick_samples = 5};
  suite.title = "dataplane_bench: requests of an RC queue pair";
  suite.series = portcullis::bench::series;
  return portcullis::bench::run_suite(argc, argv, suite);
}
