// SPDX-License-Identifier: BSD-3-Clause
//
// ALLOC_MEMIC and DEALLOC_MEMIC as mlx5_ib sends them (dm.c), and keys of mode MEMIC by command.
// What queue pairs do with such keys is in tests/pmd/loopback_device_memory_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/device_memory.hpp"
#include "prm/device_memory_commands.hpp"
#include "prm/doorbell.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kWindowAt = DeviceMemory::kWindowAt;

Options ethernet() { return {}; }
Options infiniband() {
  Options options;
  options.port_type = PortType::InfiniBand;
  return options;
}
Options virtual_function() {
  Options options;
  options.virtual_function = true;
  return options;
}

class DeviceMemoryCommands : public ::testing::Test {
 protected:
  DeviceMemoryCommands() {
    driver_.bring_up();
    pd_ = driver_.alloc_pd();
  }

  /// In pages of the window from `page` on, as mlx5_cmd_alloc_memic asks for it.
  Answer allocate(std::uint64_t page, std::uint64_t bytes, std::uint32_t log_alignment = 0) {
    return allocate_in(kWindowAt + page * kPage, (bytes + kPage - 1) / kPage * kPage, bytes,
                       log_alignment);
  }
  Answer allocate_in(std::uint64_t at, std::uint64_t range_bytes, std::uint64_t bytes,
                     std::uint32_t log_alignment = 0) {
    auto in = command<prm::alloc_memic_in>(Opcode::ALLOC_MEMIC);
    in.put<"range_start_addr">(at).put<"range_size">(range_bytes).put<"memic_size">(bytes);
    return driver_.run<prm::alloc_memic_out>(in.put<"log_memic_addr_alignment">(log_alignment));
  }
  static std::uint64_t address(const Answer& answer) {
    return answer.as<prm::alloc_memic_out>().get<"memic_start_addr">();
  }
  Answer free(std::uint64_t at, std::uint64_t bytes) {
    auto in = command<prm::dealloc_memic_in>(Opcode::DEALLOC_MEMIC);
    in.put<"memic_start_addr">(at).put<"memic_size">(bytes);
    return driver_.run<prm::dealloc_memic_out>(in);
  }
  /// As mlx5_ib_get_dm_mr makes it.
  Answer create_key(std::uint64_t at, std::uint64_t bytes, bool has_umem = false) {
    auto in = command<prm::create_mkey_in>(Opcode::CREATE_MKEY);
    in.set<"memory_key_mkey_entry.access_mode_1_0", (prm::kMkcModeMemic & 3)>()
        .set<"memory_key_mkey_entry.access_mode_4_2", (prm::kMkcModeMemic >> 2)>()
        .set<"memory_key_mkey_entry.lr", 1>()
        .set<"memory_key_mkey_entry.qpn", prm::kMkcQpnAny>()
        .put<"memory_key_mkey_entry.start_addr">(at)
        .put<"memory_key_mkey_entry.len">(bytes)
        .put<"memory_key_mkey_entry.pd">(pd_)
        .put<"mkey_umem_valid">(has_umem ? 1U : 0U);
    return driver_.run<prm::create_mkey_out>(in);
  }
  Answer destroy_key(const Answer& created) {
    auto in = command<prm::destroy_mkey_in>(Opcode::DESTROY_MKEY);
    in.put<"mkey_index">(created.as<prm::create_mkey_out>().get<"mkey_index">());
    return driver_.run<prm::destroy_mkey_out>(in);
  }
  Answer teardown() {
    return driver_.run<prm::teardown_hca_out>(command<prm::teardown_hca_in>(Opcode::TEARDOWN_HCA));
  }
  Answer init() {
    return driver_.run<prm::init_hca_out>(command<prm::init_hca_in>(Opcode::INIT_HCA));
  }
  [[nodiscard]] std::span<std::byte> bytes_at(std::uint64_t at, std::size_t bytes) const {
    return driver_.device().bar.subspan(at, bytes);
  }
  /// Takes all there is, 64 KiB at a time.
  void exhaust() {
    constexpr std::uint64_t kPart = 64 << 10;
    for (std::uint64_t done = 0; done < DeviceMemory::kBytes; done += kPart)
      ASSERT_TRUE(allocate(done / kPage, kPart).ok());
  }

  MiniDriver driver_;
  std::uint32_t pd_ = 0;
};

class DeviceMemoryPage : public ::testing::TestWithParam<Options (*)()> {};

