// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/conclusion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/histogram.hpp"
#include "base/json.hpp"
#include "bench/common/interrupt.hpp"
#include "bench/common/suite.hpp"
#include "program/signals.hpp"

namespace portcullis::bench {
namespace {

constexpr double kPropertyNs = 1.0 * kNsPerSecond;  // floor document 1.2: sub-second
constexpr double kBudgetNs = 2'000.0 * kNsPerMs;    // floor document 3.3: budget
constexpr double kContractNs = 1.0 * kNsPerSecond;  // of every revoke

/// "plan:seed/leases:1/.." as keys and values, in their order; a word without a value is a key.
std::vector<std::pair<std::string, std::string>> words_of(std::string_view name) {
  std::vector<std::pair<std::string, std::string>> words;
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find('/'));
    const std::size_t colon = word.find(':');
    words.emplace_back(word.substr(0, colon),
                       colon == std::string_view::npos ? "" : word.substr(colon + 1));
    name.remove_prefix(std::min(word.size() + 1, name.size()));
  }
  return words;
}

std::string word_of(std::string_view name, std::string_view key) {
  for (const auto& [each, value] : words_of(name))
    if (each == key) return value;
  return {};
}

std::optional<double> value_of(const ResultSeries& series, std::string_view key) {
  const auto found = series.values.find(key);
  return found == series.values.end() ? std::nullopt : std::optional(found->second);
}

/// One time, or the median and the longest where they differ.
std::string time_of(const ResultSeries& series) {
  const double median = value_of(series, "p50").value_or(0);
  const double longest = value_of(series, "max").value_or(0);
  if (duration_text(median) == duration_text(longest)) return duration_text(median);
  return fmt::format("{} (longest {})", duration_text(median), duration_text(longest));
}

/// Names under what is said of them, in the order in which that was said first.
class Groups {
 public:
  void add(const std::string& said, const std::string& name) {
    const auto same = std::ranges::find(groups_, said, &Group::first);
    auto& names = same == groups_.end() ? groups_.emplace_back(said, Names()).second : same->second;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  [[nodiscard]] bool is_empty() const { return groups_.empty(); }
  /// "seed, legacy 538 ms; nak-first 750 us".
  [[nodiscard]] std::string text() const {
    std::vector<std::string> parts;
    for (const auto& [said, names] : groups_)
      parts.push_back(fmt::format("{} {}", fmt::join(names, ", "), said));
    return fmt::format("{}", fmt::join(parts, "; "));
  }

 private:
  using Names = std::vector<std::string>;
  using Group = std::pair<std::string, Names>;
  std::vector<Group> groups_;
};

/// Who met a limit, and who did not and by how much.
class Limit {
 public:
  void add(const std::string& plan, bool is_met, const std::string& instead) {
    asked_.insert(plan);
    if (is_met) return;
    missing_.insert(plan);
    missed_.add("(" + instead + ")", plan);
  }
  [[nodiscard]] bool is_asked() const { return !asked_.empty(); }
  /// "met by all 7 plans", "met by 6 of 7 plans, NOT by seed (4.29 s)".
  [[nodiscard]] std::string text() const {
    const std::size_t all = asked_.size();
    const char* plans = all == 1 ? "plan" : "plans";
    if (missing_.empty())
      return all == 1 ? "met by its one plan" : fmt::format("met by all {} plans", all);
    return fmt::format("met by {} of {} {}, NOT by {}", all - missing_.size(), all, plans,
                       missed_.text());
  }

