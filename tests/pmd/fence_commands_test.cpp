// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/fence_commands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pmd/object_rig.hpp"

namespace portcullis::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> bytes_of(const pmd::InlineCommand& command) {
  return {command.bytes().begin(), command.bytes().end()};
}

TEST(FenceCommands, EachIsItsOpcodeAndItsId) {
  const auto expected = [](const char* layout, unsigned opcode, const char* id) {
    return IfcMessage(layout, 16).put("opcode", opcode).put(id, 0xabcdef).bytes();
  };
  EXPECT_EQ(bytes_of(pmd::error_qp_command(prm::QpNumber{0xabcdef})),
            expected("qp_2err_in", k2Err, "qpn"));
  EXPECT_EQ(bytes_of(pmd::reset_qp_command(prm::QpNumber{0xabcdef})),
            expected("qp_2rst_in", k2Rst, "qpn"));
  EXPECT_EQ(bytes_of(pmd::destroy_qp_command(prm::QpNumber{0xabcdef})),
            expected("destroy_qp_in", kDestroyQp, "qpn"));
  EXPECT_EQ(bytes_of(pmd::destroy_mkey_command(prm::MkeyIndex{0xabcdef})),
            expected("destroy_mkey_in", kDestroyMkey, "mkey_index"));
  EXPECT_EQ(bytes_of(pmd::dealloc_pd_command(prm::PdNumber{0xabcdef})),
            expected("dealloc_pd_in", kDeallocPd, "pd"));
}

TEST(FenceCommands, GoToFenceSlotsWithTheCallersDeadline) {
  RecordingChannel channel;
  ASSERT_TRUE(pmd::error_qp_command(prm::QpNumber{7}).run(channel, 123'456));
  EXPECT_EQ(channel.sent[0].slot_class, pmd::SlotClass::Fence);
  EXPECT_EQ(channel.sent[0].out_bytes, 16u);
  EXPECT_EQ(channel.deadlines[0], 123'456u);
}

TEST(FenceCommands, SubmittedTogether_AreAllSentBeforeOneIsAwaited) {
  RecordingChannel channel;
  const auto first = pmd::destroy_mkey_command(prm::MkeyIndex{1}).submit(channel).value();
  const auto second = pmd::error_qp_command(prm::QpNumber{2}).submit(channel).value();
  EXPECT_EQ(channel.sent.size(), 2u);
  EXPECT_TRUE(channel.deadlines.empty());
  EXPECT_TRUE(pmd::InlineCommand::await(channel, second, 10));
  EXPECT_TRUE(pmd::InlineCommand::await(channel, first, 20));
}

TEST(FenceCommands, DevicesRefusal_IsTheCallersError) {
  RecordingChannel channel;
  channel.fail_with(kDestroyMkey, Errc::CommandFailed);
  const auto fenced = pmd::destroy_mkey_command(prm::MkeyIndex{0x00ffffff}).run(channel, 1);
  EXPECT_EQ(fenced.error().code, Errc::CommandFailed);
}

TEST(FenceCommands, IdOfMoreThan24Bits_IsRefusedUnsent) {
  RecordingChannel channel;
  const auto refused = pmd::destroy_mkey_command(prm::MkeyIndex{0x01000000}).run(channel, 1);
  EXPECT_EQ(refused.error().code, Errc::InvalidArgument);
  EXPECT_THAT(refused.error().text, HasSubstr("destroy_mkey_in.mkey_index"));
  const auto unsent = pmd::destroy_mkey_command(prm::MkeyIndex{0x01000000}).submit(channel);
  EXPECT_EQ(unsent.error().code, Errc::InvalidArgument);
  EXPECT_TRUE(channel.sent.empty());
}

}  // namespace
}  // namespace portcullis::testing
