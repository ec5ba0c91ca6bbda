// SPDX-License-Identifier: BSD-3-Clause
//
// Messages as named numbers. Bytes and values are those of a ConnectX-4's log unless they are made
// up to break something.
#include "prm/command_fields.hpp"

#include <gmock/gmock.h>

#include <random>

#include "prm/cmd_interface.hpp"
#include "prm/enums.hpp"
#include "tests/trace/command_bytes.hpp"

namespace portcullis::testing {
namespace {

using prm::Detail;
using prm::FieldValue;
using prm::input_fields;
using prm::output_fields;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names_of(const std::vector<FieldValue>& fields) {
  std::vector<std::string> names;
  for (const FieldValue& field : fields) names.push_back(field.name + " " + field.value);
  return names;
}

TEST(CommandFields, PagesAnswer_NamesTheNumberOfPages) {
  const auto in = bytes_of("01070000 00000001 00000000 00000000");
  const auto out = bytes_of("00000000 00000000 00000000 00000006");
  EXPECT_THAT(names_of(output_fields(in, out, Detail::Summary)), ElementsAre("num_pages 0x6"));
}

TEST(CommandFields, HeaderFields_AreNotRepeated) {
  EXPECT_THAT(input_fields(bytes_of("01070000 00000001 00000000 00000000"), Detail::Full),
              IsEmpty());
  EXPECT_THAT(output_fields(bytes_of("01070000 00000001 00000000 00000000"),
                            bytes_of("03000000 0000002a 00000000 00000000"), Detail::Full),
              IsEmpty());
}

TEST(CommandFields, OpcodeThatBeginsWithADigit_HasItsLayout) {
  EXPECT_THAT(names_of(input_fields(bytes_of("05070000 00000000 00000123 00000000"), Detail::Full)),
              ElementsAre("qpn 0x123"));
}

TEST(CommandFields, NestedLayout_IsFlattened) {
  auto in = padded("03010000 00000000 00000000 00000000 00000000 00000000 00000000 08000010", 272);
  EXPECT_THAT(names_of(input_fields(in, Detail::Summary)),
              ElementsAre("eq_context_entry.log_eq_size 0x8", "eq_context_entry.uar_page 0x10"));
}

TEST(CommandFields, Capabilities_AreThoseOfTheTypeAskedFor) {
  // log_max_qp stands in the dword at 0x20 of the output of type GENERAL, sw_r_roce_src_udp_port
  // and the like in other dwords of type ROCE.
  const auto out = padded(
      "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
      "0f0f0017",
      4112);
  const auto general = output_fields(bytes_of("01000000 00000001"), out, Detail::Summary);
  EXPECT_EQ(value_of(general, "capability.cmd_hca_cap.log_max_qp"), "0x17");
  const auto roce = output_fields(bytes_of("01000000 00000009"), out, Detail::Summary);
  EXPECT_EQ(value_of(roce, "capability.cmd_hca_cap.log_max_qp"), "0x0");
  const auto odp = output_fields(bytes_of("01000000 00000005"), out, Detail::Summary);
  EXPECT_THAT(names_of(odp), ElementsAre("capability[0x10] 0xf0f0017"));
}

TEST(CommandFields, PageAddresses_AreCountedAndInFullListed) {
  const auto in =
      bytes_of("01080000 00000001 00000000 00000002 00000007 ab122000 00000007 ab123000");
  EXPECT_THAT(names_of(input_fields(in, Detail::Summary)),
              ElementsAre("input_num_entries 0x2", "pas.count 2"));
  EXPECT_THAT(names_of(input_fields(in, Detail::Full)),
              ElementsAre("input_num_entries 0x2", "pas.count 2", "pas[0] 0x7ab122000",
                          "pas[1] 0x7ab123000"));
}

TEST(CommandFields, HalfAnArrayEntry_IsKeptAsReserved) {
  const auto in = bytes_of("01080000 00000001 00000000 00000001 00000007 ab122000 00000009");
  EXPECT_EQ(value_of(input_fields(in, Detail::Full), "pas.count"), "1");
  EXPECT_EQ(value_of(input_fields(in, Detail::Full), "reserved[0x18]"), "0x9");
}

TEST(CommandFields, ReservedBits_AreKept) {
  const auto in = bytes_of("02020000 ffff0000 ff000042 00000001");
  EXPECT_THAT(names_of(input_fields(in, Detail::Summary)),
              ElementsAre("reserved[0x04] 0xffff0000", "reserved[0x08] 0xff000000",
                          "mkey_index 0x42", "reserved[0x0c] 0x1"));
}

TEST(CommandFields, Gid_IsOneNumber) {
  auto in = padded("07610000 00000000 00030000 00000000 00000000 00000000 0000ffff c0a80001", 48);
  EXPECT_EQ(value_of(input_fields(in, Detail::Summary), "roce_address.source_l3_address"),
            "0x00000000000000000000ffffc0a80001");
}

TEST(CommandFields, RegisterData_IsDecodedWhereTheRegisterIsKnown) {
  const auto endianness =
      bytes_of("08050000 00000000 00007004 00000000 80000000 00000000 00000000 00000000");
  EXPECT_EQ(value_of(input_fields(endianness, Detail::Summary),
                     "register_data.register_host_endianness.he"),
            "0x1");
  const auto reset =
      bytes_of("08050000 00000000 00009028 00000000 00000000 20000008 00000000 00000000");
  EXPECT_EQ(value_of(input_fields(reset, Detail::Summary),
                     "register_data.mfrl_reg.pci_sync_for_fw_update_start"),
            "0x1");
  const auto other =
      bytes_of("08050000 00000001 00009014 00000000 00010101 00000000 00000000 00000000");
  EXPECT_EQ(value_of(input_fields(other, Detail::Summary), "register_data[0x00]"), "0x10101");
}

TEST(CommandFields, UnknownOpcode_IsDwordsInFullAndNothingInSummary) {
  const auto in = bytes_of("beef0000 00000002 00000000 12345678");
  EXPECT_THAT(input_fields(in, Detail::Summary), IsEmpty());
  EXPECT_THAT(names_of(input_fields(in, Detail::Full)), ElementsAre("dword[0x0c] 0x12345678"));
}

TEST(CommandFields, MessageTooShort_GivesWhatItHas) {
  EXPECT_THAT(input_fields({}, Detail::Full), IsEmpty());
  EXPECT_EQ(prm::opcode_of(bytes_of("01")), prm::Opcode{0x100});
  EXPECT_THAT(names_of(input_fields(bytes_of("02020000 00000000 0000"), Detail::Full)), IsEmpty());
}

/// Flips every bit of a message in turn and counts the flips that change no field and are none of
/// the four that recordings show elsewhere.
std::size_t silent_flips(const std::vector<std::byte>& in, std::size_t bytes_of_header) {
  const auto before = names_of(input_fields(in, Detail::Full));
  std::size_t silent = 0;
  for (std::size_t bit = bytes_of_header * 8; bit < in.size() * 8; ++bit) {
    auto flipped = in;
    flipped[bit / 8] ^= static_cast<std::byte>(0x80 >> bit % 8);
    if (names_of(input_fields(flipped, Detail::Full)) == before) ++silent;
  }
  return silent;
}

class EveryOpcodeTest : public ::testing::TestWithParam<prm::Opcode> {};

TEST_P(EveryOpcodeTest, EachBitBehindTheHeader_ChangesAField) {
  std::mt19937 random(prm::number(GetParam()));
  std::vector<std::byte> in(312);
  for (std::byte& b : in) b = static_cast<std::byte>(random());
  in[0] = static_cast<std::byte>(prm::number(GetParam()) >> 8);
  in[1] = static_cast<std::byte>(prm::number(GetParam()) & 0xff);
  EXPECT_EQ(silent_flips(in, prm::cmd_in::bytes), 0u);
}

constexpr prm::Opcode kOpcodes[] = {
    prm::Opcode::SET_HCA_CAP, prm::Opcode::CREATE_MKEY, prm::Opcode::CREATE_EQ,
    prm::Opcode::CREATE_QP,   prm::Opcode::QP_2ERR,     prm::Opcode::MANAGE_PAGES,
    prm::Opcode::RTR2RTS_QP,  prm::Opcode::ACCESS_REG,  prm::Opcode::SET_ROCE_ADDRESS,
    prm::Opcode::INIT_HCA,    prm::Opcode{0xbeef},
};
INSTANTIATE_TEST_SUITE_P(CommandFields, EveryOpcodeTest, ::testing::ValuesIn(kOpcodes));

}  // namespace
}  // namespace portcullis::testing
