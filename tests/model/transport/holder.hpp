// SPDX-License-Identifier: BSD-3-Clause
//
// A Pace under a test's hand: it holds the steps that the test names, and remembers every question.
#pragma once

#include <map>
#include <vector>

#include "model/transport/pace.hpp"

namespace portcullis::model::testing {

class Holder final : public Pace {
 public:
  std::uint64_t delay_ns(const PaceStep& step, Ticket ticket) override {
    asked.push_back(step);
    const auto held = holds.find(step.at);
    if (held == holds.end()) return 0;
    if (held->second != 0) return held->second;
    tickets.push_back(ticket);
    return kUntilReleased;
  }

  std::map<PacePoint, std::uint64_t> holds;  // ns; 0: until released
  std::vector<Ticket> tickets;               // in the order of asking
  std::vector<PaceStep> asked;
};

}  // namespace portcullis::model::testing
