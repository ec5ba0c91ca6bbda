// SPDX-License-Identifier: BSD-3-Clause
//
// Receive queues and TIRs by themselves, on memory mapped for the test: what a command is refused
// for, and where a frame goes.
#include "model/steering/receive_targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>

#include "base/cells.hpp"
#include "prm/doorbell.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::RqState;

constexpr std::uint32_t kUar = 20;
constexpr std::uint32_t kPd = 7;
constexpr std::uint32_t kStride = 64;
constexpr std::uint32_t kEntries = 2;
constexpr std::size_t kCompletionAt = 1 * kPageBytes;
constexpr std::size_t kQueueAt = 2 * kPageBytes;
constexpr std::size_t kRecordAt = 3 * kPageBytes;  // the RQ's, then the CQ's
constexpr std::size_t kPayloadAt = 4 * kPageBytes;

struct alignas(kPageBytes) Memory {
  std::array<std::byte, 5 * kPageBytes> bytes{};
};

class ReceiveTargetsTest : public ::testing::Test {
 protected:
  ReceiveTargetsTest() {
    dma_.set_bus_master(true);
    iova_ = iommu_.map(memory_->bytes).value();
    for (std::size_t at = 63; at < kPageBytes; at += 64) {
      memory_->bytes[at] = std::byte{1};
      memory_->bytes[kCompletionAt + at] = std::byte{prm::kCqeNeverWritten};
    }
    create_queues();
    create_key();
    rqc_.put<"state">(RqState::RST).put<"cqn">(cqn_).set<"user_index", 0x123>();
    rqc_.put<"wq.wq_type">(prm::WqType::CYCLIC).put<"wq.pd">(kPd);
    rqc_.put<"wq.dbr_addr">(iova_ + kRecordAt);
    rqc_.set<"wq.log_wq_stride", 6>().set<"wq.log_wq_sz", 1>();
  }

