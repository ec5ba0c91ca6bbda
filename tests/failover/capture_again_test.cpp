// SPDX-License-Identifier: BSD-3-Clause
//
// A capture in which PSNs come twice: sent again, or by another connection under the same number,
// whose requests must not be taken for retransmissions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/failover/capture_bytes.hpp"
#include "tools/failover_check/capture.hpp"

namespace portcullis::tools::failover_check {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace capture_bytes;

Capture captured(const std::vector<std::string>& frames) {
  return read_capture(pcap(frames), "c.pcap", true).value();
}
/// "QP PSN opcode" of each.
std::vector<std::string> requests(const std::vector<std::string>& frames) {
  std::vector<std::string> found;
  for (const CapturedRequest& one : captured(frames).requests)
    found.push_back(std::to_string(one.qp_num) + " " + std::to_string(one.psn) + " " +
                    std::string(one.opcode.substr(std::string("IBV_WR_").size())));
  return found;
}

std::string write_of(std::uint32_t psn, std::uint64_t address, const std::string& bytes) {
  return frame(kSender, 0x0a, 0x11, psn,
               reth(address, 0x1000, static_cast<std::uint32_t>(bytes.size())) + bytes);
}
std::string send(std::uint32_t psn) { return frame(kSender, 0x04, 0x11, psn, big(7, 8)); }
std::string add(std::uint32_t psn, std::uint64_t addend = 1) {
  return frame(kSender, 0x14, 0x11, psn, big(16, 8) + big(0x1000, 4) + big(addend, 8) + big(0, 8));
}
std::string read(std::uint32_t psn, std::uint64_t address, std::uint32_t bytes) {
  return frame(kSender, 0x0c, 0x11, psn, reth(address, 0x1000, bytes));
}

constexpr const char* kAnother = "16777215 5 ";  // its number in the dump, and the PSN below

class KnownPsn : public ::testing::TestWithParam<std::pair<const char*, std::string>> {};

TEST_P(KnownPsn, WithAnotherPacket_IsOfAnotherConnection) {
  const auto found = requests({write_of(5, 0, "sixteen bytes it"), ack(5), GetParam().second});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0], HasSubstr(kAnother));
}

INSTANTIATE_TEST_SUITE_P(
    Capture, KnownPsn,
    ::testing::Values(std::pair{"Opcode", send(5)}, std::pair{"Atomic", add(5)},
                      std::pair{"Read", read(5, 0, 16)},
                      std::pair{"Address", write_of(5, 8, "sixteen bytes it")},
                      std::pair{"Length", write_of(5, 0, "sixteen bytes")},
                      std::pair{"Payload", write_of(5, 0, "sixteen bytes is")}),
    [](const auto& info) { return std::string(info.param.first); });

TEST(Capture, KnownPsnWithAnotherAddend_IsOfAnotherConnection) {
  EXPECT_THAT(requests({add(5, 1), add(5, 2)}),
              ElementsAre("17 5 ATOMIC_FETCH_AND_ADD", "16777215 5 ATOMIC_FETCH_AND_ADD"));
}

/// A WRITE of 5 bytes with 3 of padding.
std::string padded_write() {
  std::string made = write_of(5, 0, "bytes...");
  made.replace(43, 1, big(0x70, 1));
  return made;
}

class SentAgain : public ::testing::TestWithParam<std::tuple<const char*, unsigned, unsigned>> {};

TEST_P(SentAgain, WithWhatMayDiffer_IsOneRequest) {
  std::string again = padded_write();
  const auto [name, at, byte] = GetParam();
  again.replace(at, 1, big(byte, 1));
  EXPECT_THAT(requests({padded_write(), again}), ElementsAre("17 5 RDMA_WRITE"));
}

