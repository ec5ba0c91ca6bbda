// SPDX-License-Identifier: BSD-3-Clause
//
// Firmware pages against a firmware that keeps books, and can be made to lie in them.
#include "pmd/firmware_pages.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <numeric>
#include <set>

#include "pmd/command_queue.hpp"
#include "pmd/health.hpp"
#include "tests/pmd/ifc_message.hpp"
#include "tests/pmd/scripted_device.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::IfcMessage;
using portcullis::testing::ScriptedDevice;
using prm::QueryPagesOpMod;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Command = ScriptedDevice::Command;
using Reply = ScriptedDevice::Reply;

constexpr unsigned kQueryPages = 0x107;
constexpr unsigned kManagePages = 0x108;
constexpr unsigned kCannotGive = 0;
constexpr unsigned kGive = 1;
constexpr unsigned kTake = 2;
constexpr std::uint16_t kFunctionId = 7;

struct FirmwarePagesTest : ::testing::Test {
  FirmwarePagesTest() {
    scripted.firmware = [this](const Command& command) {
      if (command.opcode() == kQueryPages) return query(command);
      if (command.opcode() == kManagePages) return manage(command);
      return Reply{};
    };
  }
  Reply query(const Command& command) {
    query_op_mods.push_back(command.op_mod());
    IfcMessage out("query_pages_out", 16);
    out.put("function_id", kFunctionId).put("num_pages", asks_for);
    return {.out = out.octets()};
  }
  Reply manage(const Command& command) {
    const auto in = as_bytes(command.in);
    kinds.push_back(command.op_mod());
    counts.push_back(static_cast<unsigned>(
        IfcMessage::read("manage_pages_in.input_num_entries", std::span(in).first(16))));
    function_ids.insert(static_cast<unsigned>(
        IfcMessage::read("manage_pages_in.function_id", std::span(in).first(16))));
    if (refuses) return {.out = {0x4}};
    if (command.op_mod() == kGive) {
      for (std::size_t at = 16; at < in.size(); at += 8) pages.push_back(address_at(in, at));
      return {};
    }
    return command.op_mod() == kTake ? give_back() : Reply{};
  }
  Reply give_back() {
    const std::size_t count = std::min<std::size_t>({counts.back(), returns_at_once, pages.size()});
    IfcMessage out("manage_pages_out", 16);
    out.put("output_num_entries", claims.value_or(count));
    for (std::size_t i = 0; i < count; ++i) {
      out.append(pages.back() + lie);
      pages.pop_back();
    }
    return {.out = out.octets()};
  }

  static std::vector<std::byte> as_bytes(const std::vector<std::uint8_t>& from) {
    std::vector<std::byte> to;
    for (const std::uint8_t b : from) to.push_back(static_cast<std::byte>(b));
    return to;
  }
  static Iova address_at(const std::vector<std::byte>& in, std::size_t at) {
    Iova address = 0;
    for (std::size_t i = 0; i < 8; ++i) address = address << 8 | std::to_integer<Iova>(in[at + i]);
    return address;
  }
  /// Serves until nothing is left to do.
  void serve_all() {
    for (int i = 0; i < 1000 && !firmware_pages.is_idle(); ++i) {
      firmware_pages.serve();
      device.relax(scripted.now_ns + kNsPerMs);
    }
  }
  void ask(std::int32_t count) {
    firmware_pages.request({.function_id = kFunctionId, .pages = count});
  }

  // What the firmware has and does.
  std::vector<Iova> pages;
  std::uint32_t asks_for = 0;
  bool refuses = false;
  std::size_t returns_at_once = 10'000;
  std::optional<std::uint64_t> claims;  // instead of the true count
  Iova lie = 0;                         // added to every address it returns
  // What it was told.
  std::vector<unsigned> query_op_mods, kinds, counts;
  std::set<unsigned> function_ids;

  ScriptedDevice scripted;
  Device device = scripted.device();
  DmaArena arena{scripted.space};
  Health health{device};
  std::unique_ptr<CommandQueue> queue = CommandQueue::create(device, arena, health).value();
  std::vector<std::string> log;
  FirmwarePages firmware_pages{device, *queue, arena,
                               [this](std::string_view line) { log.emplace_back(line); }};
};

