// SPDX-License-Identifier: BSD-3-Clause
//
// Flow steering by command: what is accepted, what is refused with which status, and that nothing
// stays behind.
#include <gtest/gtest.h>

#include "prm/flow_cap.hpp"
#include "tests/model/flow_commands.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::FlowAction;
using prm::FlowTableType;

constexpr std::uint32_t kLogSize = 4;
constexpr Match kOpcodeMask{.opcode = 0xff};
constexpr Match kWriteOnly{.opcode = 0x0a};

class FlowCommands : public ::testing::Test {
 protected:
  void start(std::vector<std::string> behaviours, std::string timing = "instant",
             PortType port_type = PortType::Ethernet) {
    Options options;
    options.behaviours = std::move(behaviours);
    options.timing = std::move(timing);
    options.port_type = port_type;
    driver_ = std::make_unique<MiniDriver>(options);
    driver_->bring_up();
  }
  void SetUp() override { start({}); }

  Answer create_table(FlowTableType type = FlowTableType::RDMA_RX, std::uint32_t level = 0) {
    return driver_->run<prm::create_flow_table_out>(table_command(type, kLogSize, level));
  }
  Place table(FlowTableType type = FlowTableType::RDMA_RX, std::uint32_t level = 0) {
    return {type, create_table(type, level).as<prm::create_flow_table_out>().get<"table_id">()};
  }
  Answer create_group(const prm::Buffer<prm::create_flow_group_in>& in) {
    return driver_->run<prm::create_flow_group_out>(in);
  }
  std::uint32_t group(Place place, const Match& mask = kOpcodeMask) {
    return create_group(group_command(place, 0, 7, mask))
        .as<prm::create_flow_group_out>()
        .get<"group_id">();
  }
  Answer set(const prm::Buffer<prm::set_fte_in>& in, std::span<const std::byte> list = {}) {
    std::vector<std::byte> bytes(in.all().begin(), in.all().end());
    bytes.insert(bytes.end(), list.begin(), list.end());
    return driver_->execute(bytes, prm::set_fte_out::bytes);
  }
  Answer remove(Place place, std::uint32_t index) {
    return driver_->run<prm::delete_fte_out>(delete_command(place, index));
  }
  Answer root(const prm::Buffer<prm::set_flow_table_root_in>& in) {
    return driver_->run<prm::set_flow_table_root_out>(in);
  }
  Answer query(Place place) {
    auto in = command<prm::query_flow_table_in>(prm::Opcode::QUERY_FLOW_TABLE);
    return driver_->run<prm::query_flow_table_out>(
        in.put<"table_type">(place.type).put<"table_id">(place.table));
  }
  Answer destroy(Place place) {
    auto in = command<prm::destroy_flow_table_in>(prm::Opcode::DESTROY_FLOW_TABLE);
    return driver_->run<prm::destroy_flow_table_out>(
        in.put<"table_type">(place.type).put<"table_id">(place.table));
  }
  Answer destroy_group(Place place, std::uint32_t id) {
    auto in = command<prm::destroy_flow_group_in>(prm::Opcode::DESTROY_FLOW_GROUP);
    return driver_->run<prm::destroy_flow_group_out>(
        in.put<"table_type">(place.type).put<"table_id">(place.table).put<"group_id">(id));
  }
  Answer capabilities() {
    auto in = command<prm::query_hca_cap_in>(prm::Opcode::QUERY_HCA_CAP);
    in.put<"op_mod">(prm::cap_op_mod(prm::CapType::FLOW_TABLE));
    return driver_->run<prm::query_hca_cap_out>(in);
  }
  std::uint32_t opcode_capability() {
    return prm::ConstView<prm::flow_table_nic_cap>::at(
               capabilities().as<prm::query_hca_cap_out>().bytes<"capability">())
        .get<"ft_field_support_2_nic_receive_rdma.bth_opcode">();
  }

  std::unique_ptr<MiniDriver> driver_;
};

TEST_F(FlowCommands, CapabilityPage_OffersBothDomains) {
  const Answer answer = capabilities();
  const auto page = prm::ConstView<prm::flow_table_nic_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  EXPECT_EQ(page.get<"flow_table_properties_nic_receive.ft_support">(), 1U);
  EXPECT_EQ(page.get<"flow_table_properties_nic_receive_rdma.ft_support">(), 1U);
  EXPECT_EQ(page.get<"flow_table_properties_nic_receive_rdma.ft_field_support.bth_dst_qp">(), 1U);
}

