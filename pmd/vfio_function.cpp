// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/vfio_function.hpp"

#include <fmt/format.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <rte_errno.h>
#include <rte_pause.h>
#include <rte_pci.h>
#include <rte_vfio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <system_error>

#include "pmd/pci_ids.hpp"
#include "prm/init_segment.hpp"

namespace portcullis::pmd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPciDevices = "bus/pci/devices";

/// The initialisation segment and at least one UAR page behind it.
constexpr std::size_t kLeastBarBytes = prm::mlx5_init_seg::bytes + 2 * kPageBytes;

Error system_error(const std::string& bdf, const char* call) {
  return Error{Errc::System, fmt::format("{}: {}: {}", bdf, call, std::strerror(errno)),
               std::nullopt};
}

/// "0x15b3" as sysfs writes ids.
Result<std::uint16_t> read_id(const fs::path& file) {
  std::ifstream stream(file);
  std::string text;
  stream >> text;
  std::uint16_t value = 0;
  const char* const begin = text.data() + (text.starts_with("0x") ? 2 : 0);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value, 16);
  if (error != std::errc{} || stop != end || begin == end)
    return fail(Errc::Malformed, fmt::format("{} holds \"{}\", no PCI id", file.string(), text));
  return value;
}

/// The last part of what `link` points at; empty when it does not.
std::string target_name(const fs::path& link) {
  std::error_code error;
  return fs::read_symlink(link, error).filename().string();
}

Result<vfio_region_info> region_info(const std::string& bdf, int fd, std::uint32_t index) {
  vfio_region_info region{};
  region.argsz = sizeof region;
  region.index = index;
  if (ioctl(fd, VFIO_DEVICE_GET_REGION_INFO, &region) != 0)
    return tl::unexpected<Error>(system_error(bdf, "VFIO_DEVICE_GET_REGION_INFO"));
  return region;
}

void pause_briefly(void* /*context*/, std::uint64_t /*until_ns*/) noexcept { rte_pause(); }

}  // namespace

Result<std::string> canonical_bdf(std::string_view text) {
  constexpr unsigned kMostDevice = 31;
  constexpr unsigned kMostFunction = 7;  // neither of which rte_pci_addr_parse checks
  rte_pci_addr address{};
  if (rte_pci_addr_parse(std::string(text).c_str(), &address) != 0 || address.devid > kMostDevice ||
      address.function > kMostFunction)
    return fail(Errc::InvalidArgument,
                fmt::format("\"{}\" is no PCI address; one like 0000:03:00.0 expected", text));
  std::array<char, PCI_PRI_STR_SIZE> name{};
  rte_pci_device_name(&address, name.data(), name.size());
  return std::string(name.data());
}

Result<PciIds> check_vfio_ready(const std::string& bdf, const fs::path& sys, const fs::path& dev) {
  const fs::path device = sys / kPciDevices / bdf;
  std::error_code error;
  if (!fs::exists(device, error))
    return fail(Errc::NotFound,
                fmt::format("{}: no such PCI device under {}", bdf, (sys / kPciDevices).string()));
  PciIds ids;
  PORTCULLIS_TRY_ASSIGN(ids.vendor, read_id(device / "vendor"));
  PORTCULLIS_TRY_ASSIGN(ids.device, read_id(device / "device"));
  if (auto known = check_pci_id(ids.vendor, ids.device); !known)
    return fail(known.error().code, bdf + ": " + known.error().text);
  const std::string driver = target_name(device / "driver");
  if (driver != "vfio-pci")
    return fail(Errc::Unsupported,
                fmt::format("{}: bound to {}; bind it to vfio-pci: dpdk-devbind.py -b vfio-pci {}",
                            bdf, driver.empty() ? "no driver" : driver, bdf));
  const std::string group = target_name(device / "iommu_group");
  if (group.empty())
    return fail(Errc::Unsupported,
                fmt::format("{}: no IOMMU group; switch the IOMMU on in the firmware and boot "
                            "with intel_iommu=on or amd_iommu=on",
                            bdf));
  const fs::path node = dev / "vfio" / group;
  if (access(node.c_str(), R_OK | W_OK) != 0)
    return fail(Errc::System, fmt::format("{}: {}: {}; run as root or give your user that file",
                                          bdf, node.string(), std::strerror(errno)));
  return ids;
}

