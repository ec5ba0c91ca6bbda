// SPDX-License-Identifier: BSD-3-Clause
//
// Bring-up and teardown on the model: what stands afterwards, and that whatever single command
// fails, in whatever way, nothing is left behind.
#include <gmock/gmock.h>

#include "base/cells.hpp"
#include "prm/opcodes.hpp"
#include "prm/port_commands.hpp"
#include "tests/pmd/hca_rig.hpp"

namespace portcullis::pmd {
namespace {

using Kind = model::CommandFaultRule::Kind;
using portcullis::testing::HcaRig;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// MLX5_CMD_OP_* of mlx5_ifc.h.
constexpr unsigned kDestroyEq = 0x302;

/// Commands of a bring-up and of a teardown on a PF of the model; BringUpTest counts them.
constexpr std::uint32_t kBringUpCommands = 34;
/// The last ones set the length of frames and the address. Whoever refuses them is up all the same.
constexpr std::uint32_t kNeededCommands = 28;
constexpr std::uint32_t kTeardownCommands = 5;
/// The first bring-up command whose answer must be signed: the one after SET_HCA_CAP.
constexpr std::uint32_t kFirstSigned = 10;

model::Options with_behaviour(const char* name) {
  model::Options options;
  options.behaviours = {name};
  return options;
}

/// Nothing of a function that was torn down is left; the driver's own memory may still be mapped.
void expect_nothing_left(const model::Model& model) {
  const model::Census census = model.census();
  EXPECT_EQ(census.objects(), 0u);
  EXPECT_EQ(census.pages, 0u);
  EXPECT_EQ(census.commands_in_flight, 0u);
}

struct BringUpTest : HcaRig, ::testing::Test {};

TEST_F(BringUpTest, Pf_ComesUpWithItsUarItsEventQueueAndItsPages) {
  const auto hca = bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  const model::Census census = model->census();
  EXPECT_EQ(census.uars, 1u);
  EXPECT_EQ(census.eqs, 1u);
  EXPECT_EQ(census.objects(), 2u);
  EXPECT_EQ(census.pages, 64u);
  EXPECT_EQ((*hca)->firmware_pages(), 64u);
  EXPECT_FALSE((*hca)->is_virtual_function());
  EXPECT_EQ((*hca)->fence_slots_available(), 3u);
}

TEST_F(BringUpTest, Context_CarriesWhatObjectsNeed) {
  const auto hca = bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  const Context& context = (*hca)->context();
  ASSERT_NE(context.uar, nullptr);
  EXPECT_NE(context.uar->index(), 0u);
  EXPECT_NE(context.commands, nullptr);
  EXPECT_NE(context.arena, nullptr);
  EXPECT_EQ(context.caps.port_type, 1u);
  EXPECT_EQ(context.caps.roce, 1u);
  EXPECT_GT(context.caps.log_max_qp, 0u);
  EXPECT_GT(context.caps.roce_address_table_size, 0u);
}

TEST_F(BringUpTest, ModelsBoard_IsKnownForNoCard) {
  const auto hca = bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  EXPECT_EQ((*hca)->board_id(), "PORTCULLIS_MODEL");
  EXPECT_TRUE((*hca)->is_emulated());
}

TEST_F(BringUpTest, FirmwareVersion_IsReadAsMajorMinorSub) {
  EXPECT_EQ((*bring_up())->firmware_version(), "16.35.4506");
}

TEST_F(BringUpTest, Answers_AreSignedAndVerifiedFromThenOn) {
  const auto hca = bring_up();
  ASSERT_TRUE(hca.has_value());
  EXPECT_EQ((*hca)->context().caps.cmdif_checksum, 3u);
  inject(kDestroyEq, Kind::BadSignature);
  EXPECT_THAT((*hca)->tear_down().error().text, HasSubstr("signature"));
}

TEST_F(BringUpTest, NicVport_CarriesRoce) {
  const auto hca = bring_up();
  ASSERT_TRUE(hca.has_value());
  prm::Buffer<prm::query_nic_vport_context_in> in;
  in.set<"opcode", prm::Opcode::QUERY_NIC_VPORT_CONTEXT>();
  const auto out = run<prm::query_nic_vport_context_out>(*(*hca)->context().commands, in);
  ASSERT_TRUE(out.has_value()) << out.error().text;
  EXPECT_EQ(out->get<"nic_vport_context.roce_en">(), 1u);
}

TEST_F(BringUpTest, NoAddressTheDriverDidNotMap_IsEverUsed) {
  { const auto hca = bring_up(); }
  EXPECT_EQ(model->counters().dma_faults, 0u);
}

TEST_F(BringUpTest, TearDown_HandsEverythingBackThenStopsTheFunction) {
  auto hca = bring_up();
  ASSERT_TRUE(hca.has_value());
  const auto down = (*hca)->tear_down();
  EXPECT_TRUE(down.has_value()) << down.error().text;
  expect_nothing_left(*model);
  EXPECT_EQ(model->counters().objects_at_teardown, 0u);
  EXPECT_EQ(model->counters().pages_at_disable, 0u);
  EXPECT_THAT(function.calls, ElementsAre("master on", "master off", "reset"));
}

TEST_F(BringUpTest, Destructor_TearsDownToo) {
  { const auto hca = bring_up(); }
  expect_nothing_left(*model);
  EXPECT_EQ(model->census().dma_mappings, 0u);
  EXPECT_EQ(model->counters().pages_at_disable, 0u);
}

TEST_F(BringUpTest, TearDownTwice_IsOnce) {
  auto hca = bring_up();
  EXPECT_TRUE((*hca)->tear_down().has_value());
  const std::uint64_t commands = model->counters().commands;
  EXPECT_TRUE((*hca)->tear_down().has_value());
  EXPECT_EQ(model->counters().commands, commands);
}

TEST_F(BringUpTest, TornDownFunction_RefusesCommands) {
  auto hca = bring_up();
  ASSERT_TRUE((*hca)->tear_down().has_value());
  EXPECT_EQ((*hca)->poll().error().code, Errc::DeviceFailed);
}

TEST_F(BringUpTest, FunctionThatWasTornDown_ComesUpAgain) {
  { const auto hca = bring_up(); }
  const auto again = bring_up();
  EXPECT_TRUE(again.has_value()) << again.error().text;
}

TEST_F(BringUpTest, CommandsOfBringUpAndTearDown_AreThoseTheFaultTestsGoThrough) {
  auto hca = bring_up();
  EXPECT_EQ(model->counters().commands, kBringUpCommands);
  ASSERT_TRUE((*hca)->tear_down().has_value());
  EXPECT_EQ(model->counters().commands, kBringUpCommands + kTeardownCommands);
}

TEST_F(BringUpTest, ForeignVendor_IsRefusedBeforeAnythingIsTouched) {
  function.vendor = 0x8086;
  const auto refused = bring_up();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::Unsupported);
  EXPECT_THAT(refused.error().text, AllOf(HasSubstr("8086:1017"), HasSubstr("15b3:1017")));
  EXPECT_EQ(model->counters().commands, 0u);
  EXPECT_THAT(function.calls, IsEmpty());
}

TEST_F(BringUpTest, BarWithoutAnInitialisationSegment_IsRefused) {
  device.bar = device.bar.first(4096);
  EXPECT_THAT(bring_up().error().text, HasSubstr("a BAR of 4096 bytes; at least 8208 expected"));
  EXPECT_THAT(function.calls, IsEmpty());
}

TEST_F(BringUpTest, RefusedReset_IsReportedAndFailsClosed) {
  auto hca = bring_up();
  function.refuse_reset = true;
  EXPECT_THAT((*hca)->tear_down().error().text, HasSubstr("reset refused"));
  EXPECT_FALSE((*hca)->health().is_good());
}

TEST(BringUp, Vf_ComesUpWithoutHostEndiannessAndPages) {
  model::Options options;
  options.virtual_function = true;
  HcaRig rig(options);
  const auto hca = rig.bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  EXPECT_TRUE((*hca)->is_virtual_function());
  EXPECT_EQ((*hca)->firmware_pages(), 0u);
  EXPECT_TRUE((*hca)->tear_down().has_value());
  expect_nothing_left(*rig.model);
}

TEST(BringUp, ManyStartupPages_GoInBatches) {
  model::Options options;
  options.startup_pages = 3000;
  HcaRig rig(options);
  auto hca = rig.bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  EXPECT_EQ((*hca)->firmware_pages(), 3000u);
  EXPECT_TRUE((*hca)->tear_down().has_value());
  EXPECT_EQ(rig.model->counters().pages_at_disable, 0u);
}

TEST(BringUp, FirmwareThatIsNeverReady_TimesOutAfterTwoMinutes) {
  HcaRig rig(with_behaviour("never-ready"));
  const auto refused = rig.bring_up();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::Timeout);
  EXPECT_THAT(refused.error().text, HasSubstr("still initialising after 120000 ms"));
  EXPECT_GE(rig.device.clock.now_ns(), 120 * kNsPerSecond);
  EXPECT_THAT(rig.function.calls, ElementsAre("master on", "master off", "reset"));
}

