// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock cbd: which buffers wait for which in a circle, who makes them, what breaks them, and
// which failures bring them about.
#include "tools/pfc_deadlock/command.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "pfc/cbd/advice.hpp"
#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/failures.hpp"
#include "pfc/cbd/report.hpp"
#include "pfc/cbd/reroute.hpp"
#include "pfc/cbd/rewritten.hpp"
#include "pfc/topology_json.hpp"
#include "program/standard_streams.hpp"
#include "tools/pfc_deadlock/fabric_input.hpp"
#include "tools/pfc_deadlock/input.hpp"
#include "tools/pfc_deadlock/page.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

namespace cbd = pfc::cbd;

const Words<cbd::Traffic> traffic_words = {
    {"all", cbd::Traffic::All}, {"flows", cbd::Traffic::Flows}, {"routes", cbd::Traffic::Routes}};
const Words<std::optional<cbd::Reaction>> reaction_words = {
    {"usual", std::nullopt},
    {"converged", cbd::Reaction::Converged},
    {"valley-free", cbd::Reaction::ValleyFree},
    {"as-given", cbd::Reaction::AsGiven},
    {"local", cbd::Reaction::Local},
    {"transient", cbd::Reaction::Transient}};

const Words<cbd::Remedy> remedy_words = {{"rewrites", cbd::Remedy::Rewrites},
                                         {"lossy", cbd::Remedy::Lossy},
                                         {"reroute", cbd::Remedy::Reroute}};

struct CbdOptions {
  std::string name;
  std::vector<std::string> settings;
  std::vector<std::uint32_t> priorities;
  cbd::Traffic traffic = cbd::Traffic::All;
  bool no_breaks = false;
  cbd::Remedy remedy = cbd::Remedy::Rewrites;  // where there is an `advice`
  std::string advice;
  Format format = Format::Text;
  std::string report;
  cbd::FailureOptions failures{.failures = 0};
};

void describe(CLI::App& app, CbdOptions& options) {
  app.add_option("SCENARIO", options.name, kFabricHelp)->required();
  app.add_option("--set", options.settings, "NAME=VALUE, applied before (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--priority", options.priorities,
                 "only this one (may be repeated); all that flows use otherwise. Where priorities "
                 "are rewritten: cycles through a buffer of it")
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 7));
  add_choice(app, "--traffic", options.traffic, traffic_words,
             "whose paths count: flows (a routed flow takes every next hop that it is offered), "
             "routes (whatever they permit between hosts), or all");
  app.add_flag("--no-breaks", options.no_breaks, "do not work out what breaks the cycles");
  auto* const advise =
      add_choice(app, "--advise", options.remedy, remedy_words,
                 "write the fabric with what breaks its cycles in it: rewrites (data changes its "
                 "priority at turns), lossy (links that never pause), or reroute (other ways)")
          ->default_str("");
  auto* const advice =
      app.add_option("--advice", options.advice, "FILE for --advise; it is read back and judged")
          ->needs(advise);
  advise->needs(advice);
  add_choice(app, "--format", options.format, format_words, "text, json or csv");
  app.add_option("--report", options.report, kReportHelp);
  CLI::Option* fail =
      app.add_option(
             "--fail", options.failures.failures,
             "take out every set of this many cables, see what routing makes of it, and ask the "
             "same of the same flows, priorities and traffic")
          ->check(CLI::Range(1, 64));
  add_choice(app, "--reaction", options.failures.reaction, reaction_words,
             "converged: shortest paths anew; valley-free: up, then down, else dropped, as BGP in "
             "a Clos; as-given: nothing is routed anew; local: only who lost a link knows, and "
             "nothing prevents loops; transient: old and converged routes in any mixture; usual: "
             "valley-free in a Clos routed so, else converged. Paths of flows are kept by all")
      ->needs(fail);
  app.add_option("--most", options.failures.most_sets, "draw so many sets when there are more")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str()
      ->needs(fail);
  app.add_option("--seed", options.failures.seed, "of what is drawn")
      ->capture_default_str()
      ->needs(fail);
  app.add_option("--threads", options.failures.threads, "results do not depend on it")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->needs(fail);
  app.footer(
      "exit status: 0 no cycle, nor after any failure that was looked at; 1 a cycle; 2 bad "
      "arguments "
      "or a bad file, or nothing to look at; 130 Ctrl-C, 143 SIGTERM");
}

