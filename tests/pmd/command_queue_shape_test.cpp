// SPDX-License-Identifier: BSD-3-Clause
//
// Command queues that this driver cannot work with, as the initialisation segment tells of them.
#include <gmock/gmock.h>

#include "pmd/command_queue.hpp"
#include "tests/pmd/scripted_device.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::InitSegment;
using portcullis::testing::ScriptedDevice;
using ::testing::HasSubstr;

struct Shape {
  const char* name;
  std::uint32_t cmdif_rev;
  std::uint32_t log_size;
  std::uint32_t log_stride;
  const char* complaint;
};

struct CommandQueueShapeTest : ::testing::TestWithParam<Shape> {};

TEST_P(CommandQueueShapeTest, IsRefusedWithTheValueAndWhatIsAccepted) {
  ScriptedDevice scripted;
  scripted.write(InitSegment::kCmdifRevFwSub, GetParam().cmdif_rev << 16);
  scripted.write(InitSegment::kCmdqAddrLSz, GetParam().log_size << 4 | GetParam().log_stride);
  const Device device = scripted.device();
  DmaArena arena(scripted.space);
  Health health(device);
  const auto refused = CommandQueue::create(device, arena, health);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::Unsupported);
  EXPECT_THAT(refused.error().text, HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CommandQueueShapeTest,
    ::testing::Values(Shape{"Revision4", 4, 5, 6, "revision 4; only 5"},
                      Shape{"Revision6", 6, 5, 6, "revision 6; only 5"},
                      Shape{"FourEntries", 5, 2, 6, "2^2 entries; 2^3 to 2^5"},
                      Shape{"SixtyFourEntries", 5, 6, 6, "2^6 entries; 2^3 to 2^5"},
                      Shape{"EntriesTooClose", 5, 5, 5, "2^5 bytes apart; 2^6 to 2^7"},
                      Shape{"MoreThanAPage", 5, 5, 8, "2^8 bytes apart; 2^6 to 2^7"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace portcullis::pmd
