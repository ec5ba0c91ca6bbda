// SPDX-License-Identifier: BSD-3-Clause
//
// The control path while the device runs on a core of its own: what ownership bytes and doorbells
// order, and ThreadSanitizer would find missing.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "pmd/completion_queue.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "tests/pmd/hca_rig.hpp"

namespace portcullis::pmd {
namespace {

using Kind = model::CommandFaultRule::Kind;
using portcullis::testing::HcaRig;

model::Options polled(std::vector<std::string> behaviours = {}) {
  model::Options options;
  options.execution = model::Execution::Polled;
  options.behaviours = std::move(behaviours);
  return options;
}

struct PolledHcaTest : HcaRig, ::testing::Test {
  explicit PolledHcaTest(const model::Options& options = polled()) : HcaRig(options) {}
  ~PolledHcaTest() override {
    stop = true;
    core.join();
  }

  /// Waits at most ten seconds of wall time.
  template <class Done>
  bool eventually(Done&& done) {
    return wait_until(device, device.clock.now_ns() + 120 * kNsPerSecond, done);
  }

  std::atomic<bool> stop = false;
  std::thread core{[this] { model->run(stop); }};
};

TEST_F(PolledHcaTest, BringUpAndTearDown_LeaveNothing) {
  {
    auto hca = bring_up();
    ASSERT_TRUE(hca.has_value()) << hca.error().text;
    const auto down = (*hca)->tear_down();
    EXPECT_TRUE(down.has_value()) << down.error().text;
  }
  EXPECT_EQ(model->census().objects(), 0u);
  EXPECT_EQ(model->census().pages, 0u);
  EXPECT_EQ(model->census().dma_mappings, 0u);
  EXPECT_EQ(model->counters().dma_faults, 0u);
}

TEST_F(PolledHcaTest, ManyCommandsAtOnce_AllComeBackSigned) {
  auto hca = bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  CommandChannel& commands = *(*hca)->context().commands;
  prm::Buffer<prm::alloc_pd_in> in;
  in.set<"opcode", prm::Opcode::ALLOC_PD>();
  for (int round = 0; round < 50; ++round) {
    std::vector<Ticket> tickets;
    for (int i = 0; i < 20; ++i)
      tickets.push_back(commands.submit(in.all(), 16, SlotClass::Common).value());
    for (const Ticket ticket : tickets) {
      prm::Buffer<prm::alloc_pd_out> out;
      ASSERT_TRUE(commands.await(ticket, out.all(), commands.default_deadline_ns()).has_value());
      prm::Buffer<prm::dealloc_pd_in> free;
      free.set<"opcode", prm::Opcode::DEALLOC_PD>().put<"pd">(out.get<"pd">());
      ASSERT_TRUE(run<prm::dealloc_pd_out>(commands, free).has_value());
    }
  }
  EXPECT_EQ(model->census().pds, 0u);
}

TEST_F(PolledHcaTest, RequestsForPages_AreServed) {
  auto hca = bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  model->request_pages(700);
  EXPECT_TRUE(eventually([&] { return (*hca)->poll() && (*hca)->firmware_pages() == 764; }));
  model->request_pages(-100);
  EXPECT_TRUE(eventually([&] { return (*hca)->poll() && (*hca)->firmware_pages() == 664; }));
}

TEST_F(PolledHcaTest, CommandThatNeverReturns_TimesOut) {
  auto hca = bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  inject(0x800, Kind::NeverReturns);
  CommandChannel& commands = *(*hca)->context().commands;
  prm::Buffer<prm::alloc_pd_in> in;
  in.set<"opcode", prm::Opcode::ALLOC_PD>();
  const std::uint64_t deadline_ns = device.clock.now_ns() + 50 * kNsPerMs;
  const auto lost = run<prm::alloc_pd_out>(commands, in, deadline_ns, SlotClass::Fence);
  EXPECT_EQ(lost.error().code, Errc::Timeout);
  EXPECT_TRUE(run<prm::alloc_pd_out>(commands, in).has_value());
}

TEST_F(PolledHcaTest, PulledCard_IsGone) {
  auto hca = bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  model->surprise_remove();
  EXPECT_TRUE(eventually([&] { return !(*hca)->poll().has_value(); }));
  EXPECT_EQ((*hca)->health().state(), HealthState::Gone);
}

struct StarvedPolledHcaTest : PolledHcaTest {
  StarvedPolledHcaTest() : PolledHcaTest(polled({"page-starved"})) {}
};

TEST_F(StarvedPolledHcaTest, CommandsThatWaitForPages_GetThem) {
  auto hca = bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  for (int i = 0; i < 40; ++i) {
    const auto queue = CompletionQueue::create((*hca)->context(), 6);
    ASSERT_TRUE(queue.has_value()) << queue.error().text;
  }
  EXPECT_EQ((*hca)->firmware_pages(), 74u);
}

}  // namespace
}  // namespace portcullis::pmd