std::vector<cbd::Analysis> analyses_of(const pfc::Topology& topology,
                                       const std::vector<std::uint32_t>& priorities,
                                       const CbdOptions& options, Console& console) {
  const cbd::Traffic traffic = options.traffic;
  if (!topology.rewrites.empty())
    return {cbd::analyse_rewritten(
        topology, priorities,
        {.traffic = traffic, .only = options.priorities, .with_breaks = !options.no_breaks})};
  std::vector<cbd::Analysis> analyses;
  for (const std::uint32_t priority : priorities)
    if (!console.is_stopped)
      analyses.push_back(cbd::analyse(topology, priority,
                                      {.traffic = traffic, .with_breaks = !options.no_breaks}));
  return analyses;
}

bool have_cycle(const std::vector<cbd::Analysis>& analyses) {
  return !std::ranges::all_of(analyses, &cbd::Analysis::is_free_of_cycles);
}

/// What other data has a cycle though this advice breaks those that were asked for; empty: none.
std::string others_text(const pfc::Topology& read, const CbdOptions& options, Console& console) {
  CbdOptions whole;
  whole.no_breaks = true;
  const auto priorities = cbd::check_question(read, {}, cbd::Traffic::All);
  if (!priorities || !have_cycle(analyses_of(read, *priorities, whole, console))) return {};
  return fmt::format("{0}: not all data in it is free of cycles: pfc-deadlock cbd {0}\n",
                     options.advice);
}

std::string change_text(const cbd::Advice& advice, cbd::Remedy remedy, std::size_t outgrown) {
  if (remedy == cbd::Remedy::Reroute)
    return fmt::format(
        "other routes to {} destinations, a path of their own for {} flows; what arrived still "
        "does{}",
        advice.destinations, advice.flows,
        outgrown == 0 ? ""
                      : fmt::format(", but for {} flows whose ttl no longer suffices", outgrown));
  return fmt::format("{} {}; priorities {} suffice", advice.changes,
                     remedy == cbd::Remedy::Lossy ? "links made lossy" : "rewrites",
                     fmt::join(advice.priorities, ", "));
}

/// A line for each flow whose packets would be too old at the end of its new ways.
std::string outgrown_text(const pfc::Topology& read, const std::vector<cbd::OutgrownTtl>& outgrown,
                          const std::string& file) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < outgrown.size() && i < kShown; ++i) {
    const pfc::Flow& flow = read.flows[outgrown[i].flow];
    text += fmt::format("{}: flow {}: its ttl, {}, no longer suffices; {} does\n", file, flow.name,
                        flow.ttl, outgrown[i].links);
  }
  if (outgrown.size() > kShown)
    text += fmt::format("{}: and {} flows more\n", file, outgrown.size() - kShown);
  return text;
}

