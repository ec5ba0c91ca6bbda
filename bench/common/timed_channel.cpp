// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/timed_channel.hpp"

#include <utility>

#include "prm/command_fields.hpp"

namespace portcullis::bench {

Result<pmd::Ticket> TimedChannel::submit(std::span<const std::byte> in, std::size_t out_bytes,
                                         pmd::SlotClass slot_class) {
  if (prm::opcode_of(in) == opcode_) started_ns_ = device_->clock.now_ns();
  return PassingChannel::submit(in, out_bytes, slot_class);
}

Result<void> TimedChannel::await(pmd::Ticket ticket, std::span<std::byte> out,
                                 std::uint64_t deadline_ns) {
  auto answered = PassingChannel::await(ticket, out, deadline_ns);
  if (const auto started = std::exchange(started_ns_, std::nullopt))
    took_ns_ = device_->clock.now_ns() - *started;
  return answered;
}

std::optional<std::uint64_t> TimedChannel::take() noexcept {
  return std::exchange(took_ns_, std::nullopt);
}

}  // namespace portcullis::bench
