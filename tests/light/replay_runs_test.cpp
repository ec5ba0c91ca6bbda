// SPDX-License-Identifier: BSD-3-Clause
//
// The round trip of replay_test.cpp, for the rest of fifty sets of switches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/light/round_trip.hpp"

namespace portcullis::light {
namespace {

class RoundTrip : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(RoundTrip, SecondModel_AnswersAsTheFirst) {
  const auto [device, differences] = testing::round_trip(GetParam());
  EXPECT_THAT(differences, ::testing::IsEmpty()) << device;
}

INSTANTIATE_TEST_SUITE_P(Sets, RoundTrip, ::testing::Range(6U, 50U));

}  // namespace
}  // namespace portcullis::light
