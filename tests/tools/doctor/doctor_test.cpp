// SPDX-License-Identifier: BSD-3-Clause
//
// A healthy machine gives no finding; each thing taken away gives its one, with what mends it.
#include <gmock/gmock.h>

#include <cerrno>
#include <functional>
#include <vector>

#include "tests/tools/doctor/healthy_machine.hpp"
#include "tools/doctor/checks.hpp"

namespace portcullis::tools::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::HealthyMachine;
using ::testing::IsEmpty;
using testing::kBdf;
using testing::kGroup;
using testing::kNeighbour;
using ::testing::Not;

Findings everything(const Machine& machine) {
  Findings all;
  for (const Findings& some : {vfio_findings(machine), device_findings(machine, kBdf),
                               memory_findings(machine, 1), cpu_findings(machine, 1)})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

/// Those that ask for something.
Findings wishes(const Machine& machine) {
  Findings all = everything(machine);
  std::erase_if(all, [](const Finding& finding) {
    return finding.status == Status::Ok || finding.status == Status::Waits;
  });
  return all;
}

std::vector<std::string> waiting(const Machine& machine) {
  std::vector<std::string> checks;
  for (const Finding& finding : everything(machine))
    if (finding.status == Status::Waits) checks.emplace_back(finding.check);
  return checks;
}

std::string joined(const Finding& finding) {
  std::string text;
  for (const std::string& command : finding.mend) text += command + "\n";
  return text + finding.hint;
}

TEST(Doctor, HealthyMachine_AsksForNothing) {
  const HealthyMachine machine;
  EXPECT_THAT(wishes(Machine(machine.root())), IsEmpty());
  EXPECT_THAT(waiting(Machine(machine.root())), IsEmpty());
}

TEST(Doctor, LimitThatNobodySays_IsNoneThatIsGood) {
  const HealthyMachine machine;
  machine.remove("proc/self/limits");
  EXPECT_THAT(waiting(Machine(machine.root())), ElementsAre("memlock"));
}

/// modprobe would send the user round for ever.
TEST(Doctor, KernelThatLoadsNoModules_NeedsAnotherKernelAndNoCommand) {
  const auto found = [](const auto& take) {
    const HealthyMachine machine;
    machine.remove("sys/module/vfio_pci");
    take(machine);
    return wishes(Machine(machine.root())).front();
  };
  const auto another_kernel =
      AllOf(Field(&Finding::mend, IsEmpty()), Field(&Finding::check, "modules"));
  const Finding forbidden = found([](const HealthyMachine& machine) {
    machine.file("proc/cmdline", "quiet intel_iommu=on isolcpus=4-7 nohz_full=4-7 nomodule\n");
  });
  EXPECT_THAT(forbidden, another_kernel);
  EXPECT_THAT(forbidden.what, HasSubstr("nomodule"));
  EXPECT_THAT(joined(forbidden), HasSubstr("CONFIG_VFIO_PCI"));
  EXPECT_THAT(found([](const HealthyMachine& machine) { machine.remove("proc/modules"); }),
              another_kernel);
  EXPECT_THAT(found([](const HealthyMachine& machine) { machine.remove("lib/modules/6.12.0"); }),
              another_kernel);
}

TEST(Doctor, ChecksOfAHealthyMachine_AreThese) {
  const HealthyMachine machine;
  std::vector<std::string> checks;
  for (const Finding& finding : everything(Machine(machine.root())))
    checks.emplace_back(finding.check);
  EXPECT_THAT(checks, ElementsAre("modules", "container", "iommu", "intremap", "noiommu", "device",
                                  "pci-id", "config-space", "bar0", "link", "reset", "group",
                                  "driver", "group-file", "memlock", "hugepages", "hugetlbfs",
                                  "isolcpus", "nohz_full", "rcu_nocbs", "governor", "smt", "numa"));
}

/// One thing taken away from a healthy machine.
struct Loss {
  const char* name;
  std::function<void(const HealthyMachine&)> take;
  const char* check;
  Status status;
  const char* what;
  const char* remedy;  // part of a command or of the hint
};

struct DoctorLossTest : ::testing::TestWithParam<Loss> {};

TEST_P(DoctorLossTest, GivesItsOneFindingWithTheRemedy) {
  const HealthyMachine machine;
  GetParam().take(machine);
  const Findings found = wishes(Machine(machine.root()));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].check, GetParam().check);
  EXPECT_EQ(found[0].status, GetParam().status);
  EXPECT_THAT(found[0].what, AllOf(HasSubstr(GetParam().what), Not(HasSubstr("\n"))));
  EXPECT_THAT(joined(found[0]), HasSubstr(GetParam().remedy));
}

