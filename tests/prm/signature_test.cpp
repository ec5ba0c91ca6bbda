// SPDX-License-Identifier: BSD-3-Clause
//
// Signatures by the rule of xor8_buf and calc_block_sig of mlx5/core/cmd.c, worked out by hand.
#include "prm/signature.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/prm/hex.hpp"

namespace portcullis::prm {
namespace {

using testing::bytes_of;

TEST(Xor8, Nothing_IsZero) { EXPECT_EQ(xor8({}), 0); }

TEST(Xor8, Bytes_AreSummedWithoutCarry) { EXPECT_EQ(xor8(bytes_of("01020408 ff")), 0xf0); }

class EntrySignature : public ::testing::Test {
 protected:
  std::array<std::byte, cmd_queue_entry::bytes> memory_{};
  View<cmd_queue_entry> entry_{memory_};
};

TEST_F(EntrySignature, EmptyEntry_IsSignedForItsOwner) {
  sign_entry(entry_, EntryOwner::Software);
  EXPECT_EQ(entry_.get<"signature">(), 0xffu);
  sign_entry(entry_, EntryOwner::Hardware);
  EXPECT_EQ(entry_.get<"signature">(), 0xfeu);
}

TEST_F(EntrySignature, OwnershipSetAfterSigning_MakesTheSumComplete) {
  entry_.set<"type", 7>();
  sign_entry(entry_, EntryOwner::Hardware);
  entry_.set<"ownership", 1>();
  EXPECT_EQ(xor8(memory_), 0xff);
}

TEST_F(EntrySignature, OwnershipSetBeforeSigning_MakesTheSameSignature) {
  entry_.set<"type", 7>();
  entry_.set<"ownership", 1>();
  sign_entry(entry_, EntryOwner::Hardware);
  EXPECT_EQ(xor8(memory_), 0xff);
}

TEST_F(EntrySignature, SigningAgain_ChangesNothing) {
  entry_.set<"token", 0x5a>();
  sign_entry(entry_, EntryOwner::Hardware);
  const auto once = entry_.get<"signature">();
  sign_entry(entry_, EntryOwner::Hardware);
  EXPECT_EQ(entry_.get<"signature">(), once);
}

TEST_F(EntrySignature, BeforeAndAfterOwnershipIsCleared_IsValid) {
  sign_entry(entry_, EntryOwner::Software);
  EXPECT_TRUE(entry_signature_is_valid(entry_));
  sign_entry(entry_, EntryOwner::Hardware);
  EXPECT_TRUE(entry_signature_is_valid(entry_));
}

TEST_F(EntrySignature, AnyOtherBitFlipped_IsNotValid) {
  sign_entry(entry_, EntryOwner::Software);
  memory_[0x20] ^= std::byte{0x80};
  EXPECT_FALSE(entry_signature_is_valid(entry_));
}

class BlockSignature : public ::testing::Test {
 protected:
  std::array<std::byte, cmd_if_box::bytes> memory_{};
  View<cmd_if_box> block_{memory_};
};

TEST_F(BlockSignature, EmptyBlockWithAToken_HasTheSumsOfTheRule) {
  block_.set<"token", 0x5a>();
  sign_block(block_);
  EXPECT_EQ(block_.get<"ctrl_signature">(), 0xa5u);  // ~0x5a
  EXPECT_EQ(block_.get<"signature">(), 0x00u);       // ~(0x5a ^ 0xa5)
}

TEST_F(BlockSignature, Data_EntersTheBlockSignatureAlone) {
  memory_[0] = std::byte{0x0f};
  sign_block(block_);
  EXPECT_EQ(block_.get<"ctrl_signature">(), 0xffu);
  EXPECT_EQ(block_.get<"signature">(), 0x0fu);  // ~(0x0f ^ 0xff)
}

TEST_F(BlockSignature, SigningAgain_ChangesNothing) {
  block_.set<"token", 0x5a>();
  sign_block(block_);
  sign_block(block_);
  EXPECT_EQ(block_.get<"ctrl_signature">(), 0xa5u);
  EXPECT_EQ(block_.get<"signature">(), 0x00u);
}

TEST_F(BlockSignature, SignedBlock_IsValid) {
  block_.set<"block_number", 3>();
  sign_block(block_);
  EXPECT_TRUE(block_signature_is_valid(block_));
}

TEST_F(BlockSignature, UnsignedBlock_IsNotValid) { EXPECT_FALSE(block_signature_is_valid(block_)); }

TEST_F(BlockSignature, DataBitFlipped_IsNotValid) {
  sign_block(block_);
  memory_[511] ^= std::byte{1};
  EXPECT_FALSE(block_signature_is_valid(block_));
}

TEST_F(BlockSignature, ControlBitFlippedTwice_IsCaughtByTheControlSignature) {
  sign_block(block_);
  // The same bit in the data and in the control part leaves the block's sum as it was.
  memory_[0] ^= std::byte{1};
  block_.set<"block_number", 1>();
  EXPECT_FALSE(block_signature_is_valid(block_));
}

}  // namespace
}  // namespace portcullis::prm
