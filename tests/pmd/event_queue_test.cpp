// SPDX-License-Identifier: BSD-3-Clause
//
// UAR and event queue: their commands byte for byte, the ring as the device would write it.
#include "pmd/event_queue.hpp"

#include <gmock/gmock.h>

#include "base/cells.hpp"
#include "tests/pmd/object_rig.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::IfcMessage;
using portcullis::testing::kUarIndex;
using portcullis::testing::ObjectRig;
using ::testing::HasSubstr;

constexpr unsigned kCreateEq = 0x301;
constexpr unsigned kDestroyEq = 0x302;
constexpr unsigned kAllocUar = 0x802;
constexpr unsigned kDeallocUar = 0x803;

constexpr std::uint8_t kEqNumber = 9;
constexpr std::uint32_t kLogEntries = 8;
constexpr std::uint32_t kEntries = 1u << kLogEntries;
/// MLX5_EQ_DOORBELL_OFFSET + 8: consumer index without arming.
constexpr std::size_t kNoArmDoorbell = 0x48;

struct EventQueueTest : ObjectRig, ::testing::Test {
  EventQueueTest() {
    channel.answer(kCreateEq, IfcMessage("create_eq_out", 16).put("eq_number", kEqNumber));
  }
  EventQueue create(std::uint64_t mask = 0) {
    auto queue = EventQueue::create(context, page, {kLogEntries, mask});
    ring = ring_of_create_eq();
    return *std::move(queue);
  }
  /// Found as the device finds it: by the address behind the fixed part of CREATE_EQ.
  std::byte* ring_of_create_eq() {
    std::uint64_t address = 0;
    const auto& in = channel.last();
    for (std::size_t i = in.size() - 8; i < in.size(); ++i)
      address = address << 8 | std::to_integer<std::uint64_t>(in[i]);
    auto probe = arena.allocate(64).value();
    return probe.data() + static_cast<std::ptrdiff_t>(address - probe.iova());
  }
  /// Writes the `n`th event ever as the device does: type, data, owner last.
  void write_event(std::uint32_t n, std::uint8_t type, std::uint8_t owner_of_pass) {
    std::byte* entry = ring + (n % kEntries) * 64;
    entry[1] = static_cast<std::byte>(type);
    cells::store_release<std::uint8_t>(entry + 63, owner_of_pass);
  }
  std::uint32_t doorbell() {
    return cells::be32(cells::load_acquire<std::uint32_t>(uar_cell(kNoArmDoorbell)));
  }

  Uar page = uar();
  std::byte* ring = nullptr;
};

TEST_F(EventQueueTest, CreateEq_NamesRingUarAndEvents) {
  const EventQueue queue = create(0x0a0b);
  const std::vector<std::byte> mask{std::byte{0}, std::byte{0}, std::byte{0},    std::byte{0},
                                    std::byte{0}, std::byte{0}, std::byte{0x0a}, std::byte{0x0b}};
  std::vector<std::byte> bitmask(32);
  std::copy(mask.begin(), mask.end(), bitmask.begin());
  const auto& in = channel.last();
  ASSERT_EQ(in.size(), 280u);
  const auto expected = IfcMessage("create_eq_in", 272)
                            .put("opcode", kCreateEq)
                            .put("event_bitmask", bitmask)
                            .put("eq_context_entry.log_eq_size", kLogEntries)
                            .put("eq_context_entry.uar_page", kUarIndex)
                            .put("eq_context_entry.log_page_size", 2)  // 16 KiB in one piece
                            .bytes();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), in.begin()));
  EXPECT_EQ(queue.number(), kEqNumber);
}

TEST_F(EventQueueTest, FreshRing_IsTheDevices) {
  EventQueue queue = create();
  EXPECT_FALSE(queue.poll().has_value());
  for (std::uint32_t i = 0; i < kEntries; ++i)
    ASSERT_EQ(ring[i * 64 + 63], std::byte{1}) << "init_eq_buf sets every owner bit";
}

TEST_F(EventQueueTest, FirstDoorbell_SaysIndexZeroWithoutArming) {
  create();
  EXPECT_EQ(doorbell(), std::uint32_t{kEqNumber} << 24);
}

TEST_F(EventQueueTest, WrittenEvent_IsPolledOnce) {
  EventQueue queue = create();
  write_event(0, 0x08, 0);
  EXPECT_TRUE(std::holds_alternative<InternalErrorEvent>(*queue.poll()));
  EXPECT_FALSE(queue.poll().has_value());
}

TEST_F(EventQueueTest, EventBehindAHole_Waits) {
  EventQueue queue = create();
  write_event(1, 0x08, 0);
  EXPECT_FALSE(queue.poll().has_value());
}

TEST_F(EventQueueTest, OwnerBit_TurnsWithEveryPass) {
  EventQueue queue = create();
  for (std::uint32_t n = 0; n < 3 * kEntries; ++n) {
    ASSERT_FALSE(queue.poll().has_value()) << n;
    write_event(n, 0x09, static_cast<std::uint8_t>(n / kEntries % 2));
    ASSERT_TRUE(queue.poll().has_value()) << n;
  }
}

