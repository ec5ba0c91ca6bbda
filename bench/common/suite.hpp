// SPDX-License-Identifier: BSD-3-Clause
//
// What every bench program shares: start-up, the context that says what its figures are worth, the
// loop that takes samples, and what is left at the end. A suite brings a list of series, each a way
// to take one sample.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/svg.hpp"
#include "bench/common/options.hpp"
#include "bench/common/report.hpp"
#include "proof/session.hpp"

namespace portcullis::bench {

/// Takes one sample, in nanoseconds; none when what was waited for did not happen. Owns what it
/// needs on its session.
using Sampler = std::function<Result<std::optional<std::uint64_t>>()>;

struct SeriesPlan {
  std::string name;     // "2ERR_QP"; the clock is added
  std::string picture;  // see Series; the clock is added
  std::uint64_t wall_samples = 0;
  /// Left out on the virtual clock: work that takes no time there would never let it go on.
  bool needs_wall_clock = false;
  std::string model_behaviour;  // that a model has besides those of --device; may be empty
  /// Makes what the samples need; `session` outlives the sampler.
  std::function<Result<Sampler>(proof::Session& session)> prepare;
  /// Adds counters and a label of its own. May be empty.
  std::function<void(benchmark::State& state)> annotate;
  /// Hears why the series, by its full name, has no result; instead of annotate. May be empty.
  std::function<void(const std::string& name, const Error& error)> give_up;
};

/// Whose time the samples are.
enum class Timebase : std::uint8_t {
  Device,   // the device's clock: virtual or wall
  Process,  // what a stepped model takes of this process; needs a model
};

struct Suite {
  ProgramInfo info;
  std::string title;  // of the pictures
  Timebase timebase = Timebase::Device;
  std::vector<ReferenceLine> references;
  std::function<std::vector<SeriesPlan>(const Options& options)> series;
  /// What the program has to say at the end, and files of its own. May be empty.
  std::function<Result<void>(const Report& report)> conclude;
};

inline constexpr int kNothingMeasuredStatus = 1;
inline constexpr int kSomeNotMeasuredStatus = 3;

/// main() of a suite: 0; 1 with one line on stderr that says why nothing was measured, or what
/// could not be written; 3 when a series has no result, which ends that series only: each is named
/// on stderr with its reason behind the tables and files of the others; 130 when interrupted.
///
/// With device=model every series is run on the virtual clock, where a fresh stepped model gives
/// one value and a few runs show it, and on the wall clock against a model on a core of its own;
/// with execution= in the device only on that one. Hardware has a wall clock only.
[[nodiscard]] int run_suite(int argc, char** argv, const Suite& suite);

}  // namespace portcullis::bench
