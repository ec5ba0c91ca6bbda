// SPDX-License-Identifier: BSD-3-Clause
//
// Senders' buffers: the advice and its rules held against the explorer, and the explorer against a
// second program that shares nothing with it.
#include "failover/classify/buffer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "failover/classify/buffer_story.hpp"
#include "failover/classify/dump.hpp"
#include "failover/report/json_report.hpp"

namespace portcullis::failover {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Answer = BufferAdvice::Answer;
using Kind = Requirement::Kind;
using Dump = std::vector<OutstandingRequest>;

OutstandingRequest request(Opcode opcode, std::uint64_t length = 8) {
  OutstandingRequest made;
  made.opcode = opcode;
  made.remote_addr = 4096;
  made.length = length;
  made.compare_add = 1;
  made.swap = 2;
  made.qp_num = 1;
  made.contract.environment = Environment::Quiet;
  return made;
}
OutstandingRequest with_status(OutstandingRequest made) {
  made.status_name = "RETRY_EXC_ERR";
  return made;
}
/// Far from each other at the receiver, so that nothing but the buffers meets.
OutstandingRequest in(std::uint64_t address, OutstandingRequest made) {
  made.sg_list = {LocalBytes{address, *made.length}};
  return made;
}

// ---- A second opinion
// ----------------------------------------------------------------------------------------

/// A sender's NIC, two packets of one request, and an application that takes the buffer: every
/// order of events, by plain recursion.
class Nic {
 public:
  Nic(const OutstandingRequest& request, const BufferPromise& promise)
      : request_(request), promise_(promise) {
    const bool is_data = carries_data(*request.opcode);
    packets_ = is_data && request.length.value_or(1000) > 256 ? 2 : 1;
  }
  bool can_hurt() { return visit({}); }

 private:
  struct Now {
    unsigned executed = 0;
    std::set<std::pair<unsigned, bool>> wire;  // packet, and whether it has other bytes
    bool has_begun = false, is_answering = false;
    bool is_stopped = false, is_fenced = false, is_taken = false;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means the 0 of the comparison
    auto operator<=>(const Now&) const = default;
  };

  bool visit(const Now& now) {
    if (!seen_.insert(now).second) return false;
    return send(now) || arrive(now) || answer(now) || go_on(now);
  }
  /// Any packet, again and again, while the QP works.
  bool send(const Now& now) {
    if (now.is_stopped) return false;
    for (unsigned packet = 0; packet < packets_; ++packet) {
      Now next = now;
      next.has_begun = true;
      next.wire.insert({packet, now.is_taken});
      if (visit(next)) return true;
    }
    return false;
  }
  bool arrive(const Now& now) {
    const bool has_key = *request_.opcode != Opcode::Send;
    for (const auto& each : now.wire) {
      Now next = now;
      next.wire.erase(each);  // or it is lost
      if (visit(next)) return true;
      if (now.is_fenced && (promise_.is_queue_fenced || has_key)) continue;
      if (each.first == now.executed && each.second && !has_answer()) return true;
      if (each.first == now.executed) ++next.executed;
      if (has_answer() && next.executed > 0) next.is_answering = true;
      if (visit(next)) return true;
    }
    return false;
  }
  bool answer(const Now& now) {
    if (!now.is_answering || now.is_stopped) return false;
    if (now.is_taken) return true;
    Now next = now;
    next.is_answering = false;
    return visit(next);
  }
  bool go_on(const Now& now) {
    Now next = now;
    if (!now.has_begun) return false;
    if (promise_.is_polled && !now.is_stopped) {
      next.is_stopped = true;
      return visit(next);
    }
    if ((promise_.is_fenced || promise_.is_queue_fenced) && !now.is_fenced) {
      next.is_fenced = true;
      return visit(next);
    }
    const Evidence& evidence = request_.evidence;
    if (now.is_taken || (evidence.least == Part::All && now.executed < packets_) ||
        (evidence.most == Part::Nothing && now.executed > 0))
      return false;
    next.is_taken = true;
    return visit(next);
  }
  [[nodiscard]] bool has_answer() const { return returns_word(*request_.opcode); }

