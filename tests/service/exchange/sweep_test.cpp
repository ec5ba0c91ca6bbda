// SPDX-License-Identifier: BSD-3-Clause
//
// The lines of a sweep: each comes back as it was sent, and what is none is named in one line.
#include "service/exchange/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/exchange/exchange.hpp"

namespace portcullis::service::exchange {
namespace {

using ::testing::HasSubstr;

TEST(SweepLines, ComeBackAsTheyWere) {
  const SweepPeer peer{.vendor = 0x2c9, .part = 4119, .firmware = "16.35.4506"};
  EXPECT_EQ(parse_sweep_peer(to_line(peer)).value(), peer);
  EXPECT_EQ(parse_sweep_ready(to_line(SweepReady{.number = 3, .status = 12}))->status, 12);
  const auto clock = parse_sweep_clock(to_line(SweepClock{7, 81, 82})).value();
  EXPECT_EQ(clock.number, 7u);
  EXPECT_EQ(clock.received_ns, 81u);
  EXPECT_EQ(clock.sent_ns, 82u);
  EXPECT_EQ(parse_sweep_go(to_line(SweepGo{3, 4000}))->limit_ms, 4000u);
  EXPECT_EQ(parse_sweep_point(sweep_point(9)).value(), 9u);
  EXPECT_EQ(parse_clock_question(sweep_clock(9)).value(), 9u);
  EXPECT_TRUE(parse_sweep_hello(sweep_hello()));
}

TEST(SweepLines, WhatWasSeen_ComesBackAsItWas) {
  const auto seen = parse_sweep_seen(to_line(SweepSeen{.number = 3,
                                                       .succeeded = 900,
                                                       .last_success_ns = 50,
                                                       .last_success_post_ns = 40,
                                                       .failed_post_ns = 60,
                                                       .first_failure_ns = 70,
                                                       .status = 12}))
                        .value();
  EXPECT_EQ(seen.number, 3u);
  EXPECT_EQ(seen.succeeded, 900u);
  EXPECT_EQ(seen.last_success_ns, 50u);
  EXPECT_EQ(seen.last_success_post_ns, 40u);
  EXPECT_EQ(seen.failed_post_ns, 60u);
  EXPECT_EQ(seen.first_failure_ns, 70u);
  EXPECT_EQ(seen.status, 12u);
}

TEST(SweepLines, LongestOfEach_FitsALine) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0} >> 1;
  EXPECT_LE(to_line(SweepSeen{1'000'000, kMost, kMost, kMost, kMost, kMost, 255}).size(),
            kMaxLineBytes);
  EXPECT_EQ(sweep_failure(std::string(4096, 'x')).size(), kMaxLineBytes);
}

TEST(SweepLines, FirmwareOfAStranger_IsAVersionAndNoMore) {
  const auto told = [](const std::string& firmware) {
    return parse_sweep_peer("sweep-peer version=1 vendor=0x2c9 part=4119 firmware=" + firmware)
        ->firmware;
  };
  EXPECT_EQ(told("16.35.4506"), "16.35.4506");
  EXPECT_EQ(told("16.35\x1b[31m<b>/etc;db1.example"), "");
  EXPECT_EQ(told("0c42a1aabbcc"), "");
  EXPECT_EQ(told("db1.example"), "");
  EXPECT_EQ(told("16..35"), "");
  EXPECT_EQ(told("16.35."), "");
  EXPECT_EQ(told(std::string(33, '1')), "");
  EXPECT_THAT(to_line(SweepPeer{.firmware = ""}), HasSubstr("firmware=unknown"));
  EXPECT_THAT(to_line(SweepPeer{.firmware = "host-7"}), HasSubstr("firmware=unknown"));
}

TEST(SweepLines, PeersOwnWords_AreAnErrorOfOneLine) {
  const auto failed = parse_sweep_seen(sweep_failure("port 1 is\nDOWN"));
  EXPECT_EQ(failed.error().code, Errc::CommandFailed);
  EXPECT_EQ(failed.error().text, "the peer gave up: port 1 is DOWN");
}

class NoSweepLine : public ::testing::TestWithParam<const char*> {};

TEST_P(NoSweepLine, IsRefusedWhoeverIsAsked) {
  const std::string line = GetParam();
  const auto is_refused = [](const auto& parsed) {
    return !parsed && parsed.error().text.find('\n') == std::string::npos;
  };
  EXPECT_TRUE(is_refused(parse_sweep_peer(line)));
  EXPECT_TRUE(is_refused(parse_sweep_ready(line)));
  EXPECT_TRUE(is_refused(parse_sweep_clock(line)));
  EXPECT_TRUE(is_refused(parse_sweep_seen(line)));
  EXPECT_TRUE(is_refused(parse_sweep_go(line)));
  EXPECT_TRUE(is_refused(parse_sweep_point(line)));
  EXPECT_TRUE(is_refused(parse_sweep_hello(line)));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, NoSweepLine,
    ::testing::Values("", " ", "GET / HTTP/1.1", "sweep-hello", "sweep-hello version=2",
                      "sweep-hello version=1 version=1", "sweep-point version=1",
                      "sweep-point version=1 number=-1", "sweep-point version=1 number=1000001",
                      "sweep-go version=1 number=1 limit-ms=0",
                      "sweep-go version=1 number=1 limit-ms=99999999",
                      "sweep-ready version=1 number=1 status=256",
                      "sweep-clock version=1 number=1 received=2 sent=1",
                      "sweep-clock version=1 number=1 received=1 sent=9223372036854775808",
                      "sweep-seen version=1 number=1 succeeded=1 last-success=2 "
                      "last-success-post=3 failed-post=0 first-failure=0 status=0",
                      "sweep-seen version=1 number=1 succeeded=0 last-success=2 "
                      "last-success-post=1 failed-post=0 first-failure=0 status=0",
                      "sweep-seen version=1 number=1 succeeded=1 last-success=0 "
                      "last-success-post=0 failed-post=0 first-failure=0 status=0",
                      "sweep-seen version=1 number=1 succeeded=1 last-success=2 "
                      "last-success-post=1 failed-post=9 first-failure=8 status=12"));

}  // namespace
}  // namespace portcullis::service::exchange
