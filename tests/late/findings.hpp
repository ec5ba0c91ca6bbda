// SPDX-License-Identifier: BSD-3-Clause
//
// Findings that were never run, as they must be to show something: a WRITE that comes 5 ms behind
// its fence, a bound of 20 ms, and one rest on each side of both.
#pragma once

#include <algorithm>

#include "late/conclusion.hpp"

namespace portcullis::late {

inline Seen made_up_seen(double next_us, Met met) {
  Seen seen;
  seen.first_us = 5;
  seen.late.fate = Passage::Fate::Arrived;
  seen.late.paused_ns = 2'000'000;
  seen.sent_us = -50;
  seen.arrived_us = 5'000;
  seen.next_us = next_us;
  seen.compared_us = std::max(seen.arrived_us, next_us);
  seen.has_next = seen.same_number = seen.same_key = true;
  seen.met = met;
  seen.own = OwnWrite::Written;
  seen.client_status = prm::WcStatus::RETRY_EXC_ERR;
  seen.client_us = 300;
  seen.is_other_undisturbed = true;
  return seen;
}

inline Findings made_up() {
  Findings findings;
  findings.bound_us = 19'500;
  findings.bound_ms = 20;
  const Trial bare{.grace_ms = 0, .has_fresh_key_byte = false, .has_fresh_psn = false};
  const auto row = [&](const char* kept, std::uint64_t rest_ms, double next_us, Met met) {
    Row made{kept, bare, made_up_seen(next_us, met)};
    made.trial.grace_ms = rest_ms;
    return made;
  };
  findings.defences = {row("every rule", 20, 5e6, Met::Error),
                       row("the rest alone", 20, 20'000, Met::Reset),
                       row("the key byte alone", 1, 1'100, Met::DeadKey),
                       row("the first PSN alone", 1, 1'100, Met::WrongPsn)};
  findings.defences[0].trial = {.residence_ms = 20};
  findings.defences[2].trial.has_fresh_key_byte = true;
  findings.defences[3].trial.has_fresh_psn = true;
  findings.rests = {row("none", 1, 1'100, Met::LiveKey), row("none", 20, 20'000, Met::Reset)};
  findings.rests[0].seen.changed_next = 64;
  findings.rests[0].seen.own = OwnWrite::Unwritten;
  findings.rests[0].seen.violation = {.kind = proof::adversary::Violation::Kind::ForeignWrite,
                                      .owner = 1};
  return findings;
}

}  // namespace portcullis::late