std::function<void(const HealthyMachine&)> without(const std::string& path) {
  return [path](const HealthyMachine& machine) { machine.remove(path); };
}
std::function<void(const HealthyMachine&)> with(const std::string& path, const std::string& text) {
  return [path, text](const HealthyMachine& machine) { machine.file(path, text); };
}
std::function<void(const HealthyMachine&)> bound(const std::string& bdf, const std::string& to) {
  return [bdf, to](const HealthyMachine& machine) {
    machine.link("sys/bus/pci/devices/" + bdf + "/driver", "../../../../bus/pci/drivers/" + to);
  };
}
std::string device(const std::string& file) { return HealthyMachine::device(file); }

std::vector<Loss> vfio_losses() {
  return {{"Module", without("sys/module/vfio_pci"), "modules", Status::Missing, "vfio_pci",
           "modprobe -a vfio-pci"},
          {"Type1", without("sys/module/vfio_iommu_type1"), "modules", Status::Missing,
           "vfio_iommu_type1", "modprobe -a vfio-pci vfio_iommu_type1"},
          {"Container", without("dev/vfio/vfio"), "container", Status::Missing,
           "No such file or directory", "--device=/dev/vfio/vfio"},
          {"InterruptRemapping", with("proc/interrupts", "  0:  114  IO-APIC  2-edge  timer\n"),
           "intremap", Status::Missing, "not remapped",
           "echo 1 > /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"},
          {"NoIommuMode", with("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n"),
           "noiommu", Status::Missing, "without an IOMMU",
           "echo 0 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode"}};
}

std::vector<Loss> device_losses() {
  return {
      {"Device", without("sys/bus/pci/devices/0000:03:00.0"), "device", Status::Missing,
       "0000:03:00.0: no such PCI device", "echo 1 > /sys/bus/pci/rescan"},
      {"AnotherCard", with(device("device"), "0x101b\n"), "pci-id", Status::Missing, "15b3:101b",
       "no ConnectX-5"},
      {"SilentCard", with(device("config"), std::string(64, '\xff')), "config-space",
       Status::Missing, "0xffff", "echo 1 > /sys/bus/pci/devices/0000:03:00.0/remove"},
      {"ConfigSpace", without(device("config")), "config-space", Status::Missing, "cannot be read",
       "rescan"},
      {"SmallBar", with(device("resource"), "0xe2000000 0xe2003fff 0x14220c\n"), "bar0",
       Status::Missing, "16384 bytes, at least", "pci=realloc"},
      {"BarWithoutRoom", with(device("resource"), "0x0 0x0 0x0\n"), "bar0", Status::Missing,
       "0 bytes", "Above 4G decoding"},
      {"SlowLink", with(device("current_link_speed"), "2.5 GT/s PCIe\n"), "link", Status::Advice,
       "2.5 GT/s PCIe x16, but the card can do 8.0 GT/s PCIe x16", "lspci -vvs 0000:03:00.0"},
      {"NarrowLink", with(device("current_link_width"), "8\n"), "link", Status::Advice, "x8",
       "slot"},
      {"Reset", without(device("reset")), "reset", Status::Missing, "no way to reset",
       "echo flr > /sys/bus/pci/devices/0000:03:00.0/reset_method"},
      {"KernelDriver", bound(kBdf, "mlx5_core"), "driver", Status::Missing, "bound to mlx5_core",
       "echo 0000:03:00.0 > /sys/bus/pci/devices/0000:03:00.0/driver/unbind\n"
       "echo 0000:03:00.0 > /sys/bus/pci/drivers_probe"},
      {"Driver", without(device("driver")), "driver", Status::Missing, "bound to no driver",
       "echo vfio-pci > /sys/bus/pci/devices/0000:03:00.0/driver_override\n"
       "echo 0000:03:00.0 > /sys/bus/pci/drivers_probe"},
      {"Group", without(device("iommu_group")), "group", Status::Missing, "in no IOMMU group",
       "dmesg | grep"},
      {"NeighbourOfTheHost", bound(kNeighbour, "mlx5_core"), "group", Status::Missing,
       "0000:03:00.1 (mlx5_core)",
       "echo 0000:03:00.1 > /sys/bus/pci/devices/0000:03:00.1/driver/unbind"},
      {"GroupFile", without("dev/vfio/12"), "group-file", Status::Missing,
       "/dev/vfio/12: No such file or directory", "docker run --device=/dev/vfio/12"},
      {"GroupInUse",
       [](const HealthyMachine& machine) { machine.process("4711", "qemu", "/dev/vfio/12"); },
       "group-file", Status::Missing, "in use by process 4711 (qemu)", "kill 4711"}};
}

