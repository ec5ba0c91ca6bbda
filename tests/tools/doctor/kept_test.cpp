// SPDX-License-Identifier: BSD-3-Clause
//
// The doctor on an RDMA device that its kernel driver keeps, in a tree of files.
#include "tools/doctor/kept_checks.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/tools/doctor/healthy_machine.hpp"
#include "tools/doctor/program.hpp"

namespace portcullis::tools::doctor {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::HealthyMachine;
using testing::kBdf;

constexpr const char* kName = "mlx5_0";
constexpr const char* kDevice = "sys/class/infiniband/mlx5_0/";

struct KeptNic : ::testing::Test {
  KeptNic() {
    const std::string device = kDevice;
    machine.remove(HealthyMachine::device("driver"));
    machine.link(device + "device", std::string("../../../bus/pci/devices/") + kBdf);
    machine.link(HealthyMachine::device("driver"), "../../../../bus/pci/drivers/mlx5_core");
    machine.file(HealthyMachine::device("iommu_group/type"), "DMA\n");
    machine.file(device + "ports/1/state", "4: ACTIVE\n");
    machine.file(device + "ports/1/link_layer", "Ethernet\n");
    machine.file(device + "ports/1/gids/3", "0000:0000:0000:0000:0000:ffff:c000:0201\n");
    machine.file(device + "ports/1/gid_attrs/types/0", "IB/RoCE v1\n");
    machine.file(device + "ports/1/gid_attrs/types/3", "RoCE v2\n");
    machine.file("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n");
    machine.file("dev/infiniband/uverbs0", "");
    machine.file("proc/self/status", "CapEff:\t0000000000002000\n");  // CAP_NET_RAW
  }

  [[nodiscard]] Findings findings() const {
    return kept_nic_findings(Machine(machine.root()), kName);
  }
  [[nodiscard]] Finding found(std::string_view check) const {
    const Findings all = findings();
    return *std::ranges::find(all, check, &Finding::check);
  }
  Outcome run_here(std::vector<std::string_view> arguments) {
    const World world{
        .machine = [this](const std::filesystem::path&) { return Machine(machine.root()); },
        .open = {},
        .open_kept =
            [this](const std::string& name) {
              opened.push_back(name);
              return Findings{{"function", "devx", Status::Ok, "opened"}};
            }};
    return run(arguments, world);
  }

  HealthyMachine machine;
  std::vector<std::string> opened;
};

TEST_F(KeptNic, AllAsItShouldBe_NothingIsMissing) {
  EXPECT_THAT(findings(), Each(Field(&Finding::status, Status::Ok)));
  EXPECT_THAT(found("rdma-device").what, HasSubstr(kBdf));
  EXPECT_EQ(found("address").what, "RoCEv2 0000:0000:0000:0000:0000:ffff:c000:0201, index 3");
}

TEST_F(KeptNic, ProcessWithoutNetRaw_HasNoDropEntries) {
  machine.file("proc/self/status", "CapEff:\t0000000000001000\n");
  EXPECT_EQ(found("drop-entries").status, Status::Advice);
  EXPECT_THAT(found("drop-entries").what, HasSubstr("takes CAP_NET_RAW"));
}

TEST_F(KeptNic, InfiniBandPort_HasNoDropEntries) {
  machine.file(std::string(kDevice) + "ports/1/link_layer", "InfiniBand\n");
  EXPECT_EQ(found("drop-entries").status, Status::Advice);
  EXPECT_THAT(found("drop-entries").what, HasSubstr("sets no root table of RDMA_RX"));
}

TEST_F(KeptNic, Named_IsOpenedByDevXAndToldWhatToTry) {
  const Outcome outcome = run_here({kName});
  EXPECT_EQ(outcome.status, kExitReady) << outcome.out;
  EXPECT_THAT(opened, ElementsAre(kName));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("Nothing is missing for --device=mlx5_0.\n"),
                                 HasSubstr("Try: revoke_bench -l 4,6 --no-pci --no-huge -m 64 "
                                           "--no-shconf -- --device=mlx5_0 --peer=loopback\n")));
}

