// SPDX-License-Identifier: BSD-3-Clause
//
// What first light found on a device, as numbers and short words: the one thing that its steps
// write, its conclusions read, and a bundle keeps. Times are of the device's clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis::light {

/// Of the text that a bundle keeps. A reader refuses a newer one.
inline constexpr std::uint32_t kFactsVersion = 5;
/// The oldest that is read; what it did not ask was not run.
inline constexpr std::uint32_t kOldestFacts = 1;
/// Of the text, which a reader holds as a tree of many times that.
inline constexpr std::size_t kMostFactsBytes = std::size_t{8} << 20;

struct StepFact {
  std::string name = {};
  std::string state = {};     // "done", "failed", "not run"
  std::string why = {};       // one line where it was not done
  std::uint64_t took_ms = 0;  // of the machine's clock
};

struct DeviceFact {
  std::string kind = {};  // "vfio", "kernel's", "model", "shm"
  bool is_emulated = false;
  std::string clock = {};  // "wall" or "virtual"
  std::string firmware = {};
  std::string board = {};  // PSID
  bool is_ethernet = true;
  bool is_virtual_function = false;
  bool link_up = false;
  std::uint64_t frame_bytes = 0;      // the longest that its port carries; 0: nobody said
  std::string relaxed_ordering = {};  // of its DMA, by PCI Express: "on", "off", "unknown"
  bool keys_may_be_relaxed = false;   // by the capabilities; no key of this driver asks for it
};

/// Round trips of one firmware command, of every step together; of one that is not timed
/// (light/command_times.hpp) how many.
struct CommandFact {
  std::string command = {};    // "2ERR_QP"
  std::uint64_t answered = 0;  // with status 0
  std::uint64_t refused = 0;   // with another
  std::uint64_t unanswered = 0;
  std::uint64_t least_ns = 0;  // of those answered
  std::uint64_t median_ns = 0;
  std::uint64_t p99_ns = 0;  // 0: fewer than a hundred
  std::uint64_t most_ns = 0;
};

struct LoopbackFact {
  bool is_run = false;
  bool short_write = false;  // one packet, to the port's own address
  bool long_write = false;   // of several packets
  std::string met = {};      // what the first of the two that failed met
  std::uint64_t writes = 0;  // round trips that the next two are of
  std::uint64_t median_ns = 0;
  std::uint64_t most_ns = 0;
};

/// A WRITE of the port to itself, on one way of several. The words that conclusions go by:
inline constexpr std::string_view kArrived = "IBV_WC_SUCCESS";
inline constexpr std::string_view kForcedWay = "forced, MTU 1024";
inline constexpr std::string_view kForcedWayWithoutLink = "forced, MTU 1024, link down";
struct ReachFact {
  std::string way = {};  // "forced, MTU 1024, link down"
  /// "IBV_WC_SUCCESS", another status, "silence", "refused: ..", "not sent: .."
  std::string met = {};
};

/// A memory key that names a QP.
struct KeyFact {
  bool is_run = false;
  bool takes_qpn = false;      // CREATE_MKEY answered 0
  std::string refusal = {};    // its words where it did not
  bool own_qp_served = false;  // a WRITE through that QP succeeded
  bool other_qp_served = false;
  bool other_qp_refused = false;  // one through another QP of the domain did not
};

/// A DROP entry of one shape in RDMA_RX, asked by a WRITE over loopback.
struct EntryFact {
  std::string shape = {};     // "dst-qp"
  bool is_offered = false;    // by the capabilities
  bool is_installed = false;  // table, group and entry were taken
  std::string refusal = {};   // words of what was not
  bool stops_new = false;
  bool stops_running = false;
  bool recovers = false;
};

struct ProbeFact {
  std::string probe = {};
  std::string observed = {};
  std::string verdict = {};
  bool as_seen = false;      // as the floor document has it
  std::string refusal = {};  // why it could not be asked; the rest says nothing then
};

/// Leases revoked by one plan, one at a time, each under a client's WRITEs.
struct PlanFact {
  std::string plan = {};
  std::uint64_t revokes = 0;
  std::uint64_t torn_down = 0;
  std::uint64_t as_promised = 0;  // with the best outcome that the plan has
  std::uint64_t median_ns = 0;    // from the revoke to its outcome
  std::uint64_t most_ns = 0;
  std::uint64_t failed_clients = 0;    // that met a failure before the deadline
  std::int64_t status = 0;             // of their first failure, by the most; ibv_wc_status
  std::uint64_t client_median_ns = 0;  // from the revoke to it
  /// Of that either way, where the client's clock was another; 0: the same told both.
  std::uint64_t client_uncertainty_ns = 0;
  std::uint64_t watched = 0;      // regions that the plan left in view behind the outcome
  std::uint64_t served_late = 0;  // of them those that changed then
  /// When the latest of those changes was seen: from the revoke, and from the outcome.
  std::uint64_t last_change_ns = 0;
  std::uint64_t late_ns = 0;
};

