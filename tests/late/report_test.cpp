// SPDX-License-Identifier: BSD-3-Clause
//
// What late-write says of its runs, and what it draws.
#include "tools/late_write/report.hpp"

#include <gmock/gmock.h>

#include "tests/late/findings.hpp"
#include "tools/late_write/picture.hpp"

namespace portcullis::tools::late_write {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Report, OfWhatIsShown_CountsItsRunsAndSaysWhatNobodyLookedAt) {
  EXPECT_THAT(describe({}, late::made_up()),
              AllOf(HasSubstr("in any of the 4 runs"), HasSubstr("in 1\n    of 1 runs"),
                    HasSubstr("not looked at: a card"), Not(HasSubstr("NOT SHOWN"))));
}

TEST(Report, EveryRun_HasItsRow) {
  const std::string text = describe({}, late::made_up());
  EXPECT_THAT(text, HasSubstr("every rule              5000 ms"));
  EXPECT_THAT(text, HasSubstr("the key byte alone"));
  EXPECT_THAT(text, HasSubstr("dead key"));
  EXPECT_THAT(text, HasSubstr("lost, yet acknowledged"));
}

TEST(Report, OfTheBound_SaysOfWhichFramesAndFabric) {
  EXPECT_THAT(describe({}, late::made_up()),
              AllOf(HasSubstr("10 Gb/s, XOFF 400 KB"), HasSubstr("84 to 4222 bytes"),
                    HasSubstr("at most 19500 us"), HasSubstr("residence_ms 20")));
}

TEST(Report, OfWhatIsNotShown_ClaimsNothing) {
  late::Findings findings = late::made_up();
  findings.defences[1].seen.late.paused_ns = 0;
  EXPECT_THAT(describe({}, findings), AllOf(HasSubstr("NOT SHOWN: the run with the rest alone"),
                                            Not(HasSubstr("\nshown"))));
}

TEST(Report, WhenStopped_SaysThatAndHasNoRows) {
  late::Findings findings = late::made_up();
  findings.is_stopped = true;
  EXPECT_THAT(describe({}, findings),
              AllOf(HasSubstr("NOT SHOWN: stopped"), Not(HasSubstr("every rule "))));
}

TEST(Picture, HasTheBoundAndTheWriteAsLines) {
  const std::string svg = picture({}, late::made_up());
  EXPECT_THAT(svg, AllOf(HasSubstr("the fabric&apos;s bound"), HasSubstr("the WRITE came"),
                         HasSubstr("</svg>")));
}

}  // namespace
}  // namespace portcullis::tools::late_write
