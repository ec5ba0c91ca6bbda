// SPDX-License-Identifier: BSD-3-Clause
//
// What the journal keeps over a server's end, and what it does with files that are not its own.
#include "service/daemon/journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace portcullis::service::daemon {
namespace {

using testing::HasSubstr;

const Served this_function{.name = "0000:03:00.0", .was_reset = true};
const Served other_function{.name = "0000:04:00.0", .was_reset = true};

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "portcullis-journal-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path file() const { return folder_ / "journal"; }
  [[nodiscard]] Journal opened() const { return Journal::open(file()).value(); }

  static Record record(std::uint64_t id, std::uint64_t tenant = 7) {
    return {.name = {.id = id, .epoch = ~std::uint64_t{0} - id},
            .tenant = tenant,
            .bytes = 4096,
            .granted_unix_ms = 1000};
  }
  static Ending ending(const Record& of, wire::Outcome outcome) {
    return {.name = of.name,
            .tenant = of.tenant,
            .unix_ms = 2000,
            .failed_mask = 3,
            .outcome = outcome,
            .memory = wire::Memory::Unmap,
            .cause = wire::Cause::Operator,
            .origin = lease::Origin::Revoke};
  }

  std::filesystem::path folder_;
};

TEST_F(JournalTest, LeaseThatWasHeldWhenItWent_EndsByTheReset) {
  const Record held = record(1);
  std::uint64_t before = 0;
  {
    Journal journal = opened();
    before = journal.begin(1, this_function).value().incarnation;
    ASSERT_TRUE(journal.write(std::vector<Entry>{held}));
  }
  const Beginning next = opened().begin(5000, this_function).value();
  EXPECT_EQ(next.restarted, 1u);
  ASSERT_EQ(next.past.size(), 1u);
  EXPECT_EQ(next.past[0].incarnation, before);
  EXPECT_EQ(next.past[0].ending, (Ending{.name = held.name,
                                         .tenant = 7,
                                         .unix_ms = 5000,
                                         .outcome = wire::Outcome::TornDown,
                                         .memory = wire::Memory::FunctionReset,
                                         .cause = wire::Cause::Restart}));
}

TEST_F(JournalTest, NothingWasReset_LeaseThatWasHeldIsFencedAndUnproved) {
  {
    Journal journal = opened();
    ASSERT_TRUE(journal.begin(1, this_function));
    ASSERT_TRUE(journal.write(std::vector<Entry>{record(1)}));
  }
  const Beginning next = opened().begin(5000, {.name = this_function.name}).value();
  EXPECT_EQ(next.restarted, 1u);
  EXPECT_EQ(next.past.at(0).ending.outcome, wire::Outcome::Fenced);
  EXPECT_EQ(next.past.at(0).ending.memory, wire::Memory::Unproved);
}

/// A server on `on` goes while it holds a lease.
void hold_and_go(Journal journal, const Served& on, const Record& held) {
  ASSERT_TRUE(journal.begin(1, on));
  ASSERT_TRUE(journal.write(std::vector<Entry>{held}));
}

TEST_F(JournalTest, LeaseHeldOnAnotherFunction_IsFencedThoughThisOneWasReset) {
  hold_and_go(opened(), other_function, record(1));
  Journal journal = opened();
  const auto elsewhere = journal.held_elsewhere(this_function.name).value();
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(elsewhere->function, other_function.name);
  EXPECT_EQ(elsewhere->leases, 1u);
  EXPECT_FALSE(journal.held_elsewhere(other_function.name).value());
  const Beginning next = journal.begin(5000, this_function).value();
  EXPECT_EQ(next.restarted, 1u);
  EXPECT_EQ(next.unproved, 1u);
  EXPECT_EQ(next.past.at(0).ending.outcome, wire::Outcome::Fenced);
  EXPECT_EQ(next.past.at(0).ending.memory, wire::Memory::Unproved);
  EXPECT_FALSE(next.past.at(0).is_proved_since);
  EXPECT_FALSE(journal.held_elsewhere(this_function.name).value());
}

