// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/protocols.hpp>

#include <algorithm>
#include <utility>

#include "failover/explore/chart.hpp"
#include "failover/explore/verdict.hpp"
#include "failover/protocols/models.hpp"
#include "failover/protocols/table.hpp"
#include "failover/protocols/text.hpp"
#include "failover/semantics/machine.hpp"
#include "front/one_line.hpp"

namespace portcullis {
namespace {

failover::Environment environment_of(Surroundings surroundings) {
  switch (surroundings) {
    case Surroundings::Quiet:
      return failover::Environment::Quiet;
    case Surroundings::Reuse:
      return failover::Environment::Reuse;
    case Surroundings::OtherWriters:
      return failover::Environment::OtherWriters;
    case Surroundings::Aba:
      return failover::Environment::Aba;
  }
  return failover::Environment::OtherWriters;
}

ExploreEnding ending_of(const failover::Judged& judged) {
  switch (judged.explored.ending) {
    case failover::Ending::Complete:
      break;
    case failover::Ending::Violated:
      return ExploreEnding::Refuted;
    case failover::Ending::Interrupted:
      return ExploreEnding::Stopped;
    case failover::Ending::MemoryLimit:
    case failover::Ending::StateLimit:
      return ExploreEnding::OutOfMemory;
  }
  switch (judged.verdict()) {
    case failover::Verdict::Hangs:
      return ExploreEnding::Hangs;
    case failover::Verdict::GivesUp:
      return ExploreEnding::GivesUp;
    case failover::Verdict::Stopped:
      return ExploreEnding::Stopped;
    default:
      return ExploreEnding::Safe;
  }
}

failover::Parameters parameters_of(const ExploreBounds& bounds) {
  failover::Parameters parameters;
  parameters.clients = bounds.clients;
  parameters.operations = bounds.operations;
  parameters.environment = environment_of(bounds.surroundings);
  parameters.limits = {.late = bounds.late,
                       .duplicates = bounds.duplicates,
                       .timeouts = bounds.timeouts,
                       .deaths = bounds.deaths};
  return parameters;
}

/// An unknown name is left for make_model() to refuse.
failover::Parameters raised(std::string_view protocol, failover::Parameters parameters) {
  const auto& models = failover::models();
  const auto model = std::ranges::find(models, protocol, &failover::ModelInfo::name);
  return model == models.end() ? parameters : failover::raised_to_model(*model, parameters);
}

/// Of what the models themselves do not see: they are given more than 0, and a known environment.
Result<void> check(const ExploreBounds& bounds) {
  if (bounds.clients == 0) return fail(Errc::InvalidArgument, "clients 0; 1 to 8 are accepted");
  if (bounds.operations == 0)
    return fail(Errc::InvalidArgument, "operations 0; 1 to 4 are accepted");
  if (bounds.surroundings <= Surroundings::Aba) return {};
  return fail(Errc::InvalidArgument,
              "surroundings " + std::to_string(static_cast<unsigned>(bounds.surroundings)) +
                  "; Quiet, Reuse, OtherWriters and Aba (0 to 3) are accepted");
}

Result<void> check(const ExploreOptions& options) {
  constexpr unsigned kMostThreads = 16;
  if (options.threads >= 1 && options.threads <= kMostThreads) return {};
  return fail(Errc::InvalidArgument,
              "threads " + std::to_string(options.threads) + "; 1 to 16 are accepted");
}

}  // namespace

std::vector<Protocol> protocols() {
  std::vector<Protocol> all;
  for (const failover::ModelInfo& model : failover::models())
    all.push_back(
        {std::string(model.name), std::string(model.idea), std::string(model.assumption)});
  return all;
}

std::string_view name(ExploreEnding ending) noexcept {
  switch (ending) {
    case ExploreEnding::Safe:
      return "safe";
    case ExploreEnding::Refuted:
      return "refuted";
    case ExploreEnding::GivesUp:
      return "gives-up";
    case ExploreEnding::Hangs:
      return "hangs";
    case ExploreEnding::Stopped:
      return "stopped";
    case ExploreEnding::OutOfMemory:
      return "out of memory";
  }
  return "?";
}

namespace {

Result<ExploreVerdict> explored(failover::Scenario scenario, const ExploreBounds& bounds,
                                const ExploreOptions& options) {
  PORTCULLIS_TRY_ASSIGN(const failover::Machine machine,
                        in_one_line(failover::compile(std::move(scenario))));
  failover::ExploreOptions inner;
  inner.threads = options.threads;
  inner.memory_limit_bytes = options.memory_bytes;
  inner.stop = options.stop;
  PORTCULLIS_TRY_ASSIGN(const failover::Judged judged,
                        in_one_line(failover::judge_protocol(machine, inner)));
  const failover::Exploration& found = judged.explored;
  ExploreVerdict verdict;
  verdict.ending = ending_of(judged);
  verdict.bounds = bounds;
  verdict.states = found.states;
  verdict.transitions = found.transitions;
  verdict.depth = found.depth;
  verdict.cut = found.cut;
  verdict.is_progress_judged = judged.progress.has_value();
  for (const failover::Unreached& one : found.unreached)
    verdict.unreached.push_back(failover::describe(machine.scenario, one));
  if (verdict.ending == ExploreEnding::Hangs && judged.progress)
    verdict.counterexample = failover::trace_text(machine, judged.progress->hang);
  if (verdict.ending != ExploreEnding::Refuted) return verdict;
  verdict.violation = failover::name_of(found.violation);
  const auto trace = failover::shortest_violation(
      machine, false, options.memory_bytes / failover::kTraceStateBytes, options.stop);
  if (trace) verdict.counterexample = failover::trace_text(machine, *trace);
  return verdict;
}

}  // namespace

Result<ExploreVerdict> explore(std::string_view protocol, const ExploreBounds& bounds,
                               const ExploreOptions& options) {
  PORTCULLIS_TRY(check(bounds));
  PORTCULLIS_TRY(check(options));
  const failover::Parameters parameters = raised(protocol, parameters_of(bounds));
  PORTCULLIS_TRY_ASSIGN(auto scenario, in_one_line(failover::make_model(protocol, parameters)));
  ExploreBounds met = bounds;
  met.clients = parameters.clients;
  met.operations = parameters.operations;
  return explored(std::move(scenario), met, options);
}

Result<ExploreVerdict> explore_text(std::string_view json, std::string_view file,
                                    std::string_view environment, const ExploreOptions& options) {
  PORTCULLIS_TRY(check(options));
  PORTCULLIS_TRY_ASSIGN(const auto protocol, in_one_line(failover::read_protocol(json, file)));
  PORTCULLIS_TRY_ASSIGN(auto scenario, in_one_line(protocol.in(environment)));
  ExploreBounds bounds;
  bounds.clients = scenario.clients;
  bounds.operations = scenario.operations;
  bounds.late = scenario.limits.late;
  bounds.duplicates = scenario.limits.duplicates;
  bounds.timeouts = scenario.limits.timeouts;
  bounds.deaths = scenario.limits.deaths;
  return explored(std::move(scenario), bounds, options);
}

}  // namespace portcullis
