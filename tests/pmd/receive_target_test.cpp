// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes of every command on transport domains, receive queues and TIRs, against messages built
// from the installed mlx5_ifc.h; which fields they carry is as in create_raw_packet_qp_rq,
// modify_raw_packet_qp_rq and create_raw_packet_qp_tir of mlx5_ib/qp.c. And who undoes what.
#include "pmd/receive_target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/pmd/object_rig.hpp"

namespace portcullis::testing {
namespace {

// MLX5_CMD_OP_*.
enum : unsigned {
  kAllocTransportDomain = 0x816,
  kDeallocTransportDomain = 0x817,
  kCreateTir = 0x900,
  kDestroyTir = 0x902,
  kCreateRq = 0x908,
  kModifyRq = 0x909,
  kDestroyRq = 0x90a,
};
constexpr std::uint32_t kDomain = 0x31;
constexpr std::uint32_t kRqn = 0x52a;
constexpr std::uint32_t kTirn = 0x77;
constexpr std::uint64_t kDeadlineNs = 1'234;

struct ReceiveTargetCommands : ::testing::Test, QueueRig {
  ReceiveTargetCommands() {
    channel.answer(kAllocTransportDomain,
                   IfcMessage("alloc_transport_domain_out", 16).put("transport_domain", kDomain));
    channel.answer(kCreateRq, IfcMessage("create_rq_out", 16).put("rqn", kRqn));
    channel.answer(kCreateTir, IfcMessage("create_tir_out", 16).put("tirn", kTirn));
    receiving.emplace(pmd::TransportDomain::create(context).value());
  }
  Result<pmd::ReceiveTarget> create() {
    return pmd::ReceiveTarget::create(context, *receiving, domain, cq, kDeadlineNs);
  }
  std::vector<std::byte> bytes_sent(unsigned opcode) const {
    const auto in = sent(opcode);
    return {in.begin(), in.end()};
  }

