// SPDX-License-Identifier: BSD-3-Clause
//
// A connected pair under traffic, and the fence in both orders.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "prm/cqe.hpp"
#include "tools/vfio_peer/event_queue.hpp"
#include "tools/vfio_peer/options.hpp"
#include "tools/vfio_peer/queue_pair.hpp"

namespace portcullis::tools::vfio_peer {

enum class FenceOrder : std::uint8_t { QpFirst, KeyFirst };

/// "2ERR_QP, then DESTROY_MKEY".
[[nodiscard]] std::string_view text_of(FenceOrder order) noexcept;
/// What the requester of an RC pair sees: silence until its retries are used up, or a NAK.
[[nodiscard]] prm::WcStatus expected_of(FenceOrder order) noexcept;

struct FenceReport {
  FenceOrder order = FenceOrder::QpFirst;
  std::uint32_t written = 0;  // WRITEs that completed with success, all told
  prm::WcStatus first_failure = prm::WcStatus::SUCCESS;
  std::uint64_t failure_ms = 0;      // from the first fence command to that completion
  std::uint32_t flushed = 0;         // completions after it that say WR_FLUSH_ERR
  std::uint32_t other_failures = 0;  // and those that say anything else
  std::uint64_t changed_bytes = 0;   // of the region, after DESTROY_MKEY was answered

  [[nodiscard]] bool as_expected() const noexcept;
  /// One line, without a newline.
  [[nodiscard]] std::string text() const;
};

/// Connects a pair, checks one WRITE and its completion event byte by byte, then fences it with
/// `options.writes` WRITEs outstanding. An error is a step that failed; what the requester met is
/// in the report.
[[nodiscard]] Result<FenceReport> run_fence(Device& device, const Port& port, EventQueue& events,
                                            const Options& options, FenceOrder order);

}  // namespace portcullis::tools::vfio_peer
