// SPDX-License-Identifier: BSD-3-Clause
//
// What the performance management agent of an InfiniBand port answers. Offsets are those of struct
// ib_pma_portcounters, ib_pma_portcounters_ext (include/rdma/ib_pma.h of Linux) and
// ib_class_port_info (ib_mad.h), behind the 64 bytes of a header.
#include "model/performance_agent.hpp"

#include <gtest/gtest.h>

#include <array>

namespace portcullis::model::testing {
namespace {

using Mad = std::array<std::byte, kMadBytes>;

constexpr std::uint8_t kGet = 1, kSet = 2;
constexpr std::uint8_t kClassPortInfo = 1, kPortCounters = 0x12, kExtended = 0x1d;
constexpr std::uint32_t kUnsupported = 0xc, kBadValue = 0x1c, kBadVersion = 4;

Mad datagram(std::uint8_t attribute, std::uint8_t method = kGet, std::uint16_t selection = 0,
             std::uint8_t port = 1) {
  Mad mad{};
  mad[0] = mad[2] = std::byte{1};
  mad[1] = std::byte{4};
  mad[3] = std::byte{method};
  mad[8] = std::byte{0x5a};  // of the transaction
  mad[17] = std::byte{attribute};
  mad[65] = std::byte{port};
  mad[66] = std::byte(selection >> 8);
  mad[67] = std::byte(selection & 0xff);
  return mad;
}

std::uint64_t number(const Mad& mad, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value = value << 8 | std::to_integer<std::uint64_t>(mad[at + i]);
  return value;
}
std::uint32_t status(const Mad& mad) { return static_cast<std::uint32_t>(number(mad, 4, 2)); }

class PerformanceManagement : public ::testing::Test {
 protected:
  Mad answer(const Mad& request) {
    Mad response{};
    response.fill(std::byte{0xee});
    agent_.answer(counts_, request, response);
    return response;
  }

  PerformanceAgent agent_;
  PerformanceCounts counts_{1, 2, 3, 400, 500, 60, 70, 58, 69, 2, 1};
};

TEST_F(PerformanceManagement, ClassPortInfo_SaysThatCountsAreWide) {
  const Mad mad = answer(datagram(kClassPortInfo));
  EXPECT_EQ(status(mad), 0U);
  EXPECT_EQ(mad[3], std::byte{0x81});
  EXPECT_EQ(mad[8], std::byte{0x5a});
  EXPECT_EQ(number(mad, 64, 2), 0x0101U);
  EXPECT_EQ(number(mad, 66, 2), 0x0200U);
  EXPECT_EQ(number(mad, 68, 4), 0U);
}

TEST_F(PerformanceManagement, PortCounters_HaveErrorsAndTraffic) {
  const Mad mad = answer(datagram(kPortCounters));
  EXPECT_EQ(status(mad), 0U);
  EXPECT_EQ(number(mad, 65, 1), 1U);
  EXPECT_EQ(number(mad, 64 + 7, 1), 1U);     // link_downed_counter
  EXPECT_EQ(number(mad, 64 + 8, 2), 2U);     // port_rcv_errors
  EXPECT_EQ(number(mad, 64 + 14, 2), 3U);    // port_xmit_discards
  EXPECT_EQ(number(mad, 64 + 24, 4), 100U);  // port_xmit_data, of four octets
  EXPECT_EQ(number(mad, 64 + 28, 4), 125U);
  EXPECT_EQ(number(mad, 64 + 32, 4), 60U);
  EXPECT_EQ(number(mad, 64 + 36, 4), 70U);
}

TEST_F(PerformanceManagement, PortCountersThatAreFull_StayAtTheirGreatest) {
  counts_.fill(std::uint64_t{1} << 40);
  const Mad mad = answer(datagram(kPortCounters));
  EXPECT_EQ(number(mad, 64 + 7, 1), 0xffU);
  EXPECT_EQ(number(mad, 64 + 8, 2), 0xffffU);
  EXPECT_EQ(number(mad, 64 + 24, 4), 0xffffffffU);
  EXPECT_EQ(number(answer(datagram(kExtended)), 64 + 24, 8), std::uint64_t{1} << 40);
}

TEST_F(PerformanceManagement, ExtendedCounters_TellGroupsApart) {
  const Mad mad = answer(datagram(kExtended));
  EXPECT_EQ(status(mad), 0U);
  EXPECT_EQ(number(mad, 64 + 8, 8), 100U);
  EXPECT_EQ(number(mad, 64 + 16, 8), 125U);
  EXPECT_EQ(number(mad, 64 + 24, 8), 60U);
  EXPECT_EQ(number(mad, 64 + 32, 8), 70U);
  EXPECT_EQ(number(mad, 64 + 40, 8), 58U);
  EXPECT_EQ(number(mad, 64 + 48, 8), 69U);
  EXPECT_EQ(number(mad, 64 + 56, 8), 2U);
  EXPECT_EQ(number(mad, 64 + 64, 8), 1U);
}

TEST_F(PerformanceManagement, Set_BeginsAnewWhatItSelectsAndNoOther) {
  const Mad set = answer(datagram(kPortCounters, kSet, 0x1004));
  EXPECT_EQ(number(set, 64 + 7, 1), 0U);
  EXPECT_EQ(number(set, 64 + 24, 4), 0U);
  EXPECT_EQ(number(set, 64 + 28, 4), 125U);
  counts_[static_cast<std::size_t>(Performance::SentOctets)] += 8;
  EXPECT_EQ(number(answer(datagram(kPortCounters)), 64 + 24, 4), 2U);
  EXPECT_EQ(number(answer(datagram(kExtended)), 64 + 8, 8), 2U);
}

TEST_F(PerformanceManagement, SetOfExtendedCounters_BeginsThemAnew) {
  const Mad set = answer(datagram(kExtended, kSet, 0x0ff));
  EXPECT_EQ(number(set, 64 + 8, 8) + number(set, 64 + 24, 8) + number(set, 64 + 64, 8), 0U);
  EXPECT_EQ(number(answer(datagram(kPortCounters)), 64 + 7, 1), 1U);
}

TEST_F(PerformanceManagement, CountClearedByOthersAfterASet_IsNotBelowZero) {
  answer(datagram(kExtended, kSet, 0x0ff));
  counts_.fill(0);
  EXPECT_EQ(number(answer(datagram(kExtended)), 64 + 24, 8), 0U);
}

TEST_F(PerformanceManagement, WhatIsNotThere_HasAStatusOfItsOwn) {
  EXPECT_EQ(status(answer(datagram(0x10))), kUnsupported);
  EXPECT_EQ(status(answer(datagram(kClassPortInfo, kSet))), kUnsupported);
  EXPECT_EQ(status(answer(datagram(kPortCounters, 5))), kUnsupported);
  EXPECT_EQ(status(answer(datagram(kPortCounters, kGet, 0, 2))), kBadValue);
  Mad newer = datagram(kPortCounters);
  newer[2] = std::byte{2};
  EXPECT_EQ(status(answer(newer)), kBadVersion);
}

TEST_F(PerformanceManagement, ClassOfTheSubnet_IsNotItsOwn) {
  Mad mad = datagram(kPortCounters);
  EXPECT_TRUE(is_of_performance(mad));
  mad[1] = std::byte{0x81};
  EXPECT_FALSE(is_of_performance(mad));
}

}  // namespace
}  // namespace portcullis::model::testing
