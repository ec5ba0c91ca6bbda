// SPDX-License-Identifier: BSD-3-Clause
//
// Frames in, frames out, both as scapy builds them (frames.py).
#include "neighbour/answerer.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/neighbour/digits.hpp"
#include "tests/neighbour/frames.hpp"

namespace portcullis::neighbour {
namespace {

namespace frames = portcullis::testing::frames;
using Frame = std::vector<std::byte>;

using portcullis::testing::digits_of;
using portcullis::testing::frame_of;

class AnswererTest : public ::testing::Test {
 protected:
  static Identity identity() {
    return {.mac = {{0x02, 0x50, 0x43, 0, 0, 1}},
            .addresses = {pmd::Gid::from_ipv4(192, 0, 2, 1),
                          pmd::Gid::parse("2001:db8::11:2201").value()}};
  }
  std::string answer(const Frame& frame) {
    Frame out(2048, std::byte{0xaa});
    const std::size_t bytes = answerer.answer(frame, out);
    return digits_of(std::span<const std::byte>(out).first(bytes));
  }
  std::string answer(std::string_view digits) { return answer(frame_of(digits)); }
  /// The frame with one byte of it other than it was.
  std::string answer_with(std::string_view digits, std::size_t at, std::uint8_t value) {
    Frame frame = frame_of(digits);
    frame.at(at) = std::byte{value};
    return answer(frame);
  }

