// SPDX-License-Identifier: BSD-3-Clause
//
// The table of protocols against what is argued about them elsewhere: failover/proofs and the
// published designs. Each row names the violation that the argument predicts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "failover/protocols/policies.hpp"
#include "failover/protocols/table.hpp"
#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

constexpr Environment kQuiet = Environment::Quiet;
constexpr Environment kReuse = Environment::Reuse;
constexpr Environment kOthers = Environment::OtherWriters;
constexpr Environment kAba = Environment::Aba;

struct Expected {
  const char* model;
  Environment environment;
  unsigned late;
  Violation violation;
};

class Protocols : public ::testing::TestWithParam<Expected> {};

TEST_P(Protocols, Verdict_IsTheOneArguedFor) {
  const Expected& row = GetParam();
  const auto& all = models();
  const auto info = std::find_if(all.begin(), all.end(),
                                 [&](const ModelInfo& model) { return model.name == row.model; });
  ASSERT_NE(info, all.end());
  const Machine machine = testing::machine_of(row.model, {.clients = info->least_clients,
                                                          .operations = info->least_operations,
                                                          .late = row.late,
                                                          .environment = row.environment});
  ExploreOptions options;
  options.threads = 2;
  EXPECT_STREQ(name_of(explore(machine, options).value().violation), name_of(row.violation));
}

std::string row_name(const ::testing::TestParamInfo<Expected>& info) {
  std::string name = fmt::format("{}_{}_late{}", info.param.model, name_of(info.param.environment),
                                 info.param.late);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// T1b of failover/proofs: READ always, WRITE when quiet, FADD never, CAS's memory when quiet.
INSTANTIATE_TEST_SUITE_P(
    BlindReposts, Protocols,
    ::testing::Values(Expected{"blind-read", kOthers, 1, Violation::None},
                      Expected{"blind-read", kAba, 1, Violation::None},
                      Expected{"blind-write", kQuiet, 1, Violation::None},
                      Expected{"blind-write", kReuse, 0, Violation::GhostWrite},
                      Expected{"blind-write", kOthers, 0, Violation::AtMostOnce},
                      Expected{"blind-send", kQuiet, 0, Violation::DuplicateNotification},
                      Expected{"blind-fadd", kQuiet, 0, Violation::AtMostOnce},
                      Expected{"blind-cas", kQuiet, 0, Violation::Result},
                      Expected{"blind-cas", kAba, 0, Violation::AtMostOnce}),
    row_name);

// A fence, and nothing less, makes a WRITE repostable where memory is reused.
INSTANTIATE_TEST_SUITE_P(
    Fences, Protocols,
    ::testing::Values(Expected{"blind-write-notified", kReuse, 0, Violation::None},
                      Expected{"blind-write-notified", kReuse, 1, Violation::GhostWrite},
                      Expected{"lease-early", kReuse, 1, Violation::GhostWrite},
                      Expected{"lease", kReuse, 1, Violation::None},
                      Expected{"lease", kReuse, 3, Violation::None},
                      Expected{"lease", kOthers, 1, Violation::AtMostOnce}),
    row_name);

// Evidence is worth what the timer, or a fence, makes of the packets still on their way.
INSTANTIATE_TEST_SUITE_P(
    Evidence, Protocols,
    ::testing::Values(Expected{"probe-record", kQuiet, 0, Violation::DuplicateNotification},
                      Expected{"probe-record-prompt", kQuiet, 0, Violation::None},
                      Expected{"probe-record-prompt", kQuiet, 1, Violation::DuplicateNotification},
                      Expected{"probe-record-fenced", kReuse, 1, Violation::None},
                      Expected{"psn-token", kQuiet, 0, Violation::None},
                      Expected{"psn-token", kQuiet, 1, Violation::AtMostOnce},
                      Expected{"psn-token-fenced", kAba, 1, Violation::None},
                      Expected{"log", kQuiet, 0, Violation::None},
                      Expected{"log", kQuiet, 1, Violation::AtMostOnce},
                      Expected{"log-fenced", kOthers, 1, Violation::None},
                      Expected{"log-dedup", kOthers, 1, Violation::None}),
    row_name);

// T4a: a receipt beside the atomic, on either side, is a prefix away from the truth.
INSTANTIATE_TEST_SUITE_P(Receipts, Protocols,
                         ::testing::Values(Expected{"receipt-before", kQuiet, 0, Violation::Result},
                                           Expected{"receipt-before", kAba, 0, Violation::Result},
                                           Expected{"receipt-after", kQuiet, 0, Violation::None},
                                           Expected{"receipt-after", kAba, 0,
                                                    Violation::AtMostOnce}),
                         row_name);

// Recoverable CAS: without help undetectable; helping by WRITE may go backwards; by CAS it does
// not.
INSTANTIATE_TEST_SUITE_P(
    TaggedCas, Protocols,
    ::testing::Values(Expected{"tagged-cas", kQuiet, 1, Violation::Result},
                      Expected{"tagged-help-write", kQuiet, 0, Violation::None},
                      Expected{"tagged-help-write", kQuiet, 1, Violation::Result},
                      Expected{"tagged-help-cas", kQuiet, 1, Violation::None}),
    row_name);

TEST(ProtocolTable, HasOneRowForEachModelAndEnvironment) {
  unsigned rows = 0;
  const auto table =
      protocol_table({.limits = {0, 0, 1}}, {}, [&](const ProtocolVerdict&) { ++rows; });
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->size(), models().size() * 4);
  EXPECT_EQ(rows, table->size());
}

