// SPDX-License-Identifier: BSD-3-Clause
//
// EQ and CQ engines by themselves, on memory mapped for the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cells.hpp"
#include "model/cq.hpp"
#include "model/device_ticks.hpp"
#include "model/eq.hpp"
#include "prm/doorbell.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::EventType;

constexpr std::uint32_t kUar = 20;
constexpr std::uint32_t kLogSize = 2;  // four entries
constexpr std::uint32_t kEntries = 1u << kLogSize;

struct alignas(kPageBytes) Memory {
  std::array<std::byte, kPageBytes> events{};
  std::array<std::byte, kPageBytes> completions{};
  std::array<std::byte, kPageBytes> records{};
};

class QueueTest : public ::testing::Test {
 protected:
  QueueTest() {
    dma_.set_bus_master(true);
    iova_ = iommu_.map(std::as_writable_bytes(std::span(memory_.get(), 1))).value();
    for (std::size_t at = 63; at < kPageBytes; at += 64) {
      memory_->events[at] = std::byte{1};
      memory_->completions[at] = std::byte{prm::kCqeNeverWritten};
    }
    create_eq();
  }

  void create_eq(bool ignore_overrun = false) {
    prm::Buffer<prm::eqc> context;
    context.put<"log_eq_size">(kLogSize).put<"uar_page">(kUar).put<"oi">(ignore_overrun ? 1 : 0);
    std::array<std::byte, 32> mask{};
    mask[7] = std::byte{1u << 4};  // CQ_ERROR
    mask[6] = std::byte{1u << 3};  // PAGE_REQUEST, event 11
    ASSERT_TRUE(eqs_.create(prm::ConstView<prm::eqc>{context.all()}, mask, {iova_}, eqn_).ok());
  }
  Verdict create_cq() {
    cq_context_.put<"log_cq_size">(kLogSize)
        .put<"uar_page">(kUar)
        .put<"c_eqn_or_apu_element">(eqn_)
        .put<"dbr_addr">(iova_ + 2 * kPageBytes);
    return cqs_.create(prm::ConstView<prm::cqc>{cq_context_.all()}, {iova_ + kPageBytes}, cqn_);
  }
  void write_record(std::size_t dword, std::uint32_t value) {
    cells::store_release<std::uint32_t>(memory_->records.data() + prm::record_byte(dword),
                                        cells::be32(value));
  }
  void arm(std::uint32_t command, std::uint32_t sequence, std::uint32_t consumer) {
    write_record(prm::kCqArmDb, prm::cq_arm_record(sequence, command, consumer));
    cqs_.kick(kUar);
  }
  bool complete(bool solicited = false) {
    Completion completion;
    completion.qpn = 0x1234;
    completion.wqe_opcode = 8;
    completion.wqe_counter = 77;
    completion.byte_cnt = 64;
    completion.solicited = solicited;
    return cqs_.complete(cqn_, completion, 3200);
  }
  [[nodiscard]] prm::ConstView<prm::eqe> event(std::size_t i) const {
    return prm::ConstView<prm::eqe>::at(memory_->events, i * 64);
  }
  [[nodiscard]] prm::ConstView<prm::mlx5_cqe64> completion(std::size_t i) const {
    return prm::ConstView<prm::mlx5_cqe64>::at(memory_->completions, i * 64);
  }
  bool raise() { return eqs_.raise_cq_error(0xabcdef, 1); }
  void advance_eq(std::uint32_t ci) {
    eqs_.doorbell(kUar, prm::eq_doorbell(static_cast<std::uint8_t>(eqn_), ci), false);
  }

  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  Iommu iommu_ = std::move(Iommu::create()).value();
  std::uint64_t faults_ = 0;
  Dma dma_{iommu_, faults_};
  prm::HealthSyndrome synd_ = prm::HealthSyndrome::NONE;
  EqTable eqs_{dma_, 4,
               [](void* self, prm::HealthSyndrome s) { static_cast<QueueTest*>(self)->synd_ = s; },
               this};
  Scheduler scheduler_{std::make_shared<EventLoop>(Execution::Stepped, 1)};
  CqTable cqs_{dma_, eqs_, scheduler_, 4};
  prm::Buffer<prm::cqc> cq_context_;
  Iova iova_ = 0;
  std::uint32_t eqn_ = 0;
  std::uint32_t cqn_ = 0;
};

