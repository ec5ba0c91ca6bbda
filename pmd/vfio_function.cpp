// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/vfio_function.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <rte_log.h>
#include <rte_pause.h>
#include <rte_pci.h>
#include <rte_vfio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "pmd/device_control.hpp"
#include "pmd/pci_ids.hpp"

namespace portcullis::pmd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPciDevices = "bus/pci/devices";

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

/// Drivers of Linux that leave DMA to the group's owner (driver_managed_dma of struct pci_driver):
/// VFIO's own, pci-stub, and pcieport on bridges.
bool leaves_dma_alone(const std::string& driver) {
  return driver.empty() || driver == "pci-stub" || driver == "pcieport" ||
         driver.find("vfio") != std::string::npos;
}

Result<void> check_group(const std::string& bdf, const IommuGroup& group) {
  if (group.number.empty())
    return fail(Errc::Unsupported,
                fmt::format("{}: no IOMMU group; switch the IOMMU on in the firmware and, for "
                            "Intel, boot with intel_iommu=on",
                            bdf));
  if (group.is_noiommu)
    return fail(Errc::Unsupported,
                fmt::format("{}: VFIO runs without an IOMMU, and a fence without one proves "
                            "nothing; switch the IOMMU on and clear enable_unsafe_noiommu_mode",
                            bdf));
  const auto stranger = std::find_if(group.others.begin(), group.others.end(),
                                     [](const auto& member) { return member.in_the_way; });
  if (stranger != group.others.end())
    return fail(Errc::Busy,
                fmt::format("{0}: {1} of the same IOMMU group {2} is bound to {3}; take it away: "
                            "echo {1} > /sys/bus/pci/devices/{1}/driver/unbind",
                            bdf, stranger->bdf, group.number, stranger->driver));
  return {};
}

Result<void> check_bar_bytes(const std::string& bdf, std::uint64_t bytes) {
  if (bytes >= kLeastBarBytes) return {};
  return fail(
      Errc::Unsupported,
      fmt::format("{}: BAR0 has {} bytes, at least {} expected; switch \"Above 4G decoding\" "
                  "on in the firmware or boot with pci=realloc",
                  bdf, bytes, kLeastBarBytes));
}

