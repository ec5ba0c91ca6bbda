// SPDX-License-Identifier: BSD-3-Clause
//
// A model that answers as a device did: its times, its refusals, its capabilities, its firmware.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "model/behaviours.hpp"
#include "model/capabilities.hpp"
#include "prm/hca_cap.hpp"
#include "prm/pacing_commands.hpp"
#include "prm/steering_commands.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

trace::DeviceProfile some_device() {
  trace::DeviceProfile profile;
  profile.source = "first-light, vfio";
  profile.firmware = "16.32.1010";
  return profile;
}

Options as(trace::DeviceProfile profile) {
  Options options;
  EXPECT_TRUE(adopt(options, std::move(profile), "profile.json"));
  return options;
}

std::uint64_t time_of(MiniDriver& driver, Opcode opcode) {
  const std::uint64_t before = driver.device().clock.now_ns();
  static_cast<void>(driver.run<prm::alloc_pd_out>(command<prm::alloc_pd_in>(opcode)));
  return driver.device().clock.now_ns() - before;
}

TEST(Profile, Times_AreThoseOfTheDeviceAndEachIsDrawn) {
  trace::DeviceProfile profile = some_device();
  profile.commands = {{.opcode = prm::number(Opcode::ALLOC_PD),
                       .least_ns = 1'000,
                       .most_ns = 9'000,
                       .times = {{1'000, 2'000, 1}, {8'000, 9'000, 1}}}};
  MiniDriver driver(as(profile));
  driver.bring_up();
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(time_of(driver, Opcode::ALLOC_PD));
  EXPECT_GE(*seen.begin(), 1'000u);
  EXPECT_LE(*seen.rbegin(), 9'000u);
  EXPECT_GT(seen.size(), 100u);
  EXPECT_EQ(seen.upper_bound(2'000), seen.lower_bound(8'000));  // nothing in between
}

TEST(Profile, CommandThatWasNeverSent_TakesTheMedianOfTheMedians) {
  trace::DeviceProfile profile = some_device();
  profile.commands = {
      {.opcode = 1, .least_ns = 100, .most_ns = 100, .times = {{100, 100, 5}}},
      {.opcode = 2, .least_ns = 5'000, .most_ns = 5'000, .times = {{5'000, 5'000, 1}}},
      {.opcode = 3, .least_ns = 70'000, .most_ns = 70'000, .times = {{70'000, 70'000, 9}}}};
  MiniDriver driver(as(profile));
  driver.bring_up();
  EXPECT_EQ(time_of(driver, Opcode::ALLOC_PD), 5'000u);
  EXPECT_THAT(driver.device().description,
              AllOf(HasSubstr("first-light, vfio, firmware 16.32.1010"), HasSubstr("assumed")));
}

TEST(Profile, WhatWasRefusedThere_IsRefusedHere) {
  trace::DeviceProfile profile = some_device();
  profile.refusals = {{.kind = {.opcode = prm::number(Opcode::ALLOC_PD)},
                       .status = prm::number(CommandStatus::BAD_OP_ERR),
                       .syndrome = 0x1234}};
  MiniDriver driver(as(profile));
  driver.bring_up();
  const Answer answer = driver.run<prm::alloc_pd_out>(command<prm::alloc_pd_in>(Opcode::ALLOC_PD));
  EXPECT_EQ(answer.status, CommandStatus::BAD_OP_ERR);
  EXPECT_EQ(answer.syndrome, 0x1234u);
}

TEST(Profile, Capabilities_AreWhatBothCanDo) {
  trace::DeviceProfile profile = some_device();
  prm::Buffer<prm::cmd_hca_cap> page;
  page.set<"log_max_qp", 12>().set<"log_max_cq", 31>().set<"roce", 1>().set<"dct", 1>();
  profile.capabilities = {{.op_mod = 0, .page = {page.all().begin(), page.all().end()}}};
  Options options = as(profile);
  const Behaviours plain;
  const Capabilities capabilities(false, PortType::Ethernet, plain, options.profile.get());
  prm::Buffer<prm::cmd_hca_cap> offered;
  ASSERT_TRUE(capabilities.query(prm::CapType::GENERAL, prm::CapMode::GET_MAX, offered.all()).ok());
  EXPECT_EQ(offered.get<"log_max_qp">(), 12u);                      // less than the model's
  EXPECT_EQ(offered.get<"log_max_cq">(), Capabilities::kLogMaxCq);  // more
  EXPECT_EQ(offered.get<"xrc">(), 0u);
  EXPECT_EQ(offered.get<"dct">(), 0u);  // the model has none
  EXPECT_EQ(offered.get<"port_type">(), prm::number(prm::PortType::ETH));
}

/// All that Linux and rdma-core ask goes with it.
TEST(Profile, WithoutProgramsOwnTables_OffersNothingOfThem) {
  trace::DeviceProfile profile = some_device();
  prm::Buffer<prm::flow_table_nic_cap> page;
  page.set<"flow_table_properties_nic_receive.ft_support", 1>();
  profile.capabilities = {
      {.op_mod = prm::cap_op_mod(prm::CapType::FLOW_TABLE, prm::CapMode::GET_CUR),
       .page = {page.all().begin(), page.all().end()}}};
  Options options = as(profile);
  const Behaviours plain;
  const Capabilities capabilities(false, PortType::Ethernet, plain, options.profile.get());
  EXPECT_FALSE(capabilities.has_object_type(prm::kObjTypeSwIcm));
  EXPECT_EQ(capabilities.device_memory().get<"steering_sw_icm_start_address">(), 0u);
  EXPECT_EQ(capabilities.device_memory().get<"log_sw_icm_alloc_granularity">(), 0u);
}

/// The least rate is the only number of a page of which the larger one is what both can do.
TEST(Profile, Rates_AreThoseOfBoth) {
  trace::DeviceProfile profile = some_device();
  prm::Buffer<prm::qos_cap> page;
  page.set<"packet_pacing", 1>().set<"packet_pacing_min_rate", 1000>();
  page.set<"packet_pacing_max_rate", 5000>().set<"packet_pacing_rate_table_size", 16>();
  profile.capabilities = {{.op_mod = prm::cap_op_mod(prm::CapType::QOS, prm::CapMode::GET_CUR),
                           .page = {page.all().begin(), page.all().end()}}};
  Options options = as(profile);
  Behaviours behaviours;
  behaviours.eth_offloads = true;
  const Capabilities capabilities(false, PortType::Ethernet, behaviours, options.profile.get());
  EXPECT_EQ(capabilities.qualities().get<"packet_pacing_min_rate">(), 1000U);
  EXPECT_EQ(capabilities.qualities().get<"packet_pacing_max_rate">(), 5000U);
  EXPECT_EQ(capabilities.qualities().get<"packet_pacing_rate_table_size">(), 16U);
}

TEST(Profile, DeviceWithoutThePageOfQualities_HasNoRates) {
  trace::DeviceProfile profile = some_device();
  const prm::Buffer<prm::cmd_hca_cap> page;
  profile.capabilities = {{.op_mod = 0, .page = {page.all().begin(), page.all().end()}}};
  Options options = as(profile);
  Behaviours behaviours;
  behaviours.eth_offloads = true;
  const Capabilities capabilities(false, PortType::Ethernet, behaviours, options.profile.get());
  EXPECT_EQ(capabilities.qualities().get<"packet_pacing_rate_table_size">(), 0U);
}

TEST(Profile, OfItsOwn_ChangesNoCapability) {
  const Behaviours plain;
  const Capabilities own(false, PortType::Ethernet, plain, nullptr);
  trace::DeviceProfile profile = some_device();
  for (const std::uint16_t op_mod : std::to_array<std::uint16_t>({0, 1, 8, 9, 15})) {
    std::vector<std::byte> page(trace::kCapabilityBytes);
    ASSERT_TRUE(own.query(static_cast<prm::CapType>(op_mod >> 1),
                          static_cast<prm::CapMode>(op_mod & 1), page)
                    .ok());
    profile.capabilities.push_back({op_mod, page});
  }
  const Capabilities again(false, PortType::Ethernet, plain, &profile);
  for (const trace::CapabilityPage& each : profile.capabilities) {
    std::vector<std::byte> page(trace::kCapabilityBytes);
    ASSERT_TRUE(again
                    .query(static_cast<prm::CapType>(each.op_mod >> 1),
                           static_cast<prm::CapMode>(each.op_mod & 1), page)
                    .ok());
    EXPECT_EQ(page, each.page) << each.op_mod;
  }
}

TEST(Profile, Behaviours_ComeBeforeThoseThatTheUserGives) {
  trace::DeviceProfile profile = some_device();
  profile.behaviours = {"a1-off", "pmtu=2000"};
  Options options;
  options.behaviours = {"a1-off=off"};
  ASSERT_TRUE(adopt(options, profile, "profile.json"));
  EXPECT_EQ(behaviours_in_force(options).value(), "pmtu=2000");
}

TEST(Profile, OfADeviceThatNeverCameUp_IsRefused) {
  trace::DeviceProfile profile = some_device();
  profile.firmware = "";
  Options options;
  const auto refused = adopt(options, profile, "a.tar.zst: profile.json");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text,
              AllOf(HasSubstr("a.tar.zst: profile.json: "), HasSubstr("never came up")));
  for (const char* const firmware : {"16.35", "16.35.4506.1", "16.35.99999", "a.b.c", "16.35."}) {
    profile.firmware = firmware;
    EXPECT_FALSE(adopt(options, profile, "x")) << firmware;
  }
}

TEST(Profile, BehaviourThatTheModelDoesNotKnow_IsNamed) {
  trace::DeviceProfile profile = some_device();
  profile.behaviours = {"flies=2"};
  Options options;
  const auto refused = adopt(options, profile, "profile.json");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, AllOf(HasSubstr("'flies'"), Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace portcullis::model::testing
