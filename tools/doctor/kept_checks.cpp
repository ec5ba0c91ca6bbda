// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/kept_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/capability.h>

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "devx/function.hpp"
#include "devx/kept_nic.hpp"
#include "devx/libmlx5.hpp"
#include "pmd/vfio_function.hpp"
#include "tools/doctor/checks.hpp"
#include "tools/doctor/function_checks.hpp"

namespace portcullis::tools::doctor {
namespace {

constexpr std::string_view kArea = "device";
constexpr std::string_view kFunction = "function";
constexpr std::string_view kRdmaDevices = "sys/class/infiniband";
constexpr std::string_view kVerbsDevices = "sys/class/infiniband_verbs";

std::string folder_of(const std::string& name) { return fmt::format("{}/{}", kRdmaDevices, name); }

std::string last_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// With how to get those of the kernel's modules that are not there, as far as a command does it.
Finding with_modules(Finding finding, const Machine& machine, std::vector<std::string> modules) {
  std::erase_if(modules, [&machine](const std::string& module) {
    return machine.exists("sys/module/" + module);
  });
  if (modules.empty()) return finding;
  const std::string why = machine.without_modules();
  if (why.empty()) {
    finding.mend = {fmt::format("modprobe -a {}", fmt::join(modules, " "))};
    return finding;
  }
  finding.what += fmt::format("; {} cannot be loaded: {}", fmt::join(modules, ", "), why);
  finding.hint =
      "what is needed, unless they are built in: a kernel with CONFIG_MLX5_INFINIBAND and "
      "CONFIG_INFINIBAND_USER_ACCESS as =y, or as modules that it may load and that lie there; in "
      "a "
      "container its host's";
  return finding;
}

Finding not_there(const Machine& machine, const std::string& name) {
  const std::vector<std::string> names = machine.names(kRdmaDevices);
  return with_modules(
      {kArea,
       "rdma-device",
       Status::Missing,
       names.empty() ? fmt::format("no RDMA device {}; the kernel has none", name)
                     : fmt::format("no RDMA device {}; there are {}", name, fmt::join(names, ", ")),
       {},
       "a function that vfio-pci has is given by its PCI address"},
      machine, {"mlx5_ib", "ib_uverbs"});
}

Finding driver(const Machine& machine, const std::string& name) {
  const std::string found = last_of(machine.target(folder_of(name) + "/device/driver"));
  if (found == "mlx5_core") return {kArea, "kernel-driver", Status::Ok, "mlx5_core"};
  return {kArea, "kernel-driver", Status::Missing,
          fmt::format("{} drives it; mlx5_core is what offers DevX",
                      found.empty() ? "no driver that sysfs names" : found)};
}

Finding uverbs(const Machine& machine, const std::string& name) {
  for (const std::string& each : machine.names(kVerbsDevices)) {
    if (machine.line(fmt::format("{}/{}/ibdev", kVerbsDevices, each)) != name) continue;
    const std::string file = "dev/infiniband/" + each;
    if (machine.open_error(file) == 0)
      return {kArea, "uverbs", Status::Ok, fmt::format("/{} can be opened", file)};
    return {kArea,
            "uverbs",
            Status::Missing,
            fmt::format("/{} cannot be opened for reading and writing", file),
            {fmt::format("chmod 666 /{}", file)},
            "Debian's rdma-core has a udev rule for it"};
  }
  return with_modules(
      {kArea, "uverbs", Status::Missing, "no file of /dev/infiniband is this device's"}, machine,
      {"ib_uverbs"});
}

bool is_infiniband(const Machine& machine, const std::string& name) {
  return machine.line(folder_of(name) + "/ports/1/link_layer") == "InfiniBand";
}

Finding port(const Machine& machine, const std::string& name) {
  const std::string state = machine.line(folder_of(name) + "/ports/1/state");
  if (state == "4: ACTIVE") return {kArea, "port", Status::Ok, "port 1 is ACTIVE"};
  const bool is_ib = is_infiniband(machine, name);
  return {kArea,
          "port",
          Status::Missing,
          fmt::format("port 1 is \"{}\"; \"4: ACTIVE\" expected", state),
          {},
          is_ib ? "a subnet manager makes it so: opensm on some host of the fabric"
                : "ip link set dev NETDEV up, and look at the cable: rdma link names the netdev"};
}

Finding address(const Machine& machine, const std::string& name) {
  const std::string ports = folder_of(name) + "/ports/1";
  if (is_infiniband(machine, name)) {
    const std::string lid = machine.line(ports + "/lid");
    if (!lid.empty() && lid != "0x0") return {kArea, "address", Status::Ok, "LID " + lid};
    return {kArea, "address", Status::Missing, "no LID", {}, "a subnet manager gives it: opensm"};
  }
  for (const std::string& index : machine.names(ports + "/gid_attrs/types"))
    if (machine.line(ports + "/gid_attrs/types/" + index) == "RoCE v2")
      return {kArea, "address", Status::Ok,
              fmt::format("RoCEv2 {}, index {}", machine.line(ports + "/gids/" + index), index)};
  return {kArea,
          "address",
          Status::Missing,
          "no RoCEv2 address",
          {},
          "an address of the netdev becomes one: ip addr add 192.0.2.1/24 dev NETDEV"};
}

/// What an unmap is worth, the last proof that a fence has here.
Finding iommu_domain(const Machine& machine, const std::string& name) {
  const std::string type = machine.line(folder_of(name) + "/device/iommu_group/type");
  if (type == "DMA")
    return {kArea, "iommu-domain", Status::Ok, "strict: what is unmapped is out of reach at once"};
  if (type == "DMA-FQ")
    return {kArea,
            "iommu-domain",
            Status::Advice,
            "lazy: what is unmapped may be reached for some milliseconds more, so no unmap proves "
            "a fence",
            boot_with("iommu.strict=1"),
            "a fence by DESTROY_MKEY needs none"};
  if (type.empty())
    return {kArea,
            "iommu-domain",
            Status::Advice,
            "no IOMMU between the device and memory: an unmap proves no fence",
            boot_with("intel_iommu=on iommu.strict=1"),
            "on AMD the firmware's setup switches it on; a fence by DESTROY_MKEY needs none"};
  return {kArea,
          "iommu-domain",
          Status::Advice,
          fmt::format("{}: the IOMMU translates nothing, and an unmap proves no fence", type),
          boot_with("iommu.passthrough=0 iommu.strict=1"),
          "without iommu=pt, if it was booted with that; a fence by DESTROY_MKEY needs none"};
}

/// Whether steering can drop in RDMA_RX (devx/flow_rules.hpp). No lease needs it.
Finding drop_entries(const Machine& machine, const std::string& name) {
  const std::string needless = "a fence by DESTROY_MKEY needs none";
  if (is_infiniband(machine, name))
    return {kArea,
            "drop-entries",
            Status::Advice,
            "none: on an InfiniBand port the kernel sets no root table of RDMA_RX",
            {},
            needless};
  if (has_capability(machine, CAP_NET_RAW))
    return {kArea, "drop-entries", Status::Ok, "flow rules of the kernel's may be made"};
  return {kArea,
          "drop-entries",
          Status::Advice,
          "none: a flow rule of the kernel's takes CAP_NET_RAW",
          {},
          "run as root, or setcap cap_net_raw+ep PROGRAM; " + needless};
}

Finding failed(std::string_view check, const Error& error, std::string hint) {
  return {kFunction, check, Status::Missing, error.text, {}, std::move(hint)};
}

}  // namespace

bool may_be_kept(const std::string& device) {
  return device.find(':') == std::string::npos && device.find('.') == std::string::npos;
}

std::string bdf_of(const Machine& machine, const std::string& name) {
  return pmd::canonical_bdf(last_of(machine.target(folder_of(name) + "/device"))).value_or("");
}

Findings kept_nic_findings(const Machine& machine, const std::string& name) {
  if (!machine.exists(folder_of(name))) return {not_there(machine, name)};
  const std::string bdf = bdf_of(machine, name);
  return {{kArea, "rdma-device", Status::Ok,
           fmt::format("{} is there{}", name, bdf.empty() ? "" : ", PCI " + bdf)},
          driver(machine, name),
          uverbs(machine, name),
          port(machine, name),
          address(machine, name),
          iommu_domain(machine, name),
          drop_entries(machine, name)};
}

Findings devx_findings(const std::string& name) {
  auto provider = devx::open_libmlx5(name);
  if (!provider)
    return {failed("devx", provider.error(),
                   "the firmware must offer user contexts, and rdma-core must be 25 or newer")};
  devx::KeptNic nic(*std::move(provider), "devx " + name);
  const auto function = devx::Function::open(nic, nic.device());
  if (!function) return {failed("devx", function.error(), "dmesg | tail may say more")};
  return {{kFunction, "devx", Status::Ok, "opened through libmlx5"},
          {kFunction, "firmware", Status::Ok,
           fmt::format("{}, board {}{}", (*function)->firmware_version(),
                       (*function)->board_id().empty() ? "unnamed" : (*function)->board_id(),
                       (*function)->is_emulated() ? " (emulated)" : "")},
          room_finding((*function)->context().caps)};
}

}  // namespace portcullis::tools::doctor
