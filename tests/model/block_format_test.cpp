// SPDX-License-Identifier: BSD-3-Clause
//
// Byte stream formats as mlx5_set_bsf of mlx5_ib/wr.c and mlx5_umr_fill_sig_bsf of rdma-core's
// mlx5/qp.c write them: which are taken, how long data becomes, how a signature is written and
// compared.
#include "model/block_format.hpp"

#include <gtest/gtest.h>

namespace portcullis::model {
namespace {

/// T10-DIF of 512 bytes on the wire alone, tags that count.
prm::Buffer<prm::mlx5_bsf> dif_on_the_wire() {
  prm::Buffer<prm::mlx5_bsf> bsf;
  bsf.set<"bsf_size_sbs", 0x80>().set<"check_byte_mask", 0xff>().set<"wire_selector", 1>();
  bsf.put<"raw_data_size">(0xffffffff).put<"w_bfs_psv">(7);
  bsf.set<"w_inl.vld_refresh", 0xc000>().set<"w_inl.dif_apptag", 0x5678>();
  bsf.put<"w_inl.dif_reftag">(0xabcdef90).set<"w_inl.sig_type", 1>();
  bsf.set<"w_inl.rp_inv_seed", 0x88>().set<"w_inl.dif_inc_ref_guard_check", 0x41>();
  bsf.set<"w_inl.dif_app_bitmask_check", 0xffff>();
  return bsf;
}

SignatureDomain wire_of(const prm::Buffer<prm::mlx5_bsf>& bsf) {
  return BlockFormat::parse(bsf.all()).value_or(BlockFormat{}).wire;
}

TEST(BlockFormat, DomainWithoutAFormat_HasNoSignatures) {
  const auto format = BlockFormat::parse(dif_on_the_wire().all());
  ASSERT_TRUE(format);
  EXPECT_FALSE(format->memory.has_signatures());
  EXPECT_TRUE(format->wire.has_signatures());
  EXPECT_EQ(format->wire.psv, 7U);
}

TEST(BlockFormat, SignatureStandsBehindEachWholeBlock) {
  const SignatureDomain wire = wire_of(dif_on_the_wire());
  EXPECT_EQ(wire.place(511), 511U);
  EXPECT_EQ(wire.place(512), 520U);
  EXPECT_EQ(wire.place(1025), 1041U);
  EXPECT_EQ(wire.data_in(520), 512U);
  EXPECT_EQ(wire.data_in(515), 512U);
  EXPECT_EQ(wire.data_in(521), 513U);
}

TEST(BlockFormat, TagsAreWrittenBigEndianAndTheReferenceCounts) {
  const SignatureDomain wire = wire_of(dif_on_the_wire());
  const SignatureBytes bytes = wire.encode(wire.value(2, 0x1234));
  const SignatureBytes expected{std::byte{0x12}, std::byte{0x34}, std::byte{0x56}, std::byte{0x78},
                                std::byte{0xab}, std::byte{0xcd}, std::byte{0xef}, std::byte{0x92}};
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(wire.decode(bytes), 0x12345678abcdef92U);
}

TEST(BlockFormat, FirstWrongPartIsTheError) {
  const SignatureDomain wire = wire_of(dif_on_the_wire());
  constexpr std::uint64_t kRight = 0x12345678abcdef90, kAll = ~std::uint64_t{0};
  EXPECT_EQ(wire.compare(kRight, kRight, kAll), 0U);
  EXPECT_EQ(wire.compare(0x99990000'00000000, kRight, kAll), prm::kGuardError);
  EXPECT_EQ(wire.compare(0x12340000'00000000, kRight, kAll), prm::kApptagError);
  EXPECT_EQ(wire.compare(0x12345678'00000000, kRight, kAll), prm::kReftagError);
}

TEST(BlockFormat, PartThatIsNotAskedFor_IsNoError) {
  const SignatureDomain wire = wire_of(dif_on_the_wire());
  EXPECT_EQ(wire.compare(0x12345678'00000000, 0x12345678abcdef90, 0xffffffff'00000000), 0U);
}

TEST(BlockFormat, AppTagOfAllOnes_EscapesTheCheck) {
  const SignatureDomain wire = wire_of(dif_on_the_wire());
  EXPECT_EQ(wire.compare(0x0000ffff'00000000, 0x12345678abcdef90, ~std::uint64_t{0}), 0U);
}

TEST(BlockFormat, EscapeByBothTags_NeedsBoth) {
  auto bsf = dif_on_the_wire();
  bsf.set<"w_inl.dif_inc_ref_guard_check", 0x42>();
  const SignatureDomain wire = wire_of(bsf);
  EXPECT_NE(wire.compare(0x0000ffff'00000000, 0x12345678abcdef90, ~std::uint64_t{0}), 0U);
  EXPECT_EQ(wire.compare(0x0000ffff'ffffffff, 0x12345678abcdef90, ~std::uint64_t{0}), 0U);
}

TEST(BlockFormat, Crc32cIsWrittenLeastSignificantByteFirst) {
  prm::Buffer<prm::mlx5_bsf> bsf;
  bsf.set<"bsf_size_sbs", 0x80>().set<"mem_selector", 3>().put<"m_bfs_psv">(0x42000009);
  const auto format = BlockFormat::parse(bsf.all());
  ASSERT_TRUE(format);
  EXPECT_EQ(format->memory.block, 4096U);
  EXPECT_EQ(format->memory.signature, 4U);
  const SignatureBytes bytes = format->memory.encode(format->memory.value(0, 0x11223344));
  EXPECT_EQ(bytes[0], std::byte{0x44});
  EXPECT_EQ(bytes[3], std::byte{0x11});
  EXPECT_EQ(format->memory.decode(bytes), 0x11223344'00000000U);
}

TEST(BlockFormat, UnknownBlockSizeTypeOrSelector_IsRefused) {
  auto bsf = dif_on_the_wire();
  bsf.set<"wire_selector", 7>();
  EXPECT_FALSE(BlockFormat::parse(bsf.all()));
  bsf = dif_on_the_wire();
  bsf.set<"w_inl.sig_type", 3>();
  EXPECT_FALSE(BlockFormat::parse(bsf.all()));
  bsf = dif_on_the_wire();
  bsf.put<"w_bfs_psv">(0x70000000);
  EXPECT_FALSE(BlockFormat::parse(bsf.all()));
}

TEST(BlockFormat, SameStructureOfTwoThatAreNot_IsRefused) {
  auto bsf = dif_on_the_wire();
  bsf.set<"bsf_size_sbs", 0x90>();
  EXPECT_FALSE(BlockFormat::parse(bsf.all()));
}

}  // namespace
}  // namespace portcullis::model