/// The errno of opening `node` for use, 0 when that works.
int open_error(const fs::path& node) {
  const int fd = open(node.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

/// Takes what the EAL logs until end(), so that a refusal is one line: the caller's error. Whoever
/// has asked the EAL for more than its usual messages goes on seeing all of them.
class EalLog {
 public:
  EalLog() {
    if (rte_log_can_log(RTE_LOGTYPE_EAL, RTE_LOG_DEBUG)) return;
    stream_ = open_memstream(&text_, &bytes_);
    if (stream_ != nullptr) rte_openlog_stream(stream_);
  }
  EalLog(const EalLog&) = delete;
  EalLog& operator=(const EalLog&) = delete;
  ~EalLog() { (void)end(); }

  std::string end() {
    if (stream_ == nullptr) return {};
    rte_openlog_stream(nullptr);
    std::fclose(std::exchange(stream_, nullptr));
    std::string said(text_, bytes_);
    std::free(text_);
    return said;
  }

 private:
  std::FILE* stream_ = nullptr;
  char* text_ = nullptr;
  std::size_t bytes_ = 0;
};

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

std::optional<std::uint64_t> bar0_bytes(const std::string& bdf, const fs::path& sys) {
  std::ifstream file(sys / kPciDevices / bdf / "resource");
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (!(file >> std::hex >> first >> last) || last < first) return {};
  return last == 0 ? 0 : last - first + 1;  // all zero: the kernel found no room for it
}

IommuGroup iommu_group_of(const std::string& bdf, const fs::path& sys) {
  IommuGroup group{.number = target_name(sys / kPciDevices / bdf / "iommu_group")};
  if (group.number.empty()) return group;
  const fs::path folder = sys / "kernel/iommu_groups" / group.number;
  std::string name;
  std::ifstream(folder / "name") >> name;
  group.is_noiommu = name == "vfio-noiommu";  // vfio_noiommu_group_alloc of Linux
  std::error_code error;
  for (fs::directory_iterator at(folder / "devices", error), end; !error && at != end;
       at.increment(error)) {
    const std::string member = at->path().filename().string();
    if (member == bdf) continue;
    const std::string driver = target_name(sys / kPciDevices / member / "driver");
    group.others.push_back({member, driver, !leaves_dma_alone(driver)});
  }
  std::sort(group.others.begin(), group.others.end(),
            [](const auto& a, const auto& b) { return a.bdf < b.bdf; });
  return group;
}

Result<PciIds> check_vfio_ready(const std::string& bdf, const fs::path& sys, const fs::path& dev) {
  const fs::path device = sys / kPciDevices / bdf;
  std::error_code error;
  if (!fs::exists(device, error))
    return fail(Errc::NotFound,
                fmt::format("{}: no such PCI device under {}; lspci -Dd 15b3: lists those there "
                            "are, echo 1 > /sys/bus/pci/rescan looks for more",
                            bdf, (sys / kPciDevices).string()));
  PciIds ids;
  PORTCULLIS_TRY_ASSIGN(ids.vendor, read_id(device / "vendor"));
  PORTCULLIS_TRY_ASSIGN(ids.device, read_id(device / "device"));
  if (auto known = check_pci_id(ids.vendor, ids.device); !known)
    return fail(known.error().code, bdf + ": " + known.error().text);
  if (const auto bytes = bar0_bytes(bdf, sys)) PORTCULLIS_TRY(check_bar_bytes(bdf, *bytes));
  const IommuGroup group = iommu_group_of(bdf, sys);
  PORTCULLIS_TRY(check_group(bdf, group));
  const std::string driver = target_name(device / "driver");
  if (driver != "vfio-pci")
    return fail(Errc::Unsupported,
                fmt::format("{}: bound to {}; bind it to vfio-pci: dpdk-devbind.py -b vfio-pci {}",
                            bdf, driver.empty() ? "no driver" : driver, bdf));
  const fs::path node = dev / "vfio" / group.number;
  if (access(node.c_str(), R_OK | W_OK) != 0)
    return fail(Errc::System, fmt::format("{}: {}: {}; run as root or give your user that file",
                                          bdf, node.string(), std::strerror(errno)));
  return ids;
}

Error refused_by_vfio(const std::string& bdf, const std::string& group, int open_error,
                      std::string_view eal_log) {
  if (open_error == EBUSY)  // vfio_group_fops_open of Linux: one opener at a time
    return Error{Errc::Busy,
                 fmt::format("{0}: IOMMU group {1} is in use by another process; end it "
                             "(fuser -v /dev/vfio/{1} names it)",
                             bdf, group)};
  if (open_error != 0)
    return Error{Errc::System,
                 fmt::format("{0}: /dev/vfio/{1}: {2}; doctor {0} says what is missing", bdf, group,
                             std::strerror(open_error))};
  std::string_view said = eal_log.substr(0, eal_log.find('\n'));
  if (said.empty()) said = "no reason told";
  const auto says = [&](std::string_view words) { return eal_log.find(words) != eal_log.npos; };
  const char* remedy = "the kernel's reason is at the end of dmesg";
  if (says("Cannot allocate memory"))  // ENOMEM of vfio_lock_acct of Linux
    remedy = "raise the locked memory limit: ulimit -l unlimited";
  if (says("failed to select IOMMU type"))  // EPERM of vfio_iommu_type1_attach_group of Linux
    remedy = "boot without intremap=off, or allow_unsafe_interrupts of vfio_iommu_type1";
  return Error{Errc::System,
               fmt::format("{}: VFIO does not give the device ({}); {}", bdf, said, remedy)};
}

Result<void> check_group_opens(const std::string& bdf, const fs::path& sys, const fs::path& dev) {
  const std::string group = iommu_group_of(bdf, sys).number;
  const int error = open_error(dev / "vfio" / group);
  if (error == 0) return {};
  return tl::unexpected<Error>(refused_by_vfio(bdf, group, error, {}));
}

Result<std::unique_ptr<VfioFunction>> VfioFunction::attach(const std::string& bdf) {
  PORTCULLIS_TRY_ASSIGN(const PciIds ids, check_vfio_ready(bdf));
  if (rte_vfio_is_enabled("vfio") == 0)
    return fail(
        Errc::System,
        bdf + ": the EAL runs without VFIO; modprobe -a vfio-pci vfio_iommu_type1, start again");
  if (rte_vfio_noiommu_is_enabled() == 1)
    return fail(Errc::Unsupported,
                bdf +
                    ": VFIO may run without an IOMMU, and a fence without one proves nothing; "
                    "echo 0 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
  const std::string devices = std::string("/sys/") + kPciDevices;
  int fd = -1;
  vfio_device_info info{};
  info.argsz = sizeof info;
  EalLog log;
  const int set = rte_vfio_setup_device(devices.c_str(), bdf.c_str(), &fd, &info);
  const std::string said = log.end();
  if (set != 0) {
    const std::string group = iommu_group_of(bdf).number;
    return tl::unexpected<Error>(
        refused_by_vfio(bdf, group, open_error("/dev/vfio/" + group), said));
  }
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
  PORTCULLIS_TRY(check_bar_bytes(bdf_, region.size));
  if ((region.flags & VFIO_REGION_INFO_FLAG_MMAP) == 0)
    return fail(Errc::Unsupported,
                bdf_ + ": VFIO lets nobody map BAR0; whole pages of memory expected there");
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

std::optional<bool> VfioFunction::relaxed_ordering() const {
  // The PCI Express capability is one of the list that begins at PCI_CAPABILITY_LIST; a list longer
  // than the space that it lies in goes round.
  constexpr int kMostCapabilities = 48;
  constexpr std::uint8_t kAligned = 0xfc;
  const auto read = [this](std::uint64_t at, auto& value) {
    return pread(fd_, &value, sizeof value, static_cast<off_t>(configuration_at_ + at)) ==
           static_cast<ssize_t>(sizeof value);
  };
  std::uint8_t at = 0;
  if (!read(PCI_CAPABILITY_LIST, at)) return std::nullopt;
  for (int i = 0; i < kMostCapabilities && (at &= kAligned) != 0; ++i) {
    std::array<std::uint8_t, 2> head{};  // id, next
    if (!read(at, head)) return std::nullopt;
    std::uint16_t control = 0;
    if (head[0] == PCI_CAP_ID_EXP && read(at + PCI_EXP_DEVCTL, control))
      return relaxed_ordering_of(control, ids_.device);
    at = head[1];
  }
  return std::nullopt;
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

Result<std::uint32_t> VfioFunction::read_config_dword(std::uint32_t offset) {
  std::uint32_t value = 0;  // little endian, as the machines are that DPDK runs on here
  if (pread(fd_, &value, sizeof value, static_cast<off_t>(configuration_at_ + offset)) !=
      sizeof value)
    return tl::unexpected<Error>(system_error(bdf_, "read of configuration space"));
  return value;
}

Result<void> VfioFunction::write_config_dword(std::uint32_t offset, std::uint32_t value) {
  if (pwrite(fd_, &value, sizeof value, static_cast<off_t>(configuration_at_ + offset)) !=
      sizeof value)
    return tl::unexpected<Error>(system_error(bdf_, "write of configuration space"));
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
