// SPDX-License-Identifier: BSD-3-Clause
#include "light/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "light/command_times.hpp"
#include "light/conclusions.hpp"

namespace portcullis::light {
namespace {

constexpr const char* kAbsent = "(not there)";

class Comparison {
 public:
  void add(std::string what, std::string a, std::string b) {
    if (a != b) found_.push_back({std::move(what), std::move(a), std::move(b)});
  }
  /// By name; one that only one side has is a difference too.
  template <class Fact, class Text>
  void add_all(const std::string& kind, const std::vector<Fact>& a, const std::vector<Fact>& b,
               std::string Fact::*name, Text&& text) {
    for (const Fact& one : a) {
      const auto other = std::ranges::find(b, one.*name, name);
      add(kind + " " + one.*name, text(one), other == b.end() ? kAbsent : text(*other));
    }
    for (const Fact& one : b)
      if (std::ranges::find(a, one.*name, name) == a.end())
        add(kind + " " + one.*name, kAbsent, text(one));
  }
  [[nodiscard]] std::vector<Difference> take() { return std::move(found_); }

 private:
  std::vector<Difference> found_;
};

std::string text_of(const EntryFact& entry) {
  if (!entry.is_installed) return "refused: " + entry.refusal;
  return fmt::format("offered {}, stops new {}, stops running {}, recovers {}", entry.is_offered,
                     entry.stops_new, entry.stops_running, entry.recovers);
}

std::string text_of(const PlanFact& plan) {
  return fmt::format("all as promised {}, client status {}, served late {}",
                     plan.as_promised == plan.revokes, plan.status, plan.served_late != 0);
}

std::string text_of(const PeerFact& peer) {
  if (!peer.is_run) return kAbsent;
  return fmt::format("vendor {:#x}, part {}, firmware {}", peer.vendor, peer.part, peer.firmware);
}

std::string text_of(const CommandFact& command) {
  return fmt::format("refused {}, unanswered {}", command.refused != 0, command.unanswered != 0);
}

}  // namespace

std::vector<Difference> compare(const Facts& a, const Facts& b) {
  Comparison found;
  found.add("device", a.device.kind, b.device.kind);
  found.add("emulated", a.device.is_emulated ? "a model, not a card" : "no",
            b.device.is_emulated ? "a model, not a card" : "no");
  found.add("firmware", a.device.firmware, b.device.firmware);
  found.add("board", a.device.board, b.device.board);
  found.add("port", a.device.is_ethernet ? "Ethernet" : "InfiniBand",
            b.device.is_ethernet ? "Ethernet" : "InfiniBand");
  found.add("link", a.device.link_up ? "up" : "down", b.device.link_up ? "up" : "down");
  found.add("relaxed ordering", a.device.relaxed_ordering, b.device.relaxed_ordering);
  found.add("relaxed ordering of keys", a.device.keys_may_be_relaxed ? "offered" : "not offered",
            b.device.keys_may_be_relaxed ? "offered" : "not offered");
  const auto a_says = conclude(a);
  const auto b_says = conclude(b);
  for (std::size_t i = 0; i < a_says.size(); ++i)
    found.add(a_says[i].id, std::string(name(a_says[i].answer)),
              std::string(name(b_says[i].answer)));
  found.add_all("step", a.steps, b.steps, &StepFact::name,
                [](const StepFact& step) { return step.state; });
  found.add_all("way", a.reach, b.reach, &ReachFact::way,
                [](const ReachFact& fact) { return fact.met; });
  found.add_all("entry", a.entries, b.entries, &EntryFact::shape,
                [](const EntryFact& entry) { return text_of(entry); });
  found.add_all("probe", a.probes, b.probes, &ProbeFact::probe, [](const ProbeFact& probe) {
    return probe.refusal.empty() ? probe.verdict : "refused: " + probe.refusal;
  });
  found.add_all("plan", a.plans, b.plans, &PlanFact::plan,
                [](const PlanFact& plan) { return text_of(plan); });
  found.add_all("command", a.commands, b.commands, &CommandFact::command,
                [](const CommandFact& command) { return text_of(command); });
  found.add("floor", a.floor.mechanism, b.floor.mechanism);
  found.add("peer", text_of(a.peer), text_of(b.peer));
  found.add_all("peer plan", a.peer.plans, b.peer.plans, &PlanFact::plan,
                [](const PlanFact& plan) { return text_of(plan); });
  found.add("peer floor", a.peer.floor.mechanism, b.peer.floor.mechanism);
  return found.take();
}

std::vector<CommandRatio> command_ratios(const Facts& a, const Facts& b) {
  std::vector<CommandRatio> ratios;
  for (const CommandFact& one : a.commands) {
    const auto other = std::ranges::find(b.commands, one.command, &CommandFact::command);
    if (other != b.commands.end() && one.answered != 0 && other->answered != 0 &&
        is_timed(one.command))
      ratios.push_back({one.command, one.median_ns, other->median_ns});
  }
  return ratios;
}

}  // namespace portcullis::light
