// SPDX-License-Identifier: BSD-3-Clause
//
// Counterexamples: each is a run of the machine, none is shorter, text and chart tell it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "failover/explore/chart.hpp"
#include "failover/protocols/text.hpp"
#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using ::testing::HasSubstr;
using testing::machine_of;
using ::testing::StartsWith;

/// The number of the first step that is not one of the machine, or the length.
std::size_t legal_steps(const Machine& machine, const Trace& trace) {
  AnyState now = machine.initial;
  for (std::size_t at = 0; at < trace.steps.size(); ++at) {
    const auto possible = testing::steps_of(machine, now);
    const auto found = std::find_if(possible.begin(), possible.end(), [&](const auto& step) {
      return step.label == trace.steps[at].label && step.next == trace.steps[at].state;
    });
    if (found == possible.end()) return at;
    now = found->next;
  }
  return trace.steps.size();
}

TEST(Trace, OfABlindFadd_IsARunOfTheMachine) {
  const Machine machine = machine_of("blind-fadd");
  const auto trace = shortest_violation(machine, false, 1000).value();
  EXPECT_EQ(trace.violation, Violation::AtMostOnce);
  EXPECT_EQ(legal_steps(machine, trace), trace.steps.size());
}

TEST(Trace, ThroughCanonicalStates_IsStillARunOfRealClients) {
  const Machine machine = machine_of("tagged-cas", {.clients = 2, .operations = 2});
  const auto trace = shortest_violation(machine, true, 1'000'000).value();
  EXPECT_EQ(legal_steps(machine, trace), trace.steps.size());
}

TEST(Trace, IsAsLongAsTheSearchWasDeep) {
  const Machine machine = machine_of("lease-early", {.environment = Environment::Reuse});
  const auto trace = shortest_violation(machine, false, 100'000).value();
  EXPECT_EQ(trace.steps.size(), explore(machine, {}).value().depth);
}

/// Two executions of one FADD are seen once its client has ended, in five steps; that it is told to
/// be not done, and was, in six.
constexpr std::string_view kTwoBreaks = R"({
  "protocol": "p", "bounds": {"late": 2, "timeouts": 1},
  "judge": {"history": true, "placement_order": false},
  "work_requests": [{"name": "a", "opcode": "FADD", "operand": 1},
                    {"name": "b", "opcode": "FADD", "operand": 1}],
  "steps": [{"post": "a"}, {"post": "b"}, {"await": "a", "keep": true, "on_timeout": "end"},
            {"test": {"equals": 0}, "else": "tell"},
            {"label": "tell", "report": "not-done"}, {"label": "end", "end": true}]})";

TEST(Trace, OfAStateThatBreaksBeforeAStepDoes_IsOfTheSameViolationAndDepthAsTheSearch) {
  const Scenario scenario = read_protocol(kTwoBreaks, "p").value().environments[0].scenario;
  const Machine machine = compile(scenario).value();
  const Exploration explored = explore(machine, {}).value();
  EXPECT_EQ(explored.violation, Violation::Linearizability);
  EXPECT_EQ(explored.depth, 5U);
  const auto trace = shortest_violation(machine, false, 1000).value();
  EXPECT_EQ(trace.violation, explored.violation);
  EXPECT_EQ(trace.steps.size(), explored.depth);
}

TEST(Trace, OfASafeProtocol_IsNone) {
  EXPECT_FALSE(shortest_violation(machine_of("lease"), false, 1'000'000).has_value());
}

TEST(Trace, ThatIsStopped_IsNone) {
  const std::atomic<bool> stop{true};
  EXPECT_FALSE(shortest_violation(machine_of("blind-fadd"), false, 1000, &stop).has_value());
}

TEST(TraceText, TellsEveryStepAndWhatBroke) {
  const Machine machine = machine_of("blind-fadd");
  const std::string text = trace_text(machine, *shortest_violation(machine, false, 1000));
  EXPECT_THAT(text, StartsWith("  1  client 0: post FADD\n"));
  EXPECT_THAT(text, HasSubstr("responder 0: FADD again executes, memory is 2\n"));
  EXPECT_THAT(text, HasSubstr("=> at-most-once: one operation took effect twice\n"));
}

TEST(TraceSvg, IsOneClosedPicture) {
  const Machine machine = machine_of("lease-early", {.environment = Environment::Reuse});
  const std::string svg =
      trace_svg(machine, *shortest_violation(machine, false, 100'000), "a <title>");
  EXPECT_THAT(svg, HasSubstr("<svg xmlns="));
  EXPECT_THAT(svg, ::testing::EndsWith("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("a &lt;title&gt;"));
  EXPECT_THAT(svg, HasSubstr("receiver CPU"));
}

}  // namespace
}  // namespace portcullis::failover
