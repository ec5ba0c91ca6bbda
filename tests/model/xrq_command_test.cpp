// SPDX-License-Identifier: BSD-3-Clause
//
// XRQs by command, as create_xrq_cmd and its neighbours of mlx5_ib/srq_cmd.c send them, and which
// ports have them.
#include <gtest/gtest.h>

#include <algorithm>

#include "prm/tag_matching.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

Options port_of(PortType type) {
  Options options;
  options.port_type = type;
  return options;
}

/// The general page in force.
prm::Buffer<prm::cmd_hca_cap> capabilities_of(MiniDriver& driver) {
  auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  in.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL, prm::CapMode::GET_CUR));
  const Answer answer = driver.run<prm::query_hca_cap_out>(in);
  prm::Buffer<prm::cmd_hca_cap> page;
  std::ranges::copy(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">().first(page.all().size()),
      page.all().begin());
  return page;
}

/// Before anything is made of it.
class BroughtUp : public ::testing::Test {
 protected:
  BroughtUp() { driver_.bring_up(); }
  MiniDriver driver_{port_of(PortType::InfiniBand)};
};

class XrqCommands : public BroughtUp {
 protected:
  std::uint32_t create_cq() {
    auto in = command<prm::create_cq_in>(Opcode::CREATE_CQ);
    in.set<"cq_context.log_cq_size", 4>().put<"cq_context.uar_page">(eq_.uar());
    in.put<"cq_context.c_eqn_or_apu_element">(eq_.eqn()).put<"cq_context.dbr_addr">(memory_.iova());
    const std::array<Iova, 1> pages{memory_.iova() + kPageBytes};
    return driver_.run<prm::create_cq_out>(in, pages).as<prm::create_cq_out>().get<"cqn">();
  }
  Answer create() {
    const std::array<Iova, 1> pages{memory_.iova() + 2 * kPageBytes};
    return driver_.run<prm::create_xrq_out>(in_, pages);
  }
  std::uint32_t created() { return create().as<prm::create_xrq_out>().get<"xrqn">(); }
  Answer destroy(std::uint32_t number) {
    auto in = command<prm::destroy_xrq_in>(Opcode::DESTROY_XRQ);
    return driver_.run<prm::destroy_xrq_out>(in.put<"xrqn">(number));
  }
  Answer query(std::uint32_t number) {
    auto in = command<prm::query_xrq_in>(Opcode::QUERY_XRQ);
    return driver_.run<prm::query_xrq_out>(in.put<"xrqn">(number));
  }
  Answer arm_rq(std::uint32_t number, std::uint32_t limit, std::uint16_t op_mod = prm::kArmRqXrq) {
    auto in = command<prm::arm_rq_in>(Opcode::ARM_RQ);
    in.put<"srq_number">(number).put<"lwm">(limit).put<"op_mod">(op_mod);
    return driver_.run<prm::arm_rq_out>(in);
  }
  Answer arm_xrq(std::uint32_t number, std::uint32_t limit) {
    auto in = command<prm::arm_xrq_in>(Opcode::ARM_XRQ);
    return driver_.run<prm::arm_xrq_out>(in.put<"xrqn">(number).put<"lwm">(limit));
  }

  DmaBuffer memory_ = driver_.allocate(4 * kPageBytes);
  EventQueue eq_{driver_, {}};
  std::uint32_t pd_ = driver_.alloc_pd();
  std::uint32_t cqn_ = create_cq();
  prm::Buffer<prm::create_xrq_in> in_ = [this] {
    auto in = command<prm::create_xrq_in>(Opcode::CREATE_XRQ);
    in.put<"xrq_context.topology">(prm::XrqTopology::TAG_MATCHING);
    in.put<"xrq_context.offload">(prm::kXrqOffloadRndv).put<"xrq_context.cqn">(cqn_);
    in.set<"xrq_context.tag_matching_topology_context.log_matching_list_sz", 7>();
    in.set<"xrq_context.user_index", 9>();
    in.put<"xrq_context.wq.pd">(pd_).put<"xrq_context.wq.dbr_addr">(memory_.iova() + 64);
    in.set<"xrq_context.wq.log_wq_stride", 5>().set<"xrq_context.wq.log_wq_sz", 6>();
    return in;
  }();
};