/// When a client that ignores the outcome fails, over ack timeouts and retry counts.
struct FloorFact {
  bool is_run = false;
  std::uint64_t points = 0;
  /// Clients that ended neither by a refusal nor by their budget; no points.
  std::uint64_t other_endings = 0;
  std::string mechanism = {};  // proof::FloorVerdict's
  /// The fit that the mechanism names; where it names none, the plainest that explains the points;
  /// and its own number (proof::FloorFit).
  std::string explanation = {};
  std::uint64_t value = 0;
  bool budget_fits = false;
  std::uint64_t fits = 0;  // explanations that do, of all that were tried
  std::string why = {};
  // Of all its clients, as PlanFact has them; each region is watched.
  std::uint64_t torn_down = 0;
  std::uint64_t served_late = 0;
  std::uint64_t last_change_ns = 0;
  std::uint64_t late_ns = 0;
};

/// What a client on another host saw (--peer). Times from one of the two clocks to the other are as
/// uncertain as clock_uncertainty_ns says at most.
struct PeerFact {
  bool is_run = false;
  std::uint64_t vendor = 0;  // of its NIC, as PCI has it; 0: it did not say
  std::uint64_t part = 0;
  std::string firmware = {};
  std::uint64_t leases = 0;            // granted to it
  std::uint64_t reached = 0;           // its first WRITE arrived
  std::uint64_t unreached_status = 0;  // of the first that did not; ibv_wc_status
  std::uint64_t round_trip_ns = 0;     // of a line there and back, the quickest
  std::uint64_t clock_uncertainty_ns = 0;
  /// Of leases that ended with their plan's best outcome and whose plan ends what is posted later:
  std::uint64_t ended = 0;
  std::uint64_t posted_late = 0;   // a WRITE posted behind the outcome succeeded
  std::uint64_t perhaps_late = 0;  // one may have been: the clocks do not tell
  std::vector<PlanFact> plans = {};
  FloorFact floor = {};
};

struct AuditFact {
  std::string plan = {};
  std::string verdict = {};  // "held", "broken", "no evidence"
  std::uint64_t fences = 0;
  std::uint64_t under_load = 0;
  std::uint64_t watched = 0;
  std::uint64_t late_writes = 0;  // fences after which a byte changed
  std::uint64_t late_reads = 0;
  std::uint64_t foreign = 0;
  std::uint64_t executed = 0;
  std::uint64_t counted = 0;    // requests that the Q counter took in afterwards
  std::uint64_t fell_back = 0;  // fences whose own key step did not end them
  /// From the last poll that found no answer to the end of the look: what is late by less is not
  /// seen.
  std::uint64_t look_median_ns = 0;
  std::uint64_t look_most_ns = 0;
};

struct EndFact {
  bool is_run = false;
  bool comes_up_again = false;
  std::string health = {};  // "good", or what is wrong
  /// The health buffer and what stands around it, "assert_var[0] 0x0".
  std::vector<std::string> registers = {};
};

/// The registers that firmware's authors ask for, read behind a step; never what is in them.
struct CrashDumpFact {
  std::string step = {};
  std::string state = {};         // "whole", "part", "none"
  std::string why = {};           // one line where there is none
  std::uint64_t space_bytes = 0;  // of the space that is scanned, as the device says
  std::uint64_t words = 0;        // of it that could be read
};

struct Facts {
  DeviceFact device;
  std::vector<StepFact> steps = {};
  std::vector<CommandFact> commands = {};
  LoopbackFact loopback;
  std::vector<ReachFact> reach = {};
  KeyFact key;
  std::vector<EntryFact> entries = {};
  std::vector<ProbeFact> probes = {};
  std::vector<PlanFact> plans = {};
  FloorFact floor;
  std::vector<AuditFact> audits = {};
  PeerFact peer;
  EndFact end;
  std::vector<CrashDumpFact> crash_dumps = {};

  [[nodiscard]] const StepFact* step(std::string_view name) const noexcept;
};

/// JSON with the members by their names above, and "version".
[[nodiscard]] std::string to_json(const Facts& facts);
/// Malformed in one line, with the member, where the text is something else, or its counts and
/// words cannot all be so. `file` is only a name.
[[nodiscard]] Result<Facts> facts_from_json(std::string_view text, std::string_view file);

}  // namespace portcullis::light
