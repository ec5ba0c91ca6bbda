// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queue entries written as rdma-core declares them (infiniband/mlx5dv.h, mlx5_cqe64 and
// mlx5_err_cqe), and what polling makes of them: verbs' status for each syndrome, order, passes
// over the ring, and refusal of whatever a sane device would not write.
#include <endian.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <cstring>

#include "tests/pmd/object_rig.hpp"

namespace portcullis::testing {
namespace {

using pmd::Completion;
using pmd::GatherEntry;
using ::testing::HasSubstr;

constexpr std::uint32_t kWriteOpcode = std::uint32_t{MLX5_OPCODE_RDMA_WRITE} << 24;
constexpr std::uint32_t kEntries = 16;
constexpr std::uint32_t kOtherQpn = kQpn + 1;

struct Completions : ::testing::Test, QueueRig {
  void post(std::uint64_t wr_id, bool signaled = true) {
    ASSERT_TRUE(qp.post_write(GatherEntry{0x1000, 1, 8}, {0x2000, prm::Rkey{3}, wr_id, signaled}));
  }
  /// The device writes entry `produced`, owner bit last.
  void produce(mlx5_cqe64 cqe, std::uint8_t opcode = MLX5_CQE_REQ) {
    const std::uint8_t owner = produced / kEntries % 2;
    cqe.op_own = static_cast<std::uint8_t>(opcode << 4 | owner);
    std::memcpy(completion_ring() + produced % kEntries * sizeof cqe, &cqe, sizeof cqe);
    ++produced;
  }
  void produce_success(std::uint16_t wqe_counter, std::uint32_t qpn = kQpn) {
    mlx5_cqe64 cqe{};
    cqe.sop_drop_qpn = htobe32(kWriteOpcode | qpn);
    cqe.wqe_counter = htobe16(wqe_counter);
    produce(cqe);
  }
  void produce_error(std::uint16_t wqe_counter, std::uint8_t syndrome, std::uint8_t vendor = 0x81) {
    mlx5_err_cqe error{};
    error.s_wqe_opcode_qpn = htobe32(kWriteOpcode | kQpn);
    error.wqe_counter = htobe16(wqe_counter);
    error.syndrome = syndrome;
    error.vendor_err_synd = vendor;
    mlx5_cqe64 cqe{};
    std::memcpy(&cqe, &error, sizeof cqe);
    produce(cqe, MLX5_CQE_REQ_ERR);
  }
  /// A poll that must find one.
  Completion take() { return cq.try_poll().value().value(); }
  std::uint32_t consumer_record() {
    return static_cast<std::uint32_t>(big_endian({completion_record(), 4}));
  }
  std::uint32_t arm_record() {
    return static_cast<std::uint32_t>(big_endian({completion_record() + 4, 4}));
  }

