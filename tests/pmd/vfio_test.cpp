// SPDX-License-Identifier: BSD-3-Clause
//
// What of VFIO can be judged without a NIC: addresses, the checks before anything is opened, and
// the kernel's answer about IOVA ranges.
#include <gmock/gmock.h>
#include <linux/vfio.h>

#include <cerrno>
#include <cstring>

#include "pmd/device_control.hpp"
#include "pmd/vfio_dma.hpp"
#include "pmd/vfio_function.hpp"
#include "tests/pmd/fake_tree.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::FakeTree;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kBdf = "0000:03:00.0";

struct VfioReadyTest : ::testing::Test {
  /// A ConnectX-5 at kBdf, bound to vfio-pci, in group 12.
  VfioReadyTest() {
    set_id("vendor", "0x15b3");
    set_id("device", "0x1017");
    machine.link(device() + "/driver", "../../bus/pci/drivers/vfio-pci");
    machine.link(device() + "/iommu_group", "../../kernel/iommu_groups/12");
    machine.file("dev/vfio/12", "");
  }
  static std::string device() { return std::string("sys/bus/pci/devices/") + kBdf; }
  void set_id(const std::string& name, const std::string& id) {
    machine.file(device() + "/" + name, id + "\n");
  }
  void bind(const std::string& driver) {
    std::filesystem::remove(machine.root() / device() / "driver");
    machine.link(device() + "/driver", "../../bus/pci/drivers/" + driver);
  }
  void set_bar(const std::string& line) { machine.file(device() + "/resource", line); }
  /// One more device in the group.
  void add_neighbour(const std::string& bdf, const std::string& driver) {
    machine.file("sys/kernel/iommu_groups/12/devices/" + bdf + "/class", "");
    machine.link("sys/bus/pci/devices/" + bdf + "/driver", "../../bus/pci/drivers/" + driver);
  }
  Result<PciIds> check(const std::string& bdf = kBdf) {
    return check_vfio_ready(bdf, machine.root() / "sys", machine.root() / "dev");
  }
  std::string complaint() { return check().error().text; }

  FakeTree machine;
};

TEST(CanonicalBdf, DomainIsOptional) {
  EXPECT_EQ(*canonical_bdf("03:00.0"), kBdf);
  EXPECT_EQ(*canonical_bdf("0000:03:00.0"), kBdf);
  EXPECT_EQ(*canonical_bdf("0000:AF:00.1"), "0000:af:00.1");
}

TEST(CanonicalBdf, AnythingElse_IsRefusedWithTheWord) {
  for (const char* text : {"", "mlx5_0", "03:00", "03:00.8", "0000:03:00.0x", "03:20.0"})
    EXPECT_EQ(canonical_bdf(text).error().code, Errc::InvalidArgument) << text;
  EXPECT_THAT(canonical_bdf("mlx5_0").error().text,
              AllOf(HasSubstr("\"mlx5_0\""), HasSubstr("0000:03:00.0")));
}

TEST_F(VfioReadyTest, BoundConnectX5_IsReady) {
  const auto ids = check();
  ASSERT_TRUE(ids.has_value());
  EXPECT_EQ(ids->vendor, 0x15b3);
  EXPECT_EQ(ids->device, 0x1017);
}

TEST_F(VfioReadyTest, VirtualFunction_IsReady) {
  set_id("device", "0x1018");
  EXPECT_TRUE(check().has_value());
}

TEST_F(VfioReadyTest, GroupThatOpens_IsFree) {
  EXPECT_TRUE(check_group_opens(kBdf, machine.root() / "sys", machine.root() / "dev").has_value());
}

// A folder cannot be opened for writing, not even by root.
TEST_F(VfioReadyTest, GroupThatDoesNotOpen_IsNamedWithTheReason) {
  std::filesystem::remove(machine.root() / "dev/vfio/12");
  std::filesystem::create_directory(machine.root() / "dev/vfio/12");
  const auto opened = check_group_opens(kBdf, machine.root() / "sys", machine.root() / "dev");
  EXPECT_THAT(opened.error().text, AllOf(HasSubstr("/dev/vfio/12"), HasSubstr("Is a directory")));
}

TEST_F(VfioReadyTest, AbsentDevice_IsNotFound) {
  EXPECT_EQ(check("0000:99:00.0").error().code, Errc::NotFound);
}

TEST_F(VfioReadyTest, AnotherVendor_IsNamedWithWhatIsAccepted) {
  set_id("vendor", "0x8086");
  EXPECT_THAT(complaint(),
              AllOf(HasSubstr("8086:1017"), HasSubstr("15b3:1017"), HasSubstr("15b3:1018")));
}

TEST_F(VfioReadyTest, AnotherCard_IsNamedWithWhatIsAccepted) {
  set_id("device", "0x101b");
  EXPECT_THAT(complaint(), AllOf(HasSubstr(kBdf), HasSubstr("15b3:101b")));
}