 private:
  std::set<std::string> asked_;
  std::set<std::string> missing_;
  Groups missed_;
};

const BenchRun* first_of(const std::vector<BenchRun>& runs, std::string_view program) {
  const auto found = std::ranges::find_if(
      runs, [program](const BenchRun& run) { return run.program == program && run.file; });
  return found == runs.end() ? nullptr : &*found;
}

std::string device_of(const ResultFile& file) {
  const bool is_emulated = file.said("emulated") != "no";
  if (is_emulated) return fmt::format("timing={}, emulated, not NIC latency", file.said("timing"));
  return file.said("device");
}

// ---- when a client finds out ----

struct Floor {
  std::set<std::string> plans;
  std::set<std::string> patience;  // "timeout 14, retry 7"
  bool is_virtual = true;          // what is told of every plan
  Groups told;
  Limit property;
  Limit budget;
  double watched_runs = 0;  // in which the region was looked at after the outcome
  double served = 0;
};

std::string told_text(const ResultSeries& series) {
  const double censored = value_of(series, "censored").value_or(0);
  const double failed = value_of(series, "count").value_or(0);
  std::string text;
  if (failed > 0)
    text =
        fmt::format("{}, status {:.0f}", time_of(series), value_of(series, "status").value_or(0));
  if (censored > 0)
    text += fmt::format("{}not before the deadline in {:.0f} of {:.0f} runs",
                        text.empty() ? "" : ", ", censored, censored + failed);
  return text;
}

void add_to(Floor& floor, const ResultSeries& series) {
  const std::string plan = word_of(series.name, "plan");
  if (plan.empty() || !series.error.empty()) return;
  floor.patience.insert(fmt::format("timeout {}, retry {}", word_of(series.name, "timeout"),
                                    word_of(series.name, "retry")));
  const std::string told = told_text(series);
  const double censored = value_of(series, "censored").value_or(0);
  const double failed = value_of(series, "count").value_or(0);
  const double longest = value_of(series, "max").value_or(0);
  const bool is_told = censored == 0 && failed > 0;
  const std::string instead = is_told ? duration_text(longest) : told;
  floor.property.add(plan, is_told && longest <= kPropertyNs, instead);
  floor.budget.add(plan, is_told && longest <= kBudgetNs, instead);
  // The virtual clock has one value; a wall clock beside it says the same with the machine's noise.
  if (floor.plans.insert(plan).second) {
    floor.told.add(told, plan);
    floor.is_virtual &= word_of(series.name, "clock") == "virtual";
  }
  if (value_of(series, "watched").value_or(0) != 0) floor.watched_runs += censored + failed;
  floor.served += value_of(series, "changed_after_outcome").value_or(0);
}

std::vector<std::string> floor_lines(const ResultFile& file) {
  Floor floor;
  for (const ResultSeries& series : file.series) add_to(floor, series);
  if (floor.plans.empty()) return {"when a client finds out: not measured"};
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "a client that ignores it finds out ({}{}): {}", fmt::join(floor.patience, "; "),
      floor.is_virtual ? "; virtual clock, the wire takes no time" : "", floor.told.text()));
  lines.push_back("sub-second property (it finds out within 1 s): " + floor.property.text());
  lines.push_back("2000 ms budget (it finds out within that): " + floor.budget.text());
  if (floor.served > 0)
    lines.push_back(
        fmt::format("BYTES CHANGED AFTER AN OUTCOME in {:.0f} runs: the fence is no "
                    "fence",
                    floor.served));
  else if (floor.watched_runs > 0)
    lines.push_back(fmt::format("no byte changed after an outcome, in {:.0f} watched runs",
                                floor.watched_runs));
  else
    lines.emplace_back("whether bytes changed after an outcome: nobody could look");
  return lines;
}

// ---- how long a revoke takes ----

struct Revoke {
  std::vector<std::string> plans;
  std::map<std::string, std::string> writing;  // by plan: the time of one lease whose client writes
  std::map<std::string, std::string> idle;
  std::map<unsigned, Limit> contract;  // by leases of one call
  bool is_measured = false;
};

