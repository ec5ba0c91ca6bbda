// SPDX-License-Identifier: BSD-3-Clause
//
// Actions on headers that a program's entries point to. The eight bytes of each are those that
// dr_ste_v0.c of rdma-core 44 wrote (dr_ste_v0_set_action_* and _decap_l3_list).
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "model/ethernet/offloads.hpp"
#include "model/steering/header_rewrite.hpp"
#include "model/steering/tunnels.hpp"
#include "tests/model/steered_frames.hpp"

namespace portcullis::model::testing {
namespace {

class HeaderRewrite : public ::testing::Test {
 protected:
  Raw rewritten(Raw frame, std::string_view list) {
    is_done_ = rewrite_headers(frame, registers_, raw_of(list));
    return frame;
  }
  SteeringRegisters registers_;
  bool is_done_ = false;
};

TEST_F(HeaderRewrite, BothPartsOfTheSourceAddress_FrameHasIt) {
  Raw wanted = finished({.payload = 4});
  for (std::size_t i = 6; i < 12; ++i) wanted[i] = std::byte{0x88};
  EXPECT_EQ(rewritten(finished({.payload = 4}), "02011000888888880201001000008888"), wanted);
}

TEST_F(HeaderRewrite, AddToTtl_WrapsAndTheHeaderStaysRight) {
  Raw wanted = build_frame({.payload = 4});
  wanted[22] = std::byte{63};
  fill_checksums(wanted, prm::kEthL3Csum | prm::kEthL4Csum);
  EXPECT_EQ(rewritten(finished({.payload = 4}), "03040808000000ff"), wanted);
  EXPECT_TRUE(is_done_);
}

TEST_F(HeaderRewrite, CopyOfTheSourceAddress_IsInTheRegister) {
  const Raw frame = finished({.payload = 4});
  EXPECT_EQ(rewritten(frame, "010c202000030000"), frame);
  EXPECT_EQ(registers_.c[0], 0x0a000001U);
  EXPECT_EQ(registers_.c[1], 0U);
}

TEST_F(HeaderRewrite, GapBetweenTwoActions_IsPassedOver) {
  EXPECT_EQ(rewritten(finished({.payload = 4}), "03040808000000ff000000000000000003040808000000ff"),
            rewritten(finished({.payload = 4}), "03040808000000fe"));
  EXPECT_TRUE(is_done_);
}

TEST_F(HeaderRewrite, UnknownOperation_IsNotDone) {
  const Raw frame = finished({.payload = 4});
  EXPECT_EQ(rewritten(frame, "0904080800000001"), frame);
  EXPECT_FALSE(is_done_);
}

TEST_F(HeaderRewrite, UnknownField_IsNotDone) {
  static_cast<void>(rewritten(finished({.payload = 4}), "027f080800000001"));
  EXPECT_FALSE(is_done_);
}

TEST_F(HeaderRewrite, BehindTheEndOfAField_IsNotDone) {
  static_cast<void>(rewritten(finished({.payload = 4}), "02013f0800000001"));
  EXPECT_FALSE(is_done_);
}

TEST_F(HeaderRewrite, FieldOfAnotherNetwork_StaysAway) {
  const Raw frame = finished({.payload = 4});
  EXPECT_EQ(rewritten(frame, "0206200001020304"), frame) << "upper half of an IPv6 source";
  EXPECT_TRUE(is_done_);
}

/// As an L3 tunnel comes off: the packet behind an empty header.
TEST_F(HeaderRewrite, ListForAnEthernetHeader_FillsIt) {
  Raw blank = finished({.payload = 4});
  std::fill_n(blank.begin(), 12, std::byte{0});
  Raw wanted = finished({.payload = 4});
  const Raw addresses = raw_of("025043000009025043000008");
  std::ranges::copy(addresses, wanted.begin());
  EXPECT_EQ(rewritten(blank,
                      "0200100002504300020110000250430002000010000000090202201000000800"
                      "0201001000000008"),
            wanted);
}

TEST_F(HeaderRewrite, ListForATaggedHeader_FillsTheTagToo) {
  Raw blank = finished({.tag = 0, .payload = 4});
  std::fill_n(blank.begin(), 12, std::byte{0});
  Raw wanted = finished({.tag = 0x2123, .payload = 4});
  const Raw addresses = raw_of("025043000009025043000008");
  std::ranges::copy(addresses, wanted.begin());
  EXPECT_EQ(rewritten(blank,
                      "0200100002504300020110000250430002000010000000090202201200020800"
                      "02010010000000080202001000002123"),
            wanted);
}

}  // namespace
}  // namespace portcullis::model::testing
