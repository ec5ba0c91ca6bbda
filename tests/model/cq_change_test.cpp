// SPDX-License-Identifier: BSD-3-Clause
//
// A completion queue that changes while it is in use: its buffer is replaced, its events are
// moderated.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/cells.hpp"
#include "model/cq.hpp"
#include "prm/doorbell.hpp"
#include "prm/enums.hpp"
#include "prm/eqe.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

constexpr std::uint32_t kUar = 17;
constexpr std::uint32_t kLogSize = 3;
constexpr std::uint32_t kEntries = 1 << kLogSize;
constexpr std::uint32_t kLogLarger = 5;
constexpr std::uint32_t kLarger = 1 << kLogLarger;
constexpr std::uint32_t kLogLeast = 1;
constexpr std::uint64_t kNsPerUs = 1000;
constexpr std::uint32_t kPeriodUs = 10;

struct alignas(4096) Memory {
  std::array<std::byte, 8192> events{};
  std::array<std::byte, 4096> old_buffer{};
  std::array<std::byte, 4096> new_buffer{};
  std::array<std::byte, 4096> record{};
};

using Cqe = prm::ConstView<prm::mlx5_cqe64>;

class CqChange : public ::testing::Test {
 protected:
  CqChange() {
    dma_.set_bus_master(true);
    for (std::size_t i = 0; i < 64; ++i) {
      memory_->old_buffer[i * 64 + 63] = std::byte{prm::kCqeNeverWritten};
      memory_->new_buffer[i * 64 + 63] = std::byte{prm::kCqeNeverWritten};
      memory_->events[i * 64 + 63] = std::byte{1};
    }
    iova_ = iommu_.map(std::as_writable_bytes(std::span(memory_.get(), 1))).value();
    prm::Buffer<prm::eqc> eq;
    eq.set<"log_eq_size", 7>().set<"uar_page", kUar>();
    const std::array<std::byte, 32> mask{};
    std::uint32_t eqn = 0;
    static_cast<void>(
        eqs_.create(prm::ConstView<prm::eqc>{eq.all()}, mask, {iova_, iova_ + 4096}, eqn));
    context_.set<"log_cq_size", kLogSize>().set<"uar_page", kUar>();
    context_.put<"c_eqn_or_apu_element">(eqn).put<"dbr_addr">(iova_ + offsetof(Memory, record));
    create();
  }
  void create() {
    static_cast<void>(cqs_.create(prm::ConstView<prm::cqc>{context_.all()},
                                  {iova_ + offsetof(Memory, old_buffer)}, cqn_));
  }
  /// As Linux arms and moderates it: the first period begins with the first event.
  void arm(std::uint32_t sequence, std::uint32_t consumer) {
    write_record(prm::kCqArmDb, prm::cq_arm_record(sequence, prm::kCqDbReqNot, consumer));
    cqs_.kick(kUar);
  }
  void write_record(std::size_t dword, std::uint32_t value) {
    cells::store_release<std::uint32_t>(memory_->record.data() + prm::record_byte(dword),
                                        cells::be32(value));
  }
  bool complete() {
    Completion completion;
    completion.wqe_counter = next_++;
    return cqs_.complete(cqn_, completion, 0);
  }
  void complete(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) EXPECT_TRUE(complete());
  }
  Verdict resize(std::uint32_t log_size, std::uint32_t cqe_size = 0) {
    prm::Buffer<prm::cqc> context;
    context.put<"log_cq_size">(log_size).put<"cqe_sz">(cqe_size);
    const prm::ConstView<prm::cqc> view(context.all());
    QueuePages pages;
    const Verdict verdict = CqTable::lay_out(view, {iova_ + offsetof(Memory, new_buffer)}, pages);
    return verdict.ok() ? cqs_.resize(cqn_, view, std::move(pages)) : verdict;
  }
  Verdict moderate(std::uint32_t select, std::uint32_t count, std::uint32_t period_us) {
    prm::Buffer<prm::cqc> context;
    context.put<"cq_max_count">(count).put<"cq_period">(period_us);
    return cqs_.modify(cqn_, select, prm::ConstView<prm::cqc>(context.all()));
  }
  prm::Buffer<prm::cqc> query() {
    prm::Buffer<prm::cqc> context;
    EXPECT_TRUE(cqs_.query(cqn_, context.view()).ok());
    return context;
  }
  [[nodiscard]] Cqe in_old(std::size_t i) const { return Cqe::at(memory_->old_buffer, i * 64); }
  [[nodiscard]] Cqe in_new(std::size_t i) const { return Cqe::at(memory_->new_buffer, i * 64); }
  [[nodiscard]] bool has_event(std::size_t i) const {
    return memory_->events[i * 64 + 63] == std::byte{0};
  }
  void pass(std::uint64_t us) {
    const std::uint64_t until = scheduler_.now_ns() + us * kNsPerUs;
    while (scheduler_.now_ns() < until) static_cast<void>(scheduler_.loop().step(until));
    while (scheduler_.loop().step(until)) {
    }
  }

  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  Iommu iommu_ = std::move(Iommu::create()).value();
  std::uint64_t faults_ = 0;
  Dma dma_{iommu_, faults_};
  EqTable eqs_{dma_, 4, [](void*, prm::HealthSyndrome) {}, nullptr};
  Scheduler scheduler_{std::make_shared<EventLoop>(Execution::Stepped, 1)};
  CqTable cqs_{dma_, eqs_, scheduler_, 4};
  prm::Buffer<prm::cqc> context_;
  Iova iova_ = 0;
  std::uint32_t cqn_ = 0;
  std::uint16_t next_ = 0;
};

