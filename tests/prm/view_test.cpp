// SPDX-License-Identifier: BSD-3-Clause
//
// Views, buffers and registers put numbers where a layout says, big-endian, and refuse what does
// not fit. Expected bytes are written out by hand.
#include "prm/view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "prm/cmd_interface.hpp"
#include "prm/enums.hpp"
#include "prm/init_segment.hpp"
#include "prm/object_commands.hpp"
#include "prm/qp_commands.hpp"
#include "tests/prm/hex.hpp"

namespace portcullis::prm {
namespace {

using testing::bytes_of;
using testing::hex_of;

// Every width that has an edge: one bit at either end of a dword, 24 bits, a dword, 64 bits.
// clang-format off
struct widths : Layout<"widths", 0xa0,
    Field<"first_bit", 0x0, 0x1>,
    Reserved<0x1, 0x1e>,
    Field<"last_bit", 0x1f, 0x1>,
    Field<"byte", 0x20, 0x8>,
    Field<"three_bytes", 0x28, 0x18>,
    Field<"dword", 0x40, 0x20>,
    Field<"quadword", 0x60, 0x40>> {};
// clang-format on

TEST(Buffer, NewBuffer_IsZero) {
  const Buffer<widths> buffer;
  EXPECT_EQ(hex_of(buffer.all()), "00000000 00000000 00000000 00000000 00000000");
}

TEST(Buffer, NumbersOfEveryWidth_AreBigEndianInTheirPlace) {
  Buffer<widths> buffer;
  buffer.put<"first_bit">(1).put<"byte">(0x12).put<"three_bytes">(0x345678);
  buffer.put<"dword">(0x9abcdef0).put<"quadword">(0x0123456789abcdef);
  EXPECT_EQ(hex_of(buffer.all()), "80000000 12345678 9abcdef0 01234567 89abcdef");
}

TEST(Buffer, Constants_LandWhereRunTimeValuesDo) {
  Buffer<widths> buffer;
  buffer.set<"last_bit", 1>().set<"three_bytes", 0x345678>().set<"quadword", 0x0123456789abcdef>();
  EXPECT_EQ(hex_of(buffer.all()), "00000001 00345678 00000000 01234567 89abcdef");
}

TEST(Buffer, WidestValues_AreTaken) {
  Buffer<widths> buffer;
  buffer.put<"first_bit">(1).put<"last_bit">(1).put<"byte">(0xff).put<"three_bytes">(0xffffff);
  buffer.put<"dword">(0xffffffff).put<"quadword">(0xffffffffffffffff);
  EXPECT_EQ(buffer.overflow(), nullptr);
  EXPECT_EQ(hex_of(buffer.all()), "80000001 ffffffff ffffffff ffffffff ffffffff");
}

TEST(Buffer, ValueOneTooWide_IsNotWrittenAndNamed) {
  Buffer<widths> buffer;
  buffer.put<"three_bytes">(0x1000000);
  EXPECT_STREQ(buffer.overflow(), "three_bytes");
  EXPECT_EQ(buffer.get<"three_bytes">(), 0u);
  EXPECT_EQ(buffer.get<"byte">(), 0u);
}

TEST(Buffer, DwordWithUpperBits_IsNotWrittenAndNamed) {
  Buffer<widths> buffer;
  buffer.put<"dword">(0x100000000);
  EXPECT_STREQ(buffer.overflow(), "dword");
  EXPECT_EQ(buffer.get<"dword">(), 0u);
}

TEST(Buffer, NegativeValue_IsTooWideForAnythingButAQuadword) {
  Buffer<widths> buffer;
  buffer.put<"dword">(static_cast<std::uint64_t>(-1));
  EXPECT_STREQ(buffer.overflow(), "dword");
}

TEST(Buffer, OverflowOfANestedField_NamesThePath) {
  Buffer<create_qp_in> command;
  command.put<"qpc.primary_address_path.ack_timeout">(32);
  EXPECT_STREQ(command.overflow(), "qpc.primary_address_path.ack_timeout");
}

TEST(Buffer, OverflowBeforeGoodValues_IsNotForgotten) {
  Buffer<widths> buffer;
  buffer.put<"byte">(0x100).put<"dword">(1);
  EXPECT_STREQ(buffer.overflow(), "byte");
}

TEST(Buffer, WritingAField_LeavesItsNeighbours) {
  Buffer<widths> buffer;
  std::ranges::fill(buffer.all(), std::byte{0xff});
  buffer.put<"three_bytes">(0).put<"last_bit">(0);
  EXPECT_EQ(hex_of(buffer.all()), "fffffffe ff000000 ffffffff ffffffff ffffffff");
}

TEST(Buffer, Enumerator_IsItsNumber) {
  Buffer<qpc> context;
  context.set<"state", QpState::ERR>().put<"st">(QpServiceType::REG_UMR);
  EXPECT_EQ(hex_of(context.all().first(4)), "600c0000");
}

TEST(Buffer, EnumeratorTooWide_IsNotWrittenAndNamed) {
  Buffer<qpc> context;
  context.put<"state">(QpOptPar::RETRY_COUNT);
  EXPECT_STREQ(context.overflow(), "state");
}

TEST(Buffer, NestedField_IsAtItsAbsolutePlace) {
  Buffer<create_qp_in> command;
  // qpc at byte 0x18, primary_address_path 0x18 into it, rlid the low half of its second dword.
  command.put<"qpc.primary_address_path.rlid">(0xabcd);
  EXPECT_EQ(hex_of(command.all().subspan(0x34, 4)), "0000abcd");
}

TEST(Buffer, BytesOfANestedLayout_AreTheWholeOfIt) {
  Buffer<create_qp_in> command;
  EXPECT_EQ(command.bytes<"qpc">().size(), qpc::bytes);
  EXPECT_EQ(command.bytes<"qpc">().data(), command.all().data() + 0x18);
}

TEST(View, ReadsWhatTheBytesSay) {
  const auto bytes = bytes_of("80000001 12345678 9abcdef0 01234567 89abcdef");
  const auto view = ConstView<widths>::at(bytes);
  EXPECT_EQ(view.get<"first_bit">(), 1u);
  EXPECT_EQ(view.get<"last_bit">(), 1u);
  EXPECT_EQ(view.get<"byte">(), 0x12u);
  EXPECT_EQ(view.get<"three_bytes">(), 0x345678u);
  EXPECT_EQ(view.get<"dword">(), 0x9abcdef0u);
  EXPECT_EQ(view.get<"quadword">(), 0x0123456789abcdefu);
}

TEST(View, AtAnOffset_ReadsFromThere) {
  const auto bytes = bytes_of("ffffffff 00000000 12000000 00000000 00000000 00000000");
  EXPECT_EQ(ConstView<widths>::at(bytes, 4).get<"byte">(), 0x12u);
}

TEST(View, AtAnAddressThatIsNotAligned_ReadsTheSame) {
  const auto bytes = bytes_of("ff 00000000 12345678 9abcdef0 01234567 89abcdef");
  EXPECT_EQ(ConstView<widths>::at(bytes, 1).get<"quadword">(), 0x0123456789abcdefu);
}

TEST(View, TrySetOfAFittingValue_WritesIt) {
  std::array<std::byte, widths::bytes> memory{};
  EXPECT_TRUE(View<widths>(memory).try_set<"three_bytes">(0xffffff));
  EXPECT_EQ(hex_of(memory), "00000000 00ffffff 00000000 00000000 00000000");
}

TEST(View, TrySetOfAValueTooWide_WritesNothing) {
  std::array<std::byte, widths::bytes> memory{};
  EXPECT_FALSE(View<widths>(memory).try_set<"three_bytes">(0x1000000));
  EXPECT_EQ(hex_of(memory), "00000000 00000000 00000000 00000000 00000000");
}

TEST(View, PutOfATypeThatFits_WritesIt) {
  std::array<std::byte, widths::bytes> memory{};
  const View<widths> view(memory);
  view.put<"byte">(std::uint8_t{0xff});
  view.put<"first_bit">(true);
  EXPECT_EQ(hex_of(memory), "80000000 ff000000 00000000 00000000 00000000");
}

TEST(View, ReadOnly_SeesWhatAWritableOneWrote) {
  std::array<std::byte, widths::bytes> memory{};
  const View<widths> view(memory);
  view.set<"dword", 0x89abcdef>();
  const ConstView<widths> reader = view;
  EXPECT_EQ(reader.get<"dword">(), 0x89abcdefu);
}

class RegistersTest : public ::testing::Test {
 protected:
  alignas(8) std::array<std::byte, mlx5_init_seg::bytes> bar_{};
  Registers<mlx5_init_seg> registers_{bar_};
};

TEST_F(RegistersTest, Write_StoresABigEndianDwordAtItsOffset) {
  registers_.write<"cmd_dbell">(0x80000001);
  EXPECT_EQ(hex_of(std::span(bar_).subspan(0x18, 4)), "80000001");
}

TEST_F(RegistersTest, Get_ReadsTheDwordOfTheBar) {
  std::ranges::copy(bytes_of("12345678"), bar_.begin() + 0x1010);
  EXPECT_EQ(registers_.get<"health_counter">(), 0x12345678u);
}

TEST_F(RegistersTest, GetOfANarrowField_TakesItsBitsAlone) {
  std::ranges::copy(bytes_of("a1b2c3d4"), bar_.begin() + 0x23c);
  EXPECT_EQ(registers_.get<"health.irisc_index">(), 0xa1u);
  EXPECT_EQ(registers_.get<"health.synd">(), 0xb2u);
  EXPECT_EQ(registers_.get<"health.ext_synd">(), 0xc3d4u);
}

TEST_F(RegistersTest, Cell_IsTheDwordItself) {
  EXPECT_EQ(registers_.cell<"initializing">(), bar_.data() + 0x1fc);
  EXPECT_EQ(registers_.cell<"health.synd">(), bar_.data() + 0x23c);
}

TEST(InitSegment, BothReadings_AgreeWhereTheyMeet) {
  EXPECT_EQ((place<initial_seg, "command_doorbell_vector">.offset),
            (place<mlx5_init_seg, "cmd_dbell">.offset));
  EXPECT_EQ((place<initial_seg, "initializing">.offset),
            (place<mlx5_init_seg, "initializing">.offset));
  EXPECT_EQ((place<initial_seg, "health_buffer.synd">.offset),
            (place<mlx5_init_seg, "health.synd">.offset));
  EXPECT_EQ((place<initial_seg, "health_syndrome">.offset),
            (place<mlx5_init_seg, "health_counter">.offset));
}

}  // namespace
}  // namespace portcullis::prm
