// SPDX-License-Identifier: BSD-3-Clause
//
// QUERY_CQ and MODIFY_CQ as Linux sends them (mlx5_core_query_cq, mlx5_core_modify_cq_moderation,
// mlx5_ib_resize_cq); what the queue makes of it is in cq_change_test.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cells.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

constexpr std::uint32_t kWhole =
    prm::kCqResizeLogSize | prm::kCqResizePageOffset | prm::kCqResizePageSize;
constexpr std::uint32_t kLarger = 7;  // two pages of entries

struct BroughtUp : MiniDriver {
  BroughtUp() { bring_up(); }
};

class CqCommands : public ::testing::Test {
 protected:
  prm::Buffer<prm::create_cq_in> create_command() {
    auto in = command<prm::create_cq_in>(Opcode::CREATE_CQ);
    in.set<"cq_context.log_cq_size", 4>()
        .put<"cq_context.uar_page">(eq_.uar())
        .put<"cq_context.c_eqn_or_apu_element">(eq_.eqn())
        .put<"cq_context.dbr_addr">(memory_.iova());
    return in;
  }
  std::uint32_t cq() {
    const std::array<Iova, 1> pages{memory_.iova() + kPageBytes};
    return driver_.run<prm::create_cq_out>(create_command(), pages)
        .as<prm::create_cq_out>()
        .get<"cqn">();
  }
  /// A DevX client's, in a umem.
  std::uint32_t cq_in_umem() {
    auto umem = command<prm::create_umem_in>(Opcode::CREATE_UMEM);
    const std::array<Iova, 1> mtt{(memory_.iova() + kPageBytes) | 3};
    umem.set<"umem.num_of_mtt", 1>();
    const auto id =
        driver_.run<prm::create_umem_out>(umem, mtt).as<prm::create_umem_out>().get<"umem_id">();
    auto in = create_command();
    in.set<"cq_umem_valid", 1>().put<"cq_umem_id">(id);
    return driver_.run<prm::create_cq_out>(in).as<prm::create_cq_out>().get<"cqn">();
  }
  Answer query(std::uint32_t cqn) {
    auto in = command<prm::query_cq_in>(Opcode::QUERY_CQ);
    return driver_.run<prm::query_cq_out>(in.put<"cqn">(cqn));
  }
  prm::ConstView<prm::cqc> context_of(const Answer& answer) {
    return prm::ConstView<prm::cqc>::at(answer.as<prm::query_cq_out>().bytes<"cq_context">());
  }
  Answer moderate(std::uint32_t cqn) {
    auto in = command<prm::modify_cq_in>(Opcode::MODIFY_CQ);
    in.put<"cqn">(cqn)
        .set<"modify_field_select_resize_field_select",
             prm::kCqModifyPeriod | prm::kCqModifyCount>()
        .set<"cq_context.cq_period", 16>()
        .set<"cq_context.cq_max_count", 8>()
        .set<"cq_umem_valid", 1>();  // a DevX client's has it, whatever it changes
    return driver_.run<prm::modify_cq_out>(in);
  }
  prm::Buffer<prm::modify_cq_in> resize_command(std::uint32_t cqn) {
    auto in = command<prm::modify_cq_in>(Opcode::MODIFY_CQ);
    in.put<"op_mod">(prm::ModifyCqOpMod::RESIZE_CQ)
        .put<"cqn">(cqn)
        .put<"modify_field_select_resize_field_select">(kWhole)
        .set<"cq_context.log_cq_size", kLarger>();
    return in;
  }
  Answer resize(const prm::Buffer<prm::modify_cq_in>& in, std::size_t page_count = 2) {
    const std::array<Iova, 2> pages{memory_.iova() + 2 * kPageBytes,
                                    memory_.iova() + 3 * kPageBytes};
    return driver_.run<prm::modify_cq_out>(in, std::span(pages).first(page_count));
  }
  std::uint32_t destroy(std::uint32_t cqn) {
    auto in = command<prm::destroy_cq_in>(Opcode::DESTROY_CQ);
    return prm::number(driver_.run<prm::destroy_cq_out>(in.put<"cqn">(cqn)).status);
  }

  BroughtUp driver_;
  DmaBuffer memory_ = driver_.allocate(4 * kPageBytes);
  EventQueue eq_{driver_, {}};
};