TEST_F(JournalTest, FunctionOfThatNameOnAnotherHost_IsAnotherFunction) {
  const Served there{.name = "0000:03:00.0@61c35e9a0b6f1d24", .was_reset = true};
  const Served here{.name = "0000:03:00.0@9d5cdd0f3b2f4a11", .was_reset = true};
  hold_and_go(opened(), there, record(1));
  Journal journal = opened();
  EXPECT_FALSE(journal.held_elsewhere(there.name).value());
  ASSERT_TRUE(journal.held_elsewhere(here.name).value());
  ASSERT_TRUE(journal.held_elsewhere(this_function.name).value());  // a host that is not known
  EXPECT_EQ(journal.begin(5000, here).value().past.at(0).ending.memory, wire::Memory::Unproved);
}

TEST_F(JournalTest, FunctionThatWasWrittenDownWithoutAHost_IsTakenForOneOfThis) {
  const Served here{.name = this_function.name + "@9d5cdd0f3b2f4a11", .was_reset = true};
  hold_and_go(opened(), this_function, record(1));
  Journal journal = opened();
  EXPECT_FALSE(journal.held_elsewhere(here.name).value());
  EXPECT_EQ(journal.begin(5000, here).value().past.at(0).ending.memory,
            wire::Memory::FunctionReset);
}

TEST_F(JournalTest, FunctionThatIsResetLater_ProvesWhatWasLeftThereAndStaysProved) {
  hold_and_go(opened(), other_function, record(1));
  (void)opened().begin(2, this_function);
  EXPECT_TRUE(opened().begin(3, other_function).value().past.at(0).is_proved_since);
  EXPECT_TRUE(opened().begin(4, this_function).value().past.at(0).is_proved_since);
}

TEST_F(JournalTest, LeaseOfAModelInItsServer_EndsWithThatWhateverComesNext) {
  hold_and_go(opened(), {.name = "model", .was_reset = true, .ends_with_server = true}, record(1));
  Journal journal = opened();
  EXPECT_FALSE(journal.held_elsewhere(this_function.name).value());
  const Beginning next = journal.begin(5000, {.name = "mlx5_0"}).value();
  EXPECT_EQ(next.unproved, 0u);
  EXPECT_EQ(next.past.at(0).ending.outcome, wire::Outcome::TornDown);
}

TEST_F(JournalTest, FileThatDoesNotSayTheFunction_LeaseIsFencedAndUnproved) {
  hold_and_go(opened(), this_function, record(1));
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "DROP TABLE served", nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_close(database), SQLITE_OK);
  Journal journal = opened();
  EXPECT_FALSE(journal.held_elsewhere(other_function.name).value());
  const Beginning next = journal.begin(5000, this_function).value();
  EXPECT_EQ(next.unproved, 1u);
  EXPECT_EQ(next.past.at(0).ending.outcome, wire::Outcome::Fenced);
  EXPECT_FALSE(next.past.at(0).is_proved_since);
}

TEST_F(JournalTest, LeaseThatHadItsOutcome_KeepsItOverARestart) {
  const Record lease = record(2);
  {
    Journal journal = opened();
    ASSERT_TRUE(journal.begin(1, this_function));
    ASSERT_TRUE(journal.write(std::vector<Entry>{lease}));
    ASSERT_TRUE(journal.write(std::vector<Entry>{ending(lease, wire::Outcome::Fenced)}));
  }
  const Beginning next = opened().begin(5000, this_function).value();
  EXPECT_EQ(next.restarted, 0u);
  ASSERT_EQ(next.past.size(), 1u);
  EXPECT_EQ(next.past[0].ending, ending(lease, wire::Outcome::Fenced));
}

