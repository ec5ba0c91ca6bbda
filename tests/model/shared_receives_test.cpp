// SPDX-License-Identifier: BSD-3-Clause
//
// Shared receive queues by themselves, on memory mapped for the test: what a command is refused
// for, which receive is taken, and when the limit is told. The list of WQEs is kept as
// mlx5_ib/srq.c keeps it.
#include "model/shared_receives.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>

#include "base/cells.hpp"
#include "model/iommu.hpp"
#include "prm/doorbell.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using Kind = SharedReceives::Kind;
using ::testing::SizeIs;

constexpr std::uint32_t kPd = 7;
constexpr std::uint32_t kCqn = 5;
constexpr std::uint32_t kStride = 64;  // a next segment and three data segments
constexpr std::uint32_t kEntries = 4;
constexpr std::size_t kQueueAt = 1 * kPageBytes;
constexpr std::size_t kRecordAt = 2 * kPageBytes;

struct alignas(kPageBytes) Memory {
  std::array<std::byte, 3 * kPageBytes> bytes{};
};

class SharedReceivesTest : public ::testing::Test {
 protected:
  SharedReceivesTest() {
    dma_.set_bus_master(true);
    iova_ = iommu_.map(memory_->bytes).value();
    for (std::size_t at = 63; at < kPageBytes; at += 64) memory_->bytes[at] = std::byte{1};
    prm::Buffer<prm::eqc> eq;
    eq.set<"log_eq_size", 2>().set<"uar_page", 20>();
    std::array<std::byte, 32> mask{};
    mask[5] = std::byte{1 << 4};  // SRQ_RQ_LIMIT, 0x14
    std::uint32_t eqn = 0;
    EXPECT_TRUE(eqs_.create(prm::ConstView<prm::eqc>{eq.all()}, mask, {iova_}, eqn).ok());
    for (std::uint16_t i = 0; i < kEntries; ++i) link(i, (i + 1) % kEntries);
    pool_.put<"state">(prm::RmpState::RDY).put<"wq.pd">(kPd).put<"wq.dbr_addr">(iova_ + kRecordAt);
    pool_.set<"wq.log_wq_stride", 6>().set<"wq.log_wq_sz", 2>();
    EXPECT_TRUE(queues_.domains().allocate(domain_).ok());
    xrc_.put<"xrcd">(domain_).put<"pd">(kPd).put<"cqn">(kCqn);
    xrc_.set<"log_rq_stride", 2>().set<"log_xrc_srq_size", 2>();
    const Iova record = iova_ + kRecordAt;
    xrc_.put<"db_record_addr_h">(static_cast<std::uint32_t>(record >> 32));
    EXPECT_TRUE(xrc_.view().try_set<"db_record_addr_l">(static_cast<std::uint32_t>(record) >> 2));
  }

  [[nodiscard]] std::array<std::byte, 8> pas() const {
    const std::uint64_t page = cells::be64(iova_ + kQueueAt);
    std::array<std::byte, sizeof page> list;
    std::memcpy(list.data(), &page, sizeof page);
    return list;
  }
  Verdict create_pool() {
    const auto list = pas();
    return queues_.create(prm::ConstView<prm::rmpc>{pool_.all()}, std::span(list).first(pas_bytes_),
                          number_);
  }
  Verdict create_xrc() {
    return queues_.create(prm::ConstView<prm::xrc_srqc>{xrc_.all()}, pas(), number_);
  }
  /// The WQE behind `index` is `next` from now on.
  void link(std::uint16_t index, std::uint16_t next) {
    prm::Buffer<prm::mlx5_wqe_srq_next_seg> segment;
    segment.put<"next_wqe_index">(next);
    std::memcpy(wqe(index), segment.all().data(), segment.all().size());
  }
  std::byte* wqe(std::uint16_t index) {
    return memory_->bytes.data() + kQueueAt + std::size_t{index} * kStride;
  }
  /// `head`, as the driver's list has it, with one segment of so many bytes.
  void post(std::uint16_t head, std::uint32_t bytes) {
    prm::Buffer<prm::mlx5_wqe_data_seg> segment;
    segment.put<"byte_count">(bytes).set<"lkey", 0x200>();
    std::memcpy(wqe(head) + 16, segment.all().data(), segment.all().size());
    prm::Buffer<prm::mlx5_wqe_data_seg> end;
    end.put<"lkey">(prm::kInvalidLkey);
    std::memcpy(wqe(head) + 32, end.all().data(), end.all().size());
    cells::store_release<std::uint32_t>(memory_->bytes.data() + kRecordAt, cells::be32(++posted_));
  }
  /// Of all the memory, as a DevX client registers it.
  std::uint32_t umem_of_memory() {
    constexpr std::uint64_t kReadWrite = 3;  // MLX5_IB_MTT_READ | MLX5_IB_MTT_WRITE
    std::array<std::uint64_t, sizeof(Memory) / kPageBytes> mtt;
    for (std::size_t page = 0; page < mtt.size(); ++page)
      mtt[page] = cells::be64((iova_ + page * kPageBytes) | kReadWrite);
    prm::Buffer<prm::umem> context;
    context.put<"num_of_mtt">(mtt.size());
    std::uint32_t id = 0;
    EXPECT_TRUE(
        umems_.create(prm::ConstView<prm::umem>{context.all()}, std::as_bytes(std::span(mtt)), id)
            .ok());
    return id;
  }
  [[nodiscard]] std::uint8_t event_type() const {
    return std::to_integer<std::uint8_t>(memory_->bytes[1]);
  }

  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  Iommu iommu_ = Iommu::create().value();
  std::uint64_t faults_ = 0;
  Dma dma_{iommu_, faults_};
  EqTable eqs_{dma_, 4, [](void*, prm::HealthSyndrome) {}, nullptr};
  UmemTable umems_{4};
  SharedReceives queues_{dma_, eqs_, umems_};
  Iova iova_ = 0;
  std::uint32_t domain_ = 0;
  std::uint32_t number_ = 0;
  std::uint32_t posted_ = 0;
  prm::Buffer<prm::rmpc> pool_;
  prm::Buffer<prm::xrc_srqc> xrc_;
  std::size_t pas_bytes_ = sizeof(std::uint64_t);
  SharedReceives::Taken taken_;
  SharedReceives::Uses uses_;
};

