// SPDX-License-Identifier: BSD-3-Clause
#include "tools/late_write/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pfc/bound/pause_times.hpp"
#include "prm/cqe.hpp"

namespace portcullis::tools::late_write {
namespace {

using late::Findings;
using late::Row;
using late::Seen;

std::string rest_text(const late::Trial& trial) { return fmt::format("{} ms", trial.rest_ms()); }

std::string row_text(const Row& row, const std::string& name) {
  const Seen& seen = row.seen;
  const bool has_come = seen.late.fate == late::Passage::Fate::Arrived;
  return fmt::format("{:<22}{:>9}{:>12}{:>12}  {:<14}{:>7}  {}\n", name, rest_text(row.trial),
                     seen.has_next ? fmt::format("{:.2f} ms", seen.next_us / 1000) : "never",
                     has_come ? fmt::format("{:.2f} ms", seen.arrived_us / 1000) : "never",
                     late::describe(seen.met), seen.changed_before + seen.changed_next,
                     late::describe(seen.own));
}

std::string head() {
  return fmt::format("{:<22}{:>9}{:>12}{:>12}  {:<14}{:>7}  {}\n", "kept", "rest", "next tenant",
                     "WRITE came", "and met", "changed", "next tenant's own WRITE");
}

std::string fabric_text(const late::Setup& setup, const Findings& findings) {
  return fmt::format(
      "fabric: a ring of three switches{}, {:g} Gb/s, XOFF {:g} KB{}{}\n"
      "bound: a frame of {} to {} bytes arrives at most {:.6g} us after it was sent, in priority 0 "
      "alone, if hosts take what arrives: residence_ms {}\n",
      setup.ring.is_clockwise ? ", all routes clockwise" : "", setup.ring.gbps, setup.ring.xoff_kb,
      setup.ring.pauses ? "" : ", no PAUSE", setup.ring.has_loads ? "" : ", no load",
      pfc::bound::kLeastRoceFrame, pfc::bound::kLargestRoceFrame, findings.bound_us,
      findings.bound_ms);
}

std::string late_text(const Seen& seen) {
  std::string text = fmt::format(
      "device: model (timing=instant), clock: virtual\n"
      "a WRITE takes {:.6g} us through the empty fabric, and {:.6g} us through the full one, "
      "{:.6g} us of that in queues that were paused\n",
      seen.first_us, seen.lateness_us(), static_cast<double>(seen.late.paused_ns) / 1000);
  if (seen.client_status != prm::WcStatus::SUCCESS)
    text += fmt::format("its client gave up {:.6g} us behind the fence: {} ({})\n", seen.client_us,
                        prm::name(seen.client_status), prm::number(seen.client_status));
  return text;
}

std::string claim(const Findings& findings) {
  std::size_t violated = 0;
  for (const Row& row : findings.rests) violated += row.seen.has_changed() ? 1 : 0;
  return fmt::format(
      "shown, of a WRITE that PAUSE held back until its lease was TornDown\n"
      "  - it changed no byte in any of the {} runs that kept a rule: every rule, or the rest, "
      "the\n    key byte or the first PSN alone\n"
      "  - with none of them but a rest below the bound of {} ms it changed the next tenant's "
      "bytes in {}\n    of {} runs: those in which it came behind the next tenant\n"
      "  - with a rest of the bound or more it changed none\n"
      "not looked at: a card, for it is the model that was late; other loads and other rings; a\n"
      "WRITE that came as late as the bound; hosts that send PAUSE; packets that name no key\n",
      findings.defences.size(), findings.bound_ms, violated,
      std::ranges::count_if(findings.rests,
                            [&](const Row& row) { return !findings.rests_for_bound(row); }));
}

}  // namespace

std::string describe(const late::Setup& setup, const Findings& findings) {
  std::string text = fabric_text(setup, findings);
  if (findings.is_stopped) return text + "NOT SHOWN: stopped before every run was over\n";
  const auto why = late::why_not_shown(findings);
  if (findings.defences.front().seen.late.fate == late::Passage::Fate::Arrived)
    text += late_text(findings.defences.front().seen);
  text += "\n" + head();
  for (const Row& row : findings.defences) text += row_text(row, row.kept);
  for (const Row& row : findings.rests) text += row_text(row, row.kept);
  return text + "\n" + (why ? fmt::format("NOT SHOWN: {}\n", *why) : claim(findings));
}

}  // namespace portcullis::tools::late_write
