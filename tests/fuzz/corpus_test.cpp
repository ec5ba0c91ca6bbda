// SPDX-License-Identifier: BSD-3-Clause
//
// Every input of the corpus once, in builds without libFuzzer. What an input must not do is break
// anything; the target itself checks that nothing stays behind, and LeakSanitizer, where it is in,
// that no memory is lost while what the target keeps from input to input still lives.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/sanitizers.hpp"

#if PORTCULLIS_ASAN
#include <sanitizer/lsan_interface.h>
#endif

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

namespace {

#if PORTCULLIS_ASAN
bool has_lost_memory() { return __lsan_do_recoverable_leak_check() != 0; }
#else
bool has_lost_memory() { return false; }
#endif

std::vector<std::string> inputs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(PORTCULLIS_FUZZ_CORPUS))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class FuzzCorpus : public ::testing::TestWithParam<std::string> {};

TEST_P(FuzzCorpus, Input_IsTakenOrRefusedWithoutHarm) {
  std::ifstream file(std::filesystem::path(PORTCULLIS_FUZZ_CORPUS) / GetParam(), std::ios::binary);
  ASSERT_TRUE(file);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  EXPECT_EQ(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()), 0);
  EXPECT_FALSE(has_lost_memory());
}

INSTANTIATE_TEST_SUITE_P(Corpus, FuzzCorpus, ::testing::ValuesIn(inputs()),
                         [](const auto& info) { return info.param; });

}  // namespace