  const OutstandingRequest& request_;
  const BufferPromise promise_;
  unsigned packets_ = 1;
  std::set<Now> seen_;
};

struct Asked {
  OutstandingRequest request;
  BufferPromise promise;
};
std::vector<Asked> all_asked() {
  constexpr std::pair<Part, Part> kParts[] = {{Part::Nothing, Part::All},
                                              {Part::Nothing, Part::Nothing},
                                              {Part::Nothing, Part::Some},
                                              {Part::Some, Part::All},
                                              {Part::All, Part::All}};
  std::vector<Asked> all;
  for (const Opcode opcode : {Opcode::Write, Opcode::Read, Opcode::FetchAdd, Opcode::CompareSwap,
                              Opcode::Send, Opcode::WriteWithImm})
    for (const std::uint64_t length : {8U, 9000U})
      for (const auto& [least, most] : kParts)
        for (unsigned set = 0; set < 8; ++set) {
          Asked one{request(opcode, length), {(set & 1) != 0, (set & 2) != 0, (set & 4) != 0}};
          one.request.evidence.least = least;
          one.request.evidence.most = most;
          all.push_back(one);
        }
  return all;
}
std::string text_of(const Asked& asked) {
  const auto digit = [](auto value) { return std::to_string(static_cast<int>(value)); };
  return std::string(name_of(*asked.request.opcode)) + " " + digit(*asked.request.length) +
         " bytes, executed " + digit(asked.request.evidence.least) + " to " +
         digit(asked.request.evidence.most) + ", polled " + digit(asked.promise.is_polled) +
         " fenced " + digit(asked.promise.is_fenced) + digit(asked.promise.is_queue_fenced);
}

TEST(Buffer, OfEveryRequestUnderEveryPromise_IsExploredAsTheSecondOpinionSays) {
  std::vector<std::string> differences;
  for (const Asked& asked : all_asked()) {
    const Told told = tell_buffer(asked.request, asked.promise).value();
    const bool can_hurt = Nic(asked.request, asked.promise).can_hurt();
    if ((told.verdict == Told::Verdict::Unsafe) != can_hurt)
      differences.push_back(text_of(asked) + (can_hurt ? ": hurts" : ": does not hurt"));
  }
  EXPECT_THAT(differences, IsEmpty());
}

TEST(Buffer, RuleOfEveryRequestUnderEveryPromise_IsWhatTheExplorerFinds) {
  std::vector<std::string> differences;
  for (const Asked& asked : all_asked()) {
    const Told told = tell_buffer(asked.request, asked.promise).value();
    if (needs_buffer(asked.request, asked.promise) != (told.verdict == Told::Verdict::Unsafe))
      differences.push_back(text_of(asked));
  }
  EXPECT_THAT(differences, IsEmpty());
}

// ---- Dumps
// ----------------------------------------------------------------------------------------

struct Weighed {
  OutstandingRequest request;
  bool is_open = false;   // it may need its buffer, or nobody knows
  bool can_hurt = false;  // as the second opinion says
};

std::vector<Weighed> kinds() {
  std::vector<OutstandingRequest> all;
  for (const Opcode opcode : {Opcode::Write, Opcode::Read, Opcode::FetchAdd, Opcode::Send}) {
    OutstandingRequest one = request(opcode);
    all.push_back(one);
    all.push_back(with_status(one));
    one.contract.is_fenced = true;
    all.push_back(one);
    one.is_inline = !returns_word(opcode);
    all.push_back(one);
  }
  OutstandingRequest other = request(Opcode::Send);
  other.opcode.reset();
  other.opcode_name = "DRIVER1";
  other.side_effect = SideEffect::Any;
  all.push_back(other);
  std::vector<Weighed> kinds;
  for (const OutstandingRequest& r : all) {
    const bool is_open = !r.is_inline && !promise_of(r).is_polled;
    kinds.push_back({r, is_open, is_open && r.opcode && Nic(r, promise_of(r)).can_hurt()});
  }
  return kinds;
}

/// What the advice must be, from what is said of each request alone and whose bytes overlap.
Answer expected(const std::vector<Weighed>& of, const std::vector<std::uint64_t>& places,
                std::size_t asked) {
  Answer answer = Answer::Reuse;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const std::uint64_t apart =
        std::max(places[i], places[asked]) - std::min(places[i], places[asked]);
    if (apart >= *of[i].request.length || !of[i].is_open) continue;
    if (!of[i].request.opcode) return Answer::NoAdvice;
    if (of[i].can_hurt) answer = Answer::OnlyIf;
  }
  return answer;
}

