// SPDX-License-Identifier: BSD-3-Clause
//
// The lines that a program prints about its driver and leases: each once, and not without end.
#include "program/log_line.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <memory>

namespace portcullis::program {
namespace {

/// A file of this process alone, and what is in it.
class LogLine : public testing::Test {
 protected:
  [[nodiscard]] std::FILE* file() const { return file_.get(); }
  [[nodiscard]] std::string text() const {
    std::rewind(file());
    std::string all;
    std::array<char, 4096> part{};
    while (const std::size_t bytes = std::fread(part.data(), 1, part.size(), file()))
      all.append(part.data(), bytes);
    return all;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), &std::fclose};
};

TEST_F(LogLine, SameLineTwice_IsToldOnceBehindTheProgramsName) {
  const auto log = log_once_to(file(), "revoke_bench");

  log("the link of port 1 is down");
  log("the link of port 1 is up");
  log("the link of port 1 is down");

  EXPECT_EQ(text(),
            "revoke_bench: the link of port 1 is down\nrevoke_bench: the link of port 1 is up\n");
}

TEST_F(LogLine, MoreThanAnybodyReads_IsLeftOutAndThatIsTold) {
  const auto log = log_once_to(file(), "p");

  for (std::size_t i = 0; i < kMostLogLines + 50; ++i) log("slot " + std::to_string(i));

  EXPECT_THAT(text(), testing::EndsWith("p: slot 199\np: there is more to tell; it is left out\n"));
}

}  // namespace
}  // namespace portcullis::program
