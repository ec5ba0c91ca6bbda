// SPDX-License-Identifier: BSD-3-Clause
//
// Commands of steering by a program's own entries, as mlx5_core (lib/dm.c), mlx5_ib (dm.c, mr.c)
// and rdma-core's dr_devx.c give them. What frames do with such tables is in
// program_entries_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/steering/sw_icm.hpp"
#include "prm/device_memory_commands.hpp"
#include "prm/flow_cap.hpp"
#include "prm/flow_commands.hpp"
#include "prm/receive_commands.hpp"
#include "prm/steering_commands.hpp"
#include "prm/user_context_commands.hpp"
#include "tests/model/flow_commands.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::FlowTableType;
using prm::Opcode;

constexpr std::uint64_t kAt = SwIcm::kEntriesAt;
constexpr std::uint32_t kLogBytes = 16;

Options infiniband() {
  Options options;
  options.port_type = PortType::InfiniBand;
  return options;
}

class SteeringCommands : public ::testing::Test {
 protected:
  explicit SteeringCommands(const Options& options = {}) : driver_(options) { driver_.bring_up(); }

  static prm::Buffer<prm::general_obj_in_cmd_hdr> head(Opcode opcode, std::uint32_t type,
                                                       std::uint32_t id, std::uint32_t uid) {
    prm::Buffer<prm::general_obj_in_cmd_hdr> in;
    in.put<"opcode">(opcode).put<"obj_id">(id);
    EXPECT_TRUE(in.view().try_set<"obj_type">(type));
    EXPECT_TRUE(in.view().try_set<"uid">(uid));
    return in;
  }
  template <class Object>
  Answer create(std::uint32_t type, const prm::Buffer<Object>& object, std::uint32_t uid = 0) {
    const auto in = head(Opcode::CREATE_GENERAL_OBJECT, type, 0, uid);
    std::vector<std::byte> bytes(in.all().begin(), in.all().end());
    bytes.insert(bytes.end(), object.all().begin(), object.all().end());
    return driver_.execute(bytes, prm::general_obj_out_cmd_hdr::bytes);
  }
  Answer create_memory(std::uint64_t at, std::uint32_t log_bytes = kLogBytes,
                       std::uint32_t uid = 0) {
    prm::Buffer<prm::sw_icm> memory;
    memory.put<"sw_icm_start_addr">(at);
    EXPECT_TRUE(memory.view().try_set<"log_sw_icm_size">(log_bytes));
    return create(prm::kObjTypeSwIcm, memory, uid);
  }
  static std::uint32_t id_of(const Answer& answer) {
    return answer.as<prm::general_obj_out_cmd_hdr>().get<"obj_id">();
  }
  Answer destroy(std::uint32_t type, std::uint32_t id, std::uint32_t uid = 0) {
    return driver_.execute(head(Opcode::DESTROY_GENERAL_OBJECT, type, id, uid).all(),
                           prm::general_obj_out_cmd_hdr::bytes);
  }
  template <class Object>
  std::vector<std::byte> query(std::uint32_t type, std::uint32_t id) {
    const Answer answer = driver_.execute(head(Opcode::QUERY_GENERAL_OBJECT, type, id, 0).all(),
                                          prm::general_obj_out_cmd_hdr::bytes + Object::bytes);
    EXPECT_TRUE(answer.ok());
    return {answer.out.begin() + prm::general_obj_out_cmd_hdr::bytes, answer.out.end()};
  }
  /// As mlx5_ib_get_dm_mr makes it.
  Answer create_key(std::uint64_t at, std::uint64_t bytes) {
    auto in = command<prm::create_mkey_in>(Opcode::CREATE_MKEY);
    in.set<"memory_key_mkey_entry.access_mode_1_0", (prm::kMkcModeSwIcm & 3)>()
        .set<"memory_key_mkey_entry.access_mode_4_2", (prm::kMkcModeSwIcm >> 2)>()
        .set<"memory_key_mkey_entry.lr", 1>()
        .set<"memory_key_mkey_entry.qpn", prm::kMkcQpnAny>()
        .put<"memory_key_mkey_entry.start_addr">(at)
        .put<"memory_key_mkey_entry.len">(bytes)
        .put<"memory_key_mkey_entry.pd">(driver_.alloc_pd());
    return driver_.run<prm::create_mkey_out>(in);
  }
  Answer destroy_key(const Answer& created) {
    auto in = command<prm::destroy_mkey_in>(Opcode::DESTROY_MKEY);
    in.put<"mkey_index">(created.as<prm::create_mkey_out>().get<"mkey_index">());
    return driver_.run<prm::destroy_mkey_out>(in);
  }
  Answer create_table(std::uint64_t root, std::uint32_t level = 127) {
    auto in = table_command(FlowTableType::NIC_RX, 0, level);
    in.set<"opcode", Opcode::CREATE_FLOW_TABLE>();
    if (root != 0)
      in.set<"flow_table_context.sw_owner", 1>().put<"flow_table_context.sw_owner_icm_root_0">(
          root);
    return driver_.run<prm::create_flow_table_out>(in);
  }
  static std::uint32_t table_of(const Answer& answer) {
    return answer.as<prm::create_flow_table_out>().get<"table_id">();
  }
  std::vector<std::byte> page(prm::CapType type) {
    auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
    const Answer answer =
        driver_.run<prm::query_hca_cap_out>(in.put<"op_mod">(prm::cap_op_mod(type)));
    const auto bytes = answer.as<prm::query_hca_cap_out>().bytes<"capability">();
    return {bytes.begin(), bytes.end()};
  }

