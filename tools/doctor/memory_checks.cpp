// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for DMA: how much a process may lock, and huge pages for the EAL.
#include "tools/doctor/checks.hpp"

#include <fmt/format.h>
#include <linux/capability.h>

#include <charconv>
#include <optional>
#include <sstream>
#include <string>

namespace portcullis::tools::doctor {
namespace {

constexpr std::string_view kArea = "memory";
constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
/// 512 MiB of the usual size; what a run of the benchmarks never fills.
constexpr unsigned kSuggestedPages = 256;

/// What follows `label` on its line of the file; empty when there is no such line.
std::string value_of(const Machine& machine, std::string_view file, std::string_view label) {
  std::istringstream lines(machine.text(file));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(label)) return line.substr(label.size());
  return {};
}

/// The soft limit of this process; unlimited where the kernel does not tell.
/// None: nobody says.
std::optional<std::uint64_t> locked_bytes_limit(const Machine& machine) {
  const std::string said = value_of(machine, "proc/self/limits", "Max locked memory");
  std::istringstream words(said);
  std::uint64_t limit = 0;
  if (words >> limit) return limit;
  if (said.find("unlimited") != std::string::npos) return kUnlimited;
  return std::nullopt;
}

/// vfio_lock_acct of Linux asks nobody who has CAP_IPC_LOCK.
bool may_lock_anything(const Machine& machine) { return has_capability(machine, CAP_IPC_LOCK); }

struct Pages {
  std::uint64_t reserved = 0;
  std::uint64_t free = 0;
  std::string sizes{};  // "256 x 2048 KiB"
};

/// Of all sizes in `folder`, whose entries are "hugepages-2048kB".
Pages pages_in(const Machine& machine, const std::string& folder) {
  constexpr std::string_view kPrefix = "hugepages-";
  Pages pages;
  for (const std::string& size : machine.names(folder)) {
    const std::uint64_t reserved =
        machine.number(folder + "/" + size + "/nr_hugepages").value_or(0);
    if (!size.starts_with(kPrefix) || reserved == 0) continue;
    pages.reserved += reserved;
    pages.free += machine.number(folder + "/" + size + "/free_hugepages").value_or(0);
    const std::string kib = size.substr(kPrefix.size(), size.find("kB") - kPrefix.size());
    pages.sizes += fmt::format("{}{} x {} KiB", pages.sizes.empty() ? "" : ", ", reserved, kib);
  }
  return pages;
}

std::string node_folder(int node) {
  return fmt::format("sys/devices/system/node/node{}/hugepages", node);
}

/// The device's node where the kernel has one by that number, all of them otherwise.
std::string folder_of(const Machine& machine, int node) {
  if (node >= 0 && machine.exists(node_folder(node))) return node_folder(node);
  return "sys/kernel/mm/hugepages";
}

Finding hugepages(const Machine& machine, int node) {
  const std::string folder = folder_of(machine, node);
  const Pages all = pages_in(machine, "sys/kernel/mm/hugepages");
  const Pages here = pages_in(machine, folder);
  const std::string where =
      folder == node_folder(node) ? fmt::format(" on NUMA node {}", node) : "";
  if (here.free > 0)
    return {kArea, "hugepages", Status::Ok,
            fmt::format("{}{}, {} free", here.sizes, where, here.free)};
  Finding finding{
      kArea,
      "hugepages",
      Status::Advice,
      {},
      {fmt::format("echo {} > /{}/hugepages-2048kB/nr_hugepages", here.reserved + kSuggestedPages,
                   folder)},
      "or without: --no-huge -m 64 --no-shconf among the EAL arguments, at more TLB misses"};
  if (here.reserved > 0) {
    finding.what = fmt::format("{}{}, all in use", here.sizes, where);
  } else if (all.reserved > 0) {
    finding.what = fmt::format("none{}, where the device is; elsewhere {}", where, all.sizes);
  } else {
    finding.what = "none reserved";
  }
  return finding;
}

Finding hugetlbfs(const Machine& machine) {
  std::istringstream mounts(machine.text("proc/mounts"));
  std::string device;
  std::string at;
  std::string type;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    if (words >> device >> at >> type && type == "hugetlbfs")
      return {kArea, "hugetlbfs", Status::Ok, "mounted on " + at};
  }
  if (pages_in(machine, "sys/kernel/mm/hugepages").reserved == 0)
    return {kArea, "hugetlbfs", Status::Waits, "not mounted, and there are no huge pages"};
  return {kArea,
          "hugetlbfs",
          Status::Advice,
          "not mounted, so the EAL does not find the huge pages",
          {"mkdir -p /dev/hugepages && mount -t hugetlbfs nodev /dev/hugepages"},
          "or without: --in-memory among the EAL arguments"};
}

}  // namespace

bool has_capability(const Machine& machine, unsigned capability) {
  std::istringstream words(value_of(machine, "proc/self/status", "CapEff:"));
  std::uint64_t effective = 0;
  words >> std::hex >> effective;
  return (effective >> capability & 1) != 0;
}

bool has_free_hugepages(const Machine& machine, int node) {
  return pages_in(machine, folder_of(machine, node)).free > 0;
}

Finding memlock_finding(const Machine& machine) {
  const std::optional<std::uint64_t> limit = locked_bytes_limit(machine);
  if (may_lock_anything(machine))
    return {kArea, "memlock", Status::Ok, "no limit on locked memory for this user"};
  if (!limit)
    return {kArea, "memlock", Status::Waits,
            "/proc/self/limits does not say how much memory may be locked"};
  if (*limit == kUnlimited) return {kArea, "memlock", Status::Ok, "unlimited"};
  if (*limit >= kLeastLockedBytes)
    return {kArea, "memlock", Status::Ok,
            fmt::format("{} MiB; regions of leases count too", *limit >> 20)};
  return {kArea,
          "memlock",
          Status::Missing,
          fmt::format("{} KiB may be locked, at least {} expected", *limit >> 10,
                      kLeastLockedBytes >> 10),
          {"prlimit --pid $$ --memlock=unlimited:unlimited"},
          "at each login: echo '* - memlock unlimited' > /etc/security/limits.d/90-vfio.conf"};
}

Findings memory_findings(const Machine& machine, int node) {
  return {memlock_finding(machine), hugepages(machine, node), hugetlbfs(machine)};
}

}  // namespace portcullis::tools::doctor
