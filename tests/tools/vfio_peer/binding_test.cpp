// SPDX-License-Identifier: BSD-3-Clause
//
// What keeps the provider from opening a function, each alone, in a sysfs and a /dev of the test's.
#include "tools/vfio_peer/binding.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

namespace portcullis::tools::vfio_peer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kBdf = "0000:01:00.0";

/// A function as a guest with everything in place has it.
class Binding : public ::testing::Test {
 public:
  Binding() {
    std::string name = (fs::temp_directory_path() / "binding-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    fs::create_directories(device());
    fs::create_directories(folder_ / "dev/vfio");
    write(device() / "vendor", "0x15b3\n");
    fs::create_symlink("../../../kernel/iommu_groups/7", device() / "iommu_group");
    fs::create_symlink("../../../bus/pci/drivers/vfio-pci", device() / "driver");
    write(folder_ / "dev/vfio/7", "");
  }
  ~Binding() override { fs::remove_all(folder_); }

 protected:
  [[nodiscard]] fs::path device() const { return folder_ / "sys/bus/pci/devices" / kBdf; }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  [[nodiscard]] std::string refusal() const {
    const auto checked = check_binding(kBdf, {folder_ / "sys", folder_ / "dev"});
    return checked ? "accepted" : checked.error().text;
  }

  fs::path folder_;
};

TEST_F(Binding, EverythingInPlace_IsAccepted) { EXPECT_EQ(refusal(), "accepted"); }

TEST_F(Binding, NoSuchDevice_NamesIt) {
  fs::remove_all(device());
  EXPECT_THAT(refusal(), HasSubstr("0000:01:00.0: no such PCI device"));
}

TEST_F(Binding, AnotherVendor_IsNamedWithTheOneAccepted) {
  write(device() / "vendor", "0x8086\n");
  EXPECT_THAT(refusal(), HasSubstr("vendor 0x8086, accepted is 0x15b3"));
}

TEST_F(Binding, NoIommuGroup_SaysHowToGetOne) {
  fs::remove(device() / "iommu_group");
  EXPECT_THAT(refusal(), HasSubstr("intel_iommu=on"));
}

TEST_F(Binding, BoundElsewhere_NamesTheDriverAndTheCommand) {
  fs::remove(device() / "driver");
  fs::create_symlink("../../../bus/pci/drivers/mlx5_core", device() / "driver");
  EXPECT_THAT(refusal(), HasSubstr("bound to mlx5_core"));
  EXPECT_THAT(refusal(), HasSubstr("driverctl set-override 0000:01:00.0 vfio-pci"));
}

TEST_F(Binding, BoundToNothing_SaysSo) {
  fs::remove(device() / "driver");
  EXPECT_THAT(refusal(), HasSubstr("bound to no driver"));
}

TEST_F(Binding, NoGroupInDev_SaysToLoadVfio) {
  fs::remove(folder_ / "dev/vfio/7");
  EXPECT_THAT(refusal(), HasSubstr("modprobe vfio-pci"));
}

TEST_F(Binding, GroupThatCannotBeOpened_SaysWhy) {
  fs::remove(folder_ / "dev/vfio/7");
  fs::create_directory(folder_ /
                       "dev/vfio/7");  // opening a directory for writing fails for root too
  EXPECT_THAT(refusal(), HasSubstr("cannot be opened: Is a directory"));
}

}  // namespace
}  // namespace portcullis::tools::vfio_peer