std::vector<Loss> memory_losses() {
  return {
      {"LockedMemory", with("proc/self/limits", "Max locked memory   8388608   8388608   bytes\n"),
       "memlock", Status::Missing, "8192 KiB may be locked, at least 131072 expected",
       "prlimit --pid $$ --memlock=unlimited"},
      {"HugepagesOfTheNode",
       with("sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "0\n"),
       "hugepages", Status::Advice, "none on NUMA node 1", "--no-huge"},
      {"FreeHugepages",
       with("sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "0\n"),
       "hugepages", Status::Advice, "256 x 2048 KiB on NUMA node 1, all in use",
       "echo 512 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"},
      {"Hugetlbfs", with("proc/mounts", "sysfs /sys sysfs rw 0 0\n"), "hugetlbfs", Status::Advice,
       "not mounted", "mount -t hugetlbfs nodev /dev/hugepages"}};
}

std::vector<Loss> cpu_losses() {
  return {{"Isolation", with("sys/devices/system/cpu/isolated", "\n"), "isolcpus", Status::Advice,
           "no CPU is isolated", "isolcpus=4,6 nohz_full=4,6 rcu_nocbs=4,6"},
          {"IsolationOfAllButOneCore", with("sys/devices/system/cpu/isolated", "4-5\n"), "isolcpus",
           Status::Advice, "only CPU 4-5 isolated", "isolcpus=4,6"},
          {"NohzFull",
           [](const HealthyMachine& machine) {
             machine.file("sys/devices/system/cpu/nohz_full", " (null)\n");
             machine.file("proc/cmdline", "isolcpus=4-7 rcu_nocbs=4-7\n");
           },
           "nohz_full", Status::Advice, "CPU 4-7 takes timer ticks", "nohz_full=4-7"},
          {"Governor", with("sys/devices/system/cpu/cpu5/cpufreq/scaling_governor", "powersave\n"),
           "governor", Status::Advice, "CPU 5 under governor powersave",
           "echo performance > /sys/devices/system/cpu/cpu5/cpufreq/scaling_governor"},
          {"Sibling", with("sys/devices/system/cpu/isolated", "4-6\n"), "smt", Status::Advice,
           "CPU 7 shares a core", "echo 0 > /sys/devices/system/cpu/cpu7/online"},
          {"NearbyCpus",
           [](const HealthyMachine& machine) {
             machine.file("sys/devices/system/cpu/isolated", "0-3\n");
             machine.file("sys/devices/system/cpu/nohz_full", "0-3\n");
           },
           "numa", Status::Advice, "isolated CPUs 0-3 are not on NUMA node 1", "isolcpus=4,6"}};
}

std::string name_of(const ::testing::TestParamInfo<Loss>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Vfio, DoctorLossTest, ::testing::ValuesIn(vfio_losses()), name_of);
INSTANTIATE_TEST_SUITE_P(Device, DoctorLossTest, ::testing::ValuesIn(device_losses()), name_of);
INSTANTIATE_TEST_SUITE_P(Memory, DoctorLossTest, ::testing::ValuesIn(memory_losses()), name_of);
INSTANTIATE_TEST_SUITE_P(Cpus, DoctorLossTest, ::testing::ValuesIn(cpu_losses()), name_of);

/// A machine whose kernel found no IOMMU.
struct NoIommuTest : ::testing::Test {
  NoIommuTest() {
    machine.remove(kGroup);
    machine.remove(device("iommu_group"));
    machine.remove("dev/vfio/12");
    machine.file("proc/cmdline", "quiet\n");
  }
  Finding finding() {
    const Findings found = wishes(Machine(machine.root()));
    EXPECT_EQ(found.size(), 1u);
    return found.at(0);
  }
  HealthyMachine machine;
};

TEST_F(NoIommuTest, OnIntel_IsToldToBootWithIt) {
  EXPECT_EQ(finding().check, "iommu");
  EXPECT_THAT(joined(finding()),
              AllOf(HasSubstr("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX intel_iommu=on\""),
                    HasSubstr("update-grub && reboot")));
}

TEST_F(NoIommuTest, GroupAndItsFile_Wait) {
  EXPECT_THAT(waiting(Machine(machine.root())), ElementsAre("intremap", "group", "group-file"));
}

TEST_F(NoIommuTest, DriverOfTheHost_WaitsTooForVfioPciWouldRefuse) {
  machine.link(device("driver"), "../../../../bus/pci/drivers/mlx5_core");
  EXPECT_THAT(waiting(Machine(machine.root())),
              ElementsAre("intremap", "group", "driver", "group-file"));
}

TEST_F(NoIommuTest, SwitchedOffAtBoot_NamesTheWord) {
  machine.file("proc/cmdline", "quiet intel_iommu=off\n");
  EXPECT_THAT(finding().what, HasSubstr("booted with intel_iommu=off"));
  EXPECT_THAT(joined(finding()), HasSubstr("s/\\bintel_iommu=off\\b/intel_iommu=on/g"));
}

TEST_F(NoIommuTest, FirmwareWithoutOne_IsToldWhereToSwitchItOn) {
  machine.remove("sys/firmware/acpi/tables/DMAR");
  EXPECT_THAT(finding().what, HasSubstr("no ACPI table DMAR"));
  EXPECT_THAT(joined(finding()), HasSubstr("VT-d"));
}

TEST_F(NoIommuTest, VirtualMachineWithoutOne_IsToldHowToStartIt) {
  machine.remove("sys/firmware/acpi/tables/DMAR");
  machine.file("proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor\n");
  EXPECT_THAT(joined(finding()), HasSubstr("-device intel-iommu,intremap=on"));
}

TEST_F(NoIommuTest, OnAmd_NoParameterIsInvented) {
  machine.file("proc/cpuinfo", "vendor_id\t: AuthenticAMD\n");
  machine.remove("sys/firmware/acpi/tables/DMAR");
  EXPECT_THAT(finding().what, HasSubstr("IVRS"));
  EXPECT_THAT(joined(finding()), AllOf(HasSubstr("AMD-Vi"), Not(HasSubstr("GRUB"))));
}

TEST_F(NoIommuTest, ThatWasAskedForAtBoot_SendsToTheKernelLog) {
  machine.file("proc/cmdline", "quiet intel_iommu=on\n");
  EXPECT_THAT(finding().mend, ElementsAre(HasSubstr("dmesg")));
}

TEST_F(NoIommuTest, GroupThatVfioMadeUp_DoesNotCount) {
  machine.file(std::string(kGroup) + "/name", "vfio-noiommu\n");
  machine.link(device("iommu_group"), "../../../../kernel/iommu_groups/12");
  EXPECT_EQ(finding().check, "iommu");
}

TEST(Doctor, GroupFileOfSomebodyElse_IsToldHowToGetIt) {
  const HealthyMachine machine;
  const auto found = wishes(Machine(machine.root(), [](const std::filesystem::path& at) {
    return at.filename() == "12" ? EACCES : 0;
  }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].check, "group-file");
  EXPECT_THAT(joined(found[0]), AllOf(HasSubstr("chown "), HasSubstr(" /dev/vfio/12")));
}

TEST(Doctor, GroupInUseByNobodyVisible_SaysHowToFindOut) {
  const HealthyMachine machine;
  const auto found = wishes(Machine(machine.root(), [](const std::filesystem::path& at) {
    return at.filename() == "12" ? EBUSY : 0;
  }));
  EXPECT_THAT(found,
              ElementsAre(AllOf(Field(&Finding::what, HasSubstr("is in use")),
                                Field(&Finding::mend, ElementsAre("fuser -v /dev/vfio/12")))));
}

TEST(Doctor, ContainerOfSomebodyElse_IsToldHowToOpenIt) {
  const HealthyMachine machine;
  const auto found = wishes(Machine(machine.root(), [](const std::filesystem::path& at) {
    return at.filename() == "vfio" ? EACCES : 0;
  }));
  EXPECT_THAT(found, ElementsAre(Field(&Finding::mend, ElementsAre("chmod 0666 /dev/vfio/vfio"))));
}

TEST(Doctor, UnsafeInterruptsThatAreAllowed_AreNotAskedFor) {
  const HealthyMachine machine;
  machine.file("proc/interrupts", "  0:  114  IO-APIC  2-edge  timer\n");
  machine.file("sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts", "Y\n");
  EXPECT_THAT(wishes(Machine(machine.root())), IsEmpty());
}

TEST(Doctor, ModulesThatAreMissing_AreOneFinding) {
  const HealthyMachine machine;
  machine.remove("sys/module/vfio");
  machine.remove("sys/module/vfio_pci");
  machine.remove("dev/vfio/vfio");
  EXPECT_THAT(wishes(Machine(machine.root())), ElementsAre(Field(&Finding::check, "modules")));
  EXPECT_THAT(waiting(Machine(machine.root())), ElementsAre("container"));
}

TEST(Doctor, DriverWithANetworkInterface_NamesWhatWillGo) {
  const HealthyMachine machine;
  machine.link(device("driver"), "../../../../bus/pci/drivers/mlx5_core");
  machine.file(device("net/enp3s0f0np0/operstate"), "up\n");
  EXPECT_THAT(wishes(Machine(machine.root()))[0].what, HasSubstr("enp3s0f0np0"));
}

TEST(Doctor, BridgeInTheGroup_IsInNobodysWay) {
  const HealthyMachine machine;
  machine.link(fmt::format("sys/bus/pci/devices/{}/driver", kNeighbour), "../drivers/pcieport");
  EXPECT_THAT(wishes(Machine(machine.root())), IsEmpty());
}

TEST(Doctor, MayLockMemoryByCapability_NeedsNoLimit) {
  const HealthyMachine machine;
  machine.file("proc/self/limits", "Max locked memory   65536   65536   bytes\n");
  machine.file("proc/self/status", "CapEff:\t0000000000004000\n");
  EXPECT_THAT(wishes(Machine(machine.root())), IsEmpty());
}

TEST(Doctor, NoHugepagesAnywhere_IsOneFinding) {
  const HealthyMachine machine;
  machine.remove("sys/kernel/mm/hugepages");
  machine.remove("sys/devices/system/node/node1/hugepages");
  machine.file("proc/mounts", "");
  const auto found = wishes(Machine(machine.root()));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, "none reserved");
  EXPECT_THAT(found[0].mend,
              ElementsAre("echo 256 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"));
}

TEST(Doctor, RcuCallbacksOnIsolatedCpus_AreNamed) {
  const HealthyMachine machine;
  machine.file("sys/devices/system/cpu/nohz_full", "");
  machine.file("proc/cmdline", "isolcpus=4-7 rcu_nocbs=4-5\n");
  EXPECT_THAT(wishes(Machine(machine.root())),
              ElementsAre(Field(&Finding::check, "nohz_full"),
                          AllOf(Field(&Finding::check, "rcu_nocbs"),
                                Field(&Finding::what, HasSubstr("CPU 6-7 ")))));
}

TEST(Doctor, MachineWithTwoCpus_IsToldThatTheyAreTooFew) {
  const HealthyMachine machine;
  machine.file("sys/devices/system/cpu/online", "0-1\n");
  machine.file("sys/devices/system/cpu/isolated", "\n");
  const auto found = wishes(Machine(machine.root()));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].mend, IsEmpty());
  EXPECT_THAT(found[0].hint, HasSubstr("of 2 CPUs of NUMA node 1 there are not 2"));
}

