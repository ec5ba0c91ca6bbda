// SPDX-License-Identifier: BSD-3-Clause
#include "tools/vfio_peer/binding.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace portcullis::tools::vfio_peer {
namespace {

namespace fs = std::filesystem;

std::string first_word(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

/// The name a link points to; empty when there is none.
std::string link_name(const fs::path& link) {
  std::error_code ignored;
  return fs::read_symlink(link, ignored).filename().string();
}

Result<void> check_group(const fs::path& group) {
  const int fd = ::open(group.c_str(), O_RDWR | O_CLOEXEC);
  const int error = errno;
  if (fd >= 0) {
    ::close(fd);
    return {};
  }
  if (error == ENOENT)
    return fail(Errc::NotFound, fmt::format("{} does not exist: modprobe vfio-pci, and bind every "
                                            "device of the group to it",
                                            group.string()));
  if (error == EBUSY)
    return fail(Errc::Busy, fmt::format("{} is in use: end the program that holds it (fuser {})",
                                        group.string(), group.string()));
  return fail(Errc::System, fmt::format("{} cannot be opened: {}; run as root, or chown it",
                                        group.string(), std::generic_category().message(error)));
}

}  // namespace

Result<void> check_binding(const std::string& bdf, const Roots& roots) {
  constexpr std::string_view kMellanox = "0x15b3";
  const fs::path device = roots.sys / "bus/pci/devices" / bdf;
  std::error_code ignored;
  if (!fs::exists(device, ignored))
    return fail(Errc::NotFound, fmt::format("{}: no such PCI device; lspci -D -d 15b3: lists those "
                                            "of this machine",
                                            bdf));
  if (const std::string vendor = first_word(device / "vendor"); vendor != kMellanox)
    return fail(
        Errc::Unsupported,
        fmt::format("{}: PCI vendor {}, accepted is {} (NVIDIA Mellanox)", bdf, vendor, kMellanox));
  const std::string group = link_name(device / "iommu_group");
  if (group.empty())
    return fail(
        Errc::Unsupported,
        fmt::format("{}: no IOMMU group; boot with intel_iommu=on or amd_iommu=on, and turn "
                    "the IOMMU on in the firmware's setup",
                    bdf));
  if (const std::string driver = link_name(device / "driver"); driver != "vfio-pci")
    return fail(
        Errc::Busy,
        fmt::format("{}: bound to {}, needed is vfio-pci: driverctl set-override {} vfio-pci", bdf,
                    driver.empty() ? "no driver" : driver, bdf));
  return check_group(roots.dev / "vfio" / group);
}

}  // namespace portcullis::tools::vfio_peer
