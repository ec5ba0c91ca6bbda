// SPDX-License-Identifier: BSD-3-Clause
//
// The simulation itself: a seed is a history, faults come, and what must not be is seen.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "fleet/base64.hpp"
#include "tests/fleet/simulation/history.hpp"
#include "tests/fleet/simulation/operations.hpp"

namespace portcullis::fleet::simulation {
namespace {

using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class SimulationTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  History run(std::uint64_t seed) { return run_history({.seed = seed, .folder = folder}); }
  /// Of histories in which clocks are set; none up to `most`.
  std::optional<std::uint64_t> first_violated(std::uint64_t most) {
    for (std::uint64_t seed = 1; seed <= most; ++seed)
      if (!run_history({.seed = seed, .folder = folder, .sets_clocks = true}).violations.empty())
        return seed;
    return std::nullopt;
  }

  std::string folder = "/tmp/portcullis-XXXXXX";
};

TEST_F(SimulationTest, SameSeed_IsTheSameHistory) {
  const History once = run(3);

  EXPECT_EQ(once.said, run(3).said);
  EXPECT_THAT(once.said, Not(IsEmpty()));
}

TEST_F(SimulationTest, OtherSeed_IsAnotherHistory) { EXPECT_NE(run(3).digest, run(4).digest); }

TEST_F(SimulationTest, SomeHistories_HaveEveryAnswer) {
  Judge::Counts counts;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) counts.add(run(seed).counts);

  EXPECT_THAT(counts.answers, Each(Gt(0U)));
  EXPECT_GT(counts.granted, 500U);
}

/// Not a mutant of the code, but of what it is given: time by a clock that can be set.
TEST_F(SimulationTest, ClocksThatAreSet_AreFound) { EXPECT_TRUE(first_violated(100)); }

// ---- What failover's judge is given ------------------------------------------------------------

TEST(OperationsTest, WritesUntilTheAnswer_AreLinearizable) {
  Operations operations;
  operations.begins("a", 10);
  operations.told("a", 11);
  operations.lands("a", 20);
  operations.over("a", 5, 20);

  EXPECT_THAT(operations.wrong(), IsEmpty());
}

TEST(OperationsTest, WriteAfterTheAnswer_IsFound) {
  Operations operations;
  operations.begins("a", 10);
  operations.over("a", 5, 20);
  operations.lands("a", 21);

  EXPECT_THAT(operations.wrong(), ElementsAre(HasSubstr("then WRITE into a")));
}

TEST(OperationsTest, GrantAfterTheAnswer_IsFound) {
  Operations operations;
  operations.over("a", 5, 9);
  operations.begins("a", 10);

  EXPECT_THAT(operations.wrong(), ElementsAre(HasSubstr("held a")));
}

TEST(OperationsTest, LaterFenceOfALowerEpoch_IsFound) {
  Operations operations;
  operations.raised(7, 9, 1, 2);
  operations.raised(7, 8, 3, 4);
  operations.raised(6, 5, 3, 4);

  EXPECT_THAT(operations.wrong(), ElementsAre(HasSubstr("epoch 7")));
}

// ---- What is kept ------------------------------------------------------------------------------

json range(const std::string& key) { return {{"key", to_base64(key)}}; }
json put(const std::string& key, const std::string& value) {
  return {{"request_put", {{"key", to_base64(key)}, {"value", to_base64(value)}}}};
}
json mod_is(const std::string& key, std::uint64_t revision) {
  return {{"key", to_base64(key)},
          {"result", "EQUAL"},
          {"target", "MOD"},
          {"mod_revision", std::to_string(revision)}};
}
bool has_succeeded(const Reply& reply) { return json::parse(reply.body).value("succeeded", false); }

TEST(StoreTest, CompareThatDoesNotHold_WritesNothing) {
  Store store;
  store.put("a", "1");
  const Reply reply = store.txn({{"compare", {mod_is("a", 1)}}, {"success", {put("a", "2")}}});

  EXPECT_FALSE(has_succeeded(reply));
  EXPECT_EQ(store.find("a", store.revision())->value, "1");
}

TEST(StoreTest, KeyThatIsNotThere_HasRevisionZero) {
  Store store;

  EXPECT_TRUE(
      has_succeeded(store.txn({{"compare", {mod_is("a", 0)}}, {"success", {put("a", "2")}}})));
  EXPECT_EQ(store.find("a", store.revision())->value, "2");
}

TEST(StoreTest, EarlierRevision_IsStillThere) {
  Store store;
  store.put("a", "1");
  const std::uint64_t before = store.revision();
  store.put("a", "2");
  store.erase("a");

  EXPECT_EQ(store.find("a", before)->value, "1");
  EXPECT_EQ(store.find("a", store.revision()), nullptr);
}

TEST(StoreTest, LeaseThatIsOver_TakesItsKeysAlone) {
  Store store;
  store.put("a", "1", 9);
  store.put("b", "1");
  store.erase_keys_of(9);

  EXPECT_EQ(json::parse(store.range(range("a")).body)["kvs"].size(), 0U);
  EXPECT_EQ(json::parse(store.range(range("b")).body)["kvs"].size(), 1U);
}

}  // namespace
}  // namespace portcullis::fleet::simulation
