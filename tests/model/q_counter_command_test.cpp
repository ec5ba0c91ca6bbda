// SPDX-License-Identifier: BSD-3-Clause
//
// Q counters by command: sets, who may name one, and what a query says.
#include <gtest/gtest.h>

#include "base/cells.hpp"
#include "prm/counter_commands.hpp"
#include "prm/doorbell.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

class QCounterCommands : public ::testing::Test {
 protected:
  QCounterCommands() { driver_.bring_up(); }

  Answer allocate() {
    return driver_.run<prm::alloc_q_counter_out>(
        command<prm::alloc_q_counter_in>(Opcode::ALLOC_Q_COUNTER));
  }
  std::uint32_t set() { return allocate().as<prm::alloc_q_counter_out>().get<"counter_set_id">(); }
  Answer deallocate(std::uint32_t set) {
    auto in = command<prm::dealloc_q_counter_in>(Opcode::DEALLOC_Q_COUNTER);
    return driver_.run<prm::dealloc_q_counter_out>(in.put<"counter_set_id">(set));
  }
  Answer query(std::uint32_t set, bool clear = false) {
    auto in = command<prm::query_q_counter_in>(Opcode::QUERY_Q_COUNTER);
    return driver_.run<prm::query_q_counter_out>(
        in.put<"counter_set_id">(set).put<"clear">(std::uint8_t{clear}));
  }
  /// A queue pair in INIT whose set of counters is `set`, or why there is none.
  CommandStatus queue_pair_with(std::uint32_t set) {
    const EventQueue eq(driver_, {prm::EventType::COMP});
    auto cq = command<prm::create_cq_in>(Opcode::CREATE_CQ);
    cq.set<"cq_context.log_cq_size", 4>()
        .put<"cq_context.uar_page">(eq.uar())
        .put<"cq_context.c_eqn_or_apu_element">(eq.eqn())
        .put<"cq_context.dbr_addr">(memory_.iova());
    const std::array<Iova, 1> cq_pages{memory_.iova() + kPageBytes};
    const auto cqn =
        driver_.run<prm::create_cq_out>(cq, cq_pages).as<prm::create_cq_out>().get<"cqn">();
    auto qp = command<prm::create_qp_in>(Opcode::CREATE_QP);
    qp.put<"qpc.pd">(driver_.alloc_pd())
        .put<"qpc.cqn_snd">(cqn)
        .put<"qpc.cqn_rcv">(cqn)
        .put<"qpc.uar_page">(eq.uar())
        .put<"qpc.pm_state">(prm::QpPathMigration::MIGRATED)
        .put<"qpc.rq_type">(prm::QpRqType::NON_ZERO_RQ)
        .set<"qpc.log_rq_size", 2>()
        .set<"qpc.log_sq_size", 4>()
        .put<"qpc.dbr_addr">(memory_.iova() + kRecordAt);
    const std::array<Iova, 1> pages{memory_.iova() + 2 * kPageBytes};
    qpn_ = driver_.run<prm::create_qp_out>(qp, pages).as<prm::create_qp_out>().get<"qpn">();
    auto init = command<prm::rst2init_qp_in>(Opcode::RST2INIT_QP);
    init.put<"qpn">(qpn_)
        .put<"qpc.counter_set_id">(set)
        .set<"qpc.primary_address_path.vhca_port_num", 1>();
    return driver_.run<prm::rst2init_qp_out>(init).status;
  }
  void destroy_queue_pair() {
    auto in = command<prm::destroy_qp_in>(Opcode::DESTROY_QP);
    ASSERT_TRUE(driver_.run<prm::destroy_qp_out>(in.put<"qpn">(qpn_)).ok());
  }

  static constexpr std::size_t kRecordAt = 64;

  MiniDriver driver_;
  DmaBuffer memory_ = driver_.allocate(4 * kPageBytes);
  std::uint32_t qpn_ = 0;
};

TEST_F(QCounterCommands, Sets_AreNotZeroAndNotTwice) {
  const std::uint32_t first = set();
  EXPECT_NE(first, 0U);
  EXPECT_NE(set(), first);
  EXPECT_EQ(driver_.model().census().q_counters, 2U);
}

TEST_F(QCounterCommands, AsManyAsTheCapabilitySays_AndNoMore) {
  for (int i = 0; i < 255; ++i) ASSERT_TRUE(allocate().ok());
  EXPECT_EQ(allocate().status, CommandStatus::NO_RES_ERR);
}

TEST_F(QCounterCommands, FreshSet_HasCountedNothing) {
  const Answer answer = query(set());
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.as<prm::query_q_counter_out>().get<"rx_write_requests">(), 0U);
}