TEST_F(VfioReadyTest, UnreadableId_IsMalformed) {
  set_id("vendor", "mellanox");
  EXPECT_EQ(check().error().code, Errc::Malformed);
}

TEST_F(VfioReadyTest, KernelDriver_IsNamedWithTheRemedy) {
  bind("mlx5_core");
  EXPECT_THAT(complaint(),
              AllOf(HasSubstr("mlx5_core"), HasSubstr("dpdk-devbind.py -b vfio-pci 0000:03:00.0")));
}

TEST_F(VfioReadyTest, NoDriver_IsNamedWithTheRemedy) {
  std::filesystem::remove(machine.root() / device() / "driver");
  EXPECT_THAT(complaint(), AllOf(HasSubstr("no driver"), HasSubstr("dpdk-devbind.py")));
}

TEST_F(VfioReadyTest, NoIommuGroup_IsNamedWithTheRemedy) {
  std::filesystem::remove(machine.root() / device() / "iommu_group");
  EXPECT_THAT(complaint(), AllOf(HasSubstr("IOMMU group"), HasSubstr("intel_iommu=on")));
}

TEST_F(VfioReadyTest, NoIommuGroupOfAnUnboundDevice_IsNamedBeforeItsDriver) {
  std::filesystem::remove(machine.root() / device() / "iommu_group");
  bind("mlx5_core");
  EXPECT_THAT(complaint(), AllOf(HasSubstr("IOMMU group"), Not(HasSubstr("mlx5_core"))));
}

TEST_F(VfioReadyTest, GroupThatVfioMadeUp_IsRefused) {
  machine.file("sys/kernel/iommu_groups/12/name", "vfio-noiommu\n");
  EXPECT_THAT(complaint(),
              AllOf(HasSubstr("without an IOMMU"), HasSubstr("enable_unsafe_noiommu_mode")));
}

TEST_F(VfioReadyTest, NeighbourInTheGroupWithAHostDriver_IsNamedWithTheRemedy) {
  add_neighbour("0000:03:00.1", "mlx5_core");
  EXPECT_EQ(check().error().code, Errc::Busy);
  EXPECT_THAT(
      complaint(),
      AllOf(HasSubstr("0000:03:00.1 of the same IOMMU group 12 is bound to mlx5_core"),
            HasSubstr("echo 0000:03:00.1 > /sys/bus/pci/devices/0000:03:00.1/driver/unbind"),
            Not(HasSubstr("\n"))));
}

TEST_F(VfioReadyTest, NeighboursThatLeaveDmaAlone_AreFine) {
  add_neighbour("0000:03:00.1", "vfio-pci");
  add_neighbour("0000:03:00.2", "pci-stub");
  add_neighbour("0000:02:00.0", "pcieport");
  machine.file("sys/kernel/iommu_groups/12/devices/0000:03:00.3/class", "");
  EXPECT_TRUE(check().has_value());
  EXPECT_EQ(iommu_group_of(kBdf, machine.root() / "sys").others.size(), 4u);
}

TEST_F(VfioReadyTest, BarOf32KiB_IsEnough) {
  set_bar("0x00000000e0000000 0x00000000e0007fff 0x000000000014220c\n");
  EXPECT_EQ(bar0_bytes(kBdf, machine.root() / "sys"), 32768u);
  EXPECT_TRUE(check().has_value());
}

TEST_F(VfioReadyTest, BarTooSmall_IsNamedWithTheRemedy) {
  set_bar("0x00000000e0000000 0x00000000e0003fff 0x000000000014220c\n");
  EXPECT_EQ(check().error().code, Errc::Unsupported);
  EXPECT_THAT(complaint(), AllOf(HasSubstr("BAR0 has 16384 bytes, at least 16400 expected"),
                                 HasSubstr("pci=realloc"), Not(HasSubstr("\n"))));
}

TEST_F(VfioReadyTest, BarWithoutAddresses_IsTooSmall) {
  set_bar("0x0000000000000000 0x0000000000000000 0x0000000000000000\n");
  EXPECT_THAT(complaint(), HasSubstr("BAR0 has 0 bytes"));
}

TEST_F(VfioReadyTest, UnreadableBar_IsLeftToVfio) {
  set_bar("nonsense\n");
  EXPECT_EQ(bar0_bytes(kBdf, machine.root() / "sys"), std::nullopt);
  EXPECT_TRUE(check().has_value());
}

TEST_F(VfioReadyTest, GroupThatCannotBeOpened_IsNamed) {
  std::filesystem::remove(machine.root() / "dev/vfio/12");
  EXPECT_THAT(complaint(), AllOf(HasSubstr("vfio/12"), Not(HasSubstr("\n"))));
}

TEST(RefusedByVfio, GroupInUse_IsBusyWithTheCommandThatFindsTheUser) {
  const Error error = refused_by_vfio(kBdf, "12", EBUSY, "EAL: Cannot open /dev/vfio/12\n");
  EXPECT_EQ(error.code, Errc::Busy);
  EXPECT_THAT(error.text, AllOf(HasSubstr(kBdf), HasSubstr("group 12 is in use"),
                                HasSubstr("fuser -v /dev/vfio/12"), Not(HasSubstr("\n"))));
}

