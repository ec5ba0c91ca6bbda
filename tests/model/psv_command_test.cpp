// SPDX-License-Identifier: BSD-3-Clause
//
// Signature values by command, as mlx5_core_create_psv of Linux's mlx5_ib and libmlx5 ask for them,
// and keys with room for a byte stream format.
#include <gtest/gtest.h>

#include "prm/block_signature.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

class Psvs : public ::testing::Test {
 protected:
  Psvs() { driver_.bring_up(); }

  Answer create(std::uint32_t pd, std::uint32_t count) {
    auto in = command<prm::create_psv_in>(Opcode::CREATE_PSV);
    return driver_.run<prm::create_psv_out>(in.put<"pd">(pd).put<"num_psv">(count));
  }
  Answer destroy(std::uint32_t index) {
    auto in = command<prm::destroy_psv_in>(Opcode::DESTROY_PSV);
    return driver_.run<prm::destroy_psv_out>(in.put<"psvn">(index));
  }
  Answer dealloc_pd(std::uint32_t pd) {
    auto in = command<prm::dealloc_pd_in>(Opcode::DEALLOC_PD);
    return driver_.run<prm::dealloc_pd_out>(in.put<"pd">(pd));
  }

  MiniDriver driver_;
};

TEST_F(Psvs, AsManyAsWereAskedFor_HaveNumbersOfTheirOwn) {
  const Answer made = create(driver_.alloc_pd(), 2);
  ASSERT_TRUE(made.ok());
  const auto out = made.as<prm::create_psv_out>();
  EXPECT_NE(out.get<"psv0_index">(), 0U);
  EXPECT_NE(out.get<"psv1_index">(), 0U);
  EXPECT_NE(out.get<"psv0_index">(), out.get<"psv1_index">());
  EXPECT_EQ(out.get<"psv2_index">(), 0U);
}

TEST_F(Psvs, HoldTheirPdUntilTheLastIsGone) {
  const std::uint32_t pd = driver_.alloc_pd();
  const Answer made = create(pd, 2);
  const auto out = made.as<prm::create_psv_out>();
  EXPECT_TRUE(destroy(out.get<"psv0_index">()).ok());
  EXPECT_EQ(dealloc_pd(pd).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(destroy(out.get<"psv1_index">()).ok());
  EXPECT_TRUE(dealloc_pd(pd).ok());
}

TEST_F(Psvs, DestroyOfNone_IsABadResource) {
  EXPECT_EQ(destroy(1).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(Psvs, OfNoPd_IsABadResource) { EXPECT_EQ(create(99, 1).status, CommandStatus::BAD_RES_ERR); }

TEST_F(Psvs, NoneOrMoreThanTheAnswerHasRoomFor_AreABadParameter) {
  const std::uint32_t pd = driver_.alloc_pd();
  EXPECT_EQ(create(pd, 0).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create(pd, 5).status, CommandStatus::BAD_PARAM_ERR);
}

/// _mlx5dv_create_mkey of rdma-core's mlx5/verbs.c.
TEST_F(Psvs, KeyWithRoomForAFormat_IsMade) {
  auto in = command<prm::create_mkey_in>(Opcode::CREATE_MKEY);
  in.put<"memory_key_mkey_entry.pd">(driver_.alloc_pd());
  in.put<"memory_key_mkey_entry.access_mode_1_0">(prm::MkcAccessMode::KLMS);
  in.set<"memory_key_mkey_entry.free", 1>().set<"memory_key_mkey_entry.umr_en", 1>();
  in.set<"memory_key_mkey_entry.translations_octword_size", 4>();
  in.set<"memory_key_mkey_entry.bsf_en", 1>().set<"memory_key_mkey_entry.bsf_octword_size", 4>();
  EXPECT_TRUE(driver_.run<prm::create_mkey_out>(in).ok());
}

}  // namespace
}  // namespace portcullis::model::testing
