// SPDX-License-Identifier: BSD-3-Clause
//
// Damaged files: whatever is done to a valid one, the readers say what they make of it and never
// more. Seeds are fixed; a failure names its own.
#include <gtest/gtest.h>

#include <random>

#include "tests/trace/command_bytes.hpp"
#include "trace/compare.hpp"
#include "trace/dmesg_import.hpp"
#include "trace/recording.hpp"

namespace portcullis::testing {
namespace {

using trace::Recording;

constexpr std::uint32_t kSeedsOfABlock = 50;
constexpr std::string_view kData = PORTCULLIS_TRACE_DATA;

/// Bytes that mean something to the readers, and some that mean nothing to anybody.
constexpr std::string_view kAlphabet = "0123456789abcdefx:[]<>() \n\r\t.-_\0\x7f\xff{}";

/// Cuts, repeats, exchanges and overwrites pieces of the text.
std::string mutated(std::string text, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&random](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t edits = 1 + below(30); edits-- != 0;) {
    const std::size_t at = below(text.size());
    const std::size_t length = std::min(below(200), text.size() - at);
    switch (below(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(below(text.size()), text.substr(at, length));
        break;
      case 2:
        text.insert(at, std::string(1, kAlphabet[below(kAlphabet.size())]));
        break;
      case 3:
        text.resize(text.size() - std::min(text.size(), below(20)));
        break;
      default:
        text.replace(at, std::min<std::size_t>(1, text.size() - at),
                     std::string(1, kAlphabet[below(kAlphabet.size())]));
    }
  }
  return text;
}

/// Empty when the recording can be written and read again, and is the same as itself.
std::string problem(const Recording& recording) {
  const std::string text = to_text(recording);
  const auto again = trace::parse_recording(text, "again");
  if (!again) return again.error().text;
  if (to_text(*again) != text) return "the text changes when it is read and written";
  return compare(recording, *again, trace::Rules{}).is_same() ? "" : "unlike itself";
}

std::string problem_of_log(const std::string& text) {
  const auto imported = trace::import_log(text, "x.log", "");
  if (imported) return problem(imported->recording);
  return imported.error().text.find('\n') == std::string::npos ? "" : "several lines";
}

std::string problem_of_recording(const std::string& text) {
  const auto recording = trace::parse_recording(text, "x.trace");
  if (recording) return problem(*recording);
  return recording.error().text.starts_with("x.trace:") ? "" : recording.error().text;
}

/// Seeds of a block and what is wrong with them; empty when nothing is.
std::string problems(std::string_view file, std::string (*problem_of)(const std::string&),
                     std::uint32_t first_seed) {
  const std::string text = text_of_file(std::filesystem::path(kData) / file);
  std::string all;
  for (std::uint32_t seed = first_seed; seed < first_seed + kSeedsOfABlock; ++seed)
    if (const std::string what = problem_of(mutated(text, seed)); !what.empty())
      all += "seed " + std::to_string(seed) + ": " + what + "\n";
  return all;
}

class MutationTest : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(MutationTest, OfALog_GivesACoherentRecordingOrOneLine) {
  EXPECT_EQ(problems("connectx4_bringup.log", problem_of_log, GetParam()), "");
}

TEST_P(MutationTest, OfARecording_GivesACoherentRecordingOrFileAndLine) {
  EXPECT_EQ(problems("connectx4_bringup.trace", problem_of_recording, GetParam()), "");
}

INSTANTIATE_TEST_SUITE_P(Robustness, MutationTest, ::testing::Range(0u, 300u, kSeedsOfABlock));

}  // namespace
}  // namespace portcullis::testing
