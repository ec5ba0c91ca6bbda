// SPDX-License-Identifier: BSD-3-Clause
//
// Commands that name memory, in umems. Where the fields lie is checked by byte, from UCX's
// create_mkey_in_bits (ib_mlx5_ifc.h) and the classes of rdma-core's tests/mlx5_prm_structs.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>
#include <vector>

#include "devx/command_table.hpp"
#include "devx/memory_names.hpp"
#include "pmd/command_tail.hpp"
#include "prm/enums.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/qp_commands.hpp"

namespace portcullis::testing {
namespace {

using prm::Opcode;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

/// Gives every registration the next number, and refuses to take back `pinned`.
class Registrar final : public devx::Provider {
 public:
  int create(std::span<const std::byte> /*in*/, std::span<std::byte> /*out*/,
             std::unique_ptr<devx::Object>& /*object*/) override {
    return ENOSYS;
  }
  int general(std::span<const std::byte> /*in*/, std::span<std::byte> /*out*/) override {
    return ENOSYS;
  }
  int lead(const devx::Match& /*match*/, devx::Object& /*table*/,
           std::unique_ptr<devx::Rule>& /*rule*/) override {
    return ENOSYS;
  }
  Result<devx::UmemId> register_memory(std::span<std::byte> /*memory*/) override {
    return devx::UmemId{++last};
  }
  Result<void> deregister_memory(devx::UmemId umem) override {
    const std::scoped_lock waits(kernel);
    if (umem == pinned) return fail(Errc::Busy, "a key lies in it");
    return {};
  }
  Result<std::unique_ptr<devx::UarPage>> allocate_uar() override {
    return fail(Errc::Unsupported, "no UAR");
  }
  Result<std::uint8_t> eqn() override { return std::uint8_t{0}; }
  [[nodiscard]] std::string firmware_version() const override { return "0.0.0"; }
  bool next_event(std::span<std::byte, prm::kEqeBytes> /*eqe*/) override { return false; }
  bool is_lost() override { return false; }
  Result<void> check_unmap_is_final() override {
    if (is_final) return {};
    return fail(Errc::Unsupported, "its IOMMU domain is DMA-FQ");
  }

  std::mutex kernel;  // whoever has it keeps the kernel from coming back
  bool is_final = true;
  std::uint32_t last = 0x10;
  devx::UmemId pinned{};
};

struct MemoryNames : ::testing::Test {
  static constexpr std::size_t kBytes = 64 * kPageBytes;

  void SetUp() override { ASSERT_TRUE(space.map(memory)); }
  [[nodiscard]] Iova at(std::uint64_t offset) const {
    return std::bit_cast<std::uintptr_t>(memory.data()) + offset;
  }
  [[nodiscard]] static std::uint32_t word(std::span<const std::byte> bytes, std::size_t offset) {
    std::uint32_t value = 0;
    for (const std::byte part : bytes.subspan(offset, 4))
      value = value << 8 | std::to_integer<std::uint32_t>(part);
    return value;
  }

