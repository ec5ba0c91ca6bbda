// SPDX-License-Identifier: BSD-3-Clause
//
// True FIFO: a link serves in the order of arrival, so the head's composition is that of the moment
// it came in. With sources of constant rates every rate is constant between events, and a queue is
// a strip of segments of constant composition: the solution is exact up to rounding.
#pragma once

#include <span>
#include <vector>

#include "pfc/fluid/machine.hpp"

namespace portcullis::pfc {

/// Rows of one width, put in at the back and taken from the front.
class Strip {
 public:
  explicit Strip(std::size_t width) : width_(width) {}

  [[nodiscard]] bool is_empty() const { return first_ == rows_.size(); }
  [[nodiscard]] std::size_t size() const { return (rows_.size() - first_) / width_; }
  [[nodiscard]] std::span<double> front() { return {rows_.data() + first_, width_}; }
  [[nodiscard]] std::span<double> back() {
    return {rows_.data() + (rows_.size() - width_), width_};
  }
  std::span<double> push() {
    rows_.resize(rows_.size() + width_);
    return back();
  }
  void pop() {
    first_ += width_;
    if (is_empty()) clear();
    if (first_ < rows_.size() / 2 || first_ < kKept) return;
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  void clear() {
    rows_.clear();
    first_ = 0;
  }

 private:
  static constexpr std::size_t kKept = 1'024;  // values in front that may be gone
  std::size_t width_;
  std::size_t first_ = 0;
  std::vector<double> rows_;
};

class FifoSolver : private Machine {
 public:
  FifoSolver(const Topology& topology, const Network& network, const FluidOptions& options);

  [[nodiscard]] Result<FluidRun> run_to_end();

 private:
  void settle();
  void land();
  void launch();
  void compose();
  [[nodiscard]] double next_event();
  [[nodiscard]] double until_empty(std::uint32_t index) const;
  [[nodiscard]] double until_threshold(std::uint32_t index) const;
  [[nodiscard]] double until_next_head(std::uint32_t index);
  [[nodiscard]] double until_overflow() const;
  void advance(double step);

  std::vector<Strip> segments_;  // by port: amount, share of each slot
  std::vector<Strip> flights_;   // by port: due time, rate of each slot, still on the wire
  std::vector<Strip> launched_;  // by port: the last row put on the wire
};

}  // namespace portcullis::pfc
