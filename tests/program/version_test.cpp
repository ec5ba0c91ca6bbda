// SPDX-License-Identifier: BSD-3-Clause
#include "program/version.hpp"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>

#include "program/command_line.hpp"

namespace portcullis::program {
namespace {

using ::testing::MatchesRegex;
using ::testing::Optional;

TEST(Version, NamesProgramVersionAndCommit) {
  EXPECT_THAT(version_text("counter"),
              MatchesRegex("counter \\(portcullis [0-9.]+, commit untold\\)"));
}

TEST(Version, NoteStandsBehindTheCommit) {
  EXPECT_THAT(version_text("counter", "no probes"),
              MatchesRegex(".*, commit untold, no probes\\)"));
}

TEST(Version, OfANameWithArguments_IsItsFirstWord) {
  EXPECT_THAT(version_text("counter [EAL arguments] --"), MatchesRegex("counter \\(.*"));
}

TEST(Version, OfAnApplicationWithoutOne_IsAnsweredThoughAnOptionIsMissing) {
  CLI::App app("Counts.", "counter");
  unsigned count = 0;
  app.add_option("--count", count, "how many")->required();
  EXPECT_THAT(parse_arguments(app, {"--version"}).value(),
              Optional(version_text("counter") + "\n"));
}

}  // namespace
}  // namespace portcullis::program
