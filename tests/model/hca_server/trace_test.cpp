// SPDX-License-Identifier: BSD-3-Clause
//
// hca-server --trace: every command of the guest's driver stands in the file, with its fields by
// name, as soon as it is answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/model/hca_server/guest.hpp"
#include "trace/command_text.hpp"

namespace portcullis::model::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HcaServerTrace : public ::testing::Test {
 public:
  ~HcaServerTrace() override { unlink(path_.c_str()); }

 protected:
  HcaServerTrace() {
    Options options;
    options.trace_path = path_;
    served_.emplace(options);
  }
  HcaServerTrace(const HcaServerTrace&) = delete;
  HcaServerTrace& operator=(const HcaServerTrace&) = delete;

  std::string recording() const {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string path_ = "/tmp/portcullis-trace-" + std::to_string(getpid()) + "-" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::optional<ServedFunction> served_;
};

TEST_F(HcaServerTrace, BringUpOfAGuest_EveryCommandWithFieldsByName) {
  Guest guest(served_->path());
  ASSERT_EQ(guest.map(true), 0U);
  ASSERT_TRUE(guest.bring_up());
  const std::string text = recording();
  EXPECT_THAT(text, StartsWith(trace::kTraceMagic));
  EXPECT_THAT(text, HasSubstr("command 1 ENABLE_HCA 0x104 op_mod 0x0"));
  EXPECT_THAT(text, HasSubstr("command 2 QUERY_PAGES 0x107 op_mod 0x1"));
  EXPECT_THAT(text, HasSubstr("in.input_num_entries 0x8"));
  EXPECT_THAT(text, HasSubstr("command 6 INIT_HCA 0x102 op_mod 0x0"));
}

TEST_F(HcaServerTrace, UnknownCommand_RecordedWithItsBytesAndStatus) {
  Guest guest(served_->path());
  ASSERT_EQ(guest.map(true), 0U);
  guest.start();
  std::array<std::byte, 16> in{};
  in[0] = std::byte{0x0f};
  in[1] = std::byte{0xff};
  EXPECT_EQ(guest.execute(in, 16).status, 2U);
  EXPECT_THAT(recording(), ContainsRegex("command 1 [^ ]+ 0xfff op_mod 0x0"));
  EXPECT_THAT(recording(), HasSubstr("status BAD_OP_ERR 0x2"));
}

TEST_F(HcaServerTrace, ClientBackAgain_RecordingGoesOn) {
  {
    Guest guest(served_->path());
    ASSERT_EQ(guest.map(true), 0U);
    ASSERT_TRUE(guest.bring_up());
  }
  Guest guest(served_->path());
  ASSERT_EQ(guest.map(true), 0U);
  guest.reset_device();
  ASSERT_TRUE(guest.bring_up());
  EXPECT_THAT(recording(), HasSubstr("command 12 INIT_HCA"));
}

}  // namespace
}  // namespace portcullis::model::testing
