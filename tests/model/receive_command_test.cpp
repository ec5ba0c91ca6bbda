// SPDX-License-Identifier: BSD-3-Clause
//
// Receive queues and TIRs by command: what they refer to cannot go before them.
#include <gtest/gtest.h>

#include "prm/receive_commands.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/flow_commands.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

class ReceiveCommands : public ::testing::Test {
 protected:
  ReceiveCommands() { driver_.bring_up(); }

  std::uint32_t create_cq(const EventQueue& eq) {
    auto in = command<prm::create_cq_in>(Opcode::CREATE_CQ);
    in.set<"cq_context.log_cq_size", 4>().put<"cq_context.uar_page">(eq.uar());
    in.put<"cq_context.c_eqn_or_apu_element">(eq.eqn()).put<"cq_context.dbr_addr">(memory_.iova());
    const std::array<Iova, 1> pages{memory_.iova() + kPageBytes};
    return driver_.run<prm::create_cq_out>(in, pages).as<prm::create_cq_out>().get<"cqn">();
  }
  Answer create_rq(std::uint32_t pd, std::uint32_t cqn) {
    auto in = command<prm::create_rq_in>(Opcode::CREATE_RQ);
    in.put<"ctx.cqn">(cqn).put<"ctx.wq.wq_type">(prm::WqType::CYCLIC).put<"ctx.wq.pd">(pd);
    in.put<"ctx.wq.dbr_addr">(memory_.iova() + 64).set<"ctx.wq.log_wq_stride", 6>();
    const std::array<Iova, 1> pages{memory_.iova() + 2 * kPageBytes};
    return driver_.run<prm::create_rq_out>(in, pages);
  }
  std::uint32_t create_tir(std::uint32_t rqn) {
    const std::uint32_t domain =
        driver_
            .run<prm::alloc_transport_domain_out>(
                command<prm::alloc_transport_domain_in>(Opcode::ALLOC_TRANSPORT_DOMAIN))
            .as<prm::alloc_transport_domain_out>()
            .get<"transport_domain">();
    auto in = command<prm::create_tir_in>(Opcode::CREATE_TIR);
    in.put<"ctx.inline_rqn">(rqn).put<"ctx.transport_domain">(domain);
    return driver_.run<prm::create_tir_out>(in).as<prm::create_tir_out>().get<"tirn">();
  }
  Answer destroy_tir(std::uint32_t tirn) {
    auto in = command<prm::destroy_tir_in>(Opcode::DESTROY_TIR);
    return driver_.run<prm::destroy_tir_out>(in.put<"tirn">(tirn));
  }
  Answer destroy_rq(std::uint32_t rqn) {
    auto in = command<prm::destroy_rq_in>(Opcode::DESTROY_RQ);
    return driver_.run<prm::destroy_rq_out>(in.put<"rqn">(rqn));
  }
  Answer dealloc_pd(std::uint32_t pd) {
    auto in = command<prm::dealloc_pd_in>(Opcode::DEALLOC_PD);
    return driver_.run<prm::dealloc_pd_out>(in.put<"pd">(pd));
  }
  Answer destroy_cq(std::uint32_t cqn) {
    auto in = command<prm::destroy_cq_in>(Opcode::DESTROY_CQ);
    return driver_.run<prm::destroy_cq_out>(in.put<"cqn">(cqn));
  }

  MiniDriver driver_;
  DmaBuffer memory_ = driver_.allocate(4 * kPageBytes);
};

TEST_F(ReceiveCommands, RqOfNoPdOrNoCq_IsABadResource) {
  const EventQueue eq(driver_, {});
  EXPECT_EQ(create_rq(99, create_cq(eq)).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_rq(driver_.alloc_pd(), 0xffff).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(ReceiveCommands, ReceiveQueueThatNamesNoDomain_Created) {
  EventQueue eq(driver_, {});
  EXPECT_TRUE(create_rq(0, create_cq(eq)).ok());
}

TEST_F(ReceiveCommands, Rq_KeepsItsPdAndCq) {
  const EventQueue eq(driver_, {});
  const std::uint32_t pd = driver_.alloc_pd();
  const std::uint32_t cqn = create_cq(eq);
  const std::uint32_t rqn = create_rq(pd, cqn).as<prm::create_rq_out>().get<"rqn">();
  EXPECT_EQ(driver_.model().census().rqs, 1U);
  EXPECT_EQ(dealloc_pd(pd).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ(destroy_cq(cqn).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(destroy_rq(rqn).ok());
  EXPECT_TRUE(dealloc_pd(pd).ok());
  EXPECT_TRUE(destroy_cq(cqn).ok());
}

// mlx5_devx_drop_action_create of DPDK's mlx5_devx.c.
TEST_F(ReceiveCommands, TirOfDomainZero_IsCreated) {
  const EventQueue eq(driver_, {});
  auto in = command<prm::create_tir_in>(Opcode::CREATE_TIR);
  in.put<"ctx.inline_rqn">(create_rq(0, create_cq(eq)).as<prm::create_rq_out>().get<"rqn">());
  EXPECT_TRUE(driver_.run<prm::create_tir_out>(in).ok());
  in.put<"ctx.transport_domain">(99u);
  EXPECT_EQ(driver_.run<prm::create_tir_out>(in).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(ReceiveCommands, TirThatAnEntryForwardsTo_IsNotDestroyed) {
  const EventQueue eq(driver_, {});
  const std::uint32_t pd = driver_.alloc_pd();
  const std::uint32_t rqn = create_rq(pd, create_cq(eq)).as<prm::create_rq_out>().get<"rqn">();
  const std::uint32_t tirn = create_tir(rqn);
  const auto type = prm::FlowTableType::NIC_RX;
  const Place place{type, driver_.run<prm::create_flow_table_out>(table_command(type, 0))
                              .as<prm::create_flow_table_out>()
                              .get<"table_id">()};
  const Match by_qp{.dst_qp = 0xffffff};
  const std::uint32_t group =
      driver_.run<prm::create_flow_group_out>(group_command(place, 0, 0, by_qp))
          .as<prm::create_flow_group_out>()
          .get<"group_id">();
  const auto entry = forwarding(entry_command(place, group, 0, {.dst_qp = 5}));
  std::vector<std::byte> bytes(entry.all().begin(), entry.all().end());
  const auto to = destination(prm::FlowDestination::TIR, tirn);
  bytes.insert(bytes.end(), to.begin(), to.end());
  ASSERT_TRUE(driver_.execute(bytes, prm::set_fte_out::bytes).ok());
  EXPECT_EQ(destroy_tir(tirn).status, CommandStatus::BAD_RES_STATE_ERR);
  ASSERT_TRUE(driver_.run<prm::delete_fte_out>(delete_command(place, 0)).ok());
  EXPECT_TRUE(destroy_tir(tirn).ok());
  EXPECT_TRUE(destroy_rq(rqn).ok());
}

}  // namespace
}  // namespace portcullis::model::testing
