// SPDX-License-Identifier: BSD-3-Clause
//
// What the system has given for what was taken is counted by mincore(2).
#include "quic/lazy_pages.hpp"

#include <gtest/gtest.h>
#include <ngtcp2/ngtcp2.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "base/sanitizers.hpp"
#if PORTCULLIS_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace portcullis::quic {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kRoom = 3 * kPageBytes;  // as ngtcp2 takes it for 8 blocks of a skip list

struct GiveBack {
  LazyPages* from;
  void operator()(std::byte* taken) const noexcept { from->give_back(taken); }
};
using Room = std::unique_ptr<std::byte, GiveBack>;

Room take(LazyPages& pages, std::size_t bytes) {
  return {static_cast<std::byte*>(pages.take(bytes)), GiveBack{&pages}};
}

/// Of the pages that these bytes are in.
std::size_t resident_pages(const void* at, std::size_t bytes) {
  const auto begin = std::bit_cast<std::uintptr_t>(at) / kPageBytes * kPageBytes;
  const auto end = std::bit_cast<std::uintptr_t>(at) + bytes;
  std::vector<unsigned char> is_there((end - begin + kPageBytes - 1) / kPageBytes);
  EXPECT_EQ(mincore(std::bit_cast<void*>(begin), end - begin, is_there.data()), 0);
  return static_cast<std::size_t>(
      std::ranges::count_if(is_there, [](unsigned char each) { return (each & 1) != 0; }));
}

TEST(LazyPages, RoomWrittenToAtItsBeginning_TakesAPageOfTheSystem) {
  LazyPages pages;
  std::vector<Room> rooms;
  for (int i = 0; i < 100; ++i) rooms.push_back(take(pages, kRoom));
  for (const Room& each : rooms) std::memset(each.get(), 1, 500);
  EXPECT_EQ(std::accumulate(rooms.begin(), rooms.end(), std::size_t{0},
                            [](std::size_t sum, const Room& each) {
                              return sum + resident_pages(each.get(), kRoom);
                            }),
            rooms.size());
}

TEST(LazyPages, RoomThatIsGivenBack_TakesNothingOfTheSystem) {
  LazyPages pages;
  Room room = take(pages, kRoom);
  std::memset(room.get(), 1, kRoom);
  const std::byte* const at = room.get();
  ASSERT_EQ(resident_pages(at, kRoom), 4U);  // with what stands in front of it
  room.reset();
  EXPECT_EQ(resident_pages(at, kRoom), 0U);
}

TEST(LazyPages, AddressesThatWereGivenBack_AreGivenAgainAndNotYetTouched) {
  LazyPages pages;
  Room room = take(pages, kRoom);
  std::memset(room.get(), 1, kRoom);
  const std::byte* const at = room.get();
  room.reset();
  room = take(pages, kRoom);
  EXPECT_EQ(room.get(), at);
  EXPECT_EQ(resident_pages(at, kRoom), 1U);
}

#if PORTCULLIS_ASAN
TEST(LazyPages, WhatNobodyHasTaken_AddressSanitizerKnows) {
  LazyPages pages;
  Room room = take(pages, kRoom);
  std::byte* const at = room.get();
  EXPECT_EQ(__asan_region_is_poisoned(at, kRoom), nullptr);
  EXPECT_EQ(__asan_region_is_poisoned(at, kRoom + 1), at + kRoom);
  room.reset();
  EXPECT_EQ(__asan_region_is_poisoned(at, kRoom), at);
}
#endif

TEST(LazyPages, WhatTwoHave_IsTwoRooms) {
  LazyPages pages;
  std::vector<Room> rooms;
  for (int i = 0; i < 500; ++i) {  // of several mappings
    rooms.push_back(take(pages, kRoom + 1000));
    std::memset(rooms.back().get(), i % 256, kRoom + 1000);
  }
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    EXPECT_EQ(std::to_integer<std::size_t>(rooms[i].get()[0]), i % 256);
    EXPECT_EQ(std::to_integer<std::size_t>(rooms[i].get()[kRoom + 999]), i % 256);
  }
}

class LazyPagesOf : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Bytes, LazyPagesOf,
                         testing::Values(0, 1, 100, 4095, 4096, 4097, 12'180, 65'000, 65'536,
                                         1'000'000));

