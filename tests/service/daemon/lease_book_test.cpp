// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/lease_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace portcullis::service::daemon {
namespace {

using testing::SizeIs;

BookedLease lease(std::uint64_t id, std::uint64_t tenant = 1) {
  return {.record = {.name = {.id = id, .epoch = id + 100}, .tenant = tenant, .bytes = 4096},
          .is_recorded = true};
}
Ending ending(std::uint64_t id, wire::Outcome outcome = wire::Outcome::TornDown) {
  return {.name = {.id = id, .epoch = id + 100}, .tenant = 1, .outcome = outcome};
}

TEST(LeaseBook, NameOfAnotherEpoch_IsNobodys) {
  LeaseBook book({});
  book.enter(lease(5));
  EXPECT_NE(book.find({.id = 5, .epoch = 105}), nullptr);
  EXPECT_EQ(book.find({.id = 5, .epoch = 104}), nullptr);
  EXPECT_EQ(book.past({.id = 5, .epoch = 105}), nullptr);
}

TEST(LeaseBook, LeaseThatEnds_IsPast) {
  LeaseBook book({});
  book.enter(lease(5));
  EXPECT_TRUE(book.end(ending(5), 9, 0));
  EXPECT_EQ(book.find({.id = 5, .epoch = 105}), nullptr);
  ASSERT_NE(book.past({.id = 5, .epoch = 105}), nullptr);
  EXPECT_EQ(book.past({.id = 5, .epoch = 106}), nullptr);
  EXPECT_FALSE(book.end(ending(5), 9, 0));
  EXPECT_EQ(book.held(), 0u);
}

TEST(LeaseBook, LeaseThatIsFenced_StaysInTheListAndIsNotHeld) {
  LeaseBook book({});
  book.enter(lease(5));
  EXPECT_TRUE(book.end(ending(5, wire::Outcome::Fenced), 9, 0));
  EXPECT_FALSE(book.end(ending(5, wire::Outcome::Fenced), 9, 0));
  EXPECT_EQ(book.held(), 0u);
  EXPECT_THAT(book.held_by(wire::kEveryTenant), SizeIs(0));
  ASSERT_THAT(book.rows(1, 0, 10), SizeIs(1));
  EXPECT_TRUE(book.rows(1, 0, 10)[0]->fenced);
}

TEST(LeaseBook, LeasesOfATenant_AreItsOwnAlone) {
  LeaseBook book({});
  for (std::uint64_t id = 1; id <= 9; ++id) book.enter(lease(id, id % 3));
  EXPECT_TRUE(book.end({.name = {.id = 4, .epoch = 104}, .tenant = 1}, 9, 0));
  const auto held = book.held_by(1);
  ASSERT_THAT(held, SizeIs(2));
  EXPECT_EQ(held[0]->record.name.id, 1u);
  EXPECT_EQ(held[1]->record.name.id, 7u);
  EXPECT_THAT(book.held_by(3), SizeIs(0));
  EXPECT_THAT(book.held_by(wire::kEveryTenant), SizeIs(8));
  EXPECT_THAT(book.rows(1, 0, 99), SizeIs(2));
}

TEST(LeaseBook, HeldAtAConnection_AreThoseThatItHolds) {
  LeaseBook book({});
  book.enter(lease(1)).holders = {11, 12};
  book.enter(lease(2)).holders = {12};
  book.enter(lease(3, 2)).holders = {13};
  ASSERT_THAT(book.held_at(11, 1), SizeIs(1));
  EXPECT_EQ(book.held_at(11, 1)[0]->record.name.id, 1u);
  EXPECT_THAT(book.held_at(12, 1), SizeIs(2));
  EXPECT_THAT(book.held_at(13, 1), SizeIs(0));
}

TEST(LeaseBook, Rows_GoOnBehindTheCursor) {
  LeaseBook book({});
  for (std::uint64_t id = 1; id <= 10; ++id) book.enter(lease(id, id % 2));
  const auto first = book.rows(1, 0, 3);
  ASSERT_THAT(first, SizeIs(3));
  EXPECT_EQ(first[2]->record.name.id, 5u);
  const auto rest = book.rows(1, 5, 3);
  ASSERT_THAT(rest, SizeIs(2));
  EXPECT_EQ(rest[1]->record.name.id, 9u);
  EXPECT_THAT(book.rows(wire::kEveryTenant, 0, 99), SizeIs(10));
}

TEST(LeaseBook, LeaseNobodyWasToldOf_IsNotListed) {
  LeaseBook book({});
  book.enter(lease(5)).is_recorded = false;
  EXPECT_THAT(book.rows(1, 0, 10), SizeIs(0));
  EXPECT_THAT(book.held_by(1), SizeIs(1));
}

TEST(LeaseBook, UseOfATenant_IsGivenBackAtTheEnd) {
  LeaseBook book({});
  book.note_asked(1, 4096);
  book.note_asked(1, 4096);
  book.note_refused(1, 4096);
  book.enter(lease(5));
  EXPECT_EQ(book.use_of(1).leases, 1u);
  EXPECT_EQ(book.use_of(1).bytes, 4096u);
  EXPECT_TRUE(book.end(ending(5), 9, 0));
  EXPECT_EQ(book.use_of(1).leases, 0u);
  EXPECT_EQ(book.use_of(2).leases, 0u);
}

TEST(LeaseBook, LeasesThatAServerBeforeHeld_AreKnownByItsIncarnation) {
  const auto restarted = [](std::uint64_t id) {
    Ending by_restart = ending(id);
    by_restart.cause = wire::Cause::Restart;
    return by_restart;
  };
  LeaseBook book({{.incarnation = 3, .ending = restarted(1)},
                  {.incarnation = 4, .ending = restarted(2)},
                  {.incarnation = 3, .ending = restarted(3)},
                  {.incarnation = 3, .ending = ending(4)}});
  EXPECT_THAT(book.ended_with(3, 1), SizeIs(2));
  EXPECT_THAT(book.ended_with(4, 1), SizeIs(1));
  EXPECT_THAT(book.ended_with(3, 2), SizeIs(0));
}

TEST(LeaseBook, SlotThatRests_IsItsTenantsUntilItHasRested) {
  LeaseBook book({});
  book.note_asked(1, 4096);
  book.enter(lease(5)).rest_ns = 100;
  EXPECT_TRUE(book.end(ending(5), 9, 1000));
  book.settle(1099);
  EXPECT_EQ(book.use_of(1).leases, 1u);
  book.settle(1100);
  EXPECT_EQ(book.use_of(1).leases, 0u);
}

TEST(LeaseBook, MoreEndingsThanAreRemembered_TheOldestAreForgotten) {
  LeaseBook book({});
  for (std::uint64_t id = 1; id <= Journal::kMostPast + 1; ++id) {
    book.enter(lease(id));
    EXPECT_TRUE(book.end(ending(id), 9, 0));
  }
  EXPECT_EQ(book.past({.id = 1, .epoch = 101}), nullptr);
  EXPECT_NE(book.past({.id = 2, .epoch = 102}), nullptr);
}

}  // namespace
}  // namespace portcullis::service::daemon
