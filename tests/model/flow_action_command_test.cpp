// SPDX-License-Identifier: BSD-3-Clause
//
// Contexts of header changes and of packet reformat, and entries that name them, by commands: what
// is accepted, what is refused with which status.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "prm/flow_cap.hpp"
#include "tests/model/flow_commands.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::FlowAction;
using prm::FlowTableType;
using prm::HeaderField;
using prm::Opcode;
using prm::ReformatType;

constexpr std::size_t kMaxActions = 16;
constexpr std::size_t kMaxHeaderBytes = 128;

class FlowActions : public ::testing::Test {
 protected:
  void start(PortType port_type) {
    Options options;
    options.port_type = port_type;
    driver_ = std::make_unique<MiniDriver>(options);
    driver_->bring_up();
  }
  void SetUp() override { start(PortType::Ethernet); }

  Answer allocate(std::span<const std::byte> in) {
    return driver_->execute(in, prm::alloc_modify_header_context_out::bytes);
  }
  Answer change(FlowTableType type = FlowTableType::NIC_TX, std::size_t actions = 1) {
    return allocate(changes_command(
        type, std::vector<RawAction>(actions, set_action(HeaderField::OUT_IP_TTL, 9, 8))));
  }
  Answer reformat(ReformatType type = ReformatType::L2_TO_L2_TUNNEL,
                  std::size_t header_bytes = 50) {
    return allocate(reformat_command(type, std::vector<std::byte>(header_bytes)));
  }
  static std::uint32_t id_of(const Answer& answer) {
    EXPECT_TRUE(answer.ok());
    return answer.as<prm::alloc_modify_header_context_out>().get<"modify_header_id">();
  }
  Answer free_change(std::uint32_t id) {
    auto in = command<prm::dealloc_modify_header_context_in>(Opcode::DEALLOC_MODIFY_HEADER_CONTEXT);
    return driver_->run<prm::dealloc_modify_header_context_out>(in.put<"modify_header_id">(id));
  }
  Answer free_reformat(std::uint32_t id) {
    auto in =
        command<prm::dealloc_packet_reformat_context_in>(Opcode::DEALLOC_PACKET_REFORMAT_CONTEXT);
    return driver_->run<prm::dealloc_packet_reformat_context_out>(in.put<"packet_reformat_id">(id));
  }
  Answer create_table(FlowTableType type) {
    auto in = table_command(type, 4);
    in.set<"flow_table_context.reformat_en", 1>().set<"flow_table_context.decap_en", 1>();
    return driver_->run<prm::create_flow_table_out>(in);
  }
  /// An entry that allows, as its table's only one.
  prm::Buffer<prm::set_fte_in> entry(FlowTableType type, unsigned actions) {
    place_ = {type, create_table(type).as<prm::create_flow_table_out>().get<"table_id">()};
    const Answer group = driver_->run<prm::create_flow_group_out>(group_command(place_, 0, 7, {}));
    auto in =
        entry_command(place_, group.as<prm::create_flow_group_out>().get<"group_id">(), 0, {});
    return in.put<"flow_context.action">(prm::number(FlowAction::ALLOW) | actions);
  }
  Answer set(const prm::Buffer<prm::set_fte_in>& in) {
    return driver_->execute(in.all(), prm::set_fte_out::bytes);
  }
  Answer remove() { return driver_->run<prm::delete_fte_out>(delete_command(place_, 0)); }

  std::unique_ptr<MiniDriver> driver_;
  Place place_;
};

