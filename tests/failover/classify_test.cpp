// SPDX-License-Identifier: BSD-3-Clause
//
// Advice for outstanding work requests, and the dumps they come from.
#include "failover/classify/classify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <regex>
#include <sstream>

#include "failover/classify/dump.hpp"
#include "failover/classify/meeting.hpp"
#include "failover/classify/verbs_names.hpp"
#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Dump = std::vector<OutstandingRequest>;
using Lists = std::vector<std::vector<Proviso>>;

Classification advice_for(const OutstandingRequest& request) {
  return classify({request}).value()[0];
}

std::vector<Advice> advices(const Dump& dump) {
  std::vector<Advice> found;
  const std::vector<Classification> all = classify(dump).value();
  for (const Classification& c : all) found.push_back(c.advice);
  return found;
}

OutstandingRequest request(Opcode opcode, Environment environment) {
  OutstandingRequest made;
  made.opcode = opcode;
  made.remote_addr = 64;
  made.length = 8;
  made.compare_add = 1;
  made.swap = 9;
  made.contract.environment = environment;
  made.status_name = "RETRY_EXC_ERR";
  return made;
}

OutstandingRequest on_qp(std::uint32_t qp_num, OutstandingRequest made) {
  made.qp_num = qp_num;
  return made;
}
OutstandingRequest fenced(OutstandingRequest made) {
  made.contract.is_fenced = true;
  return made;
}
OutstandingRequest notified(OutstandingRequest made) {
  made.contract.consumer = Consumer::Notified;
  return made;
}
OutstandingRequest completed(OutstandingRequest made) {
  made.outcome = Outcome::Completed;
  made.status_name = "SUCCESS";
  return made;
}
OutstandingRequest at(std::uint64_t address, std::uint64_t length, OutstandingRequest made) {
  made.remote_addr = address;
  made.length = length;
  return made;
}

const OutstandingRequest quiet_write = request(Opcode::Write, Environment::Quiet);

// ---- One request
// ----------------------------------------------------------------------------------------

/// Each kind of request with what makes it another story, some kinds twice, far from each other.
Dump kinds_twice() {
  Dump dump;
  for (const unsigned round : {0U, 1U})
    for (const Opcode opcode :
         {Opcode::Read, Opcode::Write, Opcode::WriteWithImm, Opcode::FetchAdd, Opcode::CompareSwap})
      for (const Environment environment :
           {Environment::Quiet, Environment::Reuse, Environment::OtherWriters})
        for (const bool is_fenced : {false, true})
          for (const std::uint64_t add : {0U, 1U, 9U}) {
            OutstandingRequest one = request(opcode, environment);
            one.contract.is_fenced = is_fenced;
            one.compare_add = add;
            one.remote_addr = 4096 * dump.size();
            one.length = add == 9 && round == 0 && opcode == Opcode::Write ? 600 : 8;
            dump.push_back(one);
          }
  return dump;
}

TEST(Classify, RequestsThatMeetNobody_GetTheAdviceOfEachAlone) {
  const Dump dump = kinds_twice();
  const auto together = classify(dump).value();
  for (std::size_t i = 0; i < dump.size(); ++i) {
    const Classification alone = advice_for(dump[i]);
    EXPECT_EQ(together[i].advice, alone.advice) << i;
    EXPECT_EQ(together[i].one_of, alone.one_of) << i;
    EXPECT_EQ(together[i].reason, alone.reason) << i;
    EXPECT_EQ(together[i].trace.has_value(), alone.trace.has_value()) << i;
  }
}

TEST(Classify, RunOfTheSecondOfTwoAlikeRequests_NamesTheSecond) {
  const OutstandingRequest add = request(Opcode::FetchAdd, Environment::Quiet);
  const auto advice = classify({add, at(128, 8, add)}).value();
  const auto first_step = [](const Classification& c) {
    return describe(*c.machine, c.trace->steps.front().label);
  };
  EXPECT_EQ(first_step(advice[0]), "client 0: post FADD[0]");
  EXPECT_EQ(first_step(advice[1]), "client 0: post FADD[1]");
}

TEST(Classify, Read_IsRepostedWhateverHappensAround) {
  EXPECT_EQ(advice_for(request(Opcode::Read, Environment::Aba)).advice, Advice::Repost);
}