/// Writes the fabric with what was advised in it, and judges what it has written as any other file.
Result<void> write_advice(const pfc::Topology& topology,
                          const std::vector<std::uint32_t>& priorities, const CbdOptions& options,
                          Console& console) {
  PORTCULLIS_TRY_ASSIGN(const cbd::Advice advice,
                        cbd::advise(topology, priorities, options.traffic, options.remedy));
  const auto written = program::write_output(options.advice, pfc::to_json(advice.topology));
  if (!written) {
    program::note_lost_file("--advice " + written.error().text);
    return {};
  }
  PORTCULLIS_TRY_ASSIGN(const std::string text, read_file(options.advice));
  PORTCULLIS_TRY_ASSIGN(const pfc::Topology read, pfc::parse_topology(text, options.advice));
  CbdOptions plain = options;
  plain.no_breaks = true;
  plain.priorities = {};  // what becomes of the data that was asked for, too
  const bool has_cycle = have_cycle(analyses_of(read, priorities, plain, console));
  const std::string others = others_text(read, options, console);
  if (console.is_stopped) return fail(Errc::Timeout, "stopped before the advice was judged");
  if (has_cycle)
    return fail(Errc::Malformed,
                fmt::format("{}: read back it has a cycle; do not use it", options.advice));
  if (const auto lost = cbd::lost_way(topology, read, options.traffic))
    return fail(Errc::Malformed,
                fmt::format("{}: read back it loses {}; do not use it", options.advice, *lost));
  const auto outgrown = cbd::outgrown_ttls(topology, read);
  fmt::print(console.err,
             "{}: {}; read back, data that begins in priority {} (--traffic {}) has no cycle\n{}{}",
             options.advice, change_text(advice, options.remedy, outgrown.size()),
             fmt::join(priorities, ", "), word_of(traffic_words, options.traffic),
             outgrown_text(read, outgrown, options.advice), others);
  return {};
}

std::vector<std::vector<std::string>> cycle_rows(const pfc::Topology& topology,
                                                 const std::vector<cbd::Analysis>& analyses) {
  std::vector<std::vector<std::string>> rows;
  for (const cbd::Analysis& analysis : analyses)
    for (const cbd::Component& component : analysis.components)
      for (std::size_t i = 0; i < component.shortest.size(); ++i) {
        const std::size_t next = (i + 1) % component.shortest.size();
        std::string users;
        for (const cbd::User& user : component.users[i])
          users += (users.empty() ? "" : ", ") + cbd::name_of(user, topology);
        const std::uint32_t priority =
            component.priorities.empty() ? analysis.priority : component.priorities[i];
        rows.push_back({topology.links[component.shortest[i]].name,
                        topology.links[component.shortest[next]].name, std::to_string(priority),
                        users});
      }
  return rows;
}

/// What of the fabric's data nobody wanted to be looked at.
void add_what_was_asked(const CbdOptions& options, std::vector<std::string>& limits) {
  if (options.traffic != cbd::Traffic::All)
    limits.push_back("Only the paths of " + word_of(traffic_words, options.traffic) +
                     " were looked at (--traffic).");
  if (!options.priorities.empty())
    limits.push_back(
        fmt::format("Only priority {} was asked for.", fmt::join(options.priorities, ", ")));
}

void report_page(const pfc::Topology& topology, const CbdOptions& options, Arguments arguments,
                 const std::vector<cbd::Analysis>& analyses) {
  Page page("cbd", arguments, topology);
  page.printed(cbd::analysis_text(topology, analyses));
  std::vector<std::string> limits{
      "A circle is what a deadlock needs, not a deadlock: whether traffic fills it, fluid and "
      "packet show.",
      "Failures of cables, and routes while they change, were not looked at (--fail)."};
  add_what_was_asked(options, limits);
  page.not_looked_at(limits);
  std::vector<pfc::LinkId> cycle;
  for (const cbd::Analysis& analysis : analyses)
    if (cycle.empty() && !analysis.components.empty()) cycle = analysis.components[0].shortest;
  page.fabric(cycle);
  page.heading("Who waits for whom, in a shortest circle of each component");
  page.table({"link", "waits for", "priority", "because of"}, cycle_rows(topology, analyses));
  page.keep(options.report);
}

void failures_page(const pfc::Topology& topology, const CbdOptions& options, Arguments arguments,
                   const std::string& text, bool is_sampled) {
  Page page("cbd", arguments, topology);
  page.printed(text);
  std::vector<std::string> limits{
      fmt::format("Sets of other than {} cables, and whole nodes, were not looked at.",
                  options.failures.failures),
      "A circle is what a deadlock needs, not a deadlock: whether traffic fills it, fluid and "
      "packet show."};
  if (is_sampled) limits.emplace_back("Only the sets that were drawn were looked at (--most).");
  add_what_was_asked(options, limits);
  page.not_looked_at(limits);
  page.fabric({});
  page.keep(options.report);
}

