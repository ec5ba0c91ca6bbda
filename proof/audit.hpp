// SPDX-License-Identifier: BSD-3-Clause
//
// The audit of one plan: leases whose clients keep the line full of WRITEs and READs are revoked,
// and four witnesses watch. The CPU looks, packet by packet, at what is in memory when the device
// answers that the key is gone (proof/stream_look.hpp): what comes later was late. The pages that
// are read change at that instant, and whoever brings the new words home was served late. The
// client counts requests that it posted after the answer and that succeeded; the function's Q
// counter counts requests that the leases' QPs took. All that is worth nothing where no packet of
// the key was on its way, so it is counted how many fences met one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "attach/open_device.hpp"
#include "base/histogram.hpp"
#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "pmd/q_counter.hpp"
#include "proof/session.hpp"

namespace portcullis::proof {

/// A plan that leaves its leases FENCED holds their objects until the function is reset, so a
/// session ends after so many fences.
inline constexpr std::uint64_t kFencesPerSession = 2'000;

/// Below this share of fences under load an audit that found nothing has shown nothing.
inline constexpr double kLeastShareUnderLoad = 0.5;

/// One fence under a stream, in bytes but for what says otherwise.
struct FenceRecord {
  std::uint64_t number = 0;                // from 1 on, of its plan
  bool is_watched = false;                 // its memory was still there to be looked at
  std::uint64_t in_flight_at_command = 0;  // WRITEs posted and not in memory
  std::uint64_t landed_by_answer = 0;      // of those
  std::uint64_t in_flight_at_answer = 0;
  std::uint64_t reads_at_command = 0;  // READs posted and not completed
  std::uint64_t reads_at_answer = 0;
  std::uint64_t reads_served = 0;  // with what was put there at the command
  std::uint64_t look_ns = 0;       // from the last poll that found no answer to the end of the look
  std::uint64_t late_writes = 0;
  std::uint64_t late_reads = 0;
  bool has_executed_later = false;  // a request that was posted behind the answer
  std::uint64_t foreign_words = 0;
  /// Packets of its key were on their way, the device took some in after the command, and what is
  /// late among such would have been seen: WRITEs in memory that is watched, or READs.
  [[nodiscard]] bool is_under_load() const noexcept {
    return (is_watched && landed_by_answer + late_writes != 0) || reads_served + late_reads != 0;
  }
};

struct AuditOptions {
  std::uint64_t fences = 10'000;  // for each plan
  std::uint32_t leases = 4;       // under traffic at a time
  std::uint64_t watch_ms = 5;     // after the last outcome of a round
  std::uint32_t timeout = 10;     // of the clients
  std::uint32_t retry = 3;
  std::uint64_t warm_up_deadline_s = 60;  // TenancyOptions
  SessionOptions session = {};
  /// Ends it, with what the fences before came to: no round is cut between its revokes and what is
  /// seen of them. May be empty; the session's own check_not_stopped is not asked.
  std::function<bool()> stop = {};
  /// Hears of each fence of clients of our own, when it has been watched. May be empty.
  std::function<void(const std::string& plan, const FenceRecord& record)> on_fence = {};
};

enum class AuditVerdict : std::uint8_t { Held, Broken, NoEvidence };

/// What the fences of one plan came to.
struct PlanAudit {
  std::string plan = "";
  bool is_served = false;  // the clients are lease-verify's, and what they saw is not known here
  std::optional<unsigned> load_lcore = std::nullopt;  // of clients of our own; none: no own core
  std::uint64_t fences = 0;
  std::map<std::string, std::uint64_t> outcomes = {};  // with its proof: how often
  /// FenceRecord::is_under_load(); of clients that are not ours, with many requests seen before.
  std::uint64_t under_load = 0;
  std::uint64_t watched = 0;  // whose region was still there to be watched
  /// Of those, from the answer for the key on; the others from the outcome on.
  std::uint64_t from_answer = 0;
  std::uint64_t changed = 0;  // fences after which a byte of the region changed
  /// Of clients that are not ours: a WRITE landed between the last look and that answer, or behind
  /// it and before the copy: whether it was late nobody can say.
  std::uint64_t unsettled = 0;
  std::uint64_t read_late = 0;  // fences after which a READ brought what was put there later
  std::uint64_t foreign = 0;    // fences after which the region held words of nobody
  /// Fences after which a request executed that was posted later; where the clients are not ours,
  /// WRITEs that moved the sequence word after it.
  std::uint64_t executed = 0;
  std::uint64_t counted = 0;  // requests that the Q counter took in after a round's outcomes
  bool has_counter = false;
  std::map<int, std::uint64_t> statuses = {};  // of the clients' first failure: how often
  std::uint64_t last_success_ns = 0;  // the latest after an outcome, of what was posted before
  /// Of the records' members of these names; bytes but for the last.
  struct Load {
    Histogram in_flight_at_command, landed_by_answer, in_flight_at_answer;
    Histogram reads_at_command, reads_served, reads_at_answer;
    Histogram look_ns;
  };
  Load load = {};

  [[nodiscard]] bool holds() const noexcept {
    return changed + read_late + foreign + executed + counted == 0;
  }
  [[nodiscard]] double share_under_load() const noexcept {
    return fences == 0 ? 0 : static_cast<double>(under_load) / static_cast<double>(fences);
  }
  [[nodiscard]] AuditVerdict verdict() const noexcept;
  /// One more fence, and how it ended.
  void note(const lease::Verdict& verdict);
  void note(const FenceRecord& record);
};
/// Of a set, the WRITEs, READs and atomics that its QPs took in; wraps at 32 bits.
[[nodiscard]] Result<std::uint32_t> requests_counted(const pmd::QCounter& counter);

/// With fewer fences than were asked for where `stop` has ended it.
[[nodiscard]] Result<PlanAudit> audit(const attach::DeviceSpec& device, const lease::Plan& plan,
                                      const AuditOptions& options);

}  // namespace portcullis::proof