INSTANTIATE_TEST_SUITE_P(
    Capture, SentAgain,
    ::testing::Values(std::tuple{"UdpSourcePort", 34U, 7U}, std::tuple{"Path", 43U, 0x30U},
                      std::tuple{"SolicitedEvent", 43U, 0xf0U},
                      std::tuple{"Congestion", 46U, 0xc0U}, std::tuple{"AckRequest", 50U, 0x80U},
                      std::tuple{"Padding", 76U, 9U}, std::tuple{"Icrc", 80U, 9U}),
    [](const auto& info) { return std::string(std::get<0>(info.param)); });

TEST(Capture, WriteThatIsSentAgainFromItsMiddle_IsOneRequest) {
  const std::string first =
      frame(kSender, 0x06, 0x11, 5, reth(64, 0x1000, 600) + std::string(256, 'x'));
  const std::string middle = frame(kSender, 0x07, 0x11, 6, std::string(256, 'y'));
  const std::string last = frame(kSender, 0x08, 0x11, 7, std::string(88, 'z'));
  EXPECT_THAT(requests({first, middle, last, middle, last}), ElementsAre("17 5 RDMA_WRITE"));
}

TEST(Capture, BeginningAsThatOfTheConnectionBefore_IsOfTheOneThatIsSeenToBeAnother) {
  EXPECT_THAT(requests({add(5), send(6), ack(6), add(5), add(6)}),
              ElementsAre("17 5 ATOMIC_FETCH_AND_ADD", "17 6 SEND",
                          "16777215 5 ATOMIC_FETCH_AND_ADD", "16777215 6 ATOMIC_FETCH_AND_ADD"));
}

TEST(Capture, AnswerThatIsOfTheConnectionBeforeOrOfTheNext_IsRefused) {
  const auto refused = read_capture(
      pcap({write_of(5, 0, "a"), send(6), write_of(5, 0, "a"), ack(5), add(6)}), "c.pcap", true);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().text,
            "c.pcap: frame 5: another connection has begun under QP 0x11, in frame 3 or later, and "
            "which one the answers since then are for is not known; a capture of one of them is "
            "accepted");
}

/// By its packets it may be either: it is told.
TEST(Capture, PacketAsOneThatWasAnswered_IsSentAgainAndCounted) {
  const std::vector<std::string> frames = {send(5), ack(5), send(6), send(5), send(6)};
  const Capture capture = captured(frames);
  EXPECT_EQ(capture.requests.size(), 1U);
  EXPECT_EQ(capture.again_after_answer, 1U);
  EXPECT_EQ(capture.first_again, 4U);
  const Capture elsewhere = read_capture(pcap(frames), "c.pcap", false).value();
  EXPECT_EQ(elsewhere.again_after_answer, 0U);
}

// ---- READs
// ----------------------------------------------------------------------------------------

TEST(Capture, ReadThatGoesOnBehindTheFirstPacketOfItsAnswer_IsOneRequest) {
  EXPECT_THAT(requests({read(5, 0, 3000), read_response(0x0d, 5, 1024), read(6, 1024, 1976),
                        read_response(0x0d, 6, 1024), read_response(0x0f, 7, 952), send(8)}),
              ElementsAre("17 8 SEND"));
  EXPECT_THAT(requests({read(5, 0, 3000), read(6, 1024, 1976), send(8)}),
              ElementsAre("17 5 RDMA_READ", "17 8 SEND"));
}

TEST(Capture, ReadThatGoesOnBehindALaterRequest_IsOneRequest) {
  EXPECT_THAT(requests({read(5, 0, 4096), send(9), read(7, 2048, 2048), send(9)}),
              ElementsAre("17 5 RDMA_READ", "17 9 SEND"));
}

TEST(Capture, PacketWithinAReadThatIsNotItsRest_IsOfAnotherConnection) {
  EXPECT_THAT(requests({read(5, 0, 4096), send(9), read(7, 2048, 1024)}),
              ElementsAre("17 5 RDMA_READ", "17 9 SEND", "16777215 7 RDMA_READ"));
  EXPECT_THAT(requests({read(5, 0, 4096), send(9), send(7)}),
              ElementsAre("17 5 RDMA_READ", "17 9 SEND", "16777215 7 SEND"));
}

