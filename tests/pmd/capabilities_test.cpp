// SPDX-License-Identifier: BSD-3-Clause
//
// What is set of the capabilities, and that all else goes back as it was read. The device's pages
// are written by the kernel's mlx5_ifc.h.
#include "pmd/capabilities.hpp"

#include <gmock/gmock.h>

#include <map>

#include "pmd/command_queue.hpp"
#include "tests/pmd/ifc_message.hpp"
#include "tests/pmd/scripted_device.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::IfcMessage;
using portcullis::testing::ScriptedDevice;

constexpr unsigned kQueryHcaCap = 0x100;
constexpr unsigned kSetHcaCap = 0x109;
constexpr std::size_t kCapBytes = 4112;

// op_mod: type << 1 | mode, types GENERAL 0, ATOMIC 3 and ROCE 4, modes max 0 and current 1.
constexpr unsigned kGeneralMax = 0;
constexpr unsigned kGeneralCurrent = 1;
constexpr unsigned kAtomicSet = 6;
constexpr unsigned kAtomicCurrent = 7;
constexpr unsigned kRoceMax = 8;
constexpr unsigned kRoceCurrent = 9;

struct CapabilitiesTest : ::testing::Test {
  CapabilitiesTest() {
    scripted.firmware = [this](const ScriptedDevice::Command& command) {
      ScriptedDevice::Reply reply;
      if (command.opcode() == kSetHcaCap) set[command.op_mod()] = as_bytes(command.in);
      if (command.opcode() == kQueryHcaCap) reply.out = page_of(command.op_mod()).octets();
      return reply;
    };
  }
  IfcMessage& page_of(unsigned op_mod) {
    return pages.try_emplace(op_mod, "query_hca_cap_out", kCapBytes).first->second;
  }
  static std::vector<std::byte> as_bytes(const std::vector<std::uint8_t>& from) {
    std::vector<std::byte> to;
    for (const std::uint8_t b : from) to.push_back(static_cast<std::byte>(b));
    return to;
  }
  std::uint64_t set_value(const std::string& field, unsigned op_mod) {
    return IfcMessage::read("set_hca_cap_in." + field, set.at(op_mod));
  }

  ScriptedDevice scripted;
  Device device = scripted.device();
  DmaArena arena{scripted.space};
  Health health{device};
  std::unique_ptr<CommandQueue> queue = CommandQueue::create(device, arena, health).value();
  std::map<unsigned, IfcMessage> pages;            // by op_mod of the query
  std::map<unsigned, std::vector<std::byte>> set;  // by op_mod of SET_HCA_CAP
};

TEST_F(CapabilitiesTest, General_TakesTheBestSignaturesAnd4KUars) {
  page_of(kGeneralMax).put("capability.cmd_hca_cap.cmdif_checksum", 3);
  page_of(kGeneralCurrent)
      .put("capability.cmd_hca_cap.log_uar_page_sz", 4)
      .put("capability.cmd_hca_cap.log_max_qp", 17);
  const auto checksum = set_general_capabilities(*queue);
  ASSERT_TRUE(checksum.has_value()) << checksum.error().text;
  EXPECT_EQ(*checksum, 3u);
  EXPECT_EQ(set_value("opcode", 0), kSetHcaCap);
  EXPECT_EQ(set_value("capability.cmd_hca_cap.cmdif_checksum", 0), 3u);
  EXPECT_EQ(set_value("capability.cmd_hca_cap.log_uar_page_sz", 0), 0u);
}

TEST_F(CapabilitiesTest, General_WritesAllElseBackAsRead) {
  for (std::size_t i = 16; i < kCapBytes; ++i)
    page_of(kGeneralCurrent).set_byte(i, static_cast<std::uint8_t>(i * 31));
  ASSERT_TRUE(set_general_capabilities(*queue).has_value());
  std::vector<std::byte> expected = page_of(kGeneralCurrent).bytes();
  std::vector<std::byte> actual = set.at(0);
  IfcMessage cleared("set_hca_cap_in", actual.size());
  for (std::size_t i = 16; i < actual.size(); ++i)
    cleared.set_byte(i, std::to_integer<std::uint8_t>(expected[i]));
  cleared.put("opcode", kSetHcaCap)
      .put("capability.cmd_hca_cap.cmdif_checksum", 0)
      .put("capability.cmd_hca_cap.log_uar_page_sz", 0);
  EXPECT_EQ(actual, cleared.bytes());
}

