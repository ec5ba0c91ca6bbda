// SPDX-License-Identifier: BSD-3-Clause
//
// Send queues by themselves, on memory mapped for the test: what a command is refused for, and what
// goes out for a WQE.
#include "model/ethernet/send_queues.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/cells.hpp"
#include "model/ethernet/frame_facts.hpp"
#include "model/transport/checksum.hpp"
#include "prm/doorbell.hpp"
#include "prm/ethernet_wqe.hpp"
#include "tests/model/ethernet_frames.hpp"
#include "tests/model/queue_parts.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::SqState;

constexpr std::uint32_t kUar = 20;
constexpr std::uint32_t kPd = 7;
constexpr std::uint32_t kBlocks = 16;
constexpr std::size_t kCompletionAt = 1 * kPageBytes;
constexpr std::size_t kQueueAt = 2 * kPageBytes;
constexpr std::size_t kRecordAt = 3 * kPageBytes;  // the SQ's, then the CQ's
constexpr std::size_t kPayloadAt = 4 * kPageBytes;

struct alignas(kPageBytes) Memory {
  std::array<std::byte, 7 * kPageBytes> bytes{};
};

/// Keeps what goes out; has room for so many more.
class Outlet final : public FrameOutlet {
 public:
  std::span<std::byte> next() override {
    return room == 0 ? std::span<std::byte>{} : std::span<std::byte>(buffer_);
  }
  void send(std::size_t length, std::uint32_t domain) override {
    domains.push_back(domain);
    --room;
    frames.emplace_back(buffer_.begin(), buffer_.begin() + static_cast<long>(length));
  }
  bool is_paused(std::span<const std::byte> /*frame*/, std::uint8_t priority) const override {
    return priority == paused_priority;
  }
  std::optional<std::size_t> steer(std::span<std::byte> room, std::size_t length,
                                   const FrameSender& sender) override {
    asked_by = sender;
    const auto frame = room.first(length);
    asked.emplace_back(frame.begin(), frame.end());
    if (asked.size() == stopped) return std::nullopt;
    if (steered.empty()) return length;
    std::ranges::copy(steered, room.begin());
    return steered.size();
  }
  bool send_datagram(const UnderlayDatagram& datagram) override {
    if (datagram.qpn != underlay) return false;
    --room;
    q_key = static_cast<std::uint32_t>(datagram.address.get<"key">() >> 32);
    frames.emplace_back(datagram.payload.begin(), datagram.payload.end());
    return true;
  }
  FrameSender asked_by;
  std::uint8_t paused_priority = 0xff;  // none
  std::size_t stopped = 0;              // which frame stays here, from 1
  std::vector<std::byte> steered;       // what goes in place of each frame; empty: itself
  std::vector<std::vector<std::byte>> asked;
  std::uint32_t underlay = 0;  // whose datagrams go
  std::uint32_t q_key = 0;     // of the last one
  std::size_t room = 1000;
  std::vector<std::vector<std::byte>> frames;
  std::vector<std::uint32_t> domains;  // of each but datagrams

 private:
  std::array<std::byte, 10240> buffer_{};
};

/// A WQE as a driver builds it.
struct Wqe {
  std::uint8_t opcode = prm::number(prm::WqeOpcode::SEND);
  bool signaled = true;
  std::uint8_t cs_flags = 0;
  std::uint16_t mss = 0;
  std::uint16_t inline_or_insert = 0;
  std::uint16_t tag = 0;
  std::vector<std::byte> header = {};  // inline
  std::vector<std::uint32_t> pieces = {};
  std::uint32_t lkey = 0;
  std::uint32_t sqn = 0;
  bool has_address = false;  // of a datagram, with Q_Key 0xb1b
  std::uint32_t metadata = 0;
};

class SendQueuesTest : public ::testing::Test {
 protected:
  SendQueuesTest() {
    dma_.set_bus_master(true);
    iova_ = iommu_.map(memory_->bytes).value();
    queues_.connect(outlet_);
    for (std::size_t at = 63; at < kPageBytes; at += 64) {
      memory_->bytes[at] = std::byte{1};
      memory_->bytes[kCompletionAt + at] = std::byte{prm::kCqeNeverWritten};
    }
    cqn_ = make_cq(eqs_, cqs_,
                   {.uar = kUar,
                    .log_size = 5,
                    .eq = iova_,
                    .cq = iova_ + kCompletionAt,
                    .record = iova_ + kRecordAt + 64});
    lkey_ = make_lkey(mkeys_, kPd);
    EXPECT_TRUE(domains_.allocate(domain_).ok());
    sqc_.put<"state">(SqState::RST).put<"cqn">(cqn_).set<"flush_in_error_en", 1>();
    sqc_.put<"wq.wq_type">(prm::WqType::CYCLIC).put<"wq.pd">(kPd).put<"wq.uar_page">(kUar);
    sqc_.put<"wq.dbr_addr">(iova_ + kRecordAt).set<"wq.log_wq_stride", 6>();
    sqc_.set<"wq.log_wq_sz", 4>().set<"tis_lst_sz", 1>();
    port_.mtu = 9022;
  }

