// SPDX-License-Identifier: BSD-3-Clause
//
// UAR, PD, EQ, CQ, MKEY and QP by command: numbers, references, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "prm/doorbell.hpp"
#include "prm/interrupt_commands.hpp"
#include "prm/shared_receive_commands.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

class Objects : public ::testing::Test {
 protected:
  Objects() { driver_.bring_up(); }

  Answer dealloc_uar(std::uint32_t uar) {
    auto in = command<prm::dealloc_uar_in>(Opcode::DEALLOC_UAR);
    return driver_.run<prm::dealloc_uar_out>(in.put<"uar">(uar));
  }
  Answer dealloc_pd(std::uint32_t pd) {
    auto in = command<prm::dealloc_pd_in>(Opcode::DEALLOC_PD);
    return driver_.run<prm::dealloc_pd_out>(in.put<"pd">(pd));
  }
  Answer destroy_eq(std::uint32_t eqn) {
    auto in = command<prm::destroy_eq_in>(Opcode::DESTROY_EQ);
    return driver_.run<prm::destroy_eq_out>(in.put<"eq_number">(eqn));
  }
  Answer query_eq(std::uint32_t eqn) {
    auto in = command<prm::query_eq_in>(Opcode::QUERY_EQ);
    return driver_.run<prm::query_eq_out>(in.put<"eq_number">(eqn));
  }
  Answer destroy_cq(std::uint32_t cqn) {
    auto in = command<prm::destroy_cq_in>(Opcode::DESTROY_CQ);
    return driver_.run<prm::destroy_cq_out>(in.put<"cqn">(cqn));
  }
  Answer destroy_mkey(std::uint32_t index) {
    auto in = command<prm::destroy_mkey_in>(Opcode::DESTROY_MKEY);
    return driver_.run<prm::destroy_mkey_out>(in.put<"mkey_index">(index));
  }
  Answer destroy_qp(std::uint32_t qpn) {
    auto in = command<prm::destroy_qp_in>(Opcode::DESTROY_QP);
    return driver_.run<prm::destroy_qp_out>(in.put<"qpn">(qpn));
  }
  Answer to_error(std::uint32_t qpn) {
    auto in = command<prm::qp_2err_in>(Opcode::QP_2ERR);
    return driver_.run<prm::qp_2err_out>(in.put<"qpn">(qpn));
  }

  prm::Buffer<prm::create_cq_in> cq_command(std::uint32_t uar, std::uint32_t eqn) {
    auto in = command<prm::create_cq_in>(Opcode::CREATE_CQ);
    in.set<"cq_context.log_cq_size", 4>()
        .put<"cq_context.uar_page">(uar)
        .put<"cq_context.c_eqn_or_apu_element">(eqn)
        .put<"cq_context.dbr_addr">(memory_.iova());
    return in;
  }
  Answer create_cq(const prm::Buffer<prm::create_cq_in>& in) {
    const std::array<Iova, 1> pages{memory_.iova() + kPageBytes};
    return driver_.run<prm::create_cq_out>(in, pages);
  }
  std::uint32_t cq(const EventQueue& eq) {
    return create_cq(cq_command(eq.uar(), eq.eqn())).as<prm::create_cq_out>().get<"cqn">();
  }
  Answer create_mkey(std::uint32_t pd) {
    auto in = command<prm::create_mkey_in>(Opcode::CREATE_MKEY);
    in.put<"memory_key_mkey_entry.pd">(pd).set<"memory_key_mkey_entry.length64", 1>();
    return driver_.run<prm::create_mkey_out>(in);
  }
  prm::Buffer<prm::create_qp_in> qp_command(std::uint32_t pd, std::uint32_t cqn,
                                            std::uint32_t uar) {
    auto in = command<prm::create_qp_in>(Opcode::CREATE_QP);
    in.put<"qpc.pd">(pd)
        .put<"qpc.cqn_snd">(cqn)
        .put<"qpc.cqn_rcv">(cqn)
        .put<"qpc.uar_page">(uar)
        .put<"qpc.st">(prm::QpServiceType::RC)
        .put<"qpc.pm_state">(prm::QpPathMigration::MIGRATED)
        .put<"qpc.rq_type">(prm::QpRqType::ZERO_LEN_RQ)
        .set<"qpc.log_sq_size", 4>()
        .set<"qpc.log_msg_max", 20>()
        .put<"qpc.dbr_addr">(memory_.iova() + 64);
    return in;
  }
  Answer create_qp(const prm::Buffer<prm::create_qp_in>& in) {
    const std::array<Iova, 1> pages{memory_.iova() + 2 * kPageBytes};
    return driver_.run<prm::create_qp_out>(in, pages);
  }