  MiniDriver driver_;
};

TEST_F(SteeringCommands, Capabilities_SayAllThatRdmaCoreAsksFor) {
  const auto general = page(prm::CapType::GENERAL);
  const auto tables = page(prm::CapType::FLOW_TABLE);
  const auto memory = page(prm::CapType::DEV_MEM);
  const auto hca = prm::ConstView<prm::cmd_hca_cap>::at(general);
  const auto nic = prm::ConstView<prm::flow_table_nic_cap>::at(tables);
  const auto device = prm::ConstView<prm::device_mem_cap>::at(memory);
  EXPECT_EQ(hca.get<"general_obj_types">(),
            std::uint64_t{1} << prm::kObjTypeSwIcm | std::uint64_t{1} << prm::kObjTypeSampler);
  EXPECT_EQ(hca.get<"steering_format_version">(), 0U);
  EXPECT_EQ(nic.get<"flow_table_properties_nic_receive.sw_owner">(), 1U);
  EXPECT_EQ(nic.get<"flow_table_properties_nic_transmit.sw_owner">(), 1U);
  EXPECT_NE(nic.get<"sw_steering_nic_rx_action_drop_icm_address">(), 0U);
  EXPECT_NE(nic.get<"sw_steering_nic_tx_action_drop_icm_address">(), 0U);
  EXPECT_NE(nic.get<"sw_steering_nic_tx_action_allow_icm_address">(), 0U);
  // DR_CHUNK_SIZE_1024K + DR_STE_LOG_SIZE and DR_CHUNK_SIZE_4K + DR_MODIFY_ACTION_LOG_SIZE of
  // dr_domain_check_icm_memory_caps.
  EXPECT_GE(device.get<"log_steering_sw_icm_size">(), 26U);
  EXPECT_GE(device.get<"log_header_modify_sw_icm_size">(), 15U);
  EXPECT_EQ(device.get<"steering_sw_icm_start_address">(), SwIcm::kEntriesAt);
  EXPECT_EQ(device.get<"header_modify_sw_icm_start_address">(), SwIcm::kActionsAt);
}

class SteeringOfInfiniBand : public SteeringCommands {
 protected:
  SteeringOfInfiniBand() : SteeringCommands(infiniband()) {}
};