  Verdict create_tis(std::uint32_t underlay = 0) {
    prm::Buffer<prm::tisc> context;
    context.put<"transport_domain">(domain_).set<"prio", 2>().put<"underlay_qpn">(underlay);
    return queues_.create_tis(prm::ConstView<prm::tisc>{context.all()}, tisn_);
  }
  Verdict create_sq() {
    const std::uint64_t page = cells::be64(iova_ + kQueueAt);
    std::array<std::byte, sizeof page> pas;
    std::memcpy(pas.data(), &page, sizeof page);
    return queues_.create_sq(prm::ConstView<prm::sqc>{sqc_.all()}, pas, sqn_);
  }
  Verdict modify(SqState from, SqState to) {
    prm::Buffer<prm::modify_sq_in> in;
    in.put<"sqn">(sqn_).put<"sq_state">(from).put<"ctx.state">(to);
    return queues_.modify_sq(prm::ConstView<prm::modify_sq_in>{in.all()});
  }
  void make_ready(std::uint32_t underlay = 0) {
    ASSERT_TRUE(create_tis(underlay).ok());
    sqc_.put<"tis_num_0">(tisn_);
    ASSERT_TRUE(create_sq().ok());
    ASSERT_TRUE(modify(SqState::RST, SqState::RDY).ok());
  }
  /// Frame bytes at the payload page.
  void put_payload(std::span<const std::byte> bytes) {
    std::memcpy(memory_->bytes.data() + kPayloadAt, bytes.data(), bytes.size());
  }
  /// A datagram in one piece; its frame.
  std::vector<std::byte> post_frame() {
    auto frame = build_frame({.udp = true, .payload = 100});
    put_payload(frame);
    post({.pieces = {static_cast<std::uint32_t>(frame.size())}});
    return frame;
  }
  /// 250 bytes of TCP, to be sent in three segments.
  void post_large() {
    constexpr std::size_t kHeader = 54;
    const auto whole = build_frame({.payload = 250});
    put_payload(std::span(whole).subspan(kHeader));
    post({.opcode = prm::number(prm::EthernetWqeOpcode::LSO),
          .mss = 100,
          .header = {whole.begin(), whole.begin() + kHeader},
          .pieces = {250}});
  }
  void post(Wqe wqe) {
    // struct mlx5i_tx_wqe of mlx5/core/ipoib/ipoib.h: 48 bytes of address and 16 of padding.
    const std::size_t segment_at = wqe.has_address ? 16 + 48 + 16 : 16;
    std::vector<std::byte> bytes(segment_at + 16);
    const auto ctrl = prm::View<prm::mlx5_wqe_ctrl_seg>::at(bytes);
    const auto segment = prm::View<prm::mlx5_wqe_eth_seg>::at(bytes, segment_at);
    if (wqe.has_address)
      prm::View<prm::mlx5_wqe_av>::at(bytes, 16).put<"key">(std::uint64_t{0xb1b} << 32);
    ctrl.put<"fm_ce_se">(static_cast<std::uint8_t>(wqe.signaled ? prm::kCtrlCqUpdate : 0));
    segment.put<"cs_flags">(wqe.cs_flags);
    segment.put<"mss">(wqe.mss);
    segment.put<"flow_table_metadata">(wqe.metadata);
    segment.put<"inline_hdr_start">(wqe.tag);
    segment.put<"inline_hdr_sz">(
        wqe.header.empty() ? wqe.inline_or_insert : static_cast<std::uint16_t>(wqe.header.size()));
    for (std::size_t i = 0; i < wqe.header.size(); ++i) {
      if (segment_at + 14 + i >= bytes.size()) bytes.resize(bytes.size() + 16);
      bytes[segment_at + 14 + i] = wqe.header[i];
    }
    std::uint64_t from = iova_ + kPayloadAt;
    for (const std::uint32_t size : wqe.pieces) {
      prm::Buffer<prm::mlx5_wqe_data_seg> piece;
      piece.put<"byte_count">(size).put<"addr">(from);
      piece.put<"lkey">(wqe.lkey != 0 ? wqe.lkey : lkey_);
      bytes.insert(bytes.end(), piece.all().begin(), piece.all().end());
      from += size;
    }
    const auto ds = static_cast<std::uint32_t>(bytes.size() / 16);
    const auto again = prm::View<prm::mlx5_wqe_ctrl_seg>::at(bytes);
    again.put<"opmod_idx_opcode">(std::uint32_t{posted_} << 8 | wqe.opcode);
    again.put<"qpn_ds">((wqe.sqn != 0 ? wqe.sqn : sqn_) << 8 | ds);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      memory_->bytes[kQueueAt + (posted_ % kBlocks * 64 + i) % (kBlocks * 64)] = bytes[i];
    posted_ = static_cast<std::uint16_t>(posted_ + (bytes.size() + 63) / 64);
  }
  void ring() {
    cells::store_release<std::uint32_t>(memory_->bytes.data() + kRecordAt + 4,
                                        cells::be32(posted_));
    queues_.kick_uar(kUar);
    while (scheduler_.loop().step(0)) {
    }
  }
  [[nodiscard]] prm::ConstView<prm::mlx5_cqe64> completion(std::size_t index) const {
    return prm::ConstView<prm::mlx5_cqe64>::at(memory_->bytes, kCompletionAt + index * 64);
  }
  [[nodiscard]] bool is_completed(std::size_t index) const {
    return memory_->bytes[kCompletionAt + index * 64 + 63] != std::byte{prm::kCqeNeverWritten};
  }
  [[nodiscard]] prm::CqeSyndrome syndrome(std::size_t index) const {
    return prm::CqeSyndrome{static_cast<std::uint8_t>(
        prm::ConstView<prm::mlx5_err_cqe>::at(memory_->bytes, kCompletionAt + index * 64)
            .get<"syndrome">())};
  }
  [[nodiscard]] prm::CqeOpcode opcode(std::size_t index) const {
    return prm::cqe_opcode(completion(index).get<"op_own">());
  }

  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  Iommu iommu_ = std::move(Iommu::create()).value();
  std::uint64_t faults_ = 0;
  Dma dma_{iommu_, faults_};
  EqTable eqs_{dma_, 4, [](void*, prm::HealthSyndrome) {}, nullptr};
  Scheduler scheduler_{std::make_shared<EventLoop>(Execution::Stepped, 1)};
  CqTable cqs_{dma_, eqs_, scheduler_, 4};
  MkeyTable mkeys_{10};
  Domains domains_{4};
  PortSettings port_;
  PortCounters counters_;
  Outlet outlet_;
  SendQueues queues_{{&dma_, &mkeys_, &cqs_, &scheduler_, &domains_, &port_, &counters_}};
  prm::Buffer<prm::sqc> sqc_;
  Iova iova_ = 0;
  std::uint32_t cqn_ = 0, lkey_ = 0, domain_ = 0, tisn_ = 0, sqn_ = 0;
  std::uint16_t posted_ = 0;
};

