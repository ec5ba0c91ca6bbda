// SPDX-License-Identifier: BSD-3-Clause
//
// What people read: names of values, and the one line about a command that failed.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include "prm/cqe.hpp"
#include "prm/enums.hpp"
#include "prm/flow_enums.hpp"
#include "prm/opcodes.hpp"
#include "prm/status.hpp"
#include "prm/wqe.hpp"

namespace portcullis::prm {
namespace {

TEST(Describe, StatusOfADeliveredCommand_IsDecoded) {
  EXPECT_EQ(describe({0x202, 0, 0, 0x3, 0x2a}),
            "DESTROY_MKEY (0x202) op_mod 0: status BAD_PARAM_ERR (0x3, bad parameter), "
            "syndrome 0x2a");
}

TEST(Describe, UndeliveredCommand_HasNoStatusOfItsOwn) {
  EXPECT_EQ(describe({0x108, 1, 0x7, 0, 0}),
            "MANAGE_PAGES (0x108) op_mod 1: not delivered, IN_LENGTH_ERR (0x7, command input "
            "length error)");
}

TEST(Describe, ValuesNobodyKnows_AreShownAsNumbers) {
  EXPECT_EQ(describe({0xfff, 2, 0, 0xee, 0xffffffff}),
            "UNKNOWN (0xfff) op_mod 2: status UNKNOWN (0xee, not a status that Linux knows), "
            "syndrome 0xffffffff");
}

TEST(Names, OpcodeThatBeginsWithADigit_HasTheKernelsName) {
  EXPECT_EQ(name(Opcode::QP_2ERR), "2ERR_QP");
  EXPECT_EQ(name(Opcode::QP_2RST), "2RST_QP");
  EXPECT_EQ(name(Opcode::SET_FLOW_TABLE_ENTRY), "SET_FLOW_TABLE_ENTRY");
}

TEST(Names, FlowTableType_IsTheDomain) {
  EXPECT_EQ(name(FlowTableType::RDMA_RX), "RDMA_RX");
  EXPECT_EQ(name(FlowTableType{0x3f}), "UNKNOWN");
}

TEST(Names, OpcodeOfNoCommand_IsUnknown) {
  EXPECT_FALSE(is_known(Opcode{0x106}));
  EXPECT_TRUE(is_known(Opcode{0x105}));
}

TEST(Names, LimErrAndIxErr_AreNotConfused) {
  EXPECT_EQ(name(CommandStatus{0x08}), "LIM_ERR");
  EXPECT_EQ(name(CommandStatus{0x0a}), "IX_ERR");
}

TEST(Names, Values_HaveTheKernelsNames) {
  EXPECT_EQ(name(QpState::RTS), "RTS");
  EXPECT_EQ(name(EventType{0x11}), "WQ_ACCESS_ERROR");
  EXPECT_EQ(name(CqeOpcode{13}), "REQ_ERR");
  EXPECT_EQ(name(CqeSyndrome{0x15}), "TRANSPORT_RETRY_EXC_ERR");
  EXPECT_EQ(name(WqeOpcode{0x08}), "RDMA_WRITE");
  EXPECT_EQ(name(DeliveryStatus{0x10}), "CMD_DESCR_ERR");
  EXPECT_EQ(name(HealthSyndrome{0x07}), "DEAD_IRISC");
  EXPECT_EQ(meaning(HealthSyndrome{0x07}), "irisc not responding");
}

TEST(Names, ValuesWithoutAName_AreUnknown) {
  EXPECT_EQ(name(QpState{8}), "UNKNOWN");
  EXPECT_EQ(name(EventType{0xff}), "UNKNOWN");
  EXPECT_EQ(name(WcStatus{99}), "UNKNOWN");
  EXPECT_EQ(meaning(HealthSyndrome{0x55}), "unrecognized error");
}

struct Mapping {
  CqeSyndrome syndrome;
  ibv_wc_status status;
  const char* text;
};

class WcStatusOf : public ::testing::TestWithParam<Mapping> {};

TEST_P(WcStatusOf, Syndrome_IsWhatRdmaCoreReports) {
  const WcStatus status = wc_status(GetParam().syndrome);
  EXPECT_EQ(static_cast<int>(status), static_cast<int>(GetParam().status));
  EXPECT_EQ(name(status), GetParam().text);
}

// mlx5_handle_error_cqe of rdma-core, providers/mlx5/cq.c.
INSTANTIATE_TEST_SUITE_P(
    All, WcStatusOf,
    ::testing::Values(Mapping{CqeSyndrome{0x01}, IBV_WC_LOC_LEN_ERR, "IBV_WC_LOC_LEN_ERR"},
                      Mapping{CqeSyndrome{0x02}, IBV_WC_LOC_QP_OP_ERR, "IBV_WC_LOC_QP_OP_ERR"},
                      Mapping{CqeSyndrome{0x04}, IBV_WC_LOC_PROT_ERR, "IBV_WC_LOC_PROT_ERR"},
                      Mapping{CqeSyndrome{0x05}, IBV_WC_WR_FLUSH_ERR, "IBV_WC_WR_FLUSH_ERR"},
                      Mapping{CqeSyndrome{0x06}, IBV_WC_MW_BIND_ERR, "IBV_WC_MW_BIND_ERR"},
                      Mapping{CqeSyndrome{0x10}, IBV_WC_BAD_RESP_ERR, "IBV_WC_BAD_RESP_ERR"},
                      Mapping{CqeSyndrome{0x11}, IBV_WC_LOC_ACCESS_ERR, "IBV_WC_LOC_ACCESS_ERR"},
                      Mapping{CqeSyndrome{0x12}, IBV_WC_REM_INV_REQ_ERR, "IBV_WC_REM_INV_REQ_ERR"},
                      Mapping{CqeSyndrome{0x13}, IBV_WC_REM_ACCESS_ERR, "IBV_WC_REM_ACCESS_ERR"},
                      Mapping{CqeSyndrome{0x14}, IBV_WC_REM_OP_ERR, "IBV_WC_REM_OP_ERR"},
                      Mapping{CqeSyndrome{0x15}, IBV_WC_RETRY_EXC_ERR, "IBV_WC_RETRY_EXC_ERR"},
                      Mapping{CqeSyndrome{0x16}, IBV_WC_RNR_RETRY_EXC_ERR,
                              "IBV_WC_RNR_RETRY_EXC_ERR"},
                      Mapping{CqeSyndrome{0x22}, IBV_WC_REM_ABORT_ERR, "IBV_WC_REM_ABORT_ERR"},
                      Mapping{CqeSyndrome{0x77}, IBV_WC_GENERAL_ERR, "IBV_WC_GENERAL_ERR"}));

}  // namespace
}  // namespace portcullis::prm
