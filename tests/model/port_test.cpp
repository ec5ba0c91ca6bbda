// SPDX-License-Identifier: BSD-3-Clause
//
// RoCE address table, NIC vport context and port state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "prm/vport_commands.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

class Port : public ::testing::Test {
 protected:
  Port() { driver_.bring_up(); }

  static prm::Buffer<prm::set_roce_address_in> address(std::uint32_t index) {
    auto in = command<prm::set_roce_address_in>(Opcode::SET_ROCE_ADDRESS);
    in.put<"roce_address_index">(index)
        .put<"roce_address.roce_version">(prm::RoceVersion::V2)
        .put<"roce_address.roce_l3_type">(prm::RoceL3Type::IPV4)
        .set<"roce_address.source_mac_47_32", 0x0250>()
        .set<"roce_address.source_mac_31_0", 0x43000009>();
    in.bytes<"roce_address.source_l3_address">()[15] = std::byte{7};
    return in;
  }
  Answer set(const prm::Buffer<prm::set_roce_address_in>& in) {
    return driver_.run<prm::set_roce_address_out>(in);
  }
  Answer query(std::uint32_t index) {
    auto in = command<prm::query_roce_address_in>(Opcode::QUERY_ROCE_ADDRESS);
    return driver_.run<prm::query_roce_address_out>(in.put<"roce_address_index">(index));
  }
  Answer query_vport() {
    return driver_.run<prm::query_nic_vport_context_out>(
        command<prm::query_nic_vport_context_in>(Opcode::QUERY_NIC_VPORT_CONTEXT));
  }

  MiniDriver driver_;
};

TEST_F(Port, AddressThatWasSet_ReadsBack) {
  ASSERT_TRUE(set(address(3)).ok());
  const Answer answer = query(3);
  ASSERT_TRUE(answer.ok());
  const auto out = answer.as<prm::query_roce_address_out>();
  EXPECT_EQ(out.get<"roce_address.source_mac_31_0">(), 0x43000009U);
  EXPECT_EQ(out.get<"roce_address.roce_version">(), prm::number(prm::RoceVersion::V2));
  EXPECT_EQ(out.bytes<"roce_address.source_l3_address">()[15], std::byte{7});
}

TEST_F(Port, Zeros_ClearAnEntry) {
  ASSERT_TRUE(set(address(3)).ok());
  auto in = command<prm::set_roce_address_in>(Opcode::SET_ROCE_ADDRESS);
  ASSERT_TRUE(set(in.set<"roce_address_index", 3>()).ok());
  EXPECT_EQ(query(3).as<prm::query_roce_address_out>().get<"roce_address.source_mac_31_0">(), 0U);
}

TEST_F(Port, IndexPastTheTable_IsABadIndex) {
  EXPECT_EQ(set(address(256)).status, CommandStatus::IX_ERR);
  EXPECT_EQ(query(256).status, CommandStatus::IX_ERR);
}

