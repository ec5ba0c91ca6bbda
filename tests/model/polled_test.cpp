// SPDX-License-Identifier: BSD-3-Clause
//
// The same device on a thread of its own and the wall clock. What must be right here is what two
// threads share; ThreadSanitizer runs these.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "model/transport/wire.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

class Polled : public ::testing::Test {
 public:
  ~Polled() override {
    stop_.store(true);
    device_thread_.join();
  }

 protected:
  Answer alloc_pd(std::uint32_t slot) {
    const Posted posted = driver_.lay_out(
        slot, command<prm::alloc_pd_in>(prm::Opcode::ALLOC_PD).all(), prm::alloc_pd_out::bytes);
    driver_.hand_over(posted);
    driver_.ring(slot);
    return driver_.await(posted);
  }

  MiniDriver driver_{{.execution = Execution::Polled}};
  std::atomic<bool> stop_{false};
  std::thread device_thread_{[this] { driver_.model().run(stop_); }};
};

TEST_F(Polled, BringUpAndCommands_AreAnsweredFromTheOtherThread) {
  driver_.bring_up();
  for (std::uint32_t i = 0; i < 200; ++i) EXPECT_TRUE(alloc_pd(i % 32).ok());
  EXPECT_EQ(driver_.model().census().pds, 200U);
  EXPECT_FALSE(driver_.device().clock.is_virtual());
}

TEST_F(Polled, Events_ArriveBehindTheirOwnerBit) {
  driver_.bring_up();
  EventQueue eq(driver_, {prm::EventType::PAGE_REQUEST});
  for (std::uint32_t i = 1; i <= 300; ++i) {
    driver_.model().request_pages(-static_cast<std::int32_t>(i));
    const auto event = eq.poll();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->as<prm::mlx5_eqe_page_req>().get<"num_pages">(), 0U - i);
    eq.ring();
    // The device that answers this has seen the doorbell before it.
    ASSERT_TRUE(alloc_pd(0).ok());
  }
  EXPECT_EQ(driver_.registers().get<"health.synd">(), 0U);
}

TEST_F(Polled, MapAndUnmap_GoOnBesideTheLoop) {
  driver_.bring_up();
  const DmaBuffer memory = driver_.allocate(kPageBytes);
  for (std::uint32_t i = 0; i < 300; ++i) {
    auto region = DmaMemory::create(*driver_.device().dma, kPageBytes);
    ASSERT_TRUE(region.has_value());
    EXPECT_TRUE(alloc_pd(0).ok());
    EXPECT_TRUE(region->unmap().has_value());
  }
}

TEST_F(Polled, FunctionReset_EndsEverythingBetweenTwoSteps) {
  for (int i = 0; i < 20; ++i) {
    driver_.bring_up();
    EXPECT_TRUE(alloc_pd(0).ok());
    ASSERT_TRUE(driver_.device().function->reset().has_value());
    EXPECT_EQ(driver_.model().census().objects(), 0U);
  }
}

TEST_F(Polled, HealthCounter_MovesOnTheWallClock) {
  driver_.pass(kNsPerMs);
  const auto before = driver_.registers().get<"health_counter">();
  EXPECT_TRUE(wait_until(driver_.device(),
                         driver_.device().clock.now_ns() + MiniDriver::kPatienceNs,
                         [&] { return driver_.registers().get<"health_counter">() != before; }));
}

TEST_F(Polled, SurpriseRemoval_IsSeenByTheDriver) {
  driver_.bring_up();
  driver_.model().surprise_remove();
  EXPECT_TRUE(
      wait_until(driver_.device(), driver_.device().clock.now_ns() + MiniDriver::kPatienceNs,
                 [&] { return driver_.registers().get<"health.fw_ver">() == 0xffffffffU; }));
}

TEST(PolledOptions, SharedWire_IsRefused) {
  const auto wire = std::make_shared<Wire>();
  const auto error = Model::create({.execution = Execution::Polled, .wire = wire}).error();
  EXPECT_EQ(error.code, Errc::InvalidArgument);
}

}  // namespace
}  // namespace portcullis::model::testing
