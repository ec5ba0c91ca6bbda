// SPDX-License-Identifier: BSD-3-Clause
#include "model/hca_server/uplink.hpp"

#include <algorithm>
#include <utility>

#include "model/ethernet/port_counters.hpp"

namespace portcullis::model {
namespace {

constexpr std::size_t kSourceAt = 6;

}  // namespace

Uplink::Channels Uplink::only(std::unique_ptr<FrameChannel> channel) {
  Channels channels;
  if (channel) channels.push_back(std::move(channel));
  return channels;
}

Uplink::Uplink(std::shared_ptr<Wire> wire, std::shared_ptr<EventLoop> loop,
               std::unique_ptr<FrameChannel> channel)
    : Uplink(std::move(wire), std::move(loop), only(std::move(channel))) {}

Uplink::Uplink(std::shared_ptr<Wire> wire, std::shared_ptr<EventLoop> loop, Channels channels)
    : wire_(std::move(wire)),
      channels_(std::move(channels)),
      scheduler_(std::move(loop)),
      port_(wire_->attach_uplink(*this, scheduler_, counters_)) {}

Uplink::~Uplink() { wire_->detach(port_); }

void Uplink::inject(std::span<const FrameFaultRule> rules, std::uint64_t seed) {
  wire_->seed_faults(port_, seed);
  for (const FrameFaultRule& rule : rules) wire_->inject(port_, rule);
}

std::vector<pollfd> Uplink::waits() const {
  std::vector<pollfd> entries;
  for (const auto& channel : channels_)
    entries.push_back({.fd = channel->fd(), .events = channel->events(), .revents = 0});
  return entries;
}

/// Each channel in its turn, so that none keeps the others waiting.
bool Uplink::take() {
  constexpr std::uint32_t kMostRounds = Wire::kFrames;
  bool came = true;
  for (std::uint32_t round = 0; came && round < kMostRounds; ++round) {
    came = false;
    for (std::size_t i = 0; i < channels_.size(); ++i) came = take_one(i) || came;
  }
  tell_whether_full();
  return came;
}

void Uplink::tell_whether_full() {
  wire_->set_full(
      std::ranges::any_of(channels_, [](const auto& channel) { return channel->is_full(); }));
}

/// False: nothing came, or there is no room for it.
bool Uplink::take_one(std::size_t from) {
  // A frame too short for a link header is none: other ports may look at its addresses.
  constexpr std::size_t kLeast = kEthernetBytes;
  if (!wire_->can_answer()) return false;
  const std::span<std::byte> buffer = wire_->next_buffer();
  const auto bytes = channels_[from]->receive(buffer);
  if (!bytes) return false;
  if (*bytes < kLeast) return true;
  // Programs leave it to a port to make a frame as long as one must be.
  const std::size_t length = wire_->port_type() == PortType::Ethernet
                                 ? std::max(*bytes, PortCounters::kLeastBytes)
                                 : *bytes;
  std::ranges::fill(buffer.subspan(*bytes, length - *bytes), std::byte{0});
  const auto frame = buffer.first(length);
  const auto to = is_bridge() ? way_of(from, frame) : std::optional(channels_.size());
  send(from, to, frame);
  // Last, for the buffer is the wire's from here on.
  if (!to || *to == channels_.size()) wire_->send(port_, length);
  return true;
}

/// Where the frame's address was heard, and now its sender's is; nothing: everywhere else.
std::optional<std::size_t> Uplink::way_of(std::size_t from, std::span<const std::byte> frame) {
  const std::uint64_t now = scheduler_.now_ns();
  addresses_.learn(mac_at(frame, kSourceAt), from, now);
  return addresses_.find(mac_at(frame, 0), now);
}

/// To a channel, or to all but the one that it came by.
void Uplink::send(std::size_t from, std::optional<std::size_t> to,
                  std::span<const std::byte> frame) {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (i == from || (to && *to != i)) continue;
    if (!channels_[i]->send(frame)) ++counters_.frames_dropped;
  }
}

bool Uplink::owns(std::span<const std::byte> /*frame*/) const noexcept { return false; }

void Uplink::receive(std::span<const std::byte> frame) {
  const std::size_t here = channels_.size();
  const bool is_frame = frame.size() >= kEthernetBytes;
  send(here, is_bridge() && is_frame ? way_of(here, frame) : std::nullopt, frame);
  tell_whether_full();
}

}  // namespace portcullis::model
