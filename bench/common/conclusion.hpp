// SPDX-License-Identifier: BSD-3-Clause
//
// The last words of ./dev bench: at most ten lines that say what the programs found, computed from
// the files that they left and from nothing else. What was not measured is not concluded from.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis::bench {

/// A series of Google Benchmark's JSON.
struct ResultSeries {
  std::string name;   // "floor/plan:seed/timeout:14/retry:7/clock:virtual"
  std::string error;  // why it has no result; empty: it has
  std::map<std::string, double, std::less<>> values;
};

struct ResultFile {
  std::map<std::string, std::string, std::less<>> context;
  std::vector<ResultSeries> series;

  /// Empty when there is no such key.
  [[nodiscard]] std::string said(std::string_view key) const;
};

/// Malformed, with file and line, when the text is not what a bench program writes.
[[nodiscard]] Result<ResultFile> parse_results(std::string_view text, std::string_view file);

/// One program as it was run.
struct BenchRun {
  std::string program;      // "floor_bench"
  int status = 0;           // that it ended with
  Result<ResultFile> file;  // what it left; an error: nothing that can be read
};

/// The statuses with which a bench program leaves whole files; any other leaves those of an earlier
/// run, or half a file.
[[nodiscard]] bool leaves_results(int status) noexcept;

/// How it all ends: the lines, and the status that follows from them.
struct Conclusion {
  static constexpr std::size_t kMostLines = 10;
  static constexpr int kServedAfterFence = 2;  // as floor_bench
  static constexpr int kNotWhole = 3;          // a program or a series has no result

  std::vector<std::string> lines;
  int status = 0;
};

/// Of the first floor_bench and the first revoke_bench in `runs`; of the others only what failed.
/// `where` is told as the place of the files.
[[nodiscard]] Conclusion conclude(const std::vector<BenchRun>& runs, const std::string& where);

}  // namespace portcullis::bench