TEST_F(EventQueueTest, ConsumerIndex_IsToldAtLeastEvery128Events) {
  EventQueue queue = create();
  for (std::uint32_t n = 0; n < 128; ++n) write_event(n, 0x09, 0);
  for (int i = 0; i < 127; ++i) ASSERT_TRUE(queue.poll().has_value());
  EXPECT_EQ(doorbell() & 0xffffff, 0u);
  ASSERT_TRUE(queue.poll().has_value());
  EXPECT_EQ(doorbell(), std::uint32_t{kEqNumber} << 24 | 128);
}

TEST_F(EventQueueTest, UpdateAfterABurst_TellsTheIndexOnce) {
  EventQueue queue = create();
  write_event(0, 0x09, 0);
  ASSERT_TRUE(queue.poll().has_value());
  queue.update_consumer_index();
  EXPECT_EQ(doorbell(), std::uint32_t{kEqNumber} << 24 | 1);
  cells::ring<std::uint32_t>(uar_cell(kNoArmDoorbell), 0);
  queue.update_consumer_index();
  EXPECT_EQ(doorbell(), 0u) << "nothing new, no doorbell";
}

TEST_F(EventQueueTest, UnknownTypes_AreCounted) {
  EventQueue queue = create();
  write_event(0, 0xee, 0);
  write_event(1, 0x09, 0);
  EXPECT_TRUE(std::holds_alternative<UnknownEvent>(*queue.poll()));
  EXPECT_TRUE(std::holds_alternative<PortChangeEvent>(*queue.poll()));
  EXPECT_EQ(queue.unknown_events(), 1u);
}

TEST_F(EventQueueTest, Destroy_SendsDestroyEqOnce) {
  {
    EventQueue queue = create();
    ASSERT_TRUE(queue.destroy().has_value());
    EXPECT_EQ(channel.last(), IfcMessage("destroy_eq_in", 16)
                                  .put("opcode", kDestroyEq)
                                  .put("eq_number", kEqNumber)
                                  .bytes());
    ASSERT_TRUE(queue.destroy().has_value());
  }
  EXPECT_EQ(channel.count(kDestroyEq), 1u);
}

TEST_F(EventQueueTest, DestroyedQueue_GivesItsRingBack) {
  const std::size_t before = arena.bytes_in_use();
  { const EventQueue queue = create(); }
  EXPECT_EQ(arena.bytes_in_use(), before);
}

TEST_F(EventQueueTest, RefusedDestroy_KeepsTheRingFromReuse) {
  channel.fail_with(kDestroyEq, Errc::Timeout);
  const std::size_t before = arena.bytes_in_use();
  { const EventQueue queue = create(); }
  EXPECT_EQ(arena.bytes_in_use(), before + kEntries * 64);
}

TEST_F(EventQueueTest, RefusedCreate_KeepsTheRingFromReuse) {
  channel.fail_with(kCreateEq, Errc::Timeout);
  const std::size_t before = arena.bytes_in_use();
  EXPECT_EQ(EventQueue::create(context, page, {kLogEntries, 0}).error().code, Errc::Timeout);
  EXPECT_EQ(arena.bytes_in_use(), before + kEntries * 64);
}

TEST_F(EventQueueTest, SizesItCannotHave_AreRefused) {
  for (const std::uint32_t log_entries : {0u, 7u, 16u, 31u}) {
    const auto refused = EventQueue::create(context, page, {log_entries, 0});
    EXPECT_EQ(refused.error().code, Errc::InvalidArgument);
    EXPECT_THAT(refused.error().text, HasSubstr("2^8 to 2^15"));
  }
  EXPECT_EQ(channel.count(kCreateEq), 0u);
}

TEST_F(EventQueueTest, Uar_IsThePageOfItsIndex) {
  EXPECT_EQ(page.index(), kUarIndex);
  EXPECT_EQ(page.page().data(), uar_cell(0));
  EXPECT_EQ(page.page().size(), 4096u);
}

TEST_F(EventQueueTest, UarDestroyed_SendsDeallocUar) {
  ASSERT_TRUE(page.destroy().has_value());
  EXPECT_EQ(
      channel.last(),
      IfcMessage("dealloc_uar_in", 16).put("opcode", kDeallocUar).put("uar", kUarIndex).bytes());
}

TEST_F(EventQueueTest, UarOutsideTheBar_IsMalformedAndGivenBack) {
  for (const unsigned index : {0u, 4u, 0xffffffu}) {
    channel.answer(kAllocUar, IfcMessage("alloc_uar_out", 16).put("uar", index));
    const auto refused = Uar::create(context);
    EXPECT_EQ(refused.error().code, Errc::Malformed);
    EXPECT_THAT(refused.error().text, HasSubstr("1 to 3 expected"));
    EXPECT_EQ(IfcMessage::read("dealloc_uar_in.uar", channel.last()), index);
  }
}

}  // namespace
}  // namespace portcullis::pmd
