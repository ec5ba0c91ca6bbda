// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/timed_channel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace portcullis::service::daemon {
namespace {

/// Answers when it is told to.
class Device final : public pmd::CommandChannel {
 public:
  Result<pmd::Ticket> submit(std::span<const std::byte>, std::size_t, pmd::SlotClass) override {
    if (is_full) return fail(Errc::Busy, "no slot");
    return pmd::Ticket{.slot = next++};
  }
  Result<void> await(pmd::Ticket, std::span<std::byte>, std::uint64_t) override {
    now_ns += 1000;
    return answer;
  }
  bool is_done(pmd::Ticket) const noexcept override { return is_answered; }
  std::uint64_t default_deadline_ns() const override { return 77; }
  static std::uint64_t now(const void* device) noexcept {
    return static_cast<const Device*>(device)->now_ns;
  }

  Result<void> answer;
  bool is_answered = false;
  bool is_full = false;
  std::uint32_t next = 3;
  std::uint64_t now_ns = 100;
};

class TimedChannelTest : public testing::Test {
 protected:
  struct Told {
    prm::Opcode opcode;
    std::uint64_t ns;
    bool is_good;
  };
  Result<pmd::Ticket> submit(prm::Opcode opcode) {
    const auto number = static_cast<unsigned>(opcode);
    const std::array in{std::byte(number >> 8U), std::byte(number & 0xffU)};
    return timed.submit(in, 16, pmd::SlotClass::Common);
  }

  Device device;
  std::vector<Told> told;
  TimedChannel timed{device, Clock::simulated(&Device::now, &device),
                     [this](const CommandTime& took) {
                       told.push_back({took.opcode, took.ns, took.error == nullptr});
                     }};
};

TEST_F(TimedChannelTest, CommandThatIsAwaited_TookUntilItsAnswer) {
  const auto ticket = submit(prm::Opcode::DESTROY_MKEY).value();
  ASSERT_TRUE(timed.await(ticket, {}, 0));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].opcode, prm::Opcode::DESTROY_MKEY);
  EXPECT_EQ(told[0].ns, 1000u);
  EXPECT_TRUE(told[0].is_good);
}

TEST_F(TimedChannelTest, CommandThatWasSeenDone_TookUntilThen) {
  const auto first = submit(prm::Opcode::QP_2ERR).value();
  const auto second = submit(prm::Opcode::DESTROY_MKEY).value();
  EXPECT_FALSE(timed.is_done(first));
  device.now_ns += 50;
  device.is_answered = true;
  EXPECT_TRUE(timed.is_done(first));
  device.now_ns += 500;
  EXPECT_TRUE(timed.is_done(first));
  ASSERT_TRUE(timed.await(second, {}, 0));
  ASSERT_TRUE(timed.await(first, {}, 0));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].ns, 1550u);
  EXPECT_EQ(told[1].ns, 50u);
}

TEST_F(TimedChannelTest, CommandThatIsRefused_IsToldSoAndPassedOn) {
  device.answer = fail(Errc::CommandFailed, "status 5");
  const auto ticket = submit(prm::Opcode::DESTROY_MKEY).value();
  EXPECT_FALSE(timed.await(ticket, {}, 0));
  EXPECT_FALSE(told.at(0).is_good);
}

TEST_F(TimedChannelTest, CommandThatNobodySent_IsNotTimed) {
  device.is_full = true;
  EXPECT_EQ(submit(prm::Opcode::DESTROY_MKEY).error().code, Errc::Busy);
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace portcullis::service::daemon