TEST_F(FirmwarePagesTest, Startup_GivesWhatIsAskedForUnderTheFunctionIdThatWasAnswered) {
  asks_for = 6;
  ASSERT_TRUE(firmware_pages.give_startup(QueryPagesOpMod::BOOT_PAGES).has_value());
  EXPECT_EQ(pages.size(), 6u);
  EXPECT_EQ(firmware_pages.held(), 6u);
  EXPECT_THAT(query_op_mods, ElementsAre(1u));
  EXPECT_THAT(function_ids, ElementsAre(kFunctionId));
  EXPECT_THAT(scripted.complaints, IsEmpty());
}

TEST_F(FirmwarePagesTest, PagesGiven_AreWholeMappedAndDistinct) {
  asks_for = 600;
  ASSERT_TRUE(firmware_pages.give_startup(QueryPagesOpMod::INIT_PAGES).has_value());
  EXPECT_EQ(std::set<Iova>(pages.begin(), pages.end()).size(), 600u);
  for (const Iova page : pages) {
    EXPECT_EQ(page % 4096, 0u);
    EXPECT_NE(scripted.space.at(page + 4095), nullptr);
  }
}

TEST_F(FirmwarePagesTest, ManyPages_GoInBatches) {
  asks_for = 1300;
  ASSERT_TRUE(firmware_pages.give_startup(QueryPagesOpMod::INIT_PAGES).has_value());
  EXPECT_THAT(counts, ElementsAre(512u, 512u, 276u));
}

/// alloc_system_page of Linux gives none there either, for the firmware takes it for no page.
TEST_F(FirmwarePagesTest, PageAtAddressZero_IsNotGiven) {
  scripted.space.next = 0;
  asks_for = 1300;
  ASSERT_TRUE(firmware_pages.give_startup(QueryPagesOpMod::INIT_PAGES).has_value());
  EXPECT_NE(scripted.space.at(0), nullptr);
  EXPECT_EQ(pages.size(), 1300u);
  EXPECT_THAT(pages, Not(Contains(Iova{0})));
}

TEST_F(FirmwarePagesTest, RequestForNoPages_IsSentNothing) {
  ask(0);
  EXPECT_TRUE(firmware_pages.is_idle());
  serve_all();
  EXPECT_THAT(kinds, IsEmpty());
}

TEST_F(FirmwarePagesTest, RequestToTakeBackMoreThanFirmwareCanRelease_AsksForSoMany) {
  ask(std::numeric_limits<std::int32_t>::min());
  serve_all();
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0U), 50'000u);
}

TEST_F(FirmwarePagesTest, NoPagesAskedFor_SendsNoManagePages) {
  ASSERT_TRUE(firmware_pages.give_startup(QueryPagesOpMod::BOOT_PAGES).has_value());
  EXPECT_THAT(kinds, IsEmpty());
}

TEST_F(FirmwarePagesTest, NegativeStartupCount_AsksForNothing) {
  asks_for = 0xffffffff;
  ASSERT_TRUE(firmware_pages.give_startup(QueryPagesOpMod::BOOT_PAGES).has_value());
  EXPECT_THAT(kinds, IsEmpty());
}

TEST_F(FirmwarePagesTest, RefusedStartup_IsAnErrorAndKeepsNoPage) {
  asks_for = 6;
  refuses = true;
  const std::size_t before = arena.bytes_in_use();
  EXPECT_EQ(firmware_pages.give_startup(QueryPagesOpMod::BOOT_PAGES).error().code,
            Errc::CommandFailed);
  EXPECT_EQ(firmware_pages.held(), 0u);
  EXPECT_EQ(arena.bytes_in_use(), before);
}

TEST_F(FirmwarePagesTest, DeviceThatWantsTheWholeMachine_IsRefused) {
  asks_for = 0x7fffffff;
  const auto refused = firmware_pages.give_startup(QueryPagesOpMod::INIT_PAGES);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::OutOfResources);
  EXPECT_THAT(kinds, IsEmpty());
}

TEST_F(FirmwarePagesTest, RequestForMore_IsServedInBatches) {
  ask(600);
  serve_all();
  EXPECT_EQ(firmware_pages.held(), 600u);
  EXPECT_THAT(counts, ElementsAre(512u, 88u));
  EXPECT_THAT(log, IsEmpty());
}