TEST_F(CapabilitiesTest, AtomicResults_AreAskedForInTheHostsOrderWhereOffered) {
  page_of(kGeneralCurrent).put("capability.cmd_hca_cap.atomic", 1);
  page_of(kAtomicCurrent)
      .put("capability.atomic_caps.supported_atomic_req_8B_endianness_mode_1", 1)
      .put("capability.atomic_caps.atomic_operations", 3);
  ASSERT_TRUE(set_atomic_capabilities(*queue).has_value());
  EXPECT_EQ(set.at(kAtomicSet),  // nothing else of the page, as handle_hca_cap_atomic has it
            IfcMessage("set_hca_cap_in", set.at(kAtomicSet).size())
                .put("opcode", kSetHcaCap)
                .put("op_mod", kAtomicSet)
                .put("capability.atomic_caps.atomic_req_8B_endianness_mode", 1)
                .bytes());
}

TEST_F(CapabilitiesTest, AtomicsThatOfferNothing_AreLeftAlone) {
  page_of(kGeneralCurrent).put("capability.cmd_hca_cap.atomic", 1);
  ASSERT_TRUE(set_atomic_capabilities(*queue).has_value());
  EXPECT_TRUE(set.empty());
}

TEST_F(CapabilitiesTest, DeviceWithoutAtomics_IsNotAskedAboutThem) {
  ASSERT_TRUE(set_atomic_capabilities(*queue).has_value());
  EXPECT_EQ(scripted.commands.size(), 1u);
}

TEST_F(CapabilitiesTest, AtomicMode_IsThatOfThePlainOperations) {
  page_of(kGeneralCurrent).put("capability.cmd_hca_cap.atomic", 1);
  page_of(kAtomicCurrent)
      .put("capability.atomic_caps.atomic_req_8B_endianness_mode", 1)
      .put("capability.atomic_caps.atomic_operations", 3)
      .put("capability.atomic_caps.atomic_size_qp", 8);
  const auto caps = read_capabilities(*queue).value();
  EXPECT_EQ(caps.atomic_mode, 1u);  // MLX5_ATOMIC_MODE_IB_COMP
  EXPECT_TRUE(caps.atomic_host_order);
}

TEST_F(CapabilitiesTest, ExtendedAtomics_TakeTheLargestSizeOffered) {
  page_of(kGeneralCurrent).put("capability.cmd_hca_cap.atomic", 1);
  page_of(kAtomicCurrent)
      .put("capability.atomic_caps.atomic_operations", 0xf)
      .put("capability.atomic_caps.atomic_size_qp", 0x8);
  EXPECT_EQ(read_capabilities(*queue).value().atomic_mode, 3u);  // MLX5_ATOMIC_MODE_8B
  page_of(kAtomicCurrent).put("capability.atomic_caps.atomic_size_qp", 0x238);
  EXPECT_EQ(read_capabilities(*queue).value().atomic_mode, 5u);  // MLX5_ATOMIC_MODE_32B
}

TEST_F(CapabilitiesTest, RocePorts_AreChosenByTheDriverWhereOffered) {
  page_of(kGeneralCurrent).put("capability.cmd_hca_cap.roce", 1);
  page_of(kRoceMax).put("capability.roce_cap.sw_r_roce_src_udp_port", 1);
  page_of(kRoceCurrent).put("capability.roce_cap.roce_address_table_size", 256);
  ASSERT_TRUE(set_roce_capabilities(*queue).has_value());
  EXPECT_EQ(set_value("capability.roce_cap.sw_r_roce_src_udp_port", 8), 1u);
  EXPECT_EQ(set_value("capability.roce_cap.roce_address_table_size", 8), 256u);
}

TEST_F(CapabilitiesTest, RoceThatOffersNothing_IsLeftAlone) {
  page_of(kGeneralCurrent).put("capability.cmd_hca_cap.roce", 1);
  ASSERT_TRUE(set_roce_capabilities(*queue).has_value());
  EXPECT_TRUE(set.empty());
}

TEST_F(CapabilitiesTest, RoceThatHasItAlready_IsLeftAlone) {
  page_of(kGeneralCurrent).put("capability.cmd_hca_cap.roce", 1);
  page_of(kRoceMax).put("capability.roce_cap.sw_r_roce_src_udp_port", 1);
  page_of(kRoceCurrent).put("capability.roce_cap.sw_r_roce_src_udp_port", 1);
  ASSERT_TRUE(set_roce_capabilities(*queue).has_value());
  EXPECT_TRUE(set.empty());
}

