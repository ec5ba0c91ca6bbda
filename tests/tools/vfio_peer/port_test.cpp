// SPDX-License-Identifier: BSD-3-Clause
//
// How a queue pair's path names its own port, and the words and verdicts of a fence.
#include "tools/vfio_peer/port.hpp"

#include <gmock/gmock.h>

#include "tools/vfio_peer/fence.hpp"

namespace portcullis::tools::vfio_peer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array<std::uint8_t, 6> kMac{0x02, 0x50, 0x43, 0x00, 0x00, 0x01};

TEST(LinkLocalGid, OfAMac_IsTheOneThatLinuxMakes) {
  // RFC 4291, appendix A: fffe between the halves, the universal/local bit inverted.
  EXPECT_THAT(link_local_gid(kMac), ElementsAre(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x50, 0x43,
                                                0xff, 0xfe, 0x00, 0x00, 0x01));
}

TEST(PortText, OfEitherType_NamesTheAddress) {
  EXPECT_EQ((Port{prm::PortType::ETH, kMac, link_local_gid(kMac), 0}.text()),
            "RoCE fe80::50:43ff:fe00:1");
  EXPECT_EQ((Port{prm::PortType::IB, {}, {}, 3}.text()), "LID 3");
}

TEST(Path, OnEthernet_HasMacAndGidAndNoLid) {
  prm::Buffer<prm::init2rtr_qp_in> in;
  fill_path(in, Port{prm::PortType::ETH, kMac, link_local_gid(kMac), 0});
  EXPECT_EQ(in.get<"qpc.primary_address_path.rmac_47_32">(), 0x0250U);
  EXPECT_EQ(in.get<"qpc.primary_address_path.rmac_31_0">(), 0x43000001U);
  EXPECT_EQ(in.bytes<"qpc.primary_address_path.rgid_rip">()[0], std::byte{0xfe});
  EXPECT_EQ(in.get<"qpc.primary_address_path.rlid">(), 0U);
  EXPECT_EQ(in.overflow(), nullptr);
}

TEST(Path, OnInfiniBand_HasTheLidAlone) {
  prm::Buffer<prm::init2rtr_qp_in> in;
  fill_path(in, Port{prm::PortType::IB, kMac, link_local_gid(kMac), 0xbfff});
  EXPECT_EQ(in.get<"qpc.primary_address_path.rlid">(), 0xbfffU);
  EXPECT_EQ(in.get<"qpc.primary_address_path.grh">(), 0U);
  EXPECT_EQ(in.get<"qpc.primary_address_path.rmac_31_0">(), 0U);
}

class Verdict : public ::testing::Test {
 protected:
  FenceReport report_{FenceOrder::KeyFirst, 17, prm::WcStatus::REM_ACCESS_ERR, 2, 15, 0, 0};
};

TEST_F(Verdict, AccessErrorAfterTheKey_IsAsExpected) { EXPECT_TRUE(report_.as_expected()); }

TEST_F(Verdict, AccessErrorAfterTheQueuePair_IsNot) {
  report_.order = FenceOrder::QpFirst;
  EXPECT_FALSE(report_.as_expected());
  report_.first_failure = prm::WcStatus::RETRY_EXC_ERR;
  EXPECT_TRUE(report_.as_expected());
}

TEST_F(Verdict, OneByteChangedLater_IsNot) {
  report_.changed_bytes = 1;
  EXPECT_FALSE(report_.as_expected());
}

TEST_F(Verdict, AnotherFailureBesideTheFlushed_IsNot) {
  report_.other_failures = 1;
  EXPECT_FALSE(report_.as_expected());
}

TEST_F(Verdict, Text_SaysOrderStatusAndBytes) {
  EXPECT_THAT(report_.text(), AllOf(HasSubstr("DESTROY_MKEY, then 2ERR_QP: 17 WRITEs done"),
                                    HasSubstr("status 10 (IBV_WC_REM_ACCESS_ERR) after 2 ms"),
                                    HasSubstr("15 flushed; 0 bytes changed later")));
}

}  // namespace
}  // namespace portcullis::tools::vfio_peer
