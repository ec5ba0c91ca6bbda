// SPDX-License-Identifier: BSD-3-Clause
//
// A function that is up, on the model: events, page requests in mid-run, lost commands, health.
#include <gmock/gmock.h>

#include <optional>
#include <vector>

#include "pmd/completion_queue.hpp"
#include "pmd/roce_address.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "tests/pmd/hca_rig.hpp"
#include "tests/pmd/loopback_side.hpp"

namespace portcullis::pmd {
namespace {

using Kind = model::CommandFaultRule::Kind;
using portcullis::testing::HcaRig;
using portcullis::testing::kClientPsn;
using portcullis::testing::kGid;
using portcullis::testing::kMac;
using portcullis::testing::kRegionBytes;
using portcullis::testing::kServerPsn;
using portcullis::testing::Side;
using ::testing::HasSubstr;

// MLX5_CMD_OP_* of mlx5_ifc.h.
constexpr unsigned kManagePages = 0x108;
constexpr unsigned kDestroyMkey = 0x202;
constexpr unsigned kAllocPd = 0x800;

struct HcaTest : HcaRig, ::testing::Test {
  explicit HcaTest(const model::Options& options = {}) : HcaRig(options) {}
  void SetUp() override { hca = bring_up().value(); }

  Result<prm::Buffer<prm::alloc_pd_out>> alloc_pd() {
    prm::Buffer<prm::alloc_pd_in> in;
    in.set<"opcode", prm::Opcode::ALLOC_PD>();
    return run<prm::alloc_pd_out>(*hca->context().commands, in);
  }
  /// A fence command that no key is harmed by.
  Result<void> fence() {
    prm::Buffer<prm::destroy_mkey_in> in;
    in.set<"opcode", prm::Opcode::DESTROY_MKEY>().put<"mkey_index">(0xffffffu);
    CommandChannel& commands = *hca->context().commands;
    const auto done = run<prm::destroy_mkey_out>(
        commands, in, device.clock.now_ns() + 800 * kNsPerMs, SlotClass::Fence);
    return done ? Result<void>() : tl::unexpected<Error>(done.error());
  }
  /// Polls through `ms` of the device's time.
  void idle(std::uint64_t ms) {
    for (std::uint64_t i = 0; i < ms; ++i) {
      (void)hca->poll();
      device.relax(device.clock.now_ns() + kNsPerMs);
    }
  }