TEST_F(SendQueuesTest, Frame_LeavesAsItStandsInMemory) {
  make_ready();
  const auto frame = build_frame({.udp = true, .payload = 100});
  put_payload(frame);
  post({.pieces = {60, static_cast<std::uint32_t>(frame.size() - 60)}});
  ring();
  ASSERT_EQ(outlet_.frames.size(), 1U);
  EXPECT_EQ(outlet_.frames[0], frame);
  EXPECT_EQ(opcode(0), prm::CqeOpcode::REQ);
  EXPECT_EQ(completion(0).get<"wqe_counter">(), 0U);
  EXPECT_EQ(prm::cqe_qpn(completion(0).get<"sop_drop_qpn">()), sqn_);
}

/// As mcx_create_sq of OpenBSD's if_mcx.c has it, whose mcx_start counts where it points.
TEST_F(SendQueuesTest, RecordNamedByItsSecondHalf_IsTheSameRecord) {
  sqc_.put<"wq.dbr_addr">(iova_ + kRecordAt + 4);
  make_ready();
  const auto frame = post_frame();
  ring();
  ASSERT_EQ(outlet_.frames.size(), 1U);
  EXPECT_EQ(outlet_.frames[0], frame);
}

TEST_F(SendQueuesTest, Frame_BelongsToTheDomainOfItsTis) {
  ASSERT_TRUE(domains_.allocate(domain_).ok());  // another one than the first
  make_ready();
  const auto frame = build_frame({.payload = 100});
  put_payload(frame);
  post({.pieces = {static_cast<std::uint32_t>(frame.size())}});
  ring();
  EXPECT_EQ(outlet_.domains, std::vector<std::uint32_t>{domain_});
}

