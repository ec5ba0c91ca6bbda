// SPDX-License-Identifier: BSD-3-Clause
//
// What a step was, for traces and charts: which actor did what, with which value.
#pragma once

#include <string>

#include "failover/semantics/machine.hpp"

namespace portcullis::failover {

enum class Action : std::uint8_t {
  Post,
  Complete,
  TimeOut,
  Flush,
  Probe,
  QueryPsn,
  Assert,
  Test,
  Decide,
  OrderFence,
  SeeFence,
  Report,
  Take,  // client
  Resend,
  Land,  // its NIC
  Execute,
  ExecuteChanged,
  AcknowledgeAgain,
  FenceTakesEffect,  // responder
  LosePacket,
  LoseAck,
  Duplicate,  // network
  Die,        // responder
  Receive,
  Write,  // receiver CPU, environment
};

struct Label {
  Action action = Action::Post;
  std::uint8_t client = 0;
  std::uint8_t number = 0;  // work request, queue, operation, decision or step, as the action says
  std::uint8_t packet = 0;  // Report: the Claim
  WordIndex value = 0;      // read, returned, or what memory became
  bool yes = false;         // how a question was answered
  friend bool operator==(const Label&, const Label&) = default;
};

/// A report of Claim::Unknown: an error to the application.
[[nodiscard]] constexpr bool is_giving_up(const Label& label) noexcept {
  return label.action == Action::Report &&
         label.packet == static_cast<std::uint8_t>(Claim::Unknown);
}

/// "client 0: post FADD.retry", one line, no full stop.
[[nodiscard]] std::string describe(const Machine& machine, const Label& label);
/// 3, -1 for 2^64-1, c1#2 for a tag.
[[nodiscard]] std::string word_text(const Machine& machine, WordIndex index);

}  // namespace portcullis::failover
