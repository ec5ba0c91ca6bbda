// SPDX-License-Identifier: BSD-3-Clause
//
// What a client on another host goes through when its lease is revoked here: by each plan, and by
// plan seed over ack timeouts and retry counts. lease-verify --sweep is the other end and tells
// what it saw by its own clock; how far that is ahead of ours is bounded before and behind each
// revoke.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "light/facts.hpp"
#include "service/exchange/line_channel.hpp"
#include "service/served_port.hpp"

namespace portcullis::light {

struct PeerOptions {
  std::vector<std::string> plans = {};  // by name
  std::uint64_t revokes = 3;            // by each
  /// Ack timeout and retry count of each point of the floor.
  std::vector<std::pair<unsigned, unsigned>> points = {};
  std::uint64_t answer_ms = 10'000;   // for any line but sweep-seen
  std::uint64_t patience_ms = 4'000;  // of a client that ignores the outcome
  /// Asked in every wait; its error ends the step.
  std::function<Result<void>()> check_time = {};
  LogSink log = {};
};

/// `channel` leads to the other end. What is found goes to `to` as it is known; an error is of the
/// conversation or of the device, never of what the client met. A plan that this device has not is
/// said to `log` and left out.
[[nodiscard]] Result<void> ask_peer(service::ServedPort& port,
                                    service::exchange::LineChannel& channel,
                                    const PeerOptions& options, PeerFact& to);

}  // namespace portcullis::light
