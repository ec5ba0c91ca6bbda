// SPDX-License-Identifier: BSD-3-Clause
//
// What is told by the words in memory alone: late packets, requests that were posted later, and
// words of nobody. The memory here is the test's own, and so is every word that lands in it.
#include "proof/stream_look.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/dma_bytes.hpp"
#include "proof/client.hpp"
#include "proof/session.hpp"

namespace portcullis::proof {
namespace {

constexpr std::uint32_t kTag = 7;
constexpr std::uint64_t kPiece = Stream::kPieceBytes;

/// A stream that has posted a ring's worth to nobody.
struct StreamLooks : ::testing::Test {
  void SetUp() override {
    ASSERT_TRUE(client->write_stream());
    client->start({.bytes = bytes, .tag = kTag}, 0, 1);
    ASSERT_TRUE(client->pump());
    look.emplace(*client->stream(), bytes);
  }

  const Stream& stream() const { return *client->stream(); }
  void land(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t at = from; at < to; at += Stream::kWordBytes) put(at, stream().word(at));
  }
  void put(std::uint64_t at, StreamWord word) {
    dma_poke_u64(bytes.data() + at % Stream::kRingBytes, word.value());
  }

  std::unique_ptr<Session> session =
      Session::open(attach::parse_device("model,execution=stepped").value()).value();
  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(Stream::kRegionBytes / 8);
  std::span<std::byte> bytes = std::as_writable_bytes(std::span(memory));
  std::optional<Client> client = Client::create(session->context()).value();
  std::optional<StreamLook> look;
};

TEST_F(StreamLooks, RingIsPostedWhole) {
  EXPECT_EQ(stream().posted(), Stream::kRingBytes);
  EXPECT_GT(stream().read_posted(), 0u);
  look->at_command();
  EXPECT_EQ(look->in_flight_at_command(), Stream::kRingBytes);
  EXPECT_EQ(look->reads_at_command(), stream().read_posted());
}

TEST_F(StreamLooks, WhatLandedByTheAnswer_IsNotLate) {
  land(0, 3 * kPiece);
  look->at_command();
  land(3 * kPiece, 8 * kPiece);
  look->follow();
  look->at_answer(StreamLook::First::Writes);
  EXPECT_EQ(look->in_flight_at_command(), Stream::kRingBytes - 3 * kPiece);
  EXPECT_EQ(look->landed_by_answer(), 5 * kPiece);
  EXPECT_EQ(look->in_flight_at_answer(), Stream::kRingBytes - 8 * kPiece);
  const StreamLook::Found found = look->judge();
  EXPECT_EQ(found.late + found.posted_after + found.foreign, 0u);
}

TEST_F(StreamLooks, WhatLandedBehindTheAnswer_IsLate_WhereverItIs) {
  land(0, 3 * kPiece);
  look->at_command();
  look->at_answer(StreamLook::First::Reads);
  land(3 * kPiece, 4 * kPiece);
  land(Stream::kRingBytes - kPiece, Stream::kRingBytes);
  EXPECT_EQ(look->judge().late, 2 * kPiece);
}

TEST_F(StreamLooks, NumberThatWasPostedBehindTheAnswer_TellsByItself) {
  land(0, Stream::kRingBytes);
  look->at_answer(StreamLook::First::Writes);
  put(5 * kPiece, stream().word(Stream::kRingBytes + 5 * kPiece));
  const StreamLook::Found found = look->judge();
  EXPECT_EQ(found.posted_after, 1u);
  EXPECT_EQ(found.late + found.foreign, 0u);
}

TEST_F(StreamLooks, WordOfAnotherLeaseOrOfAnotherPlace_IsForeign) {
  look->at_answer(StreamLook::First::Writes);
  put(0, {kTag - 1, 0});
  put(kPiece, stream().word(2 * kPiece));
  EXPECT_EQ(look->judge().foreign, 2u);
}

TEST_F(StreamLooks, PagesThatAreRead_ChangeAtTheCommandAndAtTheAnswer) {
  const std::byte* const page = bytes.data() + Stream::kRingBytes;
  look->at_command();
  EXPECT_EQ(StreamWord::of(dma_peek_u64(page)).number, Stream::kDuring + 1);
  look->at_answer(StreamLook::First::Writes);
  EXPECT_EQ(StreamWord::of(dma_peek_u64(page)).number, Stream::kAfter);
  EXPECT_EQ(stream().bytes_read(Stream::kAfter), 0u);
}

/// A stream of one page: several WRITEs of one place are under way.
struct StreamLooksAtOnePage : ::testing::Test {
  void SetUp() override {
    stream->begin({0, {}, Stream::kOnlyReadsEach + 1});
    ASSERT_TRUE(stream->post(qp, 0));
    ASSERT_GE(stream->posted(), 2 * Stream::kPageBytes);
  }

  void land(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t at = from; at < to; at += Stream::kWordBytes)
      dma_poke_u64(bytes.data() + at % Stream::kPageBytes, stream->word(at).value());
  }

  std::unique_ptr<Session> session =
      Session::open(attach::parse_device("model,execution=stepped").value()).value();
  const pmd::Context& context = session->context();
  pmd::ProtectionDomain pd = pmd::ProtectionDomain::create(context).value();
  pmd::CompletionQueue cq = pmd::CompletionQueue::create(context, Client::kLogSendQueue).value();
  pmd::QueuePair qp =
      pmd::QueuePair::create(context, pd, cq, *context.uar, {.log_sq_size = Client::kLogSendQueue})
          .value();
  std::unique_ptr<Stream> stream = Stream::create(context, pd).value();
  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(Stream::kRegionBytes / 8);
  std::span<std::byte> bytes = std::as_writable_bytes(std::span(memory));
  StreamLook look{*stream, bytes};
};

TEST_F(StreamLooksAtOnePage, WriteBeforeTheLastOfItsPlace_CountsAsLandedByTheAnswer) {
  look.at_command();
  land(0, 3 * kPiece);
  look.at_answer(StreamLook::First::Writes);
  EXPECT_EQ(look.in_flight_at_command(), Stream::kPageBytes);
  EXPECT_EQ(look.landed_by_answer(), 3 * kPiece);
  EXPECT_EQ(look.judge().late, 0u);
}

TEST_F(StreamLooksAtOnePage, WriteBeforeTheLastOfItsPlace_IsLateBehindTheAnswer) {
  look.at_command();
  land(0, kPiece);
  look.at_answer(StreamLook::First::Writes);
  land(kPiece, 3 * kPiece);
  EXPECT_EQ(look.judge().late, 2 * kPiece);
}

}  // namespace
}  // namespace portcullis::proof