Result<std::unique_ptr<VfioFunction>> VfioFunction::attach(const std::string& bdf) {
  PORTCULLIS_TRY_ASSIGN(const PciIds ids, check_vfio_ready(bdf));
  if (rte_vfio_is_enabled("vfio") == 0)
    return fail(Errc::System, bdf + ": the EAL runs without VFIO; load vfio-pci and start again");
  if (rte_vfio_noiommu_is_enabled() == 1)
    return fail(Errc::Unsupported,
                bdf +
                    ": VFIO runs without an IOMMU, and a fence without one proves nothing; "
                    "clear enable_unsafe_noiommu_mode");
  const std::string devices = std::string("/sys/") + kPciDevices;
  int fd = -1;
  vfio_device_info info{};
  info.argsz = sizeof info;
  if (const int set = rte_vfio_setup_device(devices.c_str(), bdf.c_str(), &fd, &info); set != 0)
    return fail(Errc::System,
                fmt::format("{}: VFIO does not give the device: {}", bdf,
                            set > 0 ? "its group is not viable" : rte_strerror(rte_errno)));
  const bool resettable = (info.flags & VFIO_DEVICE_FLAGS_RESET) != 0;
  std::unique_ptr<VfioFunction> function(new VfioFunction(bdf, ids, fd, resettable));
  PORTCULLIS_TRY(function->map_bar());
  PORTCULLIS_TRY(function->find_configuration_space());
  PORTCULLIS_TRY_ASSIGN(function->dma_, VfioDmaSpace::create(rte_vfio_get_container_fd()));
  return function;
}

VfioFunction::~VfioFunction() {
  if (!bar_.empty()) munmap(bar_.data(), bar_.size());
  const std::string devices = std::string("/sys/") + kPciDevices;
  rte_vfio_release_device(devices.c_str(), bdf_.c_str(), fd_);
}

Result<void> VfioFunction::map_bar() {
  PORTCULLIS_TRY_ASSIGN(const vfio_region_info region,
                        region_info(bdf_, fd_, VFIO_PCI_BAR0_REGION_INDEX));
  if (region.size < kLeastBarBytes || (region.flags & VFIO_REGION_INFO_FLAG_MMAP) == 0)
    return fail(
        Errc::Unsupported,
        fmt::format("{}: BAR0 has {} bytes{}; at least {}, mappable, expected", bdf_,
                    std::uint64_t{region.size},
                    (region.flags & VFIO_REGION_INFO_FLAG_MMAP) == 0 ? ", not mappable" : "",
                    kLeastBarBytes));
  void* const at = mmap(nullptr, region.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                        static_cast<off_t>(region.offset));
  if (at == MAP_FAILED) return tl::unexpected<Error>(system_error(bdf_, "mmap of BAR0"));
  bar_ = std::span(static_cast<std::byte*>(at), region.size);
  return {};
}

Result<void> VfioFunction::find_configuration_space() {
  PORTCULLIS_TRY_ASSIGN(const vfio_region_info region,
                        region_info(bdf_, fd_, VFIO_PCI_CONFIG_REGION_INDEX));
  configuration_at_ = region.offset;
  return {};
}

Device VfioFunction::device() noexcept {
  return Device{.bar = bar_,
                .dma = dma_.get(),
                .function = this,
                .clock = Clock::wall(),
                .relax = Relax(&pause_briefly, nullptr),
                .description = "vfio " + bdf_};
}

Result<void> VfioFunction::set_bus_master(bool on) {
  const auto at = static_cast<off_t>(configuration_at_ + PCI_COMMAND);
  std::uint16_t command = 0;
  if (pread(fd_, &command, sizeof command, at) != sizeof command)
    return tl::unexpected<Error>(system_error(bdf_, "read of PCI_COMMAND"));
  const auto wanted = static_cast<std::uint16_t>(
      on ? command | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER : command & ~PCI_COMMAND_MASTER);
  if (pwrite(fd_, &wanted, sizeof wanted, at) != sizeof wanted)
    return tl::unexpected<Error>(system_error(bdf_, "write of PCI_COMMAND"));
  // The write is posted: reading back is what says that it has arrived.
  if (pread(fd_, &command, sizeof command, at) != sizeof command)
    return tl::unexpected<Error>(system_error(bdf_, "read of PCI_COMMAND"));
  if (((command & PCI_COMMAND_MASTER) != 0) != on)
    return fail(Errc::DeviceFailed,
                fmt::format("{}: bus mastering stays {}", bdf_, on ? "off" : "on"));
  return {};
}

Result<void> VfioFunction::reset() {
  if (!resettable_)
    return fail(Errc::Unsupported, bdf_ + ": the kernel knows no way to reset this function");
  if (ioctl(fd_, VFIO_DEVICE_RESET) != 0)
    return tl::unexpected<Error>(system_error(bdf_, "VFIO_DEVICE_RESET"));
  return {};
}

}  // namespace portcullis::pmd
