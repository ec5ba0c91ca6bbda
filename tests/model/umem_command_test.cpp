// SPDX-License-Identifier: BSD-3-Clause
//
// Queues in umems by command, as the DevX clients of rdma-core make them
// (create_cq and create_qp of tests/mlx5_base.py), and those of DPDK (mlx5_devx_rq_create and
// mlx5_devx_sq_create of mlx5_common_devx.c).
#include <gtest/gtest.h>

#include "prm/ethernet_commands.hpp"
#include "prm/receive_commands.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

struct BroughtUp : MiniDriver {
  BroughtUp() { bring_up(); }
};

class UmemCommands : public ::testing::Test {
 protected:
  Answer create_umem(std::uint64_t rights = 3) {
    auto in = command<prm::create_umem_in>(Opcode::CREATE_UMEM);
    in.set<"umem.num_of_mtt", 4>();
    std::vector<Iova> mtt;
    for (std::size_t page = 0; page < 4; ++page)
      mtt.push_back((memory_.iova() + page * kPageBytes) | rights);
    return driver_.run<prm::create_umem_out>(in, mtt);
  }
  std::uint32_t umem() { return create_umem().as<prm::create_umem_out>().get<"umem_id">(); }
  Answer destroy_umem(std::uint32_t id) {
    auto in = command<prm::destroy_umem_in>(Opcode::DESTROY_UMEM);
    return driver_.run<prm::destroy_umem_out>(in.put<"umem_id">(id));
  }
  Answer create_cq(std::uint32_t queue, std::uint32_t record) {
    auto in = command<prm::create_cq_in>(Opcode::CREATE_CQ);
    in.set<"cq_context.log_cq_size", 4>()
        .put<"cq_context.uar_page">(eq_.uar())
        .put<"cq_context.c_eqn_or_apu_element">(eq_.eqn())
        .set<"cq_context.dbr_umem_valid", 1>()
        .put<"cq_context.dbr_umem_id">(record)
        .set<"cq_umem_valid", 1>()
        .put<"cq_umem_id">(queue)
        .put<"cq_umem_offset">(kPageBytes);
    return driver_.run<prm::create_cq_out>(in);
  }
  Answer destroy_cq(std::uint32_t cqn) {
    auto in = command<prm::destroy_cq_in>(Opcode::DESTROY_CQ);
    return driver_.run<prm::destroy_cq_out>(in.put<"cqn">(cqn));
  }
  Answer create_qp(std::uint32_t cqn, std::uint32_t queue, std::uint32_t record) {
    auto in = command<prm::create_qp_in>(Opcode::CREATE_QP);
    in.put<"qpc.pd">(driver_.alloc_pd())
        .put<"qpc.cqn_snd">(cqn)
        .put<"qpc.cqn_rcv">(cqn)
        .put<"qpc.uar_page">(eq_.uar())
        .put<"qpc.st">(prm::QpServiceType::RC)
        .put<"qpc.pm_state">(prm::QpPathMigration::MIGRATED)
        .put<"qpc.rq_type">(prm::QpRqType::ZERO_LEN_RQ)
        .set<"qpc.log_sq_size", 4>()
        .set<"qpc.dbr_umem_valid", 1>()
        .put<"qpc.dbr_umem_id">(record)
        .set<"qpc.dbr_addr", 64>()
        .set<"wq_umem_valid", 1>()
        .put<"wq_umem_id">(queue)
        .put<"wq_umem_offset">(2 * kPageBytes);
    return driver_.run<prm::create_qp_out>(in);
  }
  Answer create_rq(std::uint32_t cqn, std::uint32_t queue, std::uint32_t record) {
    auto in = command<prm::create_rq_in>(Opcode::CREATE_RQ);
    in.put<"ctx.cqn">(cqn).put<"ctx.wq.wq_type">(prm::WqType::CYCLIC);
    in.put<"ctx.wq.pd">(driver_.alloc_pd()).set<"ctx.wq.log_wq_stride", 4>();
    in.set<"ctx.wq.log_wq_sz", 4>().set<"ctx.wq.wq_umem_valid", 1>();
    in.put<"ctx.wq.wq_umem_id">(queue).put<"ctx.wq.wq_umem_offset">(3 * kPageBytes);
    in.set<"ctx.wq.dbr_umem_valid", 1>().put<"ctx.wq.dbr_umem_id">(record);
    in.put<"ctx.wq.dbr_addr">(128u);
    return driver_.run<prm::create_rq_out>(in);
  }
  Answer destroy_rq(std::uint32_t rqn) {
    auto in = command<prm::destroy_rq_in>(Opcode::DESTROY_RQ);
    return driver_.run<prm::destroy_rq_out>(in.put<"rqn">(rqn));
  }
  Answer create_sq(std::uint32_t cqn, std::uint32_t queue, std::uint32_t record) {
    auto in = command<prm::create_sq_in>(Opcode::CREATE_SQ);
    in.put<"ctx.cqn">(cqn).put<"ctx.wq.wq_type">(prm::WqType::CYCLIC);
    in.put<"ctx.wq.pd">(driver_.alloc_pd()).put<"ctx.wq.uar_page">(eq_.uar());
    in.set<"ctx.wq.log_wq_stride", 6>().set<"ctx.wq.log_wq_sz", 4>();
    in.set<"ctx.wq.wq_umem_valid", 1>().put<"ctx.wq.wq_umem_id">(queue);
    in.set<"ctx.wq.dbr_umem_valid", 1>().put<"ctx.wq.dbr_umem_id">(record);
    return driver_.run<prm::create_sq_out>(in);
  }
  Answer destroy_sq(std::uint32_t sqn) {
    auto in = command<prm::destroy_sq_in>(Opcode::DESTROY_SQ);
    return driver_.run<prm::destroy_sq_out>(in.put<"sqn">(sqn));
  }
  /// A key of `bytes` in the umem from `offset` on, in pages of 4 KiB.
  Answer create_key(std::uint32_t umem, std::uint64_t offset, std::uint32_t bytes) {
    const auto octowords = static_cast<std::uint32_t>((bytes / kPageBytes + 1) / 2);
    auto in = command<prm::create_mkey_in>(Opcode::CREATE_MKEY);
    in.set<"memory_key_mkey_entry.access_mode_1_0", prm::number(prm::MkcAccessMode::MTT)>()
        .set<"memory_key_mkey_entry.log_page_size", 12>()
        .set<"memory_key_mkey_entry.lw", 1>()
        .put<"memory_key_mkey_entry.pd">(driver_.alloc_pd())
        .put<"memory_key_mkey_entry.len">(bytes)
        .put<"memory_key_mkey_entry.translations_octword_size">(octowords)
        .put<"translations_octword_actual_size">(octowords)
        .set<"mkey_umem_valid", 1>()
        .put<"mkey_umem_id">(umem)
        .put<"mkey_umem_offset">(offset);
    return driver_.run<prm::create_mkey_out>(in);
  }
  Answer destroy_key(std::uint32_t index) {
    auto in = command<prm::destroy_mkey_in>(Opcode::DESTROY_MKEY);
    return driver_.run<prm::destroy_mkey_out>(in.put<"mkey_index">(index));
  }
  Answer destroy_qp(std::uint32_t qpn) {
    auto in = command<prm::destroy_qp_in>(Opcode::DESTROY_QP);
    return driver_.run<prm::destroy_qp_out>(in.put<"qpn">(qpn));
  }

