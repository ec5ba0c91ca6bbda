// SPDX-License-Identifier: BSD-3-Clause
//
// The device's side against the model: what it tells, in which order, and that every lease that was
// granted has its outcome told once.
#include "service/daemon/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "attach/function.hpp"
#include "attach/open_device.hpp"
#include "attach/port.hpp"
#include "model/model.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::service::daemon {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

class EngineTest : public testing::Test {
 protected:
  void SetUp() override { start("model", {.slots = 64}); }

  void start(const std::string& device, EngineOptions options) {
    engine_.reset();
    port_.reset();
    function_.reset();
    auto opened = attach::OpenDevice::open(attach::parse_device(device).value()).value();
    function_ = attach::Function::bring_up(std::move(opened)).value();
    port_.emplace(
        attach::Port::create(function_->context(), {.gid = attach::kLoopbackGid}).value());
    options.source_address_index = port_->address_index();
    engine_ = Engine::create(
                  function_->driver(), options,
                  [this](Event event) { events_.push_back(std::move(event)); },
                  [] { return std::uint64_t{1234}; })
                  .value();
  }

  static Alloc alloc(Ticket ticket, std::uint64_t tenant = 7, std::uint64_t ttl_ms = 60'000) {
    return {.ticket = ticket,
            .wanted = {.bytes = 4096,
                       .peer = {.qpn = prm::QpNumber{0x11},
                                .gid = pmd::Gid::from_ipv4(192, 0, 2, 9),
                                .mac = {.octets = {2, 0, 0, 0, 0, 9}}},
                       .tenant = tenant,
                       .ttl_ms = ttl_ms}};
  }

  void work() {
    for (int i = 0; i < 10'000 && engine_->work(); ++i) {
    }
  }
  void let_pass(std::uint64_t ms) {
    const Device& device = function_->context().device;
    device.relax(device.clock.now_ns() + ms * kNsPerMs);
  }

  template <class T>
  std::vector<T> told() const {
    std::vector<T> found;
    for (const Event& each : events_)
      if (const auto* of = std::get_if<T>(&each)) found.push_back(*of);
    return found;
  }
  lease::LeaseName granted(Ticket ticket = 1) {
    engine_->ask(alloc(ticket));
    work();
    return told<Granted>().back().record.name;
  }

  std::unique_ptr<attach::Function> function_;
  std::optional<attach::Port> port_;
  std::vector<Event> events_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, Alloc_IsGrantedAndRecordedWithoutItsKey) {
  engine_->ask(alloc(5));
  work();
  const auto granted = told<Granted>();
  ASSERT_THAT(granted, SizeIs(1));
  EXPECT_EQ(granted[0].ticket, 5u);
  EXPECT_EQ(granted[0].record.tenant, 7u);
  EXPECT_EQ(granted[0].record.bytes, 4096u);
  EXPECT_EQ(granted[0].record.granted_unix_ms, 1234u);
  EXPECT_EQ(granted[0].record.name.id, granted[0].grant.lease.id);
  EXPECT_EQ(engine_->counts().held, 1u);
}

TEST_F(EngineTest, Revoke_ToldOnceWithItsCause) {
  const auto name = granted();
  engine_->ask(Revoke{.names = {name}, .cause = wire::Cause::Operator});
  engine_->ask(Revoke{.names = {name}, .cause = wire::Cause::Holder});
  work();
  const auto ended = told<Ended>();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].ending, (Ending{.name = name,
                                     .tenant = 7,
                                     .unix_ms = 1234,
                                     .outcome = wire::Outcome::TornDown,
                                     .memory = wire::Memory::Mkey,
                                     .cause = wire::Cause::Operator,
                                     .origin = lease::Origin::None}));
  EXPECT_EQ(engine_->counts().held, 0u);
  EXPECT_EQ(engine_->counts().resting, 1u);
}

