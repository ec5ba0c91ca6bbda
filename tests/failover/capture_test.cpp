// SPDX-License-Identifier: BSD-3-Clause
//
// A dump from a capture.
#include "tools/failover_check/capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "failover/classify/classify.hpp"
#include "failover/classify/dump.hpp"
#include "tests/failover/capture_bytes.hpp"

namespace portcullis::tools::failover_check {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace capture_bytes;

std::vector<std::string> statuses(const std::vector<std::string>& frames,
                                  bool is_at_sender = true) {
  const Capture capture = read_capture(pcap(frames), "c.pcap", is_at_sender).value();
  std::vector<std::string> found;
  for (const CapturedRequest& one : capture.requests)
    found.push_back(std::string(one.opcode) + " " + std::string(one.status));
  return found;
}

const std::string a_write = "IBV_WR_RDMA_WRITE ";

TEST(Capture, RequestBehindTheLastAcknowledgement_IsOutstanding) {
  EXPECT_THAT(statuses({write_only(5, 0), ack(5), write_only(6, 8)}), ElementsAre(a_write));
}

TEST(Capture, OneAcknowledgement_AnswersAllBeforeIt) {
  const auto frames = {write_only(5, 0), write_only(6, 8), ack(6)};
  EXPECT_TRUE(statuses(frames).empty());
  EXPECT_EQ(read_capture(pcap(frames), "c", true).value().answered_before, 2U);
}

TEST(Capture, TakenElsewhere_CountsNoAnswerAsComeBack) {
  EXPECT_THAT(statuses({write_only(5, 0), ack(5)}, false), ElementsAre(a_write));
}

TEST(Capture, SentAgain_IsOneRequest) {
  EXPECT_THAT(statuses({write_only(5, 0), write_only(5, 0), write_only(5, 0)}),
              ElementsAre(a_write));
}

TEST(Capture, PsnThatWraps_GoesOn) {
  EXPECT_THAT(statuses({write_only(0xffffff, 0), write_only(0, 8), ack(0xffffff)}),
              ElementsAre(a_write));
}

TEST(Capture, AccessErrorInTheMiddle_IsTheStatusOfThatRequest) {
  EXPECT_THAT(statuses({write_only(5, 0), write_only(6, 8), write_only(7, 16), ack(6, 0x62)}),
              ElementsAre(a_write + "IBV_WC_REM_ACCESS_ERR", a_write));
}

TEST(Capture, SequenceErrorThatIsRepaired_IsNoStatus) {
  EXPECT_THAT(statuses({write_only(5, 0), write_only(6, 8), ack(6, 0x60)}), ElementsAre(a_write));
}

TEST(Capture, WriteOfThreePackets_IsOneRequestWithItsLength) {
  const std::vector<std::string> frames = {
      frame(kSender, 0x06, 0x11, 5, reth(64, 0x1000, 600) + std::string(256, 'x')),
      frame(kSender, 0x07, 0x11, 6, std::string(256, 'x')),
      frame(kSender, 0x08, 0x11, 7, std::string(88, 'x')), ack(6)};
  const Capture capture = read_capture(pcap(frames), "c", true).value();
  ASSERT_EQ(capture.requests.size(), 1U);
  EXPECT_EQ(capture.requests[0].length, 600U);
  EXPECT_EQ(capture.requests[0].remote_addr, 64U);
  EXPECT_EQ(capture.requests[0].rkey, 0x1000U);
}

TEST(Capture, ImmediateInTheLastPacket_NamesTheOpcode) {
  EXPECT_THAT(
      statuses({frame(kSender, 0x06, 0x11, 5, reth(64, 0x1000, 300) + std::string(256, 'x')),
                frame(kSender, 0x09, 0x11, 6, big(9, 4) + std::string(44, 'x'))}),
      ElementsAre("IBV_WR_RDMA_WRITE_WITH_IMM "));
}

std::string read_request(std::uint32_t psn, std::uint32_t bytes) {
  return frame(kSender, 0x0c, 0x11, psn, reth(0, 0x1000, bytes));
}

TEST(Capture, ReadWhoseAnswerIsWhole_IsAnswered) {
  EXPECT_TRUE(statuses({read_request(5, 600), read_response(0x0d, 5, 256),
                        read_response(0x0e, 6, 256), read_response(0x0f, 7, 88)})
                  .empty());
}

TEST(Capture, ReadWithAPieceOfItsAnswerMissing_IsOutstanding) {
  EXPECT_THAT(
      statuses({read_request(5, 600), read_response(0x0d, 5, 256), read_response(0x0f, 7, 88)}),
      ElementsAre("IBV_WR_RDMA_READ "));
}

TEST(Capture, AnswerOfALaterRead_DoesNotAnswerTheOneBefore) {
  EXPECT_THAT(statuses({read_request(5, 600), read_request(8, 8), read_response(0x10, 8, 8)}),
              ElementsAre("IBV_WR_RDMA_READ ", "IBV_WR_RDMA_READ "));
}

std::string refusal(const std::vector<std::string>& frames) {
  const auto read = read_capture(pcap(frames), "c.pcap", true);
  return read.has_value() ? "" : read.error().text;
}

TEST(Capture, PsnsMissingBehindAReadThatWasAnswered_AreAnOutstandingMessageAndRefused) {
  const std::vector<std::string> frames = {read_request(5, 512), read_response(0x10, 5, 512),
                                           write_only(7, 8)};
  EXPECT_THAT(refusal(frames), HasSubstr("c.pcap: frame 3: PSN 6 of QP 0x11 is outstanding"));
}

TEST(Capture, AnswerOfFewerPacketsThanPsnsWereMissing_IsRefused) {
  const std::vector<std::string> frames = {read_request(5, 512), write_only(7, 8),
                                           read_response(0x10, 5, 512)};
  EXPECT_THAT(refusal(frames), HasSubstr("frame 3: the answer to the READ at PSN 5 of QP 0x11 ends "
                                         "here, and what has PSN 6 is not captured"));
}

TEST(Capture, PsnsMissingBehindAnUnansweredRead_AreItsAnswersOnlyWhereAnMtuGivesSoMany) {
  EXPECT_THAT(statuses({read_request(5, 4096), write_only(9, 8)}),
              ElementsAre("IBV_WR_RDMA_READ ", a_write));  // 4 packets of 1024 bytes
  EXPECT_THAT(refusal({read_request(5, 4096), write_only(8, 8)}),
              HasSubstr("PSN 6 of QP 0x11 is outstanding"));
  EXPECT_THAT(refusal({read_request(5, 512), write_only(8, 8)}),
              HasSubstr("PSN 6 of QP 0x11 is outstanding"));
}

TEST(Capture, MessageLongerThanAnyIs_IsRefusedAndNotLeftToTheDump) {
  EXPECT_EQ(read_capture(pcap({read_request(5, 1U << 31U)}), "c", true)->requests.size(), 1U);
  EXPECT_EQ(refusal({read_request(5, (1U << 31U) + 1)}),
            "c.pcap: frame 1: a message of 2147483649 bytes; up to 2147483648 are accepted");
}

TEST(Capture, ReadThatGoesOnWhereItWasInterrupted_IsNoGapAndOneRequest) {
  const std::string rest = frame(kSender, 0x0c, 0x11, 8, reth(768, 0x1000, 4096 - 768));
  EXPECT_THAT(statuses({read_request(5, 4096), rest}), ElementsAre("IBV_WR_RDMA_READ "));
}

TEST(Capture, ReadOfMorePacketsThanAWindow_IsOfTheSameConnectionAsWhatFollows) {
  constexpr std::uint32_t kBytes = 128U << 20U, kPackets = kBytes / 1024;
  const std::string file = pcap({read_request(5, kBytes), write_only(5 + kPackets, 8)});
  const Capture capture = read_capture(file, "c", true).value();
  ASSERT_EQ(capture.requests.size(), 2U);
  EXPECT_EQ(capture.requests[1].qp_num, 0x11U);
  EXPECT_TRUE(capture.renumbered.empty());
}

TEST(Capture, AnswerOfMorePacketsThanAWindow_AnswersItsRead) {
  constexpr std::uint32_t kPackets = 100'000;
  std::vector<std::string> frames = {read_request(5, kPackets * 256), read_response(0x0d, 5, 256)};
  for (std::uint32_t i = 1; i + 1 < kPackets; ++i)
    frames.push_back(read_response(0x0e, 5 + i, 256));
  frames.push_back(read_response(0x0f, 4 + kPackets, 256));
  EXPECT_TRUE(statuses(frames).empty());
}

std::string atomic(unsigned opcode, std::uint32_t psn, std::uint64_t swap_add,
                   std::uint64_t compare) {
  return frame(kSender, opcode, 0x11, psn,
               big(16, 8) + big(0x1000, 4) + big(swap_add, 8) + big(compare, 8));
}

TEST(Capture, WriteAcknowledgedBehindAnUnansweredAtomic_HasNotCompleted) {
  EXPECT_THAT(statuses({atomic(0x14, 5, 3, 0), write_only(6, 64), ack(6)}),
              ElementsAre("IBV_WR_ATOMIC_FETCH_AND_ADD ", a_write));
}

TEST(Capture, AtomicsOperands_AreTheDumps) {
  const Capture capture =
      read_capture(pcap({atomic(0x14, 5, 3, 9), atomic(0x13, 6, 4, 10)}), "c", true).value();
  EXPECT_EQ(capture.requests[0].compare_add, 3U);
  EXPECT_EQ(capture.requests[1].compare_add, 10U);
  EXPECT_EQ(capture.requests[1].swap, 4U);
}

TEST(Capture, NumberThatIsUsedAgain_IsAnotherConnection) {
  EXPECT_THAT(statuses({write_only(900000, 0), write_only(5, 8), write_only(6, 16), ack(5)}),
              ElementsAre(a_write, a_write + "IBV_WC_SUCCESS", a_write));
}

TEST(Capture, SentAgainFromBeforeTheCapture_IsRefused) {
  const auto refused = read_capture(pcap({write_only(5, 0), write_only(4, 0)}), "c", true);
  EXPECT_THAT(refused.error().text, HasSubstr("frame 2: PSN 4 of QP 0x11 was sent before"));
}

/// The second one was seen to begin: what is before its first PSN is a third one's.
TEST(Capture, BeforeTheFirstOfOneThatBeganHere_IsAnotherConnection) {
  EXPECT_THAT(statuses({write_only(900000, 0), write_only(5, 8), write_only(4, 16)}),
              ElementsAre(a_write, a_write, a_write));
}

TEST(Capture, TwoQueuePairsWhosePsnsOverlap_AreNotToldApartAndCountAsOutstanding) {
  EXPECT_THAT(statuses({write_only(5, 0, 0x11), write_only(5, 8, 0x12), ack(5)}),
              ElementsAre(a_write, a_write));
}

TEST(Capture, TwoQueuePairsWithPsnsOfTheirOwn_AreToldApart) {
  EXPECT_THAT(statuses({write_only(5, 0, 0x11), write_only(900, 8, 0x12), ack(900, 0x1f, 0x23)}),
              ElementsAre(a_write, a_write + "IBV_WC_SUCCESS"));
}

TEST(Capture, AnswersToAKnownQueuePair_AreItsOwnWhereverTheirPsnsLie) {
  EXPECT_THAT(statuses({write_only(902, 0, 0x11), write_only(902, 8, 0x12),
                        write_only(900, 16, 0x13), ack(900, 0x1f, 0x23), write_only(901, 24, 0x13),
                        write_only(902, 32, 0x13), ack(902, 0x1f, 0x23)}),
              ElementsAre(a_write, a_write, a_write + "IBV_WC_SUCCESS", a_write + "IBV_WC_SUCCESS",
                          a_write + "IBV_WC_SUCCESS"));
}

TEST(Capture, MissingPacket_IsRefusedWhileOutstandingAndFineWhenAnswered) {
  const auto refused = read_capture(pcap({write_only(5, 0), write_only(8, 8)}), "c.pcap", true);
  EXPECT_THAT(refused.error().text, HasSubstr("c.pcap: frame 2: PSN 6 of QP 0x11 is outstanding"));
  EXPECT_TRUE(statuses({write_only(5, 0), write_only(8, 8), ack(8)}).empty());
}

TEST(Capture, FileThatIsCutShort_IsRefusedWithItsFrame) {
  std::string file = pcap({write_only(5, 0), write_only(6, 0)});
  file.resize(file.size() - 3);
  EXPECT_THAT(read_capture(file, "c.pcap", true).error().text,
              HasSubstr("c.pcap: frame 2: the file ends in it"));
}

TEST(Capture, FilesOfOtherKinds_AreRefused) {
  EXPECT_THAT(read_capture("{}", "c", true).error().text, HasSubstr("too short"));
  EXPECT_THAT(read_capture(std::string(30, 'x'), "c", true).error().text,
              HasSubstr("c: begins with 78787878; pcap (a1b2c3d4, a1b23c4d) and pcapng"));
  std::string infiniband = pcap({});
  infiniband[20] = static_cast<char>(247);
  EXPECT_THAT(read_capture(infiniband, "c", true).error().text, HasSubstr("link type 247"));
}

TEST(Capture, OtherTraffic_IsCountedAndPassedOver) {
  std::string arp = std::string(12, '\2') + big(0x0806, 2) + std::string(46, '\0');
  const Capture capture = read_capture(pcap({arp, write_only(5, 0)}), "c", true).value();
  EXPECT_EQ(capture.other_frames, 1U);
  EXPECT_EQ(capture.requests.size(), 1U);
}

TEST(Capture, EveryPrefixOfAFrame_IsReadOrRefusedAndNeverMore) {
  const std::string whole = atomic(0x13, 5, 1, 2);
  std::size_t requests = 0;
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const auto read = read_capture(pcap({whole.substr(0, bytes)}), "c", true);
    requests += read.has_value() ? read->requests.size() : 0;
  }
  EXPECT_EQ(requests, 5U);  // all of the headers and the four bytes of the ICRC
}