TEST_F(SharedReceivesTest, NothingPosted_NothingIsTaken) {
  ASSERT_TRUE(create_pool().ok());
  EXPECT_EQ(queues_.take(number_, taken_), ReceiveFault::Empty);
}

TEST_F(SharedReceivesTest, Posted_AreTakenInTheOrderOfTheList) {
  ASSERT_TRUE(create_pool().ok());
  link(0, 2);
  post(0, 100);
  post(2, 200);
  ASSERT_EQ(queues_.take(number_, taken_), ReceiveFault::None);
  EXPECT_EQ(taken_.index, 0);
  ASSERT_THAT(taken_.pieces, SizeIs(1));
  EXPECT_EQ(taken_.pieces[0].bytes, 100U);
  ASSERT_EQ(queues_.take(number_, taken_), ReceiveFault::None);
  EXPECT_EQ(taken_.index, 2);
  EXPECT_EQ(taken_.pieces[0].bytes, 200U);
  EXPECT_EQ(queues_.take(number_, taken_), ReceiveFault::Empty);
}

TEST_F(SharedReceivesTest, RingOfReceives_IsTakenInItsOrderWhateverTheListSays) {
  pool_.put<"wq.wq_type">(prm::WqType::CYCLIC);
  ASSERT_TRUE(create_pool().ok());
  link(0, 3);
  for (std::uint16_t index = 0; index < kEntries; ++index) {
    post(index, 100U + index);
    ASSERT_EQ(queues_.take(number_, taken_), ReceiveFault::None);
    EXPECT_EQ(taken_.pieces[0].bytes, 100U + index);
  }
  post(0, 200);
  ASSERT_EQ(queues_.take(number_, taken_), ReceiveFault::None);
  EXPECT_EQ(taken_.pieces[0].bytes, 200U);
  EXPECT_EQ(taken_.index % kEntries, 0);
}

TEST_F(SharedReceivesTest, PoolInUmems_IsReadThereAndHoldsThem) {
  const std::uint32_t umem = umem_of_memory();
  pool_.put<"wq.wq_umem_id">(umem).set<"wq.wq_umem_valid", 1>();
  pool_.put<"wq.wq_umem_offset">(std::uint64_t{kQueueAt});
  pool_.put<"wq.dbr_umem_id">(umem).set<"wq.dbr_umem_valid", 1>();
  pool_.put<"wq.dbr_addr">(Iova{kRecordAt});
  pas_bytes_ = 0;
  ASSERT_TRUE(create_pool().ok());
  post(0, 100);
  ASSERT_EQ(queues_.take(number_, taken_), ReceiveFault::None);
  EXPECT_EQ(taken_.pieces[0].bytes, 100U);
  EXPECT_EQ(umems_.destroy(umem).status, CommandStatus::BAD_RES_STATE_ERR);
  ASSERT_TRUE(queues_.destroy(Kind::Rmp, number_, uses_).ok());
  EXPECT_TRUE(umems_.destroy(umem).ok());
}

TEST_F(SharedReceivesTest, PoolInAUmemThatIsNotThere_Refused) {
  pool_.set<"wq.wq_umem_id", 3>().set<"wq.wq_umem_valid", 1>();
  EXPECT_EQ(create_pool().status, CommandStatus::BAD_RES_ERR);
}

TEST_F(SharedReceivesTest, XrcQueue_IsTheSameList) {
  ASSERT_TRUE(create_xrc().ok());
  post(0, 100);
  ASSERT_EQ(queues_.take(number_, taken_), ReceiveFault::None);
  EXPECT_EQ(taken_.pieces[0].bytes, 100U);
}

