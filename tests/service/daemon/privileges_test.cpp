// SPDX-License-Identifier: BSD-3-Clause
//
// Whom leased may go on as. That it does, and what the kernel says of it, is
// tests/tools/leased/confinement_test.py.
#include "service/daemon/privileges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace portcullis::service::daemon {
namespace {

using testing::HasSubstr;

TEST(FindUser, Name_HasNumberAndGroup) {
  const auto user = find_user("nobody").value();  // base-passwd of Debian
  EXPECT_EQ(user.id, 65'534u);
  EXPECT_EQ(user.group, 65'534u);
}

TEST(FindUser, NumberThatNobodyHas_IsTakenWithoutAGroup) {
  const auto user = find_user("4000000001").value();
  EXPECT_EQ(user.id, 4'000'000'001u);
  EXPECT_FALSE(user.group);
}

TEST(FindUser, Root_IsNobodyToBecome) {
  EXPECT_THAT(find_user("root").error().text, HasSubstr("another user than root is accepted"));
  EXPECT_THAT(find_user("0").error().text, HasSubstr("another user than root is accepted"));
}

class NoUser : public testing::TestWithParam<const char*> {};

TEST_P(NoUser, IsRefused) {
  EXPECT_EQ(find_user(GetParam()).error().text, "there is no user of that name");
  EXPECT_EQ(find_group(GetParam()).error().text, "there is no group of that name");
}

// 4294967295 is (uid_t)-1, which changes nothing.
INSTANTIATE_TEST_SUITE_P(Texts, NoUser,
                         testing::Values("", "no such name", "-1", "4294967295", "4294967296", "1x",
                                         " 1", "0x1"));

TEST(CheckProcess, GroupWithoutAUser_IsRefused) {
  EXPECT_FALSE(check_process({.group = find_group("nogroup").value()}));
}

TEST(CheckProcess, UserWithoutAGroup_NeedsOne) {
  ProcessConfig config{.user = find_user("4000000001").value()};
  EXPECT_THAT(check_process(config).error().text, HasSubstr("no group of user 4000000001"));
  config.group = find_group("4000000002").value();
  EXPECT_TRUE(check_process(config));
}

TEST(DropPrivileges, NobodyNamed_SaysWhoItStaysAs) {
  const auto said = drop_privileges({});
  ASSERT_TRUE(said) << said.error().text;
  EXPECT_THAT(*said, HasSubstr("goes on as "));
}

/// In a process of its own: 0 when neither a core nor a debugger gets at it.
int hidden() {
  if (!hide_memory({})) return 1;
  rlimit core{};
  if (::getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_max != 0) return 2;
  if (::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) return 3;
  return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 4;
}

TEST(HideMemory, NoCoreNoTracerNoNewPrivileges) {
  EXPECT_EXIT(::_exit(hidden()), testing::ExitedWithCode(0), "");
}

int dumpable_where_it_may_be_debugged() {
  if (!hide_memory({.is_debuggable = true})) return -1;
  return ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
}

TEST(HideMemory, Debuggable_MayBeTraced) {
  EXPECT_EXIT(::_exit(dumpable_where_it_may_be_debugged()), testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace portcullis::service::daemon
