// SPDX-License-Identifier: BSD-3-Clause
//
// The command queue against a device that a test can make lie, be late or be silent.
#include "pmd/command_queue.hpp"

#include <gmock/gmock.h>

#include <array>
#include <set>

#include "tests/pmd/scripted_device.hpp"
#include "tests/pmd/write_trap.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::InitSegment;
using portcullis::testing::ScriptedDevice;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Bytes = std::vector<std::byte>;
using Bytes8 = std::vector<std::uint8_t>;
using Reply = ScriptedDevice::Reply;
using Command = ScriptedDevice::Command;

// MLX5_CMD_OP_* of include/linux/mlx5/mlx5_ifc.h.
constexpr std::uint8_t kDestroyMkey[] = {0x02, 0x02};
constexpr std::uint8_t kQueryHcaCap[] = {0x01, 0x00};

Bytes message(const std::uint8_t (&opcode)[2], std::size_t bytes = 16) {
  Bytes in(bytes);
  for (std::size_t i = 16; i < bytes; ++i) in[i] = static_cast<std::byte>(i * 7);
  in[0] = static_cast<std::byte>(opcode[0]);
  in[1] = static_cast<std::byte>(opcode[1]);
  return in;
}

struct CommandQueueTest : ::testing::Test {
  void SetUp() override { queue = CommandQueue::create(device, arena, health).value(); }

  /// Submits and awaits; whatever the device answered is in `out`.
  Result<void> execute(const Bytes& in, SlotClass slot_class = SlotClass::Common) {
    return queue->execute(in, out, slot_class, queue->default_deadline_ns());
  }
  /// A command of `slot_class` that nobody answers.
  Result<void> lose(SlotClass slot_class) {
    scripted.firmware = [](const Command&) { return Reply{.returns = false}; };
    auto lost = execute(message(kDestroyMkey), slot_class);
    scripted.firmware = [](const Command&) { return Reply{}; };
    return lost;
  }

  ScriptedDevice scripted;
  Device device = scripted.device();
  DmaArena arena{scripted.space};
  Health health{device};
  std::unique_ptr<CommandQueue> queue;
  Bytes out = Bytes(16);
};

TEST_F(CommandQueueTest, Create_GivesTheDeviceAPageAlignedAddress) {
  const std::uint32_t low = scripted.read(InitSegment::kCmdqAddrLSz);
  const Iova address = Iova{scripted.read(InitSegment::kCmdqAddrH)} << 32 | (low & 0xfffff000);
  EXPECT_NE(scripted.space.at(address), nullptr);
  EXPECT_EQ(low & 0x700, 0u) << "nic_interface stays that of a full driver";
}

TEST_F(CommandQueueTest, InlineCommand_StandsInItsEntryAsTheInterfaceHasIt) {
  const Bytes in = message(kDestroyMkey);
  ASSERT_TRUE(queue->submit(in, 16, SlotClass::Common).has_value());
  const testing::CommandEntry entry = scripted.entry(0);
  EXPECT_EQ(entry.type, 7);
  EXPECT_EQ(cells::be32(entry.inlen), 16u);
  EXPECT_EQ(cells::be32(entry.outlen), 16u);
  EXPECT_EQ(entry.in_ptr, 0u) << "no mailbox for an inline command";
  EXPECT_EQ(entry.out_ptr, 0u);
  EXPECT_EQ(entry.status_own, 1);
  EXPECT_EQ(scripted.read(InitSegment::kCmdDbell), 1u);
}

/// As a device on a core of its own may find it.
TEST_F(CommandQueueTest, Doorbell_RingsForAnEntryThatIsTheDevicesAlready) {
  testing::CommandEntry found{};
  const testing::WriteTrap trap(device.bar.first(kPageBytes), [&] { found = scripted.entry(0); });
  ASSERT_TRUE(queue->submit(message(kDestroyMkey), 16, SlotClass::Common).has_value());
  EXPECT_EQ(found.status_own, 1);
  EXPECT_EQ(found.in[1], kDestroyMkey[1]);
  EXPECT_EQ(scripted.read(InitSegment::kCmdDbell), 1u);
}