TEST_F(FirmwarePagesTest, Serve_NeverWaits) {
  ask(1);
  const std::uint64_t before = scripted.now_ns;
  firmware_pages.serve();
  firmware_pages.serve();
  EXPECT_EQ(scripted.now_ns, before);
  EXPECT_FALSE(firmware_pages.is_idle());
}

TEST_F(FirmwarePagesTest, RequestToTakeBack_FreesExactlyWhatIsReturned) {
  ask(10);
  serve_all();
  const std::size_t before = arena.bytes_in_use();
  returns_at_once = 3;
  ask(-4);
  serve_all();
  EXPECT_THAT(kinds, ElementsAre(kGive, kTake));
  EXPECT_EQ(counts.back(), 4u);
  EXPECT_EQ(firmware_pages.held(), 7u);
  EXPECT_EQ(arena.bytes_in_use(), before - 3 * 4096);
}

TEST_F(FirmwarePagesTest, RequestsInARow_AreServedInTheirOrder) {
  ask(5);
  ask(-2);
  ask(7);
  serve_all();
  EXPECT_THAT(kinds, ElementsAre(kGive, kTake, kGive));
  EXPECT_EQ(firmware_pages.held(), 10u);
}

TEST_F(FirmwarePagesTest, WhenMemoryRunsOut_TheFirmwareIsTold) {
  scripted.space.most_mappings = scripted.space.mappings();
  ask(600);
  serve_all();
  EXPECT_THAT(kinds, ElementsAre(kCannotGive));
  EXPECT_THAT(function_ids, ElementsAre(kFunctionId));
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(log[0], HasSubstr("refused"));
}

TEST_F(FirmwarePagesTest, RequestForTheWholeMachine_IsRefusedAtOnce) {
  ask(0x7fffffff);
  serve_all();
  EXPECT_THAT(kinds, ElementsAre(kCannotGive));
  EXPECT_EQ(firmware_pages.held(), 0u);
}

TEST_F(FirmwarePagesTest, RefusedRequest_IsALineAndKeepsNoPage) {
  refuses = true;
  ask(5);
  serve_all();
  EXPECT_EQ(firmware_pages.held(), 0u);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(log[0], HasSubstr("MANAGE_PAGES"));
}

TEST_F(FirmwarePagesTest, AddressThatWasNeverGiven_IsALineAndFreesNothing) {
  ask(10);
  serve_all();
  const std::size_t before = arena.bytes_in_use();
  lie = 0x10'0000'0000;
  ask(-2);
  serve_all();
  EXPECT_EQ(firmware_pages.held(), 10u);
  EXPECT_EQ(arena.bytes_in_use(), before);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(log[0], HasSubstr("does not hold"));
}

TEST_F(FirmwarePagesTest, MorePagesThanAskedBack_AreALineAndFreeNothing) {
  ask(10);
  serve_all();
  claims = 3;
  ask(-2);
  serve_all();
  EXPECT_EQ(firmware_pages.held(), 10u);
  EXPECT_THAT(log[0], HasSubstr("returned 3 pages; at most 2"));
}

TEST_F(FirmwarePagesTest, FunctionThatReleasesAll_HoldsNoPageAndIsSentNothing) {
  ask(10);
  serve_all();
  firmware_pages.request({.function_id = kFunctionId, .release_all = true});
  serve_all();
  EXPECT_EQ(firmware_pages.held(), 0u);
  EXPECT_THAT(kinds, ElementsAre(kGive));
}

TEST_F(FirmwarePagesTest, FunctionThatReleasesAll_OthersKeepTheirPages) {
  ask(10);
  firmware_pages.request({.function_id = 9, .pages = 3});
  serve_all();
  firmware_pages.request({.function_id = kFunctionId, .release_all = true});
  firmware_pages.request({.function_id = 9, .pages = 2});
  serve_all();
  EXPECT_EQ(firmware_pages.held(), 5u);
}

TEST_F(FirmwarePagesTest, SilentFirmware_IsALineAtTheDeadlineAndItsPagesAreNotReused) {
  scripted.firmware = [](const Command&) { return Reply{.returns = false}; };
  const std::size_t before = arena.bytes_in_use();
  ask(5);
  firmware_pages.serve();
  scripted.now_ns += 60 * kNsPerSecond - 1;
  firmware_pages.serve();
  EXPECT_FALSE(firmware_pages.is_idle());
  ++scripted.now_ns;
  firmware_pages.serve();
  EXPECT_TRUE(firmware_pages.is_idle());
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(log[0], HasSubstr("not answered"));
  EXPECT_GE(arena.bytes_in_use(), before + 5 * 4096);
}

