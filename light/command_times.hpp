// SPDX-License-Identifier: BSD-3-Clause
//
// How long each firmware command took, of all that a driver sent and waited for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.hpp"
#include "light/facts.hpp"
#include "trace/command_text.hpp"

namespace portcullis::light {

/// Nobody waits for the answer of MANAGE_PAGES: it is read when the driver looks next, seconds
/// later perhaps, and that is no time of the device's.
[[nodiscard]] bool is_timed(std::string_view command) noexcept;

class CommandTimes {
 public:
  void add(const trace::TraceCommand& command);
  /// By name.
  [[nodiscard]] std::vector<CommandFact> facts() const;

 private:
  struct OfOne {
    std::uint64_t answered = 0;
    Histogram times;
    std::uint64_t refused = 0;
    std::uint64_t unanswered = 0;
  };
  std::map<std::string, OfOne> all_;
};

}  // namespace portcullis::light
