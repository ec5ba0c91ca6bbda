// SPDX-License-Identifier: BSD-3-Clause
//
// Service curves of the last moments, so that what left a delay ago can arrive: cubic between two
// steps, exact where rates are constant.
#pragma once

#include <deque>
#include <vector>

namespace portcullis::pfc {

class CurveHistory {
 public:
  /// Appends a step from `from` to `to`: rates of every slot at its two ends, and served data.
  void add(double from, double to, const std::vector<double>& served_from,
           const std::vector<double>& rate_from, const std::vector<double>& served_to,
           const std::vector<double>& rate_to);
  /// Drops what ended before `time`.
  void forget(double time);
  /// The rate of `slot` at `time`: 0 before the first step, the last known after the last.
  [[nodiscard]] double rate(std::size_t slot, double time) const;

 private:
  struct Piece {
    double from = 0;
    double to = 0;
    std::vector<double> served_from, rate_from, served_to, rate_to;
  };
  std::deque<Piece> pieces_;
};

}  // namespace portcullis::pfc
