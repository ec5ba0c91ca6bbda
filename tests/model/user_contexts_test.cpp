// SPDX-License-Identifier: BSD-3-Clause
//
// User contexts by command: what a process's commands may name (mlx5_ib/devx.c puts its uid into
// each of them), and what is everybody's.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "prm/ethernet_commands.hpp"
#include "prm/pacing_commands.hpp"
#include "prm/shared_receive_commands.hpp"
#include "prm/user_context_commands.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

constexpr std::uint32_t kKernel = 0;
constexpr std::uint32_t kNobody = 0x123;

/// The same in the name of a user context, where the command's own layout may have no uid.
template <class In>
prm::Buffer<In> by(std::uint32_t uid, prm::Buffer<In> in) {
  in.all()[2] = static_cast<std::byte>(uid >> 8);
  in.all()[3] = static_cast<std::byte>(uid);
  return in;
}

class UserContexts : public ::testing::Test {
 protected:
  UserContexts() { driver_.bring_up(); }

  Answer create_context(std::uint32_t capabilities = 0) {
    auto in = command<prm::create_uctx_in>(Opcode::CREATE_UCTX);
    return driver_.run<prm::create_uctx_out>(in.put<"uctx.cap">(capabilities));
  }
  std::uint32_t context() {
    return static_cast<std::uint32_t>(create_context().as<prm::create_uctx_out>().get<"uid">());
  }
  Answer destroy_context(std::uint32_t uid) {
    auto in = command<prm::destroy_uctx_in>(Opcode::DESTROY_UCTX);
    return driver_.run<prm::destroy_uctx_out>(in.put<"uid">(uid));
  }
  Answer alloc_pd(std::uint32_t uid) {
    return driver_.run<prm::alloc_pd_out>(by(uid, command<prm::alloc_pd_in>(Opcode::ALLOC_PD)));
  }
  std::uint32_t pd(std::uint32_t uid) { return alloc_pd(uid).as<prm::alloc_pd_out>().get<"pd">(); }
  Answer dealloc_pd(std::uint32_t uid, std::uint32_t number) {
    auto in = command<prm::dealloc_pd_in>(Opcode::DEALLOC_PD);
    return driver_.run<prm::dealloc_pd_out>(by(uid, in.put<"pd">(number)));
  }
  std::uint32_t uar(std::uint32_t uid) {
    return driver_.run<prm::alloc_uar_out>(by(uid, command<prm::alloc_uar_in>(Opcode::ALLOC_UAR)))
        .as<prm::alloc_uar_out>()
        .get<"uar">();
  }
  Answer create_key(std::uint32_t uid, std::uint32_t pd) {
    auto in = command<prm::create_mkey_in>(Opcode::CREATE_MKEY);
    in.put<"memory_key_mkey_entry.pd">(pd).set<"memory_key_mkey_entry.length64", 1>();
    return driver_.run<prm::create_mkey_out>(by(uid, in));
  }
  std::uint32_t key(std::uint32_t uid, std::uint32_t pd) {
    return create_key(uid, pd).as<prm::create_mkey_out>().get<"mkey_index">();
  }
  Answer destroy_key(std::uint32_t uid, std::uint32_t index) {
    auto in = command<prm::destroy_mkey_in>(Opcode::DESTROY_MKEY);
    return driver_.run<prm::destroy_mkey_out>(by(uid, in.put<"mkey_index">(index)));
  }
  Answer query_key(std::uint32_t uid, std::uint32_t index) {
    auto in = command<prm::query_mkey_in>(Opcode::QUERY_MKEY);
    return driver_.run<prm::query_mkey_out>(by(uid, in.put<"mkey_index">(index)));
  }
  Answer create_umem(std::uint32_t uid) {
    auto in = command<prm::create_umem_in>(Opcode::CREATE_UMEM);
    in.set<"umem.num_of_mtt", 4>();
    std::vector<Iova> mtt;
    for (std::size_t page = 0; page < 4; ++page)
      mtt.push_back((memory_.iova() + page * kPageBytes) | 3);
    return driver_.run<prm::create_umem_out>(by(uid, in), mtt);
  }
  std::uint32_t umem(std::uint32_t uid) {
    return create_umem(uid).as<prm::create_umem_out>().get<"umem_id">();
  }
  /// create_map_eq of mlx5/core/eq.c: one for completions is everybody's.
  std::uint32_t event_queue(std::uint32_t uid) {
    const auto in = create_eq_command(driver_.alloc_uar(), EventQueue::kDefaultLogSize);
    const std::array<Iova, 1> pages{eq_memory_.iova()};
    return driver_.run<prm::create_eq_out>(by(uid, in), pages)
        .as<prm::create_eq_out>()
        .get<"eq_number">();
  }
  struct Parts {
    std::uint32_t uar = 0, eqn = 0, umem = 0;
  };
  Parts parts(std::uint32_t uid) {
    return {uar(uid), event_queue(prm::kSharedResourceUid), umem(uid)};
  }
  Answer create_cq(std::uint32_t uid, const Parts& parts) {
    auto in = command<prm::create_cq_in>(Opcode::CREATE_CQ);
    in.set<"cq_context.log_cq_size", 4>()
        .put<"cq_context.uar_page">(parts.uar)
        .put<"cq_context.c_eqn_or_apu_element">(parts.eqn)
        .set<"cq_context.dbr_umem_valid", 1>()
        .put<"cq_context.dbr_umem_id">(parts.umem)
        .set<"cq_umem_valid", 1>()
        .put<"cq_umem_id">(parts.umem)
        .put<"cq_umem_offset">(kPageBytes);
    return driver_.run<prm::create_cq_out>(by(uid, in));
  }
  /// As Linux makes one for a process: with an XRC domain and a shared receive queue of its own,
  /// which mean nothing here.
  Answer create_qp(std::uint32_t uid, const Parts& parts, std::uint32_t pd, std::uint32_t cqn) {
    auto in = command<prm::create_qp_in>(Opcode::CREATE_QP);
    in.put<"qpc.pd">(pd)
        .put<"qpc.cqn_snd">(cqn)
        .put<"qpc.cqn_rcv">(cqn)
        .put<"qpc.uar_page">(parts.uar)
        .put<"qpc.st">(prm::QpServiceType::RC)
        .put<"qpc.pm_state">(prm::QpPathMigration::MIGRATED)
        .put<"qpc.rq_type">(prm::QpRqType::ZERO_LEN_RQ)
        .set<"qpc.log_sq_size", 4>()
        .set<"qpc.xrcd", 7>()
        .set<"qpc.srqn_rmpn_xrqn", 7>()
        .set<"qpc.dbr_umem_valid", 1>()
        .put<"qpc.dbr_umem_id">(parts.umem)
        .set<"qpc.dbr_addr", 64>()
        .set<"wq_umem_valid", 1>()
        .put<"wq_umem_id">(parts.umem)
        .put<"wq_umem_offset">(2 * kPageBytes);
    return driver_.run<prm::create_qp_out>(by(uid, in));
  }
  /// As UCX makes one (rc_mlx5_devx.c).
  Answer create_pool(std::uint32_t uid, std::uint32_t pd, std::uint32_t queue_umem,
                     std::uint32_t record_umem) {
    auto in = command<prm::create_rmp_in>(Opcode::CREATE_RMP);
    in.put<"ctx.state">(prm::RmpState::RDY).put<"ctx.wq.pd">(pd);
    in.put<"ctx.wq.wq_type">(prm::WqType::CYCLIC);
    in.set<"ctx.wq.log_wq_stride", 5>().set<"ctx.wq.log_wq_sz", 4>();
    in.set<"ctx.wq.wq_umem_valid", 1>().put<"ctx.wq.wq_umem_id">(queue_umem);
    in.set<"ctx.wq.dbr_umem_valid", 1>().put<"ctx.wq.dbr_umem_id">(record_umem);
    in.put<"ctx.wq.dbr_addr">(kPageBytes);
    return driver_.run<prm::create_rmp_out>(by(uid, in));
  }
  Answer to_error(std::uint32_t uid, std::uint32_t qpn) {
    auto in = command<prm::qp_2err_in>(Opcode::QP_2ERR);
    return driver_.run<prm::qp_2err_out>(by(uid, in.put<"qpn">(qpn)));
  }
  Answer destroy_qp(std::uint32_t uid, std::uint32_t qpn) {
    auto in = command<prm::destroy_qp_in>(Opcode::DESTROY_QP);
    return driver_.run<prm::destroy_qp_out>(by(uid, in.put<"qpn">(qpn)));
  }
  Answer destroy_cq(std::uint32_t uid, std::uint32_t cqn) {
    auto in = command<prm::destroy_cq_in>(Opcode::DESTROY_CQ);
    return driver_.run<prm::destroy_cq_out>(by(uid, in.put<"cqn">(cqn)));
  }
  Answer set_rate(std::uint32_t uid, std::uint32_t index, std::uint32_t kbps) {
    auto in = command<prm::set_pp_rate_limit_in>(Opcode::SET_PP_RATE_LIMIT);
    in.put<"rate_limit_index">(index).put<"ctx.rate_limit">(kbps);
    return driver_.run<prm::set_pp_rate_limit_out>(by(uid, in));
  }
  /// A send queue of nothing else that there is: past the rate it is refused for its PD.
  Answer create_sq(std::uint32_t uid, std::uint32_t rate_index) {
    auto in = command<prm::create_sq_in>(Opcode::CREATE_SQ);
    in.put<"ctx.packet_pacing_rate_limit_index">(rate_index);
    return driver_.run<prm::create_sq_out>(by(uid, in));
  }