TEST(RefusedByVfio, FileThatCannotBeOpened_IsNamedWithItsError) {
  EXPECT_THAT(refused_by_vfio(kBdf, "12", EPERM, "").text,
              AllOf(HasSubstr("/dev/vfio/12: Operation not permitted"), HasSubstr("doctor")));
}

TEST(RefusedByVfio, LockedMemoryUsedUp_IsNamedWithTheCommandThatRaisesIt) {
  const std::string log =
      "EAL: 0000:03:00.0 DMA remapping failed, error 12 (Cannot allocate memory)\n";
  EXPECT_THAT(refused_by_vfio(kBdf, "12", 0, log).text,
              AllOf(HasSubstr("DMA remapping failed"), HasSubstr("ulimit -l unlimited"),
                    Not(HasSubstr("\n"))));
}

TEST(RefusedByVfio, InterruptsThatAreNotRemapped_AreNamedWithTheRemedy) {
  EXPECT_THAT(
      refused_by_vfio(kBdf, "12", 0, "EAL: 0000:03:00.0 failed to select IOMMU type\n").text,
      AllOf(HasSubstr("intremap=off"), HasSubstr("allow_unsafe_interrupts")));
}

TEST(RefusedByVfio, AnythingElse_SaysWhatTheEalSaidAndWhereToLook) {
  EXPECT_THAT(
      refused_by_vfio(kBdf, "12", 0, "EAL: cannot get device info\nEAL: more\n").text,
      AllOf(HasSubstr("(EAL: cannot get device info)"), HasSubstr("dmesg"), Not(HasSubstr("\n"))));
}

TEST(RefusedByVfio, SilentEal_IsSaidToBe) {
  EXPECT_THAT(refused_by_vfio(kBdf, "12", 0, "").text, HasSubstr("no reason told"));
}

/// VFIO_IOMMU_GET_INFO's answer with one range capability at `cap_offset`.
std::vector<std::byte> info_with_ranges(std::uint32_t cap_offset,
                                        const std::vector<vfio_iova_range>& ranges) {
  vfio_iommu_type1_info info{};
  info.flags = VFIO_IOMMU_INFO_CAPS;
  info.cap_offset = cap_offset;
  vfio_iommu_type1_info_cap_iova_range list{};
  list.header.id = VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE;
  list.nr_iovas = static_cast<std::uint32_t>(ranges.size());
  std::vector<std::byte> bytes(cap_offset + sizeof list + ranges.size() * sizeof ranges[0]);
  info.argsz = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data(), &info, sizeof info);
  std::memcpy(bytes.data() + cap_offset, &list, sizeof list);
  std::memcpy(bytes.data() + cap_offset + sizeof list, ranges.data(),
              ranges.size() * sizeof ranges[0]);
  return bytes;
}

TEST(RelaxedOrderingOf, BitOfAPhysicalFunction_SaysWhetherItMay) {
  EXPECT_EQ(relaxed_ordering_of(0x2810, 0x1017), true);
  EXPECT_EQ(relaxed_ordering_of(0x2800, 0x1017), false);
}

TEST(RelaxedOrderingOf, ZeroOfAVirtualFunction_SaysNothing) {
  EXPECT_EQ(relaxed_ordering_of(0x2800, 0x1018), std::nullopt);
  EXPECT_EQ(relaxed_ordering_of(0x2810, 0x1018), true);
}

TEST(IovaRangesIn, TheKernelsRanges_AreRead) {
  const auto ranges =
      iova_ranges_in(info_with_ranges(32, {{0, 0xfedfffff}, {0xfef00000, 0x7fffffffff}}));
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[1].first, 0xfef00000u);
  EXPECT_EQ(ranges[1].last, 0x7fffffffffu);
}

TEST(IovaRangesIn, AnswerWithoutCapabilities_HasNone) {
  EXPECT_THAT(iova_ranges_in(std::vector<std::byte>(sizeof(vfio_iommu_type1_info))), IsEmpty());
}

TEST(IovaRangesIn, CutAnswer_HasNone) {
  auto bytes = info_with_ranges(32, {{0, 0xfedfffff}});
  bytes.resize(bytes.size() - 1);
  EXPECT_THAT(iova_ranges_in(bytes), IsEmpty());
}

TEST(IovaRangesIn, ChainThatPointsAtItself_Ends) {
  auto bytes = info_with_ranges(32, {{0, 0xfedfffff}});
  vfio_info_cap_header header{};
  header.id = VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE;
  header.next = 32;
  std::memcpy(bytes.data() + 32, &header, sizeof header);
  EXPECT_EQ(iova_ranges_in(bytes).size(), 1u);
}

}  // namespace
}  // namespace portcullis::pmd
