// SPDX-License-Identifier: BSD-3-Clause
//
// Service curves of the last moments, so that what left a delay ago can arrive: cubic between two
// steps, exact where rates are constant.
#pragma once

#include <cstddef>
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

  struct Piece {
    double from = 0;
    double to = 0;
    std::vector<double> rate_from, rate_to, mean;  // by slot; mean: what was served, by the width
  };
  /// One time, looked up once for all slots. Valid until the next add or forget.
  class Moment {
   public:
    /// The rate of `slot`: 0 before the first step, the last known after the last.
    [[nodiscard]] double rate(std::size_t slot) const;

   private:
    friend class CurveHistory;
    const Piece* piece_ = nullptr;  // none: nothing had been sent
    double width_ = 0;
    double part_ = 0;  // of the step
  };
  /// Where a look for one time ended, so that a look for a time near it is short.
  struct Place {
    std::size_t step = 0;  // of all that were added
  };
  [[nodiscard]] Moment at(double time, Place& near) const;

 private:
  std::deque<Piece> pieces_;
  std::size_t dropped_ = 0;
};

}  // namespace portcullis::pfc
