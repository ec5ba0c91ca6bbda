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
#include <vector>

#include "base/cells.hpp"
#include "model/ethernet/offloads.hpp"
#include "model/transport/checksum.hpp"
#include "prm/doorbell.hpp"
#include "prm/ethernet_wqe.hpp"
#include "prm/wqe.hpp"
#include "tests/model/ethernet_frames.hpp"
#include "tests/model/queue_parts.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::RqState;
using testing::build_frame;
using testing::FrameSpec;
using testing::make_cq;
using testing::make_lkey;

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

constexpr std::uint64_t kLongestNs = 5000;  // that a frame waits, where whoever offers it can

class ReceiveTargetsTest : public ::testing::Test {
 protected:
  ReceiveTargetsTest() {
    dma_.set_bus_master(true);
    iova_ = iommu_.map(memory_->bytes).value();
    for (std::size_t at = 63; at < kPageBytes; at += 64) {
      memory_->bytes[at] = std::byte{1};
      memory_->bytes[kCompletionAt + at] = std::byte{prm::kCqeNeverWritten};
    }
    cqn_ = make_cq(eqs_, cqs_,
                   {.uar = kUar,
                    .log_size = 2,
                    .eq = iova_,
                    .cq = iova_ + kCompletionAt,
                    .record = iova_ + kRecordAt + 64});
    lkey_ = make_lkey(mkeys_, kPd);
    rqc_.put<"state">(RqState::RST).put<"cqn">(cqn_).set<"user_index", 0x123>();
    rqc_.put<"wq.wq_type">(prm::WqType::CYCLIC).put<"wq.pd">(kPd);
    rqc_.put<"wq.dbr_addr">(iova_ + kRecordAt);
    rqc_.set<"wq.log_wq_stride", 6>().set<"wq.log_wq_sz", 1>();
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
  [[nodiscard]] prm::ConstView<prm::mlx5_err_cqe> error(std::size_t index) const {
    return prm::ConstView<prm::mlx5_err_cqe>::at(memory_->bytes,
                                                 kCompletionAt + index * prm::kCqeBytes);
  }
  /// The same entry as Ethernet drivers read it.
  [[nodiscard]] prm::ConstView<prm::mlx5_ethernet_cqe> seen() const {
    return prm::ConstView<prm::mlx5_ethernet_cqe>::at(memory_->bytes, kCompletionAt);
  }
  static std::vector<std::byte> finished(const FrameSpec& spec) {
    std::vector<std::byte> frame = build_frame(spec);
    fill_checksums(frame, prm::kEthL3Csum | prm::kEthL4Csum);
    return frame;
  }
  /// A table of `queues`, and a TIR that hashes over it.
  Verdict create_table(std::span<const std::uint32_t> queues, std::uint32_t most = 4) {
    prm::Buffer<prm::rqtc> context;
    context.put<"rqt_max_size">(most).put<"rqt_actual_size">(queues.size());
    return targets_.tables.create(prm::ConstView<prm::rqtc>{context.all()}, list_of(queues), rqtn_);
  }
  static std::vector<std::byte> list_of(std::span<const std::uint32_t> queues) {
    std::vector<std::byte> list;
    for (const std::uint32_t rqn : queues) {
      prm::Buffer<prm::rq_num> entry;
      entry.put<"rq_num">(rqn);
      list.insert(list.end(), entry.all().begin(), entry.all().end());
    }
    return list;
  }
  Verdict create_hashing_tir(std::uint32_t fields) {
    prm::Buffer<prm::tirc> context;
    context.put<"disp_type">(prm::TirDispType::INDIRECT).put<"indirect_table">(rqtn_);
    context.put<"transport_domain">(domain_).put<"rx_hash_fn">(prm::RxHashFn::TOEPLITZ);
    context.put<"rx_hash_field_selector_outer.selected_fields">(fields);
    context.bytes<"rx_hash_toeplitz_key">()[3] = std::byte{1};
    return targets_.create_tir(prm::ConstView<prm::tirc>{context.all()}, tirn_);
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
  QCounterTable q_counters_;
  ReceiveTargets targets_{
      {&dma_, &mkeys_, &cqs_, &scheduler_, &lost_, &q_counters_, nullptr, kLongestNs}};
  prm::Buffer<prm::rqc> rqc_;
  std::size_t pas_bytes_ = 8;
  Iova iova_ = 0;
  std::uint32_t cqn_ = 0, lkey_ = 0, domain_ = 0, rqn_ = 0, tirn_ = 0, rqtn_ = 0, posted_ = 0;
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

/// As mlx5e posts them: 0x80000000 is MLX5_HW_START_PADDING of mlx5/device.h.
TEST_F(ReceiveTargetsTest, FrameLongerThanTheFirstSegment_GoesOnInTheSecond) {
  constexpr std::uint32_t kStartPadding = 0x80000000;
  constexpr std::size_t kFirst = 60, kSecondAt = 512;
  make_ready();
  post(kFirst | kStartPadding, lkey_);
  prm::Buffer<prm::mlx5_wqe_data_seg> second;
  second.put<"byte_count">(std::uint32_t{128} | kStartPadding).put<"lkey">(lkey_);
  second.put<"addr">(iova_ + kPayloadAt + kSecondAt);
  std::memcpy(memory_->bytes.data() + kQueueAt + second.all().size(), second.all().data(),
              second.all().size());
  prm::Buffer<prm::mlx5_wqe_data_seg> end;
  end.put<"lkey">(prm::kInvalidLkey);
  std::memcpy(memory_->bytes.data() + kQueueAt + 2 * end.all().size(), end.all().data(),
              end.all().size());
  targets_.deliver(tirn_, frame_);
  const std::span<const std::byte> payload = std::span(memory_->bytes).subspan(kPayloadAt);
  EXPECT_EQ(payload[kFirst - 1], std::byte{0x5a});
  EXPECT_EQ(payload[kFirst], std::byte{0});
  EXPECT_EQ(payload[kSecondAt + 100 - kFirst - 1], std::byte{0x5a});
  EXPECT_EQ(payload[kSecondAt + 100 - kFirst], std::byte{0});
}

TEST_F(ReceiveTargetsTest, NothingPosted_FrameIsLostAndNobodyTold) {
  make_ready();
  targets_.deliver(tirn_, frame_);
  EXPECT_EQ(lost_, 1U);
  EXPECT_FALSE(has_completed());
}

TEST_F(ReceiveTargetsTest, NothingPosted_FrameThatMayWaitIsNotLost) {
  make_ready();
  EXPECT_EQ(targets_.deliver(tirn_, frame_, {.offer = Offer::First}), kLongestNs);
  EXPECT_EQ(targets_.deliver(tirn_, frame_, {.offer = Offer::Again}), kLongestNs);
  EXPECT_EQ(lost_, 0U);
  post(128, lkey_);
  EXPECT_EQ(targets_.deliver(tirn_, frame_, {.offer = Offer::Again}), 0U);
  EXPECT_EQ(completion().get<"byte_cnt">(), 100U);
}

TEST_F(ReceiveTargetsTest, FrameThatWaitedInVain_LetsNoOtherWaitUntilOneFindsAReceive) {
  make_ready();
  EXPECT_EQ(targets_.deliver(tirn_, frame_, {.offer = Offer::Last}), 0U);
  EXPECT_EQ(targets_.deliver(tirn_, frame_, {.offer = Offer::First}), 0U);
  EXPECT_EQ(lost_, 2U);
  post(128, lkey_);
  EXPECT_EQ(targets_.deliver(tirn_, frame_, {.offer = Offer::First}), 0U);
  EXPECT_EQ(targets_.deliver(tirn_, frame_, {.offer = Offer::First}), kLongestNs);
  EXPECT_EQ(lost_, 2U);
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

/// As mlx5_ib asks for it of the queue of a raw packet QP (create_raw_packet_qp_rq), and mlxcx of
/// illumos of all of its own.
TEST_F(ReceiveTargetsTest, QueueInErrorThatFlushes_GivesBackWhatIsPostedToIt) {
  rqc_.set<"flush_in_error_en", 1>();
  make_ready();
  post(128, lkey_);
  ASSERT_TRUE(modify(RqState::RDY, RqState::ERR).ok());
  const auto flushed = error(0);
  EXPECT_EQ(flushed.get<"syndrome">(), prm::number(prm::CqeSyndrome::WR_FLUSH_ERR));
  EXPECT_EQ(flushed.get<"wqe_counter">(), 0U);
  EXPECT_FALSE(targets_.look());
  post(128, lkey_);  // as ib_drain_rq()
  EXPECT_TRUE(targets_.look());
  EXPECT_EQ(error(1).get<"wqe_counter">(), 1U);
  ASSERT_TRUE(modify(RqState::ERR, RqState::RST).ok());
  EXPECT_FALSE(targets_.look());
}

TEST_F(ReceiveTargetsTest, QueueThatFails_FlushesTheReceivesBehindTheOneThatFailed) {
  rqc_.set<"flush_in_error_en", 1>();
  make_ready();
  post(128, lkey_ + 1);
  post(128, lkey_);
  targets_.deliver(tirn_, frame_);
  EXPECT_EQ(error(0).get<"syndrome">(), prm::number(prm::CqeSyndrome::LOCAL_PROT_ERR));
  EXPECT_EQ(error(1).get<"syndrome">(), prm::number(prm::CqeSyndrome::WR_FLUSH_ERR));
}

TEST_F(ReceiveTargetsTest, QueueInErrorThatDoesNotFlush_KeepsItsReceives) {
  make_ready();
  post(128, lkey_);
  ASSERT_TRUE(modify(RqState::RDY, RqState::ERR).ok());
  EXPECT_FALSE(targets_.look());
  EXPECT_EQ(completion().get<"op_own">(), prm::kCqeNeverWritten);
}

TEST_F(ReceiveTargetsTest, RecordOfAQueueThatFlushes_IsNoProducerIndex_NothingIsFlushed) {
  rqc_.set<"flush_in_error_en", 1>();
  make_ready();
  cells::store_release<std::uint32_t>(memory_->bytes.data() + kRecordAt, cells::be32(kEntries + 1));
  ASSERT_TRUE(modify(RqState::RDY, RqState::ERR).ok());
  EXPECT_EQ(completion().get<"op_own">(), prm::kCqeNeverWritten);
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
  domain_ = 7;
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

TEST_F(ReceiveTargetsTest, Completion_SaysWhatTheParserSaw) {
  make_ready();
  post(256, lkey_);
  const auto frame = finished({.payload = 50});
  targets_.deliver(tirn_, frame, {.flow_tag = 0x1234, .metadata = 0x5678});
  EXPECT_EQ(seen().get<"hds_ip_ext">(), unsigned{prm::kCqeL2Ok | prm::kCqeL3Ok | prm::kCqeL4Ok});
  EXPECT_EQ(seen().get<"l4_l3_hdr_type">(),
            prm::l4_l3_hdr_type(prm::CqeL4Type::TCP_ACK_AND_DATA, prm::CqeL3Type::IPV4, false));
  EXPECT_EQ(seen().get<"check_sum">(), fold_sum(ones_sum(std::span(frame).subspan(14))));
  EXPECT_EQ(seen().get<"sop_drop_qpn">(), 0x1234U);
  EXPECT_EQ(seen().get<"ft_metadata">(), 0x5678U);
  EXPECT_EQ(seen().get<"srqn">(), 0x123U);
}

TEST_F(ReceiveTargetsTest, DatagramOfIpOverInfiniBand_StandsBehindItsGrhAndNamesItsInterface) {
  make_ready();
  post(1024, lkey_);
  const auto frame = finished({.udp = true, .payload = 100});
  std::vector<std::byte> bytes(40, std::byte{0x6a});  // a GRH
  bytes.insert(bytes.end(), {frame[12], frame[13], std::byte{0}, std::byte{0}});
  bytes.insert(bytes.end(), frame.begin() + 14, frame.end());
  const IpoibDatagram datagram{bytes, frame, 0x42, 0x10000043, 7};
  targets_.deliver(tirn_, frame, {.flow_tag = 5, .datagram = &datagram});

  EXPECT_EQ(completion().get<"byte_cnt">(), bytes.size());
  EXPECT_EQ(completion().get<"flags_rqpn">(), 0x10000043U);
  EXPECT_EQ(completion().get<"slid">(), 7U);
  EXPECT_EQ(prm::cqe_qpn(completion().get<"sop_drop_qpn">()), 0x42U);
  EXPECT_TRUE(
      std::ranges::equal(std::span(memory_->bytes).subspan(kPayloadAt, bytes.size()), bytes));
  EXPECT_EQ(seen().get<"hds_ip_ext">(), prm::kCqeL2Ok | prm::kCqeL3Ok | prm::kCqeL4Ok);
  EXPECT_EQ(seen().get<"check_sum">(), fold_sum(ones_sum(std::span(frame).subspan(14))));
}

TEST_F(ReceiveTargetsTest, WrongTransportSum_IsDeliveredAndSaid) {
  make_ready();
  post(256, lkey_);
  auto frame = finished({.udp = true, .payload = 50});
  frame.back() ^= std::byte{1};
  targets_.deliver(tirn_, frame);
  EXPECT_EQ(seen().get<"hds_ip_ext">(), unsigned{prm::kCqeL2Ok | prm::kCqeL3Ok});
}

TEST_F(ReceiveTargetsTest, Tag_IsTakenOutUnlessTheQueueKeepsIt) {
  make_ready();
  post(256, lkey_);
  const auto frame = finished({.tag = 0x3005, .payload = 50});
  targets_.deliver(tirn_, frame);
  EXPECT_EQ(seen().get<"byte_cnt">(), frame.size() - 4);
  EXPECT_EQ(seen().get<"vlan_info">(), 0x3005U);
  EXPECT_EQ(seen().get<"l4_l3_hdr_type">() & 1, 1U);
  EXPECT_EQ(memory_->bytes[kPayloadAt + 12], std::byte{0x08});
  const auto rest = std::span(frame).subspan(18);
  EXPECT_EQ(seen().get<"check_sum">(), fold_sum(ones_sum(rest)));
}

TEST_F(ReceiveTargetsTest, Vsd_IsChangedInAReadyQueue) {
  make_ready();
  prm::Buffer<prm::modify_rq_in> in;
  in.put<"rqn">(rqn_).put<"rq_state">(RqState::RDY).put<"ctx.state">(RqState::RDY);
  in.set<"ctx.vsd", 1>().put<"modify_bitmask">(prm::ModifyRq::VSD);
  ASSERT_TRUE(targets_.modify_rq(prm::ConstView<prm::modify_rq_in>{in.all()}).ok());
  post(256, lkey_);
  const auto frame = finished({.tag = 0x3005, .payload = 50});
  targets_.deliver(tirn_, frame);
  EXPECT_EQ(seen().get<"byte_cnt">(), frame.size());
  EXPECT_EQ(seen().get<"l4_l3_hdr_type">() & 1, 0U);
  in.put<"modify_bitmask">(prm::ModifyRq::SCATTER_FCS);
  EXPECT_EQ(targets_.modify_rq(prm::ConstView<prm::modify_rq_in>{in.all()}).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(ReceiveTargetsTest, OwnFrame_ComesBackOnlyToATirThatLetsIt) {
  make_ready();
  post(256, lkey_);
  const auto frame = finished({.payload = 50});
  targets_.deliver(tirn_, frame, {.from = {.is_own = true}});
  EXPECT_FALSE(has_completed());
  prm::Buffer<prm::modify_tir_in> in;
  in.put<"tirn">(tirn_).set<"bitmask.self_lb_en", 1>();
  in.put<"ctx.self_lb_block">(prm::SelfLoopback::UNICAST);
  ASSERT_TRUE(targets_.modify_tir(prm::ConstView<prm::modify_tir_in>{in.all()}).ok());
  targets_.deliver(tirn_, frame, {.from = {.is_own = true}});
  EXPECT_TRUE(has_completed());
}

TEST_F(ReceiveTargetsTest, OwnFrame_ComesToATirOfAnotherDomainAndOfItsOwnDoesNot) {
  make_ready();
  post(256, lkey_);
  const auto frame = finished({.payload = 50});
  targets_.deliver(tirn_, frame, {.from = {.is_own = true, .domain = domain_}});
  EXPECT_FALSE(has_completed());
  targets_.deliver(tirn_, frame, {.from = {.is_own = true, .domain = domain_ + 1}});
  EXPECT_TRUE(has_completed());
}

TEST_F(ReceiveTargetsTest, NothingPosted_IsOutOfBuffer) {
  rqc_.set<"counter_set_id", 1>();
  ASSERT_EQ(q_counters_.allocate(), 1U);
  make_ready();
  targets_.deliver(tirn_, frame_);
  EXPECT_EQ(q_counters_.at(1).out_of_buffer, 1U);
}

TEST_F(ReceiveTargetsTest, HashedFrame_GoesToTheQueueOfItsPlace) {
  make_ready();
  const std::uint32_t first = rqn_;
  ASSERT_TRUE(create_rq().ok());
  const std::array queues{first, first, rqn_, rqn_};
  ASSERT_TRUE(create_table(queues).ok());
  ASSERT_TRUE(create_hashing_tir(prm::number(prm::RxHashField::SRC_IP)).ok());
  // The key has one bit, the last of the first window: the hash is the address's first bit, and
  // below it those that come after.
  post(256, lkey_);
  FrameSpec spec{.payload = 50};
  spec.source = {0x80, 0, 0, 0};
  targets_.deliver(tirn_, finished(spec));
  EXPECT_EQ(seen().get<"rss_hash_result">(), 1U);
  EXPECT_EQ(seen().get<"rss_hash_type">(),
            prm::rss_hash_type(prm::CqeRssIp::IPV4, prm::CqeRssL4::NONE));
  EXPECT_TRUE(has_completed());
  EXPECT_EQ(lost_, 0U);
  spec.source = {0x40, 0, 0, 0};  // 2: the third place, whose queue is not ready
  targets_.deliver(tirn_, finished(spec));
  EXPECT_EQ(lost_, 1U);
}

TEST_F(ReceiveTargetsTest, Table_HoldsItsQueuesAndIsHeld) {
  make_ready();
  const std::array queues{rqn_};
  ASSERT_TRUE(create_table(queues).ok());
  const std::uint32_t direct = tirn_;
  ASSERT_TRUE(create_hashing_tir(3).ok());
  ASSERT_TRUE(targets_.destroy_tir(direct).ok());
  std::uint32_t pd = 0, cqn = 0;
  EXPECT_EQ(targets_.destroy_rq(rqn_, pd, cqn).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ(targets_.tables.destroy(rqtn_).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(targets_.destroy_tir(tirn_).ok());
  EXPECT_TRUE(targets_.tables.destroy(rqtn_).ok());
  EXPECT_TRUE(targets_.destroy_rq(rqn_, pd, cqn).ok());
}

TEST_F(ReceiveTargetsTest, TableThatChanges_LetsGoOfWhatItHeld) {
  make_ready();
  const std::uint32_t first = rqn_;
  ASSERT_TRUE(create_rq().ok());
  const std::array queues{rqn_};
  ASSERT_TRUE(create_table(queues).ok());
  prm::Buffer<prm::modify_rqt_in> in;
  in.put<"rqtn">(rqtn_).set<"bitmask.rqn_list", 1>().set<"ctx.rqt_actual_size", 2>();
  const std::array others{first, first};
  ASSERT_TRUE(
      targets_.tables.modify(prm::ConstView<prm::modify_rqt_in>{in.all()}, list_of(others)).ok());
  std::uint32_t pd = 0, cqn = 0;
  EXPECT_TRUE(targets_.destroy_rq(rqn_, pd, cqn).ok());
  prm::Buffer<prm::rqtc> context;
  std::array<std::byte, 8> list{};
  ASSERT_TRUE(targets_.tables.query(rqtn_, prm::View<prm::rqtc>{context.all()}, list).ok());
  EXPECT_EQ(context.get<"rqt_actual_size">(), 2U);
  EXPECT_EQ(context.get<"rqt_max_size">(), 4U);
  EXPECT_EQ(std::vector(list.begin(), list.end()), list_of(others));
}

TEST_F(ReceiveTargetsTest, TableOfAnImpossibleSize_IsABadParameter) {
  make_ready();
  const std::array three{rqn_, rqn_, rqn_};
  EXPECT_EQ(create_table(three).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_table(std::span(three).first(2), 1).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_table({}).status, CommandStatus::BAD_PARAM_ERR);
  const std::array nobody{77U};
  EXPECT_EQ(create_table(nobody).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(ReceiveTargetsTest, Hash_IsChangedAndReadsBack) {
  make_ready();
  const std::array queues{rqn_};
  ASSERT_TRUE(create_table(queues).ok());
  ASSERT_TRUE(create_hashing_tir(3).ok());
  prm::Buffer<prm::modify_tir_in> in;
  in.put<"tirn">(tirn_).set<"bitmask.hash", 1>();
  in.put<"ctx.rx_hash_fn">(prm::RxHashFn::TOEPLITZ).set<"ctx.rx_hash_symmetric", 1>();
  in.set<"ctx.rx_hash_field_selector_outer.selected_fields", 15>();
  ASSERT_TRUE(targets_.modify_tir(prm::ConstView<prm::modify_tir_in>{in.all()}).ok());
  prm::Buffer<prm::tirc> context;
  ASSERT_TRUE(targets_.query_tir(tirn_, prm::View<prm::tirc>{context.all()}).ok());
  EXPECT_EQ(context.get<"rx_hash_symmetric">(), 1U);
  EXPECT_EQ(context.get<"rx_hash_field_selector_outer.selected_fields">(), 15U);
  EXPECT_EQ(context.get<"indirect_table">(), rqtn_);
  in.set<"ctx.rx_hash_fn", 3>();
  EXPECT_EQ(targets_.modify_tir(prm::ConstView<prm::modify_tir_in>{in.all()}).status,
            CommandStatus::BAD_PARAM_ERR);
}

/// "RQ HW prod" and "RQ HW cons" of mcx_kstat_queue_read (OpenBSD's if_mcx.c).
TEST_F(ReceiveTargetsTest, Rq_SaysHowFarTheDriverAndTheDeviceAre) {
  make_ready();
  post(2048, lkey_);
  prm::Buffer<prm::rqc> context;
  ASSERT_TRUE(targets_.query_rq(rqn_, prm::View<prm::rqc>{context.all()}).ok());
  EXPECT_EQ(context.get<"wq.sw_counter">(), 1U);
  EXPECT_EQ(context.get<"wq.hw_counter">(), 0U);
}

TEST_F(ReceiveTargetsTest, Rq_ReadsBackItsState) {
  make_ready();
  prm::Buffer<prm::rqc> context;
  ASSERT_TRUE(targets_.query_rq(rqn_, prm::View<prm::rqc>{context.all()}).ok());
  EXPECT_EQ(context.get<"state">(), prm::number(RqState::RDY));
  EXPECT_EQ(context.get<"cqn">(), cqn_);
  EXPECT_EQ(targets_.query_rq(99, prm::View<prm::rqc>{context.all()}).status,
            CommandStatus::BAD_RES_ERR);
}

}  // namespace
}  // namespace portcullis::model
