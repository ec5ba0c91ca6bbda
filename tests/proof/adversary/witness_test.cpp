// SPDX-License-Identifier: BSD-3-Clause
//
// What the witness holds against whom.
#include "proof/adversary/witness.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace portcullis::proof::adversary {
namespace {

class WitnessOfPages : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = 4096;

  std::span<std::byte> page(std::size_t index) {
    return std::span(memory_).subspan(index * kBytes, kBytes);
  }
  void write(std::size_t index, std::uint64_t word) {
    std::memcpy(page(index).data() + 64, &word, sizeof word);
    witness.on_dma(page(index).subspan(64, sizeof word), true);
  }

  alignas(64) std::array<std::byte, 2 * kBytes> memory_{};
  Witness witness;
};

TEST_F(WitnessOfPages, OwnWordsBeforeTheOutcome_AreNoViolation) {
  witness.give(page(0), 1);
  witness.ask(1, 0, kBytes, false);
  write(0, stamp(1, 7));
  witness.on_dma(page(0), false);
  EXPECT_FALSE(witness.first().has_value());
  EXPECT_EQ(witness.seen(), 2u);
}

TEST_F(WitnessOfPages, WriteAfterTheOutcome_IsNotedWithItsStep) {
  witness.give(page(0), 1);
  witness.forbid(1);
  witness.set_step(41);
  write(0, stamp(1, 7));
  witness.set_step(42);
  write(0, stamp(1, 8));
  ASSERT_TRUE(witness.first().has_value());
  EXPECT_EQ(witness.first()->kind, Violation::Kind::WriteAfterOutcome);
  EXPECT_EQ(witness.first()->owner, 1u);
  EXPECT_EQ(witness.first()->step, 41u);
}

TEST_F(WitnessOfPages, ReadAfterTheOutcome_IsAViolationOfItsOwn) {
  witness.give(page(0), 1);
  witness.forbid(1);
  witness.on_dma(page(0).first(1), false);
  ASSERT_TRUE(witness.first().has_value());
  EXPECT_EQ(witness.first()->kind, Violation::Kind::ReadAfterOutcome);
}

TEST_F(WitnessOfPages, AnothersOutcome_ConcernsNobodyElse) {
  witness.give(page(0), 1);
  witness.give(page(1), 2);
  witness.forbid(1);
  write(1, stamp(2, 0));
  EXPECT_FALSE(witness.first().has_value());
}

TEST_F(WitnessOfPages, WordsOfAnother_AreForeign) {
  witness.give(page(0), 2);
  write(0, stamp(1, 3));
  ASSERT_TRUE(witness.first().has_value());
  EXPECT_EQ(witness.first()->kind, Violation::Kind::ForeignWrite);
  EXPECT_EQ(witness.first()->owner, 1u);
}

TEST_F(WitnessOfPages, WordsThatNobodyStamped_AreTheClientsOwnWhereItAskedForAnAtomic) {
  witness.give(page(0), 2);
  witness.ask(2, 64, 8, true);
  write(0, 12345);
  EXPECT_FALSE(witness.first().has_value());
}

TEST_F(WitnessOfPages, WordsThatNobodyStamped_AreAnothersAtomicElsewhere) {
  witness.give(page(0), 2);
  witness.ask(2, 0, 64, true);
  witness.ask(2, 72, 8, true);
  witness.ask(2, 0, kBytes, false);
  write(0, 12345);
  ASSERT_TRUE(witness.first().has_value());
  EXPECT_EQ(witness.first()->kind, Violation::Kind::UnaskedWrite);
  EXPECT_EQ(witness.first()->owner, 2u);
}

TEST_F(WitnessOfPages, ReadOfWhatTheClientAskedFor_IsNoViolationHoweverOften) {
  witness.give(page(0), 2);
  witness.ask(2, 64, 128, false);
  witness.on_dma(page(0).subspan(64, 128), false);
  witness.on_dma(page(0).subspan(64, 128), false);
  EXPECT_FALSE(witness.first().has_value());
}

TEST_F(WitnessOfPages, ReadOfOneWordMoreThanTheClientAskedFor_IsAnothers) {
  witness.give(page(0), 2);
  witness.ask(2, 64, 128, false);
  witness.on_dma(page(0).subspan(64, 136), false);
  ASSERT_TRUE(witness.first().has_value());
  EXPECT_EQ(witness.first()->kind, Violation::Kind::UnaskedRead);
  EXPECT_EQ(witness.first()->owner, 2u);
}

TEST_F(WitnessOfPages, WhatTheTenantBeforeAskedFor_IsNotAskedForByTheNext) {
  witness.give(page(0), 1);
  witness.ask(1, 0, kBytes, false);
  witness.give(page(0), 2);
  witness.ask(1, 0, kBytes, false);
  witness.on_dma(page(0).first(8), false);
  ASSERT_TRUE(witness.first().has_value());
  EXPECT_EQ(witness.first()->kind, Violation::Kind::UnaskedRead);
}

TEST_F(WitnessOfPages, WordsOfAnotherInAClientsHands_AreForeign) {
  witness.hold(page(1), 1);
  write(1, stamp(1, 0));
  EXPECT_FALSE(witness.first().has_value());
  write(1, stamp(2, 0));
  ASSERT_TRUE(witness.first().has_value());
  EXPECT_EQ(witness.first()->kind, Violation::Kind::ForeignHands);
  EXPECT_EQ(witness.first()->owner, 2u);
}

TEST_F(WitnessOfPages, HandsThatServeAnotherLease_HoldItsWords) {
  witness.hold(page(1), 1);
  witness.hold(page(1), 2);
  write(1, stamp(2, 0));
  EXPECT_FALSE(witness.first().has_value());
}

TEST_F(WitnessOfPages, Objection_IsKeptApartFromWhatTheDeviceDid) {
  witness.give(page(0), 1);
  witness.set_step(7);
  witness.object(Violation::Kind::NumberEarly, 1);
  witness.object(Violation::Kind::Unproved, 1);
  EXPECT_FALSE(witness.first().has_value());
  ASSERT_TRUE(witness.objection().has_value());
  EXPECT_EQ(witness.objection()->kind, Violation::Kind::NumberEarly);
  EXPECT_EQ(witness.objection()->step, 7u);
}

TEST_F(WitnessOfPages, GivenAgain_TheBanIsOver) {
  witness.give(page(0), 1);
  witness.forbid(1);
  witness.give(page(0), 2);
  write(0, stamp(2, 0));
  EXPECT_FALSE(witness.first().has_value());
}

}  // namespace
}  // namespace portcullis::proof::adversary
