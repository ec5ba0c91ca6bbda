// SPDX-License-Identifier: BSD-3-Clause
//
// Which nodes are asked for a lease, and in which order.
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "fleet/placement.hpp"
#include "tests/fleet/fake_store.hpp"

namespace portcullis::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kPage = 4'096;

class PlacementTest : public testing::Test {
 protected:
  void node(const std::string& name, const std::vector<std::string>& labels, Amount left) {
    const std::uint64_t number = ++last_;
    store.put(member_key(name), json_of(Member{.node = number}));
    store.put(session_key(name),
              json_of(Registration{
                  .node = number, .incarnation = 1, .labels = labels, .memory_bytes = 1 << 30}));
    store.put(offer_key(name), json_of(Offer{.node = number, .left = left}));
  }
  Places find(const PlaceWanted& wanted, std::uint64_t seed = 1) {
    return *find_places(*etcd, wanted, seed);
  }
  static std::vector<std::string> names(const Places& places) {
    std::vector<std::string> found;
    for (const Place& each : places.fit) found.push_back(each.name);
    return found;
  }

  FakeStore store;
  std::unique_ptr<Etcd> etcd = store.client();
  std::uint64_t last_ = 0;
};

TEST_F(PlacementTest, MoreFreeMemory_ComesFirst) {
  node("a", {}, {.leases = 9, .bytes = 8 * kPage});
  node("b", {}, {.leases = 9, .bytes = 64 * kPage});

  EXPECT_THAT(names(find({.bytes = kPage})), ElementsAre("b", "a"));
}

TEST_F(PlacementTest, PreferredLabel_ComesBeforeMemory) {
  node("a", {"rack=r1"}, {.leases = 9, .bytes = 8 * kPage});
  node("b", {"rack=r2"}, {.leases = 9, .bytes = 64 * kPage});

  EXPECT_THAT(names(find({.bytes = kPage, .prefers = {"rack=r1"}})), ElementsAre("a", "b"));
}

TEST_F(PlacementTest, NodeWithoutALabelThatItMustHave_IsNotAsked) {
  node("a", {"rack=r1", "zone=x"}, {.leases = 9, .bytes = 8 * kPage});
  node("b", {"rack=r1"}, {.leases = 9, .bytes = 64 * kPage});
  const Places places = find({.bytes = kPage, .labels = {"rack=r1", "zone=x"}});

  EXPECT_THAT(names(places), ElementsAre("a"));
  ASSERT_THAT(places.unfit, SizeIs(1));
  EXPECT_EQ(places.unfit[0].name, "b");
  EXPECT_EQ(places.unfit[0].why, "it has no label zone=x");
}

TEST_F(PlacementTest, NodeThatSaidItWasFull_IsAskedLast) {
  node("a", {}, {.leases = 0, .bytes = 64 * kPage});
  node("b", {}, {.leases = 1, .bytes = kPage});

  EXPECT_THAT(names(find({.bytes = kPage})), ElementsAre("b", "a"));
}

TEST_F(PlacementTest, NodeThatIsTooSmall_IsNotAsked) {
  node("a", {}, {.leases = 9, .bytes = 1 << 30});
  const Places places = find({.bytes = std::uint64_t{1} << 31});

  EXPECT_THAT(places.fit, IsEmpty());
  ASSERT_THAT(places.unfit, SizeIs(1));
  EXPECT_THAT(places.unfit[0].why, HasSubstr("1073741824 bytes"));
}

TEST_F(PlacementTest, NodeWithoutASession_IsNotAsked) {
  store.put(member_key("a"), json_of(Member{.node = 1}));
  const Places places = find({.bytes = kPage});

  ASSERT_THAT(places.unfit, SizeIs(1));
  EXPECT_EQ(places.unfit[0].why, "it has no session with etcd");
}

TEST_F(PlacementTest, OfferOfAnotherNodeOfThatName_SaysNothing) {
  node("a", {}, {.leases = 9, .bytes = kPage});
  store.put(offer_key("a"), json_of(Offer{.node = 99, .left = {}}));

  EXPECT_FALSE(find({.bytes = kPage}).fit.at(0).left);
}

TEST_F(PlacementTest, NodesThatAreAlike_ComeInEveryOrder) {
  for (const char* name : {"a", "b", "c"}) node(name, {}, {.leases = 9, .bytes = 65 * kPage});
  std::set<std::string> first;
  for (std::uint64_t seed = 1; seed <= 64; ++seed)
    first.insert(names(find({.bytes = kPage}, seed)).front());

  EXPECT_THAT(first, ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace portcullis::fleet
