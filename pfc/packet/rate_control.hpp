// SPDX-License-Identifier: BSD-3-Clause
//
// DCQCN's reaction point (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
// SIGCOMM 2015, section 3.1): the rate at which a sender's NIC lets the packets of one flow out.
// Timers are caught up with when somebody asks, for a rate matters only when a packet leaves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "pfc/packet/options.hpp"

namespace portcullis::pfc::packet {

class RateControl {
 public:
  RateControl(const Dcqcn& dcqcn, double line_bps)
      : dcqcn_(&dcqcn), line_(line_bps), rate_(line_bps), target_(line_bps) {}

  /// A CNP has come.
  void notify(Picoseconds now) {
    catch_up(now);
    if (is_notified_) decay(now);
    is_notified_ = true;
    target_ = rate_;
    rate_ = std::max(rate_ * (1 - alpha_ / 2), std::min(dcqcn_->least_bps, line_));
    alpha_ = (1 - dcqcn_->gain) * alpha_ + dcqcn_->gain;
    alpha_at_ = now;
    timer_at_ = now;
    times_ = counts_ = 0;
    bytes_ = 0;
    is_reduced_ = true;
  }

  /// A packet leaves; the next may follow so long after.
  [[nodiscard]] Picoseconds spacing(Picoseconds now, std::uint32_t bytes) {
    catch_up(now);
    bytes_ += bytes;
    for (; is_reduced_ && bytes_ >= dcqcn_->counter_bytes; bytes_ -= dcqcn_->counter_bytes) {
      ++counts_;
      increase();
    }
    return static_cast<Picoseconds>(8e12 * bytes / rate_);
  }

  [[nodiscard]] double rate_bps(Picoseconds now) {
    catch_up(now);
    return rate_;
  }
  /// 1 until the first CNP.
  [[nodiscard]] double alpha(Picoseconds now) {
    if (is_notified_) decay(now);
    return alpha_;
  }

 private:
  void catch_up(Picoseconds now) {
    for (; is_reduced_ && timer_at_ + dcqcn_->timer <= now; timer_at_ += dcqcn_->timer) {
      ++times_;
      increase();
    }
  }

  void decay(Picoseconds now) {
    const Picoseconds times = (now - alpha_at_) / dcqcn_->alpha_every;
    if (times == 0) return;
    alpha_ *= std::pow(1 - dcqcn_->gain, static_cast<double>(times));
    alpha_at_ += times * dcqcn_->alpha_every;
  }

  /// Fast recovery while both counters are below F, hyper increase when both are above, else
  /// additive.
  void increase() {
    const std::uint32_t f = dcqcn_->recoveries;
    if (std::min(times_, counts_) > f)
      target_ += dcqcn_->hyper_bps;
    else if (std::max(times_, counts_) >= f)
      target_ += dcqcn_->additive_bps;
    target_ = std::min(target_, line_);
    rate_ = (target_ + rate_) / 2;
    if (rate_ < line_ * (1 - kNone)) return;
    rate_ = line_;
    is_reduced_ = false;
  }

  static constexpr double kNone = 1e-9;

  const Dcqcn* dcqcn_;
  double line_;
  double rate_;    // R_C
  double target_;  // R_T
  double alpha_ = 1;
  Picoseconds alpha_at_ = 0;
  Picoseconds timer_at_ = 0;
  std::int64_t bytes_ = 0;
  std::uint32_t times_ = 0;
  std::uint32_t counts_ = 0;
  bool is_notified_ = false;
  bool is_reduced_ = false;  // below the line's rate, with timers running
};

}  // namespace portcullis::pfc::packet
