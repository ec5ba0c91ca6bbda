// SPDX-License-Identifier: BSD-3-Clause
//
// What a ConnectX-4 answered, read through the layouts. Source of the bytes: golden/trace.hpp; the
// expected values are those that Linux logged beside them, or what the card is known to be.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "prm/enums.hpp"
#include "prm/hca_cap.hpp"
#include "prm/hca_commands.hpp"
#include "prm/object_commands.hpp"
#include "prm/port_commands.hpp"
#include "prm/signature.hpp"
#include "tests/prm/golden/trace.hpp"

namespace portcullis::prm {
namespace {

using testing::TracedCommand;

TEST(GoldenOutput, QueryPagesForBoot_AsksForWhatLinuxLogged) {
  // "requested 6 boot pages for func_id 0x0"
  const TracedCommand answered{{0x20, "00000000 00000000 00000000 00000006"}};
  const auto out = answered.output<query_pages_out>();
  EXPECT_EQ(out.get<"num_pages">(), 6u);
  EXPECT_EQ(out.get<"function_id">(), 0u);
}

TEST(GoldenOutput, QueryPagesForInit_AsksForWhatLinuxLogged) {
  // "requested 12868 init pages for func_id 0x0"
  const TracedCommand answered{{0x20, "00000000 00000000 00000000 00003244"}};
  EXPECT_EQ(answered.output<query_pages_out>().get<"num_pages">(), 12868u);
}

TEST(GoldenOutput, QueryIssi_OffersIssiOne) {
  const TracedCommand answered{{0x90, "00000000 00000000 00000000 00000002"}};
  EXPECT_EQ(answered.output<query_issi_out>().get<"supported_issi_dw0">(), 1u << kIssi);
}

TEST(GoldenOutput, CreateEq_GivesTheNumber) {
  const TracedCommand answered{{0x20, "00000000 00000000 00000010 00000000"}};
  EXPECT_EQ(answered.output<create_eq_out>().get<"eq_number">(), 0x10u);
}

TEST(GoldenOutput, AllocUar_GivesTheNumber) {
  const TracedCommand answered{{0x20, "00000000 00000000 00000013 00000000"}};
  EXPECT_EQ(answered.output<alloc_uar_out>().get<"uar">(), 0x13u);
}

TEST(GoldenOutput, QueryAdapter_NamesTheVendorAndTheBoard) {
  const TracedCommand answered{{0x50, "00000000 00000000 000002c9 000015b3"},
                               {0x130, "4d545f32 34333031 31303032 37000000"}};
  const auto out = answered.output<query_adapter_out>();
  EXPECT_EQ(out.get<"query_adapter_struct.ieee_vendor_id">(), 0x2c9u);  // Mellanox's OUI
  EXPECT_EQ(out.get<"query_adapter_struct.vsd_vendor_id">(), 0x15b3u);
  std::string psid;
  std::ranges::transform(out.bytes<"query_adapter_struct.vsd_contd_psid">().first<13>(),
                         std::back_inserter(psid),
                         [](std::byte b) { return static_cast<char>(b); });
  EXPECT_EQ(psid, "MT_2430110027");
}

/// QUERY_HCA_CAP of the general page, first the largest values, then the current ones.
class GoldenGeneralCap : public ::testing::Test {
 protected:
  static Buffer<cmd_hca_cap> page_of(const TracedCommand& answered) {
    Buffer<cmd_hca_cap> page;
    const auto out = answered.output<query_hca_cap_out>();
    std::ranges::copy(out.bytes<"capability">().first<cmd_hca_cap::bytes>(), page.all().begin());
    return page;
  }
  const Buffer<cmd_hca_cap> max_ = page_of({{0x50, "0f0f0017 00170000 00160018 16180008"},
                                            {0x60, "04401010 00040004 00040004 e0000004"},
                                            {0x70, "40ff0005 c7100101 1e000000 00010001"},
                                            {0x80, "c006cc0e e2fa030f 0005000c a0090000"},
                                            {0x90, "00000400 00000200 00000100 00000030"},
                                            {0xa0, "00000015 10180018 00000000 17171717"},
                                            {0xb0, "97100900 09040606 0000000f 800c0e0a"},
                                            {0xd0, "10000008 00000000 00000113 00000000"}});
  const Buffer<cmd_hca_cap> current_ = page_of({{0x50, "0f0f000e 00170000 00160018 16180008"},
                                                {0x60, "04401010 00040004 00040004 e0000000"},
                                                {0x70, "40ff0000 c7100101 1e000000 00010001"},
                                                {0x80, "c0060c0e e2fa030f 0005000c a0090000"},
                                                {0x90, "00000400 00000200 00000100 00000030"},
                                                {0xa0, "00000015 10180018 00000000 17171717"},
                                                {0xb0, "97100900 09040606 0000000f 800c0e0a"},
                                                {0xd0, "10000000 00000000 00000113 00000000"}});
};

TEST_F(GoldenGeneralCap, NumbersOfObjects_AreThoseOfTheCard) {
  EXPECT_EQ(max_.get<"log_max_qp">(), 23u);
  EXPECT_EQ(current_.get<"log_max_qp">(), 14u);
  EXPECT_EQ(current_.get<"log_max_qp_sz">(), 15u);
  EXPECT_EQ(current_.get<"log_max_cq">(), 24u);
  EXPECT_EQ(current_.get<"log_max_cq_sz">(), 22u);
  EXPECT_EQ(current_.get<"log_max_mkey">(), 24u);
  EXPECT_EQ(current_.get<"log_max_eq">(), 8u);
  EXPECT_EQ(current_.get<"log_max_eq_sz">(), 22u);
  EXPECT_EQ(current_.get<"log_max_pd">(), 24u);
  EXPECT_EQ(current_.get<"log_max_mcg">(), 21u);
}

TEST_F(GoldenGeneralCap, Transport_IsRoceOnOneEthernetPort) {
  EXPECT_EQ(current_.get<"port_type">(), number(PortType::ETH));
  EXPECT_EQ(current_.get<"num_ports">(), 1u);
  EXPECT_EQ(current_.get<"roce">(), 1u);
  EXPECT_EQ(current_.get<"atomic">(), 1u);
  EXPECT_EQ(current_.get<"rc">(), 1u);
  EXPECT_EQ(current_.get<"xrc">(), 1u);
  EXPECT_EQ(current_.get<"pg">(), 0u);
  EXPECT_EQ(current_.get<"log_max_msg">(), 30u);
  EXPECT_EQ(current_.get<"local_ca_ack_delay">(), 16u);
  EXPECT_EQ(current_.get<"log_max_ra_req_qp">(), 4u);
  EXPECT_EQ(current_.get<"log_max_ra_res_qp">(), 4u);
}

TEST_F(GoldenGeneralCap, Checksums_CanBeHadAndAreOff) {
  EXPECT_EQ(max_.get<"cmdif_checksum">(), 3u);
  EXPECT_EQ(current_.get<"cmdif_checksum">(), 0u);
}

TEST_F(GoldenGeneralCap, DoorbellsAndQueues_AreAsConnectXHasThem) {
  EXPECT_EQ(current_.get<"bf">(), 1u);
  EXPECT_EQ(current_.get<"log_bf_reg_size">(), 9u);
  EXPECT_EQ(current_.get<"uar_4k">(), 0u);
  EXPECT_EQ(current_.get<"log_pg_sz">(), 12u);
  EXPECT_EQ(current_.get<"max_wqe_sz_sq">(), 1024u);
  EXPECT_EQ(current_.get<"max_wqe_sz_rq">(), 512u);
  EXPECT_EQ(current_.get<"cqe_version">(), 1u);
}

TEST(GoldenOutput, QueryHcaCapOfRoce_HasThePortRangeAndTableOfTheCard) {
  const TracedCommand answered{{0x40, "40000000 00000000 00000000 00000000"},
                               {0x50, "00070007 000012b7 ffffc000 00000100"}};
  const auto out = answered.output<query_hca_cap_out>();
  const auto roce = ConstView<roce_cap>::at(out.bytes<"capability">());
  EXPECT_EQ(roce.get<"r_roce_dest_udp_port">(), 4791u);
  EXPECT_EQ(roce.get<"r_roce_min_src_udp_port">(), 0xc000u);
  EXPECT_EQ(roce.get<"r_roce_max_src_udp_port">(), 0xffffu);
  EXPECT_EQ(roce.get<"roce_address_table_size">(), 256u);
}

// 202 blocks carry the 12868 addresses; the first is quoted, with 2 addresses and its trailer.
TEST(GoldenBlock, ManagePagesForInit_ChainsBlocksOfOneToken) {
  const TracedCommand sent{{0x00, "07000000 00019230 00000007 ab0e7800"},
                           {0x10, "01080000 00000001 00000000 00003244"},
                           {0x30, "00000000 00000000 00000010 0be50001"},
                           {0x40, "00000007 ab122000 00000007 ab123000"},
                           {0x270, "00000007 ab0e7400 00000000 000b0000"}};
  const auto block = sent.block_view();
  EXPECT_EQ(block.get<"next_pointer_63_32">(), 0x7u);
  EXPECT_EQ(block.get<"next_pointer_31_10">() << 10, 0xab0e7400u);
  EXPECT_EQ(block.get<"block_number">(), 0u);
  EXPECT_EQ(block.get<"token">(), sent.entry_view().get<"token">());
  EXPECT_EQ(sent.entry_view().get<"input_length">(),
            manage_pages_in::bytes + 12868 * sizeof(std::uint64_t));
}

TEST(GoldenSignature, EntriesThatLinuxSent_AreValid) {
  const TracedCommand sent{{0x00, "07000000 00019230 00000007 ab0e7800"},
                           {0x10, "01080000 00000001 00000000 00003244"},
                           {0x30, "00000000 00000000 00000010 0be50001"}};
  EXPECT_TRUE(entry_signature_is_valid(sent.entry_view()));
  EXPECT_EQ(xor8(sent.entry()), 0xff);
}

TEST(GoldenSignature, EntryThatTheCardSigned_CountsOwnershipAsStillSet) {
  // QUERY_PAGES sent with signature fa; the card wrote 6 into the output and fc as signature.
  const TracedCommand answered{{0x00, "07000000 00000010 00000000 00000000"},
                               {0x10, "01070000 00000001 00000000 00000000"},
                               {0x20, "00000000 00000000 00000000 00000006"},
                               {0x30, "00000000 00000000 00000010 04fc0000"}};
  EXPECT_EQ(answered.entry_view().get<"ownership">(), 0u);
  EXPECT_EQ(xor8(answered.entry()), 0xfe);
  EXPECT_TRUE(entry_signature_is_valid(answered.entry_view()));
}

}  // namespace
}  // namespace portcullis::prm