TEST_F(SendQueuesTest, FlowTables_HearWhoSendsAndWhatItSays) {
  make_ready();
  const auto frame = build_frame({.payload = 100});
  put_payload(frame);
  post({.pieces = {static_cast<std::uint32_t>(frame.size())}, .metadata = 0x77});
  ring();
  EXPECT_EQ(outlet_.asked_by.sqn, sqn_);
  EXPECT_EQ(outlet_.asked_by.metadata, 0x77U);
}

TEST_F(SendQueuesTest, InlineHeader_StandsBeforeTheData) {
  make_ready();
  const auto frame = build_frame({.payload = 100});
  put_payload(std::span(frame).subspan(18));
  post({.header = {frame.begin(), frame.begin() + 18},
        .pieces = {static_cast<std::uint32_t>(frame.size() - 18)}});
  ring();
  ASSERT_EQ(outlet_.frames.size(), 1U);
  EXPECT_EQ(outlet_.frames[0], frame);
}

TEST_F(SendQueuesTest, ShortFrame_IsPaddedWithZeros) {
  make_ready();
  const std::vector<std::byte> frame(20, std::byte{0xab});
  put_payload(frame);
  post({.pieces = {20}});
  ring();
  ASSERT_EQ(outlet_.frames.size(), 1U);
  EXPECT_EQ(outlet_.frames[0].size(), 60U);
  EXPECT_EQ(outlet_.frames[0][19], std::byte{0xab});
  EXPECT_EQ(outlet_.frames[0][20], std::byte{0});
}

TEST_F(SendQueuesTest, Tag_GoesInBehindTheAddresses) {
  make_ready();
  const auto frame = build_frame({.udp = true, .payload = 60});
  put_payload(frame);
  post({.cs_flags = prm::kEthL3Csum | prm::kEthL4Csum,
        .inline_or_insert = prm::kEthInsertVlan,
        .tag = 0x6005,
        .pieces = {static_cast<std::uint32_t>(frame.size())}});
  ring();
  ASSERT_EQ(outlet_.frames.size(), 1U);
  const FrameFacts facts = facts_of(outlet_.frames[0]);
  EXPECT_EQ(facts.tag, 0x6005);
  EXPECT_EQ(outlet_.frames[0].size(), frame.size() + 4);
  EXPECT_TRUE(facts.l3_ok);
  EXPECT_TRUE(is_transport_right(outlet_.frames[0], facts));
}

TEST_F(SendQueuesTest, LargeSend_IsCutIntoSegmentsThatAddUp) {
  make_ready();
  const auto whole = build_frame({.payload = 250});
  constexpr std::size_t kHeader = 54;
  put_payload(std::span(whole).subspan(kHeader));
  post({.opcode = prm::number(prm::EthernetWqeOpcode::LSO),
        .mss = 100,
        .header = {whole.begin(), whole.begin() + kHeader},
        .pieces = {30, 220}});
  ring();
  ASSERT_EQ(outlet_.frames.size(), 3U);
  std::vector<std::byte> payload;
  for (const auto& frame : outlet_.frames) {
    const FrameFacts facts = facts_of(frame);
    EXPECT_TRUE(facts.l3_ok);
    EXPECT_TRUE(is_transport_right(frame, facts));
    payload.insert(payload.end(), frame.begin() + kHeader,
                   frame.begin() + static_cast<long>(facts.end));
  }
  EXPECT_EQ(payload, std::vector<std::byte>(whole.begin() + kHeader, whole.end()));
  EXPECT_EQ(opcode(0), prm::CqeOpcode::REQ);
  EXPECT_FALSE(is_completed(1));
}

TEST_F(SendQueuesTest, LargeSendWithoutRoom_GoesOnWhereItWas) {
  make_ready();
  post_large();
  outlet_.room = 1;
  ring();
  ASSERT_EQ(outlet_.frames.size(), 1U);
  EXPECT_FALSE(is_completed(0));
  outlet_.room = 10;
  queues_.room();
  while (scheduler_.loop().step(0)) {
  }
  ASSERT_EQ(outlet_.frames.size(), 3U);
  EXPECT_EQ(load_be16(&outlet_.frames[2][34 + 6]), 205U);  // the third's sequence number
  EXPECT_TRUE(is_completed(0));
}

/// What the IPoIB form of an Ethernet frame is.
std::vector<std::byte> as_datagram(const std::vector<std::byte>& frame) {
  std::vector<std::byte> datagram{frame[12], frame[13], std::byte{0}, std::byte{0}};
  datagram.insert(datagram.end(), frame.begin() + 14, frame.end());
  return datagram;
}

