// SPDX-License-Identifier: BSD-3-Clause
#include "attach/open_device.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

#include "pmd/hca.hpp"

namespace portcullis::attach {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const model::Options& options_of(const Result<DeviceSpec>& spec) {
  return std::get<model::Options>(spec->kind);
}

TEST(ParseDevice, Model_IsSteppedAndInstantByDefault) {
  const auto spec = parse_device("model");
  ASSERT_TRUE(spec.has_value());
  EXPECT_TRUE(spec->is_emulated());
  EXPECT_EQ(options_of(spec).timing, "instant");
  EXPECT_EQ(options_of(spec).execution, model::Execution::Stepped);
  EXPECT_FALSE(options_of(spec).virtual_function);
  EXPECT_TRUE(spec->bdf().empty());
}

TEST(ParseDevice, EveryWord_ArrivesInTheModelsOptions) {
  const auto spec = parse_device(
      "model,timing=cx5-16.35.4506,behaviour=slow-init+page-starved,execution=polled,seed=42,vf,"
      "port=ib,pcap=/tmp/x.pcap,trace=/tmp/x.trace");
  ASSERT_TRUE(spec.has_value()) << spec.error().text;
  EXPECT_EQ(options_of(spec).timing, "cx5-16.35.4506");
  EXPECT_THAT(options_of(spec).behaviours, ElementsAre("slow-init", "page-starved"));
  EXPECT_EQ(options_of(spec).execution, model::Execution::Polled);
  EXPECT_EQ(options_of(spec).seed, 42u);
  EXPECT_EQ(options_of(spec).port_type, model::PortType::InfiniBand);
  EXPECT_TRUE(options_of(spec).virtual_function);
  EXPECT_EQ(options_of(spec).pcap_path, "/tmp/x.pcap");
  EXPECT_EQ(options_of(spec).trace_path, "/tmp/x.trace");
}

TEST(ParseDevice, CaptureAndTraceOfOneName_AreRefused) {
  const auto both = parse_device("model,pcap=a/b,trace=./a//b");
  ASSERT_FALSE(both.has_value());
  EXPECT_EQ(both.error().text, "\"trace=./a//b\": pcap= is written there; two files are accepted");
}

TEST(ParseDevice, ProfileThatIsNoBundle_IsOneLineWithItsPath) {
  for (const char* const path : {"/nowhere/card.tar.zst", "/usr", "/dev/null"}) {
    const auto refused = parse_device(std::string("model,profile=") + path);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text, AllOf(HasSubstr(path), Not(HasSubstr("\n"))));
  }
}

TEST(ParseDevice, WhatAProfileSays_IsNotSaidBesideIt) {
  for (const char* const word : {"timing=instant", "port=ib", "vf"}) {
    const auto refused = parse_device(std::string("model,") + word + ",profile=/nowhere");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text, HasSubstr("\"" + std::string(word) + "\" beside profile="));
  }
}

TEST(ParseDevice, PciAddress_IsAFunction) {
  const auto spec = parse_device("03:00.1");
  ASSERT_TRUE(spec.has_value());
  EXPECT_FALSE(spec->is_emulated());
  EXPECT_EQ(spec->bdf(), "0000:03:00.1");
}

TEST(ParseDevice, NameOfTheKernels_IsAKeptNic) {
  const auto spec = parse_device("rocep3s0f0");
  ASSERT_TRUE(spec.has_value()) << spec.error().text;
  EXPECT_FALSE(spec->is_emulated());
  EXPECT_TRUE(spec->is_kept());
  EXPECT_TRUE(spec->bdf().empty());  // no such device is here
  EXPECT_TRUE(spec->check_ready().has_value());
}

TEST(ParseDevice, CardWithATrace_IsThatCardAndRecords) {
  const auto function = parse_device("03:00.1,trace=/tmp/x.trace");
  const auto kept = parse_device("mlx5_0,trace=/tmp/y.trace");
  ASSERT_TRUE(function.has_value()) << function.error().text;
  ASSERT_TRUE(kept.has_value()) << kept.error().text;
  EXPECT_EQ(function->bdf(), "0000:03:00.1");
  EXPECT_EQ(function->trace_path, "/tmp/x.trace");
  EXPECT_TRUE(kept->is_kept());
  EXPECT_EQ(kept->trace_path, "/tmp/y.trace");
}

