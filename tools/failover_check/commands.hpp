// SPDX-License-Identifier: BSD-3-Clause
//
// failover-check without main: each subcommand as a function from its options to text on `out` and
// an exit status. Progress and refusals go to `err`.
#pragma once

#include <atomic>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "failover/explore/explorer.hpp"
#include "failover/protocols/models.hpp"

namespace portcullis::tools::failover_check {

inline constexpr int kExitFine = 0;     // safe, or the table was printed
inline constexpr int kExitRefuted = 1;  // a property breaks, or a client may hang
inline constexpr int kExitBad = 2;      // usage, or a file that is none
inline constexpr int kExitStopped =
    3;  // interrupted, or out of memory: what was reached is printed
inline constexpr int kExitGivesUp = 4;    // nothing breaks, but a client may give up
inline constexpr int kExitUnreached = 5;  // nothing breaks, but some step was never reached

struct Streams {
  std::ostream& out;
  std::ostream& err;
  const std::atomic<bool>& stop;
};

/// What all explorations share.
struct SearchOptions {
  failover::Parameters parameters;
  std::string environment = "quiet";
  std::string set = "exact";
  bool uses_symmetry = false;
  unsigned threads = 2;
  std::uint64_t seed = 0;
  double memory_gb = 0;  // 0: what the kernel says is available
  bool is_json = false;
};

/// What takes the place of a file's own bounds.
struct BoundsGiven {
  std::optional<unsigned> clients, late, duplicates, timeouts, deaths;
};

/// explore, of a built-in model, or check, of a protocol in a file.
struct ExploreCommand {
  SearchOptions search;
  std::string model;
  std::string path;   // check: the protocol, "-" is standard input; empty for explore
  BoundsGiven given;  // check
  std::string svg_path;
  std::string promela_path;
  bool counts_only = false;      // without monitors: the bare number of states
  bool wants_all_steps = false;  // kExitUnreached where a step was never reached
};

struct ListCommand {
  SearchOptions search;
  std::string model;        // policies: one model; empty for all
  std::string path;         // classify: the dump, "-" is standard input
  std::string svg_dir;      // a chart for each refutation; empty for none
  bool uses_rules = false;  // classify: explore nothing
  std::string texts_dir;    // protocols: write each as a file there, and explore nothing
};

struct ImportCommand {
  std::string path;         // a capture, or a log of lease-verify; "-" is standard input
  std::string captured_at;  // of a capture; empty for a log
  std::string environment, consumer = "polls";
  std::string sender;  // an IP address; may be empty where one sender is all there is
  bool is_fenced = false;
};

struct BenchCommand {
  bool vs_spin = false;
  bool is_quick = false;  // the smallest size only
  bool is_json = false;
  unsigned rounds = 5;
  std::string model;  // empty for all
};

/// What bench --vs-spin measures; by which rule says spin_bench.cpp.
struct BenchModel {
  const char* model;
  unsigned clients, operations, duplicates;
};
[[nodiscard]] const std::vector<BenchModel>& bench_models();

[[nodiscard]] int run_explore(const ExploreCommand& command, const Streams& io);
[[nodiscard]] int run_protocols(const ListCommand& command, const Streams& io);
[[nodiscard]] int run_policies(const ListCommand& command, const Streams& io);
[[nodiscard]] int run_classify(const ListCommand& command, const Streams& io);
[[nodiscard]] int run_import(const ImportCommand& command, const Streams& io);
[[nodiscard]] int run_bench(const BenchCommand& command, const Streams& io);

/// One line "failover-check: .." to err; kExitBad.
int refuse(const Streams& io, const Error& error);

/// Checks names and bounds of the search; `explorer` runs on `io`'s stop flag and shows progress.
[[nodiscard]] Result<failover::ExploreOptions> explorer_options(const SearchOptions& search,
                                                                const Streams& io);

/// Of "-" standard input. All of it: a part would lack what is outstanding. 4 GiB at most.
[[nodiscard]] Result<std::string> read_file(const std::string& path);
[[nodiscard]] Result<void> write_file(const std::string& path, const std::string& text);

}  // namespace portcullis::tools::failover_check