/// A WRITE of 8 bytes from one host to another.
std::string write_between(char from, char to, std::uint32_t psn, std::uint64_t address) {
  return frame_to(from, to, 0x0a, 0x11, psn, reth(address, 0x1000, 8) + big(7, 8));
}

TEST(Capture, RequestsOfTwoSenders_AreOneSendersOnlyWhereThatOneIsNamed) {
  const std::string file = pcap({write_between(1, 2, 5, 0), write_between(2, 1, 5, 8)});
  EXPECT_THAT(read_capture(file, "c.pcap", true).error().text,
              HasSubstr("c.pcap: frame 2: a request of 192.0.2.2, and before it of 192.0.2.1"));
  const Capture capture = read_capture(file, "c.pcap", true, "192.0.2.2").value();
  ASSERT_EQ(capture.requests.size(), 1U);
  EXPECT_EQ(capture.requests[0].remote_addr, 8U);
  EXPECT_EQ(capture.of_others, 1U);
}

TEST(Capture, SenderThatSendsNoRequestOrIsNoAddress_IsRefused) {
  const std::string file = pcap({write_between(1, 2, 5, 0)});
  EXPECT_THAT(read_capture(file, "c", true, "192.0.2.9").error().text,
              HasSubstr("no request of 192.0.2.9, 1 of others"));
  EXPECT_THAT(read_capture(file, "c", true, "left").error().text,
              HasSubstr("sender is 'left'; an IPv4 or IPv6 address is accepted"));
}

