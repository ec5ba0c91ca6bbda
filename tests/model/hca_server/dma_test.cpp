// SPDX-License-Identifier: BSD-3-Clause
//
// What a DMA_MAP allows: memory with a file, memory behind messages, ranges for one direction only.
#include <gtest/gtest.h>

#include "prm/hca_commands.hpp"
#include "prm/opcodes.hpp"
#include "tests/model/hca_server/guest.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kNothing = 0, kRead = 1, kWrite = 2;
constexpr std::uint64_t kQueueBytes = 4096;

/// ENABLE_HCA: inline in both directions, so the queue's page is all it touches.
prm::Buffer<prm::enable_hca_in> enable_command() {
  prm::Buffer<prm::enable_hca_in> in;
  in.put<"opcode">(prm::Opcode::ENABLE_HCA);
  return in;
}

GuestAnswer enable(Guest& guest) {
  return guest.execute(enable_command().all(), prm::enable_hca_out::bytes);
}

/// The same, rung and not awaited: the server asks for the queue's page next.
void post_enable(Guest& guest) {
  guest.lay_out(enable_command().all(), prm::enable_hca_out::bytes);
  guest.post_bar(Guest::kCommandDoorbell, 1);
}

TEST(HcaServerDma, MemoryWithAFile_NoMessageIsNeeded) {
  ServedFunction served;
  Guest guest(served.path());
  ASSERT_EQ(guest.map(true), 0U);
  EXPECT_TRUE(guest.bring_up());
  EXPECT_EQ(guest.dma_reads() + guest.dma_writes(), 0U);
}

TEST(HcaServerDma, MemoryWithoutAFile_BroughtUpByMessages) {
  ServedFunction served;
  Guest guest(served.path());
  ASSERT_EQ(guest.map(false), 0U);
  EXPECT_TRUE(guest.bring_up());
  EXPECT_GT(guest.dma_reads(), 0U);
  EXPECT_GT(guest.dma_writes(), 0U);
  EXPECT_EQ(served.stop().counters().dma_faults, 0U);
}

TEST(HcaServerDma, QueueByMessagesAndTheRestByFile_BothServeOneCommand) {
  ServedFunction served;
  Guest guest(served.path());
  ASSERT_EQ(guest.map_part(0, kQueueBytes, false), 0U);
  ASSERT_EQ(guest.map_part(kQueueBytes, Guest::kMemoryBytes - kQueueBytes, true), 0U);
  EXPECT_TRUE(guest.bring_up());
}

TEST(HcaServerDma, QueueReadOnly_CommandReadAndItsAnswerAFault) {
  ServedFunction served;
  Guest guest(served.path());
  ASSERT_EQ(guest.map_part(0, kQueueBytes, true, kRead), 0U);
  guest.start();
  EXPECT_FALSE(enable(guest).returned);
  const Counters counters = served.stop().counters();
  EXPECT_EQ(counters.commands, 1U);
  EXPECT_GT(counters.dma_faults, 0U);
}

TEST(HcaServerDma, QueueReadOnlyBehindMessages_NothingIsWrittenByMessageEither) {
  ServedFunction served;
  Guest guest(served.path());
  ASSERT_EQ(guest.map_part(0, kQueueBytes, false, kRead), 0U);
  guest.start();
  EXPECT_FALSE(enable(guest).returned);
  EXPECT_EQ(guest.dma_writes(), 0U);
  EXPECT_GT(served.stop().counters().dma_faults, 0U);
}

TEST(HcaServerDma, QueueWriteOnly_CommandNeverSeen) {
  ServedFunction served;
  Guest guest(served.path());
  ASSERT_EQ(guest.map_part(0, kQueueBytes, true, kWrite), 0U);
  guest.start();
  EXPECT_FALSE(enable(guest).returned);
  const Counters counters = served.stop().counters();
  EXPECT_EQ(counters.commands, 0U);
  EXPECT_GT(counters.dma_faults, 0U);
}

TEST(HcaServerDma, QueueMappedForNothing_CommandNeverSeen) {
  ServedFunction served;
  Guest guest(served.path());
  ASSERT_EQ(guest.map_part(0, kQueueBytes, false, kNothing), 0U);
  guest.start();
  EXPECT_FALSE(enable(guest).returned);
  EXPECT_EQ(guest.dma_reads(), 0U);
}

TEST(HcaServerDma, UnmappedRangeOfMessages_IsAFaultFromThenOn) {
  ServedFunction served;
  Guest guest(served.path());
  ASSERT_EQ(guest.map_part(0, kQueueBytes, false), 0U);
  guest.start();
  ASSERT_TRUE(enable(guest).ok());
  ASSERT_EQ(guest.unmap(Guest::iova(0), kQueueBytes), 0U);
  const std::size_t before = guest.dma_reads();
  EXPECT_FALSE(enable(guest).returned);
  EXPECT_EQ(guest.dma_reads(), before);
  EXPECT_GT(guest.dma_refused(), 0U);
}

TEST(HcaServerDma, AddressInNoRange_TheGuestsIommuIsAskedAndItsNoIsAFault) {
  ServedFunction served;
  Guest guest(served.path());
  guest.start();
  EXPECT_FALSE(enable(guest).returned);
  EXPECT_GT(guest.dma_refused(), 0U);
  EXPECT_GT(served.stop().counters().dma_faults, 0U);
}

TEST(HcaServerDma, DmaAnsweredOnlyAfterReplies_BroughtUpByMessages) {
  ServedFunction served;
  Guest guest(served.path());
  guest.answer_dma_late();
  ASSERT_EQ(guest.map(false), 0U);
  EXPECT_TRUE(guest.bring_up());
  EXPECT_EQ(served.stop().counters().dma_faults, 0U);
}

TEST(HcaServerDma, UnmappedWhileTheServerAwaitsAMessage_RepliedBeforeIt) {
  ServedFunction served;
  Guest guest(served.path());
  guest.answer_dma_late();
  ASSERT_EQ(guest.map_part(kQueueBytes, kQueueBytes, true), 0U);
  guest.start();
  post_enable(guest);
  EXPECT_EQ(guest.unmap(Guest::iova(kQueueBytes), kQueueBytes), 0U);
  EXPECT_GT(guest.dma_refused(), 0U);
  ASSERT_EQ(guest.map_part(0, kQueueBytes, true), 0U);
  EXPECT_TRUE(enable(guest).ok());
}

TEST(HcaServerDma, ResetWhileTheServerAwaitsAMessage_AsAfterPowerOn) {
  ServedFunction served;
  Guest guest(served.path());
  guest.answer_dma_late();
  ASSERT_EQ(guest.map(false), 0U);
  ASSERT_TRUE(guest.bring_up());
  post_enable(guest);
  guest.reset_device();
  EXPECT_TRUE(guest.bring_up());
}

TEST(HcaServerDma, ReadOnlyRangeMappedAnewForBoth_AnswersArrive) {
  ServedFunction served;
  Guest guest(served.path());
  ASSERT_EQ(guest.map_part(0, kQueueBytes, true, kRead), 0U);
  ASSERT_EQ(guest.unmap(Guest::iova(0), kQueueBytes), 0U);
  ASSERT_EQ(guest.map_part(0, kQueueBytes, true), 0U);
  guest.start();
  EXPECT_TRUE(enable(guest).ok());
}

}  // namespace
}  // namespace portcullis::model::testing