TEST(Classify, WriteToAQuietTarget_WaitsForAFenceOrForItsSender) {
  EXPECT_EQ(advice_for(quiet_write).one_of, (Lists{{Proviso::FenceDone}, {Proviso::NothingLater}}));
}

TEST(Classify, FencedWriteToAQuietTarget_IsReposted) {
  EXPECT_EQ(advice_for(fenced(quiet_write)).advice, Advice::Repost);
}

TEST(Classify, WriteThatIsPolledAndReused_WaitsForAQuietTarget) {
  const auto advice = advice_for(fenced(request(Opcode::Write, Environment::Reuse)));
  EXPECT_EQ(advice.advice, Advice::OnlyIf);
  EXPECT_EQ(advice.one_of, (Lists{{Proviso::TargetQuiet}}));
  EXPECT_EQ(advice.trace.value().violation, Violation::GhostWrite);
}

TEST(Classify, WriteReadOnlyAfterANotification_WaitsForAFence) {
  const auto advice = advice_for(at(0, 8192, notified(request(Opcode::Write, Environment::Reuse))));
  EXPECT_EQ(advice.one_of,
            (Lists{{Proviso::FenceDone}, {Proviso::TargetQuiet, Proviso::NothingLater}}));
}

TEST(Classify, SameWriteAfterTheFence_IsReposted) {
  EXPECT_EQ(advice_for(fenced(notified(request(Opcode::Write, Environment::Reuse)))).advice,
            Advice::Repost);
}

TEST(Classify, Fadd_IsNeverRepostedNotEvenFenced) {
  const auto advice = advice_for(fenced(request(Opcode::FetchAdd, Environment::Quiet)));
  EXPECT_EQ(advice.advice, Advice::Never);
  EXPECT_THAT(advice.one_of, IsEmpty());
  EXPECT_FALSE(advice.trace.value().steps.empty());
}

TEST(Classify, FaddOfZero_IsReposted) {
  OutstandingRequest nothing = request(Opcode::FetchAdd, Environment::Aba);
  nothing.compare_add = 0;
  EXPECT_EQ(advice_for(nothing).advice, Advice::Repost);
}

TEST(Classify, FencedCasInAQuietPlace_IsAbsorbedButItsResultIsUnknown) {
  const auto advice = advice_for(fenced(request(Opcode::CompareSwap, Environment::Quiet)));
  EXPECT_EQ(advice.advice, Advice::Repost);
  ASSERT_EQ(advice.conditions.size(), 1U);
  EXPECT_EQ(advice.conditions[0].kind, Requirement::Kind::ResultUnknown);
}

TEST(Classify, FencedCasUnderAba_NeedsQuietOrUniqueTags) {
  EXPECT_EQ(advice_for(fenced(request(Opcode::CompareSwap, Environment::Aba))).one_of,
            (Lists{{Proviso::TargetQuiet}, {Proviso::TagUnique}}));
}

TEST(Classify, CasThatSwapsAWordForItself_IsRepostedAndItsAnswerKnown) {
  OutstandingRequest same = request(Opcode::CompareSwap, Environment::Aba);
  same.swap = same.compare_add;
  EXPECT_EQ(advice_for(same).advice, Advice::Repost);
  EXPECT_THAT(advice_for(same).conditions, IsEmpty());
}

TEST(Classify, AtomicAtNoMultipleOfEight_GetsNoAdvice) {
  const auto advice = advice_for(at(60, 8, request(Opcode::CompareSwap, Environment::Quiet)));
  EXPECT_EQ(advice.advice, Advice::NoAdvice);
  EXPECT_EQ(advice.reason, "0x3c is no multiple of 8: a responder refuses an atomic there");
}

TEST(Classify, Notifications_AreNeverReposted) {
  EXPECT_EQ(advice_for(request(Opcode::Send, Environment::Quiet)).advice, Advice::Never);
  const auto with_imm = advice_for(request(Opcode::WriteWithImm, Environment::Quiet));
  EXPECT_EQ(with_imm.advice, Advice::Never);
  EXPECT_EQ(
      advice_for(fenced(request(Opcode::WriteWithImm, Environment::Quiet))).trace.value().violation,
      Violation::DuplicateNotification);
}

TEST(Classify, WriteOfNoBytes_IsReposted) {
  EXPECT_EQ(advice_for(at(64, 0, quiet_write)).advice, Advice::Repost);
}