/// FS_CHAINING_CAPS_EGRESS of mlx5/core/fs_core.c: without these Linux has no place for a rule.
TEST_F(FlowCommands, CapabilityPageOfEthernet_OffersWhatLinuxChainsEgressTablesBy) {
  const Answer answer = capabilities();
  const auto page = prm::ConstView<prm::flow_table_nic_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  const auto sent = prm::ConstView<prm::flow_table_prop_layout>::at(
      page.bytes<"flow_table_properties_nic_transmit">());
  EXPECT_EQ(sent.get<"ft_support">(), 1U);
  EXPECT_EQ(sent.get<"flow_modify_en">(), 1U);
  EXPECT_EQ(sent.get<"modify_root">(), 1U);
  EXPECT_EQ(sent.get<"identified_miss_table_mode">(), 1U);
  EXPECT_EQ(sent.get<"flow_table_modify">(), 1U);
  EXPECT_GT(sent.get<"log_max_ft_size">(), 0U);
  EXPECT_EQ(sent.get<"sw_owner_v2">() + sent.get<"ipsec_encrypt">() + sent.get<"macsec_encrypt">(),
            0U);
}

TEST_F(FlowCommands, TablesOfWhatIsSent_AreNotOfferedOnInfiniBand) {
  start({}, "instant", PortType::InfiniBand);
  const Answer answer = capabilities();
  const auto page = prm::ConstView<prm::flow_table_nic_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  EXPECT_EQ(page.get<"flow_table_properties_nic_transmit.ft_support">(), 0U);
  EXPECT_EQ(create_table(FlowTableType::NIC_TX).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(root(root_command({FlowTableType::NIC_TX, 1})).status, CommandStatus::BAD_PARAM_ERR);
}

/// As mlx5_ib has Linux make them: a table of one priority, a rule, and a table of a higher
/// priority that becomes the root.
TEST_F(FlowCommands, TablesOfWhatIsSent_AreChainedAndGoneAgain) {
  const Place second = table(FlowTableType::NIC_TX, 1);
  ASSERT_TRUE(root(root_command(second)).ok());
  const std::uint32_t id = group(second);
  EXPECT_TRUE(set(entry_command(second, id, 3, kWriteOnly)).ok());
  const Place first = table(FlowTableType::NIC_TX);
  auto chain = command<prm::modify_flow_table_in>(prm::Opcode::MODIFY_FLOW_TABLE);
  chain.put<"table_type">(first.type).put<"table_id">(first.table);
  chain.put<"modify_field_select">(prm::ModifyFlowTable::MISS_TABLE_ID);
  chain.put<"flow_table_context.table_miss_action">(prm::FlowTableMiss::FWD);
  chain.put<"flow_table_context.table_miss_id">(second.table);
  EXPECT_TRUE(driver_->run<prm::modify_flow_table_out>(chain).ok());
  EXPECT_TRUE(root(root_command(first)).ok());
  EXPECT_TRUE(remove(second, 3).ok());
  EXPECT_TRUE(destroy_group(second, id).ok());
  EXPECT_EQ(destroy(second).status, CommandStatus::BAD_RES_STATE_ERR);  // `first` leads there
  EXPECT_TRUE(destroy(first).ok());
  EXPECT_TRUE(destroy(second).ok());
  EXPECT_EQ(driver_->model().census().objects(), 0U);
}

TEST_F(FlowCommands, RootOfWhatIsSent_IsReplacedAndNotTakenAway) {
  const Place place = table(FlowTableType::NIC_TX);
  ASSERT_TRUE(root(root_command(place)).ok());
  EXPECT_EQ(root(root_command(place, prm::FlowTableRootOpMod::DISCONNECT)).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(root(root_command(table(FlowTableType::NIC_TX))).ok());
  EXPECT_EQ(root(root_command(place, prm::FlowTableRootOpMod::SET, 0x40)).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowCommands, EntryOfWhatIsSent_ForwardsToTablesOfItsTypeAlone) {
  const Place place = table(FlowTableType::NIC_TX);
  const Place above = table(FlowTableType::NIC_TX, 1);
  const Place received = table(FlowTableType::NIC_RX, 1);
  const auto in = forwarding(entry_command(place, group(place), 0, kWriteOnly));
  using prm::FlowDestination;
  EXPECT_TRUE(set(in, destination(FlowDestination::FLOW_TABLE, above.table)).ok());
  EXPECT_EQ(set(in, destination(FlowDestination::FLOW_TABLE, received.table)).status,
            CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(set(in, destination(FlowDestination::TIR, 1)).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(set(in, destination(FlowDestination::VPORT, 0)).status, CommandStatus::BAD_PARAM_ERR);
}

/// FS_CHAINING_CAPS_RDMA_TX of mlx5/core/fs_core.c, and what mlx5_ib's counters.c asks
/// for a counter of the CNPs that go out, on ports of both types.
TEST_F(FlowCommands, CapabilityPage_OffersWhatLinuxChainsTablesOfQueuePairsBy) {
  for (const PortType port_type : {PortType::Ethernet, PortType::InfiniBand}) {
    start({}, "instant", port_type);
    const Answer answer = capabilities();
    const auto page = prm::ConstView<prm::flow_table_nic_cap>::at(
        answer.as<prm::query_hca_cap_out>().bytes<"capability">());
    const auto sent = prm::ConstView<prm::flow_table_prop_layout>::at(
        page.bytes<"flow_table_properties_nic_transmit_rdma">());
    EXPECT_EQ(sent.get<"ft_support">(), 1U);
    EXPECT_EQ(sent.get<"flow_modify_en">(), 1U);
    EXPECT_EQ(sent.get<"modify_root">(), 1U);
    EXPECT_EQ(sent.get<"identified_miss_table_mode">(), 1U);
    EXPECT_EQ(sent.get<"flow_table_modify">(), 1U);
    EXPECT_EQ(sent.get<"max_ft_level">(), 255U);
    EXPECT_EQ(page.get<"ft_field_support_2_nic_transmit_rdma.bth_opcode">(), 1U);
  }
}

TEST_F(FlowCommands, TableOfTheHighestLevel_IsMadeInEachDomainOfQueuePairs) {
  EXPECT_TRUE(create_table(FlowTableType::RDMA_RX, 255).ok());
  EXPECT_TRUE(create_table(FlowTableType::RDMA_TX, 255).ok());
}

TEST_F(FlowCommands, RootOfQueuePairs_IsMadeAndTakenAway) {
  const Place place = table(FlowTableType::RDMA_TX);
  const std::uint32_t id = group(place);
  EXPECT_TRUE(set(entry_command(place, id, 3, kWriteOnly)).ok());
  EXPECT_TRUE(root(root_command(place)).ok());
  EXPECT_TRUE(root(root_command(place, prm::FlowTableRootOpMod::DISCONNECT)).ok());
  EXPECT_TRUE(remove(place, 3).ok());
  EXPECT_TRUE(destroy_group(place, id).ok());
  EXPECT_TRUE(destroy(place).ok());
  EXPECT_EQ(driver_->model().census().objects(), 0U);
}

TEST_F(FlowCommands, TableGroupEntryRoot_AreMadeAndGoneAgain) {
  const Place place = table();
  const std::uint32_t id = group(place);
  EXPECT_TRUE(set(entry_command(place, id, 3, kWriteOnly)).ok());
  EXPECT_TRUE(root(root_command(place)).ok());
  EXPECT_EQ(driver_->model().census().flow_entries, 1U);
  EXPECT_TRUE(remove(place, 3).ok());
  EXPECT_TRUE(root(root_command(place, prm::FlowTableRootOpMod::DISCONNECT)).ok());
  EXPECT_TRUE(destroy_group(place, id).ok());
  EXPECT_TRUE(destroy(place).ok());
  EXPECT_EQ(driver_->model().census().objects(), 0U);
}

TEST_F(FlowCommands, RootTable_MayBeDestroyedAsLinuxDoes) {
  const Place place = table();
  ASSERT_TRUE(root(root_command(place)).ok());
  EXPECT_TRUE(destroy(place).ok());
}

TEST_F(FlowCommands, QueryOfATable_SaysHowItWasMade) {
  const Place above = table(FlowTableType::NIC_TX, 3);
  auto make = table_command(FlowTableType::NIC_TX, kLogSize, 2);
  make.put<"flow_table_context.table_miss_action">(prm::FlowTableMiss::FWD);
  make.put<"flow_table_context.table_miss_id">(above.table);
  const Place place{FlowTableType::NIC_TX, driver_->run<prm::create_flow_table_out>(make)
                                               .as<prm::create_flow_table_out>()
                                               .get<"table_id">()};
  const Answer answer = query(place);
  ASSERT_TRUE(answer.ok());
  const auto said = answer.as<prm::query_flow_table_out>();
  EXPECT_EQ(said.get<"flow_table_context.level">(), 2U);
  EXPECT_EQ(said.get<"flow_table_context.log_size">(), kLogSize);
  EXPECT_EQ(said.get<"flow_table_context.table_miss_action">(),
            prm::number(prm::FlowTableMiss::FWD));
  EXPECT_EQ(said.get<"flow_table_context.table_miss_id">(), above.table);
}

TEST_F(FlowCommands, QueryOfATableOfAnotherType_IsRefused) {
  const Place place = table(FlowTableType::NIC_TX);
  EXPECT_EQ(query({FlowTableType::NIC_RX, place.table}).status, CommandStatus::BAD_RES_ERR);
}

/// Programs ask by DevX (devx_is_obj_query_cmd of mlx5_ib/devx.c).
TEST_F(FlowCommands, QueryOfAGroup_SaysHowItWasMade) {
  const Place place = table();
  auto in = command<prm::query_flow_group_in>(prm::Opcode::QUERY_FLOW_GROUP);
  in.put<"table_type">(place.type).put<"table_id">(place.table).put<"group_id">(group(place));
  const Answer answer = driver_->run<prm::query_flow_group_out>(in);
  ASSERT_TRUE(answer.ok());
  const auto made = group_command(place, 0, 7, kOpcodeMask);
  const auto said = answer.as<prm::query_flow_group_out>();
  EXPECT_EQ(said.get<"end_flow_index">(), 7U);
  EXPECT_EQ(said.get<"match_criteria_enable">(), made.get<"match_criteria_enable">());
  EXPECT_TRUE(std::ranges::equal(said.bytes<"match_criteria">(), made.bytes<"match_criteria">()));
  EXPECT_EQ(driver_->run<prm::query_flow_group_out>(in.set<"group_id", 0xffff>()).status,
            CommandStatus::BAD_RES_ERR);
}

TEST_F(FlowCommands, TableOfADomainThatIsNotThere_IsRefused) {
  EXPECT_EQ(create_table(FlowTableType::FDB).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowCommands, TableOfAnotherDomain_IsNotFound) {
  const Place place = table(FlowTableType::NIC_RX);
  EXPECT_EQ(destroy({FlowTableType::RDMA_RX, place.table}).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(FlowCommands, TableWithAGroup_IsInUse) {
  const Place place = table();
  static_cast<void>(group(place));
  EXPECT_EQ(destroy(place).status, CommandStatus::BAD_RES_STATE_ERR);
}

TEST_F(FlowCommands, TableThatAnEntryForwardsTo_IsInUse) {
  const Place low = table();
  const Place high = table(FlowTableType::RDMA_RX, 1);
  const std::uint32_t id = group(low);
  const auto to = destination(prm::FlowDestination::FLOW_TABLE, high.table);
  ASSERT_TRUE(set(forwarding(entry_command(low, id, 0, kWriteOnly)), to).ok());
  EXPECT_EQ(destroy(high).status, CommandStatus::BAD_RES_STATE_ERR);
}

TEST_F(FlowCommands, EntryThatForwardsDownwards_IsRefused) {
  const Place low = table();
  const Place high = table(FlowTableType::RDMA_RX, 1);
  const std::uint32_t id = group(high);
  const auto to = destination(prm::FlowDestination::FLOW_TABLE, low.table);
  EXPECT_EQ(set(forwarding(entry_command(high, id, 0, kWriteOnly)), to).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowCommands, EntryThatForwardsToNoTir_IsRefused) {
  const Place place = table(FlowTableType::NIC_RX);
  const std::uint32_t id = group(place);
  const auto to = destination(prm::FlowDestination::TIR, 77);
  EXPECT_EQ(set(forwarding(entry_command(place, id, 0, kWriteOnly)), to).status,
            CommandStatus::BAD_RES_ERR);
}

TEST_F(FlowCommands, EntryWhoseListIsCut_IsRefusedForItsLength) {
  const Place place = table();
  const std::uint32_t id = group(place);
  EXPECT_EQ(set(forwarding(entry_command(place, id, 0, kWriteOnly))).status,
            CommandStatus::BAD_INP_LEN_ERR);
}

TEST_F(FlowCommands, GroupWithEntries_IsInUse) {
  const Place place = table();
  const std::uint32_t id = group(place);
  ASSERT_TRUE(set(entry_command(place, id, 0, kWriteOnly)).ok());
  EXPECT_EQ(destroy_group(place, id).status, CommandStatus::BAD_RES_STATE_ERR);
}

TEST_F(FlowCommands, GroupPastTheEndOfItsTable_IsRefused) {
  EXPECT_EQ(create_group(group_command(table(), 8, 16, kOpcodeMask)).status, CommandStatus::IX_ERR);
}

TEST_F(FlowCommands, GroupOverAnother_IsRefused) {
  const Place place = table();
  static_cast<void>(group(place));
  EXPECT_EQ(create_group(group_command(place, 7, 9, kOpcodeMask)).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowCommands, GroupWithCriteriaNotEnabled_IsRefused) {
  auto in = group_command(table(), 0, 7, kOpcodeMask);
  in.set<"match_criteria_enable", 0>();
  EXPECT_EQ(create_group(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowCommands, GroupThatComparesAFieldNobodyFills_IsRefused) {
  auto in = group_command(table(), 0, 7, kOpcodeMask);
  in.set<"match_criteria.misc_parameters.vxlan_vni", 0xffffff>();
  EXPECT_EQ(create_group(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowCommands, EntryOutsideOfItsGroup_IsRefused) {
  const Place place = table();
  const std::uint32_t id = group(place);
  EXPECT_EQ(set(entry_command(place, id, 8, kWriteOnly)).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(set(entry_command(place, id, 16, kWriteOnly)).status, CommandStatus::IX_ERR);
}

TEST_F(FlowCommands, EntryWithAValueOutsideOfTheMask_IsRefused) {
  const Place place = table();
  const std::uint32_t id = group(place, {.opcode = 0xe0});
  EXPECT_EQ(set(entry_command(place, id, 0, kWriteOnly)).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowCommands, EntryWithTwoVerdicts_IsRefused) {
  const Place place = table();
  const std::uint32_t id = group(place);
  auto in = entry_command(place, id, 0, kWriteOnly);
  in.set<"flow_context.action", 3>();
  EXPECT_EQ(set(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowCommands, DeletingWhatIsNotThere_IsRefused) {
  EXPECT_EQ(remove(table(), 0).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(FlowCommands, OccupiedIndex_IsReplaced) {
  const Place place = table();
  const auto in = entry_command(place, group(place), 0, kWriteOnly);
  ASSERT_TRUE(set(in).ok());
  EXPECT_TRUE(set(in).ok());
}

TEST_F(FlowCommands, OccupiedIndexOfThatFirmware_AnswersLimErr) {
  start({"no-occupied-index"});
  const Place place = table();
  const auto in = entry_command(place, group(place), 0, kWriteOnly);
  ASSERT_TRUE(set(in).ok());
  EXPECT_EQ(set(in).status, CommandStatus::LIM_ERR);
}

TEST_F(FlowCommands, Modify_ChangesTheActionOfAnOccupiedIndex) {
  start({"no-occupied-index"});
  const Place place = table();
  const auto in = entry_command(place, group(place), 5, kWriteOnly, FlowAction::ALLOW);
  ASSERT_TRUE(set(in).ok());
  ASSERT_TRUE(set(modify_command(in, FlowAction::DROP)).ok());
  auto query = command<prm::query_fte_in>(prm::Opcode::QUERY_FLOW_TABLE_ENTRY);
  query.put<"table_type">(place.type).put<"table_id">(place.table).set<"flow_index", 5>();
  const Answer answer = driver_->run<prm::query_fte_out>(query);
  EXPECT_EQ(answer.as<prm::query_fte_out>().get<"flow_context.action">(),
            prm::number(FlowAction::DROP));
}

TEST_F(FlowCommands, ModifyOfAnEmptyIndex_IsRefused) {
  const Place place = table();
  const auto in = entry_command(place, group(place), 0, kWriteOnly);
  EXPECT_EQ(set(modify_command(in, FlowAction::DROP)).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(FlowCommands, NoBthOpcode_IsNotOfferedAndItsGroupRefused) {
  EXPECT_EQ(opcode_capability(), 1U);
  start({"no-bth-opcode"});
  EXPECT_EQ(opcode_capability(), 0U);
  EXPECT_EQ(create_group(group_command(table(), 0, 7, kOpcodeMask)).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(create_group(group_command(table(), 0, 7, {.dst_qp = 0xffffff})).ok());
}

TEST_F(FlowCommands, RdmaRxRefused_RefusesThatDomainAlone) {
  start({"rdma-rx-refused"});
  EXPECT_EQ(create_table().status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(create_table(FlowTableType::NIC_RX).ok());
}

TEST_F(FlowCommands, RdmaRxSilentNull_AnswersSuccessAndMakesNothing) {
  start({"rdma-rx-silent-null"});
  const Answer answer = create_table();
  EXPECT_TRUE(answer.ok());
  EXPECT_EQ(answer.as<prm::create_flow_table_out>().get<"table_id">(), 0U);
  EXPECT_EQ(driver_->model().census().flow_tables, 0U);
}

TEST_F(FlowCommands, UnderlayRootOnEthernet_IsRefused) {
  const Place place = table(FlowTableType::NIC_RX);
  EXPECT_EQ(root(root_command(place, prm::FlowTableRootOpMod::SET, 0x40)).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowCommands, UnderlayRootOfNoQp_IsRefused) {
  start({}, "instant", PortType::InfiniBand);
  const Place place = table(FlowTableType::NIC_RX);
  EXPECT_EQ(root(root_command(place, prm::FlowTableRootOpMod::SET, 0x40)).status,
            CommandStatus::BAD_RES_ERR);
}

TEST_F(FlowCommands, AnotherVport_IsRefused) {
  auto in = table_command(FlowTableType::RDMA_RX, kLogSize);
  in.set<"other_vport", 1>().set<"vport_number", 1>();
  EXPECT_EQ(driver_->run<prm::create_flow_table_out>(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FlowCommands, TimingOfThatFirmware_SwitchesOnWhatWasSeenThere) {
  start({}, "cx5-16.35.4506");
  const Place place = table();
  const auto in = entry_command(place, group(place), 0, kWriteOnly);
  ASSERT_TRUE(set(in).ok());
  EXPECT_EQ(set(in).status, CommandStatus::LIM_ERR);
  start({"no-occupied-index=off"}, "cx5-16.35.4506");
  const Place again = table();
  const auto same = entry_command(again, group(again), 0, kWriteOnly);
  ASSERT_TRUE(set(same).ok());
  EXPECT_TRUE(set(same).ok());
}

TEST_F(FlowCommands, Counter_IsAllocatedReadAndGone) {
  auto alloc = command<prm::alloc_flow_counter_in>(prm::Opcode::ALLOC_FLOW_COUNTER);
  const std::uint32_t id = driver_->run<prm::alloc_flow_counter_out>(alloc)
                               .as<prm::alloc_flow_counter_out>()
                               .get<"flow_counter_id">();
  auto query = command<prm::query_flow_counter_in>(prm::Opcode::QUERY_FLOW_COUNTER);
  query.put<"flow_counter_id">(id);
  EXPECT_TRUE(
      driver_
          ->execute(query.all(), prm::query_flow_counter_out::bytes + prm::traffic_counter::bytes)
          .ok());
  auto dealloc = command<prm::dealloc_flow_counter_in>(prm::Opcode::DEALLOC_FLOW_COUNTER);
  dealloc.put<"flow_counter_id">(id);
  EXPECT_TRUE(driver_->run<prm::dealloc_flow_counter_out>(dealloc).ok());
  EXPECT_EQ(driver_->run<prm::dealloc_flow_counter_out>(dealloc).status,
            CommandStatus::BAD_RES_ERR);
}

TEST_F(FlowCommands, Teardown_LeavesNoTable) {
  static_cast<void>(group(table()));
  auto in = command<prm::teardown_hca_in>(prm::Opcode::TEARDOWN_HCA);
  ASSERT_TRUE(driver_->run<prm::teardown_hca_out>(in).ok());
  EXPECT_EQ(driver_->model().census().flow_tables, 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