TEST_F(XrqCommands, InfiniBandPort_OffersTagMatchingOfConnectedQueuePairs) {
  const auto page = capabilities_of(driver_);
  EXPECT_EQ(page.get<"tag_matching">(), 1U);
  EXPECT_EQ(page.get<"rndv_offload_rc">(), 1U);
  EXPECT_EQ(page.get<"rndv_offload_dc">(), 0U);
  EXPECT_EQ(page.get<"log_tag_matching_list_sz">(), 7U);
}

TEST_F(XrqCommands, Created_IsAsItWasAskedFor) {
  const Answer answer = query(created());
  ASSERT_TRUE(answer.ok());
  const auto out = answer.as<prm::query_xrq_out>();
  EXPECT_EQ(out.get<"xrq_context.state">(), prm::number(prm::XrqState::GOOD));
  EXPECT_EQ(out.get<"xrq_context.cqn">(), cqn_);
  EXPECT_EQ(out.get<"xrq_context.user_index">(), 9U);
  EXPECT_EQ(out.get<"xrq_context.tag_matching_topology_context.append_next_index">(), 0U);
  EXPECT_EQ(out.get<"xrq_context.tag_matching_topology_context.hw_phase_cnt">(), 0U);
}

TEST_F(XrqCommands, WithoutATopology_IsAQueueLikeAny) {
  in_.set<"xrq_context.topology", 0>().set<"xrq_context.offload", 0>();
  EXPECT_TRUE(create().ok());
}

TEST_F(XrqCommands, ListLongerThanTheCapability_IsRefused) {
  in_.set<"xrq_context.tag_matching_topology_context.log_matching_list_sz", 8>();
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(XrqCommands, TopologyThatIsNone_IsRefused) {
  in_.set<"xrq_context.topology", 2>();
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(XrqCommands, OffloadThatIsNone_IsRefused) {
  in_.set<"xrq_context.offload", 2>();
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(XrqCommands, NoSuchCq_IsRefused) {
  in_.put<"xrq_context.cqn">(cqn_ + 1);
  EXPECT_EQ(create().status, CommandStatus::BAD_RES_ERR);
}

TEST_F(XrqCommands, NoSuchPd_IsRefused) {
  in_.put<"xrq_context.wq.pd">(pd_ + 1);
  EXPECT_EQ(create().status, CommandStatus::BAD_RES_ERR);
}

TEST_F(XrqCommands, CqOfAnXrq_StaysUntilItGoes) {
  const std::uint32_t number = created();
  auto in = command<prm::destroy_cq_in>(Opcode::DESTROY_CQ);
  in.put<"cqn">(cqn_);
  EXPECT_EQ(driver_.run<prm::destroy_cq_out>(in).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(destroy(number).ok());
  EXPECT_TRUE(driver_.run<prm::destroy_cq_out>(in).ok());
}

TEST_F(XrqCommands, Destroyed_IsNotThere) {
  const std::uint32_t number = created();
  ASSERT_TRUE(destroy(number).ok());
  EXPECT_EQ(query(number).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(destroy(number).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(arm_rq(number, 1).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(XrqCommands, Armed_KeepsItsLimit) {
  in_.set<"xrq_context.wq.lwm", 0>();
  const std::uint32_t number = created();
  EXPECT_EQ(arm_rq(number, 64).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(arm_rq(number, 0).ok());
  EXPECT_TRUE(arm_xrq(number, 0).ok());
  EXPECT_EQ(arm_rq(number, 0, 1).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(query(number).as<prm::query_xrq_out>().get<"xrq_context.wq.lwm">(), 0U);
}

TEST(XrqOfEthernetPorts, IsNotOffered) {
  MiniDriver driver{port_of(PortType::Ethernet)};
  driver.bring_up();
  EXPECT_EQ(capabilities_of(driver).get<"tag_matching">(), 0U);
  const auto in = command<prm::create_xrq_in>(Opcode::CREATE_XRQ);
  EXPECT_EQ(driver.run<prm::create_xrq_out>(in).status, CommandStatus::BAD_PARAM_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