TEST_F(SteeringOfInfiniBand, NothingIsOffered) {
  const auto general = page(prm::CapType::GENERAL);
  const auto memory = page(prm::CapType::DEV_MEM);
  EXPECT_EQ(prm::ConstView<prm::cmd_hca_cap>::at(general).get<"general_obj_types">(), 0U);
  EXPECT_EQ(prm::ConstView<prm::device_mem_cap>::at(memory).get<"steering_sw_icm_start_address">(),
            0U);
  EXPECT_EQ(create_memory(kAt).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(SteeringCommands, Memory_IsMadeQueriedAndDestroyed) {
  const Answer made = create_memory(kAt);
  ASSERT_TRUE(made.ok());
  const auto told = query<prm::sw_icm>(prm::kObjTypeSwIcm, id_of(made));
  EXPECT_EQ(prm::ConstView<prm::sw_icm>::at(told).get<"sw_icm_start_addr">(), kAt);
  EXPECT_TRUE(destroy(prm::kObjTypeSwIcm, id_of(made)).ok());
  EXPECT_EQ(destroy(prm::kObjTypeSwIcm, id_of(made)).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(SteeringCommands, ObjectOfATypeThatIsNotThere_IsRefused) {
  constexpr std::uint32_t kEncryptionKey = 0xc;  // MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY
  EXPECT_EQ(create(kEncryptionKey, prm::Buffer<prm::sw_icm>{}).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(destroy(0xffff, 1).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(SteeringCommands, MemoryOfAUserContext_IsNobodyElsesToDestroy) {
  const auto context = [this] {
    return static_cast<std::uint32_t>(
        driver_.run<prm::create_uctx_out>(command<prm::create_uctx_in>(Opcode::CREATE_UCTX))
            .as<prm::create_uctx_out>()
            .get<"uid">());
  };
  const std::uint32_t owner = context();
  const std::uint32_t other = context();
  const Answer made = create_memory(kAt, kLogBytes, owner);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(destroy(prm::kObjTypeSwIcm, id_of(made), other).status, CommandStatus::BAD_RES_ERR);
  EXPECT_TRUE(destroy(prm::kObjTypeSwIcm, id_of(made), owner).ok());
}

TEST_F(SteeringCommands, KeyOfMemory_KeepsItUntilItGoes) {
  const Answer made = create_memory(kAt);
  const Answer key = create_key(kAt, 1 << kLogBytes);
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(destroy(prm::kObjTypeSwIcm, id_of(made)).status, CommandStatus::BAD_RES_STATE_ERR);
  ASSERT_TRUE(destroy_key(key).ok());
  EXPECT_TRUE(destroy(prm::kObjTypeSwIcm, id_of(made)).ok());
}

TEST_F(SteeringCommands, KeyOfWhatNobodyMade_IsRefused) {
  EXPECT_EQ(create_key(kAt, 64).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(SteeringCommands, TableWithItsEntriesInMemory_SaysWhereTheyAre) {
  ASSERT_TRUE(create_memory(kAt).ok());
  const Answer made = create_table(kAt + 64);
  ASSERT_TRUE(made.ok());
  auto in = command<prm::query_flow_table_in>(Opcode::QUERY_FLOW_TABLE);
  in.put<"table_type">(FlowTableType::NIC_RX).put<"table_id">(table_of(made));
  const Answer told = driver_.run<prm::query_flow_table_out>(in);
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told.as<prm::query_flow_table_out>().get<"flow_table_context.sw_owner_icm_root_0">(),
            kAt + 64);
}

TEST_F(SteeringCommands, TableInMemoryThatIsNotThere_IsRefused) {
  EXPECT_EQ(create_table(kAt).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(SteeringCommands, Sampler_SaysWhereEntriesLeadToIt) {
  ASSERT_TRUE(create_memory(kAt).ok());
  prm::Buffer<prm::sampler_obj> sampler;
  sampler.set<"ignore_flow_level", 1>()
      .put<"sample_ratio">(4U)
      .put<"sample_table_id">(table_of(create_table(0)))
      .put<"default_table_id">(table_of(create_table(kAt)));
  const Answer made = create(prm::kObjTypeSampler, sampler);
  ASSERT_TRUE(made.ok());
  const auto told = query<prm::sampler_obj>(prm::kObjTypeSampler, id_of(made));
  EXPECT_NE(prm::ConstView<prm::sampler_obj>::at(told).get<"sw_steering_icm_address_rx">(), 0U);
  EXPECT_TRUE(destroy(prm::kObjTypeSampler, id_of(made)).ok());
}

TEST_F(SteeringCommands, SamplerOfNothing_IsRefused) {
  prm::Buffer<prm::sampler_obj> sampler;
  EXPECT_EQ(create(prm::kObjTypeSampler, sampler).status, CommandStatus::BAD_PARAM_ERR);
  sampler.put<"sample_ratio">(1U);
  EXPECT_EQ(create(prm::kObjTypeSampler, sampler).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(SteeringCommands, SamplerBelowItsLevel_IsRefusedUnlessThatIsIgnored) {
  prm::Buffer<prm::sampler_obj> sampler;
  const std::uint32_t table = table_of(create_table(0, 100));
  sampler.put<"sample_ratio">(1U).put<"sample_table_id">(table).put<"default_table_id">(table);
  sampler.set<"level", 100>();
  EXPECT_EQ(create(prm::kObjTypeSampler, sampler).status, CommandStatus::BAD_PARAM_ERR);
  sampler.set<"level", 99>();
  EXPECT_TRUE(create(prm::kObjTypeSampler, sampler).ok());
}

TEST_F(SteeringCommands, SyncSteering_IsAnswered) {
  EXPECT_TRUE(
      driver_.run<prm::sync_steering_out>(command<prm::sync_steering_in>(Opcode::SYNC_STEERING))
          .ok());
}

TEST_F(SteeringCommands, Teardown_TakesEverythingBack) {
  ASSERT_TRUE(create_memory(kAt).ok());
  ASSERT_TRUE(
      driver_.run<prm::teardown_hca_out>(command<prm::teardown_hca_in>(Opcode::TEARDOWN_HCA)).ok());
  ASSERT_TRUE(driver_.run<prm::init_hca_out>(command<prm::init_hca_in>(Opcode::INIT_HCA)).ok());
  EXPECT_TRUE(create_memory(kAt).ok());
}

}  // namespace
}  // namespace portcullis::model::testing
