// SPDX-License-Identifier: BSD-3-Clause
//
// The table of multicast groups by itself.
#include "model/multicast_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "prm/enums.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using ::testing::ElementsAre;
using ::testing::IsNull;
using ::testing::Pointee;

constexpr Gid kOne{0xff, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr Gid kTwo{0xff, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};

TEST(MulticastGroups, AttachedTwice_IsAMemberOnce) {
  MulticastGroups groups;
  EXPECT_TRUE(groups.attach(kOne, 5).ok());
  EXPECT_TRUE(groups.attach(kOne, 5).ok());
  EXPECT_TRUE(groups.attach(kOne, 4).ok());
  EXPECT_THAT(groups.members(kOne), Pointee(ElementsAre(5, 4)));
  EXPECT_THAT(groups.members(kTwo), IsNull());
}

TEST(MulticastGroups, DetachedOfNone_IsRefused) {
  MulticastGroups groups;
  ASSERT_TRUE(groups.attach(kOne, 5).ok());
  EXPECT_EQ(groups.detach(kTwo, 5).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(groups.detach(kOne, 6).status, CommandStatus::BAD_RES_ERR);
  EXPECT_TRUE(groups.detach(kOne, 5).ok());
  EXPECT_TRUE(groups.empty());
}

TEST(MulticastGroups, FullGroup_TakesNoMore) {
  MulticastGroups groups;
  for (std::uint32_t qpn = 0; qpn < MulticastGroups::kMostMembers; ++qpn)
    ASSERT_TRUE(groups.attach(kOne, qpn).ok());
  EXPECT_EQ(groups.attach(kOne, 1'000).status, CommandStatus::NO_RES_ERR);
  EXPECT_TRUE(groups.attach(kOne, 0).ok());
}

TEST(MulticastGroups, QueuePairThatIsGone_IsInNoGroup) {
  MulticastGroups groups;
  ASSERT_TRUE(groups.attach(kOne, 5).ok());
  ASSERT_TRUE(groups.attach(kTwo, 5).ok());
  ASSERT_TRUE(groups.attach(kTwo, 6).ok());
  groups.forget(5);
  EXPECT_THAT(groups.members(kOne), IsNull());
  EXPECT_THAT(groups.members(kTwo), Pointee(ElementsAre(6)));
}

TEST(MulticastGroups, EthernetAddresses_AreThoseOfLinux) {
  MulticastGroups groups;
  ASSERT_TRUE(groups.attach({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 129, 2, 3}, 5).ok());
  ASSERT_TRUE(
      groups.attach({0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa, 0xb, 0xc, 0xd}, 5).ok());
  EXPECT_TRUE(groups.has_mac({0x01, 0x00, 0x5e, 0x01, 0x02, 0x03}));
  EXPECT_TRUE(groups.has_mac({0x33, 0x33, 0x0a, 0x0b, 0x0c, 0x0d}));
  EXPECT_FALSE(groups.has_mac({0x01, 0x00, 0x5e, 0x81, 0x02, 0x03}));
}

}  // namespace
}  // namespace portcullis::model
