// SPDX-License-Identifier: BSD-3-Clause
//
// What the model records of a driver's bring-up and teardown, read back and compared.
#include <gmock/gmock.h>

#include "attach/open_device.hpp"
#include "base/result.hpp"
#include "pmd/hca.hpp"
#include "prm/enums.hpp"
#include "prm/status.hpp"
#include "tests/trace/command_bytes.hpp"
#include "trace/compare.hpp"
#include "trace/recording.hpp"

namespace portcullis::testing {
namespace {

using model::CommandFaultRule;
using prm::Opcode;
using ::testing::HasSubstr;
using trace::Recording;
using trace::TraceCommand;

class ModelRecording : public ::testing::Test {
 public:
  ModelRecording() {
    std::string name = (std::filesystem::temp_directory_path() / "trace-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ModelRecording() override { std::filesystem::remove_all(folder_); }

 protected:
  [[nodiscard]] std::string path() const { return (folder_ / "x.trace").string(); }

  /// Brings a function up and tears it down again, as far as the fault lets it.
  Recording record(std::string_view device, const CommandFaultRule* fault = nullptr) {
    {
      const auto spec = attach::parse_device("model,trace=" + path() + std::string(device));
      auto opened = attach::OpenDevice::open(spec.value());
      EXPECT_TRUE(opened.has_value());
      if (fault != nullptr) opened->model()->inject(*fault);
      auto hca = pmd::Hca::bring_up(opened->device());
      if (hca) static_cast<void>((*hca)->tear_down());
    }
    auto recording = trace::parse_recording(text_of_file(path()), path());
    EXPECT_TRUE(recording.has_value()) << recording.error().text;
    return std::move(recording).value_or(Recording{});
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(ModelRecording, BringUpAndTeardown_AreThereFromEnableToDisable) {
  const Recording recording = record("");
  ASSERT_GT(recording.commands.size(), 10u);
  EXPECT_EQ(recording.commands.front().opcode(), Opcode::ENABLE_HCA);
  EXPECT_EQ(recording.commands.back().opcode(), Opcode::DISABLE_HCA);
  EXPECT_THAT(recording.source, HasSubstr("timing=instant"));
  for (const TraceCommand& command : recording.commands) {
    EXPECT_EQ(command.status(), 0) << trace::trace_title(command);
    EXPECT_EQ(command.sequence, static_cast<std::size_t>(&command - recording.commands.data()) + 1);
  }
}

TEST_F(ModelRecording, SameSeedTwice_IsTheSameToTheLastBit) {
  const Recording first = record(",seed=7,timing=cx5-16.35.4506");
  const Recording second = record(",seed=7,timing=cx5-16.35.4506");
  EXPECT_TRUE(compare(first, second, trace::Rules{}).is_same());
}

TEST_F(ModelRecording, OtherTiming_DiffersInTimeAlone) {
  const Recording instant = record("");
  const Recording timed = record(",timing=cx5-16.35.4506");
  EXPECT_TRUE(compare(instant, timed, trace::Rules::usual()).is_same());
  EXPECT_FALSE(compare(instant, timed, trace::Rules{}).is_same());
}

TEST_F(ModelRecording, RefusedCommand_HasItsStatusAndSyndrome) {
  CommandFaultRule fault;
  fault.opcode = prm::number(Opcode::ALLOC_UAR);
  fault.status = prm::number(prm::CommandStatus::LIM_ERR);
  fault.syndrome = 0x2a;
  const Recording recording = record("", &fault);
  const auto refused = std::ranges::find(recording.commands, Opcode::ALLOC_UAR,
                                         [](const TraceCommand& c) { return c.opcode(); });
  ASSERT_NE(refused, recording.commands.end());
  EXPECT_EQ(refused->status(), prm::number(prm::CommandStatus::LIM_ERR));
  EXPECT_EQ(refused->syndrome(), 0x2au);
}

TEST_F(ModelRecording, CommandThatNeverReturns_IsThereWithoutAnAnswer) {
  CommandFaultRule fault;
  fault.opcode = prm::number(Opcode::INIT_HCA);
  fault.kind = CommandFaultRule::Kind::NeverReturns;
  const Recording recording = record("", &fault);
  const auto lost = std::ranges::find(recording.commands, Opcode::INIT_HCA,
                                      [](const TraceCommand& c) { return c.opcode(); });
  ASSERT_NE(lost, recording.commands.end());
  EXPECT_EQ(lost->answer, trace::TraceAnswer::None);
  EXPECT_EQ(lost->time_ns, std::nullopt);
}

TEST(ModelTrace, FileThatCannotBeWritten_IsAnErrorWithItsName) {
  const auto refused =
      attach::OpenDevice::open(attach::parse_device("model,trace=/nowhere/x").value());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::System);
  EXPECT_THAT(refused.error().text, HasSubstr("/nowhere/x"));
}

TEST(ModelTrace, FullDisk_IsAnErrorAtTheStart) {
  const auto refused =
      attach::OpenDevice::open(attach::parse_device("model,trace=/dev/full").value());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().text, HasSubstr("No space left"));
}

}  // namespace
}  // namespace portcullis::testing