/// Of `count` leases, each ending a ms after the one before; every tenth Fenced, tenants 7 and 8.
std::vector<Entry> many(std::uint64_t count) {
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Record record{
        .name = {.id = i, .epoch = 1}, .tenant = 7 + i % 2, .bytes = 4096, .granted_unix_ms = 1000};
    entries.emplace_back(record);
    entries.emplace_back(
        Ending{.name = record.name,
               .tenant = record.tenant,
               .unix_ms = 2000 + i,
               .outcome = i % 10 == 0 ? wire::Outcome::Fenced : wire::Outcome::TornDown});
  }
  return entries;
}

TEST_F(JournalTest, LongPast_IsReadPageByPageAndEachLeaseOnce) {
  Journal journal = opened();
  ASSERT_TRUE(journal.begin(50, this_function));
  ASSERT_TRUE(journal.write(many(150)));
  wire::HistoryRequest wanted{.tenant = wire::kEveryTenant, .since_unix_ms = 2001};
  std::vector<std::uint64_t> ids;
  wire::History page;
  do {
    page = journal.look_up(wanted, 9000, 0).value();
    for (const auto& row : page.rows) ids.push_back(row.id);
    wanted.before_unix_ms = page.rows.back().ended_unix_ms;
    wanted.before_id = page.rows.back().id;
    wanted.before_epoch = page.rows.back().epoch;
  } while (page.has_more);
  ASSERT_EQ(ids.size(), 149u);
  EXPECT_EQ(ids.front(), 149u);
  EXPECT_EQ(ids.back(), 1u);
  EXPECT_TRUE(std::is_sorted(ids.rbegin(), ids.rend()));
  EXPECT_EQ(page.from_unix_ms, 50u);
}

TEST_F(JournalTest, EndedInTheSameMs_NoneIsLeftOutBetweenPages) {
  Journal journal = opened();
  ASSERT_TRUE(journal.begin(50, this_function));
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < 100; ++i) {
    // Above half of all ids SQLite's order is another than theirs.
    const Record each = record((std::uint64_t{1} << 63) + i - 50);
    entries.emplace_back(each);
    entries.emplace_back(ending(each, wire::Outcome::TornDown));
  }
  ASSERT_TRUE(journal.write(entries));
  wire::HistoryRequest wanted{.tenant = 7};
  const auto first = journal.look_up(wanted, 9000, 0).value();
  ASSERT_EQ(first.rows.size(), wire::kMostRows);
  wanted.before_unix_ms = first.rows.back().ended_unix_ms;
  wanted.before_id = first.rows.back().id;
  wanted.before_epoch = first.rows.back().epoch;
  const auto second = journal.look_up(wanted, 9000, 0).value();
  std::set<std::uint64_t> ids;
  for (const auto& row : first.rows) ids.insert(row.id);
  for (const auto& row : second.rows) ids.insert(row.id);
  EXPECT_EQ(ids.size(), 100u);
  EXPECT_FALSE(second.has_more);
}

TEST_F(JournalTest, PastOfOneTenantOrOfTheFencedAlone_IsThatAndNoMore) {
  Journal journal = opened();
  ASSERT_TRUE(journal.begin(50, this_function));
  ASSERT_TRUE(journal.write(many(40)));
  EXPECT_EQ(journal.look_up({.tenant = 8}, 9000, 0)->rows.size(), 20u);
  const wire::HistoryRequest fenced{.tenant = wire::kEveryTenant, .fenced_only = 1};
  EXPECT_EQ(journal.look_up(fenced, 9000, 0)->rows.size(), 4u);
  const wire::HistoryRequest none{.tenant = 8, .fenced_only = 1};
  EXPECT_EQ(journal.look_up(none, 9000, 0)->rows.size(), 0u);
}

TEST_F(JournalTest, LeaseThatIsHeld_IsNotOfThePast) {
  Journal journal = opened();
  ASSERT_TRUE(journal.begin(50, this_function));
  ASSERT_TRUE(journal.write(std::vector<Entry>{record(1)}));
  EXPECT_EQ(journal.look_up({.tenant = 7}, 9000, 0)->rows.size(), 0u);
}