  std::unique_ptr<Hca> hca;
};

TEST_F(HcaTest, QuietFunction_HasNoEventsAndIsWell) {
  EXPECT_TRUE(hca->poll().has_value());
  EXPECT_FALSE(hca->next_event().has_value());
  EXPECT_EQ(hca->unknown_events(), 0u);
  EXPECT_EQ(hca->events_lost(), 0u);
}

// What the port can do has to be known before the wish is held against it.
TEST(HcaWishes, LoopbackThatThePortDoesNotForce_IsRefusedAtBringUp) {
  HcaRig rig({.behaviours = {"loopback=refused"}});
  const auto refused = Hca::bring_up(rig.device, {.forces_loopback = true});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::Unsupported);
  EXPECT_THAT(refused.error().text, HasSubstr("loopback=plain is accepted"));
}

TEST_F(HcaTest, RequestForPages_IsServedWhileIdle) {
  model->request_pages(100);
  idle(10);
  EXPECT_EQ(hca->firmware_pages(), 164u);
  EXPECT_EQ(model->census().pages, 164u);
  EXPECT_FALSE(hca->next_event().has_value()) << "page requests are the driver's own business";
}

TEST_F(HcaTest, RequestBeyondOneCommand_IsServedInFull) {
  model->request_pages(1200);
  idle(20);
  EXPECT_EQ(model->census().pages, 1264u);
}

TEST_F(HcaTest, PagesOffered_AreTakenBack) {
  model->request_pages(-10);
  idle(10);
  EXPECT_EQ(hca->firmware_pages(), 54u);
  EXPECT_EQ(model->census().pages, 54u);
}

TEST_F(HcaTest, RequestsWhileACommandIsUnderWay_AreServedInItsWait) {
  model->inject({.opcode = kAllocPd, .kind = Kind::Delay, .delay_ns = 50 * kNsPerMs});
  model->request_pages(30);
  ASSERT_TRUE(alloc_pd().has_value());
  EXPECT_EQ(model->census().pages, 94u);
}

TEST_F(HcaTest, SlowManagePages_DelaysNoFence) {
  model->inject({.opcode = kManagePages, .kind = Kind::Delay, .delay_ns = 10 * kNsPerSecond});
  model->request_pages(30);
  idle(1);
  const std::uint64_t before = device.clock.now_ns();
  EXPECT_EQ(fence().error().code, Errc::CommandFailed) << "no such key, but an answer";
  EXPECT_LT(device.clock.now_ns() - before, 100 * kNsPerMs);
}

TEST_F(HcaTest, FirmwareThatRefusesItsPages_IsALineAndTheFunctionLives) {
  inject(kManagePages, Kind::Status);
  model->request_pages(30);
  idle(10);
  EXPECT_EQ(hca->firmware_pages(), 64u);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(log[0], HasSubstr("MANAGE_PAGES"));
  EXPECT_TRUE(alloc_pd().has_value());
}

TEST_F(HcaTest, TearDownWithPageRequestsOpen_LeavesNothing) {
  model->inject({.opcode = kManagePages, .kind = Kind::Delay, .delay_ns = kNsPerSecond});
  model->request_pages(600);
  idle(1);
  EXPECT_TRUE(hca->tear_down().has_value());
  EXPECT_EQ(model->census().pages, 0u);
  EXPECT_EQ(model->counters().pages_at_disable, 0u);
}

TEST_F(HcaTest, RefusedCommand_CarriesTheDevicesVerdict) {
  model->inject({.opcode = kAllocPd, .kind = Kind::Status, .status = 0x8, .syndrome = 0x123});
  const auto refused = alloc_pd();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().command->status, 0x8);
  EXPECT_EQ(refused.error().command->syndrome, 0x123u);
  EXPECT_THAT(refused.error().text, HasSubstr("LIM_ERR"));
}

TEST_F(HcaTest, LostFence_KeepsItsSlotAndAnotherTakesItsPlace) {
  inject(kDestroyMkey, Kind::NeverReturns);
  EXPECT_EQ(fence().error().code, Errc::Timeout);
  EXPECT_EQ(hca->fence_slots_available(), 3u);
  EXPECT_EQ(fence().error().code, Errc::CommandFailed);
}

TEST_F(HcaTest, FencesLostWithoutEnd_AreReportedMissing) {
  for (int i = 0; i < 29; ++i) {
    inject(kDestroyMkey, Kind::NeverReturns);
    ASSERT_EQ(fence().error().code, Errc::Timeout) << i;
  }
  EXPECT_LT(hca->fence_slots_available(), CommandQueue::kFenceSlots);
  EXPECT_FALSE(hca->tear_down().has_value()) << "no common slot is left to ask nicely with";
  EXPECT_EQ(model->census().objects(), 0u);
}

TEST_F(HcaTest, LateAnswer_IsATimeoutThatStays) {
  model->inject({.opcode = kDestroyMkey, .kind = Kind::Delay, .delay_ns = 2 * kNsPerSecond});
  EXPECT_EQ(fence().error().code, Errc::Timeout);
  idle(3000);
  EXPECT_TRUE(alloc_pd().has_value());
}

TEST_F(HcaTest, Syndrome_BreaksTheFunctionForGood) {
  model->set_health_syndrome(0x8);
  idle(3000);
  const auto broken = hca->poll();
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().code, Errc::DeviceFailed);
  EXPECT_THAT(broken.error().text, HasSubstr("0x8 (unrecoverable hardware error)"));
  EXPECT_EQ(alloc_pd().error().code, Errc::DeviceFailed);
}

TEST_F(HcaTest, Syndrome_MakesAnsweredCommandsFail) {
  model->set_health_syndrome(0x1);
  EXPECT_EQ(fence().error().code, Errc::DeviceFailed);
}