TEST(Classify, BytesBeyondTheLastAddress_GetNoAdvice) {
  const auto advice = advice_for(at(~std::uint64_t{0}, 64, quiet_write));
  EXPECT_EQ(advice.advice, Advice::NoAdvice);
  EXPECT_EQ(advice.reason, "its 64 bytes at 0xffffffffffffffff reach beyond 2^64");
}

TEST(Classify, RequestWithoutCompletion_TakesItsQueuePairForFailed) {
  OutstandingRequest open = fenced(quiet_write);
  open.status_name.clear();
  const auto advice = advice_for(open);
  EXPECT_EQ(advice.advice, Advice::Repost);
  ASSERT_EQ(advice.conditions.size(), 2U);
  EXPECT_EQ(advice.conditions[0].kind, Requirement::Kind::QueuePairFailed);
  EXPECT_EQ(advice.conditions[1].kind, Requirement::Kind::SourceUnchanged);
}

// ---- The sender's own requests
// ----------------------------------------------------------------------------------------

/// What the other one makes of the word, the repeated one returns.
TEST(Classify, CasThatSwapsAWordForItselfBesideOneThatDoesNot_LeavesItsResultUnknown) {
  OutstandingRequest same = fenced(request(Opcode::CompareSwap, Environment::Quiet));
  same.swap = same.compare_add;
  const auto advice =
      classify({on_qp(1, same), on_qp(2, fenced(request(Opcode::CompareSwap, Environment::Quiet)))})
          .value();
  EXPECT_EQ(advice[0].advice, Advice::Repost);
  EXPECT_THAT(advice[0].conditions,
              ::testing::Contains(Field(&Requirement::kind, Requirement::Kind::ResultUnknown)));
}

const OutstandingRequest read_among_others = request(Opcode::Read, Environment::OtherWriters);

TEST(Classify, ReadBeforeOneThatWasAnswered_WaitsForAQuietTarget) {
  const auto advice =
      classify({on_qp(1, read_among_others), on_qp(2, completed(read_among_others))}).value();
  EXPECT_EQ(advice[0].advice, Advice::OnlyIf);
  EXPECT_EQ(advice[0].one_of, (Lists{{Proviso::TargetQuiet}}));
  EXPECT_EQ(advice[0].trace.value().violation, Violation::Linearizability);
}

TEST(Classify, TwoReadsOfWhatOthersWrite_AreRepostedInTheirOrder) {
  const auto advice = classify({on_qp(1, read_among_others), on_qp(1, read_among_others)}).value();
  EXPECT_EQ(advice[0].advice, Advice::Repost);
  ASSERT_EQ(advice[0].conditions.size(), 1U);
  EXPECT_THAT(advice[0].conditions[0].requests, ElementsAre(0U, 1U));
}

TEST(Classify, MoreReadsThanAreExploredTogether_AreToldFromThoseThatWereAnswered) {
  Dump dump(5, on_qp(1, read_among_others));
  dump.insert(dump.begin() + 2, on_qp(2, completed(read_among_others)));
  const auto advice = classify(dump).value();
  EXPECT_EQ(advice[0].advice, Advice::OnlyIf);
  EXPECT_EQ(advice[1].advice, Advice::OnlyIf);
  EXPECT_EQ(advice[3].advice, Advice::Repost);
  EXPECT_THAT(advice[3].conditions[0].requests, ElementsAre(3U, 4U));
  EXPECT_THAT(advice[4].conditions[0].requests, ElementsAre(3U, 4U, 5U));
}

TEST(Classify, ReadThatMayMeetOneThatWasAnswered_GetsNoAdvice) {
  OutstandingRequest somewhere = read_among_others;
  somewhere.remote_addr.reset();
  const auto advice =
      classify({on_qp(1, somewhere), on_qp(2, completed(read_among_others))}).value();
  EXPECT_EQ(advice[0].advice, Advice::NoAdvice);
  EXPECT_THAT(advice[0].reason, HasSubstr("work_requests[0] and [1] touch the same memory"));
  EXPECT_EQ(classify({on_qp(1, read_among_others), on_qp(2, somewhere)}).value()[0].advice,
            Advice::Repost);
}

TEST(Classify, WriteAndALaterWriteOfTheSameSender_AreNotRepostedUnfenced) {
  const auto advice = advices({on_qp(1, quiet_write), on_qp(2, quiet_write)});
  EXPECT_THAT(advice, ElementsAre(Advice::OnlyIf, Advice::OnlyIf));
}

