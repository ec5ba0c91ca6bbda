// SPDX-License-Identifier: BSD-3-Clause
//
// Frames against docs/wire.md: bytes at the offsets of that page, and every way in which bytes that
// come are no frame.
#include "wire/frame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace portcullis::wire {
namespace {

using testing::HasSubstr;

FrameBytes bytes_of(std::initializer_list<int> values) {
  FrameBytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

FrameBytes revoke_frame() {
  return make_frame(
      number(Op::LeaseRevoke), 0x1122334455667788,
      RevokeRequest{.id = 0x0102030405060708, .epoch = 0x1112131415161718, .plan = Plan::NakFirst});
}

void set(FrameBytes& frame, std::size_t at, int value) {
  frame[at] = static_cast<std::byte>(value);
}

TEST(Frame, LeaseRevoke_IsAsThePageSays) {
  EXPECT_EQ(revoke_frame(), bytes_of({0x28, 0,    0,    0,    0x0a, 0x02, 1,    0,     //
                                      0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,  //
                                      0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,  //
                                      0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  //
                                      2,    0,    0,    0,    0,    0,    0,    0}));
}

TEST(Frame, AnswerToARevoke_OutcomeAtByte28OfItsBody) {
  const auto frame = make_frame(answer_to(Op::LeaseRevoke), 1,
                                RevokeAnswer{.failed_mask = 0x04030201,
                                             .outcome = Outcome::Fenced,
                                             .memory = Memory::Unmap,
                                             .cause = Cause::Operator});
  const auto end = FrameBytes(frame.begin() + 16 + 24, frame.end());
  EXPECT_EQ(end, bytes_of({1, 2, 3, 4, 1, 3, 2, 0}));
}

TEST(Frame, AnswerToAChallenge_NonceStandsAsItIsToBeWritten) {
  const auto frame = make_frame(
      answer_to(Op::LeaseChallenge), 1,
      ChallengeAnswer{
          .nonce = {1, 2, 3, 4, 5, 6, 7, 8}, .left_ms = 0x0102, .challenge = Challenge::Open});
  EXPECT_EQ(FrameBytes(frame.begin() + 16, frame.end()),
            bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Frame, WhatWasMade_IsReadAgain) {
  const auto bytes = revoke_frame();
  const auto frame = read_frame(bytes);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header.request_id, 0x1122334455667788u);
  const auto body = read_body<RevokeRequest>(*frame);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->id, 0x0102030405060708u);
  EXPECT_EQ(body->epoch, 0x1112131415161718u);
  EXPECT_EQ(body->plan, Plan::NakFirst);
}

TEST(Frame, EveryReservedByteThatIsNotZero_Refused) {
  for (std::size_t at = 16 + 17; at < 40; ++at) {
    auto bytes = revoke_frame();
    set(bytes, at, 0x80);
    const auto body = read_body<RevokeRequest>(*read_frame(bytes));
    ASSERT_FALSE(body) << at;
    EXPECT_EQ(body.error().code, Code::Malformed);
    EXPECT_EQ(text_of(body.error().text), "LEASE_REVOKE: a reserved byte is not 0");
  }
}

TEST(Frame, EveryShorterMessage_Refused) {
  const auto bytes = revoke_frame();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto frame = read_frame(std::span(bytes).first(length));
    ASSERT_FALSE(frame) << length;
    EXPECT_EQ(frame.error().code, Code::Malformed);
  }
}

TEST(Frame, BytesBehindTheBody_Refused) {
  auto bytes = revoke_frame();
  bytes.push_back(std::byte{0});
  EXPECT_EQ(text_of(read_frame(bytes).error().text), "length 40 in a message of 41 bytes");
  set(bytes, 0, 41);
  const auto body = read_body<RevokeRequest>(*read_frame(bytes));
  ASSERT_FALSE(body);
  EXPECT_EQ(text_of(body.error().text), "LEASE_REVOKE: a body of 25 bytes; 24 are accepted");
  EXPECT_EQ(body.error().op, 0x020a);
}

TEST(Frame, AnotherVersion_RefusedByItsNumber) {
  auto bytes = revoke_frame();
  set(bytes, 6, 2);
  const auto frame = read_frame(bytes);
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().code, Code::UnknownVersion);
  EXPECT_EQ(text_of(frame.error().text), "version 2; 1 is accepted");
}

TEST(Frame, OpNobodyKnows_IsNamedByItsNumber) {
  auto bytes = revoke_frame();
  set(bytes, 4, 0x99);
  const auto body = read_body<HelloRequest>(*read_frame(bytes));
  ASSERT_FALSE(body);
  EXPECT_EQ(text_of(body.error().text), "op 0x0299: a body of 24 bytes; 40 are accepted");
}