TEST_F(SendQueuesTest, TisOfAnUnderlay_SendsTheSameAsIpOverInfiniBand) {
  outlet_.underlay = 0x42;
  make_ready(0x42);
  const auto frame = build_frame({.udp = true, .payload = 100});
  const auto datagram = as_datagram(frame);
  put_payload(datagram);
  post({.cs_flags = prm::kEthL3Csum | prm::kEthL4Csum,
        .pieces = {static_cast<std::uint32_t>(datagram.size())},
        .has_address = true});
  ring();
  auto finished = frame;
  fill_checksums(finished, prm::kEthL3Csum | prm::kEthL4Csum);
  ASSERT_EQ(outlet_.frames.size(), 1U);
  EXPECT_EQ(outlet_.frames[0], as_datagram(finished));
  EXPECT_EQ(outlet_.q_key, 0xb1bU);
  EXPECT_EQ(opcode(0), prm::CqeOpcode::REQ);
}

TEST_F(SendQueuesTest, LargeSendOfAnUnderlay_IsCutAsOneOfEthernetIs) {
  const auto whole = build_frame({.payload = 2500});
  const std::size_t headers = whole.size() - 2500;
  put_payload(std::span(whole).subspan(headers));
  const auto large = [&](std::vector<std::byte> header, bool has_address) {
    post({.opcode = prm::number(prm::EthernetWqeOpcode::LSO),
          .mss = 1000,
          .header = std::move(header),
          .pieces = {2500},
          .has_address = has_address});
    ring();
  };
  make_ready();
  const auto head =
      std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<long>(headers));
  large(head, false);
  const auto segments = std::exchange(outlet_.frames, {});
  ASSERT_EQ(segments.size(), 3U);

  outlet_.underlay = 0x42;
  posted_ = 0;
  make_ready(0x42);
  large(as_datagram(head), true);
  ASSERT_EQ(outlet_.frames.size(), 3U);
  EXPECT_EQ(outlet_.frames[0], as_datagram(segments[0]));
  EXPECT_EQ(outlet_.frames[1], as_datagram(segments[1]));
  EXPECT_EQ(outlet_.frames[2], as_datagram(segments[2]));
}

TEST_F(SendQueuesTest, DatagramOfAQueuePairThatIsNone_IsAnError) {
  make_ready(0x42);
  post({.pieces = {64}, .has_address = true});
  ring();
  EXPECT_EQ(syndrome(0), prm::CqeSyndrome::LOCAL_QP_OP_ERR);
  EXPECT_TRUE(outlet_.frames.empty());
}

TEST_F(SendQueuesTest, TagInADatagram_IsAnError) {
  outlet_.underlay = 0x42;
  make_ready(0x42);
  post({.inline_or_insert = prm::kEthInsertVlan, .tag = 5, .pieces = {64}, .has_address = true});
  ring();
  EXPECT_EQ(syndrome(0), prm::CqeSyndrome::LOCAL_QP_OP_ERR);
  EXPECT_TRUE(outlet_.frames.empty());
}

TEST_F(SendQueuesTest, DatagramOfAnotherType_LeavesAsItStands) {
  outlet_.underlay = 0x42;
  make_ready(0x42);
  const auto frame = build_frame({.udp = true, .payload = 100});
  auto datagram = as_datagram(frame);
  datagram[0] = std::byte{0x81};  // 802.1Q on Ethernet, where an IPv4 packet could stand behind it
  put_payload(datagram);
  post({.cs_flags = prm::kEthL3Csum | prm::kEthL4Csum,
        .pieces = {static_cast<std::uint32_t>(datagram.size())},
        .has_address = true});
  ring();
  ASSERT_EQ(outlet_.frames.size(), 1U);
  EXPECT_EQ(outlet_.frames[0], datagram);
}

TEST_F(SendQueuesTest, DatagramWithoutItsHeader_IsTooShort) {
  outlet_.underlay = 0x42;
  make_ready(0x42);
  post({.pieces = {3}, .has_address = true});
  ring();
  EXPECT_EQ(syndrome(0), prm::CqeSyndrome::LOCAL_LENGTH_ERR);
}

TEST_F(SendQueuesTest, DatagramLongerThanAnMtu_IsTooLong) {
  outlet_.underlay = 0x42;
  make_ready(0x42);
  post({.pieces = {4097}, .has_address = true});
  ring();
  EXPECT_EQ(syndrome(0), prm::CqeSyndrome::LOCAL_LENGTH_ERR);
}

