// SPDX-License-Identifier: BSD-3-Clause
//
// The files that commands and packets are recorded to: not through a link, and not cut in silence.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "model/transport/pcap.hpp"
#include "trace/recording_file.hpp"
#include "trace/trace_file.hpp"

namespace portcullis::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordingFile : public ::testing::Test {
 public:
  ~RecordingFile() override { std::filesystem::remove_all(folder); }

 protected:
  RecordingFile() {
    std::string pattern = ::testing::TempDir() + "recordingXXXXXX";
    folder = mkdtemp(pattern.data());
    path = (folder / "file").string();
    std::signal(SIGPIPE, SIG_IGN);  // as every program does
  }

  /// Stands for a disk that fills: it takes what is written until this is destroyed.
  [[nodiscard]] UniqueFd reader_of_pipe() const {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    return UniqueFd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  OnRecordingLost keep() {
    return [this](std::string_view line) { told.emplace_back(line); };
  }

  std::filesystem::path folder;
  std::string path;
  std::vector<std::string> told;
};

TEST_F(RecordingFile, IsEmptiedFirst) {
  std::ofstream(path) << "what was there";

  ASSERT_TRUE(open_recording(path));

  EXPECT_EQ(std::filesystem::file_size(path), 0U);
}

TEST_F(RecordingFile, SymbolicLink_IsRefusedByTraceAndCapture) {
  std::ofstream(folder / "target") << "precious";
  std::filesystem::create_symlink(folder / "target", path);

  EXPECT_THAT(TraceFile::create(path, "test").error().text, HasSubstr("it is a symbolic link"));
  EXPECT_THAT(model::PcapWriter::create(path).error().text, HasSubstr("it is a symbolic link"));
  EXPECT_EQ(std::filesystem::file_size(folder / "target"), 8U);
}

TEST_F(RecordingFile, FullDisk_IsRefusedAtTheStart) {
  EXPECT_THAT(TraceFile::create("/dev/full", "test").error().text, HasSubstr("No space left"));
  EXPECT_THAT(model::PcapWriter::create("/dev/full").error().text, HasSubstr("/dev/full"));
}

TEST_F(RecordingFile, PipeThatNobodyReads_IsRefusedUnopened) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);

  EXPECT_THAT(open_recording(path).error().text, HasSubstr("nobody reads the pipe"));
}

TEST_F(RecordingFile, TraceThatIsCut_IsToldOnce) {
  UniqueFd reader = reader_of_pipe();
  const auto trace = TraceFile::create(path, "test", keep()).value();
  trace->write({});
  EXPECT_THAT(told, IsEmpty());

  reader.reset();
  trace->write({});
  trace->write({});

  EXPECT_THAT(told, ElementsAre(HasSubstr("trace file " + path + " cannot be written: ")));
}

TEST_F(RecordingFile, CaptureThatIsCut_IsToldOnce) {
  UniqueFd reader = reader_of_pipe();
  auto writer = model::PcapWriter::create(path, model::PortType::Ethernet, keep()).value();
  const std::array<std::byte, 64> frame{};
  writer->write(frame, 0);

  reader.reset();
  for (int i = 0; i < 1000; ++i) writer->write(frame, 0);
  writer.reset();

  EXPECT_THAT(told, ElementsAre(HasSubstr("pcap file " + path + " cannot be written: ")));
}

/// What is still in a buffer when the capture ends is written then, or not.
TEST_F(RecordingFile, LastFramesOfACaptureThatAreLost_AreTold) {
  UniqueFd reader = reader_of_pipe();
  auto writer = model::PcapWriter::create(path, model::PortType::Ethernet, keep()).value();
  const std::array<std::byte, 64> frame{};
  writer->write(frame, 0);

  reader.reset();
  writer.reset();

  EXPECT_EQ(told.size(), 1U);
}

}  // namespace
}  // namespace portcullis::trace