/// The rows of the table in docs/failover.md for that many late packets.
std::vector<std::string> documented_rows(unsigned late) {
  std::ifstream file(PORTCULLIS_FAILOVER_DOC);
  const std::string heading = fmt::format("`failover-check protocols --late {}`", late);
  std::vector<std::string> rows;
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    is_inside = line.starts_with(heading) || (is_inside && !line.starts_with("`"));
    const bool is_row = line.starts_with("| ") && !line.starts_with("| protocol");
    if (is_inside && is_row && rows.size() < models().size()) rows.push_back(line);
  }
  return rows;
}

class Documented : public ::testing::TestWithParam<unsigned> {};

TEST_P(Documented, Table_IsWhatIsExplored) {
  std::vector<std::string> rows;
  ExploreOptions options;
  options.threads = 2;
  const auto table =
      protocol_table({.limits = {GetParam(), 0, 1}}, options, [&](const ProtocolVerdict& row) {
        if (row.parameters.environment == Environment::Quiet)
          rows.push_back(fmt::format("| {} |", row.model.name));
        rows.back() += fmt::format(" {} |", row.judged.verdict() == Verdict::Refuted
                                                ? name_of(row.judged.explored.violation)
                                                : name_of(row.judged.verdict()));
      });
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(rows, documented_rows(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Late, Documented, ::testing::Values(0U, 1U));

class Policies : public ::testing::TestWithParam<PolicyModel> {};

TEST_P(Policies, EveryTable_IsRefutedByARun) {
  const auto run = refute_all_policies(GetParam().name).value();
  EXPECT_EQ(run.verdicts.size(), std::size_t{1} << run.decisions);
  EXPECT_TRUE(run.all_refuted());
  EXPECT_TRUE(std::none_of(run.verdicts.begin(), run.verdicts.end(),
                           [](const auto& verdict) { return verdict.trace.steps.empty(); }));
}

INSTANTIATE_TEST_SUITE_P(Models, Policies, ::testing::ValuesIn(policy_models()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Policies, UnknownModel_IsRefusedWithTheNames) {
  const auto refused = refute_all_policies("nope");
  EXPECT_NE(refused.error().text.find("'nope' is unknown, accepted are write-reuse"),
            std::string::npos);
}

/// What a sender knows of a run: its own posts, completions and timeouts, in order.
std::vector<std::string> view_of(const Machine& machine, const Trace& trace) {
  std::vector<std::string> view;
  for (const TraceStep& step : trace.steps) {
    const bool is_seen = step.label.action == Action::Post ||
                         step.label.action == Action::Complete ||
                         step.label.action == Action::TimeOut;
    if (is_seen) view.push_back(describe(machine, step.label));
    if (step.label.action == Action::Decide) break;
  }
  return view;
}

TEST(Policies, BothAnswersToOneView_AreWrong) {
  const auto run = refute_all_policies("write-reuse").value();
  ASSERT_EQ(run.verdicts.size(), 2U);
  EXPECT_EQ(view_of(run.machine, run.verdicts[0].trace),
            view_of(run.machine, run.verdicts[1].trace));
}

}  // namespace
}  // namespace portcullis::failover
