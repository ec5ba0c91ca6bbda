// SPDX-License-Identifier: BSD-3-Clause
//
// When a command takes effect and when it is answered: as a timing says, or drawn from what a
// device did (trace/device_profile.hpp). A profile's times are round trips, so what a command
// waited for, firmware pages or DMA, is in them already: it is not waited for twice.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "model/profile.hpp"
#include "model/random.hpp"
#include "prm/opcodes.hpp"
#include "trace/device_profile.hpp"

namespace portcullis::model {

/// Both from the doorbell.
struct CommandSpan {
  std::uint64_t least_ns = 0;   // no command of this kind was answered sooner
  std::uint64_t answer_ns = 0;  // when this one is
};

class CommandTimes {
 public:
  /// `profile` may be null: then `timing` says all.
  CommandTimes(const Timing& timing, std::shared_ptr<const trace::DeviceProfile> profile,
               std::uint64_t seed);

  [[nodiscard]] CommandSpan draw(prm::Opcode opcode);
  /// What a command takes that the profile's device was never sent: the median of the medians,
  /// assumed.
  [[nodiscard]] static std::uint64_t assumed_ns(const trace::DeviceProfile& profile);

 private:
  struct Known {
    const trace::CommandTimes* times = nullptr;
    std::vector<std::uint64_t> up_to;  // samples in this bin and those before
  };

  Timing timing_;
  std::shared_ptr<const trace::DeviceProfile> profile_;
  std::unordered_map<std::uint16_t, Known> known_;
  std::uint64_t assumed_ns_ = 0;
  Random random_;
};

}  // namespace portcullis::model