  std::optional<pmd::TransportDomain> receiving;
};

TEST_F(ReceiveTargetCommands, DomainIsAllocatedAndDeallocated) {
  EXPECT_EQ(
      channel.last(),
      IfcMessage("alloc_transport_domain_in", 16).put("opcode", kAllocTransportDomain).bytes());
  receiving.reset();
  EXPECT_EQ(channel.last(), IfcMessage("dealloc_transport_domain_in", 16)
                                .put("opcode", kDeallocTransportDomain)
                                .put("transport_domain", kDomain)
                                .bytes());
}

TEST_F(ReceiveTargetCommands, RqIsOneReceiveOfItsOwnMemory) {
  const auto target = create().value();
  const auto in = bytes_sent(kCreateRq);
  const std::uint64_t record = IfcMessage::read("create_rq_in.ctx.wq.dbr_addr", in);
  const std::uint64_t page = big_endian(std::span(in).last<8>());
  EXPECT_NE(record, 0u);
  EXPECT_EQ(page % kPageBytes, 0u);
  EXPECT_EQ(in, IfcMessage("create_rq_in", 272)
                    .put("opcode", kCreateRq)
                    .put("ctx.vsd", 1)
                    .put("ctx.mem_rq_type", 0)  // MLX5_RQC_MEM_RQ_TYPE_MEMORY_RQ_INLINE
                    .put("ctx.state", 0)        // MLX5_RQC_STATE_RST
                    .put("ctx.flush_in_error_en", 1)
                    .put("ctx.cqn", kCqn)
                    .put("ctx.wq.wq_type", 1)  // MLX5_WQ_TYPE_CYCLIC
                    .put("ctx.wq.pd", kPdn)
                    .put("ctx.wq.dbr_addr", record)
                    .put("ctx.wq.log_wq_stride", 6)
                    .put("ctx.wq.log_wq_pg_sz", 0)
                    .put("ctx.wq.log_wq_sz", 0)
                    .append(page)
                    .bytes());
}

TEST_F(ReceiveTargetCommands, RqBecomesReadyAndTheTirStandsInFrontOfIt) {
  const auto target = create().value();
  EXPECT_EQ(target.rqn(), kRqn);
  EXPECT_EQ(target.tirn(), kTirn);
  EXPECT_EQ(bytes_sent(kModifyRq), IfcMessage("modify_rq_in", 272)
                                       .put("opcode", kModifyRq)
                                       .put("rq_state", 0)
                                       .put("rqn", kRqn)
                                       .put("ctx.state", 1)  // MLX5_RQC_STATE_RDY
                                       .bytes());
  EXPECT_EQ(bytes_sent(kCreateTir), IfcMessage("create_tir_in", 272)
                                        .put("opcode", kCreateTir)
                                        .put("ctx.disp_type", 0)  // MLX5_TIRC_DISP_TYPE_DIRECT
                                        .put("ctx.inline_rqn", kRqn)
                                        .put("ctx.transport_domain", kDomain)
                                        .bytes());
}

TEST_F(ReceiveTargetCommands, Create_KeepsItsDeadlineAlsoWhereItFails) {
  channel.deadlines.clear();
  channel.fail_with(kCreateTir, Errc::CommandFailed);
  EXPECT_FALSE(create());
  EXPECT_THAT(channel.deadlines, ::testing::ElementsAre(kDeadlineNs, kDeadlineNs, kDeadlineNs,
                                                        kDeadlineNs));  // DESTROY_RQ the last
}

TEST_F(ReceiveTargetCommands, TirThatIsNotAnswered_LeavesTheRqAndItsMemory) {
  const std::size_t before = arena.bytes_in_use();
  channel.fail_with(kCreateTir, Errc::Timeout);
  EXPECT_FALSE(create());
  EXPECT_EQ(channel.count(kDestroyRq), 0u);
  EXPECT_GT(arena.bytes_in_use(), before);
}

TEST_F(ReceiveTargetCommands, RqThatIsNotAnswered_KeepsItsMemory) {
  const std::size_t before = arena.bytes_in_use();
  channel.fail_with(kCreateRq, Errc::Timeout);
  EXPECT_FALSE(create());
  EXPECT_GT(arena.bytes_in_use(), before);
}

TEST_F(ReceiveTargetCommands, RqThatIsRefused_GivesItsMemoryBack) {
  const std::size_t before = arena.bytes_in_use();
  channel.fail_with(kCreateRq, Errc::CommandFailed);
  EXPECT_FALSE(create());
  EXPECT_EQ(arena.bytes_in_use(), before);
}

TEST_F(ReceiveTargetCommands, TirThatCannotBeDestroyed_IsAskedOnceAndItsRqNever) {
  channel.fail_with(kDestroyTir, Errc::Timeout);
  {
    auto target = create().value();
    EXPECT_FALSE(target.destroy(4'321));
  }
  EXPECT_EQ(channel.count(kDestroyTir), 1u);
  EXPECT_EQ(channel.count(kDestroyRq), 0u);
}

TEST_F(ReceiveTargetCommands, Destruction_TakesTheTirBeforeItsRq) {
  { const auto target = create().value(); }
  ASSERT_GE(channel.sent.size(), 2u);
  EXPECT_EQ(channel.sent[channel.sent.size() - 2].in,
            IfcMessage("destroy_tir_in", 16).put("opcode", kDestroyTir).put("tirn", kTirn).bytes());
  EXPECT_EQ(channel.last(),
            IfcMessage("destroy_rq_in", 16).put("opcode", kDestroyRq).put("rqn", kRqn).bytes());
}

TEST_F(ReceiveTargetCommands, Destroy_KeepsItsDeadlineAndIsNotDoneTwice) {
  {
    auto target = create().value();
    ASSERT_TRUE(target.destroy(4'321));
    EXPECT_EQ(channel.deadlines.back(), 4'321u);
    ASSERT_TRUE(target.destroy(4'321));
  }
  EXPECT_EQ(channel.count(kDestroyTir), 1u);
  EXPECT_EQ(channel.count(kDestroyRq), 1u);
}

TEST_F(ReceiveTargetCommands, TirThatIsRefused_TakesItsRqBack) {
  channel.fail_with(kCreateTir, Errc::CommandFailed);
  EXPECT_FALSE(create());
  EXPECT_EQ(channel.count(kDestroyTir), 0u);
  EXPECT_EQ(channel.count(kDestroyRq), 1u);
}

TEST_F(ReceiveTargetCommands, RqThatCannotBeDestroyed_KeepsItsMemory) {
  const std::size_t before = arena.bytes_in_use();
  channel.fail_with(kDestroyRq, Errc::Timeout);
  { const auto target = create().value(); }
  EXPECT_GT(arena.bytes_in_use(), before);
}

}  // namespace
}  // namespace portcullis::testing