  MiniDriver driver_{Options{.behaviours = {"eth-offloads"}}};
  DmaBuffer memory_ = driver_.allocate(4 * kPageBytes);
  DmaBuffer eq_memory_ = driver_.allocate(kPageBytes);
};

TEST_F(UserContexts, Capability_OffersThem) {
  auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  const Answer answer = driver_.run<prm::query_hca_cap_out>(in);
  const auto page = prm::ConstView<prm::cmd_hca_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  EXPECT_NE(page.get<"log_max_uctx">(), 0U);
  EXPECT_EQ(page.get<"uctx_cap">(), 0U);
}

TEST_F(UserContexts, EachHasANumberOfItsOwnThatIsNotTheSharedOne) {
  const std::uint32_t first = context();
  const std::uint32_t second = context();
  EXPECT_NE(first, kKernel);
  EXPECT_NE(first, second);
  EXPECT_LT(second, prm::kSharedResourceUid);
  EXPECT_EQ(driver_.model().census().uctxs, 2U);
  EXPECT_TRUE(destroy_context(first).ok());
  EXPECT_EQ(driver_.model().census().uctxs, 1U);
}

TEST_F(UserContexts, CapabilityThatIsNotOffered_IsABadParameter) {
  EXPECT_EQ(create_context(prm::kUctxCapRawTx).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_context(prm::kUctxCapInternalDevRes).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(driver_.model().census().uctxs, 0U);
}

TEST_F(UserContexts, DestroyOfNone_IsABadResource) {
  EXPECT_EQ(destroy_context(kNobody).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(destroy_context(kKernel).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(destroy_context(prm::kSharedResourceUid).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(UserContexts, CommandOfNone_IsABadParameterAndDoesNothing) {
  EXPECT_EQ(alloc_pd(kNobody).status, CommandStatus::BAD_PARAM_ERR);
  const std::uint32_t gone = context();
  ASSERT_TRUE(destroy_context(gone).ok());
  EXPECT_EQ(alloc_pd(gone).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(driver_.model().census().pds, 0U);
}

TEST_F(UserContexts, CommandWhoseLayoutHasNoUid_MayHaveOne) {
  const auto query = command<prm::query_issi_in>(Opcode::QUERY_ISSI);
  EXPECT_TRUE(driver_.run<prm::query_issi_out>(by(context(), query)).ok());
  EXPECT_EQ(driver_.run<prm::query_issi_out>(by(kNobody, query)).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(UserContexts, ContextWithAnObject_IsInUseUntilThatIsGone) {
  const std::uint32_t uid = context();
  const std::uint32_t number = pd(uid);
  EXPECT_EQ(destroy_context(uid).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(dealloc_pd(uid, number).ok());
  EXPECT_TRUE(destroy_context(uid).ok());
}

TEST_F(UserContexts, ObjectOfAnother_IsNotThere) {
  const std::uint32_t owner = context();
  const std::uint32_t other = context();
  const std::uint32_t domain = pd(owner);
  const std::uint32_t index = key(owner, domain);
  EXPECT_EQ(dealloc_pd(other, domain).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_key(other, domain).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(query_key(other, index).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(destroy_key(other, index).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(query_key(owner, index).ok());
  EXPECT_TRUE(destroy_key(owner, index).ok());
  EXPECT_TRUE(dealloc_pd(owner, domain).ok());
}

TEST_F(UserContexts, ObjectOfTheKernel_IsNotThere) {
  EXPECT_EQ(create_key(context(), pd(kKernel)).status, CommandStatus::BAD_RES_ERR);
}

/// As a recording of Linux 5.10 has it: ALLOC_UAR without a uid, CREATE_CQ on that UAR with one.
TEST_F(UserContexts, UarOfTheKernel_HasQueuesOfAnyContext) {
  const std::uint32_t uid = context();
  Parts own = parts(uid);
  own.uar = uar(kKernel);
  const Answer cq = create_cq(uid, own);
  ASSERT_TRUE(cq.ok());
  const std::uint32_t cqn = cq.as<prm::create_cq_out>().get<"cqn">();
  EXPECT_TRUE(create_qp(uid, own, pd(uid), cqn).ok());
  own.uar = uar(context());
  EXPECT_EQ(create_cq(uid, own).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(UserContexts, UarThatIsNotThere_HasNone) {
  const std::uint32_t uid = context();
  Parts own = parts(uid);
  own.uar += 0x100;
  EXPECT_EQ(create_cq(uid, own).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(UserContexts, Kernel_UsesEveryonesObjects) {
  const std::uint32_t uid = context();
  const std::uint32_t domain = pd(uid);
  // mlx5_ib makes and destroys the keys of verbs in its own name, in the process's PD.
  const std::uint32_t index = key(kKernel, domain);
  EXPECT_EQ(destroy_key(uid, index).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(destroy_key(kKernel, index).ok());
  EXPECT_TRUE(dealloc_pd(kKernel, domain).ok());
  EXPECT_TRUE(destroy_context(uid).ok());
}

TEST_F(UserContexts, WhatTheKernelTookBack_HoldsTheContextNoMore) {
  const std::uint32_t owner = context();
  const std::uint32_t domain = pd(owner);
  const std::uint32_t index = key(owner, domain);
  ASSERT_TRUE(destroy_key(kKernel, index).ok());
  ASSERT_TRUE(dealloc_pd(kKernel, domain).ok());
  EXPECT_TRUE(destroy_context(owner).ok());
}

TEST_F(UserContexts, QueuesOfOneContext_LieInItsUmemsAndNotInAnothers) {
  const std::uint32_t uid = context();
  const std::uint32_t other = context();
  const Parts own = parts(uid);
  Parts foreign = own;
  foreign.umem = umem(other);
  EXPECT_EQ(create_cq(uid, foreign).status, CommandStatus::BAD_RES_ERR);
  const Answer cq = create_cq(uid, own);
  ASSERT_TRUE(cq.ok());
  const std::uint32_t cqn = cq.as<prm::create_cq_out>().get<"cqn">();
  const std::uint32_t domain = pd(uid);
  EXPECT_EQ(create_qp(uid, foreign, domain, cqn).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_qp(uid, own, pd(other), cqn).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_qp(other, own, pd(other), cqn).status, CommandStatus::BAD_RES_ERR);
  EXPECT_TRUE(create_qp(uid, own, domain, cqn).ok());
}

TEST_F(UserContexts, PoolOfOneContext_LiesInItsUmemsAndNotInAnothers) {
  const std::uint32_t uid = context();
  const std::uint32_t own = umem(uid);
  const std::uint32_t foreign = umem(context());
  const std::uint32_t domain = pd(uid);
  EXPECT_EQ(create_pool(uid, domain, foreign, own).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_pool(uid, domain, own, foreign).status, CommandStatus::BAD_RES_ERR);
  EXPECT_TRUE(create_pool(uid, domain, own, own).ok());
}

TEST_F(UserContexts, QueuePair_TakesOrdersFromItsContextAndTheKernel) {
  const std::uint32_t uid = context();
  const std::uint32_t other = context();
  const Parts own = parts(uid);
  const std::uint32_t cqn = create_cq(uid, own).as<prm::create_cq_out>().get<"cqn">();
  const std::uint32_t qpn = create_qp(uid, own, pd(uid), cqn).as<prm::create_qp_out>().get<"qpn">();
  EXPECT_EQ(to_error(other, qpn).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(destroy_qp(other, qpn).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(destroy_cq(other, cqn).status, CommandStatus::BAD_RES_ERR);
  EXPECT_TRUE(to_error(uid, qpn).ok());
  EXPECT_TRUE(to_error(kKernel, qpn).ok());
  EXPECT_TRUE(destroy_qp(uid, qpn).ok());
  EXPECT_TRUE(destroy_cq(uid, cqn).ok());
}

TEST_F(UserContexts, CompletionQueueOnAnEventQueueThatIsNotShared_IsRefused) {
  const std::uint32_t uid = context();
  Parts own = parts(uid);
  own.eqn = event_queue(kKernel);
  EXPECT_EQ(create_cq(uid, own).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(UserContexts, SharedObject_HoldsNoContext) {
  const std::uint32_t uid = context();
  event_queue(prm::kSharedResourceUid);
  EXPECT_TRUE(destroy_context(uid).ok());
}

/// As mlx5_ib's packet pacing objects: an entry of their own (a dedicated index), or a shared one.
TEST_F(UserContexts, RateOfAnother_IsNotThere) {
  const std::uint32_t uid = context();
  ASSERT_TRUE(set_rate(context(), 2, 100).ok());
  EXPECT_NE(create_sq(uid, 2).syndrome, create_sq(uid, 0).syndrome);
}

TEST_F(UserContexts, RateOfItsOwnAndASharedOne_AreThere) {
  const std::uint32_t uid = context();
  ASSERT_TRUE(set_rate(uid, 1, 100).ok());
  ASSERT_TRUE(set_rate(prm::kSharedResourceUid, 3, 100).ok());
  EXPECT_EQ(create_sq(uid, 1).syndrome, create_sq(uid, 0).syndrome);
  EXPECT_EQ(create_sq(uid, 3).syndrome, create_sq(uid, 0).syndrome);
}

TEST_F(UserContexts, ContextWithARate_IsDestroyedOnceTheRateIsFreed) {
  const std::uint32_t uid = context();
  ASSERT_TRUE(set_rate(uid, 1, 100).ok());
  EXPECT_EQ(destroy_context(uid).status, CommandStatus::BAD_RES_STATE_ERR);
  ASSERT_TRUE(set_rate(uid, 1, 0).ok());
  EXPECT_TRUE(destroy_context(uid).ok());
}

TEST_F(UserContexts, Teardown_LeavesNone) {
  const std::uint32_t uid = context();
  ASSERT_NE(pd(uid), 0U);
  auto in = command<prm::teardown_hca_in>(Opcode::TEARDOWN_HCA);
  in.put<"profile">(prm::TeardownProfile::GRACEFUL_CLOSE);
  ASSERT_TRUE(driver_.run<prm::teardown_hca_out>(in).ok());
  EXPECT_EQ(driver_.model().census().uctxs, 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