TEST(Classify, CasWhoseOwnReleaseFollows_IsNeverReposted) {
  OutstandingRequest cas = request(Opcode::CompareSwap, Environment::Quiet);
  cas.contract.is_nothing_later = true;
  EXPECT_THAT(advices({on_qp(1, cas), on_qp(2, completed(quiet_write))}),
              ElementsAre(Advice::Never, Advice::Never));
}

TEST(Classify, CasWhoseReleaseMayFollow_WaitsForAFence) {
  EXPECT_EQ(advice_for(request(Opcode::CompareSwap, Environment::Quiet)).one_of,
            (Lists{{Proviso::FenceDone}, {Proviso::NothingLater}}));
}

TEST(Classify, FencedWriteBeforeAWriteWithImm_IsNotReposted) {
  const auto reuse = [](Opcode opcode) {
    return on_qp(1, fenced(notified(request(opcode, Environment::Reuse))));
  };
  const auto advice =
      classify({at(0, 64, reuse(Opcode::Write)), at(64, 8, reuse(Opcode::WriteWithImm))}).value();
  EXPECT_EQ(advice[0].advice, Advice::OnlyIf);
  EXPECT_EQ(advice[0].one_of, (Lists{{Proviso::TargetQuiet}}));
  EXPECT_EQ(advice[0].trace.value().violation, Violation::GhostWrite);
  EXPECT_EQ(advice[1].advice, Advice::Never);
}

TEST(Classify, ReadBeforeTheMessageThatAllowsReuse_IsNotReposted) {
  const auto reuse = [](Opcode opcode) {
    return on_qp(1, fenced(notified(request(opcode, Environment::Reuse))));
  };
  const auto advice = classify({reuse(Opcode::Read), reuse(Opcode::Send)}).value();
  EXPECT_EQ(advice[0].advice, Advice::OnlyIf);
  EXPECT_EQ(advice[0].one_of, (Lists{{Proviso::TargetQuiet}}));
  EXPECT_EQ(advice[0].trace.value().violation, Violation::Linearizability);
}

TEST(Classify, AtomicBeforeTheMessageThatAllowsReuse_IsRepostedByNoAdvice) {
  const auto reuse = [](Opcode opcode, Word addend) {
    OutstandingRequest r = on_qp(1, fenced(notified(request(opcode, Environment::Reuse))));
    r.compare_add = addend;
    return r;
  };
  const OutstandingRequest message = reuse(Opcode::Send, 0);
  EXPECT_THAT(advices({reuse(Opcode::FetchAdd, 0), message}),
              ElementsAre(Advice::NoAdvice, Advice::Never));
  EXPECT_THAT(advices({reuse(Opcode::FetchAdd, 1), message}),
              ElementsAre(Advice::Never, Advice::Never));
}

TEST(Classify, MessagesOfTwoQueuePairsBehindARead_GiveItNoAdvice) {
  const auto reuse = [](Opcode opcode) {
    return fenced(notified(request(opcode, Environment::Reuse)));
  };
  const auto advice = classify({on_qp(1, reuse(Opcode::Read)), on_qp(1, reuse(Opcode::Send)),
                                on_qp(2, reuse(Opcode::Send))})
                          .value();
  EXPECT_EQ(advice[0].advice, Advice::NoAdvice);
  EXPECT_THAT(advice[0].reason, HasSubstr("work_requests[1] and [2]"));
}

TEST(Classify, ReadBehindTheMessage_IsReposted) {
  const OutstandingRequest read = fenced(notified(request(Opcode::Read, Environment::Reuse)));
  const OutstandingRequest message = request(Opcode::Send, Environment::Quiet);
  EXPECT_THAT(advices({on_qp(1, message), on_qp(1, read)}),
              ElementsAre(Advice::Never, Advice::Repost));
}

TEST(Classify, ChunksThatOneMessageWillNotify_AreBothReposted) {
  const OutstandingRequest chunk = fenced(notified(request(Opcode::Write, Environment::Reuse)));
  EXPECT_THAT(advices({on_qp(1, at(0, 64, chunk)), on_qp(1, at(64, 64, chunk))}),
              ElementsAre(Advice::Repost, Advice::Repost));
}

