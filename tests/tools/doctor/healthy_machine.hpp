// SPDX-License-Identifier: BSD-3-Clause
//
// A machine on which the doctor finds nothing: a tree of files with all that it looks at, two NUMA
// nodes of four CPUs, and a ConnectX-5 at kBdf on node 1 that is bound to vfio-pci.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "tests/pmd/fake_tree.hpp"

namespace portcullis::tools::doctor::testing {

inline constexpr const char* kBdf = "0000:03:00.0";
inline constexpr const char* kNeighbour = "0000:03:00.1";
inline constexpr const char* kGroup = "sys/kernel/iommu_groups/12";

class HealthyMachine {
 public:
  HealthyMachine() {
    make_vfio();
    make_device();
    make_memory();
    for (unsigned cpu = 0; cpu < 8; ++cpu) make_cpu(cpu);
    tree_.file("sys/devices/system/cpu/online", "0-7\n");
    tree_.file("sys/devices/system/cpu/isolated", "4-7\n");
    tree_.file("sys/devices/system/cpu/nohz_full", "4-7\n");
    tree_.file("sys/devices/system/node/node0/cpulist", "0-3\n");
    tree_.file("sys/devices/system/node/node1/cpulist", "4-7\n");
    tree_.file("proc/cmdline", "quiet intel_iommu=on isolcpus=4-7 nohz_full=4-7\n");
    tree_.file("proc/interrupts", "           CPU0\n  0:  114  IR-IO-APIC  2-edge  timer\n");
    tree_.file("proc/modules", "");
    tree_.file("proc/sys/kernel/osrelease", "6.12.0\n");
    tree_.file("lib/modules/6.12.0/modules.dep", "");
    tree_.file("proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
  }

  [[nodiscard]] const std::filesystem::path& root() const { return tree_.root(); }
  void file(const std::string& at, const std::string& text) const { tree_.file(at, text); }
  void remove(const std::string& at) const { std::filesystem::remove_all(root() / at); }
  void link(const std::string& at, const std::string& target) const {
    remove(at);
    tree_.link(at, target);
  }
  [[nodiscard]] static std::string device(const std::string& file) {
    return fmt::format("sys/bus/pci/devices/{}/{}", kBdf, file);
  }
  /// Another process that has `path` open.
  void process(const std::string& id, const std::string& name, const std::string& path) const {
    file("proc/" + id + "/comm", name + "\n");
    link("proc/" + id + "/fd/7", path);
  }

 private:
  void make_vfio() const {
    for (const char* name : {"vfio", "vfio_pci", "vfio_iommu_type1"})
      tree_.file(std::string("sys/module/") + name + "/refcnt", "0\n");
    tree_.file("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "N\n");
    tree_.file("sys/class/iommu/dmar0/uevent", "");
    tree_.file("sys/firmware/acpi/tables/DMAR", "");
    tree_.file("dev/vfio/vfio", "");
    tree_.file("dev/vfio/12", "");
    tree_.file(std::string(kGroup) + "/type", "DMA-FQ\n");
    for (const char* bdf : {kBdf, kNeighbour})
      tree_.file(fmt::format("{}/devices/{}/uevent", kGroup, bdf), "");
  }
  void make_device() const {
    tree_.file(device("vendor"), "0x15b3\n");
    tree_.file(device("device"), "0x1017\n");
    tree_.file(device("config"), std::string("\xb3\x15\x17\x10\x02\x00\x10\x00", 8));
    tree_.file(device("resource"),
               "0x00000000e2000000 0x00000000e3ffffff 0x000000000014220c\n"
               "0x0000000000000000 0x0000000000000000 0x0000000000000000\n");
    tree_.file(device("current_link_speed"), "8.0 GT/s PCIe\n");
    tree_.file(device("current_link_width"), "16\n");
    tree_.file(device("max_link_speed"), "8.0 GT/s PCIe\n");
    tree_.file(device("max_link_width"), "16\n");
    tree_.file(device("reset"), "");
    tree_.file(device("numa_node"), "1\n");
    tree_.link(device("driver"), "../../../../bus/pci/drivers/vfio-pci");
    tree_.link(device("iommu_group"), "../../../../kernel/iommu_groups/12");
    tree_.link(fmt::format("sys/bus/pci/devices/{}/driver", kNeighbour),
               "../../../../bus/pci/drivers/vfio-pci");
  }
  void make_memory() const {
    tree_.file("proc/self/limits",
               "Limit                     Soft Limit           Hard Limit           Units     \n"
               "Max locked memory         unlimited            unlimited            bytes     \n");
    tree_.file("proc/self/status", "Name:\tdoctor\nCapEff:\t0000000000000000\n");
    tree_.file("proc/mounts",
               "sysfs /sys sysfs rw 0 0\nhugetlbfs /dev/hugepages hugetlbfs rw,pagesize=2M 0 0\n");
    for (const char* node : {"sys/kernel/mm", "sys/devices/system/node/node1"})
      for (const char* count : {"nr_hugepages", "free_hugepages"})
        tree_.file(fmt::format("{}/hugepages/hugepages-2048kB/{}", node, count), "256\n");
  }
  /// CPUs n and n + 1 share a core when n is even.
  void make_cpu(unsigned cpu) const {
    const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}", cpu);
    const unsigned first = cpu & ~1U;
    tree_.file(folder + "/topology/thread_siblings_list", fmt::format("{}-{}\n", first, first + 1));
    tree_.file(folder + "/cpufreq/scaling_governor", "performance\n");
  }

  portcullis::testing::FakeTree tree_;
};

}  // namespace portcullis::tools::doctor::testing