TEST_F(EngineTest, SlotInTheSweepsHands_IsMoreToDoUntilItIsFree) {
  start("model,timing=cx5-16.35.4506", {.slots = 4});
  engine_->ask(Revoke{.names = {granted()}});
  work();
  EXPECT_FALSE(engine_->work());  // it rests
  constexpr std::uint64_t kRestMs = 60'000;
  let_pass(kRestMs);
  EXPECT_TRUE(engine_->work());
  for (int i = 0; i < 1'000 && engine_->work(); ++i) let_pass(1);
  EXPECT_EQ(engine_->counts().resting, 0u);
}

TEST_F(EngineTest, RevokeBehindGrants_ComesBeforeThem) {
  const auto name = granted();
  events_.clear();
  engine_->ask(alloc(2));
  engine_->ask(alloc(3));
  engine_->ask(Revoke{.names = {name}});
  work();
  ASSERT_THAT(events_, SizeIs(3));
  EXPECT_TRUE(std::holds_alternative<Ended>(events_[0]));
  EXPECT_TRUE(std::holds_alternative<Granted>(events_[1]));
  EXPECT_TRUE(std::holds_alternative<Granted>(events_[2]));
}

TEST_F(EngineTest, RevokesOfManyTenants_AreTakenInTurnsAndTogether) {
  start("model", {.slots = 256});
  for (Ticket ticket = 1; ticket <= 200; ++ticket) engine_->ask(alloc(ticket, 1));
  engine_->ask(alloc(201, 2));
  work();
  for (const Granted& each : told<Granted>())
    engine_->ask(Revoke{.names = {each.record.name}, .cause = wire::Cause::Holder});
  engine_->work();
  const auto first = told<Ended>();
  EXPECT_THAT(first, SizeIs(Engine::kTogether));
  EXPECT_TRUE(std::any_of(first.begin(), first.end(),
                          [](const Ended& each) { return each.ending.tenant == 2; }));
  work();
  EXPECT_THAT(told<Ended>(), SizeIs(201));
}

TEST_F(EngineTest, RevokesByDifferentPlans_EachHasItsOwn) {
  const auto by_seed = granted(1);
  const auto by_nak = granted(2);
  engine_->ask(Revoke{.names = {by_seed}, .plan = wire::Plan::Seed});
  engine_->ask(Revoke{.names = {by_nak}, .plan = wire::Plan::NakFirst});
  engine_->work();
  EXPECT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending.name, by_seed);
  work();
  let_pass(60);
  work();
  EXPECT_THAT(told<Ended>(), SizeIs(2));
}

TEST_F(EngineTest, PlanThatLingers_OutcomeIsToldWhenItStands) {
  const auto name = granted();
  engine_->ask(Revoke{.names = {name}, .plan = wire::Plan::NakFirst});
  engine_->work();
  EXPECT_THAT(told<Ended>(), SizeIs(0));
  let_pass(60);
  work();
  ASSERT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending.outcome, wire::Outcome::TornDown);
}

TEST_F(EngineTest, TimeToLiveThatIsOver_EndsAsExpired) {
  engine_->ask(alloc(1, 7, 50));
  work();
  let_pass(60);
  work();
  ASSERT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending.cause, wire::Cause::Expired);
}

TEST_F(EngineTest, Renewal_PutsTheEndOff) {
  engine_->ask(alloc(1, 7, 50));
  work();
  const auto name = told<Granted>()[0].record.name;
  let_pass(40);
  engine_->ask(Renew{.ticket = 9, .name = name, .ttl_ms = 100});
  work();
  let_pass(60);
  work();
  EXPECT_THAT(told<Ended>(), SizeIs(0));
  ASSERT_THAT(told<Renewed>(), SizeIs(1));
  EXPECT_TRUE(told<Renewed>()[0].done);
  let_pass(60);
  work();
  EXPECT_THAT(told<Ended>(), SizeIs(1));
}

TEST_F(EngineTest, RenewalOfNoLease_IsRefused) {
  engine_->ask(Renew{.ticket = 9, .name = {.id = 1, .epoch = 2}, .ttl_ms = 100});
  work();
  EXPECT_FALSE(told<Renewed>().at(0).done);
}

TEST_F(EngineTest, NameThatIsNotHeld_IsPassedOver) {
  const auto name = granted();
  engine_->ask(Revoke{.names = {{.id = name.id, .epoch = name.epoch + 1}, {.id = 1, .epoch = 1}}});
  work();
  EXPECT_THAT(told<Ended>(), SizeIs(0));
  EXPECT_EQ(engine_->counts().held, 1u);
}

