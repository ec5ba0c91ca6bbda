// SPDX-License-Identifier: BSD-3-Clause
//
// What sources offer and when, in packets of 1000 bytes: a unit of data is 40 of them.
#include "pfc/packet/offer.hpp"

#include <gmock/gmock.h>

#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

Offer offer(const Source& source, Picoseconds spacing = 0) {
  Network network;
  network.ps_per_time = static_cast<double>(kTheta);
  network.bytes_per_data = static_cast<double>(kThreshold);
  return {source, network, 1000, spacing};
}

/// Takes whatever is offered as soon as it is, up to `most` packets.
std::vector<Picoseconds> times(Offer offer, std::size_t most) {
  std::vector<Picoseconds> times;
  Picoseconds now = 0;
  while (times.size() < most) {
    const auto at = offer.next(now);
    if (!at) break;
    now = *at;
    offer.take(now);
    times.push_back(now);
  }
  return times;
}

TEST(Offer, Greedy_HasAlwaysMoreFromItsStartOn) {
  EXPECT_THAT(times(offer(greedy(1, kUnlimited)), 3), ElementsAre(kTheta, kTheta, kTheta));
}

TEST(Offer, GreedyAfterItsStop_HasNothing) {
  Offer source = offer(greedy(1, 2));
  EXPECT_THAT(source.next(2 * kTheta - 1), Optional(2 * kTheta - 1));
  EXPECT_EQ(source.next(2 * kTheta), std::nullopt);
}

TEST(Offer, Rate_SpacesPacketsEvenly) {
  EXPECT_THAT(times(offer(rated(0.5)), 3), ElementsAre(0, 2 * kPacket, 4 * kPacket));
}

TEST(Offer, RateThatWasHeldUp_CatchesUp) {
  Offer rate = offer(rated(1));
  EXPECT_THAT(rate.next(10 * kPacket), Optional(10 * kPacket));
  EXPECT_EQ(rate.waiting(10 * kPacket), 11u);
}

TEST(Offer, RateZero_OffersNothing) { EXPECT_EQ(offer(rated(0)).next(0), std::nullopt); }

TEST(Offer, SourceThatIsFull_LosesWhatComes) {
  Source source = rated(1);
  source.buffer = 0.125;
  Offer rate = offer(source);
  EXPECT_TRUE(rate.next(10 * kPacket).has_value());
  EXPECT_EQ(rate.lost(), 11u - 5u);
  EXPECT_EQ(rate.waiting(10 * kPacket), 5u);
}

TEST(Offer, BufferOfAnySize_HoldsAll) {
  Source source = rated(1);
  source.buffer = 1e300;
  Offer rate = offer(source);
  EXPECT_TRUE(rate.next(10 * kPacket).has_value());
  EXPECT_EQ(rate.lost(), 0u);
}

TEST(Offer, Points_OfferWholePacketsAlongTheLine) {
  // Nothing for a unit of time, then three packets and a half within two packet times.
  const auto seen = times(offer(offered({{1, 0}, {1 + 2.0 / 40, 3.5 / 40}})), 10);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0], kTheta);
  EXPECT_NEAR(static_cast<double>(seen[1]), 8e6 + 4e5 / 3.5, 2);
  EXPECT_NEAR(static_cast<double>(seen[2]), 8e6 + 8e5 / 3.5, 2);
}

TEST(Offer, PointsThatBeginLate_OfferNothingBeforeAndTheFirstAtOnce) {
  // As the fluid has it: 3 packets at 2, and then one each 2 packet times.
  EXPECT_THAT(
      times(offer(offered({{2, 3.0 / 40}, {4, 43.0 / 40}})), 5),
      ElementsAre(2 * kTheta, 2 * kTheta, 2 * kTheta, 2 * kTheta, 2 * kTheta + 2 * kPacket));
}

TEST(Offer, RateLimit_MakesNothingUp) {
  Offer limited = offer(Source{}, 3 * kPacket);
  limited.take(0);
  EXPECT_THAT(limited.next(0), Optional(3 * kPacket));
  limited.take(100 * kPacket);
  EXPECT_THAT(limited.next(100 * kPacket), Optional(103 * kPacket));
}

}  // namespace
}  // namespace portcullis::pfc::packet
