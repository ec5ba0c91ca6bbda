// SPDX-License-Identifier: BSD-3-Clause
//
// How long each firmware command took, of all that a driver sent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/histogram.hpp"
#include "light/facts.hpp"
#include "trace/command_text.hpp"

namespace portcullis::light {

class CommandTimes {
 public:
  void add(const trace::TraceCommand& command);
  /// By name.
  [[nodiscard]] std::vector<CommandFact> facts() const;

 private:
  struct OfOne {
    Histogram answered;
    std::uint64_t refused = 0;
    std::uint64_t unanswered = 0;
  };
  std::map<std::string, OfOne> all_;
};

}  // namespace portcullis::light
