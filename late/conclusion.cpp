// SPDX-License-Identifier: BSD-3-Clause
#include "late/conclusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace portcullis::late {
namespace {

/// From a thirtieth of the bound to one and a half of it, each longer than the one before by about
/// the same factor, for what is late is a small part of a bound; and the shortest that `seen`,
/// whose WRITE comes when all come, says is enough.
std::vector<std::uint64_t> rests_around(double bound_ms, const Seen& seen) {
  constexpr int kBelow = 10;
  std::vector<std::uint64_t> rests;
  for (int step = -kBelow; step <= 1; ++step)
    rests.push_back(static_cast<std::uint64_t>(std::ceil(bound_ms * std::pow(2.0, step / 2.0))));
  if (seen.is_held_back())
    rests.push_back(static_cast<std::uint64_t>(std::ceil(seen.arrived_us / 1000)));
  return rests;
}

std::vector<Row> defences_for(std::uint64_t bound_ms) {
  constexpr std::uint64_t kShortMs = 1;
  return {
      {"every rule", {.residence_ms = bound_ms}, {}},
      {"the rest alone",
       {.grace_ms = 0,
        .residence_ms = bound_ms,
        .has_fresh_key_byte = false,
        .has_fresh_psn = false},
       {}},
      {"the key byte alone", {.grace_ms = kShortMs, .has_fresh_psn = false}, {}},
      {"the first PSN alone", {.grace_ms = kShortMs, .has_fresh_key_byte = false}, {}},
  };
}

/// With no defence but a rest.
std::vector<Row> bare_rows(std::vector<std::uint64_t> rests) {
  std::ranges::sort(rests);
  rests.erase(std::unique(rests.begin(), rests.end()), rests.end());
  std::vector<Row> rows;
  for (const std::uint64_t rest : rests)
    rows.push_back({"none",
                    {.grace_ms = rest,
                     .has_fresh_key_byte = false,
                     .has_fresh_psn = false,
                     .samples = rest == rests.front()},
                    {}});
  return rows;
}

Result<void> run_all(const Setup& setup, std::vector<Row>& rows, bool& is_stopped) {
  for (Row& row : rows) {
    auto seen = run(setup, row.trial);
    is_stopped = setup.is_stopped != nullptr && *setup.is_stopped;
    if (is_stopped) return {};
    if (!seen) return forward_error(std::move(seen));
    row.seen = *std::move(seen);
  }
  return {};
}

std::string text_of(const Row& row) {
  return fmt::format("the run with {}, where the number rests {} ms", row.kept,
                     row.trial.rest_ms());
}

/// What every run must be, whatever it keeps, or it shows nothing.
std::optional<std::string> why_void(const Row& row, double bound_us) {
  const Seen& seen = row.seen;
  if (seen.late.fate != Passage::Fate::Arrived)
    return fmt::format("{}: the WRITE never came, so nothing was held back", text_of(row));
  if (!seen.is_held_back())
    return fmt::format(
        "{}: no PAUSE held it back until the fence: the WRITE came {:.6g} us {} it, {:.6g} us of "
        "its way in queues that were paused",
        text_of(row), std::abs(seen.arrived_us), seen.arrived_us > 0 ? "behind" : "before",
        static_cast<double>(seen.late.paused_ns) / 1000);
  if (seen.arrived_us > seen.compared_us)
    return fmt::format(
        "{}: the WRITE came {:.6g} us behind the fence, and bytes were compared {:.6g} us behind "
        "it",
        text_of(row), seen.arrived_us, seen.compared_us);
  if (seen.lateness_us() > bound_us)
    return fmt::format("{}: the WRITE came {:.6g} us after it was sent, and the bound is {:.6g} us",
                       text_of(row), seen.lateness_us(), bound_us);
  if (!seen.has_next || !seen.same_number)
    return fmt::format("{}: the number was not given again", text_of(row));
  if (!row.trial.has_fresh_key_byte && !seen.same_key)
    return fmt::format("{}: the key was not given again", text_of(row));
  if (!seen.is_other_undisturbed)
    return fmt::format("{}: the other server's lease was disturbed", text_of(row));
  return std::nullopt;
}

/// A key byte or a PSN that nobody was asked for has kept nothing.
bool is_untried(const Row& row) {
  return row.trial.has_fresh_key_byte != row.trial.has_fresh_psn &&
         row.seen.next_us > row.seen.arrived_us;
}

std::optional<std::string> why_defence_failed(const Row& row) {
  if (is_untried(row))
    return fmt::format("{}: the WRITE came before the next tenant, and met neither key nor PSN",
                       text_of(row));
  if (row.seen.has_changed())
    return fmt::format("{}: {} bytes changed that should not", text_of(row),
                       row.seen.changed_before + row.seen.changed_next);
  return std::nullopt;
}

/// The plant and nothing but the plant: bytes change exactly where the number was another's when
/// the WRITE came.
std::optional<std::string> why_rest_surprised(const Row& row) {
  const bool is_planted = row.seen.next_us < row.seen.arrived_us;
  if (row.seen.has_changed() == is_planted) return std::nullopt;
  return fmt::format("{}: {}", text_of(row),
                     is_planted ? "the WRITE met the next tenant, and nobody saw a byte change"
                                : "bytes changed though the WRITE came to nobody's number");
}

}  // namespace

Result<Findings> look(const Wanted& wanted) {
  Findings findings;
  PORTCULLIS_TRY_ASSIGN(const Ring ring, make_ring(wanted.setup.ring));
  PORTCULLIS_TRY_ASSIGN(findings.bound_us, residence_bound_us(ring));
  const double bound_ms = findings.bound_us / 1000;
  findings.bound_ms = static_cast<std::uint64_t>(std::ceil(bound_ms));
  Setup setup = wanted.setup;
  // Long enough for whatever is under way when the fence comes, and then it may be quiet.
  setup.ring.until_us = static_cast<double>(setup.settle_ms) * 1000 + 2 * findings.bound_us;
  setup.patience_ms = 200 + 2 * findings.bound_ms;  // what no WRITE outlasts
  findings.defences = defences_for(findings.bound_ms);
  PORTCULLIS_TRY(run_all(setup, findings.defences, findings.is_stopped));
  if (findings.is_stopped) return findings;
  std::vector<std::uint64_t> rests = wanted.rests_ms;
  if (rests.empty()) rests = rests_around(bound_ms, findings.defences.front().seen);
  findings.rests = bare_rows(std::move(rests));
  PORTCULLIS_TRY(run_all(setup, findings.rests, findings.is_stopped));
  return findings;
}

std::optional<std::string> why_not_shown(const Findings& findings) {
  if (findings.is_stopped) return "stopped before every run was over";
  for (const std::vector<Row>* rows : {&findings.defences, &findings.rests})
    for (const Row& row : *rows)
      if (auto why = why_void(row, findings.bound_us)) return why;
  for (const Row& row : findings.defences)
    if (auto why = why_defence_failed(row)) return why;
  std::size_t violated = 0;
  std::size_t rested = 0;
  for (const Row& row : findings.rests) {
    if (auto why = why_rest_surprised(row)) return why;
    if (findings.rests_for_bound(row) && row.seen.has_changed())
      return fmt::format("{}: bytes changed though it rests for the bound", text_of(row));
    violated += row.seen.has_changed() ? 1 : 0;
    rested += findings.rests_for_bound(row) ? 1 : 0;
  }
  if (violated == 0) return "no rest was so short that the violation was seen";
  if (rested == 0) return "no rest was as long as the bound";
  return std::nullopt;
}

}  // namespace portcullis::late
