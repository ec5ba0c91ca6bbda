// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/scale.hpp"

#include <algorithm>
#include <cmath>

namespace portcullis::pfc {
namespace {

constexpr int kNear = 3;  // powers of two from 1 that are left as they are

/// The middle one of those that are finite and above 0, or `otherwise`.
double middle_of(std::vector<double> values, double otherwise) {
  std::erase_if(values, [](double value) { return !(value > 0 && std::isfinite(value)); });
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// A power of two near `value`; 1 where that is near too.
double power_near(double value) {
  const int power = std::ilogb(value);
  return std::abs(power) <= kNear ? 1 : std::ldexp(1.0, power);
}

template <class Of>
std::vector<double> of_links(const Topology& topology, Of of) {
  std::vector<double> values;
  for (const Link& link : topology.links) values.push_back(of(link));
  return values;
}

void multiply(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
}

void out_of(const Scale& scale, FluidSample& sample) {
  sample.time *= scale.time;
  for (auto* curves : {&sample.offered, &sample.arrived, &sample.served})
    multiply(*curves, scale.data);
}

}  // namespace

Scale scale_of(const Topology& topology) {
  const double buffer = middle_of(of_links(topology, [](const Link& l) { return l.buffer; }), 1);
  const double data = middle_of(of_links(topology, [](const Link& l) { return l.xoff; }), buffer);
  const double capacity =
      middle_of(of_links(topology, [](const Link& l) { return l.capacity; }), 1);
  return {power_near(data / capacity), power_near(data)};
}

Topology into(const Scale& scale, Topology topology) {
  const double rate = scale.time / scale.data;
  for (Link& link : topology.links) {
    link.capacity *= rate;
    link.delay /= scale.time;
    for (double* data : {&link.xoff, &link.xon, &link.buffer}) *data /= scale.data;
  }
  for (Flow& flow : topology.flows) {
    Source& source = flow.source;
    source.rate *= rate;
    source.buffer /= scale.data;
    for (double* time : {&source.start, &source.stop}) *time /= scale.time;
    for (SourcePoint& point : source.points) {
      point.time /= scale.time;
      point.data /= scale.data;
    }
  }
  return topology;
}

FluidOptions into(const Scale& scale, FluidOptions options) {
  options.until /= scale.time;
  multiply(options.sample_times, 1 / scale.time);
  options.time_unit *= scale.time;
  return options;
}

void out_of(const Scale& scale, FluidRun& run) {
  for (FluidSample& sample : run.samples) out_of(scale, sample);
  for (FluidSample& sample : run.history) out_of(scale, sample);
  for (GateChange& change : run.gates) change.time *= scale.time;
  if (run.deadlock) run.deadlock->time *= scale.time;
  multiply(run.peak, scale.data);
  multiply(run.overflow_time, scale.time);
  multiply(run.rates, scale.data / scale.time);
  run.end *= scale.time;
}

}  // namespace portcullis::pfc