Dump apart_at_the_receiver(Dump dump) {
  for (std::size_t i = 0; i < dump.size(); ++i) {
    dump[i].remote_addr = 4096 * i;
    dump[i].qp_num = static_cast<std::uint32_t>(i);
  }
  return dump;
}

void compare(const std::vector<Weighed>& of, const std::vector<std::uint64_t>& places,
             std::vector<std::string>& differences) {
  Dump dump;
  for (std::size_t i = 0; i < of.size(); ++i) dump.push_back(in(places[i], of[i].request));
  const auto advice = classify(apart_at_the_receiver(dump), nullptr, Effort::Rules).value();
  for (std::size_t i = 0; i < of.size(); ++i)
    if (advice[i].buffer.answer != expected(of, places, i))
      differences.push_back(std::to_string(i) + ": " + name_of(advice[i].buffer.answer) + ", " +
                            name_of(expected(of, places, i)) + " expected; " +
                            advice[i].buffer.reason);
}

/// On the same bytes, on the last half of them, and apart.
TEST(Buffer, InDumpsOfThree_IsWhatIsSaidOfEachThatHasSomeOfItsBytes) {
  std::vector<std::string> differences;
  const auto all = kinds();
  for (const Weighed& a : all)
    for (const Weighed& b : all)
      for (const Weighed& c : all)
        for (const std::uint64_t place : {0U, 4U, 8U})
          compare({a, b, c}, {64, 64 + place, 76}, differences);
  EXPECT_THAT(differences, IsEmpty());
}

TEST(Buffer, InDumpsOfTwo_IsTheSameExploredAndByRule) {
  std::vector<std::string> differences;
  for (const Weighed& a : kinds())
    for (const Weighed& b : kinds())
      for (const std::uint64_t place : {4U, 8U}) {
        const Dump dump = apart_at_the_receiver({in(64, a.request), in(64 + place, b.request)});
        const auto ruled = classify(dump, nullptr, Effort::Rules).value();
        const auto explored = classify(dump).value();
        for (std::size_t i = 0; i < dump.size(); ++i) {
          const BufferAdvice& by_rule = ruled[i].buffer;
          const BufferAdvice& found = explored[i].buffer;
          if (std::tie(by_rule.answer, by_rule.one_of, by_rule.reason, by_rule.shared_with) !=
              std::tie(found.answer, found.one_of, found.reason, found.shared_with))
            differences.push_back(by_rule.reason + " / " + found.reason);
        }
      }
  EXPECT_THAT(differences, IsEmpty());
}

BufferAdvice advice_for(const OutstandingRequest& one) { return classify({one}).value()[0].buffer; }

TEST(Buffer, OfAReadWithoutCompletion_HasARunInWhichItsAnswerComesLate) {
  const BufferAdvice told = advice_for(request(Opcode::Read));
  EXPECT_EQ(told.answer, Answer::OnlyIf);
  EXPECT_THAT(told.one_of, ElementsAre(ElementsAre(Proviso::CompletionPolled)));
  EXPECT_EQ(told.trace.value().violation, Violation::LateAnswer);
  EXPECT_EQ(told.trace->steps.size(), 4U);  // posted, executed, taken, written
  EXPECT_EQ(describe(*told.machine, told.trace->steps.back().label),
            "NIC of client 0: writes the answer of READ[0] into the buffer");
}

