// SPDX-License-Identifier: BSD-3-Clause
//
// Signals as flags. What ends a process does so in a child (death tests).
#include "program/signals.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace portcullis::program {
namespace {

std::atomic<bool> asked{false};
std::atomic<bool> other{false};

struct SignalsDeathTest : ::testing::Test {
  SignalsDeathTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    asked = false;
    other = false;
  }
};

TEST_F(SignalsDeathTest, AskEachTime_EverySignalSetsTheFlagAgain) {
  ask_each_time(SIGUSR1, asked);
  std::raise(SIGUSR1);
  const bool was_asked = asked.exchange(false);
  std::raise(SIGUSR1);
  EXPECT_TRUE(was_asked);
  EXPECT_TRUE(asked);
}

TEST_F(SignalsDeathTest, AskOnce_FirstSignalSetsTheFlagAndTheProgramGoesOn) {
  ask_once(SIGUSR2, asked);
  std::raise(SIGUSR2);
  EXPECT_TRUE(asked);
}

TEST_F(SignalsDeathTest, AskOnce_SecondSignalEndsTheProgram) {
  EXPECT_EXIT(
      {
        ask_once(SIGUSR2, asked);
        std::raise(SIGUSR2);
        std::raise(SIGUSR2);
        std::exit(0);
      },
      ::testing::KilledBySignal(SIGUSR2), "");
}

TEST_F(SignalsDeathTest, TwoSignalsWithAFlagEach_SetTheirOwn) {
  ask_each_time(SIGUSR1, asked);
  ask_each_time(SIGURG, other);
  std::raise(SIGURG);
  EXPECT_FALSE(asked);
  EXPECT_TRUE(other);
}

TEST_F(SignalsDeathTest, SecondSignalOfAMoment_IsTheFirst) {
  EXPECT_EXIT(
      {
        constexpr std::uint64_t kHourMs = 3'600'000;
        heed_stop_signals_once_a_moment(asked, kHourMs);
        std::raise(SIGTERM);
        std::raise(SIGTERM);
        std::exit(asked ? 3 : 4);
      },
      ::testing::ExitedWithCode(3), "");
}

TEST_F(SignalsDeathTest, SecondSignalBehindTheMoment_EndsTheProgram) {
  EXPECT_EXIT(
      {
        heed_stop_signals_once_a_moment(asked, 0);
        std::raise(SIGTERM);
        std::raise(SIGTERM);
        std::exit(0);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST_F(SignalsDeathTest, HeedStopSignals_BothAskForTheEndOfTheProgram) {
  EXPECT_EXIT(
      {
        heed_stop_signals(asked);
        std::raise(SIGINT);
        const bool by_sigint = asked.exchange(false);
        std::raise(SIGTERM);
        std::exit(by_sigint && asked ? 3 : 4);
      },
      ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace portcullis::program
