// SPDX-License-Identifier: BSD-3-Clause
//
// What the runs together show: once for real, and then with each part of it missing, which must be
// told.
#include "late/conclusion.hpp"

#include <gmock/gmock.h>

#include <atomic>

#include "tests/late/findings.hpp"

namespace portcullis::late {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

TEST(Conclusion, OfRealRuns_IsShown) {
  Wanted wanted;
  const auto findings = look(wanted);
  ASSERT_TRUE(findings) << findings.error().text;
  EXPECT_EQ(why_not_shown(*findings), std::nullopt);
  EXPECT_GT(findings->rests.size(), 4U);
  EXPECT_TRUE(findings->rests_for_bound(findings->rests.back()));
}

TEST(Conclusion, WithoutLoad_IsThatNothingWasHeldBack) {
  Wanted wanted;
  wanted.setup.ring.has_loads = false;
  wanted.rests_ms = {1};
  EXPECT_THAT(why_not_shown(look(wanted).value()),
              Optional(HasSubstr("no PAUSE held it back until the fence")));
}

TEST(Conclusion, WithoutPause_IsThatNothingWasHeldBack) {
  Wanted wanted;
  wanted.setup.ring.pauses = false;
  wanted.rests_ms = {1};
  EXPECT_THAT(why_not_shown(look(wanted).value()),
              Optional(HasSubstr("no PAUSE held it back until the fence")));
}

TEST(Conclusion, OfAFabricWithoutABound_IsNone) {
  Wanted wanted;
  wanted.setup.ring.is_clockwise = true;
  EXPECT_THAT(look(wanted).error().text, HasSubstr("no bound"));
}

TEST(Conclusion, OfWhatWasMadeUp_IsShown) { EXPECT_EQ(why_not_shown(made_up()), std::nullopt); }

TEST(Conclusion, WhenStopped_IsNotShown) {
  Wanted wanted;
  const std::atomic<bool> stop = true;
  wanted.setup.is_stopped = &stop;
  EXPECT_THAT(why_not_shown(look(wanted).value()), Optional(HasSubstr("stopped")));
}

TEST(Conclusion, WhenTheWriteNeverCame_SaysSo) {
  Findings findings = made_up();
  findings.rests[0].seen.late.fate = Passage::Fate::Dropped;
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("never came")));
}

TEST(Conclusion, WhenNoQueueOnItsWayWasPaused_SaysThatNothingWasHeldBack) {
  Findings findings = made_up();
  findings.defences[0].seen.late.paused_ns = 0;
  EXPECT_THAT(why_not_shown(findings),
              Optional(HasSubstr("no PAUSE held it back until the fence")));
}

TEST(Conclusion, WhenTheWriteWasSentBehindTheFence_SaysThatNothingWasHeldBack) {
  Findings findings = made_up();
  findings.defences[0].seen.sent_us = 1;
  EXPECT_THAT(why_not_shown(findings),
              Optional(HasSubstr("no PAUSE held it back until the fence")));
}

TEST(Conclusion, WhenBytesWereComparedBeforeItCame_SaysSo) {
  Findings findings = made_up();
  findings.defences[2].seen.compared_us = 4'999;
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("bytes were compared 4999 us behind")));
}

/// 320 ms behind the fence, and longer than the rests of two runs and 200 ms.
TEST(Conclusion, OfAWriteThatComesLongBehindTheRests_WaitsForIt) {
  Wanted wanted;
  wanted.setup.ring.gbps = 1;
  wanted.setup.ring.xoff_kb = 4000;
  wanted.setup.settle_ms = 1000;
  wanted.rests_ms = {1, 2000};
  const Findings findings = look(wanted).value();
  EXPECT_EQ(why_not_shown(findings), std::nullopt);
  EXPECT_GT(findings.rests[0].seen.arrived_us, 300'000);
  EXPECT_EQ(findings.rests[0].seen.changed_next, 64U);
  EXPECT_EQ(findings.defences[2].seen.met, Met::DeadKey);
  EXPECT_EQ(findings.defences[3].seen.met, Met::WrongPsn);
}

TEST(Conclusion, WhenItCameLaterThanTheBound_SaysSo) {
  Findings findings = made_up();
  findings.bound_us = 4'000;
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("the bound is 4000 us")));
}

TEST(Conclusion, WhenANumberOrAKeyDidNotComeBack_SaysSo) {
  Findings findings = made_up();
  findings.rests[1].seen.same_key = false;
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("the key was not given again")));
  findings.rests[1].seen.same_number = false;
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("the number was not given again")));
}

TEST(Conclusion, WhenADefenceAloneDidNotHold_SaysSo) {
  Findings findings = made_up();
  findings.defences[2].seen.changed_next = 64;
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("the key byte alone")));
}

TEST(Conclusion, WhenTheWriteMetNoKeyToBeAskedFor_SaysSo) {
  Findings findings = made_up();
  findings.defences[2].seen.next_us = 6'000;
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("met neither key nor PSN")));
}

TEST(Conclusion, WhenTheFencedRegionChanged_SaysSo) {
  Findings findings = made_up();
  findings.defences[0].seen.changed_before = 1;
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("1 bytes changed")));
}

TEST(Conclusion, WhenThePlantedViolationWasNotSeen_SaysSo) {
  Findings findings = made_up();
  findings.rests[0].seen.changed_next = 0;
  findings.rests[0].seen.violation.reset();
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("nobody saw a byte change")));
}

TEST(Conclusion, WhenBytesChangedThoughTheNumberRested_SaysSo) {
  Findings findings = made_up();
  findings.rests[1].seen.changed_next = 64;
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("nobody's number")));
}

TEST(Conclusion, WhenTheBoundWasTooShortForWhatCame_SaysSo) {
  Findings findings = made_up();
  findings.rests[1].seen.next_us = 1'000;
  findings.rests[1].seen.changed_next = 64;
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("though it rests for the bound")));
}

TEST(Conclusion, WithoutAShortRest_SaysThatNoViolationWasSeen) {
  Findings findings = made_up();
  findings.rests.erase(findings.rests.begin());
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("no rest was so short")));
}

TEST(Conclusion, WithoutARestOfTheBound_SaysSo) {
  Findings findings = made_up();
  findings.rests.pop_back();
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("as long as the bound")));
}

TEST(Conclusion, WhenTheOtherLeaseWasDisturbed_SaysSo) {
  Findings findings = made_up();
  findings.rests[0].seen.is_other_undisturbed = false;
  EXPECT_THAT(why_not_shown(findings), Optional(HasSubstr("was disturbed")));
}

}  // namespace
}  // namespace portcullis::late