TEST(BringUp, RefusedBusMastering_IsToldBeforeTheFirmwareIsWaitedFor) {
  HcaRig rig(with_behaviour("never-ready"));
  rig.function.refuse_bus_master = true;
  const std::uint64_t before = rig.device.clock.now_ns();
  EXPECT_THAT(rig.bring_up().error().text, StartsWith("bus mastering: bus mastering refused"));
  EXPECT_EQ(rig.device.clock.now_ns(), before);
}

TEST(BringUp, SlowFirmware_IsWaitedFor) {
  HcaRig rig(with_behaviour("slow-init"));
  const auto hca = rig.bring_up();
  EXPECT_TRUE(hca.has_value()) << hca.error().text;
}

TEST(BringUp, UnknownInterfaceRevision_IsRefusedWithTheOneThatIsKnown) {
  HcaRig rig(with_behaviour("cmdif-rev-6"));
  const auto refused = rig.bring_up();
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().text, HasSubstr("revision 6; only 5 is known"));
  EXPECT_EQ(rig.model->counters().commands, 0u);
}

TEST(BringUp, CardThatIsNotThere_IsGoneAtOnce) {
  HcaRig rig;
  rig.model->surprise_remove();
  const auto refused = rig.bring_up();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::DeviceGone);
  EXPECT_LT(rig.device.clock.now_ns(), kNsPerSecond);
}