TEST_P(LazyPagesOf, WhatIsTaken_IsAlignedAsMallocDoesIt) {
  LazyPages pages;
  const Room room = take(pages, GetParam());
  ASSERT_NE(room, nullptr);
  EXPECT_EQ(std::bit_cast<std::uintptr_t>(room.get()) % alignof(std::max_align_t), 0U);
}

TEST_P(LazyPagesOf, ZerosWhereSomebodyHasWritten_AreZeros) {
  LazyPages pages;
  std::memset(take(pages, GetParam()).get(), 0xff, GetParam());
  const Room room(static_cast<std::byte*>(pages.take_zeros(GetParam(), 1)), GiveBack{&pages});
  ASSERT_NE(room, nullptr);
  EXPECT_EQ(std::count(room.get(), room.get() + GetParam(), std::byte{0}),
            static_cast<std::ptrdiff_t>(GetParam()));
}

TEST_P(LazyPagesOf, LargerRoom_HasWhatTheSmallerOneHad) {
  LazyPages pages;
  Room room = take(pages, GetParam());
  std::memset(room.get(), 0x5a, GetParam());
  room.reset(static_cast<std::byte*>(pages.take_other(room.release(), GetParam() + 20'000)));
  ASSERT_NE(room, nullptr);
  EXPECT_EQ(std::count(room.get(), room.get() + GetParam(), std::byte{0x5a}),
            static_cast<std::ptrdiff_t>(GetParam()));
}

TEST_P(LazyPagesOf, SmallerRoom_HasWhatFits) {
  LazyPages pages;
  Room room = take(pages, GetParam() + 20'000);
  std::memset(room.get(), 0x5a, GetParam() + 20'000);
  room.reset(static_cast<std::byte*>(pages.take_other(room.release(), GetParam())));
  ASSERT_NE(room, nullptr);
  EXPECT_EQ(std::count(room.get(), room.get() + GetParam(), std::byte{0x5a}),
            static_cast<std::ptrdiff_t>(GetParam()));
}

TEST(LazyPages, RoomOfNothing_GrowsFromNull) {
  LazyPages pages;
  const Room room(static_cast<std::byte*>(pages.take_other(nullptr, kRoom)), GiveBack{&pages});
  EXPECT_NE(room, nullptr);
}

TEST(LazyPages, MoreThanThereIs_IsNull) {
  LazyPages pages;
  EXPECT_EQ(pages.take(SIZE_MAX), nullptr);
  EXPECT_EQ(pages.take(SIZE_MAX / 4), nullptr);
  EXPECT_EQ(pages.take_zeros(SIZE_MAX / 2, 4), nullptr);
}

TEST(LazyPages, WhatOneThreadTakes_AnotherGivesBack) {
  LazyPages pages;
  std::vector<Room> rooms;
  for (int i = 0; i < 200; ++i) rooms.push_back(take(pages, kRoom));
  std::array<std::thread, 4> others;
  for (std::size_t i = 0; i < others.size(); ++i)
    others[i] = std::thread([&, i] {
      for (std::size_t at = i; at < rooms.size(); at += others.size()) {
        rooms[at].reset();
        rooms[at] = take(pages, kRoom);
        std::memset(rooms[at].get(), static_cast<int>(i), kRoom);
      }
    });
  for (std::thread& each : others) each.join();
  for (std::size_t at = 0; at < rooms.size(); ++at)
    EXPECT_EQ(std::count(rooms[at].get(), rooms[at].get() + kRoom,
                         static_cast<std::byte>(at % others.size())),
              static_cast<std::ptrdiff_t>(kRoom));
}

TEST(ConnectionMemory, IsOneForTheProcess) {
  const ngtcp2_mem& memory = *connection_memory();
  EXPECT_EQ(&memory, connection_memory());
  void* const zeros = memory.calloc(kRoom, 1, memory.user_data);
  ASSERT_NE(zeros, nullptr);
  void* const larger = memory.realloc(zeros, 2 * kRoom, memory.user_data);
  ASSERT_NE(larger, nullptr);
  EXPECT_EQ(resident_pages(larger, 2 * kRoom), 4U);  // those that were copied
  memory.free(larger, memory.user_data);
  void* const taken = memory.malloc(kRoom, memory.user_data);
  EXPECT_EQ(resident_pages(taken, kRoom), 1U);
  memory.free(taken, memory.user_data);
}

}  // namespace
}  // namespace portcullis::quic