TEST(Classify, ChunkBeforeAFlagThatIsPolled_IsNotReposted) {
  const OutstandingRequest chunk = fenced(notified(request(Opcode::Write, Environment::Reuse)));
  const OutstandingRequest flag = at(4096, 8, fenced(request(Opcode::Write, Environment::Reuse)));
  EXPECT_THAT(advices({on_qp(1, at(0, 64, chunk)), on_qp(1, flag)}),
              ElementsAre(Advice::OnlyIf, Advice::OnlyIf));
}

TEST(Classify, FencedWriteBehindACompletedOne_IsNeverReposted) {
  EXPECT_THAT(advices({on_qp(1, fenced(quiet_write)), on_qp(2, completed(fenced(quiet_write)))}),
              ElementsAre(Advice::Never, Advice::Never));
}

TEST(Classify, TwoFencedWritesToOneAddress_AreRepostedInTheirOrder) {
  const auto advice =
      classify({on_qp(1, fenced(quiet_write)), on_qp(1, fenced(quiet_write))}).value();
  EXPECT_EQ(advice[0].advice, Advice::Repost);
  EXPECT_EQ(advice[1].advice, Advice::Repost);
  EXPECT_EQ(advice[0].conditions[0].kind, Requirement::Kind::PostingOrder);
  EXPECT_THAT(advice[0].conditions[0].requests, ElementsAre(0U, 1U));
}

TEST(Classify, TwoUnfencedWritesToOneAddress_AreNotBothReposted) {
  EXPECT_THAT(advices({on_qp(1, quiet_write), on_qp(1, quiet_write)}),
              ElementsAre(Advice::OnlyIf, Advice::OnlyIf));
}

TEST(Classify, WritesThatOverlapInPart_AreExploredTogether) {
  const auto advice = classify({on_qp(1, at(0, 12, fenced(quiet_write))),
                                on_qp(2, completed(at(8, 8, fenced(quiet_write))))})
                          .value();
  EXPECT_EQ(advice[0].advice, Advice::Never);
  EXPECT_THAT(advice[0].explored_with, ElementsAre(1U));
}

TEST(Classify, NeighboursThatTouchNoCommonByte_AreAdvisedApart) {
  const auto advice =
      classify({at(0, 8, fenced(quiet_write)), completed(at(8, 8, fenced(quiet_write)))}).value();
  EXPECT_EQ(advice[0].advice, Advice::Repost);
  EXPECT_THAT(advice[0].explored_with, IsEmpty());
}

TEST(Classify, ReadBeforeACompletedWrite_IsNeverReposted) {
  EXPECT_THAT(advices({on_qp(1, request(Opcode::Read, Environment::Quiet)),
                       on_qp(2, completed(quiet_write))}),
              ElementsAre(Advice::Never, Advice::Never));
}

TEST(Classify, UnsignaledRequestBeforeACompletedOne_IsCompleted) {
  OutstandingRequest open = on_qp(1, quiet_write);
  open.status_name.clear();
  const auto advice = classify({open, on_qp(1, completed(quiet_write))}).value();
  EXPECT_EQ(advice[0].advice, Advice::Never);
  EXPECT_EQ(advice[0].reason, "completed, as a later request of its QP did: nothing to repeat");
}

TEST(Classify, SuccessAfterAnErrorOnOneQp_IsAContradiction) {
  const auto advice = classify({on_qp(1, quiet_write), on_qp(1, completed(quiet_write))}).value();
  EXPECT_EQ(advice[0].advice, Advice::NoAdvice);
  EXPECT_THAT(advice[0].reason, HasSubstr("the dump contradicts itself: RETRY_EXC_ERR here"));
}

OutstandingRequest with_general_error(OutstandingRequest made) {
  made.status_name = "GENERAL_ERR";
  return made;
}

// Linux's hns says so of a request and lets its QP go on.
TEST(Classify, SuccessAfterAGeneralError_IsNoContradiction) {
  for (const OutstandingRequest& write : {quiet_write, fenced(quiet_write)}) {
    const auto advice =
        classify({on_qp(1, with_general_error(write)), on_qp(1, completed(write))}).value();
    EXPECT_EQ(advice[0].advice, Advice::Never);
    EXPECT_EQ(advice[0].trace.value().violation, Violation::Linearizability);
  }
}

TEST(Classify, RequestWithAGeneralError_IsRepostedOnceItsQpHasFailed) {
  const auto advice = classify({on_qp(1, with_general_error(fenced(quiet_write)))}).value();
  EXPECT_EQ(advice[0].advice, Advice::Repost);
  EXPECT_EQ(advice[0].conditions[0].kind, Requirement::Kind::QueuePairFailed);
}