TEST(BringUp, RunsAreTheSame_ForTheSameSeed) {
  const auto trace = [](std::uint64_t seed) {
    model::Options options;
    options.seed = seed;
    options.timing = "cx5-16.35.4506";
    HcaRig rig(options);
    auto hca = rig.bring_up();
    EXPECT_TRUE(hca.has_value());
    return rig.device.clock.now_ns();
  };
  EXPECT_EQ(trace(7), trace(7));
}

using Fault = std::tuple<std::uint32_t, Kind>;

std::string fault_name(const ::testing::TestParamInfo<Fault>& info) {
  constexpr const char* kNames[] = {"Refused",      "RefusedAfterDoing", "NotDelivered",
                                    "NeverReturns", "BadSignature",      "Late"};
  return std::string(kNames[static_cast<std::size_t>(std::get<1>(info.param))]) + "_" +
         std::to_string(std::get<0>(info.param));
}

struct BringUpFaultTest : HcaRig, ::testing::TestWithParam<Fault> {
  BringUpFaultTest() { inject(0, std::get<1>(GetParam()), std::get<0>(GetParam())); }
};

TEST_P(BringUpFaultTest, NamesTheStepAndLeavesNothing) {
  {
    const auto failed = bring_up();
    ASSERT_FALSE(failed.has_value());
    EXPECT_THAT(
        failed.error().text,
        AnyOf(StartsWith("ENABLE_HCA: "), StartsWith("ISSI: "), StartsWith("boot pages: "),
              StartsWith("HOST_ENDIANNESS: "), StartsWith("capabilities"),
              StartsWith("init pages: "), StartsWith("INIT_HCA: "), StartsWith("board: "),
              StartsWith("UAR: "), StartsWith("event queue: "), StartsWith("RoCE: "),
              StartsWith("port: "), StartsWith("length of frames: "), StartsWith("address: ")));
    EXPECT_THAT(failed.error().text, Not(HasSubstr("\n")));
  }
  expect_nothing_left(*model);
  EXPECT_EQ(model->census().dma_mappings, 0u);
  EXPECT_EQ(function.calls.back(), "reset");
}

TEST_P(BringUpFaultTest, IsForgottenByTheNextBringUp) {
  EXPECT_FALSE(bring_up().has_value());
  const auto hca = bring_up();
  EXPECT_TRUE(hca.has_value()) << hca.error().text;
}

INSTANTIATE_TEST_SUITE_P(EveryCommand, BringUpFaultTest,
                         ::testing::Combine(::testing::Range(1u, kNeededCommands + 1),
                                            ::testing::Values(Kind::Status, Kind::StatusAfter,
                                                              Kind::DeliveryStatus,
                                                              Kind::NeverReturns)),
                         fault_name);