/// tisc.prio has the priority one bit higher (mlx5e_create_tises): create_tis() says 1.
TEST_F(SendQueuesTest, FrameOfAPausedPriority_GoesWhenItMay) {
  make_ready();
  outlet_.paused_priority = 1;
  const auto frame = post_frame();
  ring();
  ring();
  EXPECT_TRUE(outlet_.frames.empty());
  EXPECT_FALSE(is_completed(0));
  EXPECT_EQ(counters_.port.priorities[1].sent.packets, 0U);
  outlet_.paused_priority = 0xff;
  queues_.room();
  ring();
  ASSERT_EQ(outlet_.frames.size(), 1U);
  EXPECT_EQ(outlet_.frames[0], frame);
  EXPECT_TRUE(is_completed(0));
  EXPECT_EQ(counters_.port.priorities[1].sent.packets, 1U);
}

TEST_F(SendQueuesTest, FrameOfAnotherPriority_GoesOn) {
  make_ready();
  outlet_.paused_priority = 0;
  post_frame();
  ring();
  EXPECT_EQ(outlet_.frames.size(), 1U);
}

/// Of a raw packet queue pair test_root_tbl_drop_action of rdma-core (tests/test_mlx5_dr.py) polls
/// the completion of each frame that a rule drops.
TEST_F(SendQueuesTest, FrameThatIsNotLetOut_CompletesAndIsNotCounted) {
  make_ready();
  outlet_.stopped = 1;
  post_frame();
  ring();
  EXPECT_TRUE(outlet_.frames.empty());
  EXPECT_EQ(opcode(0), prm::CqeOpcode::REQ);
  EXPECT_EQ(counters_.port.sent[0].packets + counters_.vport.sent[0].packets, 0U);
  post_frame();
  ring();
  EXPECT_EQ(outlet_.frames.size(), 1U);
  EXPECT_EQ(counters_.port.sent[0].packets, 1U);
}

TEST_F(SendQueuesTest, Tables_SeeEachSegmentAsItGoesOut) {
  make_ready();
  post_large();
  outlet_.stopped = 2;
  ring();
  ASSERT_EQ(outlet_.asked.size(), 3U);
  ASSERT_EQ(outlet_.frames.size(), 2U);
  EXPECT_EQ(outlet_.frames[0], outlet_.asked[0]);
  EXPECT_EQ(outlet_.frames[1], outlet_.asked[2]);
  EXPECT_EQ(opcode(0), prm::CqeOpcode::REQ);
}

TEST_F(SendQueuesTest, Tables_SeeTheTagThatIsPutIn) {
  make_ready();
  const auto frame = build_frame({.udp = true, .payload = 60});
  put_payload(frame);
  post({.inline_or_insert = prm::kEthInsertVlan,
        .tag = 0x6005,
        .pieces = {static_cast<std::uint32_t>(frame.size())}});
  ring();
  ASSERT_EQ(outlet_.asked.size(), 1U);
  EXPECT_EQ(facts_of(outlet_.asked[0]).tag, 0x6005);
}

TEST_F(SendQueuesTest, WhatTablesMakeOfAFrame_GoesPaddedInItsPlace) {
  make_ready();
  outlet_.steered = build_frame({.udp = true, .payload = 1});
  post_frame();
  ring();
  ASSERT_EQ(outlet_.frames.size(), 1U);
  auto wanted = outlet_.steered;
  wanted.resize(60);
  EXPECT_EQ(outlet_.frames[0], wanted);
}

TEST_F(SendQueuesTest, FrameThatTablesMadeTooLongForThePort_IsLost) {
  make_ready();
  port_.mtu = 1522;
  outlet_.steered = build_frame({.udp = true, .payload = 1522 - 4 - 42 + 1});
  post_frame();
  ring();
  EXPECT_TRUE(outlet_.frames.empty());
  EXPECT_EQ(opcode(0), prm::CqeOpcode::REQ);
  outlet_.steered.pop_back();
  post_frame();
  ring();
  EXPECT_EQ(outlet_.frames.size(), 1U);
}

TEST_F(SendQueuesTest, FrameThatWaits_IsAskedForOnceAndWhenItGoes) {
  make_ready();
  outlet_.paused_priority = 1;
  post_frame();
  ring();
  EXPECT_TRUE(outlet_.asked.empty());
  outlet_.paused_priority = 0xff;
  outlet_.room = 0;
  queues_.room();
  ring();
  EXPECT_TRUE(outlet_.asked.empty());
  outlet_.room = 1;
  queues_.room();
  ring();
  EXPECT_EQ(outlet_.asked.size(), 1U);
  EXPECT_EQ(outlet_.frames.size(), 1U);
}