TEST_F(KeptNic, SomethingMissing_IsNotOpened) {
  machine.file(std::string(kDevice) + "ports/1/state", "1: DOWN\n");
  const Outcome outcome = run_here({kName});
  EXPECT_EQ(outcome.status, kExitMissing);
  EXPECT_THAT(opened, ElementsAre());
  EXPECT_THAT(outcome.out, HasSubstr("port 1 is \"1: DOWN\"; \"4: ACTIVE\" expected"));
}

TEST_F(KeptNic, NameThatIsNotThere_IsMissingWithThoseThatAre) {
  const Findings all = kept_nic_findings(Machine(machine.root()), "mlx5_7");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].status, Status::Missing);
  EXPECT_EQ(all[0].what, "no RDMA device mlx5_7; there are mlx5_0");
  EXPECT_THAT(all[0].mend, ElementsAre("modprobe -a mlx5_ib ib_uverbs"));
}

TEST_F(KeptNic, NameThatIsNotThereThoughTheModulesAre_HasNoCommand) {
  machine.file("sys/module/mlx5_ib/refcnt", "0\n");
  machine.file("sys/module/ib_uverbs/refcnt", "0\n");
  EXPECT_THAT(kept_nic_findings(Machine(machine.root()), "mlx5_7").front().mend, ElementsAre());
}

/// modprobe would send the user round for ever.
TEST_F(KeptNic, KernelThatLoadsNoModules_NeedsAnotherAndNoCommand) {
  machine.remove("proc/modules");
  machine.remove("sys/class/infiniband_verbs");
  for (const Finding& each :
       {found("uverbs"), kept_nic_findings(Machine(machine.root()), "mlx5_7").front()}) {
    EXPECT_THAT(each.mend, ElementsAre());
    EXPECT_THAT(each.what, HasSubstr("ib_uverbs cannot be loaded: built without loadable modules"));
    EXPECT_THAT(each.hint, HasSubstr("CONFIG_INFINIBAND_USER_ACCESS"));
  }
}

TEST_F(KeptNic, OtherDriver_IsMissing) {
  machine.link(HealthyMachine::device("driver"), "../../../../bus/pci/drivers/irdma");
  EXPECT_EQ(found("kernel-driver").status, Status::Missing);
  EXPECT_THAT(found("kernel-driver").what, HasSubstr("irdma drives it"));
}

TEST_F(KeptNic, WithoutUverbs_IsMissingWithTheModule) {
  machine.remove("sys/class/infiniband_verbs");
  EXPECT_THAT(found("uverbs").mend, ElementsAre("modprobe -a ib_uverbs"));
}

TEST_F(KeptNic, UverbsThatCannotBeOpened_IsMissing) {
  machine.remove("dev/infiniband/uverbs0");
  EXPECT_EQ(found("uverbs").status, Status::Missing);
}

TEST_F(KeptNic, InfiniBand_NeedsALid) {
  machine.file(std::string(kDevice) + "ports/1/link_layer", "InfiniBand\n");
  machine.file(std::string(kDevice) + "ports/1/lid", "0x0\n");
  EXPECT_EQ(found("address").status, Status::Missing);
  machine.file(std::string(kDevice) + "ports/1/lid", "0x1\n");
  EXPECT_EQ(found("address").what, "LID 0x1");
}

TEST_F(KeptNic, OnlyRoCEVersion1_IsNoAddress) {
  machine.remove(std::string(kDevice) + "ports/1/gid_attrs/types/3");
  EXPECT_EQ(found("address").status, Status::Missing);
}

TEST_F(KeptNic, LazyDomain_IsAdviceAboutWhatAnUnmapProves) {
  machine.file(HealthyMachine::device("iommu_group/type"), "DMA-FQ\n");
  EXPECT_EQ(found("iommu-domain").status, Status::Advice);
  EXPECT_THAT(found("iommu-domain").what, HasSubstr("lazy"));
}

TEST_F(KeptNic, IdentityDomain_ProvesNoFence) {
  machine.file(HealthyMachine::device("iommu_group/type"), "identity\n");
  EXPECT_EQ(found("iommu-domain").status, Status::Advice);
  EXPECT_THAT(found("iommu-domain").what, HasSubstr("identity: the IOMMU translates nothing"));
}

}  // namespace
}  // namespace portcullis::tools::doctor