TEST_F(Port, VersionsAndPortsThatAreNotOffered_AreBadParameters) {
  auto v1 = address(0);
  EXPECT_EQ(set(v1.put<"roce_address.roce_version">(prm::RoceVersion::V1)).status,
            CommandStatus::BAD_PARAM_ERR);
  auto l3 = address(0);
  EXPECT_EQ(set(l3.set<"roce_address.roce_l3_type", 2>()).status, CommandStatus::BAD_PARAM_ERR);
  auto port = address(0);
  EXPECT_EQ(set(port.set<"vhca_port_num", 2>()).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(Port, Roce_IsOffUntilTheVportContextTurnsItOn) {
  EXPECT_EQ(query_vport().as<prm::query_nic_vport_context_out>().get<"nic_vport_context.roce_en">(),
            0U);
  auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
  in.set<"field_select.roce_en", 1>().set<"nic_vport_context.roce_en", 1>();
  ASSERT_TRUE(driver_.run<prm::modify_nic_vport_context_out>(in).ok());
  EXPECT_EQ(query_vport().as<prm::query_nic_vport_context_out>().get<"nic_vport_context.roce_en">(),
            1U);
}

TEST_F(Port, FieldThatIsNotSelected_IsNotTouched) {
  auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
  in.set<"nic_vport_context.roce_en", 1>();
  ASSERT_TRUE(driver_.run<prm::modify_nic_vport_context_out>(in).ok());
  EXPECT_EQ(query_vport().as<prm::query_nic_vport_context_out>().get<"nic_vport_context.roce_en">(),
            0U);
}

TEST_F(Port, Mac_IsTheOptionsAndCanBeSet) {
  MiniDriver other({.mac = std::array<std::uint8_t, 6>{2, 0, 0, 0, 1, 2}});
  other.bring_up();
  const Answer answer = other.run<prm::query_nic_vport_context_out>(
      command<prm::query_nic_vport_context_in>(Opcode::QUERY_NIC_VPORT_CONTEXT));
  EXPECT_EQ(answer.as<prm::query_nic_vport_context_out>()
                .get<"nic_vport_context.permanent_address.mac_addr_31_0">(),
            0x00000102U);
  auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
  in.set<"field_select.permanent_address", 1>()
      .set<"nic_vport_context.permanent_address.mac_addr_47_32", 0x0211>()
      .set<"nic_vport_context.permanent_address.mac_addr_31_0", 0x22334455>();
  ASSERT_TRUE(driver_.run<prm::modify_nic_vport_context_out>(in).ok());
  EXPECT_EQ(query_vport()
                .as<prm::query_nic_vport_context_out>()
                .get<"nic_vport_context.permanent_address.mac_addr_31_0">(),
            0x22334455U);
}

TEST_F(Port, MulticastMac_IsABadParameter) {
  auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
  in.set<"field_select.permanent_address", 1>()
      .set<"nic_vport_context.permanent_address.mac_addr_47_32", 0x0100>();
  EXPECT_EQ(driver_.run<prm::modify_nic_vport_context_out>(in).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(Port, Loopback_IsOnUntilItIsDisabled) {
  const auto disabled = [this] {
    const Answer answer = query_vport();
    const auto out = answer.as<prm::query_nic_vport_context_out>();
    return std::pair(out.get<"nic_vport_context.disable_uc_local_lb">(),
                     out.get<"nic_vport_context.disable_mc_local_lb">());
  };
  EXPECT_EQ(disabled(), std::pair(0U, 0U));
  auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
  in.set<"field_select.disable_uc_local_lb", 1>();
  in.set<"nic_vport_context.disable_uc_local_lb", 1>();
  in.set<"nic_vport_context.disable_mc_local_lb", 1>();  // not selected
  ASSERT_TRUE(driver_.run<prm::modify_nic_vport_context_out>(in).ok());
  EXPECT_EQ(disabled(), std::pair(1U, 0U));
}

TEST_F(Port, VportsMtu_Is1500UntilItIsSet) {
  auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
  in.set<"field_select.mtu", 1>().set<"nic_vport_context.mtu", 4214>();
  ASSERT_TRUE(driver_.run<prm::modify_nic_vport_context_out>(in).ok());
  const auto mtu = [this] {
    return query_vport().as<prm::query_nic_vport_context_out>().get<"nic_vport_context.mtu">();
  };
  EXPECT_EQ(mtu(), 4214U);
  MiniDriver other;
  other.bring_up();
  EXPECT_EQ(other
                .run<prm::query_nic_vport_context_out>(
                    command<prm::query_nic_vport_context_in>(Opcode::QUERY_NIC_VPORT_CONTEXT))
                .as<prm::query_nic_vport_context_out>()
                .get<"nic_vport_context.mtu">(),
            1500U);
}

// mlx5_modify_nic_vport_mac_list of mlx5/core/vport.c, which sends at most what
// log_max_current_uc_list says, 128 here.
struct AddressList {
  std::uint32_t type = 0;
  std::uint32_t size = 0;
  std::size_t bytes_behind = 0;
  CommandStatus status{};
};
struct PortAddresses : Port, ::testing::WithParamInterface<AddressList> {};

TEST_P(PortAddresses, List_IsTakenAsFarAsTheCapabilityGoes) {
  auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
  in.set<"field_select.addresses_list", 1>()
      .put<"nic_vport_context.allowed_list_type">(GetParam().type)
      .put<"nic_vport_context.allowed_list_size">(GetParam().size);
  std::vector<std::byte> message(in.all().begin(), in.all().end());
  message.resize(message.size() + GetParam().bytes_behind);
  EXPECT_EQ(driver_.execute(message, prm::modify_nic_vport_context_out::bytes).status,
            GetParam().status);
}

INSTANTIATE_TEST_SUITE_P(Lists, PortAddresses,
                         ::testing::Values(AddressList{0, 0, 0, CommandStatus::OK},
                                           AddressList{0, 1, 8, CommandStatus::OK},
                                           AddressList{0, 1, 0, CommandStatus::BAD_INP_LEN_ERR},
                                           AddressList{0, 1, 7, CommandStatus::BAD_INP_LEN_ERR},
                                           AddressList{0, 128, 1024, CommandStatus::OK},
                                           AddressList{0, 129, 1032, CommandStatus::BAD_PARAM_ERR},
                                           AddressList{0, 0xfff, 16, CommandStatus::BAD_PARAM_ERR},
                                           AddressList{1, 512, 4096, CommandStatus::OK},
                                           AddressList{1, 513, 4104, CommandStatus::BAD_PARAM_ERR},
                                           AddressList{2, 1, 8, CommandStatus::OK},
                                           AddressList{3, 1, 8, CommandStatus::BAD_PARAM_ERR}));

TEST_F(Port, List_ReadsBack) {
  auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
  in.set<"field_select.addresses_list", 1>()
      .put<"nic_vport_context.allowed_list_type">(prm::NvprtListType::MC)
      .set<"nic_vport_context.allowed_list_size", 1>();
  prm::Buffer<prm::mac_address_layout> mac;
  mac.set<"mac_addr_47_32", 0x3333>().set<"mac_addr_31_0", 0x00000001>();
  std::vector<std::byte> message(in.all().begin(), in.all().end());
  message.insert(message.end(), mac.all().begin(), mac.all().end());
  ASSERT_TRUE(driver_.execute(message, prm::modify_nic_vport_context_out::bytes).ok());
  auto ask = command<prm::query_nic_vport_context_in>(Opcode::QUERY_NIC_VPORT_CONTEXT);
  ask.put<"allowed_list_type">(prm::NvprtListType::MC);
  const Answer answer =
      driver_.execute(ask.all(), prm::query_nic_vport_context_out::bytes + mac.all().size());
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(
      answer.as<prm::query_nic_vport_context_out>().get<"nic_vport_context.allowed_list_size">(),
      1U);
  const std::vector<std::byte> list(answer.out.begin() + prm::query_nic_vport_context_out::bytes,
                                    answer.out.end());
  EXPECT_EQ(list, std::vector<std::byte>(mac.all().begin(), mac.all().end()));
}

TEST_F(Port, Promiscuity_ReadsBack) {
  auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
  in.set<"field_select.promisc", 1>().set<"nic_vport_context.promisc_mc", 1>();
  ASSERT_TRUE(driver_.run<prm::modify_nic_vport_context_out>(in).ok());
  const Answer answer = query_vport();
  const auto out = answer.as<prm::query_nic_vport_context_out>();
  EXPECT_EQ(out.get<"nic_vport_context.promisc_uc">(), 0U);
  EXPECT_EQ(out.get<"nic_vport_context.promisc_mc">(), 1U);
}

TEST_F(Port, VportOfAnotherFunction_IsABadParameter) {
  auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
  EXPECT_EQ(driver_.run<prm::modify_nic_vport_context_out>(in.set<"other_vport", 1>()).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(Port, State_IsUp) {
  const Answer answer = driver_.run<prm::query_vport_state_out>(
      command<prm::query_vport_state_in>(Opcode::QUERY_VPORT_STATE));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.as<prm::query_vport_state_out>().get<"state">(), 1U);
}

// mlx5_ib_query_pkey asks it on RoCE (mlx5_query_hca_vport_pkey of mlx5/core/vport.c).
TEST_F(Port, PkeyTable_HasTheDefaultKeyFirst) {
  const auto in = command<prm::query_hca_vport_pkey_in>(Opcode::QUERY_HCA_VPORT_PKEY);
  const Answer answer =
      driver_.execute(in.all(), prm::query_hca_vport_pkey_out::bytes + prm::pkey::bytes);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(
      prm::ConstView<prm::pkey>::at(std::span(answer.out), prm::query_hca_vport_pkey_out::bytes)
          .get<"pkey">(),
      0xffffU);
}

TEST_F(Port, FunctionReset_ForgetsAddressesAndRoce) {
  ASSERT_TRUE(set(address(3)).ok());
  ASSERT_TRUE(driver_.device().function->reset().has_value());
  driver_.bring_up();
  EXPECT_EQ(query(3).as<prm::query_roce_address_out>().get<"roce_address.source_mac_31_0">(), 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