TEST_F(QueueTest, SubscribedEvent_IsWrittenWithTheOwnerBitOfTheRound) {
  ASSERT_TRUE(raise());
  EXPECT_EQ(event(0).get<"event_type">(), prm::number(EventType::CQ_ERROR));
  EXPECT_EQ(event(0).get<"owner">(), 0U);
  EXPECT_EQ(event(1).get<"owner">(), 1U);
  const auto data = prm::ConstView<prm::cq_error>::at(event(0).bytes<"event_data">());
  EXPECT_EQ(data.get<"cqn">(), 0xabcdefU);
  EXPECT_EQ(data.get<"syndrome">(), 1U);
}

TEST_F(QueueTest, EventNobodySubscribedTo_IsNotWritten) {
  EXPECT_FALSE(eqs_.raise_qp(EventType::WQ_ACCESS_ERROR, 5));
  EXPECT_EQ(event(0).get<"owner">(), 1U);
  EXPECT_TRUE(eqs_.has_subscriber(EventType::PAGE_REQUEST));
  EXPECT_FALSE(eqs_.has_subscriber(EventType::WQ_ACCESS_ERROR));
}

TEST_F(QueueTest, SecondRound_FlipsTheOwnerBit) {
  for (std::uint32_t i = 0; i < kEntries; ++i) ASSERT_TRUE(raise());
  advance_eq(kEntries);
  ASSERT_TRUE(raise());
  EXPECT_EQ(event(0).get<"owner">(), 1U);
  EXPECT_EQ(event(1).get<"owner">(), 0U);
}

TEST_F(QueueTest, FullEventQueue_LosesTheEventAndReportsIt) {
  for (std::uint32_t i = 0; i <= kEntries; ++i) raise();
  EXPECT_EQ(synd_, prm::HealthSyndrome::ASYNCHRONOUS_EQ_BUF_OVERRUN);
  EXPECT_EQ(event(0).get<"owner">(), 0U);
}

TEST_F(QueueTest, ConsumerIndexBackOrPastTheProducer_IsIgnored) {
  for (std::uint32_t i = 0; i < kEntries; ++i) ASSERT_TRUE(raise());
  advance_eq(kEntries + 1);
  raise();
  EXPECT_EQ(synd_, prm::HealthSyndrome::ASYNCHRONOUS_EQ_BUF_OVERRUN);
  synd_ = prm::HealthSyndrome::NONE;
  advance_eq(kEntries);
  advance_eq(1);
  for (std::uint32_t i = 0; i < kEntries; ++i) ASSERT_TRUE(raise());
  EXPECT_EQ(event(3).get<"owner">(), 1U);
}

TEST_F(QueueTest, IndexWrittenWithoutArming_ArmedQueueStaysArmed) {
  int interrupts = 0;
  eqs_.on_interrupt([](void* count, std::uint32_t) noexcept { ++*static_cast<int*>(count); },
                    &interrupts);
  eqs_.doorbell(kUar, prm::eq_doorbell(static_cast<std::uint8_t>(eqn_), 0), true);
  advance_eq(0);
  ASSERT_TRUE(raise());
  EXPECT_EQ(interrupts, 1);
  ASSERT_TRUE(raise());
  EXPECT_EQ(interrupts, 1);
}

TEST_F(QueueTest, DoorbellOfAnotherUarOrQueue_IsIgnored) {
  for (std::uint32_t i = 0; i < kEntries; ++i) ASSERT_TRUE(raise());
  eqs_.doorbell(kUar + 1, prm::eq_doorbell(static_cast<std::uint8_t>(eqn_), kEntries), false);
  eqs_.doorbell(kUar, prm::eq_doorbell(9, kEntries), false);
  eqs_.doorbell(kUar, 0xffffffff, false);
  raise();
  EXPECT_EQ(synd_, prm::HealthSyndrome::ASYNCHRONOUS_EQ_BUF_OVERRUN);
}

TEST_F(QueueTest, EventQueueNoLongerMapped_IsAHealthSyndromeAndAFault) {
  ASSERT_TRUE(iommu_.unmap(iova_, sizeof(Memory)).has_value());
  raise();
  EXPECT_EQ(synd_, prm::HealthSyndrome::EQ_IN_ERR);
  EXPECT_EQ(faults_, 1U);
}