TEST(Buffer, OfAWriteWithoutCompletion_HasARunInWhichOtherBytesAreSent) {
  const BufferAdvice told = advice_for(request(Opcode::Write));
  EXPECT_THAT(told.one_of,
              ElementsAre(ElementsAre(Proviso::CompletionPolled), ElementsAre(Proviso::FenceDone)));
  EXPECT_EQ(told.trace.value().violation, Violation::ChangedSource);
  EXPECT_EQ(told.trace->steps.size(), 4U);  // posted, taken, sent again, executed
}

TEST(Buffer, OfASendWithoutCompletion_IsNotFreedByAFenceOfTheKey) {
  OutstandingRequest send = request(Opcode::Send);
  send.contract.is_fenced = true;
  EXPECT_THAT(advice_for(send).one_of, ElementsAre(ElementsAre(Proviso::CompletionPolled),
                                                   ElementsAre(Proviso::QueuePairFenced)));
}

TEST(Buffer, OfAWriteThatWasExecutedAsAWhole_MayBeReused) {
  OutstandingRequest write = request(Opcode::Write);
  write.evidence.least = Part::All;
  const BufferAdvice told = advice_for(write);
  EXPECT_EQ(told.answer, Answer::Reuse);
  EXPECT_EQ(told.conditions.back().kind, Kind::EvidenceIsLast);
}

TEST(Buffer, WhoseRequestIsToBePostedAgain_MustKeepItsBytesUntilThen) {
  const BufferAdvice told = advice_for(with_status(request(Opcode::Read)));
  EXPECT_EQ(told.answer, Answer::Reuse);
  ASSERT_EQ(told.conditions.size(), 1U);
  EXPECT_EQ(told.conditions[0].kind, Kind::NotPostedAgain);
  EXPECT_THAT(told.conditions[0].requests, ElementsAre(0));
}

// No rule covers requests that meet at the receiver: what exploring them answers is to be reposted
// must be there still.
TEST(Buffer, ByRule_OfRequestsThatMeet_IsReusedOnlyIfTheyAreNotPostedAgain) {
  OutstandingRequest one = in(64, with_status(request(Opcode::Write)));
  OutstandingRequest other = in(4096, with_status(request(Opcode::Write)));
  one.contract.is_fenced = other.contract.is_fenced = true;
  one.qp_num = other.qp_num = 17;
  const Dump dump = {one, other};
  ASSERT_EQ(classify(dump).value()[0].advice, Advice::Repost);
  for (const Effort effort : {Effort::Explore, Effort::Rules}) {
    const auto advice = classify(dump, nullptr, effort).value();
    for (std::size_t i = 0; i < dump.size(); ++i) {
      const BufferAdvice& told = advice[i].buffer;
      EXPECT_EQ(told.answer, Answer::Reuse);
      ASSERT_FALSE(told.conditions.empty());
      EXPECT_EQ(told.conditions[0].kind, Kind::NotPostedAgain);
      EXPECT_THAT(told.conditions[0].requests, ElementsAre(i));
    }
  }
}

TEST(Buffer, OfAnotherThatTheDumpDoesNotSay_IsACondition) {
  const Dump dump =
      apart_at_the_receiver({in(64, with_status(request(Opcode::Send))), request(Opcode::Read)});
  const auto advice = classify(dump).value();
  EXPECT_EQ(advice[0].buffer.conditions.back().kind, Kind::BufferUnshared);
}

TEST(Buffer, IntoWhichAnAnswerMayHaveCome_IsNamedWhereItsBytesAreSentAgain) {
  OutstandingRequest write = with_status(request(Opcode::Write));
  write.contract.is_fenced = true;
  const Dump dump = apart_at_the_receiver({in(64, write), in(68, request(Opcode::Read))});
  const auto advice = classify(dump).value();
  ASSERT_EQ(advice[0].advice, Advice::Repost);
  EXPECT_EQ(advice[0].conditions[0].kind, Kind::SourceUnchanged);
  EXPECT_THAT(advice[0].conditions[0].requests, ElementsAre(1));
}

TEST(Buffer, ThatMoreShareThanAreListed_GetsNoAdvice) {
  const Dump dump = apart_at_the_receiver(Dump(kMostSharing + 2, in(64, request(Opcode::Send))));
  EXPECT_EQ(classify(dump).value()[0].buffer.answer, Answer::NoAdvice);
}

