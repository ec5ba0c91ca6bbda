// SPDX-License-Identifier: BSD-3-Clause
#include "tools/first_light/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "light/command_times.hpp"
#include "light/replay.hpp"
#include "prm/command_fields.hpp"
#include "prm/enums.hpp"
#include "prm/hca_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::tools::first_light {
namespace {

using light::Answer;
using light::Conclusion;

std::string time_text(std::uint64_t ns) {
  if (ns >= kNsPerSecond) return fmt::format("{:.2f} s", static_cast<double>(ns) / 1e9);
  if (ns >= kNsPerMs) return fmt::format("{:.2f} ms", static_cast<double>(ns) / 1e6);
  if (ns >= kNsPerUs) return fmt::format("{:.2f} us", static_cast<double>(ns) / 1e3);
  return fmt::format("{} ns", ns);
}

std::size_t count(const std::vector<Conclusion>& all, Answer answer) {
  return static_cast<std::size_t>(std::ranges::count(all, answer, &Conclusion::answer));
}

std::string commands_text(const light::Facts& facts) {
  const auto shown = [](const light::CommandFact& each, std::uint64_t ns) {
    return light::is_timed(each.command) ? time_text(ns) : "-";
  };
  std::string text = fmt::format("\n{:<32}{:>9}{:>9}{:>12}{:>12}{:>12}\n", "command", "answered",
                                 "refused", "median", "p99", "most");
  for (const light::CommandFact& each : facts.commands)
    text +=
        fmt::format("{:<32}{:>9}{:>9}{:>12}{:>12}{:>12}\n", each.command, each.answered,
                    each.refused + each.unanswered, shown(each, each.median_ns),
                    each.p99_ns == 0 ? "-" : shown(each, each.p99_ns), shown(each, each.most_ns));
  if (!std::ranges::all_of(facts.commands, light::is_timed, &light::CommandFact::command))
    text +=
        "MANAGE_PAGES: nobody waits for its answer; it is read when the driver looks next, so no "
        "time of the\ndevice's is known\n";
  return text;
}

std::string plans_text(const std::vector<light::PlanFact>& plans, std::string_view title) {
  if (plans.empty()) return {};
  const auto fails = [](const light::PlanFact& plan) {
    if (plan.failed_clients == 0) return std::string("none");
    if (plan.client_uncertainty_ns == 0) return time_text(plan.client_median_ns);
    return time_text(plan.client_median_ns) + " +- " + time_text(plan.client_uncertainty_ns);
  };
  constexpr const char* kRow = "{:<14}{:>8}{:>10}{:>11}{:>11}{:>8}{:>24}{:>12}\n";
  std::string text = "\n" + fmt::format(kRow, title, "revokes", "TornDown", "median", "most",
                                        "status", "client fails", "served late");
  for (const light::PlanFact& each : plans)
    if (each.revokes != 0)
      text += fmt::format(kRow, each.plan, each.revokes, each.torn_down, time_text(each.median_ns),
                          time_text(each.most_ns), each.status, fails(each), each.served_late);
  return text;
}

std::string reach_text(const light::Facts& facts) {
  if (facts.reach.empty()) return {};
  std::string text = fmt::format("\n{:<34}{}\n", "to itself", "a WRITE met");
  for (const light::ReachFact& each : facts.reach)
    text += fmt::format("{:<34}{}\n", each.way, each.met);
  return text;
}

std::string entries_text(const light::Facts& facts) {
  if (facts.entries.empty()) return {};
  const auto yes = [](bool is_so) { return is_so ? "yes" : "no"; };
  std::string text = fmt::format("\n{:<14}{:>9}{:>11}{:>12}{:>16}\n", "DROP entry", "offered",
                                 "installed", "stops new", "stops running");
  for (const light::EntryFact& each : facts.entries) {
    text += fmt::format("{:<14}{:>9}{:>11}{:>12}{:>16}\n", each.shape, yes(each.is_offered),
                        yes(each.is_installed), yes(each.stops_new), yes(each.stops_running));
    if (!each.refusal.empty()) text += "  " + each.refusal + "\n";
  }
  return text;
}

/// What a client on another host saw.
std::string peer_text(const light::PeerFact& peer) {
  if (!peer.is_run) return {};
  std::string text = fmt::format(
      "\npeer: NIC of vendor {:#x}, part {}, firmware {}; {} of {} leases reached\n"
      "clocks: a line there and back {}, the offset known to {} at worst\n",
      peer.vendor, peer.part, peer.firmware.empty() ? "unknown" : peer.firmware, peer.reached,
      peer.leases, time_text(peer.round_trip_ns), time_text(peer.clock_uncertainty_ns));
  if (peer.floor.is_run)
    text += fmt::format("floor: {} ({}), by {} points\n", peer.floor.mechanism, peer.floor.why,
                        peer.floor.points);
  if (peer.floor.other_endings != 0)
    text += fmt::format("floor: {} clients ended neither by a refusal nor by their budget\n",
                        peer.floor.other_endings);
  return text + plans_text(peer.plans, "peer, plan");
}

std::string dumps_text(const std::vector<light::CrashDumpFact>& dumps) {
  std::string text = dumps.empty() ? "" : "\n";
  for (const light::CrashDumpFact& each : dumps)
    text += each.state == "none"
                ? fmt::format("crash dump behind step {}: none: {}\n", each.step, each.why)
                : fmt::format("crash dump behind step {}: {}, {} words of a space of {:#x} bytes\n",
                              each.step, each.state, each.words, each.space_bytes);
  return text;
}

std::string end_text(const light::EndFact& end) {
  if (end.registers.empty()) return {};
  std::string text = "\nhealth buffer at the end: " + end.health + "\n";
  for (const std::string& each : end.registers) text += "  " + each + "\n";
  return text;
}

}  // namespace