TEST_F(QCounterCommands, SetThatIsNone_Refused) {
  EXPECT_EQ(query(0).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(query(7).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(deallocate(0).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(deallocate(7).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(QCounterCommands, SetGivenBack_IsGone) {
  const std::uint32_t given = set();
  ASSERT_TRUE(deallocate(given).ok());
  EXPECT_EQ(query(given).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(driver_.model().census().q_counters, 0U);
}

TEST_F(QCounterCommands, QueuePairNamesASetThatIsNone_Refused) {
  EXPECT_EQ(queue_pair_with(9), CommandStatus::BAD_RES_ERR);
}

TEST_F(QCounterCommands, QueuePairWithoutASet_IsTaken) {
  EXPECT_EQ(queue_pair_with(0), CommandStatus::OK);
}

TEST_F(QCounterCommands, SetInUse_StaysUntilItsQueuePairIsGone) {
  const std::uint32_t used = set();
  ASSERT_EQ(queue_pair_with(used), CommandStatus::OK);
  EXPECT_EQ(deallocate(used).status, CommandStatus::BAD_RES_STATE_ERR);
  destroy_queue_pair();
  EXPECT_TRUE(deallocate(used).ok());
}

TEST_F(QCounterCommands, FlushedReceive_IsCountedAndClearForgetsIt) {
  const std::uint32_t used = set();
  ASSERT_EQ(queue_pair_with(used), CommandStatus::OK);
  cells::store_release<std::uint32_t>(
      memory_.bytes().data() + kRecordAt + prm::record_byte(prm::kRcvDbr), cells::be32(1));
  auto to_error = command<prm::qp_2err_in>(Opcode::QP_2ERR);
  ASSERT_TRUE(driver_.run<prm::qp_2err_out>(to_error.put<"qpn">(qpn_)).ok());
  const Answer before = query(used, true);
  EXPECT_EQ(before.as<prm::query_q_counter_out>().get<"resp_cqe_flush_error">(), 1U);
  EXPECT_EQ(before.as<prm::query_q_counter_out>().get<"resp_cqe_error">(), 1U);
  const Answer after = query(used);
  EXPECT_EQ(after.as<prm::query_q_counter_out>().get<"resp_cqe_flush_error">(), 0U);
}

// ---- transitions that only a command can show ----

TEST_F(QCounterCommands, TransitionsOutOfPlace_AreBadState) {
  ASSERT_EQ(queue_pair_with(0), CommandStatus::OK);
  auto drain = command<prm::sqd2rts_qp_in>(Opcode::RTS2SQD_QP);
  EXPECT_EQ(driver_.run<prm::sqd2rts_qp_out>(drain.put<"qpn">(qpn_)).status,
            CommandStatus::BAD_QP_STATE_ERR);
  auto out_of_sqd = command<prm::sqd2rts_qp_in>(Opcode::SQD_RTS_QP);
  EXPECT_EQ(driver_.run<prm::sqd2rts_qp_out>(out_of_sqd.put<"qpn">(qpn_)).status,
            CommandStatus::BAD_QP_STATE_ERR);
  auto out_of_sqer = command<prm::sqerr2rts_qp_in>(Opcode::SQERR2RTS_QP);
  EXPECT_EQ(driver_.run<prm::sqerr2rts_qp_out>(out_of_sqer.put<"qpn">(qpn_)).status,
            CommandStatus::BAD_QP_STATE_ERR);
}

TEST_F(QCounterCommands, Init2Init_TakesTheRightsItNames) {
  ASSERT_EQ(queue_pair_with(0), CommandStatus::OK);
  auto in = command<prm::init2init_qp_in>(Opcode::INIT2INIT_QP);
  in.put<"qpn">(qpn_).put<"opt_param_mask">(prm::number(prm::QpOptPar::RWE)).set<"qpc.rwe", 1>();
  EXPECT_TRUE(driver_.run<prm::init2init_qp_out>(in).ok());
}

TEST_F(QCounterCommands, Rts2Rts_TakesTheUdpPortThatItsSecondMaskNames) {
  ASSERT_EQ(queue_pair_with(0), CommandStatus::OK);
  auto to_rtr = command<prm::init2rtr_qp_in>(Opcode::INIT2RTR_QP);
  // Loopback needs no address.
  to_rtr.put<"qpn">(qpn_).put<"qpc.mtu">(prm::QpcMtu::MTU_1024);
  to_rtr.set<"qpc.primary_address_path.fl", 1>();
  ASSERT_TRUE(driver_.run<prm::init2rtr_qp_out>(to_rtr).ok());
  auto to_rts = command<prm::rtr2rts_qp_in>(Opcode::RTR2RTS_QP);
  ASSERT_TRUE(driver_.run<prm::rtr2rts_qp_out>(to_rts.put<"qpn">(qpn_)).ok());
  auto in = command<prm::rts2rts_qp_in>(Opcode::RTS2RTS_QP);
  in.put<"qpn">(qpn_).put<"opt_param_mask_95_32">(prm::kOptPar32UdpSport);
  in.set<"qpc.primary_address_path.udp_sport", 55555>();
  ASSERT_TRUE(driver_.run<prm::rts2rts_qp_out>(in).ok());
  auto query = command<prm::query_qp_in>(Opcode::QUERY_QP);
  EXPECT_EQ(driver_.run<prm::query_qp_out>(query.put<"qpn">(qpn_))
                .as<prm::query_qp_out>()
                .get<"qpc.primary_address_path.udp_sport">(),
            55555U);
}

}  // namespace
}  // namespace portcullis::model::testing