TEST_F(CqChange, Resize_SaysSoInTheOldBufferAndGoesOnInTheNewOne) {
  complete(2);
  ASSERT_TRUE(resize(kLogLarger).ok());
  complete(1);
  const auto last = in_old(2).get<"op_own">();
  EXPECT_TRUE(prm::cqe_is_ready(last, 2, kLogSize));
  EXPECT_EQ(prm::cqe_opcode(last), prm::CqeOpcode::RESIZE_CQ);
  // Two that were not consumed move to 1 and 2 of the new buffer: 3 is the next.
  EXPECT_TRUE(prm::cqe_is_ready(in_new(3).get<"op_own">(), 3, kLogLarger));
  EXPECT_EQ(in_new(3).get<"wqe_counter">(), 2U);
  EXPECT_FALSE(prm::cqe_is_ready(in_old(3).get<"op_own">(), 3, kLogSize));
}

TEST_F(CqChange, ResizeInALaterRound_HasTheOwnerBitsOfBothSizes) {
  complete(kEntries);
  write_record(prm::kCqSetCi, kEntries);
  complete(2);
  write_record(prm::kCqSetCi, kEntries + 2);
  ASSERT_TRUE(resize(kLogLeast).ok());
  complete(1);
  EXPECT_TRUE(prm::cqe_is_ready(in_old(2).get<"op_own">(), kEntries + 2, kLogSize));
  EXPECT_EQ(prm::cqe_opcode(in_old(2).get<"op_own">()), prm::CqeOpcode::RESIZE_CQ);
  constexpr std::uint32_t kNext = kEntries + 3;
  EXPECT_TRUE(prm::cqe_is_ready(in_new(kNext % 2).get<"op_own">(), kNext, kLogLeast));
}

TEST_F(CqChange, LargerBuffer_TakesMoreBeforeItOverruns) {
  ASSERT_TRUE(resize(kLogLarger).ok());
  write_record(prm::kCqSetCi, 1);  // the entry that says so is consumed
  complete(kLarger);
  EXPECT_FALSE(complete());
}

TEST_F(CqChange, BufferTooSmallForWhatIsNotConsumed_IsRefusedAndNothingChanges) {
  complete(3);
  EXPECT_EQ(resize(kLogLeast).status, CommandStatus::BAD_SIZE_OUTS_CQES_ERR);
  complete(1);
  EXPECT_EQ(in_old(3).get<"wqe_counter">(), 3U);
  write_record(prm::kCqSetCi, 2);
  EXPECT_TRUE(resize(kLogLeast).ok());
}

