// SPDX-License-Identifier: BSD-3-Clause
//
// Time to deadlock as a distribution: many runs with random start offsets in each cell of a grid of
// settings. Phase decides single runs near the edge, so only distributions compare.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pfc/fluid/fluid.hpp"

namespace portcullis::pfc {

struct SweepAxis {
  std::string name;  // as apply_setting() takes it
  std::vector<double> values;
};

struct SweepOptions {
  FluidOptions solver;  // until, discipline, ..; each run stops at its deadlock
  std::vector<SweepAxis> axes;
  std::uint32_t runs = 50;  // in each cell
  /// Flows start at random times from 0 to this; the k-th run has the same times in every cell, so
  /// that cells differ by their settings alone.
  double offsets = 1;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  /// Makes of each run's topology, with its settings and starts, what is solved. May be empty.
  std::function<Result<Topology>(const Topology&)> prepare;
  /// What runs instead of the solver, which then has no say: the time of the deadlock, infinite
  /// where there was none, or nothing when it was stopped. From several threads. May be empty.
  std::function<Result<std::optional<double>>(const Topology&)> simulate;
  const std::atomic<bool>* is_stopped = nullptr;
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;  // from one thread
};

struct SweepCell {
  std::vector<double> values;          // one an axis
  std::uint32_t runs = 0;              // fewer than asked for when stopped or undecided
  std::uint32_t undecided = 0;         // more events than solver.max_events: on a knife edge
  std::vector<double> times;           // to deadlock, ascending, of the runs that had one
  [[nodiscard]] double share() const;  // of runs with a deadlock; 0 without runs
  [[nodiscard]] double quantile(double q) const;  // of all runs; infinite where more than 1-q live
};

/// The first axis changes slowest. The same cells whatever the number of threads. The error of the
/// first run that fails; InvalidArgument for no axis, no value, no run or no thread, and for more
/// of them than a machine holds.
[[nodiscard]] Result<std::vector<SweepCell>> sweep(const Topology& topology,
                                                   const SweepOptions& options);

}  // namespace portcullis::pfc