TEST(ParseDevice, Function_HasOneNameHoweverItIsAskedFor) {
  const auto name = [](const char* text) { return parse_device(text)->function_name(); };
  EXPECT_EQ(name("03:00.1,trace=/tmp/x.trace"), "0000:03:00.1");
  EXPECT_EQ(name("mlx5_99"), "mlx5_99");  // no such device is here
  EXPECT_EQ(name("model,seed=3"), "model");
  EXPECT_EQ(name("shm:/nowhere/../nowhere/hca"), "shm:/nowhere/hca");
}

TEST(ParseDevice, WishesForTheBringUp_ArriveOfACardAndOfTheModel) {
  for (const char* const text : {"03:00.1,link-wait-ms=30000,checksum=off,trace=/tmp/x.trace",
                                 "model,link-wait-ms=30000,checksum=off"}) {
    const auto spec = parse_device(text);
    ASSERT_TRUE(spec.has_value()) << spec.error().text;
    EXPECT_EQ(spec->bring_up.link_wait_ms, 30'000u);
    EXPECT_EQ(spec->bring_up.checks_answers, false);
  }
  EXPECT_FALSE(parse_device("model")->bring_up.link_wait_ms);
}

TEST(ParseDevice, PathBehindShm_IsWholeWhateverItHolds) {
  const auto spec = parse_device("shm:/tmp/a,b:c");
  ASSERT_TRUE(spec.has_value()) << spec.error().text;
  EXPECT_EQ(std::get<ShmName>(spec->kind).path, "/tmp/a,b:c");
  EXPECT_TRUE(spec->bdf().empty());
  EXPECT_TRUE(spec->check_ready().has_value());
}

TEST(OpenDevice, WordsBehindAPath_AreWishesAndNotOfThePath) {
  const auto spec = parse_device("shm:/tmp/a,neighbour=on,loopback=forced");
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(std::get<ShmName>(spec->kind).path, "/tmp/a");
  EXPECT_EQ(spec->bring_up.answers_neighbours, true);
  EXPECT_EQ(spec->bring_up.forces_loopback, true);
  EXPECT_EQ(spec->bring_up.checks_answers, std::nullopt);
  const auto odd = parse_device("shm:/tmp/a,loopback=plain,vf,checksum=off");
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(std::get<ShmName>(odd->kind).path, "/tmp/a,loopback=plain,vf");
}

TEST(OpenDevice, NameThatTheKernelHasNot_SaysWhatItHasAndWhatElseIsAccepted) {
  const auto refused = OpenDevice::open(parse_device("mlx9_9").value());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::NotFound);
  EXPECT_THAT(refused.error().text,
              AllOf(HasSubstr("device \"mlx9_9\": the kernel has "), HasSubstr("RDMA device"),
                    HasSubstr("model[,..] or a PCI address"), Not(HasSubstr("\n"))));
}

struct Refusal {
  const char* text;
  const char* value;
  const char* accepted;
};

struct ParseDeviceRefusalTest : ::testing::TestWithParam<Refusal> {};