TEST_F(FirmwarePagesTest, BrokenFunction_IsOneLineNotOneEachTime) {
  health.report_failure("the test has it so");
  ask(5);
  for (int i = 0; i < 5; ++i) firmware_pages.serve();
  EXPECT_EQ(log.size(), 1u);
  EXPECT_TRUE(firmware_pages.is_idle());
}

TEST_F(FirmwarePagesTest, RequestsWithoutEnd_AreDroppedWithALine) {
  for (int i = 0; i < 1025; ++i) ask(1);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(log[0], HasSubstr("dropped"));
}

TEST_F(FirmwarePagesTest, Request_WaitsWhileTheSlotIsTaken) {
  const std::vector<std::byte> in(16);
  const Ticket taken = queue->submit(in, 16, SlotClass::Pages).value();
  ask(5);
  firmware_pages.serve();
  EXPECT_THAT(log, IsEmpty());
  std::vector<std::byte> out(16);
  ASSERT_TRUE(queue->await(taken, out, queue->default_deadline_ns()).has_value());
  serve_all();
  EXPECT_EQ(firmware_pages.held(), 5u);
}

TEST_F(FirmwarePagesTest, ReclaimAll_AsksUntilNothingIsHeld) {
  ask(1300);
  serve_all();
  returns_at_once = 500;
  ASSERT_TRUE(firmware_pages.reclaim_all().has_value());
  EXPECT_EQ(firmware_pages.held(), 0u);
  EXPECT_THAT(pages, IsEmpty());
}

/// One page every three seconds, and nothing in between.
TEST_F(FirmwarePagesTest, FirmwareThatIsSlow_IsAskedAsLongAsPagesCome) {
  ask(4);
  serve_all();
  const std::uint64_t since_ns = scripted.now_ns;
  scripted.firmware = [&, left = std::uint64_t{4}](const Command& command) mutable {
    returns_at_once = 4 - (scripted.now_ns - since_ns) / (3 * kNsPerSecond) < left ? 1 : 0;
    left -= returns_at_once;
    return manage(command);
  };
  ASSERT_TRUE(firmware_pages.reclaim_all().has_value());
  EXPECT_EQ(firmware_pages.held(), 0u);
  EXPECT_GE(scripted.now_ns - since_ns, 12 * kNsPerSecond);
}

TEST_F(FirmwarePagesTest, FirmwareThatKeepsPages_IsAnErrorAfterFiveSecondsWithoutProgress) {
  ask(10);
  serve_all();
  returns_at_once = 0;
  const std::uint64_t before = scripted.now_ns;
  const auto kept = firmware_pages.reclaim_all();
  ASSERT_FALSE(kept.has_value());
  EXPECT_EQ(kept.error().code, Errc::Timeout);
  EXPECT_THAT(kept.error().text, HasSubstr("keeps 10 pages of function 7"));
  EXPECT_GE(scripted.now_ns - before, 5 * kNsPerSecond);
  EXPECT_LT(scripted.now_ns - before, 6 * kNsPerSecond);
}

/// A command of the last slot takes 31 ns there.
TEST_F(FirmwarePagesTest, FirmwareThatAnswersWithoutPagesAtTheVeryDeadline_IsAskedNoMore) {
  ask(10);
  serve_all();
  scripted.firmware = [&](const Command& command) {
    Reply reply = manage(command);
    reply.delay_ns = 5 * kNsPerSecond - command.slot;
    return reply;
  };
  returns_at_once = 0;
  const std::uint64_t since_ns = scripted.now_ns;
  EXPECT_EQ(firmware_pages.reclaim_all().error().code, Errc::Timeout);
  EXPECT_EQ(scripted.now_ns - since_ns, 5 * kNsPerSecond);
  EXPECT_THAT(kinds, ElementsAre(kGive, kTake));
}

TEST_F(FirmwarePagesTest, Settle_WaitsForTheBatchInFlightAndDropsTheRest) {
  ask(600);
  firmware_pages.serve();
  firmware_pages.settle();
  EXPECT_TRUE(firmware_pages.is_idle());
  EXPECT_EQ(firmware_pages.held(), 512u);
}

}  // namespace
}  // namespace portcullis::pmd
