// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/function_checks.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "pmd/eal.hpp"
#include "pmd/hca.hpp"
#include "pmd/vfio_function.hpp"
#include "prm/enums.hpp"
#include "program/log_line.hpp"

namespace portcullis::tools::doctor {
namespace {

constexpr std::string_view kArea = "function";
/// Long enough for a card that was reset a moment ago; a user waits for this.
constexpr std::uint64_t kFirmwareMs = 10'000;
/// Slots of a lease table as LeaseTable::Options has them.
constexpr std::uint32_t kLogLeases = 10;

Finding port_type(const pmd::Capabilities& caps) {
  if (caps.port_type == prm::number(prm::PortType::ETH))
    return {kArea, "port-type", Status::Ok, "Ethernet"};
  return {kArea,
          "port-type",
          Status::Missing,
          "InfiniBand; leases run over RoCEv2 and want an Ethernet port",
          {"mstconfig -d BDF set LINK_TYPE_P1=2 LINK_TYPE_P2=2", "reboot"},
          "mstconfig is in Debian's mstflint; BDF is this function's"};
}

Finding roce(const pmd::Capabilities& caps) {
  if (caps.roce != 0 && caps.roce_address_table_size != 0)
    return {kArea, "roce", Status::Ok,
            fmt::format("{} RoCE addresses", caps.roce_address_table_size)};
  return {
      kArea,
      "roce",
      Status::Missing,
      caps.roce == 0 ? "the function has no RoCE" : "the RoCE address table has no entry",
      {},
      "for a virtual function it is given by its physical one; mstconfig -d BDF q shows the rest"};
}

Finding not_there(std::string_view check, const Error& error, std::vector<std::string> mend,
                  std::string hint = {}) {
  std::string what = error.text;
  std::replace(what.begin(), what.end(), '\n', ' ');
  return {kArea, check, Status::Missing, std::move(what), std::move(mend), std::move(hint)};
}

/// The first CPU that this process may run on.
unsigned any_cpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  unsigned cpu = 0;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return cpu;
  while (cpu + 1 < CPU_SETSIZE && !CPU_ISSET(cpu, &cpus)) ++cpu;
  return cpu;
}

/// As few lcores and files as an EAL can do with; it only carries VFIO here.
std::vector<std::string> eal_arguments(bool hugepages) {
  std::vector<std::string> arguments{"doctor",         "--no-pci", "--no-telemetry",
                                     "--iova-mode=va", "-l",       std::to_string(any_cpu())};
  const std::vector<std::string> memory =
      hugepages ? std::vector<std::string>{"--in-memory"}
                : std::vector<std::string>{"--no-huge", "-m", "64", "--no-shconf"};
  arguments.insert(arguments.end(), memory.begin(), memory.end());
  return arguments;
}

}  // namespace

/// A lease has a QP, a memory key and a protection domain of its own.
Finding room_finding(const pmd::Capabilities& caps) {
  const std::uint32_t log_leases = std::min({caps.log_max_qp, caps.log_max_mkey, caps.log_max_pd});
  const std::string what =
      fmt::format("2^{} QPs, 2^{} memory keys, 2^{} PDs, messages to 2^{} bytes", caps.log_max_qp,
                  caps.log_max_mkey, caps.log_max_pd, caps.log_max_msg);
  if (log_leases >= kLogLeases) return {kArea, "room", Status::Ok, what};
  return {
      kArea, "room", Status::Advice,
      what,  {},     fmt::format("a lease table of more than 2^{} slots will not fit", log_leases)};
}

Finding ordering_finding(const pmd::Capabilities& caps, std::optional<bool> of_function) {
  const char* const of_dma = !of_function ? "unknown" : *of_function ? "on" : "off";
  const bool is_offered = caps.relaxed_ordering_write + caps.relaxed_ordering_read != 0;
  return {kArea, "ordering", Status::Ok,
          fmt::format("relaxed ordering of DMA {} (PCI Express), of keys {}", of_dma,
                      is_offered ? "offered and never asked for" : "not offered")};
}

Findings capability_findings(const pmd::Capabilities& caps) {
  return {port_type(caps), roce(caps), room_finding(caps)};
}

Findings bring_up_findings(const Device& device) {
  const auto hca = pmd::Hca::bring_up(
      device, {.log = program::log_to_stderr(), .firmware_pre_init_ms = kFirmwareMs});
  if (!hca)
    return {
        not_there("firmware", hca.error(), {"echo 1 > /sys/bus/pci/devices/BDF/reset"},
                  "the step that failed comes first; still so after that: update the firmware")};
  Findings findings{
      {kArea, "firmware", Status::Ok,
       fmt::format("{}, board {}{}, {} pages of 4 KiB given to it", (*hca)->firmware_version(),
                   (*hca)->board_id().empty() ? "unnamed" : (*hca)->board_id(),
                   (*hca)->is_emulated() ? " (emulated)" : "", (*hca)->firmware_pages())}};
  for (Finding& finding : capability_findings((*hca)->context().caps))
    findings.push_back(std::move(finding));
  findings.push_back(ordering_finding(
      (*hca)->context().caps,
      device.function == nullptr ? std::nullopt : device.function->relaxed_ordering()));
  const auto down = (*hca)->tear_down();
  findings.push_back(
      down ? Finding{kArea, "tear-down", Status::Ok, "taken down and reset"}
           : not_there("tear-down", down.error(), {"echo 1 > /sys/bus/pci/devices/BDF/reset"}));
  return findings;
}

Findings function_findings(const std::string& bdf, bool hugepages) {
  const auto eal = pmd::Eal::start(eal_arguments(hugepages), false);
  if (!eal) return {not_there("open", eal.error(), {})};
  const auto function = pmd::VfioFunction::attach(bdf);
  if (!function) return {not_there("open", function.error(), {"dmesg | tail"})};
  Findings findings{{kArea, "open", Status::Ok, "opened through VFIO, BAR0 mapped"}};
  for (Finding& finding : bring_up_findings((*function)->device()))
    findings.push_back(std::move(finding));
  for (Finding& finding : findings)
    for (std::string& command : finding.mend)
      if (const std::size_t at = command.find("BDF"); at != std::string::npos)
        command.replace(at, 3, bdf);
  return findings;
}

}  // namespace portcullis::tools::doctor
