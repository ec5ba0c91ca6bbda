// SPDX-License-Identifier: BSD-3-Clause
//
// What a program writes to a file that the user named: whole or not at all, never through a link.
#include "program/output_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/unique_fd.hpp"

namespace portcullis::program {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class OutputFile : public ::testing::Test {
 public:
  ~OutputFile() override { std::filesystem::remove_all(folder); }

 protected:
  OutputFile() {
    std::string pattern = ::testing::TempDir() + "outputXXXXXX";
    folder = mkdtemp(pattern.data());
    path = (folder / "file").string();
  }

  static std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static unsigned mode_of(const std::string& file) {
    struct stat found {};
    EXPECT_EQ(lstat(file.c_str(), &found), 0);
    return found.st_mode & 0777U;
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder), {});
  }

  std::filesystem::path folder;
  std::string path;
};

TEST_F(OutputFile, TextIsTheWholeFileAndNothingElseIsLeft) {
  std::ofstream(path) << "what was there, and longer";

  ASSERT_TRUE(write_output(path, "new"));

  EXPECT_EQ(text_of(path), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, SymbolicLink_IsRefusedAndWhatItNamesStays) {
  const auto target = folder / "target";
  std::ofstream(target) << "precious";
  std::filesystem::create_symlink(target, path);

  const auto written = write_output(path, "new");

  EXPECT_THAT(written.error().text, StartsWith(path + " cannot be written: it is a symbolic link"));
  EXPECT_EQ(text_of(target), "precious");
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST_F(OutputFile, LinkToNothing_IsRefusedAndNothingIsMade) {
  std::filesystem::create_symlink(folder / "target", path);

  EXPECT_FALSE(write_output(path, "new"));

  EXPECT_FALSE(std::filesystem::exists(folder / "target"));
}

TEST_F(OutputFile, OnlyOwner_IsReadByNobodyElse) {
  ASSERT_TRUE(write_output(path, "a key", kOnlyOwner));

  EXPECT_EQ(mode_of(path), 0600U);
}

TEST_F(OutputFile, OnlyOwner_TakesWhatAFileThatWasThereGaveToOthers) {
  std::ofstream(path) << "old";
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);

  ASSERT_TRUE(write_output(path, "a key", kOnlyOwner));

  EXPECT_EQ(mode_of(path), 0600U);
}

TEST_F(OutputFile, FileThatWasPrivate_StaysPrivate) {
  std::ofstream(path) << "old";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);

  ASSERT_TRUE(write_output(path, "new"));

  EXPECT_EQ(mode_of(path), 0600U);
}

TEST_F(OutputFile, OtherNameOfTheFile_KeepsWhatWasThere) {
  std::ofstream(path) << "old";
  std::filesystem::create_hard_link(path, folder / "other");

  ASSERT_TRUE(write_output(path, "new"));

  EXPECT_EQ(text_of(folder / "other"), "old");
}

TEST_F(OutputFile, WhatWouldBeRefused_IsToldBefore) {
  std::filesystem::create_symlink(folder / "target", path);

  EXPECT_THAT(check_output(path).error().text, HasSubstr("it is a symbolic link"));
  EXPECT_THAT(check_output(folder.string()).error().text, HasSubstr("it is no plain file"));
  EXPECT_THAT(check_output(path + "s/file").error().text, HasSubstr("No such file or directory"));
}

TEST_F(OutputFile, WhatWouldBeWritten_IsNotTouchedBefore) {
  EXPECT_TRUE(check_output(path));
  EXPECT_TRUE(check_output("/dev/null"));
  EXPECT_EQ(files(), 0);
}

TEST_F(OutputFile, Folder_IsRefused) {
  EXPECT_THAT(write_output(folder.string(), "new").error().text, StartsWith(folder.string()));
  EXPECT_EQ(files(), 0);
}

TEST_F(OutputFile, FolderThatIsNotThere_IsNamed) {
  EXPECT_THAT(write_output(path + "/x", "new").error().text,
              HasSubstr("file/x cannot be written: "));
}

TEST_F(OutputFile, Device_IsWrittenInItsPlace) {
  ASSERT_TRUE(write_output("/dev/null", "new"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(OutputFile, FullDevice_IsAnErrorThatNamesIt) {
  EXPECT_EQ(write_output("/dev/full", "new").error().text,
            "/dev/full cannot be written: No space left on device");
}

TEST_F(OutputFile, PipeThatNobodyReads_IsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);

  EXPECT_THAT(write_output(path, "new").error().text, HasSubstr("nobody reads the pipe"));
}

TEST_F(OutputFile, PipeThatIsRead_GetsTheText) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const UniqueFd reader(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));

  ASSERT_TRUE(write_output(path, "new"));

  std::string got(8, '\0');
  EXPECT_EQ(read(reader.get(), got.data(), got.size()), 3);
}

TEST(CheckOutputs, TwoOfOneName_AreRefused_ButThoseThatKeepNothing) {
  const auto refused = check_outputs({{"--a", "x/y"}, {"--b", ""}, {"--c", "./x//y"}}, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().text, "--c ./x//y: --a is written there; two files are accepted");
  EXPECT_TRUE(check_outputs({{"--a", "/dev/null"}, {"--b", "/dev/null"}}, {}).has_value());
}

}  // namespace
}  // namespace portcullis::program
