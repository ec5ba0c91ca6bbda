// SPDX-License-Identifier: BSD-3-Clause
//
// One PCI function as the kernel shows it: whether it is a ConnectX-5, answers, has what it needs
// of the bus, and may be had through VFIO.
#include "tools/doctor/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/pci_regs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "pmd/pci_ids.hpp"
#include "pmd/vfio_function.hpp"

namespace portcullis::tools::doctor {
namespace {

constexpr std::string_view kArea = "device";
constexpr std::string_view kDevices = "sys/bus/pci/devices";

std::string below(const std::string& bdf, std::string_view file) {
  return fmt::format("{}/{}/{}", kDevices, bdf, file);
}

std::string driver_of(const Machine& machine, const std::string& bdf) {
  return std::filesystem::path(machine.target(below(bdf, "driver"))).filename().string();
}

/// "0x15b3" as sysfs writes it.
std::optional<std::uint16_t> read_id(const Machine& machine, const std::string& file) {
  const std::string text = machine.line(file);
  if (!text.starts_with("0x")) return {};
  std::uint16_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, value, 16);
  if (error != std::errc{} || stop != end) return {};
  return value;
}

Result<void> check_id(const Machine& machine, const std::string& bdf) {
  const auto vendor = read_id(machine, below(bdf, "vendor"));
  const auto device = read_id(machine, below(bdf, "device"));
  if (!vendor || !device) return fail(Errc::Malformed, "vendor and device cannot be read");
  return pmd::check_pci_id(*vendor, *device);
}

std::string those_there_are(const Machine& machine) {
  const std::vector<std::string> functions = connectx5_functions(machine);
  if (functions.empty()) return "this machine shows no ConnectX-5";
  return fmt::format("ConnectX-5 here: {}", fmt::join(functions, ", "));
}

std::vector<std::string> look_again(const std::string& bdf) {
  return {fmt::format("echo 1 > /{}", below(bdf, "remove")), "echo 1 > /sys/bus/pci/rescan"};
}

Finding presence(const Machine& machine, const std::string& bdf) {
  if (machine.exists(below(bdf, "vendor"))) return {kArea, "device", Status::Ok, bdf + " is there"};
  return {kArea,
          "device",
          Status::Missing,
          fmt::format("{}: no such PCI device; {}", bdf, those_there_are(machine)),
          {"echo 1 > /sys/bus/pci/rescan"}};
}

Finding pci_id(const Machine& machine, const std::string& bdf) {
  if (const auto known = check_id(machine, bdf); !known)
    return {kArea, "pci-id", Status::Missing, known.error().text, {}, those_there_are(machine)};
  const bool is_vf = read_id(machine, below(bdf, "device")) == pmd::kConnectX5VfDeviceId;
  return {kArea, "pci-id", Status::Ok,
          is_vf ? "15b3:1018, ConnectX-5 virtual function" : "15b3:1017, ConnectX-5"};
}

Finding config_space(const Machine& machine, const std::string& bdf) {
  const std::string bytes = machine.text(below(bdf, "config"));
  if (bytes.size() < PCI_COMMAND + 2)
    return {kArea, "config-space", Status::Missing, "cannot be read", look_again(bdf)};
  const auto word = [&](std::size_t at) {
    return static_cast<unsigned>(static_cast<unsigned char>(bytes[at])) |
           static_cast<unsigned>(static_cast<unsigned char>(bytes[at + 1])) << 8;
  };
  if (word(PCI_VENDOR_ID) != pmd::kMellanoxVendorId)
    return {
        kArea,
        "config-space",
        Status::Missing,
        fmt::format("the card does not answer: its vendor id reads {:#06x}", word(PCI_VENDOR_ID)),
        look_again(bdf),
        "still so after that: power the machine off and on"};
  const bool masters = (word(PCI_COMMAND) & PCI_COMMAND_MASTER) != 0;
  return {kArea, "config-space", Status::Ok,
          masters ? "answers; bus mastering is on"
                  : "answers; bus mastering is off, the driver switches it on"};
}

Finding bar0(const Machine& machine, const std::string& bdf) {
  const auto bytes = pmd::bar0_bytes(bdf, machine.path("sys"));
  if (bytes && *bytes >= pmd::kLeastBarBytes)
    return {kArea, "bar0", Status::Ok, fmt::format("{} KiB", *bytes >> 10)};
  return {
      kArea,
      "bar0",
      Status::Missing,
      bytes ? fmt::format("{} bytes, at least {} expected", *bytes, pmd::kLeastBarBytes)
            : "its size cannot be read",
      boot_with("pci=realloc"),
      "or switch \"Above 4G decoding\" on in the firmware setup; mstconfig's PF_LOG_BAR_SIZE is 5 "
      "(32 MiB) as a rule"};
}

/// The number that a line such as "8.0 GT/s PCIe" begins with; 0 for "Unknown".
double leading_number(const std::string& line) {
  double value = 0;
  std::from_chars(line.data(), line.data() + line.size(), value);
  return value;
}

Finding link(const Machine& machine, const std::string& bdf) {
  const std::string speed = machine.line(below(bdf, "current_link_speed"));
  const std::string width = machine.line(below(bdf, "current_link_width"));
  const std::string most_speed = machine.line(below(bdf, "max_link_speed"));
  const std::string most_width = machine.line(below(bdf, "max_link_width"));
  if (leading_number(speed) == 0 || leading_number(width) == 0)
    return {kArea, "link", Status::Ok, "the kernel tells no PCIe speed"};
  const std::string now = fmt::format("{} x{}", speed, width);
  if (leading_number(speed) >= leading_number(most_speed) &&
      leading_number(width) >= leading_number(most_width))
    return {kArea, "link", Status::Ok, now};
  return {kArea,
          "link",
          Status::Advice,
          fmt::format("{}, but the card can do {} x{}", now, most_speed, most_width),
          {fmt::format("lspci -vvs {} | grep -e LnkCap -e LnkSta", bdf)},
          "put the card into a slot that has all lanes"};
}

Finding reset(const Machine& machine, const std::string& bdf) {
  if (machine.exists(below(bdf, "reset")))
    return {kArea, "reset", Status::Ok, "the kernel can reset this function"};
  return {kArea,
          "reset",
          Status::Missing,
          "the kernel knows no way to reset this function, and tear-down ends in one",
          {fmt::format("echo flr > /{}", below(bdf, "reset_method"))}};
}

Finding group(const Machine& machine, const pmd::IommuGroup& of_device) {
  if (of_device.is_noiommu || (of_device.number.empty() && !iommu_is_on(machine)))
    return {kArea, "group", Status::Waits, "the IOMMU group comes with the IOMMU"};
  if (of_device.number.empty())
    return {kArea,
            "group",
            Status::Missing,
            "in no IOMMU group, though the IOMMU is on",
            {"dmesg | grep -i -e iommu -e DMAR -e AMD-Vi"},
            "that command says which devices the IOMMU leaves out, and why"};
  Finding finding{kArea, "group", Status::Ok, fmt::format("IOMMU group {}", of_device.number)};
  std::vector<std::string> others;
  for (const auto& other : of_device.others) {
    others.push_back(
        fmt::format("{} ({})", other.bdf, other.driver.empty() ? "no driver" : other.driver));
    if (!other.in_the_way) continue;
    finding.status = Status::Missing;
    finding.mend.push_back(
        fmt::format("echo {} > /{}", other.bdf, below(other.bdf, "driver/unbind")));
  }
  if (!others.empty()) finding.what += fmt::format(", with {}", fmt::join(others, ", "));
  if (finding.status == Status::Missing) finding.what += "; VFIO wants the whole group";
  return finding;
}

Finding driver(const Machine& machine, const std::string& bdf) {
  const std::string bound = driver_of(machine, bdf);
  if (bound == "vfio-pci") return {kArea, "driver", Status::Ok, "bound to vfio-pci"};
  const std::string now = bound.empty() ? "bound to no driver" : "bound to " + bound;
  // vfio-pci refuses a device without a group (vfio_group_find_or_alloc of Linux).
  if (!iommu_is_on(machine))
    return {kArea, "driver", Status::Waits, now + "; vfio-pci takes it once there is an IOMMU"};
  const std::vector<std::string> interfaces = machine.names(below(bdf, "net"));
  Finding finding{kArea, "driver", Status::Missing, now};
  if (!interfaces.empty())
    finding.what +=
        fmt::format(", which gives it the network interface {}", fmt::join(interfaces, ", "));
  finding.mend.push_back(fmt::format("echo vfio-pci > /{}", below(bdf, "driver_override")));
  if (!bound.empty())
    finding.mend.push_back(fmt::format("echo {} > /{}", bdf, below(bdf, "driver/unbind")));
  finding.mend.push_back(fmt::format("echo {} > /sys/bus/pci/drivers_probe", bdf));
  finding.hint = fmt::format("or, with dpdk-devbind.py: dpdk-devbind.py -b vfio-pci {}", bdf);
  for (const std::string& name : machine.names(below(bdf, "infiniband")))
    finding.hint += fmt::format("; or leave it there and give --device={0} (doctor {0})", name);
  return finding;
}

/// Processes that have `file` open, as far as this user may see.
std::vector<std::string> holders(const Machine& machine, const std::string& file) {
  std::vector<std::string> found;
  for (const std::string& process : machine.names("proc")) {
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string folder = fmt::format("proc/{}/fd", process);
    for (const std::string& fd : machine.names(folder)) {
      if (machine.target(folder + "/" + fd) != file) continue;
      found.push_back(process);
      break;
    }
  }
  return found;
}

Finding busy(const Machine& machine, const std::string& file) {
  Finding finding{kArea, "group-file", Status::Missing, file + " is in use"};
  for (const std::string& process : holders(machine, file)) {
    finding.what += fmt::format(" by process {} ({})", process,
                                machine.line(fmt::format("proc/{}/comm", process)));
    finding.mend.push_back("kill " + process);
  }
  if (finding.mend.empty()) finding.mend.push_back("fuser -v " + file);
  return finding;
}

Finding group_file(const Machine& machine, const std::string& bdf,
                   const pmd::IommuGroup& of_device) {
  if (of_device.number.empty() || of_device.is_noiommu || driver_of(machine, bdf) != "vfio-pci")
    return {kArea, "group-file", Status::Waits, "/dev/vfio/GROUP comes with IOMMU and vfio-pci"};
  const std::string file = "/dev/vfio/" + of_device.number;
  const int error = machine.open_error(file.substr(1));
  if (error == EBUSY || !holders(machine, file).empty()) return busy(machine, file);
  if (error == 0) return {kArea, "group-file", Status::Ok, file + " can be opened"};
  Finding finding{kArea, "group-file", Status::Missing,
                  fmt::format("{}: {}", file, std::strerror(error))};
  if (error == EACCES) {
    finding.mend = {fmt::format("chown {} {}", getuid(), file)};
    finding.hint = "each time it is bound, by udev: SUBSYSTEM==\"vfio\", OWNER=\"..\"; or be root";
  } else {
    finding.hint = fmt::format("a container must be given it: docker run --device={} ..", file);
  }
  return finding;
}

}  // namespace

std::vector<std::string> connectx5_functions(const Machine& machine) {
  std::vector<std::string> functions = machine.names(kDevices);
  std::erase_if(functions,
                [&](const std::string& bdf) { return !check_id(machine, bdf).has_value(); });
  return functions;
}

Findings device_findings(const Machine& machine, const std::string& bdf) {
  Findings findings{presence(machine, bdf)};
  if (findings.back().status != Status::Ok) return findings;
  findings.push_back(pci_id(machine, bdf));
  if (findings.back().status != Status::Ok) return findings;
  const pmd::IommuGroup of_device = pmd::iommu_group_of(bdf, machine.path("sys"));
  for (Finding& finding : Findings{
           config_space(machine, bdf), bar0(machine, bdf), link(machine, bdf), reset(machine, bdf),
           group(machine, of_device), driver(machine, bdf), group_file(machine, bdf, of_device)})
    findings.push_back(std::move(finding));
  return findings;
}

}  // namespace portcullis::tools::doctor
