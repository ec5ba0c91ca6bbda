// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/history.hpp"

#include <algorithm>

namespace portcullis::pfc {
namespace {

constexpr double kShort = 1e-4;  // of a step: differences of its ends would be rounding

}  // namespace

void CurveHistory::add(double from, double to, const std::vector<double>& served_from,
                       const std::vector<double>& rate_from, const std::vector<double>& served_to,
                       const std::vector<double>& rate_to) {
  pieces_.push_back({from, to, served_from, rate_from, served_to, rate_to});
}

void CurveHistory::forget(double time) {
  while (!pieces_.empty() && pieces_.front().to < time) pieces_.pop_front();
}

double CurveHistory::rate(std::size_t slot, double time) const {
  const auto piece = std::ranges::upper_bound(pieces_, time, {}, &Piece::to);
  if (piece == pieces_.end()) return pieces_.empty() ? 0 : pieces_.back().rate_to[slot];
  if (time < piece->from) return 0;
  const double width = piece->to - piece->from;
  const double u = (time - piece->from) / width;
  const double from = piece->rate_from[slot];
  const double to = piece->rate_to[slot];
  if (width < kShort) return from + u * (to - from);
  // The derivative of the cubic through both ends and both rates.
  const double mean = (piece->served_to[slot] - piece->served_from[slot]) / width;
  return from + u * (6 * mean - 4 * from - 2 * to) + u * u * (3 * from + 3 * to - 6 * mean);
}

}  // namespace portcullis::pfc
