// SPDX-License-Identifier: BSD-3-Clause
//
// failover-check explore: one model, one environment.
#include <fmt/format.h>

#include <ostream>

#include "failover/explore/chart.hpp"
#include "failover/explore/estimate.hpp"
#include "failover/protocols/program_faults.hpp"
#include "failover/protocols/text.hpp"
#include "failover/report/json_report.hpp"
#include "failover/spin/promela.hpp"
#include "tools/failover_check/commands.hpp"

namespace portcullis::tools::failover_check {
namespace {

using namespace failover;

constexpr double kGiga = 1e9;

std::string amount(double bytes) {
  if (bytes < 1e6) return fmt::format("{:.0f} kB", bytes / 1e3);
  return bytes < kGiga ? fmt::format("{:.0f} MB", bytes / 1e6)
                       : fmt::format("{:.1f} GB", bytes / kGiga);
}

/// How far an estimate can be trusted.
const char* basis_text(Estimate::Basis basis) {
  switch (basis) {
    case Estimate::Basis::Counted:
      return "counted";
    case Estimate::Basis::Sampled:
      return "of the states that the parts allow, some were drawn and looked for";
    case Estimate::Basis::AtLeast:
      return "how many more cannot be said before the run";
  }
  return "?";
}

std::string estimate_text(const Estimate& estimate) {
  const bool is_open = estimate.basis == Estimate::Basis::AtLeast;
  const char* how = estimate.basis == Estimate::Basis::Counted ? "exactly"
                    : is_open                                  ? "at least"
                                                               : "about";
  const std::string most =
      is_open && estimate.most > 0 ? fmt::format(" and at most {:.3g}", estimate.most) : "";
  return fmt::format("{} {:.3g}{} states, {}{} ({})", how, estimate.states, most,
                     is_open ? "at least " : "", amount(estimate.bytes),
                     basis_text(estimate.basis));
}

/// What is explored; of a file also where it says what.
struct Subject {
  Machine machine;
  std::string environment;  // of a file the first, unless one was named
  ScenarioLines lines;
};

struct Outcome {
  Judged judged;
  std::optional<Exploration> second;  // fingerprints: with another seed
  std::optional<Trace> trace;
  Estimate estimate;
};

/// A file's protocol in one of its environments, within its own bounds where no others are given.
Result<Subject> subject_of_file(const ExploreCommand& command) {
  PORTCULLIS_TRY_ASSIGN(const std::string text, read_file(command.path));
  PORTCULLIS_TRY_ASSIGN(const ProtocolText protocol,
                        read_protocol(text, command.path == "-" ? "standard input" : command.path));
  PORTCULLIS_TRY_ASSIGN(NamedScenario named, protocol.named(command.search.environment));
  Scenario& scenario = named.scenario;
  scenario.clients = command.given.clients.value_or(scenario.clients);
  scenario.limits = {.late = command.given.late.value_or(scenario.limits.late),
                     .duplicates = command.given.duplicates.value_or(scenario.limits.duplicates),
                     .timeouts = command.given.timeouts.value_or(scenario.limits.timeouts),
                     .deaths = command.given.deaths.value_or(scenario.limits.deaths)};
  scenario.is_monitored = !command.counts_only;
  if (command.counts_only) scenario.has_history = false;
  if (const auto fault = history_fault_of(scenario))  // more clients than the file's
    return fail(Errc::InvalidArgument, fmt::format("{}: {}", command.path, *fault));
  PORTCULLIS_TRY_ASSIGN(Machine machine, compile(std::move(scenario)));
  return Subject{std::move(machine), std::move(named.environment), std::move(named.lines)};
}

Result<Subject> subject_of(const ExploreCommand& command) {
  if (!command.path.empty()) return subject_of_file(command);
  Parameters parameters = command.search.parameters;
  PORTCULLIS_TRY_ASSIGN(parameters.environment, environment_named(command.search.environment));
  parameters.is_monitored = !command.counts_only;
  PORTCULLIS_TRY_ASSIGN(Scenario scenario, make_model(command.model, parameters));
  if (command.counts_only) scenario.has_history = false;
  PORTCULLIS_TRY_ASSIGN(Machine machine, compile(std::move(scenario)));
  return Subject{std::move(machine), command.search.environment, {}};
}

/// A run that its user gave a limit goes on until there: it is refused only what nobody asked for.
Result<void> check_memory(const Machine& machine, const Estimate& estimate,
                          const ExploreOptions& options) {
  const auto limit = static_cast<double>(options.memory_limit_bytes);
  if (estimate.bytes <= limit) return {};
  return fail(
      Errc::OutOfResources,
      fmt::format("model {} with {} clients needs {}, {} are accepted; --memory-gb N runs until N "
                  "are used; fewer clients, ops or duplicates or --symmetry need less, and --set "
                  "fingerprint where a state has more than 64 bits",
                  machine.scenario.name, machine.scenario.clients, estimate_text(estimate),
                  amount(limit)));
}

Result<Outcome> search(const ExploreCommand& command, const Machine& machine,
                       const ExploreOptions& options, const Streams& io) {
  Outcome outcome;
  PORTCULLIS_TRY_ASSIGN(outcome.estimate, estimate(machine.scenario, options));
  if (command.search.memory_gb == 0)
    PORTCULLIS_TRY(check_memory(machine, outcome.estimate, options));
  if (!command.search.is_json)
    io.out << fmt::format("estimate: {}\n", estimate_text(outcome.estimate)) << std::flush;
  ExploreOptions informed = options;
  informed.expected_states = outcome.estimate.states;
  informed.part_bits = outcome.estimate.part_bits;
  if (outcome.estimate.bytes >
      static_cast<double>(options.memory_limit_bytes))  // it will end there
    informed.expected_states *=  // what waits to be expanded needs some of it
        0.75 * static_cast<double>(options.memory_limit_bytes) / outcome.estimate.bytes;
  constexpr std::uint64_t kMostJudged = 5'000'000;
  PORTCULLIS_TRY_ASSIGN(outcome.judged,
                        judge_protocol(machine, informed, command.counts_only ? 0 : kMostJudged));
  const Exploration& explored = outcome.judged.explored;
  if (explored.ending == Ending::Violated)
    outcome.trace = shortest_violation(machine, options.uses_symmetry,
                                       options.memory_limit_bytes / kTraceStateBytes, options.stop);
  if (outcome.judged.verdict() == Verdict::Hangs && outcome.judged.progress)
    outcome.trace = outcome.judged.progress->hang;
  if (explored.ending == Ending::Complete && options.set == SetKind::Fingerprint &&
      !command.counts_only) {
    ExploreOptions again = informed;
    again.seed = options.seed + 1;
    PORTCULLIS_TRY_ASSIGN(outcome.second, explore(machine, again));
  }
  return outcome;
}

/// Two seeds that count differently decide nothing.
bool is_undecided(const Outcome& outcome) {
  return outcome.second && outcome.second->states != outcome.judged.explored.states;
}

std::string verdict_of(const ExploreCommand& command, const Outcome& outcome) {
  if (is_undecided(outcome)) return "undecided: two hash seeds count differently";
  if (command.counts_only && outcome.judged.explored.ending == Ending::Complete) return "counted";
  return verdict_name(outcome.judged);
}

void print_progress(const Judged& judged, const Streams& io) {
  const Exploration& e = judged.explored;
  if (judged.is_interrupted)
    io.out << "  progress: stopped before all of it was looked at\n";
  else if (!judged.progress)
    io.out << "  progress: not looked at, too many states; "
           << (e.stuck > e.cut ? "some run ends with a client that waits for ever\n"
                               : "no run ends with a client that waits for ever\n");
  else if (judged.progress->hanging > 0)
    io.out << fmt::format("  progress: {} states from which some client never comes to its end\n",
                          judged.progress->hanging);
  else
    io.out << "  progress: every client comes to its end, if steps that stay possible are taken\n";
  if (e.cut > 0)
    io.out << fmt::format(
        "  not followed: {} states in which a client has no timeout left, --timeouts gives more\n",
        e.cut);
}

/// "mine.json:14: " of a file.
std::string place_of(const ExploreCommand& command, const Subject& subject,
                     const Unreached& unreached) {
  const std::vector<std::uint32_t>& lines =
      unreached.part == Unreached::Part::Client     ? subject.lines.steps
      : unreached.part == Unreached::Part::Receiver ? subject.lines.receiver
                                                    : subject.lines.others;
  if (unreached.step >= lines.size()) return {};
  return fmt::format("{}:{}: ", command.path == "-" ? "standard input" : command.path,
                     lines[unreached.step]);
}

/// Of these the verdict says nothing.
void print_unreached(const ExploreCommand& command, const Subject& subject, const Exploration& e,
                     const Streams& io) {
  if (e.unreached.empty()) return;
  const Scenario& scenario = subject.machine.scenario;
  const std::vector<bool> is_led_to = steps_led_to(scenario);
  const Limits& limits = scenario.limits;
  io.out << fmt::format(
      "  never reached with late {}, duplicates {}, timeouts {}, deaths {}, so not verified:\n",
      limits.late, limits.duplicates, limits.timeouts, limits.deaths);
  for (const Unreached& one : e.unreached) {
    const bool is_dead = one.part == Unreached::Part::Client && !is_led_to[one.step];
    io.out << fmt::format("    {}{}{}\n", place_of(command, subject, one), describe(scenario, one),
                          is_dead ? "; no other step leads there" : "");
  }
}

void print_text(const ExploreCommand& command, const Subject& subject, const Outcome& outcome,
                const Streams& io) {
  const Machine& machine = subject.machine;
  const Exploration& e = outcome.judged.explored;
  const auto states = static_cast<double>(e.states);
  io.out << fmt::format(
      "{}: {}{}\n  {} states, {} transitions, depth {}\n", machine.scenario.name,
      verdict_of(command, outcome),
      e.ending == Ending::Violated ? fmt::format(" ({})", name_of(e.violation)) : "", e.states,
      e.transitions, e.depth);
  if (e.ending == Ending::MemoryLimit)
    io.out << fmt::format("  stopped where the memory ended; estimated were {}\n",
                          estimate_text(outcome.estimate));
  constexpr double kWorthMeasuring = 10'000;
  if (states >= kWorthMeasuring)
    io.out << fmt::format(
        "  {} bits a state, held in {}, {:.1f} bytes a state in memory, {}, {:.2f} s, {:.2f} "
        "million "
        "states/s\n",
        machine.bits, e.state_bits, static_cast<double>(e.bytes) / states,
        amount(static_cast<double>(e.bytes)), e.seconds, states / 1e6 / std::max(e.seconds, 1e-9));
  if (command.search.set == "fingerprint")
    io.out << fmt::format(
        "  fingerprints: expected omissions at most {:.2g}{}\n", omission_bound(e),
        outcome.second && !is_undecided(outcome) ? "; a second hash seed counts the same" : "");
  if (e.ending == Ending::Complete && !command.counts_only) {
    print_progress(outcome.judged, io);
    print_unreached(command, subject, e, io);
  }
  if (outcome.trace) io.out << trace_text(machine, *outcome.trace);
  if (outcome.judged.verdict() == Verdict::GivesUp && outcome.judged.progress)
    io.out << "  a shortest run in which a client gives up:\n"
           << steps_text(machine, outcome.judged.progress->giving_up);
  if (e.ending == Ending::Violated && !outcome.trace)
    io.out << (io.stop ? "  stopped before the run itself was found\n"
                       : "  the run itself needs more memory to be found than --memory-gb "
                         "allows\n");
}

void print_json(const ExploreCommand& command, const Subject& subject, const Outcome& outcome,
                const Streams& io) {
  const Machine& machine = subject.machine;
  nlohmann::ordered_json object = to_json(machine.scenario, subject.environment);
  object["set"] = command.search.set;
  object["symmetry"] = command.search.uses_symmetry;
  object["threads"] = command.search.threads;
  add_judged(object, machine.scenario, outcome.judged);
  object["verdict"] = is_undecided(outcome) ? "undecided" : verdict_of(command, outcome);
  object["estimated_states"] = outcome.estimate.states;
  object["estimate_basis"] = basis_text(outcome.estimate.basis);
  if (outcome.estimate.most > 0) object["estimated_at_most"] = outcome.estimate.most;
  object["estimated_bytes"] = outcome.estimate.bytes;
  if (command.search.set == "fingerprint")
    object["omission_bound"] = omission_bound(outcome.judged.explored);
  if (outcome.trace) object["trace"] = to_json(machine, *outcome.trace);
  io.out << object.dump(2) << '\n';
}

/// A verdict without a fault is none on steps that no run came to: whoever asked for all is told.
int status_of(const ExploreCommand& command, const Outcome& outcome) {
  if (is_undecided(outcome)) return kExitStopped;
  if (command.counts_only && outcome.judged.explored.ending == Ending::Complete) return kExitFine;
  const bool lacks_steps = command.wants_all_steps && !outcome.judged.explored.unreached.empty();
  switch (outcome.judged.verdict()) {
    case Verdict::Safe:
      return lacks_steps ? kExitUnreached : kExitFine;
    case Verdict::GivesUp:
      return lacks_steps ? kExitUnreached : kExitGivesUp;
    case Verdict::Hangs:
    case Verdict::Refuted:
      return kExitRefuted;
    case Verdict::Stopped:
      return kExitStopped;
  }
  return kExitStopped;
}

}  // namespace

int run_explore(const ExploreCommand& command, const Streams& io) {
  const auto options = explorer_options(command.search, io);
  if (!options) return refuse(io, options.error());
  const auto subject = subject_of(command);
  if (!subject) return refuse(io, subject.error());
  const Machine& machine = subject->machine;
  if (!command.promela_path.empty()) {
    const auto text = promela(machine);
    if (!text) return refuse(io, text.error());
    const auto written = write_file(command.promela_path, *text);
    if (!written) return refuse(io, written.error());
  }
  const auto outcome = search(command, machine, *options, io);
  if (!outcome) return refuse(io, outcome.error());
  command.search.is_json ? print_json(command, *subject, *outcome, io)
                         : print_text(command, *subject, *outcome, io);
  if (!command.svg_path.empty() && outcome->trace) {
    const std::string title =
        fmt::format("{}{}{}", machine.scenario.name, command.search.environment.empty() ? "" : ", ",
                    command.search.environment);
    const auto written = write_file(command.svg_path, trace_svg(machine, *outcome->trace, title));
    if (!written) return refuse(io, written.error());
  }
  return status_of(command, *outcome);
}

}  // namespace portcullis::tools::failover_check