TEST(Classify, MessagesOfOneQpBesideAGeneralError_KeepTheirOrder) {
  OutstandingRequest send = on_qp(1, fenced(quiet_write));
  send.opcode = Opcode::Send;
  send.evidence.most = Part::Nothing;
  send.evidence.is_queue_fenced = true;
  const auto advice = classify({with_general_error(send), send}).value();
  EXPECT_EQ(advice[0].advice, Advice::Repost);
  EXPECT_THAT(advice[0].conditions[0].requests, ElementsAre(0U, 1U));
}

TEST(Classify, WriteWithoutAddressBesideAnother_GetsNoAdvice) {
  OutstandingRequest somewhere = fenced(quiet_write);
  somewhere.remote_addr.reset();
  const auto advice = classify({somewhere, completed(fenced(quiet_write))}).value();
  EXPECT_EQ(advice[0].advice, Advice::NoAdvice);
  EXPECT_EQ(advice[0].reason,
            "whether work_requests[0] and [1] touch the same memory the dump does not say");
}

TEST(Classify, SameAddressesBehindTwoRkeys_GetNoAdvice) {
  OutstandingRequest other = fenced(quiet_write);
  other.rkey = 7;
  EXPECT_THAT(advices({fenced(quiet_write), other}),
              ElementsAre(Advice::NoAdvice, Advice::NoAdvice));
}

TEST(Classify, MoreRequestsThanAreExplored_GetNoAdvice) {
  const auto advice = classify(Dump(5, fenced(quiet_write))).value();
  EXPECT_EQ(advice[4].advice, Advice::NoAdvice);
  EXPECT_EQ(advice[4].reason, "5 requests meet in these bytes, at most 4 are explored together");
}

TEST(Classify, GroupThatTakesTooLong_GetsNoAdviceInBoundedStates) {
  Dump dump;
  for (unsigned i = 0; i < 4; ++i) {
    OutstandingRequest cas = on_qp(i, request(Opcode::CompareSwap, Environment::OtherWriters));
    cas.compare_add = i;
    cas.swap = i + 1;
    dump.push_back(cas);
  }
  const auto advice = classify(dump).value();
  EXPECT_EQ(advice[0].advice, Advice::NoAdvice);
  EXPECT_EQ(advice[0].reason, "more to explore than is tried here");
  EXPECT_LT(advice[0].states, 2'000'000U);
}

/// Many, which all may meet: their places are not said.
Dump many_somewhere() {
  constexpr std::size_t kMany = 50'000;  // squared, some 10^9 pairs
  OutstandingRequest somewhere = quiet_write;
  somewhere.remote_addr.reset();
  return Dump(kMany, somewhere);
}

TEST(Classify, StoppedBeforeItBegan_ComparesNothingAndSaysSoOfEach) {
  const std::atomic<bool> stop = true;
  const auto advice = classify(many_somewhere(), &stop).value();
  EXPECT_THAT(advice, Each(Field(&Classification::advice, Advice::NoAdvice)));
  EXPECT_THAT(advice, Each(Field(&Classification::reason, StartsWith("stopped before"))));
}

TEST(Classify, StoppedBeforeItBegan_StillSaysWhatNeedsNoExploring) {
  const std::atomic<bool> stop = true;
  const auto advice = classify({quiet_write, completed(quiet_write)}, &stop).value();
  EXPECT_THAT(advice[0].reason, StartsWith("stopped before"));
  EXPECT_EQ(advice[1].reason, "completed: nothing to repeat");
}

TEST(Groups, OfAStoppedComparison_AreNone) {
  const std::atomic<bool> stop = true;
  const Dump dump = {quiet_write, quiet_write};
  EXPECT_FALSE(groups_of(dump, Letters(dump), &stop).has_value());
}

TEST(Groups, OfRequestsThatMayMeet_NameTheLastTwo) {
  OutstandingRequest somewhere = fenced(quiet_write);
  somewhere.remote_addr.reset();
  const auto groups = groups_of(Dump(3, somewhere), Letters(Dump(3, somewhere))).value();
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_TRUE(groups[0].is_unclear);
  EXPECT_EQ(groups[0].obstacle,
            "whether work_requests[1] and [2] touch the same memory the dump does not say");
}

// ---- What is not modelled
// ----------------------------------------------------------------------------------------