TEST_F(CapabilitiesTest, DeviceWithoutRoce_IsNotAskedAboutIt) {
  ASSERT_TRUE(set_roce_capabilities(*queue).has_value());
  EXPECT_EQ(scripted.commands.size(), 1u);
}

TEST_F(CapabilitiesTest, CurrentValues_AreWhatTheDriverGoesBy) {
  page_of(kGeneralMax).put("capability.cmd_hca_cap.log_max_qp", 23);
  page_of(kGeneralCurrent)
      .put("capability.cmd_hca_cap.log_max_qp", 18)
      .put("capability.cmd_hca_cap.log_max_cq", 19)
      .put("capability.cmd_hca_cap.log_max_mkey", 24)
      .put("capability.cmd_hca_cap.max_indirection", 4)
      .put("capability.cmd_hca_cap.log_max_klm_list_size", 16)
      .put("capability.cmd_hca_cap.log_max_msg", 30)
      .put("capability.cmd_hca_cap.port_type", 1)
      .put("capability.cmd_hca_cap.num_ports", 1)
      .put("capability.cmd_hca_cap.log_max_ra_req_qp", 4)
      .put("capability.cmd_hca_cap.log_max_ra_res_qp", 5)
      .put("capability.cmd_hca_cap.umr_modify_atomic_disabled", 1)
      .put("capability.cmd_hca_cap.max_qp_cnt", 255)
      .put("capability.cmd_hca_cap.roce", 1);
  page_of(kRoceCurrent)
      .put("capability.roce_cap.roce_address_table_size", 256)
      .put("capability.roce_cap.r_roce_min_src_udp_port", 0xc000)
      .put("capability.roce_cap.r_roce_max_src_udp_port", 0xffff);
  const auto caps = read_capabilities(*queue);
  ASSERT_TRUE(caps.has_value());
  EXPECT_EQ(caps->log_max_qp, 18u);
  EXPECT_EQ(caps->log_max_cq, 19u);
  EXPECT_EQ(caps->log_max_mkey, 24u);
  EXPECT_EQ(caps->max_indirection, 4u);
  EXPECT_EQ(caps->log_max_klm_list_size, 16u);
  EXPECT_EQ(caps->log_max_msg, 30u);
  EXPECT_EQ(caps->port_type, 1u);
  EXPECT_EQ(caps->num_ports, 1u);
  EXPECT_EQ(caps->log_max_ra_req_qp, 4u);
  EXPECT_EQ(caps->log_max_ra_res_qp, 5u);
  EXPECT_EQ(caps->umr_modify_atomic_disabled, 1u);
  EXPECT_EQ(caps->max_qp_cnt, 255u);
  EXPECT_EQ(caps->atomic, 0u);
  EXPECT_EQ(caps->roce_address_table_size, 256u);
  EXPECT_EQ(caps->r_roce_min_src_udp_port, 0xc000u);
  EXPECT_EQ(caps->r_roce_max_src_udp_port, 0xffffu);
}

// The bit that 6.1's header calls relaxed_ordering_read is all that older firmware sets.
TEST_F(CapabilitiesTest, RelaxedReads_AreOfferedByTheBitOfOlderFirmware) {
  page_of(kGeneralCurrent).put("capability.cmd_hca_cap.relaxed_ordering_read", 1);
  const auto caps = read_capabilities(*queue);
  ASSERT_TRUE(caps.has_value());
  EXPECT_EQ(caps->relaxed_ordering_read, 1u);
  EXPECT_EQ(caps->relaxed_ordering_write, 0u);
}

// 6.12's relaxed_ordering_read, bit 0x32a of the page, which 6.1's header keeps reserved.
TEST_F(CapabilitiesTest, RelaxedReads_AreOfferedWhateverTheConfigurationSpaceLets) {
  constexpr std::size_t kPageAt = 16;
  page_of(kGeneralCurrent).set_byte(kPageAt + 0x32a / 8, 0x80 >> 0x32a % 8);
  const auto caps = read_capabilities(*queue);
  ASSERT_TRUE(caps.has_value());
  EXPECT_EQ(caps->relaxed_ordering_read, 1u);
  EXPECT_EQ(caps->log_max_pd, 0u);
}

}  // namespace
}  // namespace portcullis::pmd