TEST_F(EngineTest, ManyAtOnce_EachHasItsOutcomeOnce) {
  start("model", {.slots = 3000});
  std::vector<lease::LeaseName> names;
  for (Ticket ticket = 1; ticket <= 3000; ++ticket) engine_->ask(alloc(ticket));
  work();
  for (const Granted& each : told<Granted>()) names.push_back(each.record.name);
  ASSERT_THAT(names, SizeIs(3000));
  engine_->ask(Revoke{.names = names});
  for (int i = 0; i < 10'000 && told<Ended>().size() < names.size(); ++i) engine_->work();
  std::vector<std::uint64_t> ended;
  for (const Ended& each : told<Ended>()) {
    ended.push_back(each.ending.name.id);
    EXPECT_EQ(each.ending.outcome, wire::Outcome::TornDown);
  }
  std::sort(ended.begin(), ended.end());
  EXPECT_EQ(std::unique(ended.begin(), ended.end()), ended.end());
  EXPECT_THAT(ended, SizeIs(3000));
}

TEST_F(EngineTest, NoSlotLeft_IsToldAndLosesNothing) {
  start("model", {.slots = 1});
  engine_->ask(alloc(1));
  engine_->ask(alloc(2));
  work();
  EXPECT_THAT(told<Granted>(), SizeIs(1));
  ASSERT_THAT(told<NotGranted>(), SizeIs(1));
  EXPECT_EQ(told<NotGranted>()[0].ticket, 2u);
  EXPECT_EQ(told<NotGranted>()[0].why.code, Errc::OutOfResources);
}

TEST_F(EngineTest, FenceThatFails_IsToldAsFencedWithWhatProvedTheMemory) {
  const auto name = granted();
  function_->model()->inject({.opcode = prm::number(prm::Opcode::DESTROY_MKEY), .status = 0x01});
  engine_->ask(Revoke{.names = {name}});
  work();
  ASSERT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending.outcome, wire::Outcome::Fenced);
  EXPECT_EQ(told<Ended>()[0].ending.memory, wire::Memory::Unmap);
  EXPECT_EQ(told<Ended>()[0].ending.failed_mask, 2u);
  EXPECT_EQ(engine_->counts().out, 1u);
}

TEST_F(EngineTest, TearDown_EndsWhatIsHeldAsTheServersOwn) {
  granted(1);
  granted(2);
  EXPECT_TRUE(engine_->tear_down());
  ASSERT_THAT(told<Ended>(), SizeIs(2));
  EXPECT_EQ(told<Ended>()[0].ending.cause, wire::Cause::Server);
  engine_->ask(alloc(3));
  work();
  EXPECT_THAT(told<NotGranted>(), SizeIs(1));
}

TEST_F(EngineTest, FirstEpochThatWasGiven_BeginsTheNames) {
  start("model", {.slots = 4, .first_epoch = 1'000'000});
  EXPECT_GE(granted().epoch, 1'000'000u);
  EXPECT_LT(granted(2).epoch, 1'000'100u);
}

TEST_F(EngineTest, IdlePath_IsWalkedWithEachRound) {
  int rounds = 0;
  start("model", {.idle = [&rounds] { ++rounds; }});
  engine_->work();
  engine_->work();
  EXPECT_EQ(rounds, 2);
  engine_.reset();  // it refers to `rounds`
}

TEST_F(EngineTest, DeviceThatIsLost_EveryLeaseHasAnOutcomeAndNothingIsGranted) {
  granted(1);
  granted(2);
  function_->driver().function_was_reset();
  engine_->work();
  work();
  EXPECT_TRUE(engine_->counts().is_lost);
  EXPECT_THAT(told<Ended>(), SizeIs(2));
  engine_->ask(alloc(3));
  work();
  ASSERT_THAT(told<NotGranted>(), SizeIs(1));
  EXPECT_THAT(told<NotGranted>()[0].why.text, HasSubstr("device is lost"));
}

TEST_F(EngineTest, ConnectionThatIsGivenUp_IsALostDeviceThoughItsRegistersSayNothing) {
  Result<void> connection;
  std::vector<std::string> log;
  start("model", {.log = [&log](std::string_view line) { log.emplace_back(line); },
                  .connection = [&connection] { return connection; }});
  granted(1);
  EXPECT_FALSE(engine_->counts().is_lost);
  connection = fail(Errc::DeviceGone, "shm /x: its server has gone");
  engine_->work();
  work();
  EXPECT_TRUE(engine_->counts().is_lost);
  EXPECT_THAT(log, Contains("the device is lost: shm /x: its server has gone").Times(1));
  ASSERT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending.outcome, wire::Outcome::Fenced);
  engine_.reset();  // it refers to `log`
}

}  // namespace
}  // namespace portcullis::service::daemon