TEST(Classify, OpcodeThatIsNotModelled_GetsNoAdviceAndItsName) {
  OutstandingRequest local;
  local.opcode.reset();
  local.opcode_name = "LOCAL_INV";
  EXPECT_EQ(advice_for(local).advice, Advice::NoAdvice);
  EXPECT_EQ(advice_for(local).reason, "LOCAL_INV is not modelled");
}

TEST(Classify, StatusThatIsNotModelled_GetsNoAdviceAndItsName) {
  OutstandingRequest fatal = quiet_write;
  fatal.outcome = Outcome::Unmodelled;
  fatal.status_name = "FATAL_ERR";
  EXPECT_EQ(advice_for(fatal).reason, "what was executed before FATAL_ERR is not modelled");
}

TEST(Classify, RequestBesideOneThatMayTouchAnything_GetsNoAdvice) {
  OutstandingRequest any;
  any.opcode.reset();
  any.opcode_name = "DRIVER1";
  any.side_effect = SideEffect::Any;
  EXPECT_THAT(advices({fenced(quiet_write), any}), ElementsAre(Advice::NoAdvice, Advice::NoAdvice));
}

/// The members of an enum of the installed infiniband/verbs.h.
std::vector<std::string> enumerators(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream("/usr/include/infiniband/verbs.h").rdbuf();
  const std::string header = text.str();
  const std::size_t begin = header.find("enum " + name + " {");
  const std::string body = header.substr(begin, header.find("};", begin) - begin);
  const std::regex member(R"((?:^|\n)\s*(IBV_W[RC]_\w+))");
  std::vector<std::string> found;
  for (std::sregex_iterator at(body.begin(), body.end(), member), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

TEST(VerbsNames, EveryOpcodeOfTheInstalledHeader_IsTaken) {
  std::vector<std::string> known;
  for (const OpcodeName& name : opcode_names()) known.emplace_back(name.name);
  const auto installed = enumerators("ibv_wr_opcode");
  EXPECT_GT(installed.size(), 10U);
  EXPECT_THAT(known, ::testing::IsSupersetOf(installed));
}

TEST(VerbsNames, EveryStatusOfTheInstalledHeader_IsTaken) {
  std::vector<std::string> known;
  for (const StatusName& name : status_names()) known.emplace_back(name.name);
  const auto installed = enumerators("ibv_wc_status");
  EXPECT_GT(installed.size(), 20U);
  EXPECT_THAT(known, ::testing::IsSupersetOf(installed));
}

// ---- Dumps
// ----------------------------------------------------------------------------------------

constexpr const char* kDump = R"({
  "regions": [ {"rkey": "0x10", "environment": "reuse", "consumer": "notified", "fenced": true} ],
  "work_requests": [
    {"wr_id": 7, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 16, "remote_addr": 4096, "length": 64,
     "status": "IBV_WC_RETRY_EXC_ERR"},
    {"wr_id": 8, "opcode": "IBV_WR_SEND", "status": "IBV_WC_SUCCESS", "qp_num": 77}
  ]
})";

TEST(Dump, Request_CarriesTheContractOfItsRegion) {
  const auto dump = read_dump(kDump, "d").value();
  ASSERT_EQ(dump.size(), 2U);
  EXPECT_EQ(dump[0].wr_id, 7U);
  EXPECT_EQ(dump[0].contract.environment, Environment::Reuse);
  EXPECT_EQ(dump[0].contract.consumer, Consumer::Notified);
  EXPECT_TRUE(dump[0].contract.is_fenced);
  EXPECT_EQ(dump[0].outcome, Outcome::Unknown);
  EXPECT_EQ(dump[0].line, 4U);
}

TEST(Dump, CompletedRequest_IsKnownToBe) {
  EXPECT_EQ(read_dump(kDump, "d").value()[1].outcome, Outcome::Completed);
}

TEST(Dump, WhatItDoesNotSay_StaysOpen) {
  const auto dump = read_dump(kDump, "d").value();
  EXPECT_EQ(dump[0].qp_num, std::nullopt);
  EXPECT_EQ(dump[1].qp_num, 77U);
  EXPECT_EQ(dump[1].remote_addr, std::nullopt);
  EXPECT_EQ(dump[1].length, std::nullopt);
}

TEST(Dump, Address_KeepsAll64Bits) {
  std::string text = kDump;
  text.replace(text.find("4096"), 4, "18446744073709551615");
  EXPECT_EQ(read_dump(text, "d").value()[0].remote_addr, ~std::uint64_t{0});
}

