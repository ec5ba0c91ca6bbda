// SPDX-License-Identifier: BSD-3-Clause
//
// Compressed completion entries, read as Linux reads them: mlx5e_decompress_cqes_start and _cont of
// mlx5/core/en_rx.c, written down here a second time.
#include "model/cqe_session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/cells.hpp"
#include "model/cq.hpp"
#include "prm/doorbell.hpp"
#include "prm/ethernet_wqe.hpp"
#include "tests/model/queue_parts.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kUar = 20;
constexpr std::uint32_t kLogSize = 5;
constexpr std::uint32_t kEntries = 1U << kLogSize;
constexpr std::uint64_t kTimeoutNs = CqeSession::kTimeoutUs * 1000;
constexpr std::size_t kCqAt = kPageBytes;
constexpr std::size_t kRecordAt = 3 * kPageBytes;

struct alignas(kPageBytes) Memory {
  std::array<std::byte, 4 * kPageBytes> bytes{};
};

/// What a driver makes of one completion.
struct Received {
  std::uint32_t byte_cnt = 0;
  std::uint32_t checksum = 0;
  std::uint32_t wqe_counter = 0;
  bool operator==(const Received&) const = default;
};
void PrintTo(const Received& r, std::ostream* out) {
  *out << r.byte_cnt << " bytes, sum " << r.checksum << ", WQE " << r.wqe_counter;
}

class Compression : public ::testing::Test {
 protected:
  Compression() {
    dma_.set_bus_master(true);
    iova_ = iommu_.map(memory_->bytes).value();
    for (std::size_t at = 63; at < kPageBytes; at += 64) memory_->bytes[at] = std::byte{1};
    cqc_.put<"log_cq_size">(kLogSize).put<"uar_page">(kUar);
    cqc_.put<"dbr_addr">(iova_ + kRecordAt).set<"cqe_comp_en", 1>();
    cqc_.put<"mini_cqe_res_format">(prm::MiniCqeFormat::CSUM);
  }
  void create() {
    prm::Buffer<prm::eqc> eq;
    eq.set<"log_eq_size", 4>().put<"uar_page">(kUar);
    const std::array<std::byte, 32> mask{};
    std::uint32_t eqn = 0;
    ASSERT_TRUE(eqs_.create(prm::ConstView<prm::eqc>{eq.all()}, mask, {iova_}, eqn).ok());
    cqc_.put<"c_eqn_or_apu_element">(eqn);
    for (std::size_t i = 0; i < kEntries; ++i) slot(i).back() = std::byte{prm::kCqeNeverWritten};
    ASSERT_TRUE(cqs_.create(prm::ConstView<prm::cqc>{cqc_.all()},
                            {iova_ + kCqAt, iova_ + kCqAt + kPageBytes}, cqn_)
                    .ok());
  }
  /// The 64 bytes of an entry that drivers read, whatever its size.
  std::span<std::byte> slot(std::size_t index) {
    const std::size_t stride = cqc_.get<"cqe_sz">() == 0 ? 64 : 128;
    return std::span(memory_->bytes)
        .subspan(kCqAt + (index % kEntries + 1) * stride - 64, prm::kCqeBytes);
  }
  prm::ConstView<prm::mlx5_ethernet_cqe> entry(std::size_t index) {
    return prm::ConstView<prm::mlx5_ethernet_cqe>(slot(index).first<prm::kCqeBytes>());
  }
  /// A frame of so many bytes; each has a sum and a hash of its own.
  bool receive(std::uint32_t bytes, std::uint32_t flow_tag = 0,
               prm::CqeOpcode opcode = prm::CqeOpcode::RESP_SEND) {
    prm::Buffer<prm::mlx5_ethernet_cqe> frame;
    frame.put<"check_sum">(static_cast<std::uint16_t>(bytes + 1)).put<"sop_drop_qpn">(flow_tag);
    frame.put<"rss_hash_result">(bytes + 2).put<"rss_hash_type">(std::uint8_t{0x88});
    Completion completion;
    completion.opcode = opcode;
    completion.wqe_counter = next_++;
    completion.byte_cnt = bytes;
    completion.ethernet = &frame;
    return cqs_.complete(cqn_, completion, scheduler_.now_ns());
  }
  void receive_many(std::uint32_t count, std::uint32_t first = 100) {
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_TRUE(receive(first + i));
  }
  void pass(std::uint64_t ns) {
    const std::uint64_t until = scheduler_.now_ns() + ns;
    while (scheduler_.now_ns() < until) static_cast<void>(scheduler_.loop().step(until));
  }
  [[nodiscard]] bool is_ready(std::uint32_t index) {
    return prm::cqe_is_ready(entry(index).get<"op_own">(), index, kLogSize);
  }
  /// As mlx5e polls: what is ready from the consumer index on, whose slots it takes over.
  std::vector<Received> poll() {
    std::vector<Received> all;
    while (is_ready(consumer_)) {
      const auto title = entry(consumer_);
      const bool is_block = prm::cqe_format(title.get<"op_own">()) == prm::kCqeCompressed;
      is_block ? read_block(all) : read_one(all);
    }
    cells::store_release<std::uint32_t>(memory_->bytes.data() + kRecordAt, cells::be32(consumer_));
    return all;
  }
  void read_one(std::vector<Received>& all) {
    const auto one = entry(consumer_++);
    all.push_back({one.get<"byte_cnt">(), one.get<"check_sum">(), one.get<"wqe_counter">()});
  }
  void read_block(std::vector<Received>& all) {
    const std::uint32_t count = entry(consumer_).get<"byte_cnt">();
    std::uint32_t counter = entry(consumer_).get<"wqe_counter">();
    std::array<std::byte, prm::kCqeBytes> minis{};
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i % 8 == 0) std::ranges::copy(slot(consumer_ + (i == 0 ? 1 : i)), minis.begin());
      const auto mini =
          prm::ConstView<prm::mlx5_mini_cqe8>::at(std::span<const std::byte>(minis), i % 8 * 8);
      all.push_back({mini.get<"byte_cnt">(), mini.get<"checksum">(), counter++});
    }
    for (std::uint32_t i = 0; i < count; ++i, ++consumer_)
      slot(consumer_).back() = std::byte{prm::owner_bit(consumer_, kLogSize)};
    ++blocks_;
  }
  /// What receive_many() left.
  static std::vector<Received> frames(std::uint32_t count, std::uint32_t first = 100,
                                      std::uint32_t counter = 0) {
    std::vector<Received> all;
    for (std::uint32_t i = 0; i < count; ++i)
      all.push_back({first + i, first + i + 1, counter + i});
    return all;
  }

  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  Iommu iommu_ = std::move(Iommu::create()).value();
  std::uint64_t faults_ = 0;
  Dma dma_{iommu_, faults_};
  EqTable eqs_{dma_, 4, [](void*, prm::HealthSyndrome) {}, nullptr};
  Scheduler scheduler_{std::make_shared<EventLoop>(Execution::Stepped, 1)};
  CqTable cqs_{dma_, eqs_, scheduler_, 4};
  prm::Buffer<prm::cqc> cqc_;
  Iova iova_ = 0;
  std::uint32_t cqn_ = 0, consumer_ = 0, blocks_ = 0;
  std::uint16_t next_ = 0;
};

