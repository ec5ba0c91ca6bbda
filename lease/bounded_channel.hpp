// SPDX-License-Identifier: BSD-3-Clause
//
// The command channel of whoever makes objects while others wait: its default deadline, which is
// that of every command whose caller names none, comes no later than it is told. What could not be
// answered by then is not sent, so that nobody has to ask what became of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/clock.hpp"
#include "pmd/passing_channel.hpp"

namespace portcullis::lease {

class BoundedChannel final : public pmd::PassingChannel {
 public:
  /// `inner` must outlive it.
  BoundedChannel(pmd::CommandChannel& inner, const Clock& clock) noexcept
      : PassingChannel(inner), clock_(clock) {}

  /// Until lift(): every command is answered by `until_ns`, and has `least_ns` at least.
  void bound(std::uint64_t until_ns, std::uint64_t least_ns) noexcept {
    until_ns_ = until_ns;
    least_ns_ = least_ns;
  }
  void lift() noexcept { bound(kUnbound, 0); }

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override {
    if (clock_.now_ns() > until_ns_ - least_ns_)
      return fail(Errc::Busy, "not sent, there was no time left for its answer");
    return PassingChannel::submit(in, out_bytes, slot_class);
  }
  [[nodiscard]] std::uint64_t default_deadline_ns() const override {
    return std::min(until_ns_, PassingChannel::default_deadline_ns());
  }

 private:
  static constexpr std::uint64_t kUnbound = std::numeric_limits<std::uint64_t>::max();

  Clock clock_;
  std::uint64_t until_ns_ = kUnbound;
  std::uint64_t least_ns_ = 0;
};

}  // namespace portcullis::lease
