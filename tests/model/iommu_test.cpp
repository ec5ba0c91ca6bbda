// SPDX-License-Identifier: BSD-3-Clause
#include "model/iommu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <vector>

#include "model/dma.hpp"
#include "model/model.hpp"

namespace portcullis::model {
namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;

struct alignas(kPageBytes) Pages {
  std::array<std::byte, 8 * kPageBytes> bytes{};
};

class IommuTest : public ::testing::Test {
 protected:
  std::span<std::byte> page(std::size_t i, std::size_t count = 1) {
    return std::span(memory_->bytes).subspan(i * kPageBytes, count * kPageBytes);
  }
  Iova map(std::span<std::byte> memory) { return iommu_.map(memory).value(); }

  std::unique_ptr<Pages> memory_ = std::make_unique<Pages>();
  Iommu iommu_ = std::move(Iommu::create()).value();
  std::uint64_t faults_ = 0;
  Dma dma_{iommu_, faults_};
};

TEST_F(IommuTest, Map_GivesAnIovaThatIsNoVirtualAddress) {
  const Iova iova = map(page(0));
  EXPECT_NE(iova, std::bit_cast<std::uintptr_t>(page(0).data()));
  EXPECT_EQ(iommu_.lookup(iova + 5), page(0).data() + 5);
}

TEST_F(IommuTest, Map_KeepsTheAddressModuloALargePage) {
  const Iova iova = map(page(3));
  EXPECT_EQ(iova % kLargePage, std::bit_cast<std::uintptr_t>(page(3).data()) % kLargePage);
}

TEST_F(IommuTest, NeighboursInMemory_DoNotOverlapInIovaSpace) {
  const Iova second = map(page(2, 2));
  const Iova first = map(page(0, 2));
  EXPECT_EQ(iommu_.lookup(first + kPageBytes), page(1).data());
  EXPECT_EQ(iommu_.lookup(second), page(2).data());
  EXPECT_EQ(iommu_.mappings(), 2U);
}

TEST_F(IommuTest, Retired_LeadsNowhereAndItsWindowStaysEmpty) {
  const Iova dead = map(page(0));
  ASSERT_TRUE(iommu_.retire(dead, kPageBytes).has_value());
  EXPECT_EQ(iommu_.lookup(dead), nullptr);
  EXPECT_EQ(iommu_.mappings(), 0U);
  EXPECT_NE(map(page(0)) / kLargePage, dead / kLargePage);
  EXPECT_NE(map(page(1)) / kLargePage, dead / kLargePage);
}

TEST_F(IommuTest, Retired_ItsWindowIsNeverFreeAgain) {
  // All windows at once fit only while none is taken.
  constexpr std::size_t kEverything = (std::size_t{1} << 37) - (std::size_t{1} << 32);
  void* const all = mmap(nullptr, kEverything + kLargePage, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(all, MAP_FAILED);
  const auto address = std::bit_cast<std::uintptr_t>(all);
  const std::size_t skip = (kLargePage - address % kLargePage) % kLargePage;
  ASSERT_TRUE(iommu_.retire(map(page(0)), kPageBytes).has_value());
  const auto mapped = iommu_.map(std::span(static_cast<std::byte*>(all) + skip, kEverything));
  munmap(all, kEverything + kLargePage);
  ASSERT_FALSE(mapped.has_value());
  EXPECT_EQ(mapped.error().code, Errc::OutOfResources);
}

TEST_F(IommuTest, SameMemoryTwice_HasTwoIovas) {
  const Iova first = map(page(0));
  const Iova second = map(page(0));
  EXPECT_NE(first, second);
  ASSERT_TRUE(iommu_.unmap(first, kPageBytes).has_value());
  EXPECT_EQ(iommu_.lookup(second), page(0).data());
}

TEST_F(IommuTest, UnalignedMemory_IsInvalid) {
  EXPECT_EQ(iommu_.map(page(0).subspan(8)).error().code, Errc::InvalidArgument);
  EXPECT_EQ(iommu_.map({}).error().code, Errc::InvalidArgument);
}

TEST_F(IommuTest, MoreThanTheSpaceHas_IsOutOfResources) {
  const std::span<std::byte> huge(page(0).data(), std::size_t{1} << 38);
  EXPECT_EQ(iommu_.map(huge).error().code, Errc::OutOfResources);
}

TEST_F(IommuTest, UnmapOfPartOfAMapping_IsInvalidAndKeepsIt) {
  const Iova iova = map(page(0, 2));
  EXPECT_EQ(iommu_.unmap(iova, kPageBytes).error().code, Errc::InvalidArgument);
  EXPECT_NE(iommu_.lookup(iova), nullptr);
}

TEST_F(IommuTest, Unmap_LeavesNothingBehind) {
  const Iova iova = map(page(0, 3));
  ASSERT_TRUE(iommu_.unmap(iova, 3 * kPageBytes).has_value());
  EXPECT_EQ(iommu_.lookup(iova + kPageBytes), nullptr);
  EXPECT_EQ(iommu_.mappings(), 0U);
}

TEST_F(IommuTest, RemappedMemory_DoesNotComeBackAtTheStaleIova) {
  const Iova stale = map(page(0));
  ASSERT_TRUE(iommu_.unmap(stale, kPageBytes).has_value());
  EXPECT_NE(map(page(0)), stale);
}

TEST_F(IommuTest, AddressBeyondTheSpace_IsNotMapped) {
  EXPECT_EQ(iommu_.lookup(~Iova{0}), nullptr);
}

TEST_F(IommuTest, AccessAcrossMappedPages_CopiesAll) {
  const Iova iova = map(page(0, 2));
  dma_.set_bus_master(true);
  const std::array<std::byte, 4> sent{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  EXPECT_TRUE(dma_.write(iova + kPageBytes - 2, sent));
  std::array<std::byte, 4> got{};
  EXPECT_TRUE(dma_.read(iova + kPageBytes - 2, got));
  EXPECT_EQ(got, sent);
  EXPECT_EQ(memory_->bytes[kPageBytes], std::byte{3});
}

TEST_F(IommuTest, AccessToAnUnmappedPage_IsAFaultAndCounted) {
  const Iova iova = map(page(0));
  dma_.set_bus_master(true);
  std::array<std::byte, 8> got{};
  EXPECT_FALSE(dma_.read(iova + kPageBytes - 4, got));
  EXPECT_FALSE(dma_.load_be32(iova + kPageBytes).has_value());
  EXPECT_FALSE(dma_.publish(iova + kPageBytes, got));
  EXPECT_EQ(faults_, 3U);
}

TEST_F(IommuTest, AccessWithBusMasteringOff_IsAFault) {
  const Iova iova = map(page(0));
  std::array<std::byte, 8> got{};
  EXPECT_FALSE(dma_.read(iova, got));
  EXPECT_EQ(dma_.window(iova, 8), nullptr);
  EXPECT_EQ(faults_, 1U);
}

TEST_F(IommuTest, MisalignedRecord_IsAFault) {
  const Iova iova = map(page(0));
  dma_.set_bus_master(true);
  EXPECT_FALSE(dma_.load_be32(iova + 2).has_value());
  EXPECT_EQ(faults_, 1U);
}

TEST_F(IommuTest, WindowOverPagesThatLieApart_IsRefused) {
  const Iova last = map(page(7));
  dma_.set_bus_master(true);
  EXPECT_EQ(dma_.window(last + kPageBytes - 8, 16), nullptr);
  EXPECT_EQ(dma_.window(last + 8, 16), page(7).data() + 8);
  EXPECT_EQ(faults_, 0U);
}

TEST_F(IommuTest, PayloadOverTwoExtents_IsOneByteString) {
  const Iova a = map(page(0));
  const Iova b = map(page(5));
  dma_.set_bus_master(true);
  const std::array<std::byte, 3> sent{std::byte{7}, std::byte{8}, std::byte{9}};
  const Extents extents{{Extent{a + kPageBytes - 1, 1}, Extent{b, 2}}, 2};
  ASSERT_TRUE(dma_.write_payload(extents, sent.data()));
  EXPECT_EQ(page(0).back(), std::byte{7});
  EXPECT_EQ(page(5)[1], std::byte{9});
  std::array<std::byte, 3> got{};
  ASSERT_TRUE(dma_.read_payload(extents, got.data()));
  EXPECT_EQ(got, sent);
}

class Ear final : public DmaObserver {
 public:
  void on_dma(std::span<const std::byte> memory, bool is_write) noexcept override {
    heard.push_back({memory, is_write});
  }
  struct Access {
    std::span<const std::byte> memory;
    bool is_write;
  };
  std::vector<Access> heard;
};

TEST_F(IommuTest, Observer_HearsOfEveryPieceInTheDirectionItWasMoved) {
  const Iova iova = map(page(0, 2));
  Ear ear;
  dma_.set_bus_master(true);
  dma_.set_observer(&ear);
  std::array<std::byte, 16> bytes{};
  ASSERT_TRUE(dma_.write_payload(iova + kPageBytes - 8, bytes));
  ASSERT_TRUE(dma_.read_payload(iova, bytes));
  ASSERT_TRUE(dma_.publish(iova + 64, bytes));
  ASSERT_EQ(ear.heard.size(), 4u);
  EXPECT_EQ(ear.heard[0].memory.data(), page(0).data() + kPageBytes - 8);
  EXPECT_EQ(ear.heard[0].memory.size(), 8u);
  EXPECT_EQ(ear.heard[1].memory.data(), page(1).data());
  EXPECT_TRUE(ear.heard[1].is_write);
  EXPECT_FALSE(ear.heard[2].is_write);
  EXPECT_TRUE(ear.heard[3].is_write);
}

TEST_F(IommuTest, PayloadInDeviceMemory_NeedsNoBusMasterAndIsHeardByNobody) {
  const std::span<std::byte> bar = page(0, 2);  // mapped for nobody
  Ear ear;
  dma_.set_observer(&ear);
  dma_.set_bar(bar);
  const std::array<std::byte, 3> sent{std::byte{7}, std::byte{8}, std::byte{9}};
  const Extents extents{{Extent{kPageBytes - 1, 3, true}}, 1};
  ASSERT_TRUE(dma_.write_payload(extents, sent.data()));
  EXPECT_EQ(bar[kPageBytes + 1], std::byte{9});
  std::array<std::byte, 3> got{};
  ASSERT_TRUE(dma_.read_payload(extents, got.data()));
  EXPECT_EQ(got, sent);
  EXPECT_TRUE(ear.heard.empty());
  EXPECT_EQ(faults_, 0U);
}

// ---- a guest's memory ----

constexpr Iova kNear = 0x1'0000'0000;   // inside the flat table
constexpr Iova kFar = 0x100'0000'0000;  // above it

/// Address space, and no memory until it is touched.
class Reserved {
 public:
  explicit Reserved(std::size_t bytes) : bytes_(bytes) {
    void* const raw = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(raw, MAP_FAILED);
    at_ = static_cast<std::byte*>(raw);
  }
  ~Reserved() { munmap(at_, bytes_); }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  [[nodiscard]] std::span<std::byte> span() const { return {at_, bytes_}; }

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_;
};

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * kPageBytes;
}

class GuestRanges : public IommuTest, public ::testing::WithParamInterface<Iova> {
 protected:
  GuestRanges() { dma_.set_bus_master(true); }
  [[nodiscard]] bool writes_to(Iova iova) {
    std::array<std::byte, 16> bytes{};
    bytes.fill(std::byte{7});
    return dma_.write(iova, bytes);
  }
};

TEST_P(GuestRanges, LargeOne_IsReachedAtItsFirstByteAndItsLast) {
  const Reserved memory(std::size_t{64} << 20);
  iommu_.map_at(GetParam(), memory.span());
  EXPECT_TRUE(writes_to(GetParam()));
  EXPECT_TRUE(writes_to(GetParam() + memory.span().size() - 16));
  EXPECT_EQ(memory.span().front(), std::byte{7});
  EXPECT_EQ(memory.span().back(), std::byte{7});
  EXPECT_FALSE(writes_to(GetParam() + memory.span().size()));
}

TEST_P(GuestRanges, LargeOneOnceTouched_IsFoundWithoutACall) {
  const Reserved memory(std::size_t{64} << 20);
  iommu_.map_at(GetParam(), memory.span());
  ASSERT_TRUE(writes_to(GetParam() + 0x5008));
  EXPECT_EQ(iommu_.lookup(GetParam() + 0x5008), memory.span().data() + 0x5008);
  EXPECT_EQ(dma_.window(GetParam() + 0x5008, 8), memory.span().data() + 0x5008);
}

TEST_P(GuestRanges, LargeOneUnmapped_IsGoneAndItsNeighboursStay) {
  const Reserved memory(std::size_t{64} << 20);
  const Iova at = GetParam() + 3 * kPageBytes;
  iommu_.map_at(at - kPageBytes, page(0));
  iommu_.map_at(at, memory.span());
  iommu_.map_at(at + memory.span().size(), page(1));
  ASSERT_TRUE(writes_to(at));
  ASSERT_TRUE(writes_to(at + kLargePage));
  ASSERT_TRUE(writes_to(at + memory.span().size() - 16));
  iommu_.unmap_at(at, memory.span().size());
  EXPECT_FALSE(writes_to(at));
  EXPECT_FALSE(writes_to(at + kLargePage));
  EXPECT_FALSE(writes_to(at + memory.span().size() - 16));
  EXPECT_TRUE(writes_to(at - kPageBytes));
  EXPECT_TRUE(writes_to(at + memory.span().size()));
}

TEST_P(GuestRanges, SizeOfOneThatNobodyTouches_CostsNoMemory) {
  const Reserved memory(std::size_t{32} << 30);
  const std::size_t before = resident_bytes();
  iommu_.map_at(GetParam(), memory.span());
  EXPECT_LT(resident_bytes(), before + (std::size_t{8} << 20));
  iommu_.unmap_at(GetParam(), memory.span().size());
}

INSTANTIATE_TEST_SUITE_P(Places, GuestRanges, ::testing::Values(kNear, kFar));

TEST_F(IommuTest, Observer_HearsNothingOfAFault) {
  Ear ear;
  dma_.set_bus_master(true);
  dma_.set_observer(&ear);
  std::array<std::byte, 16> bytes{};
  EXPECT_FALSE(dma_.write_payload(map(page(0)) + kLargePage, bytes));
  EXPECT_TRUE(ear.heard.empty());
}

TEST_F(IommuTest, StaleTranslation_IsHeardOfAndTouchesNothing) {
  iommu_.keep_stale(true);
  const Iova iova = map(page(0));
  Ear ear;
  dma_.set_bus_master(true);
  dma_.set_observer(&ear);
  ASSERT_TRUE(iommu_.unmap(iova, kPageBytes).has_value());
  std::array<std::byte, 16> bytes{};
  bytes.fill(std::byte{7});
  EXPECT_TRUE(dma_.write_payload(iova + 64, bytes));
  EXPECT_TRUE(dma_.read_payload(iova + 64, bytes));
  ASSERT_EQ(ear.heard.size(), 2u);
  EXPECT_EQ(ear.heard[0].memory.data(), page(0).data() + 64);
  EXPECT_EQ(page(0)[64], std::byte{0});
  EXPECT_EQ(bytes[0], std::byte{0});
  EXPECT_EQ(faults_, 0u);
}

}  // namespace
}  // namespace portcullis::model