TEST_F(Compression, FramesThatAreAlike_AreOneBlockAfterTheTimeout) {
  create();
  receive_many(3);
  EXPECT_FALSE(is_ready(0));
  pass(kTimeoutNs);
  EXPECT_EQ(poll(), frames(3));
  EXPECT_EQ(blocks_, 1U);
}

TEST_F(Compression, FrameAlone_IsAnEntryAsEver) {
  create();
  receive_many(1);
  pass(kTimeoutNs);
  EXPECT_EQ(poll(), frames(1));
  EXPECT_EQ(blocks_, 0U);
}

TEST_F(Compression, BlockOfSeveralArrays_HasEachInTheSlotOfItsFirstFrame) {
  create();
  receive_many(19);
  pass(kTimeoutNs);
  EXPECT_EQ(poll(), frames(19));
  EXPECT_EQ(blocks_, 1U);
}

TEST_F(Compression, BlockAtTheQueuesEnd_EndsThereAndAnotherBegins) {
  create();
  receive_many(kEntries - 5);
  pass(kTimeoutNs);
  ASSERT_EQ(poll().size(), kEntries - 5);
  receive_many(20, 500);
  EXPECT_EQ(entry(kEntries - 5).get<"byte_cnt">(), 5U);
  pass(kTimeoutNs);
  EXPECT_EQ(entry(0).get<"byte_cnt">(), 15U);
  EXPECT_EQ(poll(), frames(20, 500, kEntries - 5));
}

TEST_F(Compression, FrameThatDiffers_BeginsAnotherBlock) {
  create();
  receive_many(2);
  ASSERT_TRUE(receive(102, 7));
  ASSERT_TRUE(receive(103, 7));
  EXPECT_TRUE(is_ready(0));
  pass(kTimeoutNs);
  EXPECT_EQ(poll(), frames(4));
  EXPECT_EQ(blocks_, 2U);
}