  MiniDriver driver_;
  DmaBuffer memory_ = driver_.allocate(4 * kPageBytes);
};

/// The status of CREATE_MKEY for a key that asks so.
CommandStatus asked_for(const std::vector<std::string>& behaviours, bool writes, bool reads) {
  MiniDriver driver({.behaviours = behaviours});
  driver.bring_up();
  auto in = command<prm::create_mkey_in>(Opcode::CREATE_MKEY);
  in.put<"memory_key_mkey_entry.pd">(driver.alloc_pd());
  in.set<"memory_key_mkey_entry.length64", 1>();
  in.put<"memory_key_mkey_entry.relaxed_ordering_write">(writes ? 1U : 0U);
  in.put<"memory_key_mkey_entry.relaxed_ordering_read">(reads ? 1U : 0U);
  return driver.run<prm::create_mkey_out>(in).status;
}

TEST(RelaxedKeys, WhereTheCapabilitiesOfferNone_AreRefused) {
  EXPECT_EQ(asked_for({}, false, false), CommandStatus::OK);
  EXPECT_EQ(asked_for({}, true, false), CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(asked_for({}, false, true), CommandStatus::BAD_PARAM_ERR);
}

TEST(RelaxedKeys, WhereTheCapabilitiesOfferThem_AreTaken) {
  EXPECT_EQ(asked_for({"relaxed-ordering"}, true, true), CommandStatus::OK);
  EXPECT_EQ(asked_for({"relaxed-ordering", "strict-pci-ordering"}, true, true), CommandStatus::OK);
}

/// As reg_create of mlx5_ib/mr.c has it for memory that no large pages hold.
TEST_F(Objects, KeyOfAGigabyteInPagesOf4KiB_IsMade) {
  constexpr std::uint32_t kPages = 1 << 18;
  auto in = command<prm::create_mkey_in>(Opcode::CREATE_MKEY);
  in.put<"memory_key_mkey_entry.pd">(driver_.alloc_pd())
      .put<"memory_key_mkey_entry.access_mode_1_0">(prm::MkcAccessMode::MTT)
      .put<"memory_key_mkey_entry.len">(std::uint64_t{kPages} * kPageBytes)
      .set<"memory_key_mkey_entry.log_page_size", 12>()
      .set<"memory_key_mkey_entry.translations_octword_size", kPages / 2>()
      .set<"translations_octword_actual_size", kPages / 2>();
  const std::vector<Iova> pages(kPages, memory_.iova());
  EXPECT_EQ(driver_.run<prm::create_mkey_out>(in, pages).status, CommandStatus::OK);
}

TEST_F(Objects, QueryEq_SaysWhatWasAskedForAndHowFarItIs) {
  const EventQueue eq(driver_, {prm::EventType::COMP, prm::EventType::CMD});
  const Answer answer = query_eq(eq.eqn());
  ASSERT_TRUE(answer.ok());
  const auto out = answer.as<prm::query_eq_out>();
  EXPECT_EQ(out.get<"eq_context_entry.log_eq_size">(), EventQueue::kDefaultLogSize);
  EXPECT_EQ(out.get<"eq_context_entry.uar_page">(), eq.uar());
  EXPECT_EQ(out.get<"eq_context_entry.consumer_counter">(), 0u);
  EXPECT_EQ(out.get<"eq_context_entry.status">(), 0u);
  // Events 0 and 10: the low two bytes of the quadword.
  EXPECT_EQ(out.bytes<"event_bitmask">()[7], std::byte{0x01});
  EXPECT_EQ(out.bytes<"event_bitmask">()[6], std::byte{0x04});
}

TEST_F(Objects, QueryEqThatIsNone_Refused) {
  EXPECT_EQ(query_eq(200).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(Objects, DelayOfAnInterruptVector_IsReadBackPerVector) {
  constexpr auto kRead = prm::number(prm::IntModerationOpMod::READ);
  auto in = command<prm::config_int_moderation_in>(Opcode::CONFIG_INT_MODERATION);
  in.set<"int_vector", 3>().set<"min_delay", 10>();
  ASSERT_TRUE(driver_.run<prm::config_int_moderation_out>(in).ok());
  in.set<"op_mod", kRead>().set<"min_delay", 0>();
  const Answer told = driver_.run<prm::config_int_moderation_out>(in);
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told.as<prm::config_int_moderation_out>().get<"min_delay">(), 10U);
  EXPECT_EQ(told.as<prm::config_int_moderation_out>().get<"int_vector">(), 3U);
  in.set<"int_vector", 4>();
  const Answer other = driver_.run<prm::config_int_moderation_out>(in);
  EXPECT_EQ(other.as<prm::config_int_moderation_out>().get<"min_delay">(), 0U);
}

TEST_F(Objects, DelayOfNoInterruptVectorOrOfNoKind_IsABadParameter) {
  auto in = command<prm::config_int_moderation_in>(Opcode::CONFIG_INT_MODERATION);
  in.set<"int_vector", 0x1000>();
  EXPECT_EQ(driver_.run<prm::config_int_moderation_out>(in).status, CommandStatus::BAD_PARAM_ERR);
  in.set<"int_vector", 0>().set<"op_mod", 2>();
  EXPECT_EQ(driver_.run<prm::config_int_moderation_out>(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(Objects, Numbers_AreNotZeroAndNotTwice) {
  const std::uint32_t first = driver_.alloc_pd();
  const std::uint32_t second = driver_.alloc_pd();
  EXPECT_NE(first, 0U);
  EXPECT_NE(first, second);
  EXPECT_EQ(driver_.model().census().pds, 2U);
}

TEST_F(Objects, UarPages_LieBehindTheInitialisationSegmentAndInTheBar) {
  const std::size_t offset = std::size_t{driver_.alloc_uar()} * kPageBytes;
  EXPECT_GE(offset, prm::mlx5_init_seg::bytes);
  EXPECT_LT(offset, driver_.device().bar.size());
}

TEST_F(Objects, DestroyOfNothing_IsABadResource) {
  EXPECT_EQ(dealloc_uar(99).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(dealloc_pd(99).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(destroy_eq(63).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(destroy_cq(0xffffff).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(destroy_qp(0xffffff).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(to_error(0xffffff).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(Objects, DestroyMkeyWithIndexAllOnes_IsABadParameter) {
  EXPECT_EQ(destroy_mkey(0x00ffffff).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(Objects, DestroyTwice_IsRefusedTheSecondTime) {
  const std::uint32_t pd = driver_.alloc_pd();
  EXPECT_TRUE(dealloc_pd(pd).ok());
  EXPECT_EQ(dealloc_pd(pd).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(Objects, UidWithoutAContext_IsABadParameter) {
  auto in = command<prm::alloc_pd_in>(Opcode::ALLOC_PD);
  in.set<"uid", 1>();
  EXPECT_EQ(driver_.run<prm::alloc_pd_out>(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(Objects, PdWithAKey_IsInUse) {
  const std::uint32_t pd = driver_.alloc_pd();
  const Answer key = create_mkey(pd);
  EXPECT_EQ(dealloc_pd(pd).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(destroy_mkey(key.as<prm::create_mkey_out>().get<"mkey_index">()).ok());
  EXPECT_TRUE(dealloc_pd(pd).ok());
}

TEST_F(Objects, KeyOfNoPd_IsABadResource) {
  EXPECT_EQ(create_mkey(99).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(Objects, UarWithAnEventQueue_GoesAndItsNumberRestsUntilTheQueueIsGone) {
  const EventQueue eq(driver_, {});
  ASSERT_TRUE(dealloc_uar(eq.uar()).ok());
  EXPECT_EQ(driver_.model().census().uars, 0U);
  EXPECT_EQ(dealloc_uar(eq.uar()).status, CommandStatus::BAD_RES_ERR);
  const std::uint32_t other = driver_.alloc_uar();
  EXPECT_NE(other, eq.uar());
  EXPECT_TRUE(destroy_eq(eq.eqn()).ok());
  EXPECT_TRUE(dealloc_uar(other).ok());
}

TEST_F(Objects, EventQueueOfNoUar_IsABadResource) {
  const std::array<Iova, 1> pages{memory_.iova()};
  EXPECT_EQ(driver_.run<prm::create_eq_out>(create_eq_command(99, 4), pages).status,
            CommandStatus::BAD_RES_ERR);
}

TEST_F(Objects, EventQueueWithoutPages_IsAnInputLengthError) {
  EXPECT_EQ(driver_.run<prm::create_eq_out>(create_eq_command(driver_.alloc_uar(), 4)).status,
            CommandStatus::BAD_INP_LEN_ERR);
}

TEST_F(Objects, EventQueueWithACompletionQueue_IsInUse) {
  const EventQueue eq(driver_, {});
  const std::uint32_t cqn = cq(eq);
  EXPECT_EQ(destroy_eq(eq.eqn()).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(destroy_cq(cqn).ok());
  EXPECT_TRUE(destroy_eq(eq.eqn()).ok());
}

TEST_F(Objects, CompletionQueueOfNoUarOrNoEventQueue_IsABadResource) {
  const EventQueue eq(driver_, {});
  EXPECT_EQ(create_cq(cq_command(99, eq.eqn())).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_cq(cq_command(eq.uar(), 63)).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(Objects, CompletionQueueFeaturesThatAreNotOffered_AreBadParameters) {
  const EventQueue eq(driver_, {});
  auto for_apu = cq_command(eq.uar(), eq.eqn());
  for_apu.set<"cq_context.apu_cq", 1>();
  EXPECT_EQ(create_cq(for_apu).status, CommandStatus::BAD_PARAM_ERR);
  auto misaligned = cq_command(eq.uar(), eq.eqn());
  misaligned.put<"cq_context.dbr_addr">(memory_.iova() + 4);
  EXPECT_EQ(create_cq(misaligned).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(driver_.model().census().cqs, 0U);
}

TEST_F(Objects, CollapsedCompletionQueue_IsOffered) {
  const EventQueue eq(driver_, {});
  auto collapsed = cq_command(eq.uar(), eq.eqn());
  collapsed.set<"cq_context.cc", 1>();
  EXPECT_TRUE(create_cq(collapsed).ok());
}

TEST_F(Objects, QueuePair_HoldsItsPdAndItsQueue) {
  const EventQueue eq(driver_, {});
  const std::uint32_t cqn = cq(eq);
  const std::uint32_t pd = driver_.alloc_pd();
  const std::uint32_t uar = driver_.alloc_uar();
  const Answer qp = create_qp(qp_command(pd, cqn, uar));
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(dealloc_pd(pd).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ(destroy_cq(cqn).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(destroy_qp(qp.as<prm::create_qp_out>().get<"qpn">()).ok());
  EXPECT_TRUE(destroy_cq(cqn).ok());
  EXPECT_TRUE(dealloc_pd(pd).ok());
  EXPECT_TRUE(dealloc_uar(uar).ok());
}

TEST_F(Objects, QueuePairOfNothing_IsABadResource) {
  const EventQueue eq(driver_, {});
  const std::uint32_t cqn = cq(eq);
  const std::uint32_t pd = driver_.alloc_pd();
  EXPECT_EQ(create_qp(qp_command(99, cqn, eq.uar())).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_qp(qp_command(pd, 99, eq.uar())).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_qp(qp_command(pd, cqn, 99)).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(Objects, QueuePairWithoutItsPages_IsAnInputLengthError) {
  const EventQueue eq(driver_, {});
  const auto in = qp_command(driver_.alloc_pd(), cq(eq), eq.uar());
  EXPECT_EQ(driver_.run<prm::create_qp_out>(in).status, CommandStatus::BAD_INP_LEN_ERR);
}

TEST_F(Objects, QueuePairFeaturesThatAreNotOffered_AreBadParameters) {
  const EventQueue eq(driver_, {});
  auto number = qp_command(driver_.alloc_pd(), cq(eq), eq.uar());
  number.set<"input_qpn", 77>();
  EXPECT_EQ(create_qp(number).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(Objects, QueryMkey_GivesTheContextBack) {
  const std::uint32_t pd = driver_.alloc_pd();
  const Answer key = create_mkey(pd);
  auto in = command<prm::query_mkey_in>(Opcode::QUERY_MKEY);
  in.put<"mkey_index">(key.as<prm::create_mkey_out>().get<"mkey_index">());
  const Answer answer = driver_.run<prm::query_mkey_out>(in);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.as<prm::query_mkey_out>().get<"memory_key_mkey_entry.pd">(), pd);
}

TEST_F(Objects, SpecialContexts_NameTheReservedLkey) {
  const Answer answer = driver_.run<prm::query_special_contexts_out>(
      command<prm::query_special_contexts_in>(Opcode::QUERY_SPECIAL_CONTEXTS));
  ASSERT_TRUE(answer.ok());
  EXPECT_NE(answer.as<prm::query_special_contexts_out>().get<"resd_lkey">(), 0U);
  // That ends a list of segments.
  EXPECT_NE(answer.as<prm::query_special_contexts_out>().get<"resd_lkey">(), prm::kInvalidLkey);
}

TEST_F(Objects, XrcTarget_NeedsNoUarAndHoldsItsDomain) {
  const EventQueue eq(driver_, {prm::EventType::COMP});
  const std::uint32_t domain =
      driver_.run<prm::alloc_xrcd_out>(command<prm::alloc_xrcd_in>(Opcode::ALLOC_XRCD))
          .as<prm::alloc_xrcd_out>()
          .get<"xrcd">();
  auto in = qp_command(driver_.alloc_pd(), cq(eq), 0);
  in.put<"qpc.st">(prm::QpServiceType::XRC).set<"qpc.no_sq", 1>().put<"qpc.xrcd">(domain);
  const Answer created = driver_.run<prm::create_qp_out>(in);
  ASSERT_TRUE(created.ok());
  auto dealloc = command<prm::dealloc_xrcd_in>(Opcode::DEALLOC_XRCD);
  dealloc.put<"xrcd">(domain);
  EXPECT_EQ(driver_.run<prm::dealloc_xrcd_out>(dealloc).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(destroy_qp(created.as<prm::create_qp_out>().get<"qpn">()).ok());
  EXPECT_TRUE(driver_.run<prm::dealloc_xrcd_out>(dealloc).ok());
}

TEST_F(Objects, GroupOfAQueuePair_IsLeftOnceAndEndsWithIt) {
  const EventQueue eq(driver_, {prm::EventType::COMP});
  const Answer created = create_qp(qp_command(driver_.alloc_pd(), cq(eq), eq.uar()));
  ASSERT_TRUE(created.ok());
  const std::uint64_t qpn = created.as<prm::create_qp_out>().get<"qpn">();
  auto attach = command<prm::attach_to_mcg_in>(Opcode::ATTACH_TO_MCG);
  auto detach = command<prm::detach_from_mcg_in>(Opcode::DETACH_FROM_MCG);
  attach.bytes<"multicast_gid">()[0] = detach.bytes<"multicast_gid">()[0] = std::byte{0xff};
  attach.put<"qpn">(0xffffU);
  EXPECT_EQ(driver_.run<prm::attach_to_mcg_out>(attach).status, CommandStatus::BAD_RES_ERR);
  attach.put<"qpn">(static_cast<std::uint32_t>(qpn));
  detach.put<"qpn">(static_cast<std::uint32_t>(qpn));
  EXPECT_EQ(driver_.run<prm::detach_from_mcg_out>(detach).status, CommandStatus::BAD_RES_ERR);
  EXPECT_TRUE(driver_.run<prm::attach_to_mcg_out>(attach).ok());
  EXPECT_TRUE(driver_.run<prm::detach_from_mcg_out>(detach).ok());
  EXPECT_TRUE(driver_.run<prm::attach_to_mcg_out>(attach).ok());
  EXPECT_TRUE(destroy_qp(static_cast<std::uint32_t>(qpn)).ok());
  EXPECT_EQ(driver_.run<prm::detach_from_mcg_out>(detach).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(Objects, XrcPairOfNoDomain_IsABadResource) {
  const EventQueue eq(driver_, {prm::EventType::COMP});
  auto in = qp_command(driver_.alloc_pd(), cq(eq), driver_.alloc_uar());
  in.put<"qpc.st">(prm::QpServiceType::XRC).set<"qpc.xrcd", 77>();
  EXPECT_EQ(create_qp(in).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(Objects, PairThatSendsWithoutAUar_IsABadResource) {
  const EventQueue eq(driver_, {prm::EventType::COMP});
  EXPECT_EQ(create_qp(qp_command(driver_.alloc_pd(), cq(eq), 0)).status,
            CommandStatus::BAD_RES_ERR);
}

TEST_F(Objects, CommandEvent_NamesTheSlot) {
  EventQueue eq(driver_, {prm::EventType::CMD});
  static_cast<void>(eq.poll());
  const auto in = command<prm::alloc_pd_in>(Opcode::ALLOC_PD);
  const Posted posted = driver_.lay_out(9, in.all(), prm::alloc_pd_out::bytes);
  driver_.hand_over(posted);
  driver_.ring(9);
  ASSERT_TRUE(driver_.await(posted).ok());
  const auto event = eq.poll();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, prm::EventType::CMD);
  EXPECT_EQ(event->as<prm::cmd_inter_comp_event>().get<"command_completion_vector">(), 1U << 9);
}

TEST_F(Objects, EventQueueDoorbell_MakesRoom) {
  EventQueue eq(driver_, {prm::EventType::PAGE_REQUEST}, 2);
  for (int i = 0; i < 4; ++i) driver_.model().request_pages(-1);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(eq.poll().has_value());
  eq.ring();
  driver_.pass(1);
  driver_.model().request_pages(-1);
  EXPECT_TRUE(eq.poll().has_value());
  EXPECT_EQ(driver_.registers().get<"health.synd">(), 0U);
}

TEST_F(Objects, EventQueueWithoutItsDoorbell_Overruns) {
  EventQueue eq(driver_, {prm::EventType::PAGE_REQUEST}, 2);
  for (int i = 0; i < 5; ++i) driver_.model().request_pages(-1);
  EXPECT_EQ(driver_.registers().get<"health.synd">(),
            prm::number(prm::HealthSyndrome::ASYNCHRONOUS_EQ_BUF_OVERRUN));
}

TEST_F(Objects, NumberGivenBack_IsTheLastToBeGivenAgain) {
  const std::uint32_t first = driver_.alloc_pd();
  ASSERT_TRUE(dealloc_pd(first).ok());
  EXPECT_NE(driver_.alloc_pd(), first);
}

TEST_F(Objects, UarAllocatedAfresh_HasNoOldKick) {
  for (std::byte& b : driver_.device().bar.subspan(17 * kPageBytes, kPageBytes)) b = std::byte{1};
  std::uint32_t uar = 0;
  for (int i = 0; i < 2; ++i) uar = driver_.alloc_uar();
  ASSERT_EQ(uar, 17U);
  EXPECT_EQ(driver_.device().bar[prm::uar_offset(uar) + prm::kBfOffset], std::byte{0});
}

TEST(ReuseNumbers, NumberGivenBack_IsTheNextOne) {
  MiniDriver driver({.behaviours = {"reuse-numbers"}});
  driver.bring_up();
  const std::uint32_t first = driver.alloc_pd();
  const std::uint32_t second = driver.alloc_pd();
  auto in = command<prm::dealloc_pd_in>(Opcode::DEALLOC_PD);
  ASSERT_TRUE(driver.run<prm::dealloc_pd_out>(in.put<"pd">(first)).ok());
  EXPECT_EQ(driver.alloc_pd(), first);
  EXPECT_EQ(driver.alloc_pd(), second + 1);
}

}  // namespace
}  // namespace portcullis::model::testing