TEST(Capture, ReadOfTheRestAtNoMtuOfThePath_IsARequestOfItsOwn) {
  const std::string first =
      frame(kSender, 0x06, 0x11, 3, reth(0, 0x1000, 4104) + std::string(4096, 'x'));
  const std::string last = frame(kSender, 0x08, 0x11, 4, std::string(8, 'x'));
  EXPECT_THAT(requests({first, last, ack(4), read(5, 0, 4096), read(6, 1024, 3072)}),
              ElementsAre("17 5 RDMA_READ", "17 6 RDMA_READ"));
}

TEST(Capture, ReadBehindOneWhoseAnswerIsWhole_IsARequestOfItsOwn) {
  EXPECT_THAT(requests({read(5, 0, 2048), read_response(0x10, 5, 2048), read(6, 1024, 1024)}),
              ElementsAre("17 6 RDMA_READ"));
}

// ---- FLUSH and ATOMIC WRITE
// -----------------------------------------------------------------------

std::string flush(std::uint32_t psn) {
  return frame(kSender, 0x1c, 0x11, psn, big(0x12, 4) + reth(64, 0x1000, 8));
}
std::string atomic_write(std::uint32_t psn) {
  return frame(kSender, 0x1d, 0x11, psn, reth(64, 0x1000, 8) + big(7, 8));
}

TEST(Capture, FlushAndAtomicWrite_AreRequestsWithTheirBytes) {
  const Capture capture = captured({flush(5), atomic_write(6)});
  ASSERT_EQ(capture.requests.size(), 2U);
  EXPECT_EQ(capture.requests[0].opcode, "IBV_WR_FLUSH");
  EXPECT_EQ(capture.requests[1].opcode, "IBV_WR_ATOMIC_WRITE");
  for (const CapturedRequest& one : capture.requests) {
    EXPECT_EQ(one.rkey, 0x1000U);
    EXPECT_EQ(one.remote_addr, 64U);
    EXPECT_EQ(one.length, 8U);
  }
}

TEST(Capture, FlushAndAtomicWrite_AreAnsweredByAnEmptyAnswerToAReadAndNoOther) {
  EXPECT_THAT(
      requests({flush(5), read_response(0x10, 5, 0), atomic_write(6), read_response(0x10, 6, 0)}),
      IsEmpty());
  EXPECT_THAT(requests({flush(5), atomic_write(6), send(7), ack(7)}),
              ElementsAre("17 5 FLUSH", "17 6 ATOMIC_WRITE", "17 7 SEND"));
}

TEST(CapturedDump, OfAFlush_SaysItsKeyAndBytes) {
  const std::string dump = dump_of(captured({flush(5)}), {"quiet", "polls", false});
  EXPECT_THAT(dump, HasSubstr(R"("rkey": 4096)"));
  EXPECT_THAT(dump, HasSubstr(R"("remote_addr": 64)"));
}

// ---- What was seen of a request
// -------------------------------------------------------------------

TEST(CapturedDump, OfASendWhosePacketsWereAllSeen_HasItsLength) {
  const std::string first = frame(kSender, 0x00, 0x11, 5, std::string(256, 'x'));
  const std::string last = frame(kSender, 0x02, 0x11, 6, std::string(44, 'x'));
  const auto dump = [](const std::vector<std::string>& frames) {
    return dump_of(captured(frames), {"quiet", "polls", false});
  };
  EXPECT_THAT(dump({first, last}), HasSubstr(R"("length": 300)"));
  EXPECT_THAT(dump({first}), ::testing::Not(HasSubstr("length")));
}

TEST(Capture, GapThatWasAnswered_IsNoCompletedRequest) {
  const Capture capture = captured({send(5), send(8), ack(8), send(9)});
  EXPECT_EQ(capture.answered_before, 2U);
  EXPECT_EQ(capture.unseen_before, 1U);
}

}  // namespace
}  // namespace portcullis::tools::failover_check
