// SPDX-License-Identifier: BSD-3-Clause
//
// What VFIO needs of the kernel before any device is looked at: its modules, an IOMMU, and no
// mode that goes without one.
#include "tools/doctor/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace portcullis::tools::doctor {
namespace {

constexpr std::string_view kArea = "vfio";
constexpr std::string_view kGroups = "sys/kernel/iommu_groups";
constexpr std::string_view kContainer = "dev/vfio/vfio";
constexpr std::string_view kNoIommu = "sys/module/vfio/parameters/enable_unsafe_noiommu_mode";

std::vector<std::string> absent_modules(const Machine& machine) {
  std::vector<std::string> absent;
  for (const char* name : {"vfio", "vfio_pci", "vfio_iommu_type1"})
    if (!machine.exists(std::string("sys/module/") + name)) absent.emplace_back(name);
  return absent;
}

Finding modules(const Machine& machine) {
  const std::vector<std::string> absent = absent_modules(machine);
  if (absent.empty())
    return {kArea, "modules", Status::Ok, "vfio, vfio_pci and vfio_iommu_type1 are there"};
  if (const std::string why = machine.without_modules(); !why.empty())
    return {
        kArea,
        "modules",
        Status::Missing,
        fmt::format("this kernel has not got {} and cannot load it: {}", fmt::join(absent, ", "),
                    why),
        {},
        "what is needed: a kernel with CONFIG_VFIO_PCI and CONFIG_VFIO_IOMMU_TYPE1 as =y, or as "
        "modules that it may load and that lie there; in a container its host's"};
  return {kArea,
          "modules",
          Status::Missing,
          fmt::format("not loaded: {}", fmt::join(absent, ", ")),
          {"modprobe -a vfio-pci vfio_iommu_type1"},
          "at each boot: echo vfio-pci > /etc/modules-load.d/vfio-pci.conf"};
}

/// /dev/vfio/vfio gives no capability of its own (vfio.rst of Linux): everybody may open it.
Finding container(const Machine& machine) {
  const int error = machine.open_error(kContainer);
  if (error == 0) return {kArea, "container", Status::Ok, "/dev/vfio/vfio can be opened"};
  if (!absent_modules(machine).empty())
    return {kArea, "container", Status::Waits, "/dev/vfio/vfio comes with the modules"};
  if (error == EACCES)
    return {kArea,
            "container",
            Status::Missing,
            "/dev/vfio/vfio: Permission denied",
            {"chmod 0666 /dev/vfio/vfio"}};
  return {kArea,
          "container",
          Status::Missing,
          fmt::format("/dev/vfio/vfio: {}", std::strerror(error)),
          {},
          "a container must be given it: docker run --device=/dev/vfio/vfio .."};
}

bool cpu_says(const Machine& machine, std::string_view word) {
  return machine.text("proc/cpuinfo").find(word) != std::string::npos;
}

/// What switches an IOMMU on at boot: Intel's waits to be asked, AMD's is on wherever the firmware
/// describes it (kernel-parameters.txt of Linux knows no amd_iommu=on).
std::vector<std::string> boot_with_iommu(const Machine& machine, bool intel) {
  if (!intel || machine.booted_with("intel_iommu=on")) return {};
  return boot_with("intel_iommu=on");
}

/// The word of the kernel's command line that switches the IOMMU off; empty when there is none.
std::string off_switch(const Machine& machine) {
  for (const char* word : {"intel_iommu=off", "amd_iommu=off", "iommu=off"})
    if (machine.booted_with(word)) return word;
  return {};
}

Finding no_iommu(const Machine& machine) {
  const bool intel =
      cpu_says(machine, "GenuineIntel") || machine.exists("sys/firmware/acpi/tables/DMAR");
  const char* const table = intel ? "DMAR" : "IVRS";
  Finding finding{kArea, "iommu", Status::Missing, "", boot_with_iommu(machine, intel)};
  if (const std::string off = off_switch(machine); !off.empty()) {
    finding.what = fmt::format("off: the kernel was booted with {}", off);
    finding.mend = {fmt::format("sed -i 's/\\b{}\\b/{}/g' /etc/default/grub", off,
                                intel ? "intel_iommu=on" : ""),
                    "update-grub && reboot"};
  } else if (machine.exists("sys/firmware/acpi/tables") &&
             !machine.exists(fmt::format("sys/firmware/acpi/tables/{}", table))) {
    finding.what = fmt::format("none: the firmware describes no IOMMU (no ACPI table {})", table);
    finding.hint =
        cpu_says(machine, " hypervisor")
            ? "this is a virtual machine: start it with an IOMMU first (QEMU: -device "
              "intel-iommu,intremap=on)"
            : fmt::format("switch {} on in the firmware setup first", intel ? "VT-d" : "AMD-Vi");
  } else {
    finding.what = fmt::format("off: no IOMMU group in /{}", kGroups);
    if (finding.mend.empty()) finding.mend = {"dmesg | grep -i -e iommu -e DMAR -e AMD-Vi"};
  }
  return finding;
}

Finding iommu(const Machine& machine) {
  if (!iommu_is_on(machine)) return no_iommu(machine);
  const std::vector<std::string> units = machine.names("sys/class/iommu");
  return {kArea, "iommu", Status::Ok,
          units.empty() ? fmt::format("on, {} groups", machine.names(kGroups).size())
                        : fmt::format("on ({}), {} groups", fmt::join(units, ", "),
                                      machine.names(kGroups).size())};
}

Finding noiommu(const Machine& machine) {
  if (machine.line(kNoIommu) != "Y")
    return {kArea, "noiommu", Status::Ok, "VFIO does not go without an IOMMU"};
  return {kArea,
          "noiommu",
          Status::Missing,
          "VFIO may go without an IOMMU, and a fence without one proves nothing",
          {fmt::format("echo 0 > /{}", kNoIommu)}};
}

/// Type 1 refuses a group whose device could write any interrupt (vfio_iommu_type1_attach_group of
/// Linux). Remapped ones show as IR-IO-APIC and IR-PCI-MSI.
Finding intremap(const Machine& machine) {
  constexpr std::string_view kAllow =
      "sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts";
  if (!iommu_is_on(machine))
    return {kArea, "intremap", Status::Waits, "interrupts are remapped by the IOMMU"};
  const std::string interrupts = machine.text("proc/interrupts");
  if (interrupts.empty() || interrupts.find(" IR-") != std::string::npos)
    return {kArea, "intremap", Status::Ok, "interrupts are remapped"};
  if (machine.line(kAllow) == "Y")
    return {kArea, "intremap", Status::Ok,
            "interrupts are not remapped, and allow_unsafe_interrupts"};
  return {kArea,
          "intremap",
          Status::Missing,
          "interrupts are not remapped, and VFIO takes no device then",
          {fmt::format("echo 1 > /{}", kAllow)},
          "better: boot without intremap=off, nointremap; a virtual machine wants -device "
          "intel-iommu,intremap=on"};
}

}  // namespace

bool iommu_is_on(const Machine& machine) {
  const std::vector<std::string> groups = machine.names(kGroups);
  return std::any_of(groups.begin(), groups.end(), [&](const std::string& group) {
    // The name that vfio_noiommu_group_alloc of Linux gives its groups.
    return machine.line(fmt::format("{}/{}/name", kGroups, group)) != "vfio-noiommu";
  });
}

Findings vfio_findings(const Machine& machine) {
  return {modules(machine), container(machine), iommu(machine), intremap(machine),
          noiommu(machine)};
}

}  // namespace portcullis::tools::doctor
