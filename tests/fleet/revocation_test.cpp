// SPDX-License-Identifier: BSD-3-Clause
//
// What a node stands as, for each thing that etcd may have of it: no better than what is written.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "fleet/base64.hpp"
#include "fleet/revocation.hpp"
#include "tests/fleet/fake_gateway.hpp"

namespace portcullis::fleet {
namespace {

constexpr std::uint64_t kTenant = 7;
constexpr std::uint64_t kEpoch = 50;
constexpr std::uint64_t kNode = 0xa;

std::string entry(const std::string& key, const std::string& value) {
  return fmt::format(R"({{"key":"{}","value":"{}"}})", to_base64(key), to_base64(value));
}

std::string found(const std::string& entries) {
  return R"({"response_range":{"kvs":[)" + entries + "]}}";
}

std::string txn_answer(const std::vector<std::string>& responses) {
  std::string all;
  for (const std::string& each : responses) all += (all.empty() ? "" : ",") + each;
  return fmt::format(
      R"({{"header":{{"cluster_id":"1","revision":"{}"}},"succeeded":true,"responses":[{}]}})",
      kEpoch, all);
}

const std::string kMember = entry(member_key("a"), json_of(Member{.node = kNode}));
const std::string kEnded =
    entry(member_key("a"), json_of(Member{.node = kNode, .has_ended = true}));
const std::string kSession =
    entry(session_key("a"), json_of(Registration{.node = kNode, .incarnation = 1}));

std::string outcome(std::uint64_t epoch, std::uint64_t node, std::uint32_t fenced) {
  return entry(
      outcome_key(kTenant, "a"),
      json_of(Outcome{
          .epoch = epoch, .node = node, .incarnation = 1, .torn_down = 3, .fenced = fenced}));
}

/// What etcd has when the epoch is raised, and when it is looked at again.
struct Store {
  std::string members = kMember;
  std::string sessions = kSession;
  std::string outcomes = "";
  std::string members_then = kMember;
  std::string sessions_then = kSession;
};

/// Node a, as it stands in the end.
NodeStanding standing_of(const Store& store) {
  const FakeGateway gateway([&store](const FakeGateway::Asked& asked) -> FakeGateway::Answer {
    const bool is_raise = asked.body.find("request_put") != std::string::npos;
    return {.body = is_raise ? txn_answer({R"({"response_put":{}})", found(store.members),
                                           found(store.sessions)})
                             : txn_answer({found(store.outcomes), found(store.members_then),
                                           found(store.sessions_then)})};
  });
  auto etcd = *Etcd::create({.endpoints = {gateway.url()}, .deadline_ms = 30'000});
  auto revocation = *Revocation::raise(*etcd, kTenant);
  EXPECT_TRUE(revocation.look());
  EXPECT_EQ(revocation.epoch(), kEpoch);
  EXPECT_EQ(revocation.nodes().size(), 1U);
  return revocation.nodes().at(0);
}

TEST(Standing, OutcomeAtTheEpoch_IsTornDown) {
  const auto node = standing_of({.outcomes = outcome(kEpoch, kNode, 0)});

  EXPECT_EQ(node.standing, Standing::TornDown);
  EXPECT_EQ(node.torn_down, 3U);
}

TEST(Standing, OutcomeAboveTheEpoch_IsTornDown) {
  EXPECT_EQ(standing_of({.outcomes = outcome(kEpoch + 1, kNode, 0)}).standing, Standing::TornDown);
}

TEST(Standing, OutcomeWithSlotsFenced_IsFenced) {
  const auto node = standing_of({.outcomes = outcome(kEpoch, kNode, 2)});

  EXPECT_EQ(node.standing, Standing::Fenced);
  EXPECT_EQ(node.fenced, 2U);
}

TEST(Standing, OutcomeBelowTheEpoch_IsUnreachable) {
  EXPECT_EQ(standing_of({.outcomes = outcome(kEpoch - 1, kNode, 0)}).standing,
            Standing::Unreachable);
}

TEST(Standing, OutcomeOfAnotherNodeOfThatName_IsUnreachable) {
  EXPECT_EQ(standing_of({.outcomes = outcome(kEpoch, kNode + 1, 0)}).standing,
            Standing::Unreachable);
}

TEST(Standing, OutcomeThatCannotBeRead_IsUnreachable) {
  EXPECT_EQ(standing_of({.outcomes = entry(outcome_key(kTenant, "a"), R"({"epoch":50})")}).standing,
            Standing::Unreachable);
}

TEST(Standing, NoOutcomeWithASession_IsUnreachableYet) {
  const auto node = standing_of({});

  EXPECT_EQ(node.standing, Standing::Unreachable);
  EXPECT_TRUE(node.has_session);
  EXPECT_EQ(node.remark, "it has a session, and has not answered yet");
}

TEST(Standing, NoOutcomeWithoutASession_IsUnreachable) {
  const auto node = standing_of({.sessions_then = ""});

  EXPECT_EQ(node.standing, Standing::Unreachable);
  EXPECT_FALSE(node.has_session);
}

TEST(Standing, SessionOfAnotherNodeOfThatName_IsNotItsOwn) {
  const std::string others =
      entry(session_key("a"), json_of(Registration{.node = kNode + 1, .incarnation = 1}));

  EXPECT_FALSE(standing_of({.sessions_then = others}).has_session);
}

TEST(Standing, MemberThatHadEnded_IsTornDown) {
  EXPECT_EQ(standing_of({.members = kEnded, .sessions = "", .sessions_then = ""}).standing,
            Standing::TornDown);
}

TEST(Standing, MemberThatEndsMeanwhile_IsTornDown) {
  EXPECT_EQ(standing_of({.members_then = kEnded, .sessions_then = ""}).standing,
            Standing::TornDown);
}

TEST(Standing, AnotherNodeOfThatNameThatHasEnded_SaysNothingOfThisOne) {
  const std::string other =
      entry(member_key("a"), json_of(Member{.node = kNode + 1, .has_ended = true}));

  EXPECT_EQ(standing_of({.members_then = other, .sessions_then = ""}).standing,
            Standing::Unreachable);
}

TEST(Standing, MemberThatCannotBeRead_IsUnreachableWhateverItSays) {
  const auto node =
      standing_of({.members = entry(member_key("a"), "?"), .outcomes = outcome(kEpoch, kNode, 0)});

  EXPECT_EQ(node.standing, Standing::Unreachable);
  EXPECT_FALSE(node.remark.empty());
}

}  // namespace
}  // namespace portcullis::fleet
