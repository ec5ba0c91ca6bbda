// SPDX-License-Identifier: BSD-3-Clause
//
// Bring-up and teardown commands, byte for byte against the kernel's mlx5_ifc.h.
#include "pmd/function_commands.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <string>

#include "tests/pmd/recording_channel.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::IfcMessage;
using portcullis::testing::RecordingChannel;
using ::testing::HasSubstr;

// MLX5_CMD_OP_* of mlx5_ifc.h.
constexpr unsigned kQueryIssi = 0x10a;
constexpr unsigned kSetIssi = 0x10b;
constexpr unsigned kQueryAdapter = 0x101;

struct FunctionCommandsTest : ::testing::Test {
  RecordingChannel channel;
};

TEST_F(FunctionCommandsTest, EnableHca_IsForTheFunctionItself) {
  ASSERT_TRUE(enable_hca(channel).has_value());
  EXPECT_EQ(channel.last(), IfcMessage("enable_hca_in", 16).put("opcode", 0x104).bytes());
}

TEST_F(FunctionCommandsTest, DisableHca_IsForTheFunctionItself) {
  ASSERT_TRUE(disable_hca(channel).has_value());
  EXPECT_EQ(channel.last(), IfcMessage("disable_hca_in", 16).put("opcode", 0x105).bytes());
}

TEST_F(FunctionCommandsTest, Issi1_IsSetWhereItIsOffered) {
  channel.answer(kQueryIssi, IfcMessage("query_issi_out", 112).put("supported_issi_dw0", 0b11));
  ASSERT_TRUE(negotiate_issi(channel).has_value());
  EXPECT_EQ(channel.sent.front().out_bytes, 112u);
  EXPECT_EQ(channel.last(),
            IfcMessage("set_issi_in", 16).put("opcode", kSetIssi).put("current_issi", 1).bytes());
}

TEST_F(FunctionCommandsTest, DeviceWithoutIssi1_IsUnsupported) {
  channel.answer(kQueryIssi, IfcMessage("query_issi_out", 112).put("supported_issi_dw0", 0b101));
  const auto refused = negotiate_issi(channel);
  EXPECT_EQ(refused.error().code, Errc::Unsupported);
  EXPECT_THAT(refused.error().text, HasSubstr("mask 5"));
  EXPECT_EQ(channel.count(kSetIssi), 0u);
}

TEST_F(FunctionCommandsTest, HostEndianness_IsWrittenAsLittleEndian) {
  ASSERT_TRUE(set_host_endianness(channel).has_value());
  // register_host_endianness follows the header: he 0, 16 bytes.
  EXPECT_EQ(channel.last(), IfcMessage("access_register_in", 32)
                                .put("opcode", 0x805)
                                .put("op_mod", 0)
                                .put("register_id", 0x7004)
                                .bytes());
  EXPECT_EQ(channel.sent.back().out_bytes, 32u);
}

TEST_F(FunctionCommandsTest, InitHca_HasNoOwnerId) {
  ASSERT_TRUE(init_hca(channel).has_value());
  EXPECT_EQ(channel.last(), IfcMessage("init_hca_in", 32).put("opcode", 0x102).bytes());
}

TEST_F(FunctionCommandsTest, TeardownHca_IsGraceful) {
  ASSERT_TRUE(teardown_hca(channel).has_value());
  EXPECT_EQ(channel.last(),
            IfcMessage("teardown_hca_in", 16).put("opcode", 0x103).put("profile", 0).bytes());
}

TEST_F(FunctionCommandsTest, RoceOnVport_SelectsAndSetsOnlyIt) {
  ASSERT_TRUE(enable_roce_on_vport(channel).has_value());
  EXPECT_EQ(channel.last(), IfcMessage("modify_nic_vport_context_in", 512)
                                .put("opcode", 0x755)
                                .put("field_select.roce_en", 1)
                                .put("nic_vport_context.roce_en", 1)
                                .bytes());
}

TEST_F(FunctionCommandsTest, BoardId_EndsWhereThePsidDoes) {
  constexpr std::string_view kPsid("MT_0000000012\0\0\0", 16);
  channel.answer(kQueryAdapter,
                 IfcMessage("query_adapter_out", 272)
                     .put("query_adapter_struct.vsd_contd_psid", std::as_bytes(std::span(kPsid))));
  EXPECT_EQ(read_board_id(channel).value(), "MT_0000000012");
  EXPECT_EQ(channel.last(), IfcMessage("query_adapter_in", 16).put("opcode", 0x101).bytes());
}

// ---- refused ----

struct Refusal {
  std::string name;
  unsigned opcode = 0;
  std::function<Result<void>(CommandChannel&)> run;
};

struct RefusedFunctionCommands : ::testing::TestWithParam<Refusal> {
  RecordingChannel channel;
};

TEST_P(RefusedFunctionCommands, IsTold) {
  channel.answer(kQueryIssi, IfcMessage("query_issi_out", 112).put("supported_issi_dw0", 0b11));
  channel.fail_with(GetParam().opcode, Errc::CommandFailed);
  const auto refused = GetParam().run(channel);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::CommandFailed);
}

INSTANTIATE_TEST_SUITE_P(Commands, RefusedFunctionCommands,
                         ::testing::Values(Refusal{"EnableHca", 0x104, enable_hca},
                                           Refusal{"DisableHca", 0x105, disable_hca},
                                           Refusal{"QueryIssi", kQueryIssi, negotiate_issi},
                                           Refusal{"SetIssi", kSetIssi, negotiate_issi},
                                           Refusal{"HostEndianness", 0x805, set_host_endianness},
                                           Refusal{"InitHca", 0x102, init_hca},
                                           Refusal{"TeardownHca", 0x103, teardown_hca},
                                           Refusal{"RoceOnVport", 0x755, enable_roce_on_vport},
                                           Refusal{"BoardId", kQueryAdapter,
                                                   [](CommandChannel& channel) {
                                                     return read_board_id(channel).map(
                                                         [](const std::string&) {});
                                                   }}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace portcullis::pmd