INSTANTIATE_TEST_SUITE_P(EveryOtherCommand, BringUpFaultTest,
                         ::testing::Combine(::testing::Range(kNeededCommands + 1,
                                                             kBringUpCommands + 1),
                                            ::testing::Values(Kind::NeverReturns)),
                         fault_name);
INSTANTIATE_TEST_SUITE_P(EverySignedAnswer, BringUpFaultTest,
                         ::testing::Combine(::testing::Range(kFirstSigned, kBringUpCommands + 1),
                                            ::testing::Values(Kind::BadSignature)),
                         fault_name);

struct ForgivenRefusalTest : HcaRig, ::testing::TestWithParam<Fault> {};

TEST_P(ForgivenRefusalTest, IsToldInOneLineAndTheFunctionIsUp) {
  inject(0, std::get<1>(GetParam()), std::get<0>(GetParam()));
  const auto hca = bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  EXPECT_THAT(log, ElementsAre(AllOf(HasSubstr(" may be "), Not(HasSubstr("\n")))));
}

INSTANTIATE_TEST_SUITE_P(
    EveryOtherCommand, ForgivenRefusalTest,
    ::testing::Combine(::testing::Range(kNeededCommands + 1, kBringUpCommands + 1),
                       ::testing::Values(Kind::Status, Kind::StatusAfter, Kind::DeliveryStatus)),
    fault_name);

TEST_F(BringUpTest, Port_CarriesFramesOfEveryPathMtu) {
  const auto hca = bring_up();
  ASSERT_TRUE(hca.has_value());
  EXPECT_EQ((*hca)->context().frame_bytes, frame_bytes(prm::QpcMtu::MTU_4096));
  EXPECT_THAT(log, IsEmpty());
}

TEST(BringUp, PortOfShortFrames_IsToldAndKnown) {
  HcaRig rig(with_behaviour("pmtu=1522"));
  const auto hca = rig.bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  EXPECT_EQ((*hca)->context().frame_bytes, 1522u);
  EXPECT_THAT(rig.log, ElementsAre("port 1 carries frames of 1522 bytes; a path MTU of 4096 needs "
                                   "4214"));
}

TEST(BringUp, LinkThatNeedsTime_IsWaitedFor) {
  HcaRig rig(with_behaviour("link-up-ms=7000"));
  const auto hca = rig.bring_up();
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  EXPECT_GE(rig.device.clock.now_ns(), 7 * kNsPerSecond);
  EXPECT_TRUE((*hca)->port_state()->link_up);
  EXPECT_THAT(rig.log, IsEmpty());
}

TEST(BringUp, AnswersThatNobodyChecks_AreNotSigned) {
  HcaRig rig;
  const auto hca = pmd::Hca::bring_up(rig.device, {.checks_answers = false});
  ASSERT_TRUE(hca.has_value()) << hca.error().text;
  EXPECT_EQ((*hca)->context().caps.cmdif_checksum, 0u);
  rig.inject(kDestroyEq, Kind::BadSignature);
  EXPECT_TRUE((*hca)->tear_down());
}

struct TeardownFaultTest : HcaRig, ::testing::TestWithParam<Fault> {};

TEST_P(TeardownFaultTest, IsReportedAndLeavesNothing) {
  auto hca = bring_up();
  ASSERT_TRUE(hca.has_value());
  inject(0, std::get<1>(GetParam()), std::get<0>(GetParam()));
  const auto failed = (*hca)->tear_down();
  EXPECT_FALSE(failed.has_value());
  expect_nothing_left(*model);
  hca->reset();
  EXPECT_EQ(model->census().dma_mappings, 0u);
  EXPECT_EQ(function.calls.back(), "reset");
}

INSTANTIATE_TEST_SUITE_P(
    EveryCommand, TeardownFaultTest,
    ::testing::Combine(::testing::Range(1u, kTeardownCommands + 1),
                       ::testing::Values(Kind::Status, Kind::StatusAfter, Kind::DeliveryStatus,
                                         Kind::NeverReturns, Kind::BadSignature)),
    fault_name);

struct TearDownTest : HcaRig, ::testing::Test {};

TEST_F(TearDownTest, RefusedCommand_DoesNotKeepTheRestFromBeingHandedBack) {
  auto hca = bring_up();
  inject(kDestroyEq, Kind::Status);
  const auto failed = (*hca)->tear_down();
  EXPECT_THAT(failed.error().text, HasSubstr("DESTROY_EQ"));
  EXPECT_EQ(model->counters().pages_at_disable, 0u);
}