TEST_F(SendQueuesTest, DatagramWithoutRoom_GoesWhenThereIsSome) {
  outlet_.underlay = 0x42;
  outlet_.room = 0;
  make_ready(0x42);
  post({.pieces = {64}, .has_address = true});
  ring();
  EXPECT_TRUE(outlet_.frames.empty());
  outlet_.room = 1;
  queues_.room();
  while (scheduler_.loop().step(0)) {
  }
  EXPECT_EQ(outlet_.frames.size(), 1U);
}

TEST_F(SendQueuesTest, Unsignaled_CompletesNothing) {
  make_ready();
  put_payload(build_frame({.payload = 60}));
  post({.signaled = false, .pieces = {100}});
  post({.pieces = {100}});
  ring();
  EXPECT_EQ(outlet_.frames.size(), 2U);
  EXPECT_EQ(completion(0).get<"wqe_counter">(), 1U);
  EXPECT_FALSE(is_completed(1));
}

TEST_F(SendQueuesTest, FrameLongerThanThePort_IsDroppedAndCounted) {
  make_ready();
  port_.mtu = 1522;
  post({.pieces = {1519}});
  post({.pieces = {1518}});
  ring();
  EXPECT_EQ(outlet_.frames.size(), 1U);
  EXPECT_EQ(counters_.port.send_discards, 1U);
  EXPECT_TRUE(is_completed(1));
}

