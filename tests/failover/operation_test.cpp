// SPDX-License-Identifier: BSD-3-Clause
//
// What one operation does to one word, against what the verbs define.
#include "failover/semantics/operation.hpp"

#include <gtest/gtest.h>

namespace portcullis::failover {
namespace {

constexpr Word kGreatest = ~Word{0};

TEST(Operation, Write_ReplacesTheWordAndReturnsNothing) {
  EXPECT_EQ(execute({Opcode::Write, 9, 0}, 5), (Executed{9, 0}));
}

TEST(Operation, Read_ReturnsTheWordAndLeavesIt) {
  EXPECT_EQ(execute({Opcode::Read, 9, 9}, 5), (Executed{5, 5}));
}

TEST(Operation, FetchAdd_ReturnsTheOldWord) {
  EXPECT_EQ(execute({Opcode::FetchAdd, 3, 0}, 5), (Executed{8, 5}));
}

TEST(Operation, FetchAddPastTheGreatestWord_Wraps) {
  EXPECT_EQ(execute({Opcode::FetchAdd, 2, 0}, kGreatest), (Executed{1, kGreatest}));
}

TEST(Operation, FetchAddOfMinusOne_Subtracts) {
  EXPECT_EQ(execute({Opcode::FetchAdd, kGreatest, 0}, 5).memory, 4U);
}

TEST(Operation, CompareSwapThatMatches_SwapsAndReturnsTheCompareWord) {
  EXPECT_EQ(execute({Opcode::CompareSwap, 9, 5}, 5), (Executed{9, 5}));
}

TEST(Operation, CompareSwapThatDoesNot_LeavesTheWordAndReturnsIt) {
  EXPECT_EQ(execute({Opcode::CompareSwap, 9, 4}, 5), (Executed{5, 5}));
}

TEST(Operation, Send_TouchesNoMemory) {
  EXPECT_EQ(execute({Opcode::Send, 9, 0}, 5), (Executed{5, 0}));
}

TEST(Operation, Send_IsTheOnlyOneWithoutAnRkey) {
  EXPECT_FALSE(carries_rkey(Opcode::Send));
  EXPECT_TRUE(carries_rkey(Opcode::WriteWithImm));
  EXPECT_TRUE(carries_rkey(Opcode::CompareSwap));
}

}  // namespace
}  // namespace portcullis::failover