TEST_F(CqCommands, Capabilities_OfferBothKindsOfChange) {
  const Answer answer =
      driver_.run<prm::query_hca_cap_out>(command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP));
  const auto page = prm::ConstView<prm::cmd_hca_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  EXPECT_EQ(page.get<"cq_moderation">(), 1U);
  EXPECT_EQ(page.get<"cq_period_start_from_cqe">(), 1U);
  EXPECT_EQ(page.get<"cq_resize">(), 1U);
  EXPECT_EQ(page.get<"cq_eq_remap">(), 0U);
}

TEST_F(CqCommands, Query_GivesTheContextBack) {
  const Answer answer = query(cq());
  ASSERT_TRUE(answer.ok());
  const auto context = context_of(answer);
  EXPECT_EQ(context.get<"log_cq_size">(), 4U);
  EXPECT_EQ(context.get<"uar_page">(), eq_.uar());
  EXPECT_EQ(context.get<"c_eqn_or_apu_element">(), eq_.eqn());
  EXPECT_EQ(context.get<"dbr_addr">(), memory_.iova());
  EXPECT_EQ(context.get<"producer_counter">(), 0U);
}

TEST_F(CqCommands, Moderation_IsInTheContextAfterwards) {
  const std::uint32_t cqn = cq();
  ASSERT_TRUE(moderate(cqn).ok());
  const Answer answer = query(cqn);
  EXPECT_EQ(context_of(answer).get<"cq_period">(), 16U);
  EXPECT_EQ(context_of(answer).get<"cq_max_count">(), 8U);
}

TEST_F(CqCommands, Resize_TakesTheNewPagesAndTheSize) {
  const std::uint32_t cqn = cq();
  ASSERT_TRUE(resize(resize_command(cqn)).ok());
  const Answer answer = query(cqn);
  EXPECT_EQ(context_of(answer).get<"log_cq_size">(), kLarger);
  EXPECT_EQ(context_of(answer).get<"producer_counter">(), 1U);
  EXPECT_EQ(destroy(cqn), prm::number(CommandStatus::OK));
}

/// "CQ HW cons" of mcx_kstat_queue_read (OpenBSD's if_mcx.c).
TEST_F(CqCommands, Query_SaysHowFarTheDriverHasRead) {
  const std::uint32_t cqn = cq();
  ASSERT_TRUE(resize(resize_command(cqn)).ok());  // which completes once
  cells::store_release<std::uint32_t>(memory_.bytes().data(), cells::be32(1));
  const Answer answer = query(cqn);
  EXPECT_EQ(context_of(answer).get<"consumer_counter">(), 1U);
}

TEST_F(CqCommands, ResizeWithFewerPagesThanItTakes_IsABadLength) {
  EXPECT_EQ(resize(resize_command(cq()), 1).status, CommandStatus::BAD_INP_LEN_ERR);
}

TEST_F(CqCommands, ResizeBeyondTheCapability_IsABadParameter) {
  auto in = resize_command(cq());
  in.set<"cq_context.log_cq_size", 23>();
  EXPECT_EQ(resize(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(CqCommands, ResizeThatKeepsSomeOfTheLayout_IsABadParameter) {
  auto in = resize_command(cq());
  in.set<"modify_field_select_resize_field_select", prm::kCqResizeLogSize>();
  EXPECT_EQ(resize(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(CqCommands, OtherOpMod_IsABadParameter) {
  auto in = resize_command(cq());
  in.set<"op_mod", 2>();
  EXPECT_EQ(resize(in).status, CommandStatus::BAD_PARAM_ERR);
}

// DPDK's driver asks for it whatever the capabilities say (cqe_comp_en in net/mlx5/mlx5_devx.c).
TEST_F(CqCommands, CompressionThatIsNotOffered_MayBeAskedFor) {
  auto in = create_command();
  in.set<"cq_context.cqe_comp_en", 1>();
  const std::array<Iova, 1> pages{memory_.iova() + kPageBytes};
  EXPECT_TRUE(driver_.run<prm::create_cq_out>(in, pages).ok());
  in.set<"cq_context.apu_cq", 1>();
  EXPECT_EQ(driver_.run<prm::create_cq_out>(in, pages).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(CqCommands, ResizeOfAQueueInAUmem_IsNotOffered) {
  EXPECT_EQ(resize(resize_command(cq_in_umem())).status, CommandStatus::BAD_PARAM_ERR);
  auto in = resize_command(cq());
  in.set<"cq_umem_valid", 1>();
  EXPECT_EQ(resize(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(CqCommands, QueueThatIsNotThere_IsABadResource) {
  EXPECT_EQ(query(99).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(moderate(99).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(resize(resize_command(99)).status, CommandStatus::BAD_RES_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
