// SPDX-License-Identifier: BSD-3-Clause
//
// The journal's thread over a file that can be written and one that cannot.
#include "service/daemon/recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace portcullis::service::daemon {
namespace {

using testing::HasSubstr;

const Served kOn{.name = "0000:03:00.0", .was_reset = true};

class RecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "portcullis-recorder-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override {
    recorder_.reset();
    std::filesystem::remove_all(folder_);
  }

  void start(std::optional<Journal> journal) {
    recorder_ = std::make_unique<Recorder>(
        std::move(journal), Recorder::Options{.tell = [this](const Recorded& done) { note(done); },
                                              .unix_ms = [] { return std::uint64_t{5000}; },
                                              .keep_ms = 0,
                                              .wrote = [this](std::uint64_t) { note_write(); },
                                              .log =
                                                  [this](std::string_view line) {
                                                    const std::lock_guard<std::mutex> one(lock_);
                                                    log_.emplace_back(line);
                                                  }});
  }
  void note(const Recorded& done) {
    const std::lock_guard<std::mutex> one(lock_);
    told_.push_back(done);
    changed_.notify_all();
  }
  void note_write() {
    const std::lock_guard<std::mutex> one(lock_);
    ++writes_;
    changed_.notify_all();
  }
  /// False after a time that no machine needs, and before the recorder looks by itself.
  bool has_written(int times) {
    std::unique_lock<std::mutex> one(lock_);
    return changed_.wait_for(one, std::chrono::seconds(30), [&] { return writes_ >= times; });
  }
  Recorded told(std::size_t nth) {
    std::unique_lock<std::mutex> one(lock_);
    changed_.wait(one, [&] { return told_.size() > nth; });
    return told_[nth];
  }
  static ToRecord grant(Ticket ticket) {
    return {.ticket = ticket,
            .entry = Record{.name = {.id = ticket, .epoch = 1}, .tenant = 7, .bytes = 4096}};
  }
  static ToRecord ending(Ticket of) {
    return {.entry = Ending{.name = {.id = of, .epoch = 1}, .tenant = 7, .unix_ms = 10}};
  }
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "journal"; }

  std::filesystem::path folder_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<Recorded> told_;
  std::vector<std::string> log_;
  int writes_ = 0;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(RecorderTest, Grants_AreToldInTheirOrderOnceTheyAreInTheFile) {
  Journal journal = Journal::open(file()).value();
  ASSERT_TRUE(journal.begin(1, kOn));
  start(std::move(journal));
  for (Ticket ticket = 1; ticket <= 100; ++ticket) recorder_->record(grant(ticket));
  EXPECT_EQ(told(99).ticket, 100u);
  EXPECT_TRUE(told(99).done);
  recorder_.reset();
  EXPECT_EQ(Journal::open(file()).value().begin(2, kOn).value().restarted, 100u);
}

TEST_F(RecorderTest, NoJournal_GrantsAreToldAtOnce) {
  start(std::nullopt);
  recorder_->record(grant(1));
  recorder_->record(ending(1));
  EXPECT_TRUE(told(0).done);
  EXPECT_FALSE(recorder_->is_lost());
}

TEST_F(RecorderTest, EndingLeftForLater_IsWrittenWhenSomebodySaysSo) {
  Journal journal = Journal::open(file()).value();
  ASSERT_TRUE(journal.begin(1, kOn));
  start(std::move(journal));
  recorder_->record(grant(1));
  ASSERT_TRUE(has_written(1));
  recorder_->record_later(ending(1));
  recorder_->write_soon();
  EXPECT_TRUE(has_written(2));
}

TEST_F(RecorderTest, GrantThatCannotBeWritten_IsToldWithTheReasonOnce) {
  Journal journal = Journal::open(file()).value();
  ASSERT_TRUE(journal.begin(1, kOn));
  start(std::move(journal));
  recorder_->record(grant(1));
  recorder_->record(grant(2));
  ASSERT_TRUE(told(1).done);
  recorder_->record(grant(1));  // its name is on record
  EXPECT_FALSE(told(2).done);
  EXPECT_TRUE(recorder_->is_lost());
  // Behind it nothing is written before a probe has said that it can be.
  recorder_->record(ending(2));
  recorder_->record(grant(3));
  const bool is_third_done = told(3).done.has_value();
  recorder_.reset();
  EXPECT_EQ(Journal::open(file()).value().begin(2, kOn).value().restarted, is_third_done ? 2u : 1u);
  EXPECT_THAT(log_.front(), HasSubstr("nothing is granted until it can be written"));
}

}  // namespace
}  // namespace portcullis::service::daemon