TEST(Capture, QueuePairsOfTwoRespondersWithOneNumber_AreTwoInTheDump) {
  const Capture capture =
      read_capture(pcap({write_between(1, 2, 5, 0), write_between(1, 3, 9, 8)}), "c", true).value();
  ASSERT_EQ(capture.requests.size(), 2U);
  EXPECT_EQ(capture.requests[0].qp_num, 0x11U);
  EXPECT_EQ(capture.requests[1].qp_num, 0xffffffU);
  ASSERT_EQ(capture.renumbered.size(), 1U);
  EXPECT_EQ(capture.renumbered[0].responder, "192.0.2.3");
}

TEST(Capture, ConnectionThatHasAnEarliersNumber_IsAnotherQueuePairInTheDump) {
  const Capture capture =
      read_capture(pcap({write_only(900000, 0), write_only(5, 8)}), "c", true).value();
  EXPECT_NE(capture.requests[0].qp_num, capture.requests[1].qp_num);
}

/// As pcap(), of frames of which `bytes` at most were captured.
std::string snapped(const std::vector<std::string>& frames, std::size_t bytes) {
  std::string file = pcap({});
  for (const std::string& one : frames)
    file += little(0, 8) + little(std::min(bytes, one.size()), 4) + little(one.size(), 4) +
            one.substr(0, bytes);
  return file;
}

