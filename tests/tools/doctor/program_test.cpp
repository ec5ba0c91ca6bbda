// SPDX-License-Identifier: BSD-3-Clause
//
// What a user of doctor meets: exit statuses, texts, JSON, and when the function is opened.
#include "tools/doctor/program.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/tools/doctor/healthy_machine.hpp"

namespace portcullis::tools::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::HealthyMachine;
using ::testing::IsEmpty;
using testing::kBdf;
using ::testing::Not;
using ::testing::StartsWith;

struct ProgramTest : ::testing::Test {
  /// The program on `machine` as though it were this one.
  Outcome run_here(std::vector<std::string_view> arguments) {
    const World world{[this](const std::filesystem::path&) { return Machine(machine.root()); },
                      [this](const std::string& bdf, bool hugepages) {
                        opened.push_back(bdf + (hugepages ? " hugepages" : ""));
                        return answer;
                      },
                      {}};
    return run(arguments, world);
  }
  /// The program with --root.
  Outcome run_on_tree(std::vector<std::string_view> arguments) {
    const std::string root = "--root=" + machine.root().string();
    arguments.push_back(root);
    return run_here(arguments);
  }
  HealthyMachine machine;
  std::vector<std::string> opened;
  Findings answer;
};

TEST_F(ProgramTest, HealthyMachine_IsStatus0AndSaysWhatToTry) {
  const Outcome outcome = run_on_tree({kBdf});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("Nothing is missing for --device=0000:03:00.0.\n"),
                    EndsWith("Try: revoke_bench -l 4,6 -a 0000:03:00.0 -- --device=0000:03:00.0 "
                             "--peer=loopback\n"),
                    Not(HasSubstr("\n  missing")), Not(HasSubstr("\n  advice"))));
}

TEST_F(ProgramTest, ShortBdf_IsTheSameDevice) {
  EXPECT_EQ(run_on_tree({"03:00.0"}).out, run_on_tree({kBdf}).out);
}

TEST_F(ProgramTest, WithoutABdf_TheOnlyFunctionIsTaken) {
  EXPECT_EQ(run_on_tree({}).out, run_on_tree({kBdf}).out);
}

TEST_F(ProgramTest, WithoutABdfAndWithTwoFunctions_BothAreNamed) {
  machine.file("sys/bus/pci/devices/0000:04:00.0/vendor", "0x15b3\n");
  machine.file("sys/bus/pci/devices/0000:04:00.0/device", "0x1018\n");
  const Outcome outcome = run_on_tree({});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("0000:03:00.0, 0000:04:00.0; name one"),
                                 HasSubstr("doctor DEVICE looks at one")));
}

TEST_F(ProgramTest, MachineWithoutAFunction_IsStatus1) {
  machine.remove("sys/bus/pci/devices");
  const Outcome outcome = run_on_tree({});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("--device=model"));
}

TEST_F(ProgramTest, MissingThing_IsStatus1AndItsCommandStandsBelow) {
  machine.remove("sys/module/vfio_pci");
  const Outcome outcome = run_on_tree({kBdf});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("  missing  modules       not loaded: vfio_pci\n"
                                           "           # modprobe -a vfio-pci vfio_iommu_type1\n"),
                                 HasSubstr("\n1 missing. "), Not(HasSubstr("Try:"))));
}

TEST_F(ProgramTest, Advice_IsStatus0) {
  machine.file("sys/devices/system/cpu/isolated", "");
  const Outcome outcome = run_on_tree({kBdf});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\n  advice   isolcpus "), HasSubstr("\n1 advice: ")));
}

TEST_F(ProgramTest, WithoutHugepages_TheCommandToTryDoesWithout) {
  machine.remove("sys/kernel/mm/hugepages");
  machine.remove("sys/devices/system/node/node1/hugepages");
  EXPECT_THAT(run_on_tree({kBdf}).out, HasSubstr("-l 4,6 --no-huge -m 64 --no-shconf -a"));
}