TEST_P(DeviceMemoryPage, SaysWhereItLiesAndHowMuchThereIs) {
  MiniDriver driver(GetParam()());
  driver.bring_up_to_boot_pages();
  auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  const Answer general =
      driver.run<prm::query_hca_cap_out>(in.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL)));
  const Answer answer =
      driver.run<prm::query_hca_cap_out>(in.put<"op_mod">(prm::cap_op_mod(prm::CapType::DEV_MEM)));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(prm::ConstView<prm::cmd_hca_cap>::at(
                general.as<prm::query_hca_cap_out>().bytes<"capability">())
                .get<"device_memory">(),
            1U);
  const auto page = prm::ConstView<prm::device_mem_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  EXPECT_EQ(page.get<"memic">(), 1U);
  EXPECT_EQ(page.get<"max_memic_size">(), 256U << 10);
  EXPECT_EQ(page.get<"log_min_memic_alloc_size">(), 6U);
  EXPECT_EQ(page.get<"memic_operations">(), 0U);
  // mlx5_ib keeps a bit for each of at most MLX5_MAX_MEMIC_PAGES pages.
  EXPECT_LE(page.get<"memic_bar_size">() / kPage, 0x100U);
  EXPECT_LE(page.get<"memic_bar_start_addr">() + page.get<"memic_bar_size">(),
            driver.device().bar.size());
}

INSTANTIATE_TEST_SUITE_P(Functions, DeviceMemoryPage,
                         ::testing::Values(&ethernet, &infiniband, &virtual_function));

TEST_F(DeviceMemoryCommands, Allocation_LiesInTheRangeAsked) {
  const Answer answer = allocate(3, 5 * kPage);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(address(answer), kWindowAt + 3 * kPage);
}

TEST_F(DeviceMemoryCommands, AllocationsInOneRange_DoNotOverlap) {
  EXPECT_EQ(address(allocate_in(kWindowAt, kPage, 128)), kWindowAt);
  EXPECT_EQ(address(allocate_in(kWindowAt, kPage, 64)), kWindowAt + 128);
  EXPECT_EQ(address(allocate_in(kWindowAt, kPage, 64, 2)), kWindowAt + 256);
}

TEST_F(DeviceMemoryCommands, RangeWithoutRoom_IsOutOfResourcesAndTheNextHasIt) {
  ASSERT_TRUE(allocate(0, kPage).ok());
  EXPECT_EQ(allocate(0, 64).status, CommandStatus::NO_RES_ERR);
  EXPECT_EQ(allocate_in(kWindowAt + kPage, kPage, 2 * kPage).status, CommandStatus::NO_RES_ERR);
  EXPECT_TRUE(allocate(1, 64).ok());
}

TEST_F(DeviceMemoryCommands, MoreThanThereIs_IsOutOfResourcesUntilSomeIsFreed) {
  exhaust();
  constexpr std::uint64_t kBehind = DeviceMemory::kBytes / kPage;
  EXPECT_EQ(allocate(kBehind, 64).status, CommandStatus::NO_RES_ERR);
  ASSERT_TRUE(free(kWindowAt, 64 << 10).ok());
  EXPECT_TRUE(allocate(kBehind, 64).ok());
}