  Answerer answerer{identity()};
};

TEST_F(AnswererTest, ArpRequest_IsAnswered) {
  EXPECT_EQ(answer(frames::kArpRequest), frames::kArpReply);
  EXPECT_EQ(answerer.counts(), (Counts{.arp_replies = 1}));
}

TEST_F(AnswererTest, ArpProbe_IsAnsweredSoThatTheAddressIsNotTaken) {
  EXPECT_EQ(answer(frames::kArpProbe), frames::kArpProbeReply);
}

TEST_F(AnswererTest, Ping_IsAnswered) {
  EXPECT_EQ(answer(frames::kPing), frames::kPong);
  EXPECT_EQ(answer(frames::kPing6), frames::kPong6);
  EXPECT_EQ(answerer.counts(), (Counts{.echo_replies = 2}));
}

TEST_F(AnswererTest, PaddedPing_IsAnsweredWithoutItsPadding) {
  EXPECT_EQ(answer(std::string(frames::kPing) + "deadbeef"), frames::kPong);
  EXPECT_EQ(answer(std::string(frames::kPing6) + "deadbeef"), frames::kPong6);
}

TEST_F(AnswererTest, Solicitation_IsAnsweredToWhomItNames) {
  EXPECT_EQ(answer(frames::kSolicitation), frames::kAdvertisement);
  EXPECT_EQ(answer(frames::kSolicitationWithoutOption), frames::kAdvertisement);
  EXPECT_EQ(answer(frames::kUnicastSolicitation), frames::kAdvertisement);
  EXPECT_EQ(answerer.counts(), (Counts{.advertisements = 3}));
}

TEST_F(AnswererTest, DuplicateAddressDetection_IsAnsweredToAll) {
  EXPECT_EQ(answer(frames::kDuplicateCheck), frames::kUnsolicitedAdvertisement);
}

TEST_F(AnswererTest, Announcements_AreAGratuitousArpAndAnAdvertisement) {
  const auto told = answerer.announcements();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(digits_of(told[0]), frames::kArpAnnouncement);
  EXPECT_EQ(digits_of(told[1]), frames::kUnsolicitedAdvertisement);
}

TEST_F(AnswererTest, Groups_AreBroadcastAndTheSolicitedNode) {
  EXPECT_EQ(answerer.groups(), (std::vector<pmd::Mac>{{{255, 255, 255, 255, 255, 255}},
                                                      {{0x33, 0x33, 0xff, 0x11, 0x22, 0x01}}}));
}

TEST_F(AnswererTest, VlanOfThePort_IsAnsweredWithItsTag) {
  Identity tagged = identity();
  tagged.vlan_id = 5;
  answerer = Answerer(tagged);
  EXPECT_EQ(answer(frames::kArpOnVlan), frames::kArpReplyOnVlan);
  EXPECT_EQ(answer(frames::kArpRequest), "");
  EXPECT_EQ(answerer.counts(), (Counts{.arp_replies = 1, .not_ours = 1}));
}

TEST_F(AnswererTest, VlanOfOthers_IsNotAnswered) {
  EXPECT_EQ(answer(frames::kArpOnVlan), "");
  EXPECT_EQ(answerer.counts(), (Counts{.not_ours = 1}));
}

TEST_F(AnswererTest, PriorityTag_IsAsGoodAsNone) {
  EXPECT_EQ(answer_with(frames::kArpOnVlan, 15, 0), frames::kArpReply);
}

TEST_F(AnswererTest, WrongChecksum_IsMalformed) {
  EXPECT_EQ(answer_with(frames::kPing, 24, 0), "");   // of the IPv4 header
  EXPECT_EQ(answer_with(frames::kPing, 50, 0), "");   // of the message
  EXPECT_EQ(answer_with(frames::kPing6, 70, 0), "");  // of the ICMPv6 message
  EXPECT_EQ(answer_with(frames::kSolicitation, 56, 0xff), "");
  EXPECT_EQ(answerer.counts(), (Counts{.malformed = 4}));
}

TEST_F(AnswererTest, SolicitationThatNoHostSends_IsMalformed) {
  EXPECT_EQ(answer(frames::kSolicitationFromAfar), "");
  EXPECT_EQ(answer(frames::kSolicitationOfGroupMac), "");
  EXPECT_EQ(answer(frames::kDuplicateCheckWithOption), "");
  EXPECT_EQ(answerer.counts(), (Counts{.malformed = 3}));
}

TEST_F(AnswererTest, ArpOfAnotherKind_IsMalformed) {
  EXPECT_EQ(answer_with(frames::kArpRequest, 15, 6), "");    // hardware
  EXPECT_EQ(answer_with(frames::kArpRequest, 18, 8), "");    // length of its addresses
  EXPECT_EQ(answer_with(frames::kArpRequest, 22, 1), "");    // a group as the sender
  EXPECT_EQ(answer_with(frames::kArpRequest, 28, 224), "");  // the same of IPv4
  EXPECT_EQ(answer_with(frames::kArpRequest, 6, 3), "");     // and of Ethernet
  EXPECT_EQ(answerer.counts(), (Counts{.malformed = 5}));
}

TEST_F(AnswererTest, WhatIsNotForThePort_IsPassedOver) {
  EXPECT_EQ(answer_with(frames::kArpRequest, 41, 9), "");  // another address
  EXPECT_EQ(answer_with(frames::kArpRequest, 21, 2), "");  // a reply
  EXPECT_EQ(answer_with(frames::kPing, 5, 9), "");         // another MAC
  EXPECT_EQ(answer_with(frames::kPing, 12, 0x88), "");     // another ethertype
  EXPECT_EQ(answer(frames::kPingWithOptions), "");
  EXPECT_EQ(answer(frames::kPingFragment), "");
  EXPECT_EQ(answerer.counts(), (Counts{.not_ours = 6}));
}

TEST_F(AnswererTest, OwnAddressAsSender_IsNotAnswered) {
  EXPECT_EQ(answer(frames::kPingFromUs), "");
  EXPECT_EQ(answer(frames::kArpAnnouncement), "");
  EXPECT_EQ(answerer.counts(), (Counts{.malformed = 1, .not_ours = 1}));
}

/// Every prefix of a frame that is short of what it says is dropped, and nothing behind it is read.
TEST_F(AnswererTest, CutFrame_IsDropped) {
  const Frame ping = frame_of(frames::kPing);
  const Frame solicitation = frame_of(frames::kSolicitation);
  std::size_t answered = 0;
  for (std::size_t bytes = 0; bytes < ping.size(); ++bytes)
    answered += answer(Frame(ping.begin(), ping.begin() + static_cast<long>(bytes))).size();
  for (std::size_t bytes = 0; bytes < solicitation.size(); ++bytes)
    answered +=
        answer(Frame(solicitation.begin(), solicitation.begin() + static_cast<long>(bytes))).size();
  EXPECT_EQ(answered, 0U);
  EXPECT_EQ(answerer.counts().malformed, ping.size() + solicitation.size());
}

}  // namespace
}  // namespace portcullis::neighbour
