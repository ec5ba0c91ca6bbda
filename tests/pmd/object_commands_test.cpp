// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes of every command on protection domains, keys, completion queues and RoCE addresses,
// against messages built from the installed mlx5_ifc.h; and who undoes what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pmd/fence_commands.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/q_counter.hpp"
#include "pmd/roce_address.hpp"
#include "tests/pmd/object_rig.hpp"

namespace portcullis::testing {
namespace {

using pmd::Access;
using pmd::MemoryKey;
using pmd::MemoryRange;
using ::testing::HasSubstr;

constexpr Access kEverything{true, true, true, true};
constexpr std::uint32_t kMkeyIndex = 0x2345;

struct ObjectCommands : ::testing::Test, ObjectRig {
  ObjectCommands() {
    channel.answer(kCreateMkey, IfcMessage("create_mkey_out", 16).put("mkey_index", kMkeyIndex));
  }
  static IfcMessage mkey_in(std::size_t bytes = 272) {
    return IfcMessage("create_mkey_in", bytes).put("opcode", kCreateMkey);
  }
};

TEST_F(ObjectCommands, ProtectionDomainIsAllocatedAndDeallocated) {
  { const auto domain = pd(); }
  ASSERT_EQ(channel.sent.size(), 2u);
  EXPECT_EQ(channel.sent[0].in, IfcMessage("alloc_pd_in", 16).put("opcode", kAllocPd).bytes());
  EXPECT_EQ(channel.sent[1].in,
            IfcMessage("dealloc_pd_in", 16).put("opcode", kDeallocPd).put("pd", kPdn).bytes());
}

TEST_F(ObjectCommands, ReleasedProtectionDomain_IsLeftToTheCaller) {
  auto domain = pd();
  EXPECT_EQ(domain.release(), prm::PdNumber{kPdn});
  domain = pd();
  EXPECT_EQ(channel.count(kDeallocPd), 0u);
}

TEST_F(ObjectCommands, MovedProtectionDomain_IsDeallocatedOnce) {
  {
    auto first = pd();
    const auto second = std::move(first);
  }
  EXPECT_EQ(channel.count(kDeallocPd), 1u);
}

TEST_F(ObjectCommands, RefusedDeallocation_IsReportedAndNotTriedAgainByTheDestructor) {
  channel.fail_with(kDeallocPd, Errc::CommandFailed);
  {
    auto domain = pd();
    EXPECT_EQ(domain.destroy().error().code, Errc::CommandFailed);
  }
  EXPECT_EQ(channel.count(kDeallocPd), 1u);
}

TEST_F(ObjectCommands, MttKeyOverUnalignedRange_ListsEachPageItTouches) {
  const auto domain = pd();
  const MemoryRange range{0x7000'0000'3100, 0x2000, 0x5500'0000'7100};
  const auto key = MemoryKey::create_mtt(context, domain, range, kEverything).value();
  EXPECT_EQ(channel.last(), mkey_in()
                                .put("memory_key_mkey_entry.lr", 1)
                                .put("memory_key_mkey_entry.lw", 1)
                                .put("memory_key_mkey_entry.rr", 1)
                                .put("memory_key_mkey_entry.rw", 1)
                                .put("memory_key_mkey_entry.a", 1)
                                .put("memory_key_mkey_entry.umr_en", 1)
                                .put("memory_key_mkey_entry.access_mode_1_0", 1)  // MTT
                                .put("memory_key_mkey_entry.qpn", 0xffffff)
                                .put("memory_key_mkey_entry.mkey_7_0", 0)
                                .put("memory_key_mkey_entry.pd", kPdn)
                                .put("memory_key_mkey_entry.start_addr", 0x5500'0000'7100)
                                .put("memory_key_mkey_entry.len", 0x2000)
                                .put("memory_key_mkey_entry.translations_octword_size", 2)
                                .put("memory_key_mkey_entry.log_page_size", 12)
                                .put("translations_octword_actual_size", 2)
                                .append(0x7000'0000'3000)
                                .append(0x7000'0000'4000)
                                .append(0x7000'0000'5000)
                                .append(0)
                                .bytes());
}

TEST_F(ObjectCommands, MttKeyOverAlignedRange_UsesTheLargestPage) {
  const auto domain = pd();
  const MemoryRange range{0x40'0000, 0x40'0000, 0};
  const auto key = MemoryKey::create_mtt(context, domain, range, {.remote_read = true}).value();
  EXPECT_EQ(channel.last(), mkey_in()
                                .put("memory_key_mkey_entry.lr", 1)
                                .put("memory_key_mkey_entry.rr", 1)
                                .put("memory_key_mkey_entry.umr_en", 1)
                                .put("memory_key_mkey_entry.access_mode_1_0", 1)
                                .put("memory_key_mkey_entry.qpn", 0xffffff)
                                .put("memory_key_mkey_entry.pd", kPdn)
                                .put("memory_key_mkey_entry.len", 0x40'0000)
                                .put("memory_key_mkey_entry.translations_octword_size", 1)
                                .put("memory_key_mkey_entry.log_page_size", 22)
                                .put("translations_octword_actual_size", 1)
                                .append(0x40'0000)
                                .append(0)
                                .bytes());
}

TEST_F(ObjectCommands, MttKeyAddressedFromAnUnalignedPage_UsesSmallPages) {
  const auto domain = pd();
  const MemoryRange range{0x40'0000, 0x40'0000, 0x1000};
  const auto key = MemoryKey::create_mtt(context, domain, range, {}).value();
  EXPECT_EQ(IfcMessage::read("create_mkey_in.memory_key_mkey_entry.log_page_size", channel.last()),
            12u);
  EXPECT_EQ(channel.last().size(), 272u + 1024 * 8);
}

TEST_F(ObjectCommands, PaKey_CoversEverythingWithoutAList) {
  const auto domain = pd();
  const auto key =
      MemoryKey::create_pa(context, domain, {.local_write = true}, prm::QpNumber{kQpn}).value();
  EXPECT_EQ(channel.last(), mkey_in()
                                .put("memory_key_mkey_entry.lr", 1)
                                .put("memory_key_mkey_entry.lw", 1)
                                .put("memory_key_mkey_entry.access_mode_1_0", 0)  // PA
                                .put("memory_key_mkey_entry.length64", 1)
                                .put("memory_key_mkey_entry.qpn", kQpn)
                                .put("memory_key_mkey_entry.pd", kPdn)
                                .bytes());
}

TEST_F(ObjectCommands, KlmKey_ListsItsRangesInGroupsOfFour) {
  context.caps.max_indirection = 1;
  context.caps.log_max_klm_list_size = 3;
  const auto domain = pd();
  const std::array ranges{pmd::KeyRange{prm::Rkey{0x11223344}, 0x5500'0000'7000, 0x2000},
                          pmd::KeyRange{prm::Rkey{0x55667788}, 0, 0x8000'0000}};
  const auto key =
      MemoryKey::create_klm(context, domain, ranges, {true, true}, prm::QpNumber{kQpn}).value();
  EXPECT_EQ(channel.last(), mkey_in()
                                .put("memory_key_mkey_entry.lr", 1)
                                .put("memory_key_mkey_entry.lw", 1)
                                .put("memory_key_mkey_entry.rw", 1)
                                .put("memory_key_mkey_entry.access_mode_1_0", 2)  // KLMS
                                .put("memory_key_mkey_entry.qpn", kQpn)
                                .put("memory_key_mkey_entry.pd", kPdn)
                                .put("memory_key_mkey_entry.len", 0x8000'2000)
                                .put("memory_key_mkey_entry.translations_octword_size", 4)
                                .put("translations_octword_actual_size", 4)
                                .append(0x0000'2000'1122'3344)
                                .append(0x5500'0000'7000)
                                .append(0x8000'0000'5566'7788)
                                .append(0)
                                .append(0)
                                .append(0)
                                .append(0)
                                .append(0)
                                .bytes());
  EXPECT_EQ(prm::index_of(key.rkey()), prm::MkeyIndex{kMkeyIndex});
}

TEST_F(ObjectCommands, KlmKeyThatNoFunctionHolds_IsRefusedUnsent) {
  const auto domain = pd();
  const auto before = channel.sent.size();
  const std::vector<pmd::KeyRange> ranges(3, {prm::Rkey{1}, 0, kPageBytes});
  EXPECT_EQ(MemoryKey::create_klm(context, domain, ranges, {}).error().code, Errc::Unsupported);
  context.caps.max_indirection = 1;
  context.caps.log_max_klm_list_size = 1;
  EXPECT_EQ(MemoryKey::create_klm(context, domain, ranges, {}).error().code, Errc::InvalidArgument);
  EXPECT_FALSE(MemoryKey::create_klm(context, domain, {}, {}));
  const std::array empty{pmd::KeyRange{prm::Rkey{1}, 0, 0}};
  EXPECT_FALSE(MemoryKey::create_klm(context, domain, empty, {}));
  const std::array huge{pmd::KeyRange{prm::Rkey{1}, 0, 0x8000'0001}};
  EXPECT_FALSE(MemoryKey::create_klm(context, domain, huge, {}));
  EXPECT_EQ(channel.sent.size(), before);
}

TEST_F(ObjectCommands, KeyOverDmaMemory_TakesItsIovaLengthAndAddress) {
  const auto domain = pd();
  const auto memory = DmaMemory::create(space, 3 * kPageBytes).value();
  const auto key = MemoryKey::create_mtt(context, domain, memory, {.local_write = true}).value();
  const std::vector<std::byte> sent = channel.last();
  EXPECT_EQ(IfcMessage::read("create_mkey_in.memory_key_mkey_entry.start_addr", sent),
            reinterpret_cast<std::uintptr_t>(memory.bytes().data()));
  EXPECT_EQ(IfcMessage::read("create_mkey_in.memory_key_mkey_entry.len", sent), 3 * kPageBytes);
  EXPECT_EQ(QueueRig::big_endian(std::span(sent).subspan(272, 8)), memory.iova());
}

TEST_F(ObjectCommands, CopyOfAContext_RepeatsNoKeyByteOfTheOther) {
  const pmd::Context copy = context;
  const auto domain = pd();
  const auto first = MemoryKey::create_pa(context, domain, {}).value();
  const auto second = MemoryKey::create_pa(copy, domain, {}).value();
  const auto third = MemoryKey::create_pa(context, domain, {}).value();
  EXPECT_EQ(first.rkey(), prm::Rkey{kMkeyIndex << 8 | 0});
  EXPECT_EQ(second.rkey(), prm::Rkey{kMkeyIndex << 8 | 1});
  EXPECT_EQ(third.rkey(), prm::Rkey{kMkeyIndex << 8 | 2});
}

TEST_F(ObjectCommands, KeyByteTurns_WhenAnIndexIsReused) {
  const auto domain = pd();
  const auto first = MemoryKey::create_pa(context, domain, {}).value();
  const auto second = MemoryKey::create_pa(context, domain, {}).value();
  EXPECT_EQ(first.rkey(), prm::Rkey{kMkeyIndex << 8 | 0});
  EXPECT_EQ(second.rkey(), prm::Rkey{kMkeyIndex << 8 | 1});
  EXPECT_EQ(IfcMessage::read("create_mkey_in.memory_key_mkey_entry.mkey_7_0", channel.last()), 1u);
}

TEST_F(ObjectCommands, KeyIsDestroyedByItsIndex) {
  const auto domain = pd();
  auto key = MemoryKey::create_pa(context, domain, {}).value();
  ASSERT_TRUE(key.destroy());
  EXPECT_EQ(channel.last(), IfcMessage("destroy_mkey_in", 16)
                                .put("opcode", kDestroyMkey)
                                .put("mkey_index", kMkeyIndex)
                                .bytes());
}

TEST_F(ObjectCommands, QueriedKey_TellsItsContext) {
  channel.answer(kQueryMkey, IfcMessage("query_mkey_out", 304)
                                 .put("memory_key_mkey_entry.free", 1)
                                 .put("memory_key_mkey_entry.lw", 1)
                                 .put("memory_key_mkey_entry.rr", 1)
                                 .put("memory_key_mkey_entry.qpn", kQpn)
                                 .put("memory_key_mkey_entry.pd", kPdn)
                                 .put("memory_key_mkey_entry.start_addr", 0x5500'0000'7100)
                                 .put("memory_key_mkey_entry.len", 0x2000));
  const auto state = pmd::query_memory_key(context, prm::MkeyIndex{kMkeyIndex}).value();
  EXPECT_EQ(channel.last(), IfcMessage("query_mkey_in", 16)
                                .put("opcode", kQueryMkey)
                                .put("mkey_index", kMkeyIndex)
                                .bytes());
  EXPECT_TRUE(state.is_free);
  EXPECT_TRUE(state.access.local_write && state.access.remote_read);
  EXPECT_FALSE(state.access.remote_write || state.access.remote_atomic);
  EXPECT_EQ(state.qpn, prm::QpNumber{kQpn});
  EXPECT_EQ(state.pdn, prm::PdNumber{kPdn});
  EXPECT_EQ(state.start_address, 0x5500'0000'7100u);
  EXPECT_EQ(state.bytes, 0x2000u);
}

TEST_F(ObjectCommands, CounterSet_IsAllocatedQueriedAndDeallocated) {
  channel.answer(kAllocQCounter, IfcMessage("alloc_q_counter_out", 16).put("counter_set_id", 0x2a));
  channel.answer(kQueryQCounter, IfcMessage("query_q_counter_out", 256)
                                     .put("rx_write_requests", 7)
                                     .put("out_of_buffer", 0xfffffffe)
                                     .put("req_cqe_flush_error", 9));
  auto counter = pmd::QCounter::create(context).value();
  EXPECT_EQ(channel.last(),
            IfcMessage("alloc_q_counter_in", 16).put("opcode", kAllocQCounter).bytes());
  EXPECT_EQ(counter.id(), 0x2a);
  const auto values = counter.query(/*clear=*/true).value();
  EXPECT_EQ(channel.last(), IfcMessage("query_q_counter_in", 32)
                                .put("opcode", kQueryQCounter)
                                .put("clear", 1)
                                .put("counter_set_id", 0x2a)
                                .bytes());
  EXPECT_EQ(values.rx_write_requests, 7u);
  EXPECT_EQ(values.out_of_buffer, 0xfffffffeu);
  EXPECT_EQ(values.req_cqe_flush_error, 9u);
  EXPECT_EQ(values.named().front(),
            (std::pair<std::string_view, std::uint32_t>("rx_write_requests", 7u)));
  ASSERT_TRUE(counter.destroy());
  EXPECT_EQ(channel.last(), IfcMessage("dealloc_q_counter_in", 16)
                                .put("opcode", kDeallocQCounter)
                                .put("counter_set_id", 0x2a)
                                .bytes());
}

TEST_F(ObjectCommands, EmptyOrCrookedOrWritableOnlyFromAfarRange_IsRefusedUnsent) {
  const auto domain = pd();
  const auto before = channel.sent.size();
  EXPECT_FALSE(MemoryKey::create_mtt(context, domain, MemoryRange{0x1000, 0, 0x1000}, {}));
  EXPECT_FALSE(MemoryKey::create_mtt(context, domain, MemoryRange{0x1000, 64, 0x1040}, {}));
  EXPECT_FALSE(MemoryKey::create_mtt(context, domain, MemoryRange{~0ull - 4095, 8192, 0}, {}));
  EXPECT_FALSE(MemoryKey::create_mtt(context, domain, MemoryRange{0x1000, 64, 0x1000},
                                     {.remote_write = true}));
  EXPECT_EQ(channel.sent.size(), before);
}

TEST_F(ObjectCommands, KeyOfAnyKindWritableOnlyFromAfar_IsRefusedUnsent) {
  const auto domain = pd();
  context.caps.max_indirection = 1;
  const pmd::KeyRange range{prm::Rkey{0x100}, 0, 4096};
  const auto before = channel.sent.size();
  for (const pmd::Access access :
       {pmd::Access{.remote_write = true}, pmd::Access{.remote_atomic = true}}) {
    EXPECT_FALSE(MemoryKey::create_mtt(context, domain, MemoryRange{0x1000, 64, 0x1000}, access));
    EXPECT_FALSE(MemoryKey::create_klm(context, domain, {&range, 1}, access));
    EXPECT_FALSE(MemoryKey::create_pa(context, domain, access));
  }
  EXPECT_EQ(channel.sent.size(), before);
}

TEST_F(ObjectCommands, AddressOfTheClientThatWraps_IsRefusedUnsent) {
  const auto domain = pd();
  const auto before = channel.sent.size();
  EXPECT_FALSE(MemoryKey::create_mtt(context, domain, MemoryRange{0, 8192, ~0ull - 4095}, {}));
  EXPECT_EQ(channel.sent.size(), before);
}

TEST_F(ObjectCommands, EachDestroyed_HasTheFunctionsDeadline) {
  {
    const auto page = uar();
    const auto domain = pd();
    auto cq = pmd::CompletionQueue::create(context, page, kEqn, 4).value();
    const auto qp = pmd::QueuePair::create(context, domain, cq, page, {4}).value();
    const auto key = MemoryKey::create_pa(context, domain, {}).value();
    channel.deadlines.clear();
  }
  EXPECT_THAT(channel.deadlines, ::testing::ElementsAre(60'000, 60'000, 60'000, 60'000, 60'000));
}

TEST_F(ObjectCommands, CompletionQueueNamesItsMemoryUarAndEventQueue) {
  const auto page = uar();
  const auto cq = pmd::CompletionQueue::create(context, page, kEqn, 8).value();
  const std::vector<std::byte> sent = channel.last();
  const auto record = IfcMessage::read("create_cq_in.cq_context.dbr_addr", sent);
  const auto ring = QueueRig::big_endian(std::span(sent).last<8>());
  EXPECT_EQ(sent, IfcMessage("create_cq_in", 272)
                      .put("opcode", kCreateCq)
                      .put("cq_context.log_cq_size", 8)
                      .put("cq_context.uar_page", kUarIndex)
                      .put("cq_context.c_eqn_or_apu_element", kEqn)
                      .put("cq_context.log_page_size", 2)  // 16 KiB
                      .put("cq_context.dbr_addr", record)
                      .append(ring)
                      .bytes());
  EXPECT_EQ(ring % 0x4000, 0u);
  EXPECT_EQ(record % 8, 0u);
}

TEST_F(ObjectCommands, CompletionQueueTooLarge_NamesWhatIsAccepted) {
  context.caps.log_max_cq_sz = 6;
  const auto page = uar();
  const auto cq = pmd::CompletionQueue::create(context, page, kEqn, 7);
  ASSERT_FALSE(cq);
  EXPECT_THAT(cq.error().text, HasSubstr("at most 2^6"));
}

TEST_F(ObjectCommands, RefusedDestroyCq_KeepsItsMemoryForEver) {
  const auto page = uar();
  const auto before = arena.bytes_in_use();
  channel.fail_with(kDestroyCq, Errc::Timeout);
  { const auto cq = pmd::CompletionQueue::create(context, page, kEqn, 4).value(); }
  EXPECT_GT(arena.bytes_in_use(), before);
}

TEST_F(ObjectCommands, CopiedContext_RepeatsNoKey) {
  const auto domain = pd();
  const pmd::MemoryRange range{0x1000, 64, 0x1000};
  const pmd::Context copy = context;
  const auto one = pmd::MemoryKey::create_mtt(context, domain, range, {}).value();
  const auto other = pmd::MemoryKey::create_mtt(copy, domain, range, {}).value();
  const auto third = pmd::MemoryKey::create_mtt(context, domain, range, {}).value();
  EXPECT_NE(one.rkey(), other.rkey());
  EXPECT_NE(third.rkey(), other.rkey());
}

TEST_F(ObjectCommands, DestroyedCompletionQueue_GivesItsMemoryBack) {
  const auto page = uar();
  const auto before = arena.bytes_in_use();
  { const auto cq = pmd::CompletionQueue::create(context, page, kEqn, 4).value(); }
  EXPECT_EQ(channel.last(),
            IfcMessage("destroy_cq_in", 16).put("opcode", kDestroyCq).put("cqn", kCqn).bytes());
  EXPECT_EQ(arena.bytes_in_use(), before);
}

TEST_F(ObjectCommands, RefusedCreateCq_GivesItsMemoryBack) {
  const auto page = uar();
  const auto before = arena.bytes_in_use();
  channel.fail_with(kCreateCq, Errc::CommandFailed);
  EXPECT_EQ(pmd::CompletionQueue::create(context, page, kEqn, 4).error().code, Errc::CommandFailed);
  EXPECT_EQ(arena.bytes_in_use(), before);
  EXPECT_EQ(channel.count(kDestroyCq), 0u);
}

}  // namespace
}  // namespace portcullis::testing
