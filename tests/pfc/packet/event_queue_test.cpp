// SPDX-License-Identifier: BSD-3-Clause
//
// Events come out by time, and by the order of scheduling where times are equal, whatever lanes
// they took.
#include "pfc/packet/event_queue.hpp"

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <string>

namespace portcullis::pfc::packet {
namespace {

constexpr Picoseconds kLong = 1'000'000'000;

std::vector<std::uint32_t> targets(EventQueue& queue, Picoseconds until) {
  std::vector<std::uint32_t> seen;
  while (const Event* event = queue.next(until)) seen.push_back(event->target);
  return seen;
}

TEST(EventQueue, TimesDecide_NotTheOrderOfScheduling) {
  EventQueue queue;
  queue.at(30, EventKind::Sent, 3, 0);
  queue.after(queue.lane(10), 10, EventKind::Sent, 1, 0);
  queue.after(queue.lane(20), 20, EventKind::Sent, 2, 0);
  EXPECT_THAT(targets(queue, kLong), ::testing::ElementsAre(1u, 2u, 3u));
  EXPECT_EQ(queue.now(), 30);
}

TEST(EventQueue, EqualTimes_ComeInTheOrderOfScheduling) {
  EventQueue queue;
  const auto ten = queue.lane(10);
  queue.at(10, EventKind::Sent, 1, 0);
  queue.after(ten, 10, EventKind::Sent, 2, 0);
  queue.at(10, EventKind::Sent, 3, 0);
  queue.after(ten, 10, EventKind::Sent, 4, 0);
  EXPECT_THAT(targets(queue, kLong), ::testing::ElementsAre(1u, 2u, 3u, 4u));
}

TEST(EventQueue, EventBeyondTheEnd_Stays) {
  EventQueue queue;
  queue.at(11, EventKind::Sent, 1, 0);
  EXPECT_EQ(queue.next(10), nullptr);
  EXPECT_EQ(queue.now(), 0);
  EXPECT_EQ(queue.next(11)->target, 1u);
}

TEST(EventQueue, MoreDelaysThanLanes_ShareTheHeap) {
  EventQueue queue;
  for (Picoseconds delay = 40; delay > 0; --delay)
    queue.after(queue.lane(delay), delay, EventKind::Sent, static_cast<std::uint32_t>(delay), 0);
  std::vector<std::uint32_t> expected(40);
  for (std::uint32_t i = 0; i < 40; ++i) expected[i] = i + 1;
  EXPECT_EQ(targets(queue, kLong), expected);
}

/// Schedules at random while taking, against a map of lists; the first difference.
std::string difference(std::uint32_t seed) {
  std::mt19937 random(seed);
  EventQueue queue;
  std::multimap<Picoseconds, std::uint32_t> expected;  // equal keys keep their order
  Picoseconds now = 0;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    for (auto n = static_cast<std::uint32_t>(random() % 3); n > 0; --n) {
      const Picoseconds delay = static_cast<Picoseconds>(random() % 20) * 10;
      const std::uint32_t name = i * 4 + n;
      expected.emplace(now + delay, name);
      if (random() % 2 == 0)
        queue.at(now + delay, EventKind::Sent, name, 0);
      else
        queue.after(queue.lane(delay), delay, EventKind::Sent, name, 0);
    }
    const Event* event = queue.next(kLong);
    if ((event == nullptr) != expected.empty()) return "empty at " + std::to_string(i);
    if (event == nullptr) continue;
    if (event->target != expected.begin()->second) return "event " + std::to_string(i);
    now = event->time;
    expected.erase(expected.begin());
  }
  return {};
}

TEST(EventQueue, RandomSchedules_ComeOutAsFromASortedList) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) ASSERT_EQ(difference(seed), "") << seed;
}

}  // namespace
}  // namespace portcullis::pfc::packet