TEST_F(JournalTest, WhatMayHaveBeenForgotten_IsSaid) {
  Journal journal = opened();
  ASSERT_TRUE(journal.begin(50, this_function));
  EXPECT_EQ(journal.look_up({.tenant = 7}, 9000, 1000)->from_unix_ms, 8000u);
  EXPECT_EQ(journal.look_up({.tenant = 7}, 9000, 9000)->from_unix_ms, 50u);
}

TEST_F(JournalTest, EveryServer_HasNumbersOfItsOwn) {
  std::vector<std::uint64_t> incarnations;
  std::vector<std::uint64_t> epochs;
  for (int i = 0; i < 8; ++i) {
    const Beginning each = opened().begin(1, this_function).value();
    incarnations.push_back(each.incarnation);
    epochs.push_back(each.first_epoch);
  }
  EXPECT_THAT(incarnations, testing::Each(testing::Ne(0u)));
  std::sort(incarnations.begin(), incarnations.end());
  EXPECT_EQ(std::unique(incarnations.begin(), incarnations.end()), incarnations.end());
  std::sort(epochs.begin(), epochs.end());
  EXPECT_EQ(std::unique(epochs.begin(), epochs.end()), epochs.end());
}

TEST_F(JournalTest, NameThatIsOnRecord_IsNotTakenTwice) {
  Journal journal = opened();
  ASSERT_TRUE(journal.begin(1, this_function));
  ASSERT_TRUE(journal.write(std::vector<Entry>{record(3)}));
  EXPECT_FALSE(journal.write(std::vector<Entry>{record(4), record(3)}));
  // All of them or none.
  EXPECT_TRUE(journal.write(std::vector<Entry>{record(4)}));
}

TEST_F(JournalTest, WhatEndedLongAgo_IsForgottenAndWhatIsHeldIsNot) {
  Journal journal = opened();
  ASSERT_TRUE(journal.begin(1, this_function));
  for (std::uint64_t id = 1; id <= 10; ++id) {
    Ending end = ending(record(id), wire::Outcome::TornDown);
    end.unix_ms = id * 100;
    ASSERT_TRUE(journal.write(std::vector<Entry>{record(id), end}));
  }
  ASSERT_TRUE(journal.write(std::vector<Entry>{record(11)}));
  EXPECT_EQ(journal.forget(800, 5).value(), 5u);
  EXPECT_EQ(journal.forget(800, 5).value(), 2u);
  EXPECT_EQ(journal.forget(800, 5).value(), 0u);
  EXPECT_TRUE(journal.probe());
  EXPECT_THAT(journal.begin(2000, this_function).value().past, testing::SizeIs(4));
}

TEST_F(JournalTest, EndingOfALeaseThatIsNotOnRecord_IsPassedOver) {
  {
    Journal journal = opened();
    ASSERT_TRUE(journal.begin(1, this_function));
    EXPECT_TRUE(journal.write(std::vector<Entry>{ending(record(5), wire::Outcome::TornDown)}));
  }
  EXPECT_THAT(opened().begin(2, this_function).value().past, testing::IsEmpty());
}

TEST_F(JournalTest, FileOfAnotherServer_IsBusy) {
  const Journal first = opened();
  const auto second = Journal::open(file());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::Busy);
  EXPECT_EQ(second.error().text, "journal " + file().string() + ": another process has it open");
}