TEST_F(CommandQueueTest, EntryUsedAgain_HasNothingOfTheLastCommand) {
  out.resize(1040);
  scripted.firmware = [](const Command&) { return Reply{.out = {0, 0, 0, 0, 1, 2, 3, 4, 5, 6}}; };
  ASSERT_TRUE(execute(message(kQueryHcaCap, 600)).has_value());
  ASSERT_TRUE(queue->submit(message(kDestroyMkey), 16, SlotClass::Common).has_value());
  const testing::CommandEntry entry = scripted.entry(0);
  EXPECT_THAT(entry.out, Each(0));
  EXPECT_THAT(entry.rsvd0, Each(0));
  EXPECT_EQ(entry.in_ptr, 0u);
  EXPECT_EQ(entry.out_ptr, 0u);
}

TEST_F(CommandQueueTest, AnsweredCommand_BreaksNoRuleOfTheProtocol) {
  ASSERT_TRUE(execute(message(kDestroyMkey)).has_value());
  EXPECT_THAT(scripted.complaints, IsEmpty());
  ASSERT_EQ(scripted.commands.size(), 1u);
  EXPECT_EQ(scripted.commands[0].opcode(), 0x202u);
}

TEST_F(CommandQueueTest, LongMessages_TravelInMailboxesBothWays) {
  out.resize(4112);
  scripted.firmware = [](const Command& command) {
    Reply reply;
    reply.out = command.in;
    reply.out[0] = 0;  // status
    return reply;
  };
  const Bytes in = message(kQueryHcaCap, 4112);
  ASSERT_TRUE(execute(in).has_value());
  EXPECT_THAT(scripted.complaints, IsEmpty());
  EXPECT_TRUE(std::equal(in.begin() + 16, in.end(), out.begin() + 16));
}

