// SPDX-License-Identifier: BSD-3-Clause
//
// The list of command faults that a test asked for, and which command meets which.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/model.hpp"

namespace portcullis::model {

class CommandFaults {
 public:
  void add(const CommandFaultRule& rule) { rules_.push_back(rule); }

  /// What the command that just arrived meets. Every rule that names it counts it; the first that
  /// is due wins, and others that were due stay for the next.
  [[nodiscard]] std::optional<CommandFaultRule> meet(std::uint16_t opcode) {
    std::optional<std::size_t> due;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      CommandFaultRule& rule = rules_[i];
      if (rule.opcode != 0 && rule.opcode != opcode) continue;
      if (rule.nth > 1)
        --rule.nth;
      else if (!due)
        due = i;
    }
    if (!due) return std::nullopt;
    const CommandFaultRule rule = rules_[*due];
    if (!rule.repeat) rules_.erase(rules_.begin() + static_cast<std::ptrdiff_t>(*due));
    return rule;
  }

 private:
  std::vector<CommandFaultRule> rules_;
};

}  // namespace portcullis::model