TEST_F(Compression, ReceiveThatIsNotTheNext_BeginsAnotherBlock) {
  create();
  receive_many(2);
  ++next_;
  ASSERT_TRUE(receive(102));
  pass(kTimeoutNs);
  EXPECT_EQ(poll().back(), (Received{102, 103, 3}));
  EXPECT_EQ(blocks_, 1U);
}

TEST_F(Compression, ErrorBehindFrames_ComesAfterThemAtOnce) {
  create();
  receive_many(2);
  ASSERT_TRUE(receive(0, 0, prm::CqeOpcode::RESP_ERR));
  ASSERT_TRUE(is_ready(0));
  ASSERT_TRUE(is_ready(2));
  EXPECT_EQ(prm::cqe_opcode(entry(2).get<"op_own">()), prm::CqeOpcode::RESP_ERR);
}

TEST_F(Compression, WhatARequesterSays_IsWrittenAtOnce) {
  create();
  ASSERT_TRUE(receive(1, 0, prm::CqeOpcode::REQ));
  EXPECT_TRUE(is_ready(0));
}

TEST_F(Compression, FormatHash_HasEachFramesHashAndNoSum) {
  cqc_.put<"mini_cqe_res_format">(prm::MiniCqeFormat::HASH);
  create();
  receive_many(2);
  pass(kTimeoutNs);
  const auto second = prm::ConstView<prm::mlx5_mini_cqe8>::at(std::span<const std::byte>(slot(1)),
                                                              prm::mlx5_mini_cqe8::bytes);
  EXPECT_EQ(second.get<"checksum">() << 16 | second.get<"stridx">(), 103U);
}

TEST_F(Compression, FormatWithStrides_HasEachFramesReceive) {
  cqc_.put<"mini_cqe_res_format">(prm::MiniCqeFormat::CSUM_STRIDX);
  create();
  receive_many(2);
  pass(kTimeoutNs);
  const auto second = prm::ConstView<prm::mlx5_mini_cqe8>::at(std::span<const std::byte>(slot(1)),
                                                              prm::mlx5_mini_cqe8::bytes);
  EXPECT_EQ(second.get<"checksum">(), 102U);
  EXPECT_EQ(second.get<"stridx">(), 1U);
}

TEST_F(Compression, LargeEntries_HaveTheirBlocksInTheUpperHalves) {
  cqc_.set<"cqe_sz", 1>();
  create();
  receive_many(10);
  pass(kTimeoutNs);
  EXPECT_EQ(poll(), frames(10));
  EXPECT_EQ(blocks_, 1U);
}

TEST_F(Compression, QueueThatDoesNotAsk_GetsEntriesAtOnce) {
  cqc_.set<"cqe_comp_en", 0>();
  create();
  receive_many(2);
  EXPECT_EQ(poll(), frames(2));
}

TEST_F(Compression, FormatOrLayoutOfNewerCards_IsNotUsed) {
  cqc_.set<"mini_cqe_res_format", 2>();
  create();
  receive_many(2);
  EXPECT_EQ(poll(), frames(2));
  EXPECT_EQ(blocks_, 0U);
}

TEST_F(Compression, QueueThatIsFullWithABlock_OverrunsAsEver) {
  create();
  receive_many(kEntries);
  EXPECT_FALSE(receive(1));
  EXPECT_EQ(poll(), frames(kEntries));
}

TEST_F(Compression, ArmedQueue_TellsWhenTheBlockIsThere) {
  create();
  cells::store_release<std::uint32_t>(
      memory_->bytes.data() + kRecordAt + prm::record_byte(prm::kCqArmDb),
      cells::be32(prm::cq_arm_record(0, prm::kCqDbReqNot, 0)));
  cqs_.kick(kUar);
  receive_many(3);
  EXPECT_EQ(memory_->bytes[63], std::byte{1});
  pass(kTimeoutNs);
  EXPECT_EQ(memory_->bytes[63], std::byte{0});
  EXPECT_EQ(memory_->bytes[127], std::byte{1});  // one event
}

TEST_F(Compression, QueueThatIsDestroyedWhileItGathers_WritesNothing) {
  create();
  receive_many(2);
  ASSERT_TRUE(cqs_.destroy(cqn_).ok());
  pass(kTimeoutNs);
  EXPECT_FALSE(is_ready(0));
}

}  // namespace
}  // namespace portcullis::model::testing
