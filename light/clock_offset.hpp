// SPDX-License-Identifier: BSD-3-Clause
//
// How far the clock of another host is ahead of ours, as bounds and not as a guess. A question that
// we sent at s was received after that and its answer sent before we received it at r, whatever the
// ways there and back took: so the offset is at most received - s and at least sent - r. (NTP, RFC
// 5905 section 8, takes the middle of the two; Cristian, "Probabilistic clock synchronization",
// 1989, the distance to the ends for its error.) The quickest of many rounds bounds it best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace portcullis::light {

/// Theirs less ours, in ns.
struct ClockOffset {
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::min() / 4;
  std::int64_t most_ns = std::numeric_limits<std::int64_t>::max() / 4;

  [[nodiscard]] std::int64_t middle_ns() const noexcept {
    return least_ns + (most_ns - least_ns) / 2;
  }
  /// Either way of the middle.
  [[nodiscard]] std::uint64_t uncertainty_ns() const noexcept {
    return (static_cast<std::uint64_t>(most_ns - least_ns) + 1) / 2;
  }
  /// False: no offset does, so one of the clocks was set or went otherwise meanwhile.
  [[nodiscard]] bool is_possible() const noexcept { return least_ns <= most_ns; }

  /// One round of question and answer more, about the same moment.
  void add(std::uint64_t our_send_ns, std::uint64_t their_receive_ns, std::uint64_t their_send_ns,
           std::uint64_t our_receive_ns) noexcept {
    most_ns = std::min(most_ns, difference(their_receive_ns, our_send_ns));
    least_ns = std::max(least_ns, difference(their_send_ns, our_receive_ns));
  }
  /// Of any moment between those that the two are of, for clocks that drift evenly.
  [[nodiscard]] static ClockOffset between(const ClockOffset& before,
                                           const ClockOffset& behind) noexcept {
    return {std::min(before.least_ns, behind.least_ns), std::max(before.most_ns, behind.most_ns)};
  }

 private:
  static std::int64_t difference(std::uint64_t a, std::uint64_t b) noexcept {
    return static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b);
  }
};

}  // namespace portcullis::light