/// mlx5_ib_flow_action_packet_reformat_valid and mlx5_ib_modify_header_supported of mlx5_ib/fs.c,
/// requires_reformat_support of rdma-core's test_mlx5_flow.py.
TEST_F(FlowActions, CapabilitiesOfEthernet_AreWhatLinuxAndItsProgramsAsk) {
  auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  in.put<"op_mod">(prm::cap_op_mod(prm::CapType::FLOW_TABLE));
  const Answer answer = driver_->run<prm::query_hca_cap_out>(in);
  const auto page = prm::ConstView<prm::flow_table_nic_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  EXPECT_EQ(page.get<"encap_general_header">(), 1U);
  EXPECT_GT(page.get<"log_max_packet_reformat_context">(), 0U);
  EXPECT_EQ(page.get<"max_encap_header_size">(), kMaxHeaderBytes);
  EXPECT_EQ(page.get<"flow_table_properties_nic_receive.reformat">(), 1U);
  EXPECT_EQ(page.get<"flow_table_properties_nic_receive.decap">(), 1U);
  EXPECT_EQ(page.get<"flow_table_properties_nic_receive.reformat_l3_tunnel_to_l2">(), 1U);
  EXPECT_EQ(page.get<"flow_table_properties_nic_receive.max_modify_header_actions">(), kMaxActions);
  EXPECT_EQ(page.get<"flow_table_properties_nic_receive.push_vlan">(), 0U);
  EXPECT_EQ(page.get<"flow_table_properties_nic_transmit.reformat">(), 1U);
  EXPECT_EQ(page.get<"flow_table_properties_nic_transmit.reformat_l2_to_l3_tunnel">(), 1U);
  EXPECT_EQ(page.get<"flow_table_properties_nic_transmit.max_modify_header_actions">(),
            kMaxActions);
  EXPECT_EQ(page.get<"flow_table_properties_nic_transmit.pop_vlan">(), 0U);
}