std::string text_of(Format format, const pfc::Topology& topology,
                    const std::vector<cbd::Analysis>& analyses) {
  switch (format) {
    case Format::Json:
      return cbd::analysis_json(topology, analyses);
    case Format::Csv:
      return cbd::analysis_csv(topology, analyses);
    case Format::Text:
      break;
  }
  return cbd::analysis_text(topology, analyses);
}

std::string text_of(Format format, const pfc::Topology& topology, const cbd::FailureSweep& swept,
                    const cbd::FailureOptions& options) {
  switch (format) {
    case Format::Json:
      return cbd::failures_json(topology, swept, options);
    case Format::Csv:
      return cbd::failures_csv(topology, swept);
    case Format::Text:
      break;
  }
  return cbd::failures_text(topology, swept, options);
}

int analyse(const pfc::Topology& topology, const CbdOptions& options, Arguments arguments,
            Console& console) {
  const auto priorities = cbd::check_question(topology, options.priorities, options.traffic);
  if (!priorities) return refuse(console, "pfc-deadlock cbd", priorities.error());
  const auto analyses = analyses_of(topology, *priorities, options, console);
  if (console.is_stopped) return kExitInterrupted;
  if (const auto seen = cbd::check_looked_at(analyses); !seen)
    return refuse(console, "pfc-deadlock cbd", seen.error());
  console.out << text_of(options.format, topology, analyses);
  if (!options.report.empty()) report_page(topology, options, arguments, analyses);
  if (!options.advice.empty())
    if (const auto written = write_advice(topology, *priorities, options, console); !written) {
      const int status = refuse(console, "pfc-deadlock cbd", written.error());
      return console.is_stopped ? kExitInterrupted : status;
    }
  return have_cycle(analyses) ? kExitCycle : kExitDone;
}

int sweep(const pfc::Topology& topology, CbdOptions& options, Arguments arguments,
          Console& console) {
  options.failures.traffic = options.traffic;
  options.failures.priorities = options.priorities;
  options.failures.progress = [&console](std::size_t done, std::size_t all) {
    const std::size_t step = std::max<std::size_t>(all / 100, 1);
    if (console.shows_progress && (done % step == 0 || done == all))
      fmt::print(console.err, "\r{} of {} sets of failed cables{}", done, all,
                 done == all ? "\n" : "");
    return !console.is_stopped;
  };
  const auto swept = cbd::sweep_failures(topology, options.failures);
  if (!swept) {
    const int status = refuse(console, "pfc-deadlock cbd", swept.error());
    return console.is_stopped ? kExitInterrupted : status;
  }
  console.out << text_of(options.format, topology, *swept, options.failures);
  if (!options.report.empty())
    failures_page(topology, options, arguments,
                  cbd::failures_text(topology, *swept, options.failures), swept->is_sampled);
  return swept->is_free_of_cycles() ? kExitDone : kExitCycle;
}

}  // namespace

int run_cbd(Arguments arguments, Console& console) {
  CLI::App app(
      "Finds cyclic buffer dependencies: links that wait for each other in a circle, without which "
      "PFC cannot deadlock; who makes them, and the changes that break them.",
      "pfc-deadlock cbd");
  CbdOptions options;
  describe(app, options);
  if (const auto status = parse(app, arguments, console)) return *status;
  const auto topology = load_fabric(options.name, options.settings);
  if (!topology) return refuse(console, "pfc-deadlock cbd", topology.error());
  if (options.failures.failures > 0 && !options.advice.empty())
    return refuse(console, "pfc-deadlock cbd",
                  Error{Errc::InvalidArgument, "--advise: of the fabric as it is, without --fail"});
  if (const auto files = check_outputs({{"--advice", options.advice}, {"--report", options.report}},
                                       {fabric_file(options.name)});
      !files)
    return refuse(console, "pfc-deadlock cbd", files.error());
  return options.failures.failures > 0 ? sweep(*topology, options, arguments, console)
                                       : analyse(*topology, options, arguments, console);
}

}  // namespace portcullis::tools::pfc_deadlock
