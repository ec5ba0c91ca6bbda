// SPDX-License-Identifier: BSD-3-Clause
//
// Guest bytes are untrusted: whatever stands in entries, mailboxes, contexts, records and
// doorbells, the model neither crashes nor hangs, and still answers a good driver afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

class Robustness : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  Robustness() { driver_.bring_up(); }

  std::uint32_t number() { return static_cast<std::uint32_t>(random_()); }
  void scribble(std::span<std::byte> bytes, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i)
      bytes[number() % bytes.size()] = static_cast<std::byte>(number());
  }
  /// Any command's opcode, with a bias to those that exist.
  std::uint16_t opcode() {
    constexpr std::array<std::uint16_t, 9> kBases{0x100, 0x200, 0x300, 0x400, 0x500,
                                                  0x750, 0x760, 0x800, 0x930};
    return static_cast<std::uint16_t>(kBases[number() % kBases.size()] + number() % 16);
  }
  /// A function reset, TEARDOWN or DISABLE may have been among the commands.
  void expect_a_working_function() {
    ASSERT_TRUE(driver_.device().function->reset().has_value());
    driver_.bring_up();
    EXPECT_NE(driver_.alloc_pd(), 0U);
  }

  std::mt19937 random_{GetParam()};
  MiniDriver driver_;
};

TEST_P(Robustness, RandomEntries_DoNoHarm) {
  for (int i = 0; i < 3000; ++i) {
    const std::uint32_t slot = number() % 32;
    auto in = command<prm::query_issi_in>(prm::Opcode::QUERY_ISSI);
    const Posted posted = driver_.lay_out(slot, in.all(), number() % 600);
    scribble(posted.entry, number() % 8);
    driver_.hand_over(posted);
    driver_.ring_vector(number());
    driver_.pass(10);
  }
  expect_a_working_function();
}

TEST_P(Robustness, RandomMailboxes_DoNoHarm) {
  for (int i = 0; i < 1500; ++i) {
    std::vector<std::byte> in(16 + number() % 3000);
    scribble(in, number() % 64);
    prm::View<prm::cmd_in>::at(in).put<"opcode">(opcode());
    const Posted posted = driver_.lay_out(number() % 32, in, 16 + number() % 3000);
    for (const DmaBuffer& block : posted.in_blocks) scribble(block.bytes(), number() % 2);
    for (const DmaBuffer& block : posted.out_blocks) scribble(block.bytes(), number() % 2);
    driver_.hand_over(posted);
    driver_.ring(posted.slot);
    driver_.pass(10);
  }
  expect_a_working_function();
}

TEST_P(Robustness, WellDeliveredNonsense_IsAlwaysAnswered) {
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::byte> in(16 + number() % 700);
    // Sparse: dense noise would never get past the reserved bits.
    scribble(in, number() % 6);
    const auto header = prm::View<prm::cmd_in>::at(in);
    header.put<"opcode">(opcode());
    header.put<"op_mod">(static_cast<std::uint16_t>(number() % 4));
    EXPECT_TRUE(driver_.execute(in, 16 + number() % 5000).returned);
  }
  expect_a_working_function();
}

TEST_P(Robustness, ContextsOfNonsense_AreAnsweredAndTheirQueuesDoNoHarm) {
  EventQueue eq(driver_, {prm::EventType::CQ_ERROR});
  const std::uint32_t pd = driver_.alloc_pd();
  const DmaBuffer memory = driver_.allocate(16 * kPageBytes);
  std::vector<Iova> pages;
  for (std::size_t i = 0; i < 16; ++i) pages.push_back(memory.iova() + i * kPageBytes);
  for (int i = 0; i < 2000; ++i) {
    auto cq = command<prm::create_cq_in>(prm::Opcode::CREATE_CQ);
    cq.put<"cq_context.log_cq_size">(number() % 32)
        .put<"cq_context.log_page_size">(number() % 32)
        .put<"cq_context.page_offset">(number() % 64)
        .put<"cq_context.cqe_sz">(number() % 4)
        .put<"cq_context.uar_page">(eq.uar())
        .put<"cq_context.c_eqn_or_apu_element">(eq.eqn())
        .put<"cq_context.dbr_addr">(memory.iova() + number() % 8192);
    EXPECT_TRUE(driver_.run<prm::create_cq_out>(cq, pages).returned);
    auto key = command<prm::create_mkey_in>(prm::Opcode::CREATE_MKEY);
    key.put<"memory_key_mkey_entry.pd">(pd)
        .put<"memory_key_mkey_entry.access_mode_1_0">(number() % 4)
        .put<"memory_key_mkey_entry.log_page_size">(number() % 32)
        .put<"memory_key_mkey_entry.start_addr">(std::uint64_t{number()} << (number() % 33))
        .put<"memory_key_mkey_entry.len">(std::uint64_t{number()} << (number() % 33))
        .put<"memory_key_mkey_entry.translations_octword_size">(number() % 16)
        .put<"translations_octword_actual_size">(number() % 16)
        .put<"pg_access">(number() % 2);
    EXPECT_TRUE(driver_.run<prm::create_mkey_out>(key, pages).returned);
    auto qp = command<prm::create_qp_in>(prm::Opcode::CREATE_QP);
    qp.put<"qpc.pd">(pd)
        .put<"qpc.cqn_snd">(1 + number() % 4)
        .put<"qpc.cqn_rcv">(1)
        .put<"qpc.uar_page">(eq.uar())
        .put<"qpc.log_sq_size">(number() % 16)
        .put<"qpc.log_rq_size">(number() % 16)
        .put<"qpc.log_rq_stride">(number() % 8)
        .put<"qpc.rq_type">(number() % 4)
        .put<"qpc.no_sq">(number() % 2)
        .put<"qpc.log_page_size">(number() % 32)
        .put<"qpc.page_offset">(number() % 64)
        .put<"qpc.st">(number() % 4)
        .put<"qpc.dbr_addr">(memory.iova() + number() % 8192);
    EXPECT_TRUE(driver_.run<prm::create_qp_out>(qp, pages).returned);
    scribble(memory.bytes(), 64);
    scribble(driver_.device().bar.subspan(eq.uar() * kPageBytes, kPageBytes), 16);
    driver_.pass(10);
  }
  expect_a_working_function();
}

TEST_P(Robustness, RegistersOfNonsense_DoNoHarm) {
  for (int i = 0; i < 3000; ++i) {
    scribble(driver_.device().bar.first(prm::mlx5_init_seg::bytes), 8);
    driver_.pass(kNsPerMs);
  }
  expect_a_working_function();
}

INSTANTIATE_TEST_SUITE_P(Seeds, Robustness, ::testing::Values(1U, 2U, 3U));

}  // namespace
}  // namespace portcullis::model::testing
