// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/history.hpp"

#include <algorithm>
#include <utility>

namespace portcullis::pfc {
namespace {

constexpr double kShort = 1e-4;  // of a step: differences of its ends would be rounding

}  // namespace

void CurveHistory::add(double from, double to, const std::vector<double>& served_from,
                       const std::vector<double>& rate_from, const std::vector<double>& served_to,
                       const std::vector<double>& rate_to) {
  std::vector<double> mean(served_from.size());
  for (std::size_t slot = 0; slot < mean.size(); ++slot)
    mean[slot] = (served_to[slot] - served_from[slot]) / (to - from);
  pieces_.push_back({from, to, rate_from, rate_to, std::move(mean)});
}

void CurveHistory::forget(double time) {
  while (!pieces_.empty() && pieces_.front().to < time) {
    pieces_.pop_front();
    ++dropped_;
  }
}

CurveHistory::Moment CurveHistory::at(double time, Place& near) const {
  Moment moment;
  if (pieces_.empty()) return moment;
  // The first step that ends later, or the last.
  const std::size_t last = pieces_.size() - 1;
  std::size_t step = std::min(std::max(near.step, dropped_) - dropped_, last);
  while (step > 0 && pieces_[step - 1].to > time) --step;
  while (step < last && pieces_[step].to <= time) ++step;
  near.step = dropped_ + step;
  const Piece& piece = pieces_[step];
  time = std::min(time, piece.to);
  if (time < piece.from) return moment;
  moment.piece_ = &piece;
  moment.width_ = piece.to - piece.from;
  moment.part_ = (time - piece.from) / moment.width_;
  return moment;
}

double CurveHistory::Moment::rate(std::size_t slot) const {
  if (piece_ == nullptr) return 0;
  const double from = piece_->rate_from[slot];
  const double to = piece_->rate_to[slot];
  if (part_ == 1) return to;
  const double u = part_;
  if (width_ < kShort) return from + u * (to - from);
  // The derivative of the cubic through both ends and both rates.
  const double mean = piece_->mean[slot];
  return from + u * (6 * mean - 4 * from - 2 * to) + u * u * (3 * from + 3 * to - 6 * mean);
}

}  // namespace portcullis::pfc
