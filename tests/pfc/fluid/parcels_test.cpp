// SPDX-License-Identifier: BSD-3-Clause
//
// A time-stepped ring of real FIFO queues: parcels in order of arrival, data and PAUSE on the wire
// for a number of steps. Written from the text alone; the FIFO solver is what it tends to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "tests/pfc/fluid/runs.hpp"

namespace portcullis::pfc::testing {
namespace {

struct Parcel {
  std::size_t flow = 0;
  std::size_t hop = 0;  // of the link it waits for
  double amount = 0;
};

/// One link: the queue in front of it, its wire, and what its far ingress stores and says.
struct Lane {
  std::deque<Parcel> queue;
  std::deque<std::vector<Parcel>> wire;  // one entry a step
  std::deque<bool> pauses;               // on their way back, one a step
  double stored = 0;
  bool is_closed = false;
};

class ParcelRing {
 public:
  ParcelRing(const Topology& topology, double step) : topology_(topology), step_(step) {
    for (const Link& link : topology.links) {
      const auto steps = static_cast<std::size_t>(std::llround(link.delay / step));
      Lane lane;
      lane.wire.resize(steps);
      lane.pauses.assign(steps, false);
      lanes_.push_back(std::move(lane));
    }
    for (const Flow& flow : topology.flows) served_.emplace_back(flow.path.size(), 0.0);
  }

  void advance(double time) {
    for (LinkId link = 0; link < lanes_.size(); ++link) send(link, time);
    for (LinkId link = 0; link < lanes_.size(); ++link) receive(link);
    for (LinkId link = 0; link < lanes_.size(); ++link) signal(link);
  }

  /// By flow and hop, as FluidSample has them.
  [[nodiscard]] std::vector<double> served() const {
    std::vector<double> all;
    for (const auto& flow : served_) all.insert(all.end(), flow.begin(), flow.end());
    return all;
  }

 private:
  void send(LinkId id, double time) {
    Lane& lane = lanes_[id];
    std::vector<Parcel> sent;
    double left = lane.pauses.front() ? 0 : topology_.links[id].capacity * step_;
    for (std::size_t flow = 0; flow < topology_.flows.size(); ++flow)
      if (topology_.flows[flow].path[0] == id && time >= topology_.flows[flow].source.start &&
          left > 0)
        sent.push_back({flow, 0, left});
    while (left > 0 && !lane.queue.empty()) {
      Parcel& head = lane.queue.front();
      const double amount = std::min(left, head.amount);
      sent.push_back({head.flow, head.hop, amount});
      left -= amount;
      head.amount -= amount;
      if (head.amount <= 0) lane.queue.pop_front();
    }
    for (const Parcel& parcel : sent) {
      served_[parcel.flow][parcel.hop] += parcel.amount;
      if (parcel.hop > 0)
        lanes_[topology_.flows[parcel.flow].path[parcel.hop - 1]].stored -= parcel.amount;
    }
    lane.wire.push_back(std::move(sent));
  }

  void receive(LinkId id) {
    Lane& lane = lanes_[id];
    for (Parcel parcel : lane.wire.front()) {
      const auto& path = topology_.flows[parcel.flow].path;
      if (++parcel.hop == path.size()) continue;
      lane.stored += parcel.amount;
      arriving_.push_back(parcel);
    }
    lane.wire.pop_front();
    if (id + 1 < lanes_.size()) return;
    // What comes in one step from several links lies side by side: halves, in turn.
    for (int part = 0; part < kParts; ++part)
      for (const Parcel& parcel : arriving_) {
        auto& queue = lanes_[topology_.flows[parcel.flow].path[parcel.hop]].queue;
        queue.push_back({parcel.flow, parcel.hop, parcel.amount / kParts});
      }
    arriving_.clear();
  }

  void signal(LinkId id) {
    Lane& lane = lanes_[id];
    const Link& link = topology_.links[id];
    lane.is_closed = lane.stored >= (lane.is_closed ? link.xon : link.xoff);
    lane.pauses.pop_front();
    lane.pauses.push_back(lane.is_closed);
  }

  static constexpr int kParts = 2;
  const Topology& topology_;
  double step_;
  std::vector<Lane> lanes_;
  std::vector<std::vector<double>> served_;
  std::vector<Parcel> arriving_;
};

/// The greatest distance of any curve from the solver's at `until`, with steps of 1/`per_unit`.
double distance(const Topology& topology, const FluidRun& exact, double until, int per_unit) {
  const double step = 1.0 / per_unit;
  ParcelRing ring(topology, step);
  for (int i = 0; i < static_cast<int>(until * per_unit); ++i) ring.advance(i * step);
  const std::vector<double> found = ring.served();
  double most = 0;
  for (std::size_t slot = 0; slot < found.size(); ++slot)
    most = std::max(most, std::abs(found[slot] - exact.samples.back().served[slot]));
  return most;
}

struct Ring {
  const char* name;
  const char* scenario;
  std::vector<std::string> settings;
};

class Parcels : public ::testing::TestWithParam<Ring> {};

TEST_P(Parcels, TendToTheFifoSolution) {
  constexpr double kUntil = 8;
  const Topology topology = with(GetParam().scenario, GetParam().settings);
  const FluidRun exact = run(topology, sampled(kUntil, kUntil, Discipline::Fifo));
  const double coarse = distance(topology, exact, kUntil, 256);
  const double fine = distance(topology, exact, kUntil, 4096);
  EXPECT_LT(coarse, 0.2);
  EXPECT_LT(fine, 0.01);
  EXPECT_LT(fine, coarse / 4);
}

INSTANTIATE_TEST_SUITE_P(
    Rings, Parcels,
    ::testing::Values(Ring{"TwoFlows", "seed-1", {"d=0.125", "start.g=0.5"}},
                      Ring{"ThreeFlows", "ring-3", {"d=0.125", "start.g=0.25"}},
                      Ring{"Hysteresis", "ring-3", {"d=0.25", "gap=0.25", "start.h=0.5"}},
                      Ring{"Speeds", "ring-3", {"d=0.125", "capacity.2-3=0.75", "xoff.4-1=1.5"}}),
    [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace portcullis::pfc::testing