TEST_P(ParseDeviceRefusalTest, NamesTheValueAndWhatIsAccepted) {
  const auto refused = parse_device(GetParam().text);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::InvalidArgument);
  EXPECT_THAT(refused.error().text, AllOf(HasSubstr(GetParam().value),
                                          HasSubstr(GetParam().accepted), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    Words, ParseDeviceRefusalTest,
    ::testing::Values(Refusal{"", "device \"\"", "model[,..], a PCI address"},
                      Refusal{"03:00", "\"03:00\"", "like 0000:03:00.0"},
                      Refusal{"mlx5_0,vf", "\"vf\"", "trace=FILE expected"},
                      Refusal{"03:00.0,trace=", "\"trace=\"", "trace=FILE, link-wait-ms=N"},
                      Refusal{"mlx5_0,checksum=off", "\"checksum=off\"", "brought it up"},
                      Refusal{"03:00.0,checksum=maybe", "\"maybe\"", "on, off expected"},
                      Refusal{"03:00.0,neighbour=maybe", "\"maybe\"", "on, off expected"},
                      Refusal{"03:00.0,link-wait-ms=600001", "\"600001\"", "0 to 600000"},
                      Refusal{"03:00.0,link-wait-ms", "\"\"", "0 to 600000"},
                      Refusal{"03:00.0,mtu=9000", "\"mtu=9000\"",
                              "checksum=off, mkc-qpn=off, neighbour=off or loopback=forced"},
                      Refusal{"models", "\"models\"", "like mlx5_0"},
                      Refusal{"models,vf", "\"models,vf\"", "model[,..]"},
                      Refusal{"shm:", "\"shm:\"", "shm:PATH expected"},
                      Refusal{"shm", "\"shm\"", "or shm:PATH expected"},
                      Refusal{"shm:a,neighbour=maybe", "\"maybe\"", "on, off expected"},
                      Refusal{"shm:,neighbour=on", "\"shm:\"", "shm:PATH expected"},
                      Refusal{"model,", "\"\"", "timing="},
                      Refusal{"model,warp=9", "\"warp=9\"",
                              "timing=, profile=, behaviour=, execution="},
                      Refusal{"model,vf=1", "\"vf=1\"", "vf, pcap="},
                      Refusal{"model,pcap=", "\"pcap=\"", "pcap="},
                      Refusal{"model,timing=slow", "timing \"slow\"", "instant, cx5-16.35.4506"},
                      Refusal{"model,behaviour=slow-init+x", "behaviour 'x'", "slow-init"},
                      Refusal{"model,execution=fast", "execution \"fast\"", "stepped, polled"},
                      Refusal{"model,port=roce", "port \"roce\"", "eth, ib"},
                      Refusal{"model,seed=-1", "seed \"-1\"", "a number from 0"},
                      Refusal{"model,seed=", "seed \"\"", "a number from 0"}));

TEST(OpenDevice, SteppedModel_NeedsNoCore) {
  auto opened = OpenDevice::open(parse_device("model").value());
  ASSERT_TRUE(opened.has_value());
  EXPECT_FALSE(opened->needs_core());
  EXPECT_TRUE(opened->device().clock.is_virtual());
  const std::atomic<bool> stop = false;
  opened->serve(stop);
  auto hca = pmd::Hca::bring_up(opened->device());
  EXPECT_TRUE(hca.has_value()) << hca.error().text;
}

TEST(OpenDevice, VirtualFunction_HasItsDeviceId) {
  auto opened = OpenDevice::open(parse_device("model,vf").value());
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->device().function->device_id(), 0x1018);
}

TEST(OpenDevice, Description_NamesTimingAndBehaviours) {
  auto opened =
      OpenDevice::open(parse_device("model,timing=cx5-16.35.4506,behaviour=slow-init").value());
  ASSERT_TRUE(opened.has_value());
  EXPECT_THAT(opened->device().description,
              AllOf(HasSubstr("model"), HasSubstr("cx5-16.35.4506"), HasSubstr("slow-init")));
}

TEST(OpenDevice, CaptureThatCannotBeWritten_IsAnErrorWithItsName) {
  const auto refused = OpenDevice::open(parse_device("model,pcap=/nowhere/x.pcap").value());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().text, HasSubstr("/nowhere/x.pcap"));
}

TEST(OpenDevice, AbsentFunction_IsNotFoundWithoutAnEal) {
  const auto refused = OpenDevice::open(parse_device("ffff:1f:1f.7").value());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::NotFound);
  EXPECT_THAT(refused.error().text, HasSubstr("ffff:1f:1f.7"));
}

}  // namespace
}  // namespace portcullis::attach