TEST_F(FlowActions, InfiniBandPort_HasNone) {
  start(PortType::InfiniBand);
  EXPECT_EQ(change(FlowTableType::NIC_RX).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(reformat().status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_table(FlowTableType::NIC_RX).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowActions, TableOfRdma_HasNone) {
  EXPECT_EQ(create_table(FlowTableType::RDMA_RX).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(change(FlowTableType::RDMA_RX).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowActions, Table_SaysAgainWhatItWasMadeFor) {
  const Answer made = create_table(FlowTableType::NIC_RX);
  auto in = command<prm::query_flow_table_in>(Opcode::QUERY_FLOW_TABLE);
  in.put<"table_type">(FlowTableType::NIC_RX);
  in.put<"table_id">(made.as<prm::create_flow_table_out>().get<"table_id">());
  const Answer said = driver_->run<prm::query_flow_table_out>(in);
  const auto out = said.as<prm::query_flow_table_out>();
  EXPECT_EQ(out.get<"flow_table_context.reformat_en">(), 1U);
  EXPECT_EQ(out.get<"flow_table_context.decap_en">(), 1U);
}

TEST_F(FlowActions, Changes_AsManyAsOffered) {
  EXPECT_TRUE(change(FlowTableType::NIC_RX, kMaxActions).ok());
  EXPECT_EQ(change(FlowTableType::NIC_RX, kMaxActions + 1).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowActions, ChangesFewerThanAnnounced_AreTooShortAnInput) {
  const std::array<RawAction, 1> actions{add_action(HeaderField::OUT_IP_TTL, 0xff)};
  auto in = changes_command(FlowTableType::NIC_RX, actions);
  in.pop_back();
  EXPECT_EQ(allocate(in).status, CommandStatus::BAD_INP_LEN_ERR);
}

TEST_F(FlowActions, ChangeOfAFieldThatIsNotOffered_IsRefused) {
  const std::array<RawAction, 1> actions{set_action(HeaderField::METADATA_REG_B, 1, 0)};
  EXPECT_EQ(allocate(changes_command(FlowTableType::NIC_RX, actions)).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowActions, HeaderOfAFrame_UpToTheSizeOffered) {
  EXPECT_TRUE(reformat(ReformatType::L2_TO_L3_TUNNEL, kMaxHeaderBytes).ok());
  EXPECT_EQ(reformat(ReformatType::L2_TO_L3_TUNNEL, kMaxHeaderBytes + 1).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(reformat(ReformatType::L3_TUNNEL_TO_L2, 14).ok());
  EXPECT_EQ(reformat(ReformatType::L3_TUNNEL_TO_L2, 13).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(reformat(ReformatType::INSERT_HDR, 14).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowActions, HeaderShorterThanAnnounced_IsTooShortAnInput) {
  auto in = reformat_command(ReformatType::L2_TO_L2_TUNNEL, std::vector<std::byte>(50));
  in.pop_back();
  EXPECT_EQ(allocate(in).status, CommandStatus::BAD_INP_LEN_ERR);
}

TEST_F(FlowActions, EntryThatNamesContexts_HoldsThem) {
  const std::uint32_t changes = id_of(change());
  const std::uint32_t wrap = id_of(reformat());
  auto in = entry(FlowTableType::NIC_TX,
                  prm::number(FlowAction::MOD_HDR) | prm::number(FlowAction::PACKET_REFORMAT));
  in.put<"flow_context.modify_header_id">(changes).put<"flow_context.packet_reformat_id">(wrap);
  ASSERT_TRUE(set(in).ok());
  EXPECT_EQ(free_change(changes).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ(free_reformat(wrap).status, CommandStatus::BAD_RES_STATE_ERR);
  ASSERT_TRUE(remove().ok());
  EXPECT_TRUE(free_change(changes).ok());
  EXPECT_TRUE(free_reformat(wrap).ok());
  EXPECT_EQ(free_change(changes).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(free_reformat(wrap).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(FlowActions, EntryThatNamesContexts_SaysThemWhenAsked) {
  const std::uint32_t changes = id_of(change());
  auto in = entry(FlowTableType::NIC_TX,
                  prm::number(FlowAction::MOD_HDR) | prm::number(FlowAction::VLAN_PUSH));
  in.put<"flow_context.modify_header_id">(changes);
  const prm::View<prm::vlan> tag{in.bytes<"flow_context.push_vlan">()};
  tag.put<"ethtype">(std::uint16_t{0x8100});
  static_cast<void>(tag.try_set<"vid">(0x123));
  ASSERT_TRUE(set(in).ok());
  auto query = command<prm::query_fte_in>(Opcode::QUERY_FLOW_TABLE_ENTRY);
  query.put<"table_type">(place_.type).put<"table_id">(place_.table);
  const Answer answer = driver_->run<prm::query_fte_out>(query);
  const auto said = answer.as<prm::query_fte_out>();
  EXPECT_EQ(said.get<"flow_context.modify_header_id">(), changes);
  EXPECT_EQ(prm::ConstView<prm::vlan>(said.bytes<"flow_context.push_vlan">()).get<"vid">(), 0x123U);
}

TEST_F(FlowActions, EntryThatNamesNoLiveContext_IsRefused) {
  EXPECT_EQ(set(entry(FlowTableType::NIC_TX, prm::number(FlowAction::MOD_HDR))).status,
            CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(set(entry(FlowTableType::NIC_TX, prm::number(FlowAction::PACKET_REFORMAT))).status,
            CommandStatus::BAD_RES_ERR);
}

TEST_F(FlowActions, ContextOfTheOtherDirection_IsRefused) {
  auto in = entry(FlowTableType::NIC_RX, prm::number(FlowAction::MOD_HDR));
  in.put<"flow_context.modify_header_id">(id_of(change(FlowTableType::NIC_TX)));
  EXPECT_EQ(set(in).status, CommandStatus::BAD_PARAM_ERR);
  in = entry(FlowTableType::NIC_RX, prm::number(FlowAction::PACKET_REFORMAT));
  in.put<"flow_context.packet_reformat_id">(id_of(reformat()));
  EXPECT_EQ(set(in).status, CommandStatus::BAD_PARAM_ERR);
  in = entry(FlowTableType::NIC_TX, prm::number(FlowAction::PACKET_REFORMAT));
  in.put<"flow_context.packet_reformat_id">(id_of(reformat(ReformatType::L3_TUNNEL_TO_L2, 14)));
  EXPECT_EQ(set(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowActions, ActionOfTheOtherDirection_IsRefused) {
  EXPECT_EQ(set(entry(FlowTableType::NIC_TX, prm::number(FlowAction::DECAP))).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(set(entry(FlowTableType::NIC_TX, prm::number(FlowAction::VLAN_POP))).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(set(entry(FlowTableType::NIC_RX, prm::number(FlowAction::VLAN_PUSH))).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(set(entry(FlowTableType::NIC_RX, prm::number(FlowAction::DECAP))).ok());
}

TEST_F(FlowActions, EntryModifiedToNameAContext_HoldsIt) {
  const std::uint32_t changes = id_of(change());
  auto in = entry(FlowTableType::NIC_TX, 0);
  ASSERT_TRUE(set(in).ok());
  in.put<"flow_context.modify_header_id">(changes);
  in.put<"op_mod">(prm::SetFteOpMod::MODIFY);
  in.put<"modify_enable_mask">(1U << prm::number(prm::ModifyFte::ACTION));
  in.put<"flow_context.action">(prm::number(FlowAction::ALLOW) | prm::number(FlowAction::MOD_HDR));
  ASSERT_TRUE(set(in).ok());
  EXPECT_EQ(free_change(changes).status, CommandStatus::BAD_RES_STATE_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
