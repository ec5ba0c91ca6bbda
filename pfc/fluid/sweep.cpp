// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <thread>

#include "pfc/scenarios.hpp"

namespace portcullis::pfc {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNotRun = -1;
constexpr double kUndecided = -2;
constexpr std::uint64_t kMostRuns = 10'000'000;  // in all: a gigabyte of outcomes
constexpr unsigned kMostThreads = 1024;

Result<void> check_options(const SweepOptions& options) {
  const auto bad = [](const std::string& text) { return fail(Errc::InvalidArgument, text); };
  if (options.axes.empty()) return bad("no axis to sweep along; one or more are accepted");
  std::uint64_t runs = options.runs;
  for (const SweepAxis& axis : options.axes) {
    if (axis.values.empty())
      return bad(fmt::format("no values of {}; one or more are accepted", axis.name));
    runs = std::min(runs, kMostRuns + 1) * axis.values.size();
  }
  if (options.runs == 0 || runs > kMostRuns)
    return bad(fmt::format("{} runs in each cell; 1 or more, and {} in all cells, are accepted",
                           options.runs, kMostRuns));
  if (options.threads == 0 || options.threads > kMostThreads)
    return bad(fmt::format("{} threads; 1 to {} are accepted", options.threads, kMostThreads));
  if (!(options.offsets >= 0) || !std::isfinite(options.offsets))
    return bad(fmt::format("offsets {}; a number from 0 on is accepted", options.offsets));
  return {};
}

class Sweep {
 public:
  Sweep(const Topology& topology, const SweepOptions& options)
      : topology_(topology), options_(options) {
    std::size_t cells = 1;
    for (const SweepAxis& axis : options.axes) cells *= axis.values.size();
    cells_.resize(cells);
    times_.assign(cells * options.runs, kNotRun);
    errors_.resize(times_.size());
  }

  Result<std::vector<SweepCell>> run() {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      std::size_t rest = i;
      cells_[i].values.resize(options_.axes.size());
      for (std::size_t k = options_.axes.size(); k-- > 0;) {
        const auto& values = options_.axes[k].values;
        cells_[i].values[k] = values[rest % values.size()];
        rest /= values.size();
      }
    }
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < options_.threads; ++i) threads.emplace_back([this] { work(false); });
    work(true);
    threads.clear();
    for (auto& error : errors_)
      if (error) return tl::unexpected<Error>(std::move(*error));
    collect();
    return std::move(cells_);
  }

 private:
  [[nodiscard]] bool is_stopped() const {
    return options_.is_stopped != nullptr && options_.is_stopped->load(std::memory_order_relaxed);
  }

  /// Takes runs until there are none; what a run is depends on its number only.
  void work(bool reports) {
    while (!is_stopped() && !has_failed_.load(std::memory_order_relaxed)) {
      const std::size_t job = next_.fetch_add(1, std::memory_order_relaxed);
      if (job >= times_.size()) return;
      auto time = time_of(job);
      if (time) {
        times_[job] = *time;
      } else {
        errors_[job] = std::move(time).error();
        has_failed_.store(true, std::memory_order_relaxed);
      }
      if (reports && options_.progress) options_.progress(job + 1, times_.size());
    }
  }

  Result<double> time_of(std::size_t job) const {
    Topology topology = topology_;
    const SweepCell& cell = cells_[job / options_.runs];
    std::vector<std::string> settings;
    for (std::size_t k = 0; k < options_.axes.size(); ++k)
      settings.push_back(fmt::format("{}={}", options_.axes[k].name, cell.values[k]));
    std::seed_seq seed{static_cast<std::uint32_t>(options_.seed),
                       static_cast<std::uint32_t>(options_.seed >> 32),
                       static_cast<std::uint32_t>(job % options_.runs)};
    std::mt19937_64 random(seed);
    for (Flow& flow : topology.flows)
      // 53 bits as a fraction: the same on every standard library, unlike its distributions.
      flow.source.start += options_.offsets * std::ldexp(static_cast<double>(random() >> 11), -53);
    PORTCULLIS_TRY(apply_settings(topology, settings));
    if (options_.prepare) {
      PORTCULLIS_TRY_ASSIGN(topology, options_.prepare(topology));
    }
    if (options_.simulate) {
      PORTCULLIS_TRY_ASSIGN(const std::optional<double> time, options_.simulate(topology));
      return time.value_or(kNotRun);
    }
    FluidOptions solver = options_.solver;
    solver.stops_at_deadlock = true;
    solver.is_stopped = options_.is_stopped;
    auto found = solve(topology, solver);
    if (!found && found.error().code == Errc::OutOfResources) return kUndecided;
    if (!found) return forward_error(std::move(found));
    if (found->is_interrupted) return kNotRun;
    return found->deadlock ? found->deadlock->time : kInfinite;
  }

  void collect() {
    for (std::size_t job = 0; job < times_.size(); ++job) {
      SweepCell& cell = cells_[job / options_.runs];
      if (times_[job] == kUndecided) ++cell.undecided;
      if (times_[job] < 0) continue;
      ++cell.runs;
      if (std::isfinite(times_[job])) cell.times.push_back(times_[job]);
    }
    for (SweepCell& cell : cells_) std::ranges::sort(cell.times);
  }

  const Topology& topology_;
  const SweepOptions& options_;
  std::vector<SweepCell> cells_;
  std::vector<double> times_;  // by run
  std::vector<std::optional<Error>> errors_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace

double SweepCell::share() const { return runs == 0 ? 0 : static_cast<double>(times.size()) / runs; }

double SweepCell::quantile(double q) const {
  if (runs == 0) return kInfinite;
  const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(q * runs)));
  if (rank > times.size()) return kInfinite;
  return times[rank - 1];
}

Result<std::vector<SweepCell>> sweep(const Topology& topology, const SweepOptions& options) {
  PORTCULLIS_TRY(check_options(options));
  return Sweep(topology, options).run();
}

}  // namespace portcullis::pfc