TEST_F(QueueTest, EventQueueWithoutItsPages_IsRefused) {
  prm::Buffer<prm::eqc> context;
  context.set<"log_eq_size", 7>();
  const std::array<std::byte, 32> mask{};
  std::uint32_t eqn = 0;
  EXPECT_EQ(eqs_.create(prm::ConstView<prm::eqc>{context.all()}, mask, {iova_}, eqn).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(
      eqs_.create(prm::ConstView<prm::eqc>{context.all()}, mask, {iova_, iova_ + 64}, eqn).status,
      CommandStatus::BAD_PARAM_ERR);
  context.set<"log_eq_size", 31>();
  EXPECT_EQ(EqTable::pages_needed(prm::ConstView<prm::eqc>{context.all()}), 0U);
}

TEST_F(QueueTest, PageThatIsNotAlignedToItsSize_IsWrittenFromWhereItStands) {
  cq_context_.set<"log_page_size", 19>();  // 2 GiB, to which no memory of this test is aligned
  ASSERT_TRUE(create_cq().ok());
  ASSERT_TRUE(complete());
  EXPECT_EQ(completion(0).get<"wqe_counter">(), 77U);
}

TEST_F(QueueTest, Completion_IsWrittenAsACqe64) {
  ASSERT_TRUE(create_cq().ok());
  ASSERT_TRUE(complete(true));
  const auto cqe = completion(0);
  EXPECT_TRUE(prm::cqe_is_ready(cqe.get<"op_own">(), 0, kLogSize));
  EXPECT_EQ(prm::cqe_opcode(cqe.get<"op_own">()), prm::CqeOpcode::REQ);
  EXPECT_EQ(cqe.get<"op_own">() & 2, 2U);
  EXPECT_EQ(cqe.get<"wqe_counter">(), 77U);
  EXPECT_EQ(cqe.get<"byte_cnt">(), 64U);
  EXPECT_EQ(cqe.get<"sop_drop_qpn">(), 0x08001234U);
  EXPECT_EQ(cqe.get<"timestamp">(), device_ticks(3200));
}

TEST_F(QueueTest, ErrorCompletion_CarriesBothSyndromes) {
  ASSERT_TRUE(create_cq().ok());
  Completion error;
  error.opcode = prm::CqeOpcode::REQ_ERR;
  error.syndrome = prm::CqeSyndrome::REMOTE_ACCESS_ERR;
  error.vendor_syndrome = 0x88;
  error.qpn = 9;
  ASSERT_TRUE(cqs_.complete(cqn_, error, 0));
  const auto cqe = prm::ConstView<prm::mlx5_err_cqe>::at(memory_->completions);
  EXPECT_TRUE(prm::cqe_is_error(cqe.get<"op_own">()));
  EXPECT_EQ(cqe.get<"syndrome">(), 0x13U);
  EXPECT_EQ(cqe.get<"vendor_err_synd">(), 0x88U);
  EXPECT_EQ(cqe.get<"s_wqe_opcode_qpn">(), 9U);
}

TEST_F(QueueTest, SecondRoundOfCompletions_FlipsTheOwnerBit) {
  ASSERT_TRUE(create_cq().ok());
  for (std::uint32_t i = 0; i < kEntries; ++i) ASSERT_TRUE(complete());
  write_record(prm::kCqSetCi, kEntries);
  ASSERT_TRUE(complete());
  EXPECT_TRUE(prm::cqe_is_ready(completion(0).get<"op_own">(), kEntries, kLogSize));
  EXPECT_FALSE(prm::cqe_is_ready(completion(1).get<"op_own">(), kEntries + 1, kLogSize));
}

TEST_F(QueueTest, CompletionQueueOverrun_IsAnErrorEventAndEndsTheQueue) {
  ASSERT_TRUE(create_cq().ok());
  for (std::uint32_t i = 0; i < kEntries; ++i) ASSERT_TRUE(complete());
  EXPECT_FALSE(complete());
  EXPECT_EQ(event(0).get<"event_type">(), prm::number(EventType::CQ_ERROR));
  const auto data = prm::ConstView<prm::cq_error>::at(event(0).bytes<"event_data">());
  EXPECT_EQ(data.get<"cqn">(), cqn_);
  EXPECT_EQ(data.get<"syndrome">(), 1U);
  write_record(prm::kCqSetCi, kEntries);
  EXPECT_FALSE(complete());
}

TEST_F(QueueTest, OverrunIgnored_KeepsWriting) {
  cq_context_.set<"oi", 1>();
  ASSERT_TRUE(create_cq().ok());
  for (std::uint32_t i = 0; i < 3 * kEntries; ++i) ASSERT_TRUE(complete());
}

TEST_F(QueueTest, CollapsedQueue_HasEachCompletionInItsFirstEntry) {
  cq_context_.set<"cc", 1>().set<"oi", 1>();
  ASSERT_TRUE(create_cq().ok());
  Completion completed;
  for (std::uint16_t i = 1; i <= kEntries + 2; ++i) {
    completed.wqe_counter = i;
    ASSERT_TRUE(cqs_.complete(cqn_, completed, 0));
    EXPECT_EQ(completion(0).get<"wqe_counter">(), i);
  }
  EXPECT_EQ(completion(1).get<"op_own">(), prm::kCqeNeverWritten);
}

TEST_F(QueueTest, ConsumerIndexPastTheProducer_IsNotBelieved) {
  ASSERT_TRUE(create_cq().ok());
  write_record(prm::kCqSetCi, 0x800000);
  for (std::uint32_t i = 0; i < kEntries; ++i) ASSERT_TRUE(complete());
  EXPECT_FALSE(complete());
}

TEST_F(QueueTest, CompletionQueueNoLongerMapped_IsAnAccessViolation) {
  ASSERT_TRUE(create_cq().ok());
  ASSERT_TRUE(iommu_.unmap(iova_, sizeof(Memory)).has_value());
  EXPECT_FALSE(complete());
  EXPECT_GE(faults_, 1U);
}

TEST_F(QueueTest, LargeEntries_HoldTheCqeInTheirUpperHalf) {
  cq_context_.put<"cqe_sz">(prm::CqeSize::B128);
  ASSERT_TRUE(create_cq().ok());
  ASSERT_TRUE(complete());
  EXPECT_EQ(completion(1).get<"wqe_counter">(), 77U);
  EXPECT_EQ(completion(0).get<"wqe_counter">(), 0U);
}

TEST_F(QueueTest, PaddedEntries_AreWrittenInBothHalves) {
  cq_context_.put<"cqe_sz">(CqTable::kPadded);
  ASSERT_TRUE(create_cq().ok());
  ASSERT_EQ(completion(0).get<"op_own">(), prm::kCqeNeverWritten);
  ASSERT_TRUE(complete());
  EXPECT_EQ(completion(0).get<"op_own">(), 0U);
  EXPECT_EQ(completion(1).get<"wqe_counter">(), 77U);
  EXPECT_EQ(completion(2).get<"op_own">(), prm::kCqeNeverWritten);
}

TEST_F(QueueTest, PaddedErrorEntry_IsInTheUpperHalf) {
  cq_context_.put<"cqe_sz">(CqTable::kPadded);
  ASSERT_TRUE(create_cq().ok());
  ASSERT_TRUE(cqs_.complete(cqn_, {.opcode = prm::CqeOpcode::REQ_ERR, .wqe_counter = 78}, 0));
  EXPECT_EQ(completion(0).get<"op_own">(), 0U);
  EXPECT_EQ(completion(1).get<"wqe_counter">(), 78U);
}

TEST_F(QueueTest, EntrySizeThatIsNone_IsRefused) {
  cq_context_.set<"cqe_sz", 3>();
  EXPECT_EQ(create_cq().status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(QueueTest, UnarmedCompletion_MakesNoEvent) {
  ASSERT_TRUE(create_cq().ok());
  ASSERT_TRUE(complete());
  EXPECT_EQ(event(0).get<"owner">(), 1U);
}

TEST_F(QueueTest, ArmedCompletion_MakesOneEventUntilArmedAgain) {
  ASSERT_TRUE(create_cq().ok());
  write_record(prm::kCqArmDb, prm::cq_arm_record(0, prm::kCqDbReqNot, 0));
  cqs_.kick(kUar);
  ASSERT_TRUE(complete());
  ASSERT_TRUE(complete());
  EXPECT_EQ(event(0).get<"event_type">(), prm::number(EventType::COMP));
  const auto data = prm::ConstView<prm::comp_event>::at(event(0).bytes<"event_data">());
  EXPECT_EQ(data.get<"cq_number">(), cqn_);
  EXPECT_EQ(event(1).get<"owner">(), 1U);
}

TEST_F(QueueTest, ArmRecordWithoutAKick_DoesNothing) {
  ASSERT_TRUE(create_cq().ok());
  write_record(prm::kCqArmDb, prm::cq_arm_record(0, prm::kCqDbReqNot, 0));
  ASSERT_TRUE(complete());
  EXPECT_EQ(event(0).get<"owner">(), 1U);
}

TEST_F(QueueTest, StaleArmSequence_DoesNotArmAgain) {
  ASSERT_TRUE(create_cq().ok());
  write_record(prm::kCqArmDb, prm::cq_arm_record(0, prm::kCqDbReqNot, 0));
  cqs_.kick(kUar);
  ASSERT_TRUE(complete());
  cqs_.kick(kUar);
  ASSERT_TRUE(complete());
  EXPECT_EQ(event(1).get<"owner">(), 1U);
  write_record(prm::kCqArmDb, prm::cq_arm_record(1, prm::kCqDbReqNot, 2));
  cqs_.kick(kUar);
  ASSERT_TRUE(complete());
  EXPECT_EQ(event(1).get<"owner">(), 0U);
}

TEST_F(QueueTest, ArmedBehindAMissedCompletion_TellsAtOnce) {
  ASSERT_TRUE(create_cq().ok());
  ASSERT_TRUE(complete());
  write_record(prm::kCqArmDb, prm::cq_arm_record(0, prm::kCqDbReqNot, 0));
  cqs_.kick(kUar);
  EXPECT_EQ(event(0).get<"owner">(), 0U);
}

TEST_F(QueueTest, ArmedBehindACompletionSinceTheLastEvent_TellsAtOnce) {
  ASSERT_TRUE(create_cq().ok());
  arm(prm::kCqDbReqNot, 0, 0);
  ASSERT_TRUE(complete());
  ASSERT_TRUE(complete());
  arm(prm::kCqDbReqNot, 1, 1);
  EXPECT_EQ(event(1).get<"owner">(), 0U);
}

TEST_F(QueueTest, ArmedBehindACompletionThatAnEventTold_TellsTheNextOne) {
  ASSERT_TRUE(create_cq().ok());
  arm(prm::kCqDbReqNot, 0, 0);
  ASSERT_TRUE(complete());
  ASSERT_EQ(event(0).get<"owner">(), 0U);
  arm(prm::kCqDbReqNot, 1, 0);
  EXPECT_EQ(event(1).get<"owner">(), 1U);
  ASSERT_TRUE(complete());
  EXPECT_EQ(event(1).get<"owner">(), 0U);
}

TEST_F(QueueTest, ArmedForSolicitedBehindAMissedOne_TellsAtOnce) {
  ASSERT_TRUE(create_cq().ok());
  ASSERT_TRUE(complete(true));
  ASSERT_TRUE(complete(false));
  arm(prm::kCqDbReqNotSol, 0, 0);
  EXPECT_EQ(event(0).get<"owner">(), 0U);
}

TEST_F(QueueTest, ArmedForSolicitedBehindOthersAlone_WaitsForOne) {
  ASSERT_TRUE(create_cq().ok());
  ASSERT_TRUE(complete(true));
  ASSERT_TRUE(complete(false));
  arm(prm::kCqDbReqNotSol, 0, 1);
  EXPECT_EQ(event(0).get<"owner">(), 1U);
  ASSERT_TRUE(complete(true));
  EXPECT_EQ(event(0).get<"owner">(), 0U);
}

TEST_F(QueueTest, ArmedForSolicited_WaitsForOne) {
  ASSERT_TRUE(create_cq().ok());
  write_record(prm::kCqArmDb, prm::cq_arm_record(0, prm::kCqDbReqNotSol, 0));
  cqs_.kick(kUar);
  ASSERT_TRUE(complete(false));
  EXPECT_EQ(event(0).get<"owner">(), 1U);
  ASSERT_TRUE(complete(true));
  EXPECT_EQ(event(0).get<"owner">(), 0U);
}

TEST_F(QueueTest, KickOfAnotherUar_ArmsNothing) {
  ASSERT_TRUE(create_cq().ok());
  write_record(prm::kCqArmDb, prm::cq_arm_record(0, prm::kCqDbReqNot, 0));
  cqs_.kick(kUar + 1);
  ASSERT_TRUE(complete());
  EXPECT_EQ(event(0).get<"owner">(), 1U);
}

TEST_F(QueueTest, UnknownCompletionQueue_TakesNothing) {
  EXPECT_FALSE(cqs_.complete(3, Completion{}, 0));
  EXPECT_FALSE(cqs_.complete(0xffffff, Completion{}, 0));
}

TEST(DeviceTicks, CountAtTheirFrequency) {
  EXPECT_EQ(device_ticks(kNsPerSecond), kDeviceFrequencyKhz * 1000ULL);
  EXPECT_EQ(device_ticks(0), 0U);
}

}  // namespace
}  // namespace portcullis::model