  void create_queues() {
    prm::Buffer<prm::eqc> eq;
    eq.set<"log_eq_size", 2>().put<"uar_page">(kUar);
    std::array<std::byte, 32> mask{};
    std::uint32_t eqn = 0;
    ASSERT_TRUE(eqs_.create(prm::ConstView<prm::eqc>{eq.all()}, mask, {iova_}, eqn).ok());
    prm::Buffer<prm::cqc> cq;
    cq.set<"log_cq_size", 2>().put<"uar_page">(kUar).put<"c_eqn_or_apu_element">(eqn);
    cq.put<"dbr_addr">(iova_ + kRecordAt + 64);
    ASSERT_TRUE(
        cqs_.create(prm::ConstView<prm::cqc>{cq.all()}, {iova_ + kCompletionAt}, cqn_).ok());
  }
  void create_key() {
    prm::Buffer<prm::mkc> context;
    context.put<"access_mode_1_0">(prm::MkcAccessMode::PA).set<"lr", 1>().set<"lw", 1>();
    context.put<"qpn">(prm::kMkcQpnAny).put<"pd">(kPd).set<"length64", 1>();
    std::uint32_t index = 0;
    ASSERT_TRUE(mkeys_.create({prm::ConstView<prm::mkc>{context.all()}, false, 0, {}}, index).ok());
    lkey_ = index << 8;
  }
  Verdict create_rq() {
    const std::uint64_t page = cells::be64(iova_ + kQueueAt);
    std::array<std::byte, sizeof page> pas;
    std::memcpy(pas.data(), &page, sizeof page);
    return targets_.create_rq(prm::ConstView<prm::rqc>{rqc_.all()},
                              std::span(pas).first(pas_bytes_), rqn_);
  }
  Verdict modify(RqState from, RqState to) {
    prm::Buffer<prm::modify_rq_in> in;
    in.put<"rqn">(rqn_).put<"rq_state">(from).put<"ctx.state">(to);
    return targets_.modify_rq(prm::ConstView<prm::modify_rq_in>{in.all()});
  }
  Verdict create_tir() {
    prm::Buffer<prm::tirc> context;
    context.put<"inline_rqn">(rqn_).put<"transport_domain">(domain_);
    return targets_.create_tir(prm::ConstView<prm::tirc>{context.all()}, tirn_);
  }
  void make_ready() {
    ASSERT_TRUE(targets_.domains().allocate(domain_).ok());
    ASSERT_TRUE(create_rq().ok());
    ASSERT_TRUE(create_tir().ok());
    ASSERT_TRUE(modify(RqState::RST, RqState::RDY).ok());
  }
  /// The next receive, `bytes` at the payload page.
  void post(std::uint32_t bytes, std::uint32_t lkey) {
    auto* const at = memory_->bytes.data() + kQueueAt + (posted_ % kEntries) * kStride;
    prm::Buffer<prm::mlx5_wqe_data_seg> segment;
    segment.put<"byte_count">(bytes).put<"lkey">(lkey).put<"addr">(iova_ + kPayloadAt);
    std::memcpy(at, segment.all().data(), segment.all().size());
    prm::Buffer<prm::mlx5_wqe_data_seg> end;
    end.put<"lkey">(prm::kInvalidLkey);
    std::memcpy(at + segment.all().size(), end.all().data(), end.all().size());
    cells::store_release<std::uint32_t>(memory_->bytes.data() + kRecordAt, cells::be32(++posted_));
  }
  [[nodiscard]] prm::ConstView<prm::mlx5_cqe64> completion() const {
    return prm::ConstView<prm::mlx5_cqe64>::at(memory_->bytes, kCompletionAt);
  }
  [[nodiscard]] bool has_completed() const {
    return memory_->bytes[kCompletionAt + 63] != std::byte{prm::kCqeNeverWritten};
  }

  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  Iommu iommu_ = std::move(Iommu::create()).value();
  std::uint64_t faults_ = 0;
  std::uint64_t lost_ = 0;
  Dma dma_{iommu_, faults_};
  EqTable eqs_{dma_, 4, [](void*, prm::HealthSyndrome) {}, nullptr};
  Scheduler scheduler_{std::make_shared<EventLoop>(Execution::Stepped, 1)};
  CqTable cqs_{dma_, eqs_, scheduler_, 4};
  MkeyTable mkeys_{10};
  ReceiveTargets targets_{{&dma_, &mkeys_, &cqs_, &scheduler_, &lost_}};
  prm::Buffer<prm::rqc> rqc_;
  std::size_t pas_bytes_ = 8;
  Iova iova_ = 0;
  std::uint32_t cqn_ = 0, lkey_ = 0, domain_ = 0, rqn_ = 0, tirn_ = 0, posted_ = 0;
  const std::array<std::byte, 100> frame_ = [] {
    std::array<std::byte, 100> frame;
    frame.fill(std::byte{0x5a});
    return frame;
  }();
};

TEST_F(ReceiveTargetsTest, Frame_GoesWholeIntoTheOldestReceive) {
  make_ready();
  post(128, lkey_);
  targets_.deliver(tirn_, frame_);
  EXPECT_EQ(memory_->bytes[kPayloadAt + 99], std::byte{0x5a});
  EXPECT_EQ(memory_->bytes[kPayloadAt + 100], std::byte{0});
  EXPECT_EQ(completion().get<"byte_cnt">(), 100U);
  EXPECT_EQ(prm::cqe_opcode(completion().get<"op_own">()), prm::CqeOpcode::RESP_SEND);
  EXPECT_EQ(lost_, 0U);
}

TEST_F(ReceiveTargetsTest, NothingPosted_FrameIsLostAndNobodyTold) {
  make_ready();
  targets_.deliver(tirn_, frame_);
  EXPECT_EQ(lost_, 1U);
  EXPECT_FALSE(has_completed());
}

TEST_F(ReceiveTargetsTest, QueueInReset_FrameIsLost) {
  ASSERT_TRUE(targets_.domains().allocate(domain_).ok());
  ASSERT_TRUE(create_rq().ok());
  ASSERT_TRUE(create_tir().ok());
  post(128, lkey_);
  targets_.deliver(tirn_, frame_);
  EXPECT_EQ(lost_, 1U);
}