TEST_F(DeviceMemoryCommands, SizeThatIsNoMultipleOf64_IsABadParameter) {
  EXPECT_EQ(allocate(0, 0).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(allocate(0, 100).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(DeviceMemoryCommands, AlignmentOfAPage_IsTheMost) {
  EXPECT_TRUE(allocate(0, 64, DeviceMemory::kLogMaxAlignment).ok());
  EXPECT_EQ(allocate(1, 64, DeviceMemory::kLogMaxAlignment + 1).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(DeviceMemoryCommands, RangeOutsideTheWindow_IsABadParameter) {
  constexpr std::uint64_t kEnd = kWindowAt + DeviceMemory::kWindowBytes;
  EXPECT_TRUE(allocate_in(kEnd - kPage, kPage, 64).ok());
  EXPECT_EQ(allocate_in(kEnd - kPage, 2 * kPage, 64).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(allocate_in(kEnd, kPage, 64).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(allocate_in(kWindowAt - kPage, 2 * kPage, 64).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(allocate_in(~std::uint64_t{0}, kPage, 64).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(DeviceMemoryCommands, UarPages_EndBeforeTheWindow) {
  std::uint32_t last = 0;
  for (std::uint32_t uar = driver_.alloc_uar(); uar != 0; uar = driver_.alloc_uar()) last = uar;
  EXPECT_EQ(prm::uar_offset(last) + prm::kUarPageBytes, kWindowAt);
}

TEST_F(DeviceMemoryCommands, NewAllocation_ShowsNothingOfTheLastOwner) {
  const std::uint64_t at = address(allocate(0, kPage));
  std::ranges::fill(bytes_at(at, kPage), std::byte{0x5a});
  ASSERT_TRUE(free(at, kPage).ok());
  ASSERT_EQ(address(allocate(0, kPage)), at);
  EXPECT_THAT(bytes_at(at, kPage), ::testing::Each(std::byte{0}));
}

TEST_F(DeviceMemoryCommands, OtherAddressOrSize_IsNotFreed) {
  ASSERT_TRUE(allocate(0, 2 * kPage).ok());
  EXPECT_EQ(free(kWindowAt + 64, 2 * kPage).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(free(kWindowAt, kPage).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(free(kWindowAt, 2 * kPage).ok());
  EXPECT_EQ(free(kWindowAt, 2 * kPage).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(DeviceMemoryCommands, WithKeys_IsNotFreedBeforeTheLastOfThem) {
  const std::uint64_t at = address(allocate(0, kPage));
  const Answer whole = create_key(at, kPage);
  const Answer part = create_key(at + 4, 60);
  ASSERT_TRUE(whole.ok() && part.ok());
  ASSERT_TRUE(destroy_key(whole).ok());
  EXPECT_EQ(free(at, kPage).status, CommandStatus::BAD_RES_STATE_ERR);
  ASSERT_TRUE(destroy_key(part).ok());
  EXPECT_TRUE(free(at, kPage).ok());
}

TEST_F(DeviceMemoryCommands, KeyOutsideOneAllocation_IsABadParameter) {
  const std::uint64_t at = address(allocate(0, kPage));
  ASSERT_TRUE(allocate(1, kPage).ok());
  EXPECT_EQ(create_key(at, kPage + 1).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_key(at - 1, 1).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_key(at + 8 * kPage, 1).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_key(at, ~std::uint64_t{0}).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_key(0, kPage).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(DeviceMemoryCommands, KeyThatSaysItsPagesAreInAUmem_IsABadParameter) {
  const std::uint64_t at = address(allocate(0, kPage));
  EXPECT_EQ(create_key(at, kPage, /*has_umem=*/true).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(free(at, kPage).ok());
}

// test_create_dm_mr of rdma-core: a tenth of 4 bytes, rounded down to 4.
TEST_F(DeviceMemoryCommands, KeyOfNoBytes_IsMade) {
  const std::uint64_t at = address(allocate(0, 64));
  EXPECT_TRUE(create_key(at, 0).ok());
}

TEST_F(DeviceMemoryCommands, Teardown_GivesAllOfItBack) {
  exhaust();
  ASSERT_TRUE(create_key(kWindowAt, kPage).ok());
  ASSERT_TRUE(teardown().ok());
  ASSERT_TRUE(init().ok());
  exhaust();
}

TEST_F(DeviceMemoryCommands, FunctionReset_GivesAllOfItBack) {
  exhaust();
  ASSERT_TRUE(driver_.device().function->reset().has_value());
  driver_.bring_up();
  exhaust();
}

TEST_F(DeviceMemoryCommands, OperationsOnIt_AreNotThere) {
  EXPECT_EQ(
      driver_.run<prm::alloc_memic_out>(command<prm::alloc_memic_in>(Opcode::MODIFY_MEMIC)).status,
      CommandStatus::BAD_OP_ERR);
}

Options as(std::vector<trace::CapabilityPage> pages) {
  trace::DeviceProfile profile;
  profile.source = "first-light, vfio";
  profile.firmware = "16.32.1010";
  profile.capabilities = std::move(pages);
  Options options;
  EXPECT_TRUE(adopt(options, std::move(profile), "profile.json"));
  return options;
}

/// A card's page that says so much memory, elsewhere in its BAR.
trace::CapabilityPage page_of(std::uint64_t bytes) {
  prm::Buffer<prm::device_mem_cap> page;
  page.put<"memic">(bytes != 0 ? 1U : 0U).put<"max_memic_size">(bytes);
  page.set<"memic_bar_start_addr", 0x1000000>().set<"memic_bar_size", 0x40000>();
  page.set<"log_max_memic_addr_alignment", 6>();
  trace::CapabilityPage told{prm::cap_op_mod(prm::CapType::DEV_MEM, prm::CapMode::GET_CUR)};
  told.page.assign(page.all().begin(), page.all().end());
  told.page.resize(trace::kCapabilityBytes);
  return told;
}

std::uint64_t bytes_offered(MiniDriver& driver) {
  driver.bring_up_to_boot_pages();
  auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  in.put<"op_mod">(prm::cap_op_mod(prm::CapType::DEV_MEM));
  const Answer answer = driver.run<prm::query_hca_cap_out>(in);
  const auto page = prm::ConstView<prm::device_mem_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  return page.get<"memic">() * page.get<"max_memic_size">();
}

TEST(DeviceMemoryProfile, CardWithLess_HasLess) {
  MiniDriver driver(as({page_of(128 << 10)}));
  EXPECT_EQ(bytes_offered(driver), 128U << 10);
}

TEST(DeviceMemoryProfile, CardWithNone_HasNone) {
  MiniDriver driver(as({page_of(0)}));
  EXPECT_EQ(bytes_offered(driver), 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