  BroughtUp driver_;
  DmaBuffer memory_ = driver_.allocate(4 * kPageBytes);
  EventQueue eq_{driver_, {}};
};

TEST_F(UmemCommands, QueuesInUmems_HoldThemUntilTheyAreGone) {
  const std::uint32_t queue = umem();
  const std::uint32_t record = umem();
  const std::uint32_t cqn = create_cq(queue, record).as<prm::create_cq_out>().get<"cqn">();
  const Answer qp = create_qp(cqn, queue, record);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(destroy_umem(queue).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(destroy_qp(qp.as<prm::create_qp_out>().get<"qpn">()).ok());
  EXPECT_EQ(destroy_umem(record).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(destroy_cq(cqn).ok());
  EXPECT_TRUE(destroy_umem(queue).ok());
  EXPECT_TRUE(destroy_umem(record).ok());
  EXPECT_EQ(driver_.model().census().umems, 0U);
}

TEST_F(UmemCommands, QueuesInNoUmem_AreBadResources) {
  const std::uint32_t id = umem();
  EXPECT_EQ(create_cq(99, id).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_cq(id, 99).status, CommandStatus::BAD_RES_ERR);
  const std::uint32_t cqn = create_cq(id, id).as<prm::create_cq_out>().get<"cqn">();
  EXPECT_EQ(create_qp(cqn, 99, id).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_qp(cqn, id, 99).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(driver_.model().census().qps, 0U);
}

TEST_F(UmemCommands, QueuesOfFramesInUmems_HoldThemUntilTheyAreGone) {
  const std::uint32_t ring = umem();
  const std::uint32_t record = umem();
  const std::uint32_t id = umem();
  const std::uint32_t cqn = create_cq(id, id).as<prm::create_cq_out>().get<"cqn">();
  const Answer rq = create_rq(cqn, ring, record);
  const Answer sq = create_sq(cqn, ring, record);
  ASSERT_TRUE(rq.ok());
  ASSERT_TRUE(sq.ok());
  EXPECT_TRUE(destroy_rq(rq.as<prm::create_rq_out>().get<"rqn">()).ok());
  EXPECT_EQ(destroy_umem(ring).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ(destroy_umem(record).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(destroy_sq(sq.as<prm::create_sq_out>().get<"sqn">()).ok());
  EXPECT_TRUE(destroy_umem(ring).ok());
  EXPECT_TRUE(destroy_umem(record).ok());
}

TEST_F(UmemCommands, QueuesOfFramesInNoUmem_AreBadResourcesAndHoldNothing) {
  const std::uint32_t id = umem();
  const std::uint32_t own = umem();
  const std::uint32_t cqn = create_cq(own, own).as<prm::create_cq_out>().get<"cqn">();
  EXPECT_EQ(create_rq(cqn, 99, id).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_rq(cqn, id, 99).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_sq(cqn, 99, id).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_sq(cqn, id, 99).status, CommandStatus::BAD_RES_ERR);
  EXPECT_TRUE(destroy_umem(id).ok());
}

TEST_F(UmemCommands, RqThatNamesAUmemAndDoesNotSayValid_IsABadParameter) {
  const std::uint32_t id = umem();
  const std::uint32_t cqn = create_cq(id, id).as<prm::create_cq_out>().get<"cqn">();
  auto in = command<prm::create_rq_in>(Opcode::CREATE_RQ);
  in.put<"ctx.cqn">(cqn).put<"ctx.wq.wq_type">(prm::WqType::CYCLIC);
  in.set<"ctx.wq.log_wq_stride", 4>().put<"ctx.wq.wq_umem_id">(id);
  const std::array<Iova, 1> pages{memory_.iova()};
  EXPECT_EQ(driver_.run<prm::create_rq_out>(in, pages).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(UmemCommands, KeyInAUmem_HoldsItUntilItIsGone) {
  const std::uint32_t id = umem();
  const Answer key = create_key(id, kPageBytes, 3 * kPageBytes);
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(destroy_umem(id).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(destroy_key(key.as<prm::create_mkey_out>().get<"mkey_index">()).ok());
  EXPECT_TRUE(destroy_umem(id).ok());
}

TEST_F(UmemCommands, KeyOutsideItsUmem_IsABadParameterAndHoldsNothing) {
  const std::uint32_t id = umem();
  EXPECT_EQ(create_key(id, kPageBytes, 4 * kPageBytes).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_key(id, 64, kPageBytes).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_key(99, 0, kPageBytes).status, CommandStatus::BAD_RES_ERR);
  EXPECT_TRUE(destroy_umem(id).ok());
}

TEST_F(UmemCommands, KeyThatMayWriteInReadOnlyMemory_IsABadParameter) {
  const std::uint32_t id = create_umem(1).as<prm::create_umem_out>().get<"umem_id">();
  EXPECT_EQ(create_key(id, 0, kPageBytes).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(UmemCommands, CompletionQueueInReadOnlyMemory_IsABadParameter) {
  const Answer answer = create_umem(1);
  ASSERT_TRUE(answer.ok());
  const std::uint32_t id = answer.as<prm::create_umem_out>().get<"umem_id">();
  EXPECT_EQ(create_cq(id, id).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(UmemCommands, NameOfAUmemThatIsNotSaidToBeValid_IsABadParameter) {
  auto cq = command<prm::create_cq_in>(Opcode::CREATE_CQ);
  cq.set<"cq_umem_id", 1>()
      .put<"cq_context.uar_page">(eq_.uar())
      .put<"cq_context.c_eqn_or_apu_element">(eq_.eqn());
  EXPECT_EQ(driver_.run<prm::create_cq_out>(cq).status, CommandStatus::BAD_PARAM_ERR);
  auto qp = command<prm::create_qp_in>(Opcode::CREATE_QP);
  qp.set<"qpc.dbr_umem_id", 1>();
  EXPECT_EQ(driver_.run<prm::create_qp_out>(qp).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(UmemCommands, Teardown_LeavesNoUmem) {
  ASSERT_TRUE(create_umem().ok());
  auto in = command<prm::teardown_hca_in>(Opcode::TEARDOWN_HCA);
  in.put<"profile">(prm::TeardownProfile::GRACEFUL_CLOSE);
  ASSERT_TRUE(driver_.run<prm::teardown_hca_out>(in).ok());
  EXPECT_EQ(driver_.model().census().umems, 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
