// SPDX-License-Identifier: BSD-3-Clause
#include "base/device.hpp"

#include <gtest/gtest.h>

#include <array>
#include <ctime>

#include "base/cells.hpp"

namespace portcullis {
namespace {

struct SteppedTime {
  std::uint64_t now_ns = 0;
  std::uint64_t step_ns = 10;
  int relaxed = 0;

  Device device() {
    return {.bar = {},
            .dma = nullptr,
            .function = nullptr,
            .clock = Clock::simulated(
                [](const void* t) noexcept { return static_cast<const SteppedTime*>(t)->now_ns; },
                this),
            .relax = Relax(
                [](void* t, std::uint64_t) noexcept {
                  auto* self = static_cast<SteppedTime*>(t);
                  self->now_ns += self->step_ns;
                  ++self->relaxed;
                },
                this),
            .description = "stepped time"};
  }
};

TEST(WaitUntil, AlreadyDone_NeverRelaxes) {
  SteppedTime time;
  EXPECT_TRUE(wait_until(time.device(), 100, [] { return true; }));
  EXPECT_EQ(time.relaxed, 0);
}

TEST(WaitUntil, NeverDone_EndsAtTheDeadline) {
  SteppedTime time;
  EXPECT_FALSE(wait_until(time.device(), 100, [] { return false; }));
  EXPECT_EQ(time.now_ns, 100U);
}

TEST(WaitUntil, DoneWhileThreadWasAway_CountsAfterTheDeadline) {
  SteppedTime time{.step_ns = 1000};
  EXPECT_TRUE(wait_until(time.device(), 100, [&] { return time.now_ns >= 1000; }));
}

TEST(Clock, Wall_NeverGoesBack) {
  const Clock clock = Clock::wall();
  const std::uint64_t first = clock.now_ns();
  EXPECT_GE(clock.now_ns(), first);
  EXPECT_STREQ(clock.name(), "wall");
}

TEST(Clock, Wall_IsNoClockThatCanBeSet) {
  timespec before{}, after{};
  ASSERT_EQ(clock_gettime(CLOCK_MONOTONIC, &before), 0);
  const std::uint64_t now_ns = Clock::wall().now_ns();
  ASSERT_EQ(clock_gettime(CLOCK_MONOTONIC, &after), 0);
  const auto ns = [](const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
           static_cast<std::uint64_t>(time.tv_nsec);
  };
  EXPECT_GE(now_ns, ns(before));
  EXPECT_LE(now_ns, ns(after));
}

TEST(Cells, Taken_KickIsGone) {
  alignas(8) std::array<std::byte, 8> cell{};
  cells::ring<std::uint64_t>(cell.data(), 7);
  EXPECT_EQ(cells::take<std::uint64_t>(cell.data()), 7U);
  EXPECT_EQ(cells::take<std::uint64_t>(cell.data()), 0U);
}

TEST(Result, TryMacros_PassTheErrorOn) {
  const auto inner = []() -> Result<int> { return fail(Errc::Busy, "full"); };
  const auto outer = [&]() -> Result<long> {
    PORTCULLIS_TRY_ASSIGN(const int value, inner());
    return value;
  };
  ASSERT_FALSE(outer());
  EXPECT_EQ(outer().error().text, "full");
}

}  // namespace
}  // namespace portcullis
