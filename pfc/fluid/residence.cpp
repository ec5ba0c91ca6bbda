// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/residence.hpp"

#include <algorithm>
#include <cmath>

namespace portcullis::pfc {
namespace {

constexpr std::size_t kShares = 10'000;  // of the delivered data, for quantiles
constexpr double kNothing = 1e-11;       // of what was sent: rounding

/// A curve that never falls, between points that are joined by lines.
struct Curve {
  std::vector<double> times;
  std::vector<double> data;

  /// When the curve reaches `amount`.
  [[nodiscard]] double time_at(double amount) const {
    const auto found = std::ranges::lower_bound(data, amount);
    if (found == data.end()) return times.back();
    const auto at = static_cast<std::size_t>(found - data.begin());
    if (at == 0) return times.front();
    const double part = (amount - data[at - 1]) / (data[at] - data[at - 1]);
    return times[at - 1] + part * (times[at] - times[at - 1]);
  }
};

class Distance {
 public:
  Distance(Curve sent, Curve arrived, double last_delay)
      : sent_(std::move(sent)), arrived_(std::move(arrived)), last_delay_(last_delay) {}

  void measure(Residence& to) const {
    const double delivered = arrived_.data.back();
    const double nothing = kNothing * sent_.data.back();
    to.inside = sent_.data.back() - delivered;
    if (to.inside > nothing)
      to.oldest_inside = sent_.times.back() - sent_.time_at(delivered + nothing);
    else
      to.inside = 0;
    if (delivered <= nothing) return;
    to.delivered = delivered;
    // Both curves are lines between their points, so the longest distance is beside one of those:
    // beside, for where both stand still rounding puts one above the other, and only data that is
    // on either side of that was under way.
    for (const Curve* curve : {&sent_, &arrived_})
      for (const double amount : curve->data) {
        if (amount > delivered - 2 * nothing) break;
        consider(amount - nothing, to);
        consider(amount + nothing, to);
      }
    std::vector<double> all(kShares);
    for (std::size_t i = 0; i < kShares; ++i)
      all[i] = at(delivered * (static_cast<double>(i) + 0.5) / kShares);
    std::ranges::sort(all);
    to.median = all[kShares / 2];
    to.p99 = all[kShares * 99 / 100];
    to.longest = std::max(to.longest, all.back());
  }

 private:
  [[nodiscard]] double at(double amount) const {
    return arrived_.time_at(amount) - sent_.time_at(amount) + last_delay_;
  }
  void consider(double amount, Residence& to) const {
    const double distance = at(amount);
    if (distance <= to.longest) return;
    to.longest = distance;
    to.longest_sent = sent_.time_at(amount);
  }

  Curve sent_;
  Curve arrived_;
  double last_delay_;
};

}  // namespace

std::vector<Residence> residence(const Topology& topology, const FluidRun& run) {
  std::vector<Residence> all(topology.flows.size());
  std::size_t first = 0;
  for (std::size_t i = 0; i < topology.flows.size(); ++i) {
    const auto& path = topology.flows[i].path;
    for (const LinkId link : path) all[i].transit += topology.links[link].delay;
    Curve sent, arrived;
    for (const FluidSample& sample : run.history) {
      sent.times.push_back(sample.time);
      sent.data.push_back(sample.served[first]);
      arrived.times.push_back(sample.time);
      arrived.data.push_back(sample.served[first + path.size() - 1]);
    }
    first += path.size();
    if (sent.times.empty()) continue;
    Distance(std::move(sent), std::move(arrived), topology.links[path.back()].delay)
        .measure(all[i]);
  }
  return all;
}

}  // namespace portcullis::pfc