  std::uint32_t produced = 0;
};

TEST_F(Completions, FreshQueueIsEmpty) { EXPECT_EQ(cq.try_poll().value(), std::nullopt); }

TEST_F(Completions, SuccessTellsWhichRequest) {
  post(4711);
  produce_success(0);
  const Completion done = take();
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(done.wr_id, 4711u);
  EXPECT_EQ(done.qpn, prm::QpNumber{kQpn});
  EXPECT_EQ(done.wqe_counter, 0u);
  EXPECT_EQ(done.syndrome, 0u);
}

struct UnknownOwner : Completions, ::testing::WithParamInterface<std::uint32_t> {};

// Before the first success there is no last QP: whatever a device writes then must not name it.
TEST_P(UnknownOwner, BeforeTheFirstSuccess_BreaksTheQueue) {
  mlx5_cqe64 cqe{};
  cqe.sop_drop_qpn = htobe32(GetParam());
  produce(cqe);
  EXPECT_EQ(cq.try_poll().error().code, Errc::Malformed);
}

INSTANTIATE_TEST_SUITE_P(Completions, UnknownOwner,
                         ::testing::Values(0u, kWriteOpcode, ~std::uint32_t{0}));

TEST_F(Completions, AfterABreak_NoEntryIsTaken) {
  post(1);
  post(2);
  produce_success(0);
  take();
  produce_success(7);
  ASSERT_FALSE(cq.try_poll());
  produced = 1;
  produce_success(1);
  completion_ring()[2 * sizeof(mlx5_cqe64) - 1] = std::byte{0xff};
  EXPECT_EQ(cq.try_poll().error().code, Errc::Malformed);
}

TEST_F(Completions, ComeInOrderOverManyPasses) {
  for (std::uint32_t i = 0; i < 5 * kEntries + 3; ++i) {
    post(1000 + i);
    produce_success(static_cast<std::uint16_t>(i));
    EXPECT_EQ(take().wr_id, 1000u + i);
  }
  EXPECT_EQ(cq.try_poll().value(), std::nullopt);
}

TEST_F(Completions, EntryOfTheLastPass_IsNotTakenTwice) {
  for (std::uint16_t i = 0; i < kEntries; ++i) {
    post(i);
    produce_success(i);
    take();
  }
  EXPECT_EQ(cq.try_poll().value(), std::nullopt);
}

TEST_F(Completions, ConsumerIndexIsTold) {
  post(1);
  post(2);
  produce_success(0);
  produce_success(1);
  take();
  EXPECT_EQ(consumer_record(), 1u);
  take();
  EXPECT_EQ(consumer_record(), 2u);
}

TEST_F(Completions, SignaledRequestCompletesTheUnsignaledBeforeIt) {
  post(1, false);
  post(2, false);
  post(3);
  produce_success(2);
  EXPECT_EQ(take().wr_id, 3u);
  EXPECT_EQ(qp.outstanding_blocks(), 0u);
}

TEST_F(Completions, EmptyPollRelaxesOnce_NonEmptyNever) {
  post(1);
  produce_success(0);
  take();
  EXPECT_TRUE(relaxed_until.empty());
  (void)cq.poll(55'000);
  EXPECT_EQ(relaxed_until, std::vector<std::uint64_t>{55'000});
}

TEST_F(Completions, TryPoll_LetsNoTimePass) {
  now_ns = 9'000;
  (void)cq.try_poll();
  EXPECT_EQ(relaxed_until, std::vector<std::uint64_t>{9'000});
}

TEST_F(Completions, WaitReturnsWhatIsThere) {
  post(8);
  produce_success(0);
  EXPECT_EQ(cq.wait(50'000).value().wr_id, 8u);
}

TEST_F(Completions, WaitWithoutCompletion_TimesOutAtItsDeadline) {
  EXPECT_EQ(cq.wait(50'000).error().code, Errc::Timeout);
  EXPECT_EQ(now_ns, 50'000u);
}

struct Verdict {
  std::uint8_t syndrome;
  ibv_wc_status status;
};

struct ErrorCompletions : Completions, ::testing::WithParamInterface<Verdict> {};

TEST_P(ErrorCompletions, HaveVerbsStatusAndBothSyndromes) {
  post(21);
  produce_error(0, GetParam().syndrome, 0x97);
  const Completion done = take();
  EXPECT_EQ(static_cast<int>(done.status), static_cast<int>(GetParam().status));
  EXPECT_EQ(done.syndrome, GetParam().syndrome);
  EXPECT_EQ(done.vendor_syndrome, 0x97);
  EXPECT_EQ(done.wr_id, 21u);
}

TEST_F(Completions, SyndromeWithoutAName_IsItsRequestsErrorAndTheQueueGoesOn) {
  post(1);
  post(2);
  produce_error(0, 0x77);
  EXPECT_EQ(take().status, prm::WcStatus::GENERAL_ERR);
  produce_success(1);
  EXPECT_EQ(take().wr_id, 2u);
  EXPECT_FALSE(cq.is_broken());
}

// mlx5_handle_error_cqe of rdma-core.
INSTANTIATE_TEST_SUITE_P(
    Syndromes, ErrorCompletions,
    ::testing::Values(Verdict{MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, IBV_WC_LOC_LEN_ERR},
                      Verdict{MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR},
                      Verdict{MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, IBV_WC_LOC_PROT_ERR},
                      Verdict{MLX5_CQE_SYNDROME_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR},
                      Verdict{MLX5_CQE_SYNDROME_MW_BIND_ERR, IBV_WC_MW_BIND_ERR},
                      Verdict{MLX5_CQE_SYNDROME_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR},
                      Verdict{0xff, IBV_WC_GENERAL_ERR},
                      Verdict{MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR},
                      Verdict{MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, IBV_WC_REM_INV_REQ_ERR},
                      Verdict{MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR},
                      Verdict{MLX5_CQE_SYNDROME_REMOTE_OP_ERR, IBV_WC_REM_OP_ERR},
                      Verdict{MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR},
                      Verdict{MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR},
                      Verdict{MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR, IBV_WC_REM_ABORT_ERR}),
    [](const auto& verdict) { return "Status" + std::to_string(verdict.param.status); });

TEST_F(Completions, ErrorIsDescribedInOneLine) {
  post(1);
  produce_error(0, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
  EXPECT_EQ(describe(take()),
            "qpn 0x1abcd wqe 0: IBV_WC_RETRY_EXC_ERR (12), syndrome 0x15, vendor syndrome 0x81");
}

TEST_F(Completions, SuccessIsDescribedInOneLine) {
  EXPECT_EQ(describe(Completion{.qpn = prm::QpNumber{0x12}, .wqe_counter = 3}),
            "qpn 0x12 wqe 3: IBV_WC_SUCCESS (0)");
}

struct Told {
  std::uint8_t opcode;
  ibv_wc_opcode told;
  std::uint32_t bytes;
};

struct RequestOpcodes : Completions, ::testing::WithParamInterface<Told> {};

TEST_P(RequestOpcodes, HaveVerbsOpcodeAndByteCount) {
  post(1);
  mlx5_cqe64 cqe{};
  cqe.sop_drop_qpn = htobe32(std::uint32_t{GetParam().opcode} << 24 | kQpn);
  cqe.byte_cnt = htobe32(1234);
  produce(cqe);
  const Completion done = take();
  EXPECT_EQ(static_cast<int>(done.opcode), static_cast<int>(GetParam().told));
  EXPECT_EQ(done.byte_count, GetParam().bytes);
  EXPECT_EQ(done.wr_id, 1u);
}

// handle_good_req of rdma-core; a UMR there is what its poster says (IBV_WC_DRIVER1 of a raw one).
INSTANTIATE_TEST_SUITE_P(Opcodes, RequestOpcodes,
                         ::testing::Values(Told{MLX5_OPCODE_RDMA_WRITE, IBV_WC_RDMA_WRITE, 0},
                                           Told{MLX5_OPCODE_RDMA_WRITE_IMM, IBV_WC_RDMA_WRITE, 0},
                                           Told{MLX5_OPCODE_SEND, IBV_WC_SEND, 0},
                                           Told{MLX5_OPCODE_SEND_IMM, IBV_WC_SEND, 0},
                                           Told{MLX5_OPCODE_SEND_INVAL, IBV_WC_SEND, 0},
                                           Told{MLX5_OPCODE_RDMA_READ, IBV_WC_RDMA_READ, 1234},
                                           Told{MLX5_OPCODE_ATOMIC_CS, IBV_WC_COMP_SWAP, 8},
                                           Told{MLX5_OPCODE_ATOMIC_FA, IBV_WC_FETCH_ADD, 8},
                                           Told{MLX5_OPCODE_UMR, IBV_WC_DRIVER1, 0}),
                         [](const auto& told) { return std::to_string(told.param.opcode); });

TEST_F(Completions, ReadAfterAWrite_IsNotTakenForAnother) {
  post(1);
  post(2);
  produce_success(0);
  EXPECT_EQ(static_cast<int>(take().opcode), IBV_WC_RDMA_WRITE);
  mlx5_cqe64 cqe{};
  cqe.sop_drop_qpn = htobe32(std::uint32_t{MLX5_OPCODE_RDMA_READ} << 24 | kQpn);
  cqe.wqe_counter = htobe16(1);
  produce(cqe);
  EXPECT_EQ(static_cast<int>(take().opcode), IBV_WC_RDMA_READ);
}

TEST_F(Completions, FlushedQueue_CompletesEachRequest) {
  post(1, false);
  post(2, false);
  post(3);
  produce_error(0, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
  produce_error(1, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
  produce_error(2, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
  EXPECT_EQ(take().wr_id, 1u);
  EXPECT_EQ(take().wr_id, 2u);
  EXPECT_EQ(take().wr_id, 3u);
  EXPECT_EQ(qp.outstanding_blocks(), 0u);
}

// ---- untrusted bytes ----

struct Malformed : Completions {
  /// Polling breaks the queue for good, with `reason` in the error.
  void expect_broken(const std::string& reason) {
    const auto first = cq.try_poll();
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().code, Errc::Malformed);
    EXPECT_THAT(first.error().text, HasSubstr(reason));
    EXPECT_TRUE(cq.is_broken());
    produce_success(0);
    EXPECT_FALSE(cq.try_poll());
  }
};

TEST_F(Malformed, UnknownOpcode) {
  post(1);
  mlx5_cqe64 cqe{};
  cqe.sop_drop_qpn = htobe32(kWriteOpcode | kQpn);
  produce(cqe, 9);
  expect_broken("opcode 9");
}

TEST_F(Malformed, ReceiveCompletionOfAQueueThatHasNone) {
  mlx5_cqe64 cqe{};
  cqe.sop_drop_qpn = htobe32(kQpn);
  produce(cqe, MLX5_CQE_RESP_SEND);
  expect_broken("opcode 2");
}

TEST_F(Malformed, RequestOfAQueuePairThatHasNoSendQueue) {
  ASSERT_TRUE(qp.destroy());
  qp = pmd::QueuePair::create(context, domain, cq, page, {.sends = false}).value();
  produce_success(0x4000);
  expect_broken("which has no send queue");
}

TEST_F(Malformed, RequestOfAnOpcodeNobodyPosts) {
  post(1);
  mlx5_cqe64 cqe{};
  cqe.sop_drop_qpn = htobe32(std::uint32_t{MLX5_OPCODE_TSO} << 24 | kQpn);
  produce(cqe);
  expect_broken("a request of opcode 14");
}

TEST_F(Malformed, QueuePairThatCompletesElsewhere) {
  post(1);
  produce_success(0, kOtherQpn);
  expect_broken("qpn " + std::to_string(kOtherQpn));
}

TEST_F(Malformed, ErrorWithoutASyndrome) {
  post(1);
  produce_error(0, 0);
  expect_broken("an error with syndrome 0");
}

TEST_F(Malformed, RequestThatWasNeverPosted) {
  post(1);
  produce_success(1);
  expect_broken("WQE 1");
}

TEST_F(Malformed, NothingPostedAtAll) {
  produce_success(0);
  expect_broken("WQE 0");
}

TEST_F(Malformed, RequestCompletedTwice) {
  post(1);
  post(2);
  produce_success(0);
  take();
  produce_success(0);
  expect_broken("WQE 0");
}

TEST_F(Malformed, MiddleOfARequest) {
  const std::vector<std::byte> line(64);
  ASSERT_TRUE(qp.post_write_inline(line, {}));
  produce_success(1);
  expect_broken("WQE 1");
}

TEST_F(Malformed, CounterOfAnotherPass) {
  post(1);
  produce_success(kEntries);
  expect_broken("WQE 16");
}

TEST_F(Malformed, EntryThatLooksWellLater_IsNotBelieved) {
  post(1);
  post(2);
  produce_success(0);
  take();
  produce_success(9);
  EXPECT_FALSE(cq.try_poll());
  --produced;
  produce_success(1);
  EXPECT_FALSE(cq.try_poll());
}

TEST_F(Completions, AnyBytesInAnEntry_AreAnErrorOrACompletion) {
  for (unsigned seed = 0; seed < 256; ++seed) {
    QueueRig rig;
    ASSERT_TRUE(rig.qp.post_write(GatherEntry{0x1000, 1, 8}, {}));
    std::byte* cqe = rig.completion_ring();
    for (unsigned i = 0; i < 64; ++i)
      cqe[i] = static_cast<std::byte>((seed + 1) * (i + 7) * 2654435761u >> 13);
    cqe[63] = static_cast<std::byte>(seed);
    const auto polled = rig.cq.try_poll();
    EXPECT_TRUE(polled.has_value() || polled.error().code == Errc::Malformed);
  }
}

// ---- several queue pairs on one queue ----

struct SharedCompletions : Completions {
  SharedCompletions() {
    channel.answer(kCreateQp, IfcMessage("create_qp_out", 16).put("qpn", kOtherQpn));
    channel.answer(kCreateCq, IfcMessage("create_cq_out", 16).put("cqn", kCqn + 1));
  }
  void SetUp() override {
    // Two small queue pairs instead of the rig's one, which fills its completion queue.
    ASSERT_TRUE(qp.destroy());
    channel.answer(kCreateQp, IfcMessage("create_qp_out", 16).put("qpn", kQpn));
    qp = pmd::QueuePair::create(context, domain, cq, page, {3}).value();
    channel.answer(kCreateQp, IfcMessage("create_qp_out", 16).put("qpn", kOtherQpn));
    other = pmd::QueuePair::create(context, domain, cq, page, {3}).value();
  }
  void post_other(std::uint64_t wr_id) {
    ASSERT_TRUE(other->post_write(GatherEntry{0x1000, 1, 8}, {0x2000, prm::Rkey{3}, wr_id, true}));
  }
  std::optional<pmd::QueuePair> other;
};

TEST_F(SharedCompletions, EachFindsItsOwnRequest) {
  post(1);
  post_other(2);
  post(3);
  produce_success(0, kQpn);
  produce_success(0, kOtherQpn);
  produce_success(1, kQpn);
  EXPECT_EQ(take().wr_id, 1u);
  EXPECT_EQ(take().wr_id, 2u);
  EXPECT_EQ(take().wr_id, 3u);
}

TEST_F(SharedCompletions, ResetQueuePair_LeavesTheOthersEntriesInOrder) {
  post(1);
  post_other(2);
  post(3);
  post_other(4);
  produce_success(0, kQpn);
  produce_success(0, kOtherQpn);
  produce_success(1, kQpn);
  produce_success(1, kOtherQpn);
  ASSERT_TRUE(qp.to_reset());
  EXPECT_EQ(take().wr_id, 2u);
  EXPECT_EQ(take().wr_id, 4u);
  EXPECT_EQ(cq.try_poll().value(), std::nullopt);
  EXPECT_EQ(consumer_record(), 4u);
}

TEST_F(SharedCompletions, ResetAcrossTheRingsEnd_KeepsOwnerBitsRight) {
  for (std::uint16_t i = 0; i < kEntries - 1; ++i) {
    post(i);
    produce_success(i, kQpn);
    take();
  }
  post_other(100);
  post(101);
  post_other(102);
  produce_success(0, kOtherQpn);
  produce_success(kEntries - 1, kQpn);
  produce_success(1, kOtherQpn);
  ASSERT_TRUE(qp.to_reset());
  EXPECT_EQ(take().wr_id, 100u);
  EXPECT_EQ(take().wr_id, 102u);
  EXPECT_EQ(cq.try_poll().value(), std::nullopt);
  post_other(103);
  produce_success(2, kOtherQpn);
  EXPECT_EQ(take().wr_id, 103u);
}

TEST_F(SharedCompletions, DestroyedQueuePair_LeavesNoEntries) {
  post(1);
  produce_success(0, kQpn);
  ASSERT_TRUE(qp.destroy());
  EXPECT_EQ(cq.try_poll().value(), std::nullopt);
}

TEST_F(SharedCompletions, QueuePairThatWouldNotDie_IsPassedOver) {
  post(1);
  post_other(2);
  channel.fail_with(kDestroyQp, Errc::Timeout);
  { const auto gone = std::move(qp); }
  produce_success(0, kQpn);
  produce_success(0, kOtherQpn);
  EXPECT_EQ(take().wr_id, 2u);
}

// ---- arming ----

TEST_F(Completions, ArmWritesRecordThenDoorbell) {
  post(1);
  produce_success(0);
  take();
  cq.arm();
  EXPECT_EQ(arm_record(), 1u);
  EXPECT_EQ(big_endian({uar_cell(0x20), 8}), std::uint64_t{1} << 32 | kCqn);
}

TEST_F(Completions, ArmAfterAnEvent_HasTheNextSequenceNumber) {
  cq.arm();
  cq.note_event();
  cq.arm(/*solicited_only=*/true);
  EXPECT_EQ(arm_record(), 1u << 28 | 1u << 24);  // sn, MLX5_CQ_DB_REQ_NOT_SOL
}

}  // namespace
}  // namespace portcullis::testing