TEST_F(ReceiveTargetsTest, TooLargeAFrame_IsLostAndTakesNoReceive) {
  make_ready();
  post(99, lkey_);
  targets_.deliver(tirn_, frame_);
  EXPECT_EQ(lost_, 1U);
  targets_.deliver(tirn_, std::span(frame_).first(99));
  EXPECT_EQ(completion().get<"byte_cnt">(), 99U);
}

TEST_F(ReceiveTargetsTest, KeyOfAnotherDomain_IsAnErrorCompletionAndTheQueueInError) {
  make_ready();
  post(128, lkey_ + 1);
  targets_.deliver(tirn_, frame_);
  EXPECT_EQ(prm::cqe_opcode(completion().get<"op_own">()), prm::CqeOpcode::RESP_ERR);
  EXPECT_EQ(memory_->bytes[kPayloadAt], std::byte{0});
  EXPECT_EQ(modify(RqState::RDY, RqState::RST).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(modify(RqState::ERR, RqState::RST).ok());
}

TEST_F(ReceiveTargetsTest, UnknownTir_FrameIsLost) {
  targets_.deliver(77, frame_);
  EXPECT_EQ(lost_, 1U);
}

TEST_F(ReceiveTargetsTest, Transitions_AreThoseOfARawPacketQp) {
  make_ready();
  EXPECT_EQ(modify(RqState::RST, RqState::RDY).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(modify(RqState::RDY, RqState::ERR).ok());
  EXPECT_EQ(modify(RqState::ERR, RqState::RDY).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(modify(RqState::ERR, RqState::RST).ok());
}

TEST_F(ReceiveTargetsTest, WhatOthersReferTo_IsNotDestroyed) {
  make_ready();
  std::uint32_t pd = 0, cqn = 0;
  EXPECT_EQ(targets_.destroy_rq(rqn_, pd, cqn).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ(targets_.domains().free(domain_).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(targets_.destroy_tir(tirn_).ok());
  EXPECT_TRUE(targets_.destroy_rq(rqn_, pd, cqn).ok());
  EXPECT_EQ(pd, kPd);
  EXPECT_EQ(cqn, cqn_);
  EXPECT_TRUE(targets_.domains().free(domain_).ok());
}

TEST_F(ReceiveTargetsTest, TirOfNoRqOrNoDomain_IsABadResource) {
  ASSERT_TRUE(create_rq().ok());
  EXPECT_EQ(create_tir().status, CommandStatus::BAD_RES_ERR);
  ASSERT_TRUE(targets_.domains().allocate(domain_).ok());
  rqn_ = 99;
  EXPECT_EQ(create_tir().status, CommandStatus::BAD_RES_ERR);
}

TEST_F(ReceiveTargetsTest, ContextThatIsNotOffered_IsABadParameter) {
  rqc_.put<"wq.wq_type">(prm::WqType::LINKED_LIST);
  EXPECT_EQ(create_rq().status, CommandStatus::BAD_PARAM_ERR);
  rqc_.put<"wq.wq_type">(prm::WqType::CYCLIC).put<"state">(RqState::RDY);
  EXPECT_EQ(create_rq().status, CommandStatus::BAD_PARAM_ERR);
  rqc_.put<"state">(RqState::RST).set<"wq.log_wq_stride", 3>();
  EXPECT_EQ(create_rq().status, CommandStatus::BAD_PARAM_ERR);
  rqc_.set<"wq.log_wq_stride", 6>().put<"wq.dbr_addr">(iova_ + 2);
  EXPECT_EQ(create_rq().status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(ReceiveTargetsTest, ShortPageList_IsABadLength) {
  pas_bytes_ = 0;
  EXPECT_EQ(create_rq().status, CommandStatus::BAD_INP_LEN_ERR);
}

}  // namespace
}  // namespace portcullis::model
