// SPDX-License-Identifier: BSD-3-Clause
//
// What the driver's own recording says of its commands, held against what the model wrote down on
// the other side of the queue.
#include "attach/recording_channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "attach/function.hpp"
#include "pmd/protection_domain.hpp"
#include "trace/recording.hpp"

namespace portcullis::attach {
namespace {

using ::testing::Each;
using ::testing::Gt;

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A function's life from its bring-up to its end, as both sides recorded it.
struct Recordings {
  Recordings() {
    const auto path = std::filesystem::path(::testing::TempDir()) /
                      ("recording_test." + std::to_string(getpid()) + ".trace");
    {
      auto opened = OpenDevice::open(
          parse_device("model,timing=cx5-16.35.4506,trace=" + path.string()).value());
      const auto function =
          Function::bring_up(*std::move(opened), {.on_command = [this](const auto& command) {
            driver.push_back(command);
          }}).value();
      auto pd = pmd::ProtectionDomain::create(function->context()).value();
      EXPECT_TRUE(pd.destroy());
    }
    model = trace::parse_recording(read(path), path.string()).value().commands;
    std::filesystem::remove(path);
    std::ranges::sort(driver, {}, &trace::TraceCommand::sequence);
  }
  std::vector<trace::TraceCommand> driver;
  std::vector<trace::TraceCommand> model;
};

std::vector<std::vector<std::byte>> inputs(const std::vector<trace::TraceCommand>& commands) {
  std::vector<std::vector<std::byte>> all;
  for (const auto& command : commands) all.push_back(command.in.bytes);
  return all;
}

std::vector<std::vector<std::byte>> outputs(const std::vector<trace::TraceCommand>& commands) {
  std::vector<std::vector<std::byte>> all;
  for (const auto& command : commands) all.push_back(command.out.bytes);
  return all;
}

TEST(RecordingChannel, FunctionsLife_IsWhatTheDeviceSaw) {
  const Recordings recorded;
  EXPECT_THAT(recorded.driver.size(), Gt(20u));
  EXPECT_EQ(inputs(recorded.driver), inputs(recorded.model));
  EXPECT_EQ(outputs(recorded.driver), outputs(recorded.model));
}

TEST(RecordingChannel, Times_AreThoseOfTheDeviceOrALittleMore) {
  const Recordings recorded;
  ASSERT_EQ(recorded.driver.size(), recorded.model.size());
  std::vector<std::uint64_t> more;
  std::ranges::transform(recorded.driver, recorded.model, std::back_inserter(more),
                         [](const auto& ours, const auto& theirs) {
                           return *ours.time_ns - *theirs.time_ns;  // wraps where it is less
                         });
  EXPECT_THAT(more, Each(::testing::Lt(1'000'000u)));
}

}  // namespace
}  // namespace portcullis::attach
