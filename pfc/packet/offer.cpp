// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/packet/offer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace portcullis::pfc::packet {
namespace {

constexpr double kFar = 9e18;

Picoseconds to_ps(double picoseconds) {
  return picoseconds < kFar ? static_cast<Picoseconds>(std::ceil(picoseconds))
                            : std::numeric_limits<Picoseconds>::max();
}

}  // namespace

Offer::Offer(const Source& source, const Network& network, std::uint32_t packet_bytes,
             Picoseconds spacing_ps)
    : source_(source),
      ps_per_time_(network.ps_per_time),
      data_per_packet_(packet_bytes / network.bytes_per_data),
      spacing_ps_(spacing_ps),
      start_ps_(to_ps(source.start * ps_per_time_)),
      stop_ps_(to_ps(source.stop * ps_per_time_)),
      buffer_packets_(source.buffer / data_per_packet_ > kFar
                          ? std::numeric_limits<std::uint64_t>::max()
                          : static_cast<std::uint64_t>(source.buffer / data_per_packet_)) {}

double Offer::data_by(double time) const {
  if (source_.kind == SourceKind::Rate) return source_.rate * time;
  SourcePoint before{source_.points.front().time, 0};  // what is there first is there at once
  if (time < before.time) return 0;
  for (const SourcePoint& point : source_.points) {
    if (time < point.time)
      return before.data +
             (point.data - before.data) * (time - before.time) / (point.time - before.time);
    before = point;
  }
  return before.data;
}

/// A packet is offered when what stands before it has been; of Points it must be whole in the end.
std::optional<Picoseconds> Offer::time_of(std::uint64_t packet) const {
  const double data = static_cast<double>(packet) * data_per_packet_;
  std::optional<double> time;
  if (source_.kind == SourceKind::Rate) {
    if (source_.rate > 0) time = data / source_.rate;
  } else if (data + data_per_packet_ <= source_.points.back().data * (1 + 1e-12)) {
    SourcePoint before{source_.points.front().time, 0};
    for (const SourcePoint& point : source_.points) {
      if (!time && data < point.data)
        time = before.time +
               (point.time - before.time) * (data - before.data) / (point.data - before.data);
      before = point;
    }
  }
  if (!time) return std::nullopt;
  const Picoseconds at = to_ps((source_.start + *time) * ps_per_time_);
  return at < stop_ps_ ? std::optional(at) : std::nullopt;
}

std::uint64_t Offer::offered_by(Picoseconds now) const {
  const Picoseconds last = std::min(now, stop_ps_);
  if (last < start_ps_) return 0;
  const double data = data_by(static_cast<double>(last - start_ps_) / ps_per_time_);
  auto count = static_cast<std::uint64_t>(data / data_per_packet_);
  // The division may be off by one either way; the times decide.
  for (auto at = time_of(count); at && *at <= now; at = time_of(count)) ++count;
  while (count > 0 && time_of(count - 1).value_or(now + 1) > now) --count;
  return count;
}

std::optional<Picoseconds> Offer::next(Picoseconds now) {
  Picoseconds at = std::max(now, start_ps_);
  if (source_.kind != SourceKind::Greedy) {
    if (buffer_packets_ != std::numeric_limits<std::uint64_t>::max()) {
      const std::uint64_t held = waiting(now);
      if (held > buffer_packets_) lost_ += held - buffer_packets_;
    }
    const auto offered = time_of(taken_ + lost_);
    if (!offered) return std::nullopt;
    at = std::max(at, *offered);
  } else if (at >= stop_ps_) {
    return std::nullopt;
  }
  return std::max(at, not_before_);
}

void Offer::take(Picoseconds now, Picoseconds spacing) {
  ++taken_;
  not_before_ = now + std::max(spacing_ps_, spacing);
}

}  // namespace portcullis::pfc::packet