TEST_F(SendQueuesTest, KeyOfNobody_IsAnErrorAndTheRestIsFlushed) {
  make_ready();
  post({.pieces = {100}, .lkey = lkey_ + 1});
  post({.signaled = false, .pieces = {100}});
  ring();
  EXPECT_TRUE(outlet_.frames.empty());
  EXPECT_EQ(opcode(0), prm::CqeOpcode::REQ_ERR);
  EXPECT_EQ(syndrome(0), prm::CqeSyndrome::LOCAL_PROT_ERR);
  EXPECT_EQ(syndrome(1), prm::CqeSyndrome::WR_FLUSH_ERR);
  EXPECT_EQ(modify(SqState::RDY, SqState::RST).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_TRUE(modify(SqState::ERR, SqState::RST).ok());
}

TEST_F(SendQueuesTest, QueueWithoutFlushing_SaysNothingOfTheRest) {
  sqc_.set<"flush_in_error_en", 0>();
  make_ready();
  post({.pieces = {100}, .lkey = lkey_ + 1});
  post({.pieces = {100}});
  ring();
  EXPECT_EQ(syndrome(0), prm::CqeSyndrome::LOCAL_PROT_ERR);
  EXPECT_FALSE(is_completed(1));
}

struct Spoiled {
  const char* name;
  Wqe wqe;
};
class SpoiledWqe : public SendQueuesTest, public ::testing::WithParamInterface<Spoiled> {};

TEST_P(SpoiledWqe, IsAnErrorAndNoFrame) {
  make_ready();
  post(GetParam().wqe);
  ring();
  EXPECT_TRUE(outlet_.frames.empty());
  EXPECT_EQ(opcode(0), prm::CqeOpcode::REQ_ERR);
  EXPECT_EQ(modify(SqState::ERR, SqState::RST).status, CommandStatus::OK);
}

constexpr std::uint8_t kLso = prm::number(prm::EthernetWqeOpcode::LSO);
INSTANTIATE_TEST_SUITE_P(
    Wqes, SpoiledWqe,
    ::testing::Values(
        Spoiled{"OtherQueue", {.pieces = {100}, .sqn = 0x77}},
        Spoiled{"RdmaWrite", {.opcode = 0x08, .pieces = {100}}},
        Spoiled{"InnerChecksum", {.cs_flags = 0x10, .pieces = {100}}},
        Spoiled{"LessThanAHeader", {.pieces = {13}}},
        Spoiled{"LsoWithoutMss", {.opcode = kLso, .header = build_frame({}), .pieces = {100}}},
        Spoiled{"LsoWithoutHeader", {.opcode = kLso, .mss = 100, .pieces = {200}}},
        Spoiled{
            "LsoOfNoTcp",
            {.opcode = kLso, .mss = 100, .header = std::vector<std::byte>(60), .pieces = {200}}},
        Spoiled{"InlineBeyondTheWqe", {.inline_or_insert = 0x7fff, .pieces = {100}}},
        Spoiled{"TooLong", {.pieces = {0x7fffffff}}}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_F(SendQueuesTest, Nop_CompletesWithoutATis) {
  sqc_.set<"tis_lst_sz", 0>();
  ASSERT_TRUE(create_sq().ok());
  ASSERT_TRUE(modify(SqState::RST, SqState::RDY).ok());
  post({.opcode = prm::number(prm::WqeOpcode::NOP)});
  post({.pieces = {100}});
  ring();
  EXPECT_EQ(opcode(0), prm::CqeOpcode::REQ);
  EXPECT_EQ(opcode(1), prm::CqeOpcode::REQ_ERR);
  EXPECT_TRUE(outlet_.frames.empty());
}

TEST_F(SendQueuesTest, RecordThatIsNoIndex_EndsTheQueue) {
  make_ready();
  posted_ = kBlocks + 1;
  ring();
  EXPECT_TRUE(outlet_.frames.empty());
  EXPECT_TRUE(modify(SqState::ERR, SqState::RST).ok());
}

TEST_F(SendQueuesTest, QueueInReset_SendsNothing) {
  ASSERT_TRUE(create_tis().ok());
  sqc_.put<"tis_num_0">(tisn_);
  ASSERT_TRUE(create_sq().ok());
  post({.pieces = {100}});
  ring();
  EXPECT_TRUE(outlet_.frames.empty());
}

// mlx5e's recovery starts at index 0 again and leaves the record as it is until it posts
// (mlx5e_reset_txqsq_cc_pc); a kick of another queue on the UAR reads it all the same.
TEST_F(SendQueuesTest, OldRecordAfterReset_IsNoNews) {
  make_ready();
  put_payload(build_frame({.payload = 60}));
  post({.pieces = {100}});
  post({.pieces = {100}});
  ring();
  ASSERT_EQ(outlet_.frames.size(), 2U);
  ASSERT_TRUE(modify(SqState::RDY, SqState::RST).ok());
  ASSERT_TRUE(modify(SqState::RST, SqState::RDY).ok());
  ring();
  EXPECT_EQ(outlet_.frames.size(), 2U);
  posted_ = 0;
  post({.pieces = {100}});
  ring();
  EXPECT_EQ(outlet_.frames.size(), 3U);
}

TEST_F(SendQueuesTest, ManyFrames_WrapTheQueue) {
  make_ready();
  put_payload(build_frame({.payload = 60}));
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 7; ++i) post({.signaled = false, .pieces = {100}});
    ring();
  }
  EXPECT_EQ(outlet_.frames.size(), 70U);
}

TEST_F(SendQueuesTest, WhatOthersReferTo_IsNotDestroyed) {
  make_ready();
  EXPECT_EQ(queues_.destroy_tis(tisn_).status, CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ(domains_.free(domain_).status, CommandStatus::BAD_RES_STATE_ERR);
  SendQueues::Used used;
  EXPECT_TRUE(queues_.destroy_sq(sqn_, used).ok());
  EXPECT_EQ(used.cqn, cqn_);
  EXPECT_TRUE(queues_.destroy_tis(tisn_).ok());
  EXPECT_TRUE(domains_.free(domain_).ok());
}

TEST_F(SendQueuesTest, WhatIsNotThere_IsABadResource) {
  sqc_.set<"tis_num_0", 99>();
  EXPECT_EQ(create_sq().status, CommandStatus::BAD_RES_ERR);
  domain_ = 77;
  EXPECT_EQ(create_tis().status, CommandStatus::BAD_RES_ERR);
  SendQueues::Used used;
  EXPECT_EQ(queues_.destroy_sq(1, used).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(queues_.destroy_tis(1).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(SendQueuesTest, WhatIsNotOffered_IsABadParameter) {
  ASSERT_TRUE(create_tis().ok());
  sqc_.put<"tis_num_0">(tisn_).set<"hairpin", 1>();
  EXPECT_EQ(create_sq().status, CommandStatus::BAD_PARAM_ERR);
  sqc_.set<"hairpin", 0>().set<"wq.log_wq_stride", 5>();
  EXPECT_EQ(create_sq().status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(SendQueuesTest, Tis_ReadsBackItsPriority) {
  ASSERT_TRUE(create_tis().ok());
  prm::Buffer<prm::modify_tis_in> in;
  in.put<"tisn">(tisn_).set<"bitmask.prio", 1>().set<"ctx.prio", 6>();
  EXPECT_TRUE(queues_.modify_tis(prm::ConstView<prm::modify_tis_in>{in.all()}).ok());
  prm::Buffer<prm::tisc> context;
  EXPECT_TRUE(queues_.query_tis(tisn_, prm::View<prm::tisc>{context.all()}).ok());
  EXPECT_EQ(context.get<"prio">(), 6U);
  EXPECT_EQ(context.get<"transport_domain">(), domain_);
}

}  // namespace
}  // namespace portcullis::model::testing