TEST(FrameReader, BytesOneAtATime_TheSameFrames) {
  auto stream = revoke_frame();
  const auto second = make_frame(number(Op::Status), 7, StatusRequest{});
  stream.insert(stream.end(), second.begin(), second.end());
  FrameReader reader;
  std::vector<std::uint16_t> ops;
  for (const std::byte each : stream) {
    reader.push(std::span(&each, 1));
    const auto frame = reader.next();
    ops.insert(
        ops.end(), frame ? 1 : 0,
        read_frame(frame.value_or(std::span<const std::byte>())).value_or(Frame{}).header.op);
  }
  EXPECT_EQ(ops, (std::vector<std::uint16_t>{number(Op::LeaseRevoke), number(Op::Status)}));
  EXPECT_TRUE(reader.rest().empty());
}

TEST(FrameReader, SeveralFramesAtOnce_OneAfterTheOther) {
  auto stream = revoke_frame();
  stream.insert(stream.end(), stream.begin(), stream.begin() + 40);
  stream.resize(stream.size() + 3, std::byte{1});
  FrameReader reader;
  reader.push(stream);
  EXPECT_TRUE(read_frame(reader.next().value()));
  EXPECT_TRUE(read_frame(reader.next().value()));
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.rest().size(), 3u);
}

TEST(FrameReader, LengthNoFrameHas_EndsTheStream) {
  for (const auto& length :
       {bytes_of({15, 0, 0, 0}), bytes_of({1, 0x10, 0, 0}), bytes_of({0xff, 0xff, 0xff, 0xff})}) {
    auto stream = revoke_frame();
    std::copy(length.begin(), length.end(), stream.begin());
    FrameReader reader;
    reader.push(stream);
    const auto refused = read_frame(reader.next().value());
    ASSERT_FALSE(refused);
    EXPECT_THAT(text_of(refused.error().text), HasSubstr("16 to 4096"));
    reader.push(revoke_frame());
    EXPECT_FALSE(reader.next());
  }
}

TEST(List, Rows_AreReadAgain) {
  const std::vector<LeaseRow> rows{{.id = 1, .tenant = 9, .state = State::Fenced},
                                   {.id = 2, .left_ms = 77, .cause = Cause::Expired}};
  const auto bytes = make_list(5, 42, rows);
  const auto list = read_list(*read_frame(bytes));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->next_cursor, 42u);
  ASSERT_EQ(list->rows.size(), 2u);
  EXPECT_EQ(list->rows[0].state, State::Fenced);
  EXPECT_EQ(list->rows[1].left_ms, 77u);
  EXPECT_EQ(list->rows[1].cause, Cause::Expired);
}

TEST(List, CountThatLies_Refused) {
  for (const int count : {0, 1, 3, 255}) {
    auto bytes = make_list(5, 42, std::vector<LeaseRow>(2));
    set(bytes, 16 + 8, count);
    set(bytes, 16 + 11, count == 255 ? 255 : 0);
    EXPECT_FALSE(read_list(*read_frame(bytes))) << count;
  }
}

TEST(History, Rows_AreReadAgain) {
  const std::vector<HistoryRow> rows{
      {.id = 1, .granted_unix_ms = 5, .ended_unix_ms = 9, .outcome = Outcome::Fenced}, {.id = 2}};
  const auto bytes = make_history(5, {.from_unix_ms = 3, .has_more = 1}, rows);
  const auto history = read_history(*read_frame(bytes));
  ASSERT_TRUE(history);
  EXPECT_EQ(history->from_unix_ms, 3u);
  EXPECT_TRUE(history->has_more);
  ASSERT_EQ(history->rows.size(), 2u);
  EXPECT_EQ(history->rows[0].ended_unix_ms, 9u);
  EXPECT_EQ(history->rows[0].outcome, Outcome::Fenced);
  EXPECT_EQ(history->rows[1].id, 2u);
}

TEST(History, ReservedByteOfARow_Refused) {
  auto bytes = make_history(5, {}, std::vector<HistoryRow>(1));
  set(bytes, 16 + 16 + 55, 1);
  EXPECT_FALSE(read_history(*read_frame(bytes)));
}

TEST(Text, LongerThanItsPlace_IsCut) {
  ByteArray<4> place{9, 9, 9, 9};
  put_text(place, "abcdef");
  EXPECT_EQ(text_of(place), "abcd");
  put_text(place, "x");
  EXPECT_EQ(place, (ByteArray<4>{'x', 0, 0, 0}));
}

TEST(Text, BytesThatAreNoText_AreShownAsQuestionMarks) {
  EXPECT_EQ(text_of(ByteArray<5>{'a', 0x1b, 0xff, '\n', 0}), "a???");
}

TEST(Names, EveryOpHasOne_AndOthersHaveNone) {
  EXPECT_EQ(name(Op::LeaseRevoke), "LEASE_REVOKE");
  EXPECT_TRUE(is_known_op(0x020a));
  EXPECT_FALSE(is_known_op(0x0299));
  EXPECT_FALSE(is_known_op(0x820a));
  EXPECT_EQ(name(Op::LeaseChallenge), "LEASE_CHALLENGE");
  EXPECT_EQ(name(Cause::Challenge), "challenge");
  EXPECT_EQ(name(Challenge::Met), "met");
  EXPECT_TRUE(is_known(Plan::AccessFlags));
  EXPECT_FALSE(is_known(static_cast<Plan>(6)));
}

}  // namespace
}  // namespace portcullis::wire
