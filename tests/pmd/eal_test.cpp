// SPDX-License-Identifier: BSD-3-Clause
//
// The one EAL that a process can start. What has to start it does so in a child of its own (death
// tests), so that every test finds a process without one.
#include "pmd/eal.hpp"

#include <gmock/gmock.h>
#include <rte_eal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "pmd/lcores.hpp"

namespace portcullis::pmd {
namespace {

/// Runs in a child: says `what` on stderr and ends with 0 when it held.
void conclude(bool held, const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(held ? 0 : 1);
}

struct EalDeathTest : ::testing::Test {
  EalDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(EalDeathTest, ModelWithoutArguments_StartsUnprivilegedAndCleansUp) {
  EXPECT_EXIT(
      {
        std::string directory;
        {
          const auto eal = Eal::start({"prog"}, true);
          if (!eal) conclude(false, eal.error().text);
          directory = rte_eal_get_runtime_dir();
          if (directory.find("portcullis-") == std::string::npos) conclude(false, directory);
          if (!std::filesystem::exists(directory)) conclude(false, "no " + directory);
        }
        conclude(!std::filesystem::exists(directory), "the end");
      },
      ::testing::ExitedWithCode(0), "^the end\n$");
}

TEST_F(EalDeathTest, UnknownArgument_IsOneLineThatNamesIt) {
  EXPECT_EXIT(
      {
        const auto eal = Eal::start({"prog", "--devise=model"}, true);
        conclude(!eal && eal.error().text.find('\n') == std::string::npos,
                 eal ? "started" : eal.error().text);
      },
      ::testing::ExitedWithCode(0), "^the EAL refuses \"prog --devise=model\": .*'--devise=model'");
}

TEST_F(EalDeathTest, LcoreThatIsNotThere_IsOneLineThatNamesIt) {
  EXPECT_EXIT(
      {
        const auto eal = Eal::start({"prog", "--no-huge", "--no-pci", "--no-shconf", "-m", "64",
                                     "--file-prefix=portcullis-lcores", "-l", "127"},
                                    true);
        conclude(!eal, eal ? "started" : eal.error().text);
      },
      ::testing::ExitedWithCode(0), "^the EAL refuses .*lcore 127 unavailable");
}

void limit_open_files(rlim_t most) {
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) conclude(false, "setrlimit");
}

TEST_F(EalDeathTest, TooFewFilesMayBeOpen_IsOneLineThatSaysHowManyAreNeeded) {
  EXPECT_EXIT(
      {
        limit_open_files(16);
        const auto eal = Eal::start({"prog"}, true);
        conclude(!eal && eal.error().text.find('\n') == std::string::npos,
                 eal ? "started" : eal.error().text);
      },
      ::testing::ExitedWithCode(0), "^16 files may be open and .* ulimit -n [0-9]+ is accepted\n$");
}

/// It asks for workers, whose pipes are more than may be open, in a way that is not looked at
/// before. The lines before are rte_dump_stack's, which writes to the descriptor.
TEST_F(EalDeathTest, EalThatPanics_SaysWhyInItsLastLineAndIsNoSignal) {
  EXPECT_EXIT(
      {
        limit_open_files(40);
        const auto eal =
            Eal::start({"prog", "--no-huge", "--no-pci", "--no-shconf", "-m", "64",
                        "--no-telemetry", "--file-prefix=portcullis-panic", "--lcores", "(0-31)@0"},
                       true);
        conclude(!eal, eal ? "started" : eal.error().text);
      },
      ::testing::ExitedWithCode(0),
      "the EAL refuses .*: PANIC in rte_eal_init\\(\\): Cannot create pipe\n$");
}

/// 400 lines of another thread, by the C library and by the descriptor, while the EAL refuses
/// arguments and prints its usage each time.
void print_beside_the_eal() {
  std::array<int, 2> ends{};
  std::fflush(stdout);  // what the test program had to say before
  if (pipe(ends.data()) != 0) conclude(false, "pipe");
  dup2(ends[1], STDOUT_FILENO);
  std::string wanted;
  for (int line = 0; line < 400; ++line) wanted += "a line\n";
  std::atomic<bool> is_done = false;
  std::thread other([&is_done] {
    for (int line = 0; line < 200; ++line) {
      std::printf("a line\n");
      std::fflush(stdout);
      if (write(STDOUT_FILENO, "a line\n", 7) != 7) conclude(false, "write");
    }
    is_done = true;
  });
  bool all_refused = true;
  do {
    all_refused = all_refused && !Eal::start({"prog", "--devise=model"}, true);
  } while (!is_done);
  other.join();
  std::fflush(stdout);
  std::string got(2 * wanted.size(), '\0');
  got.resize(static_cast<std::size_t>(read(ends[0], got.data(), got.size())));
  conclude(all_refused && got == wanted, got == wanted ? "all there" : got);
}

TEST_F(EalDeathTest, WhatAnotherThreadPrints_ArrivesWholeAndAlone) {
  EXPECT_EXIT(print_beside_the_eal(), ::testing::ExitedWithCode(0), "all there\n$");
}

TEST_F(EalDeathTest, Work_RunsOnAWorkerLcoreAndIsWaitedFor) {
  EXPECT_EXIT(
      {
        const auto eal = Eal::start({"prog", "--no-huge", "--no-pci", "--no-shconf", "-m", "64",
                                     "--file-prefix=portcullis-work", "--lcores", "0@0,1@0"},
                                    true);
        if (!eal) conclude(false, eal.error().text);
        std::filesystem::remove_all(rte_eal_get_runtime_dir());
        std::atomic<bool> ran = false;
        {
          const auto task = LcoreTask::launch(1, [&ran] { ran = true; });
          if (!task) conclude(false, task.error().text);
        }
        const auto refused = LcoreTask::launch(7, [] {});
        conclude(ran && !refused && Eal::worker_lcores().size() == 1 && eal_lcores().size() == 2,
                 refused ? "launched" : refused.error().text);
      },
      ::testing::ExitedWithCode(0), "lcore 7 is no worker lcore; there are: 1");
}

}  // namespace
}  // namespace portcullis::pmd
