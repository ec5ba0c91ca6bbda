// SPDX-License-Identifier: BSD-3-Clause
//
// What a responder QP says of the requests that were posted to it. A QP executes a prefix of them,
// so each piece of evidence is an interval of places in the posting order, and what two pieces say
// together is where their intervals meet. Evidence that leaves no place contradicts what was said
// before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "failover/classify/request.hpp"

namespace portcullis::failover {

inline constexpr std::uint32_t kPsnCount = 1U << 24;

/// What was read of one responder QP when it had failed.
struct QueuePairEvidence {
  std::uint32_t qp_num = 0;               // as the requests name it
  bool is_fenced = false;                 // in error, reset or gone: it executes nothing any more
  std::optional<std::uint64_t> receives;  // that requests of the dump consumed
  std::optional<std::uint32_t> expected_psn;  // of ibv_query_qp(), rq_psn
  std::optional<std::uint32_t> path_mtu;      // bytes
};

/// Evidence that cannot be so.
struct Misfit {
  enum class Of : std::uint8_t { QueuePair, Request };
  Of of = Of::QueuePair;
  std::size_t number = 0;  // among queue pairs, or of the dump
  std::string field;
  std::string accepted;
};

/// Of `applied` there is one for each request: whether its receiver's log has it.
/// Narrows the requests' evidence down to what all of it leaves. The first that cannot be so.
[[nodiscard]] std::optional<Misfit> weigh(std::vector<OutstandingRequest>& dump,
                                          const std::vector<QueuePairEvidence>& queue_pairs,
                                          const std::vector<std::optional<bool>>& applied);

}  // namespace portcullis::failover
