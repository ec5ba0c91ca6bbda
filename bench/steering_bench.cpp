// SPDX-License-Identifier: BSD-3-Clause
//
// What flow steering costs and what it is worth: the commands on an entry, set against modify; the
// recall of a lease with its entry and without; and what a running or a new connection makes of
// each entry that the floor document, section 3.1, tried, one packet a WRITE or several. A WRITE
// that an entry stopped has no completion within the quiet time, so its series counts it and has no
// value for it; the end says of every entry what it did.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bench/common/suite.hpp"
#include "proof/drop_row.hpp"
#include "proof/tenancy.hpp"
#include "steering/drop_group.hpp"
#include "steering/loopback_pair.hpp"

namespace portcullis::bench {
namespace {

using steering::DropGroup;
using steering::LoopbackPair;
using steering::Shape;

constexpr std::uint64_t kQuietNs = 200 * kNsPerMs;  // a busy machine is no entry
constexpr std::uint64_t kPatienceNs = 60 * kNsPerSecond;
constexpr std::uint32_t kEntries = 64;
constexpr std::uint32_t kSeveralPackets = 8192;

std::uint64_t deadline_ns(proof::Session& session) {
  return session.context().commands->default_deadline_ns();
}

// ---- the commands on an entry ----

enum class EntryCommand : std::uint8_t { Set, Modify, Delete };

const char* text(EntryCommand command) {
  switch (command) {
    case EntryCommand::Set:
      return "set";
    case EntryCommand::Modify:
      return "modify";
    default:
      return "delete";
  }
}

/// One entry from nothing to nothing; the time of `timed`.
Result<std::optional<std::uint64_t>> entry_cycle(proof::Session& session, DropGroup& group,
                                                 EntryCommand timed) {
  constexpr steering::DropTarget kTarget{.slot = 0, .qpn = prm::QpNumber{0xaaaaaa}};
  std::uint64_t took = 0;
  std::uint64_t start = session.now_ns();
  const auto lap = [&](EntryCommand command) {
    const std::uint64_t now = session.now_ns();
    if (command == timed) took = now - start;
    start = now;
  };
  PORTCULLIS_TRY(group.set(kTarget, prm::FlowAction::ALLOW, deadline_ns(session)));
  lap(EntryCommand::Set);
  PORTCULLIS_TRY(group.modify(kTarget, prm::FlowAction::DROP, deadline_ns(session)));
  lap(EntryCommand::Modify);
  PORTCULLIS_TRY(group.remove(kTarget.slot, deadline_ns(session)));
  lap(EntryCommand::Delete);
  return std::optional<std::uint64_t>(took);
}

SeriesPlan entry_series(const Options& options, EntryCommand command) {
  SeriesPlan series;
  series.name = fmt::format("command/{}", text(command));
  series.picture = "commands on an entry";
  series.wall_samples = options.samples;
  series.prepare = [command](proof::Session& session) -> Result<Sampler> {
    PORTCULLIS_TRY_ASSIGN(auto made, DropGroup::create(session.context(), {.shape = Shape::DstQp,
                                                                           .entries = kEntries}));
    auto group = std::make_shared<DropGroup>(std::move(made));
    return Sampler([&session, group, command] { return entry_cycle(session, *group, command); });
  };
  return series;
}

// ---- the recall ----

Result<std::optional<std::uint64_t>> one_recall(proof::Session& session, proof::Tenancy& tenancy) {
  PORTCULLIS_TRY(tenancy.grant_all());
  const std::uint64_t start = session.now_ns();
  PORTCULLIS_TRY(tenancy.revoke_all(lease::seed_plan()));
  const std::uint64_t took = session.now_ns() - start;
  PORTCULLIS_TRY(tenancy.finish());
  return std::optional<std::uint64_t>(took);
}

SeriesPlan recall_series(const Options& options, bool with_entry) {
  SeriesPlan series;
  series.name = fmt::format("recall/plan:seed/entry:{}", with_entry ? "synchronous" : "none");
  series.picture = "recall";
  series.wall_samples = options.samples;
  series.prepare = [with_entry](proof::Session& session) -> Result<Sampler> {
    proof::TenancyOptions options;
    if (with_entry) options.entries = {steering::Choice::Kind::One, Shape::DstQp};
    PORTCULLIS_TRY_ASSIGN(auto made, proof::Tenancy::create(session, options));
    if (with_entry && !made->has_entries())
      return fail(Errc::Unsupported, "no entry that matches the destination QP can be had");
    const std::shared_ptr<proof::Tenancy> tenancy = std::move(made);
    return Sampler([&session, tenancy] { return one_recall(session, *tenancy); });
  };
  return series;
}

// ---- the rows of the floor document, section 3.1 ----

struct RowCount {
  std::uint64_t stopped = 0;
  std::uint64_t runs = 0;