TEST_F(HcaTest, FrozenCounter_BreaksTheFunctionAfterThreePolls) {
  model->freeze_health_counter();
  idle(4000);
  EXPECT_TRUE(hca->poll().has_value());
  idle(6000);
  EXPECT_EQ(hca->health().state(), HealthState::Stuck);
  EXPECT_EQ(alloc_pd().error().code, Errc::DeviceFailed);
}

TEST_F(HcaTest, HealthyFunction_IsWellAfterAMinute) {
  idle(60'000);
  EXPECT_TRUE(hca->poll().has_value()) << hca->health().reason();
}

TEST_F(HcaTest, PulledCard_IsGone) {
  model->surprise_remove();
  EXPECT_EQ(alloc_pd().error().code, Errc::DeviceGone);
  EXPECT_EQ(hca->poll().error().code, Errc::DeviceGone);
  EXPECT_EQ(hca->health().state(), HealthState::Gone);
}

TEST_F(HcaTest, PulledCard_IsSeenByPollingAlone) {
  model->surprise_remove();
  idle(2001);
  EXPECT_EQ(hca->poll().error().code, Errc::DeviceGone);
}

struct StarvedHcaTest : HcaTest {
  static model::Options starved() {
    model::Options options;
    options.behaviours = {"page-starved"};
    return options;
  }
  StarvedHcaTest() : HcaTest(starved()) {}
};

TEST_F(StarvedHcaTest, CommandsThatWaitForPages_GetThem) {
  std::vector<CompletionQueue> queues;
  for (int i = 0; i < 8; ++i) {
    auto queue = CompletionQueue::create(hca->context(), 6);
    ASSERT_TRUE(queue.has_value()) << queue.error().text;
    queues.push_back(*std::move(queue));
  }
  EXPECT_EQ(model->census().pages, 66u);
}

TEST_F(StarvedHcaTest, WhenTheFirmwareIsDeniedItsPage_TheCommandFailsAndTheFunctionLives) {
  inject(kManagePages, Kind::Status);
  std::vector<Result<CompletionQueue>> queues;
  for (int i = 0; i < 4; ++i) queues.push_back(CompletionQueue::create(hca->context(), 6));
  EXPECT_FALSE(queues.back().has_value());
  EXPECT_TRUE(hca->poll().has_value());
}

struct EventTest : HcaTest {
  void SetUp() override {
    HcaTest::SetUp();
    addresses.emplace(hca->context());
    ASSERT_TRUE(addresses->set(0, {kGid, kMac}));
    client.emplace(Side::make(hca->context()));
    server.emplace(Side::make(hca->context()));
    client->connect(server->qp.number(), kClientPsn, kServerPsn);
    server->connect(client->qp.number(), kServerPsn, kClientPsn);
  }
  void TearDown() override {
    client.reset();
    server.reset();
    addresses.reset();
  }
  /// A WRITE beyond the server's region, which takes the server's QP to error.
  void violate_access() {
    const WriteRequest request{kRegionBytes, server->key.rkey(), 1, true};
    ASSERT_TRUE(client->qp.post_write({0, client->key.lkey(), 64}, request));
    client->qp.ring();
    ASSERT_TRUE(client->cq.wait(device.clock.now_ns() + kNsPerSecond).has_value());
  }

  std::optional<RoceAddressTable> addresses;
  std::optional<Side> client, server;
};

TEST_F(EventTest, AccessError_NamesTheQpOnce) {
  violate_access();
  const std::optional<Event> event = hca->next_event();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(describe(*event),
            "WQ_ACCESS_ERROR qpn " + std::to_string(prm::number(server->qp.number())));
  EXPECT_FALSE(hca->next_event().has_value());
}

TEST_F(EventTest, EventDrainedInACommandsWait_IsNotLost) {
  violate_access();
  ASSERT_TRUE(alloc_pd().has_value());
  EXPECT_TRUE(std::holds_alternative<QpEvent>(hca->next_event().value()));
}

}  // namespace
}  // namespace portcullis::pmd