void add_to(Revoke& revoke, const ResultSeries& series) {
  const std::string plan = word_of(series.name, "plan");
  const std::string leases = word_of(series.name, "leases");
  const double count = value_of(series, "count").value_or(0);
  if (plan.empty() || leases.empty() || !series.error.empty() || count == 0) return;
  revoke.is_measured = true;
  const double longest = value_of(series, "max").value_or(0);
  const auto number = static_cast<unsigned>(std::strtoul(leases.c_str(), nullptr, 10));
  // The contract is of one call; many calls one after the other have a second each.
  if (number == 1 || word_of(series.name, "mode") == "batched")
    revoke.contract[number].add(plan, longest <= kContractNs, duration_text(longest));
  if (number != 1) return;
  if (std::ranges::find(revoke.plans, plan) == revoke.plans.end()) revoke.plans.push_back(plan);
  const std::string load = word_of(series.name, "load");
  // As above: the virtual clock comes first.
  if (load == "write") revoke.writing.emplace(plan, time_of(series));
  if (load == "none") revoke.idle.emplace(plan, time_of(series));
}

std::vector<std::string> revoke_lines(const ResultFile& file) {
  Revoke revoke;
  for (const ResultSeries& series : file.series) add_to(revoke, series);
  if (!revoke.is_measured) return {"how long a revoke takes: not measured"};
  Groups writing;
  Groups idle;
  for (const std::string& plan : revoke.plans) {
    const auto one = revoke.writing.find(plan);
    const auto other = revoke.idle.find(plan);
    if (one != revoke.writing.end()) writing.add(one->second, plan);
    const bool differs =
        one == revoke.writing.end() || other == revoke.idle.end() || one->second != other->second;
    if (other != revoke.idle.end() && differs) idle.add(other->second, plan);
  }
  std::vector<std::string> lines;
  std::vector<std::string> taken;
  if (!writing.is_empty()) taken.push_back("while its client writes: " + writing.text());
  if (!idle.is_empty()) taken.push_back("while nobody writes: " + idle.text());
  if (!taken.empty()) lines.push_back(fmt::format("a revoke takes {}", fmt::join(taken, "; ")));
  std::vector<std::string> met;
  for (const auto& [leases, limit] : revoke.contract)
    met.push_back(fmt::format("{} {} {}", leases, leases == 1 ? "lease" : "leases", limit.text()));
  if (!met.empty())
    lines.push_back(
        fmt::format("1 s contract (one call, every outcome within 1 s): {}", fmt::join(met, "; ")));
  return lines;
}

// ---- what failed ----

std::string failed_line(const std::vector<BenchRun>& runs) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> failed;
  std::size_t series = 0;
  for (const BenchRun& run : runs) {
    if (!leaves_results(run.status))
      failed.push_back(fmt::format("{} (status {})", run.program, run.status));
    else if (!run.file)
      failed.push_back(fmt::format("{} ({})", run.program, run.file.error().text));
    if (!run.file) continue;
    series += run.file->series.size();
    std::size_t interrupted = 0;
    for (const ResultSeries& one : run.file->series) {
      if (one.error == kInterrupted)
        ++interrupted;
      else if (!one.error.empty())
        failed.push_back(fmt::format("{} ({})", one.name, one.error));
    }
    if (run.status == program::kInterruptedStatus)
      failed.push_back(fmt::format("{} (interrupted, {} of its series)", run.program, interrupted));
  }
  if (failed.empty() && series == 0) return "not measured: there is no series in the files";
  if (failed.empty() && series == 1) return "its one series was measured";
  if (failed.empty()) return fmt::format("all {} series were measured", series);
  const std::size_t more = failed.size() - std::min(failed.size(), kNamed);
  failed.resize(std::min(failed.size(), kNamed));
  return fmt::format("not measured: {}{}", fmt::join(failed, "; "),
                     more == 0 ? "" : fmt::format("; and {} more, named above", more));
}

bool is_whole(const BenchRun& run) {
  return (run.status == 0 || run.status == Conclusion::kServedAfterFence) && run.file &&
         !run.file->series.empty() &&
         std::ranges::all_of(run.file->series, &std::string::empty, &ResultSeries::error);
}

