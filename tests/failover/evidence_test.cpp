// SPDX-License-Identifier: BSD-3-Clause
//
// What was found at the receiver: how far each queue pair can have come, held against every prefix
// that it can have executed; what that does to advice; and what cannot be so.
#include "failover/classify/evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "failover/classify/dump.hpp"
#include "failover/semantics/label.hpp"
#include "tests/failover/second_opinion.hpp"

namespace portcullis::failover {
namespace {

using namespace testing::opinion;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- Prefixes of a queue pair
// ----------------------------------------------------------------

/// How many packets of each request a QP executed: every prefix that its completions allow.
std::vector<std::vector<unsigned>> prefixes_of(const Dump& dump) {
  std::vector<std::vector<unsigned>> all;
  unsigned total = 0;
  for (const OutstandingRequest& r : dump) total += op_of(r).cells;
  for (unsigned packets = 0; packets <= total; ++packets) {
    std::vector<unsigned> done;
    unsigned left = packets;
    bool is_possible = true;
    for (const OutstandingRequest& r : dump) {
      const unsigned mine = std::min(left, op_of(r).cells);
      left -= mine;
      done.push_back(mine);
      is_possible = is_possible && (!op_of(r).is_completed || mine == op_of(r).cells);
    }
    if (is_possible) all.push_back(done);
  }
  return all;
}

Part part_of(unsigned done, unsigned cells) {
  if (done == 0) return Part::Nothing;
  return done == cells ? Part::All : Part::Some;
}

/// The least and the most of each request over the prefixes that `look` agrees with; empty where
/// there is none.
std::vector<std::pair<Part, Part>> parts_by_prefix(const Dump& dump, const testing::Look& look) {
  std::vector<std::pair<Part, Part>> parts;
  for (const auto& done : prefixes_of(dump)) {
    if (!look(done, {})) continue;
    if (parts.empty()) parts.assign(dump.size(), {Part::All, Part::Nothing});
    for (std::size_t i = 0; i < dump.size(); ++i) {
      const Part part = part_of(done[i], op_of(dump[i]).cells);
      parts[i] = {std::min(parts[i].first, part), std::max(parts[i].second, part)};
    }
  }
  return parts;
}
/// The same as weigh() has it; nothing is told of what completed.
std::vector<std::pair<Part, Part>> parts_by_us(const Dump& given, const QueuePairEvidence& found,
                                               const std::vector<std::optional<bool>>& applied) {
  Dump dump = given;
  if (weigh(dump, {found}, applied)) return {};
  std::vector<std::pair<Part, Part>> parts;
  for (const OutstandingRequest& r : dump) {
    const bool is_completed = r.outcome == Outcome::Completed;
    parts.emplace_back(is_completed ? Part::All : r.evidence.least, r.evidence.most);
  }
  return parts;
}

constexpr std::uint32_t kFirstPsn = kPsnCount - 2;  // PSNs begin again within a dump

std::vector<Dump> dumps_of_three() {
  std::vector<Dump> all;
  const OutstandingRequest few[] = {request(Opcode::Write, 0, 2), request(Opcode::Send, 0),
                                    request(Opcode::WriteWithImm, 0, 2),
                                    request(Opcode::FetchAdd, 0, 1, 1), request(Opcode::Read, 0)};
  for (const OutstandingRequest& a : few)
    for (const OutstandingRequest& b : few)
      for (const OutstandingRequest& c : few)
        for (const Completion& of_a : {kUnknown, kCompleted})
          all.push_back(
              numbered({with(a, of_a, 1, {}), with(b, kUnknown, 1, {}), with(c, kUnknown, 1, {})},
                       kFirstPsn));
  return all;
}

TEST(Weigh, Receives_AreThoseOfEveryPrefixThatHasSoMany) {
  for (const Dump& dump : dumps_of_three())
    for (std::uint64_t count = 0; count <= 4; ++count)
      EXPECT_EQ(parts_by_us(dump, {1, false, count, std::nullopt, std::nullopt}, {{}, {}, {}}),
                parts_by_prefix(dump, received(dump, 1, count)))
          << text_of(dump) << count;
}

TEST(Weigh, ExpectedPsn_IsThatOfEveryPrefixOfSoManyPackets) {
  for (const Dump& dump : dumps_of_three())
    for (std::uint32_t packets = 0; packets <= 8; ++packets) {
      const std::uint32_t psn = (kFirstPsn + packets) % kPsnCount;
      EXPECT_EQ(parts_by_us(dump, {1, false, std::nullopt, psn, 256}, {{}, {}, {}}),
                parts_by_prefix(dump, executed(dump, 1, packets)))
          << text_of(dump) << packets;
    }
}

TEST(Weigh, ExpectedPsnBeforeTheFirstRequest_CannotBe) {
  Dump dump = dumps_of_three().front();
  const auto misfit =
      weigh(dump, {{1, false, std::nullopt, kFirstPsn - 1, std::nullopt}}, {{}, {}, {}});
  ASSERT_TRUE(misfit.has_value());
  EXPECT_EQ(misfit->field, "expected_psn");
}

TEST(Weigh, ExpectedPsnWithoutAnMtu_LeavesOpenWhetherALongWriteIsWhole) {
  Dump dump = numbered({with(request(Opcode::Write, 0, 2), kUnknown, 1, {})}, 7);
  EXPECT_FALSE(weigh(dump, {{1, false, std::nullopt, 8, std::nullopt}}, {{}}).has_value());
  EXPECT_EQ(dump[0].evidence.least, Part::Some);
  EXPECT_EQ(dump[0].evidence.most, Part::All);
}

TEST(Weigh, LogOfTwoRequests_IsThatOfEveryPrefixThatHasThem) {
  using Said = std::optional<bool>;
  for (const Dump& dump : dumps_of_three())
    for (const Said first : {Said(), Said(true), Said(false)})
      for (const Said third : {Said(), Said(true), Said(false)})
        EXPECT_EQ(parts_by_us(dump, {1, false, {}, {}, {}}, {first, {}, third}),
                  parts_by_prefix(dump,
                                  [&](const auto& done, const auto&) {
                                    const auto is_so = [&](std::size_t i, const Said& said) {
                                      return !said || *said == (done[i] == op_of(dump[i]).cells);
                                    };
                                    return is_so(0, first) && is_so(2, third);
                                  }))
            << text_of(dump);
}

TEST(Weigh, TwoPiecesThatDisagree_AreBlamedOnTheSecond) {
  Dump dump = numbered({with(request(Opcode::Send, 0), kUnknown, 1, {}),
                        with(request(Opcode::Send, 0), kUnknown, 1, {})},
                       5);
  const auto misfit = weigh(dump, {{1, false, 1, 7, std::nullopt}}, {{}, {}});
  ASSERT_TRUE(misfit.has_value());
  EXPECT_EQ(misfit->field, "expected_psn");
}

TEST(Weigh, OneQueuePair_SaysNothingOfAnother) {
  Dump dump = {with(request(Opcode::Send, 0), kUnknown, 1, {}),
               with(request(Opcode::Send, 0), kUnknown, 2, {})};
  EXPECT_FALSE(weigh(dump, {{1, true, 1, {}, {}}}, {{}, {}}).has_value());
  EXPECT_TRUE(dump[0].evidence.is_queue_fenced);
  EXPECT_FALSE(dump[1].evidence.is_any());
}

TEST(Weigh, DumpWhoseCompletionsContradictEachOther_GetsNoFurtherBlame) {
  Dump dump = {with(request(Opcode::Send, 0), {Outcome::Refused, "REM_ACCESS_ERR"}, 1, {}),
               with(request(Opcode::Send, 0), kCompleted, 1, {})};
  EXPECT_FALSE(weigh(dump, {{1, false, 0, {}, {}}}, {{}, {}}).has_value());
  EXPECT_FALSE(dump[0].evidence.is_of_execution());
}

// ---- Advice
// ----------------------------------------------------------------

/// One request on QP 17 at an 8-byte word, with what is said of it and of its QP.
std::string dump_of(const std::string& opcode, const std::string& request,
                    const std::string& queue_pair, const std::string& region = "") {
  return R"({"regions": [{"rkey": 16, "environment": "quiet")" + region + R"(}],
  "work_requests": [
    {"wr_id": 7, "opcode": "IBV_WR_)" +
         opcode + R"(", "rkey": 16, "remote_addr": 64, "length": 8, "qp_num": 17,
     "compare_add": 5, "swap": 9, "status": "IBV_WC_RETRY_EXC_ERR")" +
         request + R"(}],
  "queue_pairs": [{"qp_num": 17)" +
         queue_pair + "}]}";
}
Classification advice_of(const std::string& json) {
  return classify(read_dump(json, "d").value()).value()[0];
}
constexpr const char* kFenced = R"(, "fenced": true)";

TEST(Evidence, SendThatConsumedNoReceiveOnAFencedQp_IsReposted) {
  const auto advice = advice_of(dump_of("SEND", "", R"(, "fenced": true, "receives": 0)"));
  EXPECT_EQ(advice.advice, Advice::Repost);
  EXPECT_EQ(advice.reason, "explored with the evidence: no run shows that it was posted twice");
  ASSERT_EQ(advice.conditions.size(), 2U);
  EXPECT_EQ(advice.conditions[0].kind, Requirement::Kind::SourceUnchanged);
  EXPECT_EQ(advice.conditions[1].kind, Requirement::Kind::EvidenceIsLast);
  EXPECT_THAT(advice.conditions[1].requests, ElementsAre(0U));
}

TEST(Evidence, SendThatConsumedNoReceiveYet_WaitsForAFenceOfItsQueuePair) {
  const auto advice = advice_of(dump_of("SEND", "", R"(, "receives": 0)"));
  EXPECT_EQ(advice.advice, Advice::OnlyIf);
  EXPECT_EQ(advice.one_of, (std::vector<std::vector<Proviso>>{{Proviso::QueuePairFenced}}));
  EXPECT_EQ(advice.trace.value().violation, Violation::DuplicateNotification);
}

TEST(Evidence, SendThatConsumedAReceive_IsNeverReposted) {
  EXPECT_EQ(advice_of(dump_of("SEND", "", R"(, "fenced": true, "receives": 1)")).advice,
            Advice::Never);
}

TEST(Evidence, FencedQueuePairAlone_MakesNoSendRepostable) {
  EXPECT_EQ(advice_of(dump_of("SEND", "", kFenced)).advice, Advice::Never);
}

TEST(Evidence, FaddBeforeTheExpectedPsn_IsNeverReposted) {
  const auto advice = advice_of(
      dump_of("ATOMIC_FETCH_AND_ADD", R"(, "psn": 3)", R"(, "fenced": true, "expected_psn": 4)"));
  EXPECT_EQ(advice.advice, Advice::Never);
}

TEST(Evidence, FencedFaddThatTheExpectedPsnStandsAt_IsReposted) {
  EXPECT_EQ(advice_of(dump_of("ATOMIC_FETCH_AND_ADD", R"(, "psn": 3)",
                              R"(, "fenced": true, "expected_psn": 3)"))
                .advice,
            Advice::Repost);
}

TEST(Evidence, UnfencedFaddThatTheExpectedPsnStandsAt_WaitsForAFence) {
  EXPECT_EQ(
      advice_of(dump_of("ATOMIC_FETCH_AND_ADD", R"(, "psn": 3)", R"(, "expected_psn": 3)")).one_of,
      (std::vector<std::vector<Proviso>>{{Proviso::FenceDone}}));
}

TEST(Evidence, FaddThatTheLogHasNot_IsRepostedBehindAFence) {
  const std::string not_applied = R"(, "evidence": {"applied": false})";
  EXPECT_EQ(advice_of(dump_of("ATOMIC_FETCH_AND_ADD", not_applied, kFenced)).advice,
            Advice::Repost);
  EXPECT_EQ(
      advice_of(dump_of("ATOMIC_FETCH_AND_ADD", R"(, "evidence": {"applied": true})", kFenced))
          .advice,
      Advice::Never);
}

TEST(Evidence, FaddWhoseWordIsAsBefore_IsRepostedBehindAFence) {
  const std::string as_before = R"(, "evidence": {"word": 100, "word_before": 100})";
  EXPECT_EQ(advice_of(dump_of("ATOMIC_FETCH_AND_ADD", as_before, kFenced)).advice, Advice::Repost);
}

TEST(Evidence, FaddWhoseWordWasAddedTo_IsNeverReposted) {
  const std::string added = R"(, "evidence": {"word": 105, "word_before": 100})";
  EXPECT_EQ(advice_of(dump_of("ATOMIC_FETCH_AND_ADD", added, kFenced)).advice, Advice::Never);
}

TEST(Evidence, WordOfWhichNobodyKnowsWhatItWas_TellsNothingOfAnFadd) {
  const std::string alone = R"(, "evidence": {"word": 105})";
  EXPECT_EQ(advice_of(dump_of("ATOMIC_FETCH_AND_ADD", alone, kFenced)).advice, Advice::Never);
}

TEST(Evidence, WordThatOthersMayHaveBroughtBack_DoesNotMakeAnFaddRepostable) {
  std::string others = dump_of("ATOMIC_FETCH_AND_ADD",
                               R"(, "evidence": {"word": 100, "word_before": 100})", kFenced);
  others.replace(others.find("quiet"), 5, "aba");
  EXPECT_NE(advice_of(others).advice, Advice::Repost);
}

TEST(Evidence, CasWhoseWordIsStillTheExpectedOne_IsReposted) {
  const std::string still = R"(, "evidence": {"word": 5})";
  EXPECT_EQ(advice_of(dump_of("ATOMIC_CMP_AND_SWP", still, kFenced)).advice, Advice::Repost);
}

TEST(Evidence, TargetThatHoldsTheSource_IsNoSignThatTheWriteWasExecuted) {
  const std::string polled = R"(, "consumer": "polls")";
  const std::string holds = R"(, "evidence": {"holds_source": true})";
  EXPECT_EQ(advice_of(dump_of("RDMA_WRITE", holds, "", polled)).one_of,
            (std::vector<std::vector<Proviso>>{{Proviso::FenceDone}, {Proviso::NothingLater}}));
}

/// Read back behind the fence: the newer WRITE of the same sender has not arrived.
TEST(Evidence, OlderOfTwoFencedWrites_IsRepostedWhereTheNewerNeverArrived) {
  const std::string two = R"({"regions": [{"rkey": 16, "environment": "quiet", "fenced": true}],
    "work_requests": [
     {"wr_id": 1, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 16, "remote_addr": 0, "length": 8,
      "qp_num": 1, "status": "IBV_WC_RETRY_EXC_ERR", "psn": 3},
     {"wr_id": 2, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 16, "remote_addr": 0, "length": 8,
      "qp_num": 1, "status": "IBV_WC_WR_FLUSH_ERR", "psn": 4}],
    "queue_pairs": [{"qp_num": 1, "expected_psn": 3}]})";
  const auto advice = classify(read_dump(two, "d").value()).value();
  EXPECT_EQ(advice[0].advice, Advice::Repost);
  EXPECT_EQ(advice[1].advice, Advice::Repost);
}

TEST(Evidence, AlikeRequestsOfWhichOneWasExecuted_GetEachItsOwnAdvice) {
  Dump dump = numbered({with(request(Opcode::Send, 0), kUnknown, 1, {}),
                        with(request(Opcode::Send, 0), kUnknown, 1, {})},
                       0);
  ASSERT_FALSE(weigh(dump, {{1, true, 1, {}, {}}}, {{}, {}}).has_value());
  const auto advice = classify(dump).value();
  EXPECT_EQ(advice[0].advice, Advice::Never);
  EXPECT_EQ(advice[1].advice, Advice::Repost);
}

// ---- What cannot be so
// ----------------------------------------------------------------

TEST(Evidence, WordThatNoRunLeaves_IsRefusedWithLineAndField) {
  const std::string never = R"(, "evidence": {"word": 7, "word_before": 100})";
  const auto dump = read_dump(dump_of("ATOMIC_FETCH_AND_ADD", never, kFenced), "d").value();
  EXPECT_EQ(classify(dump).error().text,
            "d:4: work_requests[0].evidence: no run of work_requests[0] leaves this in memory; "
            "what some run leaves is accepted");
}

TEST(Evidence, WriteInPlaceThatTheTargetDoesNotHold_IsRefused) {
  const std::string gone = R"(, "psn": 3, "evidence": {"applied": true, "holds_source": false})";
  const auto dump = read_dump(dump_of("RDMA_WRITE", gone, kFenced), "d").value();
  EXPECT_THAT(classify(dump).error().text, HasSubstr("d:4: work_requests[0].evidence: no run of "));
}

struct BadEvidence {
  const char* name;
  const char* opcode;
  const char* request;
  const char* queue_pair;
  const char* refusal;
};

class BadEvidenceOfADump : public ::testing::TestWithParam<BadEvidence> {};

TEST_P(BadEvidenceOfADump, IsRefusedWithLineAndField) {
  const auto dump =
      read_dump(dump_of(GetParam().opcode, GetParam().request, GetParam().queue_pair), "d");
  ASSERT_FALSE(dump.has_value());
  EXPECT_THAT(dump.error().text, HasSubstr(GetParam().refusal));
}

INSTANTIATE_TEST_SUITE_P(
    Dump, BadEvidenceOfADump,
    ::testing::Values(
        BadEvidence{"MoreReceivesThanMessages", "SEND", "", R"(, "receives": 2)",
                    "d:5: queue_pairs[0].receives: 2; a whole number from 0 to 1, as the requests "
                    "of the QP are, is accepted"},
        BadEvidence{"ReceiveThatTheLogHasNot", "SEND", R"(, "evidence": {"applied": false})",
                    R"(, "receives": 1)",
                    "d:5: queue_pairs[0].receives: 1; a whole number from 0 to 0, "},
        BadEvidence{"PsnBeyondTheLast", "SEND", R"(, "psn": 3)", R"(, "expected_psn": 5)",
                    "d:5: queue_pairs[0].expected_psn: 5; a PSN of the QP's requests, "},
        BadEvidence{"NoPsn", "SEND", "", R"(, "expected_psn": 5)",
                    "d:3: work_requests[0]: no \"psn\"; one is needed"},
        BadEvidence{"QpOfNobody", "SEND", "", R"(}, {"qp_num": 18, "receives": 0)",
                    "d:5: queue_pairs[1].qp_num: 18; one that a work request has is accepted"},
        BadEvidence{"QpTwice", "SEND", "", R"(}, {"qp_num": 17)",
                    "d:5: queue_pairs[1].qp_num: 17; one that no earlier queue pair has"},
        BadEvidence{"OddMtu", "SEND", "", R"(, "path_mtu": 1500)",
                    "d:5: queue_pairs[0].path_mtu: 1500; one of 256, 512, 1024, 2048, 4096"},
        BadEvidence{"PsnBeyond24Bits", "SEND", R"(, "psn": 16777216)", "",
                    "d:4: work_requests[0].psn: 16777216; a whole number from 0 to 16777215"},
        BadEvidence{"WordOfAWrite", "RDMA_WRITE", R"(, "evidence": {"word": 1})", "",
                    "d:4: work_requests[0].evidence.word: only an atomic may have it"},
        BadEvidence{"SourceOfAnAtomic", "ATOMIC_FETCH_AND_ADD",
                    R"(, "evidence": {"holds_source": true})", "",
                    "d:4: work_requests[0].evidence.holds_source: only a WRITE of some bytes may"},
        BadEvidence{"AppliedRead", "RDMA_READ", R"(, "evidence": {"applied": true})", "",
                    "d:4: work_requests[0].evidence.applied: only what a receiver can log"},
        BadEvidence{"NumberForAFlag", "SEND", R"(, "evidence": {"applied": 1})", "",
                    "d:4: work_requests[0].evidence.applied: true or false expected"},
        BadEvidence{"UnknownField", "SEND", R"(, "evidence": {"seen": true})", "",
                    "d:4: work_requests[0].evidence.seen: no such field; accepted are applied, "},
        BadEvidence{"AnotherWordOfOneAddress", "ATOMIC_FETCH_AND_ADD",
                    R"(, "evidence": {"word": 1}}, {"wr_id": 8, "opcode":
      "IBV_WR_ATOMIC_FETCH_AND_ADD", "rkey": 16, "remote_addr": 64, "compare_add": 1,
      "evidence": {"word": 2})",
                    "",
                    "d:6: work_requests[1].evidence.word: 2; 1, as another request of this word"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace portcullis::failover