TEST_F(TearDownTest, SilentCommand_GoesStraightToTheReset) {
  auto hca = bring_up();
  inject(kDestroyEq, Kind::NeverReturns);
  const std::uint64_t before = model->counters().commands;
  EXPECT_EQ((*hca)->tear_down().error().code, Errc::Timeout);
  EXPECT_LE(model->counters().commands, before + 1);
}

TEST_F(TearDownTest, PulledCard_IsLeftAtOnce) {
  auto hca = bring_up();
  model->surprise_remove();
  const std::uint64_t before = device.clock.now_ns();
  EXPECT_EQ((*hca)->tear_down().error().code, Errc::DeviceGone);
  EXPECT_LT(device.clock.now_ns() - before, kNsPerSecond);
}

// ---- a register that reads all ones ----

/// A BAR without a device, all ones at first.
class AllOnes : public BringUpTest {
 protected:
  static constexpr std::uint64_t kStartNs = 1'000 * kNsPerSecond;
  [[nodiscard]] std::string error_of_bring_up() {
    auto up = Hca::bring_up(dead, {.firmware_pre_init_ms = 500});
    return up ? "none" : up.error().text;
  }
  static void pass(void* at, std::uint64_t until_ns) noexcept {
    auto& self = *static_cast<AllOnes*>(at);
    self.now_ns = std::min(until_ns, self.now_ns + kNsPerMs);
    if (self.now_ns >= self.answers_from_ns) std::ranges::fill(self.bar, std::byte{0});
  }

  std::uint64_t now_ns = kStartNs;
  std::uint64_t answers_from_ns = ~std::uint64_t{0};
  std::vector<std::byte> bar = std::vector<std::byte>(16 * kPageBytes, std::byte{0xff});
  Device dead{
      .bar = bar,
      .dma = device.dma,
      .function = &function,
      .clock = Clock::simulated(
          [](const void* at) noexcept { return *static_cast<const std::uint64_t*>(at); }, &now_ns),
      .relax = Relax(&AllOnes::pass, this),
      .description = "all ones"};
};

/// The zeros that follow are no command interface, which is where it comes to.
TEST_F(AllOnes, BehindAReset_AreWaitedOut) {
  answers_from_ns = kStartNs + 400 * kNsPerMs;
  EXPECT_THAT(error_of_bring_up(), StartsWith("command queue"));
}

TEST_F(AllOnes, ToTheEnd_DeviceIsGone) {
  EXPECT_THAT(error_of_bring_up(), HasSubstr("still read all ones after 500 ms"));
  EXPECT_GE(now_ns, kStartNs + 500 * kNsPerMs);
}

// ---- how long a command may take ----

struct Timeouts {
  const char* name;
  std::uint32_t init_to;  // cmd_q_init_to: the unit (0 ms, 1 s) in bits 30:29 above the value
  std::uint32_t exec_to;
  std::uint64_t expected_ms;
};

/// A command interface that stands there and never answers.
class SilentCard : public AllOnes, public ::testing::WithParamInterface<Timeouts> {
 protected:
  void SetUp() override {
    std::ranges::fill(bar, std::byte{0});
    put(0x4, 5U << 16);      // cmdif_rev_fw_sub
    put(0x14, 5U << 4 | 6);  // cmdq_addr_l_sz: 32 entries of 64 bytes
    put(0xff8, GetParam().exec_to);
    put(0xffc, GetParam().init_to);
  }
  void put(std::size_t offset, std::uint32_t value) {
    cells::store_release<std::uint32_t>(bar.data() + offset, cells::be32(value));
  }
};

/// Linux goes by neither where cmd_q_init_to is 0 (mlx5_tout_query_iseg).
TEST_P(SilentCard, FirstCommand_TimesOutWhenTheDeviceSays) {
  EXPECT_THAT(error_of_bring_up(), StartsWith("ENABLE_HCA: ENABLE_HCA was not answered"));
  EXPECT_EQ(now_ns - kStartNs, GetParam().expected_ms * kNsPerMs);
}

INSTANTIATE_TEST_SUITE_P(Says, SilentCard,
                         ::testing::Values(Timeouts{"Both", 7, 1U << 29 | 3, 3'000},
                                           Timeouts{"Neither", 0, 0, 60'000},
                                           Timeouts{"NotTheInit", 0, 1U << 29 | 3, 60'000},
                                           Timeouts{"NotTheCommand", 7, 0, 60'000}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace portcullis::pmd