void append(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  lines.insert(lines.end(), more.begin(), more.end());
}

/// A series that counts samples has their median and the longest.
bool has_times(const ResultSeries& series) {
  if (value_of(series, "count").value_or(0) <= 0) return true;
  return value_of(series, "p50").value_or(-1) >= 0 && value_of(series, "max").value_or(-1) >= 0;
}

}  // namespace

std::string ResultFile::said(std::string_view key) const {
  const auto found = context.find(key);
  return found == context.end() ? std::string() : found->second;
}

Result<ResultFile> parse_results(std::string_view text, std::string_view file) {
  PORTCULLIS_TRY_ASSIGN(const JsonValue json, parse_json(text, file));
  const JsonValue* context = json.find("context");
  const JsonValue* benchmarks = json.find("benchmarks");
  if (context == nullptr || benchmarks == nullptr || context->find("emulated") == nullptr ||
      context->find("timing") == nullptr)
    return fail(Errc::Malformed, fmt::format("{}: no \"benchmarks\", or no \"context\" that says "
                                             "what they ran on; what a bench program writes is "
                                             "accepted",
                                             file));
  ResultFile results;
  for (std::size_t i = 0; i < context->keys.size(); ++i)
    results.context.emplace(context->keys[i], context->items[i].text);
  for (const JsonValue& entry : benchmarks->items) {
    const JsonValue* type = entry.find("run_type");
    if (type != nullptr && type->text != "iteration") continue;  // means over repetitions
    ResultSeries series;
    if (const JsonValue* name = entry.find("name"))
      series.name = name->text.substr(0, name->text.find("/iterations:"));
    if (const JsonValue* error = entry.find("error_message")) series.error = error->text;
    for (std::size_t i = 0; i < entry.keys.size(); ++i)
      if (entry.items[i].kind == JsonValue::Kind::Number)
        series.values.emplace(entry.keys[i], entry.items[i].number);
    if (series.error.empty() && !has_times(series)) series.error = "its p50 and max are no times";
    results.series.push_back(std::move(series));
  }
  return results;
}

bool leaves_results(int status) noexcept {
  return status == 0 || status == Conclusion::kServedAfterFence ||
         status == kSomeNotMeasuredStatus || status == program::kInterruptedStatus;
}

Conclusion conclude(const std::vector<BenchRun>& runs, const std::string& where) {
  Conclusion conclusion;
  const BenchRun* floor = first_of(runs, "floor_bench");
  const BenchRun* revoke = first_of(runs, "revoke_bench");
  const auto device = [](const BenchRun* run) { return run ? device_of(*run->file) : ""; };
  std::vector<std::string>& lines = conclusion.lines;
  lines.push_back("conclusion: " + (floor != nullptr ? device(floor) : device(revoke)));
  if (floor != nullptr && revoke != nullptr && device(floor) != device(revoke))
    lines.back() += "; a revoke's time: " + device(revoke);
  if (revoke != nullptr) append(lines, revoke_lines(*revoke->file));
  if (floor != nullptr) append(lines, floor_lines(*floor->file));
  if (floor == nullptr && revoke == nullptr)
    lines.back() = "conclusion: none, for want of results of floor_bench and revoke_bench";
  lines.push_back(failed_line(runs));
  lines.push_back("files: " + where);

  if (!std::ranges::all_of(runs, is_whole)) conclusion.status = Conclusion::kNotWhole;
  // What the lines say, whatever the program ended with.
  const auto is_served = [](const ResultSeries& series) {
    return value_of(series, "changed_after_outcome").value_or(0) > 0;
  };
  if (floor != nullptr && (floor->status == Conclusion::kServedAfterFence ||
                           std::ranges::any_of(floor->file->series, is_served)))
    conclusion.status = Conclusion::kServedAfterFence;
  return conclusion;
}

}  // namespace portcullis::bench
