// SPDX-License-Identifier: BSD-3-Clause
//
// The queue for UMRs: how its QP comes up, against what mlx5_ib sends for one (create_kernel_qp and
// __mlx5_ib_modify_qp, MLX5_IB_QPT_REG_UMR), and when a change counts as done.
#include "pmd/umr_queue.hpp"

#include <endian.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/mlx5dv.h>

#include <cstring>

#include "tests/pmd/object_rig.hpp"

namespace portcullis::testing {
namespace {

using ::testing::HasSubstr;

constexpr prm::Rkey kKey{0x00123456};
constexpr prm::Rkey kOtherKey{0x00123556};
constexpr std::uint32_t kLogChanges = 2;
constexpr std::uint32_t kEntries = 8;

struct Umrs : ::testing::Test, ObjectRig {
  Umrs() : page(uar()) {
    context.uar = &page;
    queue.emplace(pmd::UmrQueue::create(context, kLogChanges).value());
  }
  const std::vector<std::byte>& sent(unsigned opcode) const {
    return std::find_if(channel.sent.begin(), channel.sent.end(),
                        [&](const auto& command) { return command.opcode() == opcode; })
        ->in;
  }
  std::byte* ring_of(unsigned opcode) {
    auto probe = arena.allocate(64).value();
    std::uint64_t iova = 0;
    std::memcpy(&iova, sent(opcode).data() + sent(opcode).size() - 8, sizeof iova);
    return probe.data() + static_cast<std::ptrdiff_t>(be64toh(iova) - probe.iova());
  }
  /// The device's answer to change `number`.
  void complete(std::uint32_t number, std::uint8_t syndrome = 0) {
    mlx5_err_cqe cqe{};
    cqe.s_wqe_opcode_qpn = htobe32(std::uint32_t{MLX5_OPCODE_UMR} << 24 | kQpn);
    cqe.wqe_counter = htobe16(static_cast<std::uint16_t>(2 * number));
    cqe.syndrome = syndrome;
    const std::uint8_t opcode = syndrome != 0 ? MLX5_CQE_REQ_ERR : MLX5_CQE_REQ;
    cqe.op_own = static_cast<std::uint8_t>(std::uint32_t{opcode} << 4 | (produced / kEntries % 2));
    std::memcpy(ring_of(kCreateCq) + produced % kEntries * sizeof cqe, &cqe, sizeof cqe);
    ++produced;
  }
  static IfcMessage transition(const std::string& layout, unsigned opcode) {
    return IfcMessage(layout, 272)
        .put("opcode", opcode)
        .put("qpn", kQpn)
        .put("qpc.st", 0xc)      // MLX5_QP_ST_REG_UMR
        .put("qpc.pm_state", 3)  // MLX5_QP_PM_MIGRATED
        .put("qpc.mtu", 5)       // IB_MTU_4096
        .put("qpc.log_msg_max", 12)
        .put("qpc.pd", kPdn)
        .put("qpc.cqn_snd", kCqn)
        .put("qpc.cqn_rcv", kCqn)
        .put("qpc.log_ack_req_freq", 8);
  }