struct Bad {
  const char* name;
  const char* from;
  const char* to;
  const char* refusal;
};

class BadDump : public ::testing::TestWithParam<Bad> {};

TEST_P(BadDump, IsRefusedWithLineAndField) {
  std::string text = kDump;
  text.replace(text.find(GetParam().from), std::string(GetParam().from).size(), GetParam().to);
  EXPECT_THAT(read_dump(text, "d").error().text, HasSubstr(GetParam().refusal));
}

INSTANTIATE_TEST_SUITE_P(
    Dump, BadDump,
    ::testing::Values(
        Bad{"NoJson", "\"wr_id\": 7", "\"wr_id\" 7", "d:4: syntax error"},
        Bad{"UnknownOpcode", "IBV_WR_SEND", "IBV_WR_SENT",
            "d:6: work_requests[1].opcode: \"IBV_WR_SENT\"; one of IBV_WR_RDMA_WRITE, "},
        Bad{"TextForANumber", "\"length\": 64", "\"length\": \"long\"",
            "d:4: work_requests[0].length: \"long\"; a whole number from 0 to 2147483648, or "},
        Bad{"NegativeNumber", "\"length\": 64", "\"length\": -1",
            "d:4: work_requests[0].length: -1; a whole number"},
        Bad{"QpNumBeyond24Bits", "\"qp_num\": 77", "\"qp_num\": 16777216",
            "d:6: work_requests[1].qp_num: 16777216; a whole number from 0 to 16777215, or "},
        Bad{"NumberForAName", "\"reuse\"", "1", "d:2: regions[0].environment: 1; one of quiet, "},
        Bad{"TooLarge", "\"0x10\"", "\"0x100000000\"", "d:2: regions[0].rkey: \"0x100000000\"; "},
        Bad{"UnknownField", "\"remote_addr\"", "\"remote\"",
            "d:4: work_requests[0].remote: no such field; accepted are wr_id, "},
        Bad{"UnknownRegion", "\"rkey\": 16", "\"rkey\": 17",
            "d:4: work_requests[0].rkey: 17; one that \"regions\" describes is accepted"},
        Bad{"NumberForAFlag", "\"fenced\": true", "\"fenced\": 1",
            "d:2: regions[0].fenced: true or false expected, a number found"},
        Bad{"Missing", "\"wr_id\": 7, ", "", "d:4: work_requests[0]: no \"wr_id\"; "},
        Bad{"NoRegions", "\"regions\"", "\"region\"",
            "d:2: region: no such field; accepted are regions, work_requests"},
        Bad{"SuccessAfterAnErrorOnOneQp", "\"status\"", "\"qp_num\": 77, \"status\"",
            "d:5: work_requests[0].status: \"IBV_WC_RETRY_EXC_ERR\"; IBV_WC_SUCCESS, or none, "},
        Bad{"UnknownStatus", "IBV_WC_SUCCESS", "IBV_WC_FINE", "d:6: work_requests[1].status: "}),
    [](const auto& info) { return info.param.name; });

// ---- The monitor behind the advice
// ----------------------------------------------------------------

TEST(Judge, SettledWithoutARepost_IsLinearizable) {
  const Machine machine = testing::machine_of("blind-read");
  const AnyState done =
      testing::after(machine, {Action::Post, Action::Execute, Action::Complete, Action::Report});
  EXPECT_EQ(judge(machine, done), Violation::None);
}

TEST(Judge, MemoryThatNobodyWrote_IsNot) {
  const Machine machine =
      testing::machine_of("blind-read", {.environment = Environment::OtherWriters});
  AnyState done =
      testing::after(machine, {Action::Post, Action::Execute, Action::Complete, Action::Report});
  done.set(machine.shared[0], 1);
  EXPECT_EQ(judge(machine, done), Violation::Linearizability);
}

TEST(Judge, AnswerThatWasNeverThere_IsNot) {
  const Machine machine =
      testing::machine_of("blind-read", {.environment = Environment::OtherWriters});
  AnyState done =
      testing::after(machine, {Action::Post, Action::Execute, Action::Complete, Action::Report});
  done.set(machine.fields[0].answers[0], 1);
  EXPECT_EQ(judge(machine, done), Violation::Linearizability);
}

}  // namespace
}  // namespace portcullis::failover