std::string device_line(const light::DeviceFact& device) {
  if (device.firmware.empty()) return device.kind + ", never up";
  return fmt::format("{}{}, firmware {}, board {}, {}, link {}", device.kind,
                     device.is_emulated ? " (emulated, not a card)" : "", device.firmware,
                     device.board, device.is_ethernet ? "Ethernet" : "InfiniBand",
                     device.link_up ? "up" : "down") +
         (device.relaxed_ordering.empty()
              ? ""
              : fmt::format(
                    "; relaxed ordering of DMA {} (PCI Express), of keys {}",
                    device.relaxed_ordering,
                    device.keys_may_be_relaxed ? "offered and never asked for" : "not offered"));
}

std::string step_line(const light::StepFact& step) {
  std::string line = fmt::format("{:<11}{:<9}{:>7.1f} s\n", step.name, step.state,
                                 static_cast<double>(step.took_ms) / 1e3);
  if (!step.why.empty()) line += "  " + step.why + "\n";
  return line;
}

std::string conclusions_text(const light::Facts& facts) {
  const auto all = light::conclude(facts);
  std::string text;
  for (const Conclusion& each : all)
    text += fmt::format("{:<10} {:<20} {}\n{:>10} {}\n", name(each.answer), each.id, each.sentence,
                        "", each.why);
  text += fmt::format("{} confirmed, {} refuted, {} undecided, {} not run",
                      count(all, Answer::Confirmed), count(all, Answer::Refuted),
                      count(all, Answer::Undecided), count(all, Answer::NotRun));
  text += facts.device.is_emulated ? "; emulated: nothing of this is about a card\n" : "\n";
  for (const std::string& each : light::assumed_by_model(facts)) text += "assumed: " + each + "\n";
  if (light::breaks_a_promise(all))
    text += "A PROMISE THAT A FENCE RESTS ON IS REFUTED: do not lease memory on this device\n";
  return text;
}

std::string capabilities_text(const trace::DeviceProfile& profile) {
  std::string text;
  for (const trace::CapabilityPage& each : profile.capabilities) {
    prm::Buffer<prm::query_hca_cap_in> in;
    in.put<"opcode">(prm::Opcode::QUERY_HCA_CAP).put<"op_mod">(each.op_mod);
    prm::Buffer<prm::query_hca_cap_out> out;
    std::ranges::copy(each.page, out.bytes<"capability">().begin());
    text += fmt::format(
        "{}QUERY_HCA_CAP op_mod {:#x}, what {}\n", text.empty() ? "" : "\n", each.op_mod,
        (each.op_mod & 1) == prm::number(prm::CapMode::GET_CUR) ? "is in force"
                                                                : "can be set at most");
    for (const auto& field : prm::output_fields(in.all(), out.all(), prm::Detail::Full))
      text += fmt::format("  {} {}\n", field.name, field.value);
  }
  return text;
}

std::string figures_text(const light::Facts& facts) {
  return reach_text(facts) + plans_text(facts.plans, "plan") + entries_text(facts) +
         peer_text(facts.peer) + commands_text(facts) + end_text(facts.end) +
         dumps_text(facts.crash_dumps);
}

int status_of(const light::Facts& facts) {
  if (light::breaks_a_promise(light::conclude(facts))) return kExitRefuted;
  const auto done = std::ranges::count(facts.steps, std::string("done"), &light::StepFact::state);
  if (done == 0) return kExitNothing;
  const bool is_whole = static_cast<std::size_t>(done) == facts.steps.size();
  return is_whole ? kExitWhole : kExitNotWhole;
}

std::string sides_text(const light::DeviceFact& a, const light::DeviceFact& b) {
  const auto side = [](std::string_view which, const light::DeviceFact& device) {
    return device.is_emulated ? fmt::format("{} is emulated, not a card\n", which) : std::string();
  };
  return side("the first (-)", a) + side("the second (+)", b);
}

std::string differences_text(const std::vector<light::Difference>& differences,
                             const std::vector<light::CommandRatio>& ratios) {
  std::string text;
  for (const light::Difference& each : differences)
    text += fmt::format("{}\n  - {}\n  + {}\n", each.what, each.a, each.b);
  text += differences.empty() ? "the same was found\n"
                              : fmt::format("{} differences\n", differences.size());
  if (ratios.empty()) return text;
  text +=
      fmt::format("\n{:<32}{:>12}{:>12}{:>8}\n", "median of command", "first", "second", "ratio");
  for (const light::CommandRatio& each : ratios)
    text += fmt::format("{:<32}{:>12}{:>12}{:>8}\n", each.command, time_text(each.a_ns),
                        time_text(each.b_ns),
                        each.a_ns == 0 ? "-"
                                       : fmt::format("{:.2f}", static_cast<double>(each.b_ns) /
                                                                   static_cast<double>(each.a_ns)));
  return text;
}

}  // namespace portcullis::tools::first_light