/// One run over all of them meets each, and they do not meet each other.
TEST(Buffer, UnderARunThatMeetsThousands_IsSharedWithThatOneAlone) {
  constexpr std::size_t kSmall = 4200;
  Dump dump = {in(0, request(Opcode::Send, kSmall * 8))};
  for (std::size_t i = 0; i < kSmall; ++i) dump.push_back(in(8 * i, request(Opcode::Send)));
  const auto advice = classify(dump, nullptr, Effort::Rules).value();
  EXPECT_EQ(advice.front().buffer.answer, Answer::NoAdvice);
  EXPECT_THAT(advice[1].buffer.shared_with, ElementsAre(0));
  EXPECT_THAT(advice.back().buffer.shared_with, ElementsAre(0));
}

TEST(Buffer, WhenStoppedBeforehand_GetsNoAdvice) {
  const std::atomic<bool> stop = true;
  const auto advice = classify({request(Opcode::Read)}, &stop).value();
  EXPECT_EQ(advice[0].buffer.answer, Answer::NoAdvice);
  EXPECT_THAT(advice[0].buffer.reason, HasSubstr("stopped"));
}

TEST(Buffer, OfNothing_IsNull) {
  const Classification c = classify({request(Opcode::Read, 0)}).value()[0];
  EXPECT_EQ(c.buffer.answer, Answer::None);
  EXPECT_TRUE(to_json(request(Opcode::Read, 0), c)["buffer"].is_null());
}

// ---- In a file
// ----------------------------------------------------------------------------------------

std::string dump_with(const std::string& members) {
  return R"({"regions": [{"rkey": 1, "environment": "quiet"}], "work_requests": [
{"wr_id": 1, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 1, "remote_addr": 0, )" +
         members + "}]}";
}

TEST(Buffer, InAFile_GivesTheRequestItsLength) {
  const auto dump = read_dump(dump_with(R"("sg_list": [{"addr": "0x10", "length": 8, "lkey": 3},
                             {"addr": 64, "length": 0}, {"addr": 80, "length": 4}],
                             "send_flags": ["IBV_SEND_SIGNALED", "IBV_SEND_INLINE"])"),
                              "f")
                        .value();
  EXPECT_EQ(dump[0].length, 12U);
  EXPECT_EQ(dump[0].sg_list->size(), 2U);
  EXPECT_TRUE(dump[0].is_inline);
}

TEST(Buffer, ThatCannotBeSo_IsRefusedWithItsField) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"("length": 8, "sg_list": [{"addr": 1, "length": 7}])",
       "sg_list: 7 bytes; 8, as the request has, are accepted"},
      {R"("sg_list": [{"addr": "0xffffffffffffffff", "length": 2}])", "sg_list[0].addr"},
      {R"("sg_list": [{"addr": 1}])", "no \"length\""},
      {R"("sg_list": [{"addr": 1, "length": 2, "key": 1}])", "key"},
      {R"("sg_list": {"addr": 1})", "sg_list"},
      {R"("sg_list": [{"addr": 0, "length": 4294967295}])", "up to 2147483648 are accepted"},
      {R"("send_flags": ["SEND_INLINE"])", "one of IBV_SEND_FENCE"},
      {R"("send_flags": "IBV_SEND_INLINE")", "send_flags"}};
  for (const auto& [members, what] : wrong)
    EXPECT_THAT(read_dump(dump_with(members), "f").error().text, HasSubstr(what)) << members;
}

TEST(Buffer, OfARead_IsNotInline) {
  const auto dump = read_dump(R"({"regions": [{"rkey": 1, "environment": "quiet"}],
"work_requests": [{"wr_id": 1, "opcode": "IBV_WR_RDMA_READ", "rkey": 1,
"send_flags": ["IBV_SEND_INLINE"]}]})",
                              "f");
  EXPECT_EQ(dump.error().text,
            "f:3: work_requests[0].send_flags[0]: only what sends bytes may have it");
}

}  // namespace
}  // namespace portcullis::failover
