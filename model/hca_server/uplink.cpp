// SPDX-License-Identifier: BSD-3-Clause
#include "model/hca_server/uplink.hpp"

#include <utility>

namespace portcullis::model {

Uplink::Uplink(std::shared_ptr<Wire> wire, std::shared_ptr<EventLoop> loop,
               std::unique_ptr<FrameChannel> channel)
    : wire_(std::move(wire)),
      channel_(std::move(channel)),
      scheduler_(std::move(loop)),
      port_(wire_->attach_uplink(*this, scheduler_, counters_)) {}

Uplink::~Uplink() { wire_->detach(port_); }

void Uplink::inject(std::span<const FrameFaultRule> rules, std::uint64_t seed) {
  wire_->seed_faults(port_, seed);
  for (const FrameFaultRule& rule : rules) wire_->inject(port_, rule);
}

void Uplink::take() {
  // A frame too short for a link header is none: other ports may look at its addresses.
  constexpr std::size_t kLeast = kEthernetBytes;
  while (wire_->has_room()) {
    const auto bytes = channel_->receive(wire_->next_buffer());
    if (!bytes) return;
    if (*bytes >= kLeast) wire_->send(port_, *bytes);
  }
}

bool Uplink::owns(std::span<const std::byte> /*frame*/) const noexcept { return false; }

void Uplink::receive(std::span<const std::byte> frame) {
  if (!channel_->send(frame)) ++counters_.frames_dropped;
}

}  // namespace portcullis::model
