// SPDX-License-Identifier: BSD-3-Clause
//
// A profile comes back from its text as it was; one from a stranger is read or refused in one line.
#include "trace/device_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "prm/enums.hpp"
#include "prm/flow_commands.hpp"
#include "prm/flow_enums.hpp"
#include "prm/opcodes.hpp"
#include "prm/status.hpp"
#include "prm/view.hpp"
#include "trace/profile_builder.hpp"

namespace portcullis::trace {
namespace {

using prm::CommandStatus;
using prm::Opcode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TraceCommand answered(Opcode opcode, std::uint64_t time_ns, CommandStatus status = {}) {
  TraceCommand command;
  prm::Buffer<prm::create_flow_table_in> in;
  in.put<"opcode">(opcode);
  in.put<"table_type">(prm::FlowTableType::RDMA_RX);
  command.in.bytes.assign(in.all().begin(), in.all().end());
  command.out.bytes.assign(16, std::byte{0});
  command.out.bytes[0] = std::byte{prm::number(status)};
  command.answer = TraceAnswer::Given;
  command.time_ns = time_ns;
  return command;
}

DeviceProfile some_profile() {
  ProfileBuilder builder;
  for (std::uint64_t ns = 1'000; ns < 3'000; ns += 7) builder.add(answered(Opcode::QP_2ERR, ns));
  builder.add(answered(Opcode::CREATE_FLOW_TABLE, 5, CommandStatus::BAD_PARAM_ERR));
  DeviceProfile profile = builder.profile();
  profile.source = "first-light, vfio";
  profile.firmware = "16.35.4506";
  profile.behaviours = {"rdma-rx-in-path", "data-path-ns=2100"};
  profile.capabilities.push_back({0, std::vector<std::byte>(kCapabilityBytes, std::byte{0xa5})});
  return profile;
}

std::string refusal_of(const std::string& text) {
  const auto read = profile_from_json(text, "profile.json");
  return read ? "read" : read.error().text;
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = to_json(some_profile());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(DeviceProfile, AsText_ComesBackAsItWas) {
  const std::string text = to_json(some_profile());
  const auto back = profile_from_json(text, "profile.json");
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(to_json(*back), text);
  EXPECT_EQ(back->capabilities.front().page.size(), kCapabilityBytes);
}

TEST(DeviceProfile, ManyTimes_AreFewBinsOfTheSameSamples) {
  Histogram many;
  for (std::uint64_t ns = 1; ns < 10'000'000; ns += ns / 200 + 1) many.record(ns);
  const auto times = times_from(1, many);
  EXPECT_GT(many.bins().size(), kMostTimes);
  EXPECT_LE(times.times.size(), kMostTimes);
  EXPECT_EQ(times.least_ns, many.min_ns());
  EXPECT_EQ(times.most_ns, many.max_ns());
  const auto add = [](std::uint64_t sum, const auto& bin) { return sum + bin.count; };
  EXPECT_EQ(std::accumulate(times.times.begin(), times.times.end(), std::uint64_t{0}, add),
            many.count());
}

TEST(DeviceProfile, CommandThatTookHours_IsOneThatCanBeReadBack) {
  Histogram slow;
  slow.record(1'000);
  slow.record(7'200'000'000'000);
  DeviceProfile profile = some_profile();
  profile.commands = {times_from(7, slow)};
  EXPECT_EQ(refusal_of(to_json(profile)), "read");
}

TEST(ProfileBuilder, RefusedEachTimeForWhatItAsked_IsARefusal) {
  ProfileBuilder builder;
  builder.add(answered(Opcode::CREATE_FLOW_TABLE, 1, CommandStatus::BAD_PARAM_ERR));
  builder.add(answered(Opcode::CREATE_FLOW_GROUP, 1, CommandStatus::BAD_RES_ERR));
  builder.add(answered(Opcode::SET_FLOW_TABLE_ROOT, 1, CommandStatus::BAD_OP_ERR));
  builder.add(answered(Opcode::SET_FLOW_TABLE_ROOT, 1));
  const auto refusals = builder.profile().refusals;
  ASSERT_THAT(refusals, SizeIs(1));
  EXPECT_EQ(refusals.front().kind.opcode, prm::number(Opcode::CREATE_FLOW_TABLE));
  EXPECT_EQ(refusals.front().kind.about, prm::number(prm::FlowTableType::RDMA_RX));
  EXPECT_EQ(refusals.front().status, prm::number(CommandStatus::BAD_PARAM_ERR));
}

TEST(ProfileBuilder, WhatWasNotAnsweredOrHasNoTime_IsNoTime) {
  ProfileBuilder builder;
  TraceCommand lost = answered(Opcode::QP_2ERR, 1);
  lost.answer = TraceAnswer::None;
  builder.add(lost);
  TraceCommand refused = answered(Opcode::QP_2ERR, 1);
  refused.delivery_status = 1;
  builder.add(refused);
  builder.add(TraceCommand{});
  EXPECT_THAT(builder.profile().commands, IsEmpty());
}

TEST(ProfileBuilder, AnswerToPagesThatWereGiven_IsNoTimeOfTheDevice) {
  ProfileBuilder builder;
  builder.add(answered(Opcode::MANAGE_PAGES, 4'000'000'000));
  builder.add(answered(Opcode::QP_2ERR, 1'000));
  const auto commands = builder.profile().commands;
  ASSERT_THAT(commands, SizeIs(1));
  EXPECT_EQ(commands.front().opcode, prm::number(Opcode::QP_2ERR));
}

struct Wrong {
  const char* from;
  const char* to;
  const char* said;
};

class WrongProfile : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongProfile, IsRefusedWithItsLineAndMember) {
  const std::string said = refusal_of(with(GetParam().from, GetParam().to));
  EXPECT_THAT(said,
              AllOf(HasSubstr("profile.json:"), HasSubstr(GetParam().said), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    Members, WrongProfile,
    ::testing::Values(
        Wrong{"\"version\": 1", "\"version\": 2", "version: 2; a whole number from 1 to 1"},
        Wrong{"portcullis-profile", "another", "\"portcullis-profile\""},
        Wrong{"\"port\": \"eth\"", "\"port\": \"fc\"", "\"eth\" or \"ib\""},
        Wrong{"\"virtual_function\": false", "\"virtual_function\": 0", "virtual_function"},
        Wrong{"\"least_ns\": 1000", "\"least_ns\": -1", "least_ns"},
        Wrong{"\"least_ns\": 1000", "\"least_ns\": 1e300", "least_ns"},
        Wrong{"\"most_ns\": 2995", "\"most_ns\": 60000000001", "most_ns"},
        Wrong{"\"most_ns\": 2995", "\"most_ns\": 999", "most_ns"},
        Wrong{"\"times\": [", "\"times\": [1000,", "times"},
        Wrong{"\"times\": [", "\"times\": [1000,1001,0,", "times[2]: 0; a whole number from 1"},
        Wrong{"\"hex\": \"a5", "\"hex\": \"g5", "4096 bytes in hexadecimal"},
        Wrong{"\"hex\": \"a5", "\"hex\": \"", "4096 bytes in hexadecimal"},
        Wrong{"\"status\": 3", "\"status\": 0", "status"},
        Wrong{"\"rdma-rx-in-path\"", "7", "behaviours"},
        Wrong{"\"rdma-rx-in-path\"", "\"data-path-ns=2100\"", "twice"},
        Wrong{"\"rdma-rx-in-path\"", "\"\\u001b[2J\"", "ASCII"},
        Wrong{"\"refusals\"", "\"refusal\"", "refusal"}, Wrong{"{", "[", "JSON"}));

TEST(WrongProfile, OfManyItemsOrBytes_IsRefused) {
  DeviceProfile many = some_profile();
  many.behaviours.clear();
  for (int i = 0; i < 257; ++i) many.behaviours.push_back(std::to_string(i));
  EXPECT_THAT(refusal_of(to_json(many)), HasSubstr("more than 256 items"));
  EXPECT_THAT(refusal_of(std::string(kMostProfileBytes + 1, ' ')), HasSubstr("at most 1048576"));
  EXPECT_THAT(refusal_of(std::string(500'000, '[')), Not(HasSubstr("\n")));
}

class DamagedProfile : public ::testing::TestWithParam<std::uint32_t> {};

/// What is read has what its user takes for granted: bins in order, none empty, all within a
/// minute.
TEST_P(DamagedProfile, IsReadWholeOrRefusedInOneLine) {
  std::string text = to_json(some_profile());
  text.erase(text.find("a5a5"), 8'000);
  std::mt19937 chance(GetParam());
  for (int i = 0; i < 2; ++i) text[chance() % text.size()] = "0123456789-.,[]{}\" a"[chance() % 20];
  const auto read = profile_from_json(text, "profile.json");
  EXPECT_THAT(read ? std::string() : read.error().text, Not(HasSubstr("\n")));
  const DeviceProfile profile = read.value_or(DeviceProfile{});
  for (const CommandTimes& each : profile.commands) {
    EXPECT_THAT(each.times, Not(IsEmpty()));
    EXPECT_LE(each.times.front().first_ns, each.most_ns);
    EXPECT_GE(each.times.back().last_ns, each.least_ns);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DamagedProfile, ::testing::Range(0U, 100U));

}  // namespace
}  // namespace portcullis::trace
