// SPDX-License-Identifier: BSD-3-Clause
//
// What service_bench has found: distributions, and verdicts on what was aimed at. A percentile is
// told of as many samples as it takes for one of them to be beyond it, and of no fewer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/histogram.hpp"
#include "base/result.hpp"

namespace portcullis::bench {

struct Verdict {
  std::string name;            // "service/AF_UNIX: revoke over the fence's own time"
  std::string found;           // "1.31 of an empty SEQPACKET round trip (13.1 us)"
  std::string target;          // "at most 2"
  std::optional<bool> is_met;  // none: it could not be judged
  std::optional<double> value = std::nullopt;
};

class Figures {
 public:
  using Context = std::vector<std::pair<std::string, std::string>>;

  void add(const std::string& name, const Histogram& latency);
  void add(Verdict verdict);
  [[nodiscard]] const std::vector<Verdict>& verdicts() const noexcept { return verdicts_; }
  /// One of those that must hold whatever the machine does was missed.
  void note_loss(const std::string& what) { losses_.push_back(what); }
  [[nodiscard]] const std::vector<std::string>& losses() const noexcept { return losses_; }

  [[nodiscard]] std::string text() const;
  /// In the form of Google Benchmark's, with verdicts beside them.
  [[nodiscard]] std::string json(const Context& context) const;
  /// DIRECTORY/service_bench.json, whose path it answers. System.
  [[nodiscard]] Result<std::string> write(const std::string& directory,
                                          const Context& context) const;

 private:
  struct Series {
    std::string name;
    Histogram latency;
  };
  std::vector<Series> series_;
  std::vector<Verdict> verdicts_;
  std::vector<std::string> losses_;
};

/// p99 of a hundred samples and more; none of fewer. `quantile` below 1.
[[nodiscard]] std::optional<std::uint64_t> percentile_ns(const Histogram& latency, double quantile);

}  // namespace portcullis::bench