  std::vector<std::byte> store = std::vector<std::byte>(kBytes + kPageBytes);
  std::span<std::byte> memory = [this] {
    const auto start = std::bit_cast<std::uintptr_t>(store.data());
    return std::span(store).subspan((kPageBytes - start % kPageBytes) % kPageBytes, kBytes);
  }();
  Registrar registrar;
  devx::MemorySpace space{registrar};
};

using CreateMkey = prm::Buffer<prm::create_mkey_in>;

CreateMkey key_of(std::uint64_t start, std::uint64_t bytes, std::uint32_t log_page_size) {
  CreateMkey in;
  in.set<"opcode", prm::number(Opcode::CREATE_MKEY)>();
  in.set<"memory_key_mkey_entry.access_mode_1_0", prm::number(prm::MkcAccessMode::MTT)>();
  in.put<"memory_key_mkey_entry.start_addr">(start).put<"memory_key_mkey_entry.len">(bytes);
  in.put<"memory_key_mkey_entry.log_page_size">(log_page_size);
  return in;
}

TEST_F(MemoryNames, KeyOfFourPages_NamesUmemOffsetAndTwoOctowords) {
  const CreateMkey in = key_of(0, 4 * kPageBytes, 12);
  const std::array<std::uint64_t, 4> pages{at(8 * kPageBytes)};
  const auto out = devx::in_umems(pmd::with_tail(in, pages), space).value();
  EXPECT_EQ(out.size(), 0x110u);            // no list
  EXPECT_EQ(word(out, 0xc) >> 30 & 1, 1u);  // mkey_umem_valid
  EXPECT_EQ(word(out, 0x60), 2u);           // translations_octword_actual_size
  EXPECT_EQ(word(out, 0x64), 0x11u);        // mkey_umem_id
  EXPECT_EQ(word(out, 0x68), 0u);           // mkey_umem_offset
  EXPECT_EQ(word(out, 0x6c), 8 * kPageBytes);
}

TEST_F(MemoryNames, KeyInALargePage_BeginsWhereItsFirstByteLies) {
  // Pages of 64 KiB; the key begins in the third 4 KiB of the first one.
  const CreateMkey in = key_of(0x2000, 0x1800, 16);
  const std::array<std::uint64_t, 2> pages{at(0x10000)};
  const auto out = devx::in_umems(pmd::with_tail(in, pages), space).value();
  const auto named = prm::ConstView<prm::create_mkey_in>::at(out);
  EXPECT_EQ(named.get<"mkey_umem_offset">(), 0x12000u);
  EXPECT_EQ(named.get<"memory_key_mkey_entry.log_page_size">(), 12u);
  EXPECT_EQ(named.get<"translations_octword_actual_size">(), 1u);
}

TEST_F(MemoryNames, KeyPastTheEndOfItsMapping_IsRefusedWithItsAddress) {
  const CreateMkey in = key_of(0, 2 * kPageBytes, 12);
  const std::array<std::uint64_t, 2> pages{at(kBytes - kPageBytes)};
  const auto out = devx::in_umems(pmd::with_tail(in, pages), space);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Errc::InvalidArgument);
  EXPECT_THAT(out.error().text, HasSubstr("lie in no umem"));
}

TEST_F(MemoryNames, CompletionQueue_RingAndRecordAreOffsets) {
  prm::Buffer<prm::create_cq_in> in;
  in.set<"opcode", prm::number(Opcode::CREATE_CQ)>().set<"cq_context.log_cq_size", 7>();
  in.put<"cq_context.log_page_size">(std::uint8_t{1}).put<"cq_context.dbr_addr">(at(0x40));
  const std::array<std::uint64_t, 1> pages{at(2 * kPageBytes)};
  const auto out = devx::in_umems(pmd::with_tail(in, pages), space).value();
  const auto named = prm::ConstView<prm::create_cq_in>::at(out);
  EXPECT_EQ(out.size(), std::size_t{prm::create_cq_in::bytes});
  EXPECT_EQ(named.get<"cq_umem_id">(), 0x11u);
  EXPECT_EQ(named.get<"cq_umem_offset">(), 2 * kPageBytes);
  EXPECT_EQ(named.get<"cq_context.dbr_umem_id">(), 0x11u);
  EXPECT_EQ(named.get<"cq_context.dbr_addr">(), 0x40u);
  EXPECT_EQ(named.get<"cq_umem_valid">() & named.get<"cq_context.dbr_umem_valid">(), 1u);
  EXPECT_EQ(named.get<"cq_context.log_page_size">(), 0u);
}

TEST_F(MemoryNames, RingInAnotherMappingThanItsRecord_EachHasItsOwnUmem) {
  std::vector<std::byte> other_store(2 * kPageBytes);
  const auto start = std::bit_cast<std::uintptr_t>(other_store.data());
  const auto other =
      std::span(other_store).subspan((kPageBytes - start % kPageBytes) % kPageBytes, kPageBytes);
  const Iova record = space.map(other).value();
  prm::Buffer<prm::create_qp_in> in;
  in.set<"opcode", prm::number(Opcode::CREATE_QP)>().put<"qpc.dbr_addr">(record + 8);
  const std::array<std::uint64_t, 1> pages{at(kPageBytes)};
  const auto out = devx::in_umems(pmd::with_tail(in, pages), space).value();
  const auto named = prm::ConstView<prm::create_qp_in>::at(out);
  EXPECT_EQ(named.get<"wq_umem_id">(), 0x11u);
  EXPECT_EQ(named.get<"wq_umem_offset">(), kPageBytes);
  EXPECT_EQ(named.get<"qpc.dbr_umem_id">(), 0x12u);
  EXPECT_EQ(named.get<"qpc.dbr_addr">(), 8u);
}

TEST_F(MemoryNames, ToInit_NamesNoRecordAgain) {
  prm::Buffer<prm::rst2init_qp_in> in;
  in.set<"opcode", prm::number(Opcode::RST2INIT_QP)>().put<"qpc.dbr_addr">(at(0));
  const auto out = devx::in_umems(in.all(), space).value();
  EXPECT_EQ(prm::ConstView<prm::rst2init_qp_in>::at(out).get<"qpc.dbr_addr">(), 0u);
}

TEST_F(MemoryNames, CommandWithoutMemory_ComesBackAsItWas) {
  prm::Buffer<prm::destroy_mkey_in> in;
  in.set<"opcode", prm::number(Opcode::DESTROY_MKEY)>().set<"mkey_index", 0x1234>();
  EXPECT_THAT(devx::in_umems(in.all(), space).value(), ElementsAreArray(in.all()));
}

TEST_F(MemoryNames, CutShort_IsRefused) {
  const CreateMkey in = key_of(0, kPageBytes, 12);
  const auto whole = in.all();
  EXPECT_FALSE(devx::in_umems(whole.first(whole.size() - 8), space));
}

TEST_F(MemoryNames, UmemThatIsStillUsed_StaysMapped) {
  registrar.pinned = devx::UmemId{0x11};
  EXPECT_FALSE(space.unmap(at(0), kBytes));
  EXPECT_TRUE(space.find(at(0), kBytes));
  registrar.pinned = {};
  EXPECT_TRUE(space.unmap(at(0), kBytes));
  EXPECT_FALSE(space.find(at(0), 1));
}

TEST_F(MemoryNames, PartOfAMapping_CannotBeUnmapped) {
  EXPECT_FALSE(space.unmap(at(0), kPageBytes));
  EXPECT_FALSE(space.unmap(at(kPageBytes), kBytes));
}

TEST_F(MemoryNames, UnmapThatDoesNotComeBack_TimesOutAndIsDoneWhenItHas) {
  std::unique_lock hangs(registrar.kernel);
  const auto late = space.unmap(at(0), memory.size());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::Timeout);
  EXPECT_TRUE(space.find(at(0), 1));  // nobody knows yet
  hangs.unlock();
  EXPECT_TRUE(space.unmap(at(0), memory.size()));
  EXPECT_FALSE(space.find(at(0), 1));
}

TEST_F(MemoryNames, RetiredWhereAnUnmapProvesNothing_StaysMapped) {
  registrar.is_final = false;
  const auto retired = space.retire(at(0), memory.size());
  ASSERT_FALSE(retired);
  EXPECT_EQ(retired.error().code, Errc::Unsupported);
  EXPECT_TRUE(space.find(at(0), 1));
  EXPECT_TRUE(space.unmap(at(0), memory.size()));  // with no key left it may go
}

}  // namespace
}  // namespace portcullis::testing