TEST(Doctor, CoreOfCpu0_IsNeverToBeIsolated) {
  const HealthyMachine machine;
  machine.file("sys/devices/system/cpu/isolated", "\n");
  EXPECT_THAT(cpu_findings(Machine(machine.root()), -1)[0].mend[0], HasSubstr("isolcpus=2,4 "));
}

TEST(Doctor, OfflineSibling_IsNoSibling) {
  const HealthyMachine machine;
  machine.file("sys/devices/system/cpu/online", "0-4,6\n");
  machine.file("sys/devices/system/cpu/isolated", "4,6\n");
  EXPECT_THAT(wishes(Machine(machine.root())), IsEmpty());
}

TEST(Doctor, EmptyTree_IsSurvived) {
  const portcullis::testing::FakeTree tree;
  EXPECT_THAT(wishes(Machine(tree.root())),
              ElementsAre(Field(&Finding::check, "modules"), Field(&Finding::check, "iommu"),
                          Field(&Finding::check, "device"), Field(&Finding::check, "hugepages"),
                          Field(&Finding::check, "isolcpus")));
}

TEST(Connectx5Functions, AreFoundByTheirIds) {
  const HealthyMachine machine;
  machine.file("sys/bus/pci/devices/0000:04:00.0/vendor", "0x15b3\n");
  machine.file("sys/bus/pci/devices/0000:04:00.0/device", "0x1018\n");
  machine.file("sys/bus/pci/devices/0000:05:00.0/vendor", "0x8086\n");
  machine.file("sys/bus/pci/devices/0000:05:00.0/device", "0x1017\n");
  EXPECT_THAT(connectx5_functions(Machine(machine.root())), ElementsAre(kBdf, "0000:04:00.0"));
}

}  // namespace
}  // namespace portcullis::tools::doctor
