// SPDX-License-Identifier: BSD-3-Clause
//
// Packet pacing: the function's table of rates, which send queues name by index, and where one such
// queue stands. That a frame counts with its frame check sequence and without preamble and gap is a
// hypothesis. typical_packet_size is read back by nobody and changes nothing: it lets a card guess
// what is known here, how long each frame is (man ibv_modify_qp_rate_limit).
#pragma once

#include <array>
#include <cstdint>

#include "model/verdict.hpp"
#include "prm/pacing_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

struct RateLimit {
  std::uint32_t kbps = 0;         // 0: as fast as the port
  std::uint32_t burst_bytes = 0;  // back to back; less than a frame: one frame
};

class RateLimits {
 public:
  /// As Linux reads them on cards, a ConnectX-5 of firmware 16.35.2000 among them: "Rate limit: 127
  /// rates are supported, range: 0Mbps to 97656Mbps" (mlx5_init_rl_table of mlx5/core/rl.c, which
  /// leaves out entry 0 and counts 1024 kbit in each of these; linux-rdma, Chuck Lever's report of
  /// a page fault in bring-up).
  static constexpr std::uint32_t kEntries = 128;
  static constexpr std::uint32_t kLeastKbps = 1;
  static constexpr std::uint32_t kMostKbps = 100'000'000;

  /// Entry 0 stands for no limit and is nobody's to set. A rate of 0 frees an entry, also one that
  /// queues name: mlx5e_set_sq_maxrate frees the old one before it tells its queue.
  Verdict set(prm::ConstView<prm::set_pp_rate_limit_in> in, std::uint32_t entries);
  /// Whether a queue may name it. `entries` is what the function offers.
  [[nodiscard]] static Verdict check(std::uint32_t index, std::uint32_t entries);
  [[nodiscard]] const RateLimit& at(std::uint32_t index) const noexcept { return limits_[index]; }
  void clear() noexcept { limits_ = {}; }

 private:
  std::array<RateLimit, kEntries> limits_;
};

/// When the next frame of one queue may leave. What a limit allows is a rate with so many bytes at
/// once: a leaky bucket that holds the limit's burst.
class QueuePace {
 public:
  /// The instant for which a frame of so many bytes has to wait; 0: it may leave now.
  [[nodiscard]] std::uint64_t wait_until_ns(const RateLimit& limit, std::uint64_t frame_bytes,
                                            std::uint64_t now_ns);
  /// It leaves now.
  void spend(const RateLimit& limit, std::uint64_t frame_bytes, std::uint64_t now_ns);
  /// Of another limit from now on.
  void restart() noexcept { *this = {}; }

 private:
  std::uint64_t empty_ns_ = 0;  // when what left by now is as much as the rate allows
  std::uint64_t rest_ = 0;      // what the division left over, so that no rate drifts
  bool has_waited_ = false;     // the next frame has, or one before it was woken so late
};

}  // namespace portcullis::model