TEST_F(SharedReceivesTest, NextOutsideTheQueue_WrapsIntoIt) {
  ASSERT_TRUE(create_pool().ok());
  link(0, 0xfffd);
  post(0, 100);
  post(1, 200);
  ASSERT_EQ(queues_.take(number_, taken_), ReceiveFault::None);
  ASSERT_EQ(queues_.take(number_, taken_), ReceiveFault::None);
  EXPECT_EQ(taken_.pieces[0].bytes, 200U);
}

TEST_F(SharedReceivesTest, UnmappedQueue_IsUnreadable) {
  ASSERT_TRUE(create_pool().ok());
  post(0, 100);
  ASSERT_TRUE(iommu_.unmap(iova_, sizeof(Memory)));
  EXPECT_EQ(queues_.take(number_, taken_), ReceiveFault::Unreadable);
}

TEST_F(SharedReceivesTest, Limit_IsToldOnceWhenFewerAreLeft) {
  ASSERT_TRUE(create_pool().ok());
  for (std::uint16_t i = 0; i < 3; ++i) post(i, 100);
  ASSERT_TRUE(queues_.arm(Kind::Rmp, number_, 2).ok());
  ASSERT_EQ(queues_.take(number_, taken_), ReceiveFault::None);
  EXPECT_EQ(event_type(), 0);
  ASSERT_EQ(queues_.take(number_, taken_), ReceiveFault::None);
  EXPECT_EQ(event_type(), prm::number(prm::EventType::SRQ_RQ_LIMIT));
  prm::Buffer<prm::rmpc> context;
  ASSERT_TRUE(queues_.query(number_, prm::View<prm::rmpc>{context.all()}).ok());
  EXPECT_EQ(context.get<"wq.lwm">(), 0U);
}

TEST_F(SharedReceivesTest, LimitAboveWhatIsPosted_IsToldAtOnce) {
  ASSERT_TRUE(create_pool().ok());
  ASSERT_TRUE(queues_.arm(Kind::Rmp, number_, 2).ok());
  EXPECT_EQ(event_type(), prm::number(prm::EventType::SRQ_RQ_LIMIT));
}

TEST_F(SharedReceivesTest, LimitOfTheWholeQueue_Refused) {
  ASSERT_TRUE(create_pool().ok());
  EXPECT_EQ(queues_.arm(Kind::Rmp, number_, kEntries).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(SharedReceivesTest, QueueThatAPairHolds_IsNotDestroyed) {
  ASSERT_TRUE(create_pool().ok());
  queues_.hold(number_);
  EXPECT_EQ(queues_.destroy(Kind::Rmp, number_, uses_).status, CommandStatus::BAD_RES_STATE_ERR);
  queues_.release(number_);
  EXPECT_TRUE(queues_.destroy(Kind::Rmp, number_, uses_).ok());
  EXPECT_EQ(uses_.pd, kPd);
  EXPECT_FALSE(queues_.exists(number_));
}

TEST_F(SharedReceivesTest, DomainOfAQueue_IsNotFreed) {
  ASSERT_TRUE(create_xrc().ok());
  EXPECT_EQ(queues_.domains().free(domain_).status, CommandStatus::BAD_RES_STATE_ERR);
  ASSERT_TRUE(queues_.destroy(Kind::XrcSrq, number_, uses_).ok());
  EXPECT_EQ(uses_.cqn, kCqn);
  EXPECT_TRUE(queues_.domains().free(domain_).ok());
  EXPECT_EQ(create_xrc().status, CommandStatus::BAD_RES_ERR);
}

TEST_F(SharedReceivesTest, CommandOfTheOtherKind_MeetsNoSuchQueue) {
  ASSERT_TRUE(create_pool().ok());
  EXPECT_EQ(queues_.destroy(Kind::XrcSrq, number_, uses_).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(queues_.arm(Kind::XrcSrq, number_, 1).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(SharedReceivesTest, PoolThatIsNotReadyOrTooLargeOrShort_Refused) {
  pool_.set<"wq.log_wq_stride", 4>();
  EXPECT_EQ(create_pool().status, CommandStatus::BAD_PARAM_ERR);
  pool_.set<"wq.log_wq_stride", 6>().set<"wq.log_wq_sz", 16>();
  EXPECT_EQ(create_pool().status, CommandStatus::BAD_PARAM_ERR);
  pool_.set<"wq.log_wq_sz", 2>().put<"state">(prm::RmpState::ERR);
  EXPECT_EQ(create_pool().status, CommandStatus::BAD_PARAM_ERR);
  pool_.put<"state">(prm::RmpState::RDY);
  pas_bytes_ = 0;
  EXPECT_EQ(create_pool().status, CommandStatus::BAD_INP_LEN_ERR);
}

}  // namespace
}  // namespace portcullis::model