TEST_F(CommandQueueTest, MessageBeyondTheReadyMailboxes_BorrowsAndReturnsThem) {
  const std::size_t before = arena.bytes_in_use();
  ASSERT_TRUE(execute(message(kQueryHcaCap, 200'000)).has_value());
  EXPECT_THAT(scripted.complaints, IsEmpty());
  EXPECT_EQ(scripted.commands[0].in.size(), 200'000u);
  EXPECT_EQ(arena.bytes_in_use(), before);
  out.resize(200'000);
  ASSERT_TRUE(execute(message(kDestroyMkey)).has_value());
  EXPECT_EQ(arena.bytes_in_use(), before);
}

/// Room for one piece of 64 blocks, where either message needs several.
TEST_F(CommandQueueTest, MailboxesThatCannotBeHad_RefusedAndNothingIsKept) {
  scripted.space.most_mappings = scripted.space.mappings();
  std::vector<DmaBuffer> taken;
  for (const std::size_t bytes : {std::size_t{64} << 10, DmaArena::kLeastBytes})
    while (auto piece = arena.allocate(bytes)) taken.push_back(*std::move(piece));
  taken.erase(taken.begin());
  const std::size_t before = arena.bytes_in_use();
  EXPECT_FALSE(queue->submit(message(kQueryHcaCap, 200'000), 16, SlotClass::Common));
  EXPECT_EQ(arena.bytes_in_use(), before);
  EXPECT_FALSE(queue->submit(message(kQueryHcaCap, 600), 200'000, SlotClass::Common));
  EXPECT_EQ(arena.bytes_in_use(), before);
  EXPECT_EQ(scripted.read(InitSegment::kCmdDbell), 0u);
  EXPECT_TRUE(execute(message(kDestroyMkey)).has_value());
}

TEST_F(CommandQueueTest, OutputOfTwelveBytes_NothingBehindItIsTouched) {
  scripted.firmware = [](const Command&) { return Reply{.out = Bytes8(16, 0x5a)}; };
  std::array<std::byte, 16> room{};
  const auto failed = queue->execute(message(kDestroyMkey), std::span(room).first(12),
                                     SlotClass::Common, queue->default_deadline_ns());
  EXPECT_FALSE(failed.has_value());
  EXPECT_EQ(room[11], std::byte{0x5a});
  EXPECT_THAT(std::span(room).last(4), Each(std::byte{0}));
}

TEST_F(CommandQueueTest, CommandBehindOneThatWasNotDelivered_BreaksNoRuleOfTheProtocol) {
  scripted.firmware = [](const Command&) { return Reply{.delivery = 0x7}; };
  ASSERT_FALSE(execute(message(kDestroyMkey)).has_value());
  scripted.firmware = [](const Command&) { return Reply{}; };
  ASSERT_TRUE(execute(message(kDestroyMkey)).has_value());
  EXPECT_EQ(scripted.commands[0].slot, scripted.commands[1].slot);
  EXPECT_THAT(scripted.complaints, IsEmpty());
}

TEST_F(CommandQueueTest, MessageOfReadyLength_AllocatesNothing) {
  const std::size_t before = arena.bytes_in_use();
  ASSERT_TRUE(queue
                  ->submit(message(kQueryHcaCap, CommandQueue::kReadyBytes),
                           CommandQueue::kReadyBytes, SlotClass::Fence)
                  .has_value());
  EXPECT_EQ(arena.bytes_in_use(), before);
}

TEST_F(CommandQueueTest, Tokens_RotateAndAreNeverZero) {
  std::set<std::uint8_t> seen;
  for (int i = 0; i < 600; ++i) ASSERT_TRUE(execute(message(kDestroyMkey)).has_value());
  for (const Command& command : scripted.commands) seen.insert(command.token);
  EXPECT_EQ(seen.size(), 255u);
  EXPECT_FALSE(seen.contains(0));
}

TEST_F(CommandQueueTest, EverySlot_WorksAtOnceAndAnyOrderIsCollected) {
  std::vector<Ticket> tickets;
  for (int i = 0; i < 28; ++i)
    tickets.push_back(queue->submit(message(kDestroyMkey), 16, SlotClass::Common).value());
  EXPECT_EQ(queue->submit(message(kDestroyMkey), 16, SlotClass::Common).error().code, Errc::Busy);
  for (auto at = tickets.rbegin(); at != tickets.rend(); ++at)
    EXPECT_TRUE(queue->await(*at, out, queue->default_deadline_ns()).has_value());
}

TEST_F(CommandQueueTest, FencesAndPages_HaveTheLastSlotsWhenAllOthersAreTaken) {
  while (queue->submit(message(kDestroyMkey), 16, SlotClass::Common)) {
  }
  EXPECT_EQ(queue->submit(message(kDestroyMkey), 16, SlotClass::Fence)->slot, 28u);
  EXPECT_EQ(queue->submit(message(kDestroyMkey), 16, SlotClass::Fence)->slot, 29u);
  EXPECT_EQ(queue->submit(message(kDestroyMkey), 16, SlotClass::Fence)->slot, 30u);
  EXPECT_EQ(queue->submit(message(kDestroyMkey), 16, SlotClass::Pages)->slot, 31u);
  const auto full = queue->submit(message(kDestroyMkey), 16, SlotClass::Fence);
  EXPECT_THAT(full.error().text, HasSubstr("fence"));
}

TEST_F(CommandQueueTest, StatusNotZero_FailsWithTheDevicesVerdictAndItsOutput) {
  scripted.firmware = [](const Command&) {
    return Reply{.out = {0x3, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef, 0x42}};
  };
  const auto failed = execute(message(kDestroyMkey));
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Errc::CommandFailed);
  ASSERT_TRUE(failed.error().command.has_value());
  EXPECT_EQ(failed.error().command->opcode, 0x202);
  EXPECT_EQ(failed.error().command->status, 3);
  EXPECT_EQ(failed.error().command->syndrome, 0xdeadbeefu);
  EXPECT_THAT(failed.error().text, HasSubstr("BAD_PARAM"));
  EXPECT_EQ(out[8], std::byte{0x42});
}

TEST_F(CommandQueueTest, DeliveryStatusNotZero_FailsWhateverTheOutputSays) {
  scripted.firmware = [](const Command&) {
    return Reply{.delivery = 0x7, .out = {0x3, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef}};
  };
  const auto failed = execute(message(kDestroyMkey));
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Errc::CommandFailed);
  EXPECT_EQ(failed.error().command->delivery_status, 7);
  EXPECT_EQ(failed.error().command->status, 0);
  EXPECT_EQ(failed.error().command->syndrome, 0u);
}

TEST_F(CommandQueueTest, FailedCommand_LeavesItsSlotForTheNext) {
  scripted.firmware = [](const Command&) { return Reply{.out = {0x3}}; };
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(execute(message(kDestroyMkey)).has_value());
  EXPECT_EQ(queue->slots_in_quarantine(), 0u);
}

TEST_F(CommandQueueTest, SilentCommand_TimesOutAtItsDeadlineAndKeepsItsSlot) {
  scripted.firmware = [](const Command&) { return Reply{.returns = false}; };
  const std::uint64_t deadline = scripted.now_ns + 800 * kNsPerMs;
  const auto failed = queue->execute(message(kDestroyMkey), out, SlotClass::Common, deadline);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Errc::Timeout);
  EXPECT_THAT(failed.error().text, HasSubstr("DESTROY_MKEY"));
  EXPECT_EQ(scripted.now_ns, deadline);
  EXPECT_EQ(queue->slots_in_quarantine(), 1u);
}

TEST_F(CommandQueueTest, LateAnswer_DoesNotFreeAQuarantinedSlot) {
  ASSERT_FALSE(lose(SlotClass::Common).has_value());
  scripted.answer_late(0);
  ASSERT_TRUE(execute(message(kDestroyMkey)).has_value());
  EXPECT_NE(scripted.commands.back().slot, 0u);
  EXPECT_EQ(queue->slots_in_quarantine(), 1u);
}

TEST_F(CommandQueueTest, AwaitedAgainAfterItsTimeout_RefusedThoughTheAnswerHasCome) {
  scripted.firmware = [](const Command&) { return Reply{.returns = false}; };
  const Ticket ticket = queue->submit(message(kDestroyMkey), 16, SlotClass::Common).value();
  ASSERT_FALSE(queue->await(ticket, out, scripted.now_ns + kNsPerMs).has_value());
  scripted.answer_late(ticket.slot);
  const auto again = queue->await(ticket, out, queue->default_deadline_ns());
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Errc::InvalidArgument);
}

TEST_F(CommandQueueTest, AnswerWhileTheCallerWasAway_IsNoTimeout) {
  const Ticket ticket = queue->submit(message(kDestroyMkey), 16, SlotClass::Common).value();
  device.relax(scripted.now_ns + kNsPerMs);
  scripted.now_ns += 100 * kNsPerSecond;
  EXPECT_TRUE(queue->await(ticket, out, scripted.now_ns - kNsPerSecond).has_value());
}

TEST_F(CommandQueueTest, LostFenceSlot_IsReplacedFromTheCommonOnes) {
  ASSERT_FALSE(lose(SlotClass::Fence).has_value());
  EXPECT_EQ(queue->fence_slots_available(), 3u);
  EXPECT_EQ(queue->slots_in_quarantine(), 1u);
  EXPECT_EQ(queue->submit(message(kDestroyMkey), 16, SlotClass::Fence)->slot, 27u);
}

TEST_F(CommandQueueTest, LostPagesSlot_IsReplacedToo) {
  ASSERT_FALSE(lose(SlotClass::Pages).has_value());
  EXPECT_TRUE(execute(message(kDestroyMkey), SlotClass::Pages).has_value());
}

TEST_F(CommandQueueTest, FenceSlotsLostBeyondAllCommonOnes_AreReportedMissing) {
  for (int i = 0; i < 29; ++i) ASSERT_FALSE(lose(SlotClass::Fence).has_value());
  EXPECT_EQ(queue->fence_slots_available(), 2u);
  EXPECT_EQ(execute(message(kDestroyMkey)).error().code, Errc::Busy);
}

TEST_F(CommandQueueTest, MissingFenceSlot_IsReplacedWhenACommonOneComesBack) {
  std::vector<Ticket> busy;
  while (auto ticket = queue->submit(message(kDestroyMkey), 16, SlotClass::Common))
    busy.push_back(*ticket);
  device.relax(scripted.now_ns);  // the device has read them all
  ASSERT_FALSE(lose(SlotClass::Fence).has_value());
  EXPECT_EQ(queue->fence_slots_available(), 2u);
  ASSERT_TRUE(queue->await(busy[5], out, queue->default_deadline_ns()).has_value());
  EXPECT_EQ(queue->fence_slots_available(), 3u);
}

/// The page of entries and the mailboxes of the slot, one chain for each way.
TEST_F(CommandQueueTest, LostCommandsMemory_NeverReturnsToTheArena) {
  const std::size_t chain = (arena.bytes_in_use() - kPageBytes) / (2 * std::size_t{32});
  ASSERT_FALSE(lose(SlotClass::Common).has_value());
  queue.reset();
  EXPECT_EQ(arena.bytes_in_use(), kPageBytes + 2 * chain);
}

TEST_F(CommandQueueTest, NoMemoryForEverySlot_NoQueue) {
  queue.reset();
  scripted.space.most_mappings = scripted.space.mappings();
  std::vector<DmaBuffer> taken;
  for (const std::size_t bytes : {kPageBytes, DmaArena::kLeastBytes})
    while (auto piece = arena.allocate(bytes)) taken.push_back(*std::move(piece));
  taken.erase(taken.begin());
  scripted.write(InitSegment::kCmdqAddrLSz, 5U << 4 | 6);
  EXPECT_EQ(CommandQueue::create(device, arena, health).error().code, Errc::OutOfResources);
}

TEST_F(CommandQueueTest, QueueWithoutLosses_ReturnsAllItsMemory) {
  ASSERT_TRUE(execute(message(kDestroyMkey)).has_value());
  queue.reset();
  EXPECT_EQ(arena.bytes_in_use(), 0u);
}

TEST_F(CommandQueueTest, WrongEntrySignature_FailsOnceAnswersAreVerified) {
  scripted.firmware = [](const Command&) { return Reply{.bad_entry_signature = true}; };
  EXPECT_TRUE(execute(message(kDestroyMkey)).has_value());
  queue->verify_answers();
  const auto failed = execute(message(kDestroyMkey));
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Errc::Malformed);
  EXPECT_THAT(failed.error().text, HasSubstr("signature"));
}

TEST_F(CommandQueueTest, WrongBlockSignature_FailsOnceAnswersAreVerified) {
  out.resize(1040);
  scripted.firmware = [](const Command&) { return Reply{.bad_block_signature = true}; };
  EXPECT_TRUE(execute(message(kDestroyMkey)).has_value());
  queue->verify_answers();
  EXPECT_EQ(execute(message(kDestroyMkey)).error().code, Errc::Malformed);
}

TEST_F(CommandQueueTest, RightSignatures_Pass) {
  out.resize(1040);
  queue->verify_answers();
  EXPECT_TRUE(execute(message(kDestroyMkey, 600)).has_value());
}

TEST_F(CommandQueueTest, BrokenFunction_RefusesNewCommands) {
  health.report_failure("the test has it so");
  const auto refused = queue->submit(message(kDestroyMkey), 16, SlotClass::Fence);
  EXPECT_EQ(refused.error().code, Errc::DeviceFailed);
  EXPECT_THAT(refused.error().text, HasSubstr("the test has it so"));
}

TEST_F(CommandQueueTest, AnswerOfABrokenFunction_IsNeverSuccess) {
  scripted.firmware = [this](const Command&) {
    scripted.write_byte(InitSegment::kSynd, 1);
    scripted.write_byte(InitSegment::kRfrSeverity, 0x80);
    return Reply{.delay_ns = 15 * kNsPerMs};
  };
  EXPECT_EQ(execute(message(kDestroyMkey)).error().code, Errc::DeviceFailed);
}

/// The sensors are read once for a command that the first look finds answered.
TEST_F(CommandQueueTest, FunctionThatBreaksAsItAnswers_IsFoundByTheNextCommand) {
  scripted.firmware = [this](const Command&) {
    scripted.write_byte(InitSegment::kSynd, 1);
    scripted.write_byte(InitSegment::kRfrSeverity, 0x80);
    return Reply{};
  };
  EXPECT_TRUE(execute(message(kDestroyMkey)));
  EXPECT_EQ(execute(message(kDestroyMkey)).error().code, Errc::DeviceFailed);
}

TEST_F(CommandQueueTest, AnswerThatIsThereOfAFunctionFoundBrokenMeanwhile_IsNeverSuccess) {
  const Ticket ticket = queue->submit(message(kDestroyMkey), 16, SlotClass::Common).value();
  device.relax(scripted.now_ns + kNsPerMs);
  ASSERT_TRUE(queue->is_done(ticket));
  health.report_failure("the test has it so");
  EXPECT_EQ(queue->await(ticket, out, queue->default_deadline_ns()).error().code,
            Errc::DeviceFailed);
}

TEST_F(CommandQueueTest, SyndromeBeforeTheCommand_IsSeenWhileWaiting) {
  scripted.write_byte(InitSegment::kSynd, 1);
  scripted.write_byte(InitSegment::kRfrSeverity, 0x80);
  const std::uint64_t before = scripted.now_ns;
  EXPECT_EQ(execute(message(kDestroyMkey)).error().code, Errc::DeviceFailed);
  EXPECT_EQ(scripted.now_ns, before);
}

TEST_F(CommandQueueTest, CardPulledWhileACommandIsUnderWay_IsGoneNotSlow) {
  scripted.firmware = [this](const Command&) {
    scripted.write(InitSegment::kFwVer, 0xffffffff);
    return Reply{.returns = false};
  };
  const std::uint64_t before = scripted.now_ns;
  const auto failed = execute(message(kDestroyMkey));
  EXPECT_EQ(failed.error().code, Errc::DeviceGone);
  EXPECT_THAT(failed.error().text, HasSubstr("DESTROY_MKEY"));
  EXPECT_LT(scripted.now_ns - before, kNsPerSecond);
}

TEST_F(CommandQueueTest, IdleHook_RunsBetweenTwoLooksAndNotForAnAnswerThatIsThere) {
  int calls = 0;
  queue->on_idle([&calls] { ++calls; });
  scripted.firmware = [](const Command&) { return Reply{.delay_ns = 15 * kNsPerMs}; };
  ASSERT_TRUE(execute(message(kDestroyMkey)).has_value());
  EXPECT_GT(calls, 0);
  const Ticket ticket = queue->submit(message(kDestroyMkey), 16, SlotClass::Common).value();
  device.relax(scripted.now_ns + 20 * kNsPerMs);
  calls = 0;
  ASSERT_TRUE(queue->await(ticket, out, queue->default_deadline_ns()).has_value());
  EXPECT_EQ(calls, 0);
}

TEST_F(CommandQueueTest, IdleHook_LeftOutWhileAFenceIsNotLate) {
  int calls = 0;
  queue->on_idle([&calls] { ++calls; });
  const auto run_in = [this](SlotClass slot_class, std::uint64_t delay_ns) {
    scripted.firmware = [delay_ns](const Command&) { return Reply{.delay_ns = delay_ns}; };
    const Ticket ticket = queue->submit(message(kDestroyMkey), 16, slot_class).value();
    EXPECT_TRUE(queue->await(ticket, out, queue->default_deadline_ns()).has_value());
  };
  run_in(SlotClass::Fence, 500 * kNsPerUs);
  EXPECT_EQ(calls, 0);
  run_in(SlotClass::Fence, 15 * kNsPerMs);
  EXPECT_GT(calls, 0);
}

TEST_F(CommandQueueTest, IdleHook_LeftOutWhereTheFirstLookFindsTheAnswer) {
  int calls = 0;
  queue->on_idle([&calls] { ++calls; });
  scripted.firmware = [](const Command&) { return Reply{.delay_ns = 500 * kNsPerUs}; };
  EXPECT_TRUE(execute(message(kDestroyMkey)).has_value());
  EXPECT_EQ(calls, 0);
}

/// Another command's answer wakes the fence before its own is there; it is late after 1 ms.
TEST_F(CommandQueueTest, IdleHook_NotRunForAFenceBeforeItIsLateAndThenAtOnce) {
  std::vector<std::uint64_t> calls_ns;
  queue->on_idle([&] { calls_ns.push_back(scripted.now_ns); });
  scripted.firmware = [](const Command& command) {
    return Reply{.delay_ns = command.slot == 0 ? 100 * kNsPerUs : 5 * kNsPerMs};
  };
  const std::uint64_t since_ns = scripted.now_ns;
  const Ticket other = queue->submit(message(kDestroyMkey), 16, SlotClass::Common).value();
  EXPECT_TRUE(execute(message(kDestroyMkey), SlotClass::Fence).has_value());
  ASSERT_FALSE(calls_ns.empty());
  EXPECT_EQ(calls_ns.front(), since_ns + 100 * kNsPerUs + kNsPerMs);
  EXPECT_TRUE(queue->await(other, out, queue->default_deadline_ns()).has_value());
}

TEST_F(CommandQueueTest, SilentFence_TimesOutAtADeadlineThatComesBeforeItIsLate) {
  scripted.firmware = [](const Command&) { return Reply{.returns = false}; };
  const std::uint64_t deadline = scripted.now_ns + 100 * kNsPerUs;
  EXPECT_EQ(queue->execute(message(kDestroyMkey), out, SlotClass::Fence, deadline).error().code,
            Errc::Timeout);
  EXPECT_EQ(scripted.now_ns, deadline);
}

TEST_F(CommandQueueTest, WrongLengths_AreRefusedAndNothingIsSent) {
  EXPECT_EQ(queue->submit(Bytes(12), 16, SlotClass::Common).error().code, Errc::InvalidArgument);
  EXPECT_EQ(queue->submit(Bytes(16), 4, SlotClass::Common).error().code, Errc::InvalidArgument);
  constexpr std::size_t kTooLong = (std::size_t{8} << 20) + 1;
  EXPECT_EQ(queue->submit(Bytes(kTooLong), 16, SlotClass::Common).error().code,
            Errc::InvalidArgument);
  EXPECT_EQ(queue->submit(Bytes(16), kTooLong, SlotClass::Common).error().code,
            Errc::InvalidArgument);
  EXPECT_EQ(scripted.read(InitSegment::kCmdDbell), 0u);
}

TEST_F(CommandQueueTest, TicketOfNoCommand_IsRefused) {
  EXPECT_EQ(queue->await(Ticket{3}, out, 0).error().code, Errc::InvalidArgument);
  EXPECT_EQ(queue->await(Ticket{77}, out, 0).error().code, Errc::InvalidArgument);
  EXPECT_FALSE(queue->is_done(Ticket{77}));
  EXPECT_EQ(queue->await(Ticket{0xffffffff}, out, 0).error().code, Errc::InvalidArgument);
  EXPECT_FALSE(queue->is_done(Ticket{0xffffffff}));
}

TEST_F(CommandQueueTest, RoomForAnotherLengthThanAnnounced_RefusedAndTheCommandStays) {
  const Ticket ticket = queue->submit(message(kDestroyMkey), 16, SlotClass::Common).value();
  Bytes longer(32);
  const auto refused = queue->await(ticket, longer, queue->default_deadline_ns());
  EXPECT_EQ(refused.error().text, "room for 32 bytes of output; 16 were announced");
  EXPECT_TRUE(queue->await(ticket, out, queue->default_deadline_ns()).has_value());
}

TEST_F(CommandQueueTest, Ticket_CountsOnce) {
  const Ticket ticket = queue->submit(message(kDestroyMkey), 16, SlotClass::Common).value();
  ASSERT_TRUE(queue->await(ticket, out, queue->default_deadline_ns()).has_value());
  EXPECT_EQ(queue->await(ticket, out, queue->default_deadline_ns()).error().code,
            Errc::InvalidArgument);
}

/// 255 commands later the token is the same again.
TEST_F(CommandQueueTest, TicketOfAnEarlierCommandOfItsSlot_IsRefusedAndTheCommandStays) {
  const Ticket old = queue->submit(message(kDestroyMkey), 16, SlotClass::Common).value();
  ASSERT_TRUE(queue->await(old, out, queue->default_deadline_ns()).has_value());
  for (int i = 0; i < 254; ++i) ASSERT_TRUE(execute(message(kDestroyMkey)).has_value());
  const Ticket now = queue->submit(message(kDestroyMkey), 16, SlotClass::Common).value();
  ASSERT_EQ(now.slot, old.slot);
  EXPECT_TRUE(queue->is_done(old)) << "nothing is left to wait for";
  EXPECT_EQ(queue->await(old, out, queue->default_deadline_ns()).error().code,
            Errc::InvalidArgument);
  EXPECT_TRUE(queue->await(now, out, queue->default_deadline_ns()).has_value());
}

}  // namespace
}  // namespace portcullis::pmd