TEST_F(ProgramTest, UnknownDevice_IsStatus1AndNamesThoseThereAre) {
  const Outcome outcome = run_on_tree({"99:00.0"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out,
              HasSubstr("0000:99:00.0: no such PCI device; ConnectX-5 here: 0000:03:00.0\n"));
}

TEST_F(ProgramTest, BehindRoot_NothingIsOpened) {
  EXPECT_THAT(run_on_tree({kBdf}).out, HasSubstr("a function behind --root is not opened"));
  EXPECT_THAT(opened, IsEmpty());
}

TEST_F(ProgramTest, ReadyFunction_IsOpenedAndWhatItSaysCounts) {
  answer = {{"function", "firmware", Status::Missing, "ENABLE_HCA: no answer"}};
  const Outcome outcome = run_here({kBdf});
  EXPECT_THAT(opened, ElementsAre("0000:03:00.0 hugepages"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out,
              HasSubstr("\nfunction\n  missing  firmware      ENABLE_HCA: no answer\n"));
}

TEST_F(ProgramTest, WithoutHugepages_TheFunctionIsOpenedWithoutThem) {
  machine.remove("sys/kernel/mm/hugepages");
  machine.remove("sys/devices/system/node/node1/hugepages");
  EXPECT_EQ(run_here({kBdf}).status, 0);
  EXPECT_THAT(opened, ElementsAre("0000:03:00.0"));
}

TEST_F(ProgramTest, FunctionThatIsNotReady_IsNotOpened) {
  machine.remove("sys/module/vfio_pci");
  EXPECT_THAT(run_here({kBdf}).out, HasSubstr("opened once nothing is missing"));
  EXPECT_THAT(opened, IsEmpty());
}

TEST_F(ProgramTest, NoOpen_LeavesTheFunctionAlone) {
  EXPECT_EQ(run_here({kBdf, "--no-open"}).status, 0);
  EXPECT_THAT(opened, IsEmpty());
}

TEST_F(ProgramTest, ForeignBytes_DoNotReachTheTerminal) {
  machine.process("4711", "\x1b[31mqemu\xff", "/dev/vfio/12");
  EXPECT_THAT(run_on_tree({kBdf}).out, HasSubstr("process 4711 (?[31mqemu?)"));
  EXPECT_FALSE(
      nlohmann::json::parse(run_on_tree({kBdf, "--json"}).out, nullptr, false).is_discarded());
}

TEST_F(ProgramTest, Json_HasEveryFinding) {
  machine.remove("sys/module/vfio_pci");
  const Outcome outcome = run_on_tree({kBdf, "--json"});
  EXPECT_EQ(outcome.status, 1);
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["device"], kBdf);
  EXPECT_EQ(json["missing"], 1);
  EXPECT_EQ(json["advice"], 0);
  EXPECT_EQ(json["findings"].size(), 24u);
  const auto& modules = json["findings"][0];
  EXPECT_EQ(modules["area"], "vfio");
  EXPECT_EQ(modules["check"], "modules");
  EXPECT_EQ(modules["status"], "missing");
  EXPECT_EQ(modules["mend"][0], "modprobe -a vfio-pci vfio_iommu_type1");
  EXPECT_EQ(json["findings"][23]["status"], "waits");
}

TEST_F(ProgramTest, BadArguments_AreStatus2AndOneLineThatSaysWhatIsAccepted) {
  const Outcome bdf = run_on_tree({"03.0"});
  EXPECT_EQ(bdf.status, 2);
  EXPECT_EQ(
      bdf.err,
      "doctor: \"03.0\" is neither a PCI address, such as 0000:03:00.0, nor an RDMA device of "
      "the kernel's, such as mlx5_0; one of them expected\n");
  const Outcome model = run_on_tree({"model,timing=instant"});
  EXPECT_EQ(model.status, 2);
  EXPECT_THAT(model.err, HasSubstr("needs nothing of this machine"));
  EXPECT_THAT(bdf.out, IsEmpty());
  EXPECT_THAT(run_here({"--colour"}).err, AllOf(HasSubstr("\"--colour\""), HasSubstr("--json")));
  EXPECT_THAT(run_here({kBdf, "04:00.0"}).err, HasSubstr("\"04:00.0\" is a second device"));
  EXPECT_THAT(run_here({"--root"}).err, HasSubstr("--root DIR expected"));
  EXPECT_THAT(run_here({"--root", "/nowhere"}).err, HasSubstr("\"/nowhere\" has no sys in it"));
  EXPECT_EQ(run_here({"--root=/nowhere"}).status, 2);
}

/// Without /proc it would say of the kernel what nobody knows.
TEST_F(ProgramTest, RootWithoutProc_IsRefused) {
  std::filesystem::remove_all(machine.root() / "proc");
  const Outcome outcome = run_on_tree({});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("has no proc in it"));
}

TEST_F(ProgramTest, Help_SaysHowAndWhat) {
  const Outcome outcome = run_here({"--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("usage: doctor [DEVICE]"), HasSubstr("--json"),
                                 HasSubstr("exit status")));
}

}  // namespace
}  // namespace portcullis::tools::doctor