  [[nodiscard]] const char* verdict() const noexcept {
    if (stopped == 0) return "traffic unchanged";
    return stopped == runs ? "stopped" : "sometimes stopped";
  }
};
/// By the name of a row, over every clock and repetition; for the last word.
using RowCounts = std::map<std::string, RowCount>;

Result<void> post(LoopbackPair& pair, const proof::DropRow& row, std::uint64_t value) {
  return row.has_long_writes ? pair.post_bytes(kSeveralPackets) : pair.post(value);
}

/// How long a WRITE behind the entry takes; none when the entry stopped it.
Result<std::optional<std::uint64_t>> one_row(proof::Session& session, DropGroup& group,
                                             const proof::DropRow& row, bool mid_stream,
                                             RowCount& count) {
  PORTCULLIS_TRY_ASSIGN(const auto pair, LoopbackPair::create(session.context(), session.path()));
  if (mid_stream) {
    PORTCULLIS_TRY(post(*pair, row, 1));
    PORTCULLIS_TRY_ASSIGN(const auto warm, pair->outcome(kPatienceNs));
    if (warm != prm::WcStatus::SUCCESS)
      return fail(Errc::DeviceFailed, "before any entry a WRITE over loopback did not succeed");
  }
  steering::DropTarget target = pair->target(0);
  if (row.qpn) target.qpn = *row.qpn;
  PORTCULLIS_TRY(group.set(target, prm::FlowAction::DROP, deadline_ns(session)));
  const std::uint64_t start = session.now_ns();
  PORTCULLIS_TRY(post(*pair, row, 2));
  PORTCULLIS_TRY_ASSIGN(const auto outcome, pair->outcome(kQuietNs));
  const std::uint64_t took = session.now_ns() - start;
  PORTCULLIS_TRY(group.remove(target.slot, deadline_ns(session)));
  ++count.runs;
  if (outcome == prm::WcStatus::SUCCESS) return std::optional<std::uint64_t>(took);
  ++count.stopped;
  return std::optional<std::uint64_t>();
}

SeriesPlan row_series(const Options& options, const proof::DropTrial& trial,
                      const std::shared_ptr<RowCounts>& all) {
  SeriesPlan series;
  const bool mid_stream = trial.install == proof::Install::Mid;
  series.name = fmt::format("entry/{}", name(trial));
  series.picture = mid_stream ? "entry put in under traffic" : "entry put in before traffic";
  series.wall_samples = std::min<std::uint64_t>(options.samples, 20);
  const auto count = std::make_shared<RowCount>();
  series.prepare = [row = trial.row, mid_stream,
                    count](proof::Session& session) -> Result<Sampler> {
    *count = {};
    PORTCULLIS_TRY_ASSIGN(auto made,
                          DropGroup::create(session.context(), {.shape = row.shape, .entries = 1}));
    auto group = std::make_shared<DropGroup>(std::move(made));
    return Sampler([&session, row, group, mid_stream, count] {
      return one_row(session, *group, row, mid_stream, *count);
    });
  };
  series.annotate = [count, all, name = name(trial)](benchmark::State& state) {
    state.counters["stopped"] = static_cast<double>(count->stopped);
    state.SetLabel(count->verdict());
    (*all)[name].stopped += count->stopped;
    (*all)[name].runs += count->runs;
  };
  return series;
}

std::vector<SeriesPlan> series(const Options& options, const std::shared_ptr<RowCounts>& counts) {
  std::vector<SeriesPlan> all;
  for (const EntryCommand command : {EntryCommand::Set, EntryCommand::Modify, EntryCommand::Delete})
    all.push_back(entry_series(options, command));
  for (const bool with_entry : {false, true}) all.push_back(recall_series(options, with_entry));
  for (const proof::Install install : {proof::Install::Pre, proof::Install::Mid})
    for (const proof::DropRow& row : proof::drop_rows())
      all.push_back(row_series(options, {row, install}, counts));
  return all;
}

/// A WRITE that was stopped has no latency, so the table of latencies cannot tell of it.
void conclude(const RowCounts& counts) {
  if (counts.empty()) return;
  fmt::print("\nwhat an entry did to a WRITE that met it\n");
  for (const auto& [name, count] : counts)
    fmt::print("{:<50}  {}, {} of {} stopped\n", name, count.verdict(), count.stopped, count.runs);
}

}  // namespace
}  // namespace portcullis::bench

int main(int argc, char** argv) {
  using portcullis::bench::Suite;
  Suite suite;
  suite.info = {.name = "steering_bench",
                .summary =
                    "What flow entries cost, and whether they stop anything: the rows of the "
                    "floor document, section 3.1.",
                .default_samples = 200,
                .quick_samples = 3};
  suite.title = "steering_bench: entries, recall, and what passes an entry";
  suite.references = {{"floor document: 12 ms", 12'000'000}, {"floor document: 1.5 ms", 1'500'000}};
  const auto counts = std::make_shared<portcullis::bench::RowCounts>();
  suite.series = [counts](const portcullis::bench::Options& options) {
    return portcullis::bench::series(options, counts);
  };
  suite.conclude = [counts](const portcullis::bench::Report&) -> portcullis::Result<void> {
    portcullis::bench::conclude(*counts);
    return {};
  };
  return portcullis::bench::run_suite(argc, argv, suite);
}
