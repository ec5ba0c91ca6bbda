// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/host_identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace portcullis::service::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class HostIdentity : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "portcullis-host-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string identity_of(const std::string& text) const {
    std::ofstream(folder_ / "machine-id") << text;
    return host_identity(folder_ / "machine-id");
  }

 private:
  std::filesystem::path folder_;
};

// printf 0123456789abcdef0123456789abcdef | openssl dgst -sha256 -hmac 'portcullis journal'
TEST_F(HostIdentity, MachineId_IsHashedWithAKeyOfOurs) {
  const std::string id = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(identity_of(id + "\n"), "c1f28b5ce1e5056b");
  EXPECT_THAT(identity_of(id), Not(HasSubstr("0123456789abcdef")));
}

TEST_F(HostIdentity, AnotherMachineId_IsAnotherHost) {
  EXPECT_NE(identity_of("0123456789abcdef0123456789abcdef\n"),
            identity_of("0123456789abcdef0123456789abcdee\n"));
}

class NoMachineId : public HostIdentity, public ::testing::WithParamInterface<std::string> {};

TEST_P(NoMachineId, NamesNoHost) { EXPECT_THAT(identity_of(GetParam()), IsEmpty()); }

INSTANTIATE_TEST_SUITE_P(Texts, NoMachineId,
                         ::testing::Values("", "\n", "uninitialized\n",
                                           "0123456789abcdef0123456789abcde\n",
                                           "0123456789ABCDEF0123456789ABCDEF\n"));

TEST_F(HostIdentity, HostWithoutAFile_IsNotKnown) {
  EXPECT_THAT(host_identity("/nowhere/machine-id"), IsEmpty());
}

TEST(FunctionOnHost, Host_IsBehindTheName) {
  const std::string named = function_on_host("0000:03:00.0", "61c35e9a0b6f1d24");
  EXPECT_EQ(named, "0000:03:00.0@61c35e9a0b6f1d24");
  EXPECT_EQ(function_alone(named), "0000:03:00.0");
  EXPECT_EQ(function_on_host("mlx5_0", ""), "mlx5_0");
}

TEST(FunctionOnHost, NameWithoutAHost_IsItself) {
  for (const std::string_view name : {"", "shm:/a@b", "mlx5_0", "shm:/x@61c35e9a0b6f1d2",
                                      "shm:/x@61c35e9a0b6f1d2g", "@61c35e9a0b6f1d2"})
    EXPECT_EQ(function_alone(name), name);
}

}  // namespace
}  // namespace portcullis::service::daemon