TEST_F(JournalTest, File_IsItsOwnersAlone) {
  const Journal journal = opened();
  struct stat found {};
  ASSERT_EQ(::stat(file().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(JournalTest, FileThatOthersMayWrite_IsRefusedAndKept) {
  (void)opened();
  using std::filesystem::perms;
  for (const perms others : {perms::group_write, perms::others_write}) {
    std::filesystem::permissions(file(), perms::owner_read | perms::owner_write | others);
    const auto journal = Journal::open(file());
    ASSERT_FALSE(journal);
    EXPECT_THAT(journal.error().text, HasSubstr("somebody else may change it"));
  }
  std::filesystem::permissions(file(), perms::owner_read | perms::owner_write);
  EXPECT_TRUE(Journal::open(file()));
}

TEST_F(JournalTest, FileThatIsNoDatabase_IsRefusedAndKept) {
  std::ofstream(file()) << std::string(8192, 'x');
  const auto journal = Journal::open(file());
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().code, Errc::Malformed);
  EXPECT_EQ(std::filesystem::file_size(file()), 8192u);
}

TEST_F(JournalTest, FileCutInItsMiddle_IsRefused) {
  {
    Journal journal = opened();
    ASSERT_TRUE(journal.begin(1, this_function));
  }
  std::filesystem::resize_file(file(), 4096);
  EXPECT_FALSE(Journal::open(file()).and_then(
      [](Journal journal) { return journal.begin(2, this_function); }));
}

TEST_F(JournalTest, SymbolicLink_IsNotFollowed) {
  std::filesystem::create_symlink(folder_ / "elsewhere", file());
  EXPECT_FALSE(Journal::open(file()));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

TEST_F(JournalTest, FolderThatIsNotThere_IsNamed) {
  const auto journal = Journal::open(folder_ / "none" / "journal");
  ASSERT_FALSE(journal);
  EXPECT_THAT(journal.error().text, HasSubstr("none/journal: No such file or directory"));
}

class MovedJournal : public JournalTest, public testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] std::filesystem::path moved() const { return file().string() + GetParam(); }
};

TEST_P(MovedJournal, WhileItIsNotThere_NothingIsWritten) {
  Journal journal = opened();
  ASSERT_TRUE(journal.begin(1, this_function));
  std::filesystem::rename(moved(), folder_ / "elsewhere");
  const auto written = journal.write(std::vector<Entry>{record(1)});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::System);
  EXPECT_THAT(written.error().text, HasSubstr(moved().string() + " was removed or replaced"));
  EXPECT_FALSE(journal.probe());
}

TEST_P(MovedJournal, AnotherInItsPlace_IsNotTakenForIt) {
  Journal journal = opened();
  ASSERT_TRUE(journal.begin(1, this_function));
  std::filesystem::rename(moved(), folder_ / "elsewhere");
  std::filesystem::copy(folder_ / "elsewhere", moved());
  EXPECT_FALSE(journal.write(std::vector<Entry>{record(1)}));
}

TEST_P(MovedJournal, OnceItIsBack_ItIsWrittenAgain) {
  {
    Journal journal = opened();
    ASSERT_TRUE(journal.begin(1, this_function));
    std::filesystem::rename(moved(), folder_ / "elsewhere");
    ASSERT_FALSE(journal.write(std::vector<Entry>{record(1)}));
    std::filesystem::rename(folder_ / "elsewhere", moved());
    EXPECT_TRUE(journal.probe());
    EXPECT_TRUE(journal.write(std::vector<Entry>{record(2)}));
  }
  EXPECT_EQ(opened().begin(2, this_function).value().restarted, 1u);
}

INSTANTIATE_TEST_SUITE_P(Files, MovedJournal, testing::Values("", "-wal"));

TEST_F(JournalTest, MoreThanIsRemembered_TheNewestAreThere) {
  Journal journal = opened();
  ASSERT_TRUE(journal.begin(1, this_function));
  std::vector<Entry> entries;
  for (std::uint64_t id = 1; id <= 70'000; ++id) {
    entries.emplace_back(record(id));
    Ending end = ending(record(id), wire::Outcome::TornDown);
    end.unix_ms = id;
    entries.emplace_back(end);
  }
  ASSERT_TRUE(journal.write(entries));
  const auto past = journal.begin(80'000, this_function).value().past;
  ASSERT_EQ(past.size(), Journal::kMostPast);
  EXPECT_EQ(past.back().ending.unix_ms, 70'000u);
  EXPECT_EQ(past.front().ending.unix_ms, 70'000u - Journal::kMostPast + 1);
}

}  // namespace
}  // namespace portcullis::service::daemon
