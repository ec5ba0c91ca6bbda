// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of the frames that one port sends: its fault rules, and the seeded numbers that
// decide for rules with a probability. The decision about the n-th frame of a port depends on its
// seed, its rules and the frames before it, on no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/model.hpp"
#include "model/random.hpp"

namespace portcullis::model {

struct Behaviours;

/// The rules that loss, duplicate, reorder, corrupt and delay-ns stand for.
[[nodiscard]] std::vector<FrameFaultRule> frame_faults(const Behaviours& behaviours);

/// What happens to one frame.
struct FrameFate {
  bool drop = false;
  bool duplicate = false;
  bool corrupt_icrc = false;
  std::uint32_t overtaken_by = 0;       // so many later frames of the port go first
  std::uint64_t delay_ns = 0;           // later than the wire says
  std::optional<std::size_t> flip_bit;  // of the frame
};

class FrameFaults {
 public:
  /// Kind::Reorder: most frames that overtake one.
  static constexpr std::uint32_t kMostOvertaking = 8;

  void seed(std::uint64_t seed) noexcept { random_ = Random(seed); }
  void add(const FrameFaultRule& rule);
  [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }
  /// Every rule that matches has its say.
  [[nodiscard]] FrameFate judge(std::span<const std::byte> frame, PortType port_type);

 private:
  [[nodiscard]] bool meets(FrameFaultRule& rule, std::span<const std::byte> frame,
                           PortType port_type);
  void apply(const FrameFaultRule& rule, std::size_t frame_bytes, FrameFate& fate);

  std::vector<FrameFaultRule> rules_;
  Random random_{1};
};

}  // namespace portcullis::model