TEST(Capture, FramesCutBeforeTheirTransportHeader_AreRefusedAndNotPassedOver) {
  const auto refused = read_capture(snapped({write_only(5, 0)}, 48), "c.pcap", true);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().text, HasSubstr("c.pcap: frame 1: 48 of its"));
  EXPECT_EQ(read_capture(snapped({write_only(5, 0)}, 80), "c", true).value().requests.size(), 1U);
}

TEST(Capture, FrameWithTwoVlanTags_IsRead) {
  std::string tagged = write_only(5, 0);
  tagged.insert(12, big(0x88a80001, 4) + big(0x81000002, 4));
  EXPECT_THAT(statuses({tagged}), ElementsAre(a_write));
}

TEST(Capture, AnswersBehindOneThatIsMissing_CostNoMoreForEachOfThem) {
  constexpr std::uint32_t kMany = 100'000;  // squared, some 10^10 steps
  std::vector<std::string> frames = {read_request(5, 8)};
  for (std::uint32_t i = 0; i < kMany; ++i) {
    frames.push_back(write_only(6 + i, 8));
    frames.push_back(ack(6 + i));
  }
  EXPECT_EQ(read_capture(pcap(frames), "c", true).value().requests.size(), kMany + 1);
}

TEST(Capture, ConnectionsOfOneNumber_CostNoMoreForEachOfThem) {
  constexpr unsigned kMany = 50'000;  // cubed, some 10^14 steps
  std::vector<std::string> frames;
  for (unsigned i = 0; i < kMany; ++i) {
    std::string one = write_only(5, 8);
    one.replace(30, 4, big(0x0a000000 + i, 4));  // of IPv4: to whom
    frames.push_back(one);
  }
  const Capture capture = read_capture(pcap(frames), "c", true).value();
  EXPECT_EQ(capture.requests.size(), kMany);
  EXPECT_EQ(capture.renumbered.size(), kMany - 1);
}

TEST(CapturedDump, IsWhatClassifyReads) {
  const Capture capture =
      read_capture(pcap({write_only(5, 64), atomic(0x14, 6, 3, 0)}), "c", true).value();
  const auto dump =
      failover::read_dump(dump_of(capture, {"reuse", "notified", true}), "dump").value();
  const auto advice = failover::classify(dump).value();
  EXPECT_EQ(advice[0].advice, failover::Advice::Repost);
  EXPECT_EQ(advice[1].advice, failover::Advice::Never);
}

TEST(CapturedDump, HasThePsnsThatAnExpectedPsnIsHeldAgainst) {
  const Capture capture =
      read_capture(pcap({write_only(5, 64), atomic(0x14, 6, 3, 0)}), "c", true).value();
  std::string dump = dump_of(capture, {"reuse", "notified", true});
  dump.insert(dump.find('{') + 1, R"("queue_pairs": [{"qp_num": 17, "expected_psn": 6}],)");
  const auto advice = failover::classify(failover::read_dump(dump, "dump").value()).value();
  EXPECT_EQ(advice[1].advice, failover::Advice::Repost);
}

}  // namespace
}  // namespace portcullis::tools::failover_check