TEST_F(CqChange, FullBuffer_HasNoPlaceToSayItIn) {
  complete(kEntries);
  EXPECT_EQ(resize(kLogLarger).status, CommandStatus::BAD_SIZE_OUTS_CQES_ERR);
  write_record(prm::kCqSetCi, 1);
  EXPECT_TRUE(resize(kLogLarger).ok());
}

TEST_F(CqChange, OtherEntrySize_IsABadParameter) {
  EXPECT_EQ(resize(kLogSize, prm::number(prm::CqeSize::B128)).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(CqChange, ResizeOfAQueueThatFailed_IsRefused) {
  complete(kEntries);
  ASSERT_FALSE(complete());
  EXPECT_EQ(resize(kLogLarger).status, CommandStatus::BAD_RES_STATE_ERR);
}

TEST_F(CqChange, Resize_TellsNobodyByAnEvent) {
  arm(0, 0);
  ASSERT_TRUE(resize(kLogLarger).ok());
  EXPECT_FALSE(has_event(0));
  complete(1);
  EXPECT_TRUE(has_event(0));
}

TEST_F(CqChange, Query_SaysSizeCountersAndState) {
  complete(3);
  write_record(prm::kCqSetCi, 2);
  ASSERT_TRUE(resize(kLogLarger).ok());
  auto context = query();
  EXPECT_EQ(context.get<"log_cq_size">(), kLogLarger);
  EXPECT_EQ(context.get<"uar_page">(), kUar);
  EXPECT_EQ(context.get<"dbr_addr">(), iova_ + offsetof(Memory, record));
  EXPECT_EQ(context.get<"producer_counter">(), 4U);
  EXPECT_EQ(context.get<"consumer_counter">(), 2U);
  EXPECT_EQ(context.get<"status">(), prm::number(prm::CqStatus::OK));
  EXPECT_EQ(context.get<"st">(), prm::number(prm::CqState::FIRED));
  arm(0, 4);
  EXPECT_EQ(query().get<"st">(), prm::number(prm::CqState::NOTIFICATION_REQUEST_ARMED));
  write_record(prm::kCqArmDb, prm::cq_arm_record(0, prm::kCqDbReqNotSol, 4));
  cqs_.kick(kUar);
  EXPECT_EQ(query().get<"st">(), prm::number(prm::CqState::SOLICITED_NOTIFICATION_REQUEST_ARMED));
}

TEST_F(CqChange, QueryOfAQueueThatFailed_SaysWhy) {
  complete(kEntries);
  ASSERT_FALSE(complete());
  EXPECT_EQ(query().get<"status">(), prm::number(prm::CqStatus::CQ_OVERFLOW));
  create();
  ASSERT_TRUE(iommu_.unmap(iova_, sizeof(Memory)).has_value());
  ASSERT_FALSE(complete());
  EXPECT_EQ(query().get<"status">(), prm::number(prm::CqStatus::CQ_WRITE_FAIL));
}

TEST_F(CqChange, ModeratedByCount_TellsOfThatManyAtOnce) {
  ASSERT_TRUE(moderate(prm::kCqModifyCount | prm::kCqModifyPeriod, 3, kPeriodUs).ok());
  arm(0, 0);
  complete(2);
  EXPECT_FALSE(has_event(0));
  complete(1);
  EXPECT_TRUE(has_event(0));
}

TEST_F(CqChange, ModeratedByTime_TellsWhenThePeriodIsOverAndOnce) {
  ASSERT_TRUE(moderate(prm::kCqModifyCount | prm::kCqModifyPeriod, 3, kPeriodUs).ok());
  arm(0, 0);
  complete(1);
  pass(kPeriodUs - 1);
  EXPECT_FALSE(has_event(0));
  pass(1);
  EXPECT_TRUE(has_event(0));
  pass(10 * kPeriodUs);
  complete(1);
  EXPECT_FALSE(has_event(1));
}

TEST_F(CqChange, PeriodFromTheLastEvent_IsOverAtOnceWhenThatWasLongAgo) {
  ASSERT_TRUE(moderate(prm::kCqModifyPeriod, 0, kPeriodUs).ok());
  pass(kPeriodUs);
  arm(0, 0);
  complete(1);
  EXPECT_TRUE(has_event(0));
}

TEST_F(CqChange, PeriodFromTheFirstCompletion_BeginsWithIt) {
  context_.put<"cq_period_mode">(prm::CqPeriodMode::START_FROM_CQE);
  context_.set<"cq_period", kPeriodUs>();
  create();
  pass(5 * kPeriodUs);
  arm(0, 0);
  complete(1);
  EXPECT_FALSE(has_event(0));
  pass(kPeriodUs);
  EXPECT_TRUE(has_event(0));
}

TEST_F(CqChange, CountWithoutAPeriod_DoesNotWait) {
  ASSERT_TRUE(moderate(prm::kCqModifyCount, 3, 0).ok());
  arm(0, 0);
  complete(1);
  EXPECT_TRUE(has_event(0));
}

TEST_F(CqChange, ModerationTakenBack_TellsOfWhatWaits) {
  ASSERT_TRUE(moderate(prm::kCqModifyPeriod, 0, kPeriodUs).ok());
  arm(0, 0);
  complete(1);
  ASSERT_FALSE(has_event(0));
  ASSERT_TRUE(moderate(prm::kCqModifyPeriod, 0, 0).ok());
  EXPECT_TRUE(has_event(0));
}

TEST_F(CqChange, QueueThatGoesWhileAnEventWaits_LeavesNone) {
  ASSERT_TRUE(moderate(prm::kCqModifyPeriod, 0, kPeriodUs).ok());
  arm(0, 0);
  complete(1);
  ASSERT_TRUE(cqs_.destroy(cqn_).ok());
  pass(2 * kPeriodUs);
  EXPECT_FALSE(has_event(0));
  create();
  ASSERT_TRUE(moderate(prm::kCqModifyPeriod, 0, 2 * kPeriodUs).ok());
  arm(0, 0);
  cqs_.clear();
  pass(2 * kPeriodUs);
  EXPECT_FALSE(has_event(0));
}

TEST_F(CqChange, QueuesThatGoAtTheInstantThatAnEventIsDue_LeaveNone) {
  ASSERT_TRUE(moderate(prm::kCqModifyPeriod, 0, kPeriodUs).ok());
  const Task clear{[](void* cqs, std::uint64_t) { static_cast<CqTable*>(cqs)->clear(); }, &cqs_, 0};
  scheduler_.schedule(kPeriodUs * kNsPerUs, clear);
  arm(0, 0);
  complete(1);
  ASSERT_FALSE(has_event(0));
  pass(2 * kPeriodUs);
  EXPECT_FALSE(has_event(0));
}

TEST_F(CqChange, OverrunIgnoredFromNowOn_KeepsWriting) {
  prm::Buffer<prm::cqc> context;
  context.set<"oi", 1>();
  ASSERT_TRUE(
      cqs_.modify(cqn_, prm::kCqModifyOverrun, prm::ConstView<prm::cqc>(context.all())).ok());
  complete(3 * kEntries);
}

TEST_F(CqChange, OnlyWhatIsSelectedChanges) {
  ASSERT_TRUE(moderate(prm::kCqModifyCount, 5, 7).ok());
  EXPECT_EQ(query().get<"cq_max_count">(), 5U);
  EXPECT_EQ(query().get<"cq_period">(), 0U);
  EXPECT_EQ(moderate(1 << 3, 0, 0).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(CqChange, QueueThatIsNotThere_IsABadResource) {
  ASSERT_TRUE(cqs_.destroy(cqn_).ok());
  prm::Buffer<prm::cqc> context;
  EXPECT_EQ(cqs_.query(cqn_, context.view()).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(moderate(prm::kCqModifyCount, 1, 1).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(resize(kLogLarger).status, CommandStatus::BAD_RES_ERR);
}

}  // namespace
}  // namespace portcullis::model