  pmd::Uar page;
  std::optional<pmd::UmrQueue> queue;
  std::uint32_t produced = 0;
};

TEST_F(Umrs, QueuePair_IsCreatedAsLinuxCreatesOne) {
  const auto& created = sent(kCreateQp);
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.st", created), 0xcu);
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.pd", created), 0u);
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.latency_sensitive", created), 1u);
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.fre", created), 1u);
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.log_sq_size", created), 3u);
}

TEST_F(Umrs, QueuePair_ComesUpWithoutAPeer) {
  EXPECT_EQ(sent(kRst2Init), transition("rst2init_qp_in", kRst2Init)
                                 .put("qpc.primary_address_path.vhca_port_num", 1)
                                 .bytes());
  EXPECT_EQ(sent(kInit2Rtr), transition("init2rtr_qp_in", kInit2Rtr).bytes());
  EXPECT_EQ(sent(kRtr2Rts), transition("rtr2rts_qp_in", kRtr2Rts).bytes());
}

TEST_F(Umrs, FreedKey_GoesToTheQueuesOwnDomain) {
  ASSERT_TRUE(queue->submit_free(kKey));
  const std::byte* wqe = ring_of(kCreateQp);
  mlx5_wqe_mkey_context_seg context{};
  std::memcpy(&context, wqe + 64, sizeof context);
  EXPECT_EQ(be32toh(context.flags_pd), prm::number(queue->pdn()));
  EXPECT_EQ(context.free, MLX5_WQE_MKEY_CONTEXT_FREE);
}

TEST_F(Umrs, Change_IsDoneWhenItsCompletionSaysSo) {
  const auto ticket = queue->submit_free(kKey).value();
  EXPECT_FALSE(queue->is_done(ticket));
  complete(0);
  EXPECT_TRUE(queue->is_done(ticket));
  EXPECT_TRUE(queue->await(ticket, now_ns));
}

TEST_F(Umrs, ChangeWithoutCompletion_TimesOutAtItsDeadline) {
  const std::uint64_t until_ns = now_ns + 5'000;
  EXPECT_EQ(queue->free_key(kKey, until_ns).error().code, Errc::Timeout);
  EXPECT_EQ(now_ns, until_ns);
}

TEST_F(Umrs, ChangeOfAnyKindWithoutCompletion_TimesOutAtItsDeadline) {
  EXPECT_EQ(queue->invalidate_key(kKey, now_ns + 5'000).error().code, Errc::Timeout);
  EXPECT_EQ(now_ns, 6'000u);
  EXPECT_EQ(queue->change_access(kKey, prm::PdNumber{kPdn}, {}, now_ns + 5'000).error().code,
            Errc::Timeout);
  EXPECT_EQ(now_ns, 11'000u);
}

TEST_F(Umrs, LateCompletion_IsNotTakenForTheNextChanges) {
  EXPECT_EQ(queue->free_key(kKey, now_ns + 5'000).error().code, Errc::Timeout);
  complete(0);
  EXPECT_EQ(queue->free_key(kOtherKey, now_ns + 5'000).error().code, Errc::Timeout);
  complete(1);
  EXPECT_TRUE(queue->await({1}, now_ns));
}

TEST_F(Umrs, RefusedChange_FailsAndSoDoThoseBehindIt) {
  const auto first = queue->submit_free(kKey).value();
  const auto second = queue->submit_free(kOtherKey).value();
  complete(0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
  complete(1, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
  const auto refused = queue->await(first, now_ns);
  EXPECT_EQ(refused.error().code, Errc::DeviceFailed);
  EXPECT_THAT(refused.error().text, HasSubstr("IBV_WC_LOC_QP_OP_ERR (2)"));
  EXPECT_THAT(queue->await(second, now_ns).error().text, HasSubstr("IBV_WC_WR_FLUSH_ERR (5)"));
  EXPECT_TRUE(queue->is_in_error());
  EXPECT_THAT(queue->submit_free(kKey).error().text, HasSubstr("until it is recovered"));
}

TEST_F(Umrs, RecoveredQueue_GoesThroughResetAndTakesChangesAgain) {
  const auto first = queue->submit_free(kKey).value();
  const auto second = queue->submit_free(kOtherKey).value();
  complete(0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
  EXPECT_FALSE(queue->await(first, now_ns));
  ASSERT_TRUE(queue->recover());
  EXPECT_EQ(channel.count(k2Rst), 1u);
  EXPECT_EQ(channel.count(kRtr2Rts), 2u);
  EXPECT_THAT(queue->await(second, now_ns).error().text, HasSubstr("IBV_WC_WR_FLUSH_ERR"));
  const auto third = queue->submit_free(kKey).value();
  produced = 1;
  complete(0);  // the QP counts from 0 again
  EXPECT_TRUE(queue->await(third, now_ns));
}

TEST_F(Umrs, DoneBeforeTheRecoveryAndNotSeen_KeepsItsOutcome) {
  const auto first = queue->submit_free(kKey).value();
  const auto second = queue->submit_free(kOtherKey).value();
  complete(0);
  ASSERT_TRUE(queue->recover());
  EXPECT_TRUE(queue->await(first, now_ns));
  EXPECT_THAT(queue->await(second, now_ns).error().text,
              HasSubstr("UMR: qpn 0x1abcd wqe 0: IBV_WC_WR_FLUSH_ERR (5)"));
}

/// An entry that nobody can believe, where a full queue would look for room.
TEST_F(Umrs, CompletionQueueThatIsBroken_IsToldInPlaceOfBusy) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(queue->submit_invalidate(kKey));
  complete(3);
  complete(3);
  EXPECT_EQ(queue->submit_invalidate(kKey).error().code, Errc::Malformed);
  EXPECT_EQ(queue->recover().error().code, Errc::Malformed);
  EXPECT_EQ(channel.count(k2Rst), 0u);
}

TEST_F(Umrs, MoreChangesThanFit_AreBusyUntilOneIsDone) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(queue->submit_invalidate(kKey));
  const auto refused = queue->submit_invalidate(kKey);
  EXPECT_EQ(refused.error().code, Errc::Busy);
  EXPECT_EQ(refused.error().text, "all 4 UMRs are in flight");
  complete(0);
  EXPECT_TRUE(queue->submit_invalidate(kKey));
}

/// Each of them completes, so none may be passed over.
TEST_F(Umrs, CompletionOutOfTurn_IsMalformed) {
  const auto first = queue->submit_free(kKey).value();
  ASSERT_TRUE(queue->submit_free(kOtherKey));
  complete(1);
  const auto broken = queue->await(first, now_ns + 5'000);
  EXPECT_EQ(broken.error().code, Errc::Malformed);
  EXPECT_THAT(broken.error().text, HasSubstr("UMR 1 completed where 0 was next"));
}

TEST_F(Umrs, CompletionQueueThatIsBroken_EndsTheWaitWithItsError) {
  const auto first = queue->submit_free(kKey).value();
  complete(3);
  EXPECT_EQ(queue->await(first, now_ns + 5'000).error().code, Errc::Malformed);
}

TEST_F(Umrs, DomainOfMoreThan24Bits_IsRefusedAndCountsForNoChange) {
  EXPECT_THAT(queue->submit_access(kKey, prm::PdNumber{1U << 24}, {}).error().text,
              HasSubstr("its number has 24 bits"));
  EXPECT_EQ(queue->submit_free(kKey)->number, 0U);
}

TEST_F(Umrs, TicketThatIsNone_IsRefused) {
  EXPECT_EQ(queue->await({0}, now_ns).error().code, Errc::InvalidArgument);
  for (std::uint32_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(queue->submit_invalidate(kKey));
    complete(i);
    ASSERT_TRUE(queue->await({i}, now_ns));
  }
  EXPECT_THAT(queue->await({0}, now_ns).error().text, HasSubstr("too late"));
}

TEST_F(Umrs, RightToAtomicsThatCannotBeChanged_IsRefusedUnposted) {
  context.caps.atomic = 1;
  context.caps.umr_modify_atomic_disabled = 1;
  EXPECT_EQ(queue->submit_access(kKey, prm::PdNumber{kPdn}, {}).error().code, Errc::Unsupported);
  context.caps.atomic = 0;
  EXPECT_EQ(queue->submit_access(kKey, prm::PdNumber{kPdn}, {.remote_atomic = true}).error().code,
            Errc::Unsupported);
  EXPECT_EQ(ring_of(kCreateQp)[3], std::byte{0});
}

TEST_F(Umrs, FunctionWithoutAtomics_LeavesTheirRightOutOfTheChange) {
  ASSERT_TRUE(queue->submit_access(kKey, prm::PdNumber{kPdn}, {.local_write = true}));
  mlx5_wqe_umr_ctrl_seg control{};
  std::memcpy(&control, ring_of(kCreateQp) + 16, sizeof control);
  EXPECT_EQ(be64toh(control.mkey_mask) & MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC, 0u);
}

}  // namespace
}  // namespace portcullis::testing
