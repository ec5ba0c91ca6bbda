// SPDX-License-Identifier: BSD-3-Clause
//
// A whole function on the scripted device: firmware that is slow, a port whose link a test takes
// down and brings up, and events that no honest device sends.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pmd/hca.hpp"
#include "tests/pmd/ifc_message.hpp"
#include "tests/pmd/scripted_device.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::IfcMessage;
using portcullis::testing::InitSegment;
using portcullis::testing::ScriptedDevice;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Command = ScriptedDevice::Command;
using Reply = ScriptedDevice::Reply;

// MLX5_CMD_OP_* of mlx5_ifc.h.
constexpr unsigned kQueryHcaCap = 0x100;
constexpr unsigned kManagePages = 0x108;
constexpr unsigned kQueryIssi = 0x10a;
constexpr unsigned kCreateEq = 0x301;
constexpr unsigned kDestroyEq = 0x302;
constexpr unsigned kQueryVportState = 0x750;
constexpr unsigned kAllocUar = 0x802;
constexpr unsigned kAccessReg = 0x805;

// MLX5_EVENT_TYPE_* of device.h.
constexpr std::uint8_t kInternalError = 0x08;
constexpr std::uint8_t kPortChange = 0x09;
constexpr std::uint8_t kPageRequest = 0x0b;
constexpr std::uint8_t kNoEventType = 0xee;

constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::uint32_t kLogEvents = 8;
constexpr std::uint32_t kEvents = 1U << kLogEvents;
constexpr std::uint32_t kEqn = 9;
constexpr std::uint32_t kUarPage = 1;
/// MLX5_EQ_DOORBELL_OFFSET + 8: consumer index without arming.
constexpr std::size_t kEventDoorbell = kUarPage * kPageBytes + 0x48;

/// A ConnectX-5 that can be turned off and reset, and does neither.
struct IdleFunction final : PciFunction {
  [[nodiscard]] std::uint16_t vendor_id() const override { return 0x15b3; }
  [[nodiscard]] std::uint16_t device_id() const override { return device; }
  Result<void> set_bus_master(bool /*on*/) override { return answer; }
  Result<void> reset() override { return answer; }

  std::uint16_t device = 0x1017;
  Result<void> answer;
};

struct ScriptedHca : ::testing::Test {
  ScriptedHca() {
    device.function = &function;
    scripted.firmware = [this](const Command& command) { return answer(command); };
    answer_with(kQueryIssi, IfcMessage("query_issi_out", 112).put("supported_issi_dw0", 0b11));
    answer_with(kAllocUar, IfcMessage("alloc_uar_out", 16).put("uar", kUarPage));
    answer_with(kCreateEq, IfcMessage("create_eq_out", 16).put("eq_number", kEqn));
    answer_with(kQueryHcaCap,
                IfcMessage("query_hca_cap_out", 4112).put("capability.cmd_hca_cap.port_type", 1));
    on_command[kQueryVportState] = [this](const Command&) {
      const bool is_up = scripted.now_ns - start_ns >= link_up_after_ns;
      return Reply{.out = IfcMessage("query_vport_state_out", 16)
                              .put("admin_state", 1)
                              .put("state", is_up ? 1 : 0)
                              .octets()};
    };
  }
  void answer_with(unsigned opcode, const IfcMessage& out) {
    on_command[opcode] = [octets = out.octets()](const Command&) { return Reply{.out = octets}; };
  }
  Reply answer(const Command& command) {
    seen.push_back(command.opcode());
    if (command.opcode() == kCreateEq) ring = ring_of(command);
    const auto found = on_command.find(command.opcode());
    Reply reply = found == on_command.end() ? Reply{} : found->second(command);
    reply.delay_ns = delay_ns;
    return reply;
  }
  /// By the address behind the fixed part of CREATE_EQ.
  std::byte* ring_of(const Command& create_eq) {
    Iova address = 0;
    for (std::size_t i = create_eq.in.size() - 8; i < create_eq.in.size(); ++i)
      address = address << 8 | create_eq.in[i];
    return scripted.space.at(address);
  }
  /// The next event, as the device writes it: the owner of this pass last.
  void send_event(std::uint8_t type, std::uint32_t pages = 0) {
    std::byte* entry = ring + events_sent % kEvents * 64;
    entry[1] = static_cast<std::byte>(type);
    for (std::size_t i = 0; i < 4; ++i)  // num_pages of struct mlx5_eqe_page_req
      entry[36 + i] = static_cast<std::byte>(pages >> (24 - 8 * i));
    cells::store_release<std::uint8_t>(entry + 63,
                                       static_cast<std::uint8_t>(events_sent / kEvents % 2));
    ++events_sent;
  }
  Result<std::unique_ptr<Hca>> try_bring_up(std::uint64_t link_wait_ms) {
    return Hca::bring_up(device, {.log = [this](auto line) { log.emplace_back(line); },
                                  .log_event_entries = kLogEvents,
                                  .link_wait_ms = link_wait_ms});
  }
  /// The function, up; how long that took is `took_ns`.
  std::unique_ptr<Hca> bring_up(std::uint64_t link_wait_ms = 2'000) {
    auto hca = try_bring_up(link_wait_ms);
    took_ns = scripted.now_ns - start_ns;
    return std::move(hca).value();
  }
  [[nodiscard]] auto times(unsigned opcode) const {
    return std::count(seen.begin(), seen.end(), opcode);
  }

  ScriptedDevice scripted;
  std::uint64_t start_ns = scripted.now_ns;
  std::uint64_t link_up_after_ns = 0;
  std::uint64_t delay_ns = 0;  // of every answer
  std::uint64_t took_ns = 0;
  IdleFunction function;
  Device device = scripted.device();
  std::map<unsigned, std::function<Reply(const Command&)>> on_command;  // others answer zeros
  std::byte* ring = nullptr;                                            // of the event queue
  std::uint32_t events_sent = 0;
  std::vector<unsigned> seen;
  std::vector<std::string> log;
};

// ---- the link of the port ----

TEST_F(ScriptedHca, LinkThatIsUp_IsNotWaitedForNorToldOf) {
  const auto hca = bring_up();
  EXPECT_LT(took_ns, kNsPerMs);
  EXPECT_EQ(times(kQueryVportState), 1);
  EXPECT_THAT(log, IsEmpty());
}

TEST_F(ScriptedHca, LinkThatComesUpLate_IsWaitedFor) {
  link_up_after_ns = 300 * kNsPerMs;
  const auto hca = bring_up();
  EXPECT_GE(took_ns, 300 * kNsPerMs);
  EXPECT_LT(took_ns, 302 * kNsPerMs);
  EXPECT_TRUE(hca->port_state()->link_up);
  EXPECT_THAT(log, IsEmpty());
}

TEST_F(ScriptedHca, LinkThatStaysDown_IsToldOfAfterTheTimeGivenAndIsNoError) {
  link_up_after_ns = kNever;
  const auto hca = bring_up(500);
  EXPECT_GE(took_ns, 500 * kNsPerMs);
  EXPECT_LT(took_ns, 502 * kNsPerMs);
  EXPECT_THAT(log, ElementsAre("the link of port 1 is down after 500 ms (admin up, link down): "
                               "check the cable and the peer's port"));
  EXPECT_TRUE(hca->poll());
}

TEST_F(ScriptedHca, LinkOfAVirtualFunction_IsWaitedForAndItsPortLeftAlone) {
  function.device = 0x1018;
  link_up_after_ns = 300 * kNsPerMs;
  const auto hca = bring_up();
  EXPECT_GE(took_ns, 300 * kNsPerMs);
  EXPECT_EQ(times(kAccessReg), 1) << "PMTU and no PAOS";
}

TEST_F(ScriptedHca, LinkOfAnInfinibandPort_IsTheSubnetManagersBusiness) {
  answer_with(kQueryHcaCap, IfcMessage("query_hca_cap_out", 4112));
  link_up_after_ns = kNever;
  const auto hca = bring_up();
  EXPECT_LT(took_ns, kNsPerMs);
  EXPECT_EQ(times(kQueryVportState), 0);
  EXPECT_EQ(times(kAccessReg), 1) << "HOST_ENDIANNESS and no PAOS";
  EXPECT_THAT(log, IsEmpty());
}

// ---- firmware that takes its time ----

/// Longer than the driver waits before it serves events, of which there are none yet.
TEST_F(ScriptedHca, DeviceThatAnswersLate_ComesUpAndGoesDown) {
  delay_ns = 15 * kNsPerMs;
  const auto hca = bring_up();
  EXPECT_GE(took_ns, 10 * delay_ns);
  EXPECT_TRUE(hca->tear_down());
}

struct InitTime {
  const char* name;
  std::uint32_t cmd_q_init_to;
  std::uint64_t expected_ms;
};

/// Firmware that begins to initialise once it has its command queue, and never ends.
class StartingFirmware : public ScriptedHca, public ::testing::WithParamInterface<InitTime> {
 protected:
  StartingFirmware() {
    scripted.write(InitSegment::kCmdQInitTo, GetParam().cmd_q_init_to);
    device.clock = Clock::simulated(&StartingFirmware::now, &scripted);
  }
  static std::uint64_t now(const void* device) noexcept {
    auto& self = *static_cast<ScriptedDevice*>(const_cast<void*>(device));
    const bool has_queue = self.read(InitSegment::kCmdqAddrH) != 0;
    self.write(InitSegment::kInitializing, has_queue ? 1U << 31 : 0);
    return self.now_ns;
  }
};

TEST_P(StartingFirmware, IsWaitedForAsLongAsItSays) {
  const auto refused = try_bring_up(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "command queue: the firmware is still initialising after " +
                                      std::to_string(GetParam().expected_ms) + " ms");
  EXPECT_EQ(scripted.now_ns - start_ns, GetParam().expected_ms * kNsPerMs);
}

INSTANTIATE_TEST_SUITE_P(Says, StartingFirmware,
                         ::testing::Values(InitTime{"Nothing", 0, 2'000},
                                           InitTime{"SevenMilliseconds", 7, 7},
                                           InitTime{"ThreeSeconds", 1U << 29 | 3, 3'000}),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- events ----

// ---- the end, of a device that has gone silent ----

TEST_F(ScriptedHca, DeviceSilentAtTheEnd_IsWaitedForAFewSecondsInAllAndToldOf) {
  const auto hca = bring_up();
  auto uar = std::make_optional(Uar::create(hca->context()));
  auto other = std::make_optional(Uar::create(hca->context()));
  scripted.firmware = [](const Command&) { return Reply{.returns = false}; };
  const std::uint64_t silent_ns = scripted.now_ns;
  uar.reset();
  other.reset();
  EXPECT_FALSE(hca->tear_down().has_value());
  EXPECT_LT(scripted.now_ns - silent_ns, 4 * kNsPerSecond);
  EXPECT_THAT(log, ElementsAre(AllOf(
                       HasSubstr("not done one by one: 1 DESTROY_EQ, 2 DEALLOC_UAR (DEALLOC_UAR"),
                       HasSubstr("bus mastering is off and the function was reset"))));
}

TEST_F(ScriptedHca, DeviceThatCannotBeStoppedEither_IsNotSaidToBe) {
  const auto hca = bring_up();
  scripted.firmware = [](const Command&) { return Reply{.returns = false}; };
  function.answer = fail(Errc::System, "config space does not answer");
  EXPECT_FALSE(hca->tear_down().has_value());
  EXPECT_THAT(
      log, ElementsAre(AllOf(HasSubstr("could not be stopped"),
                             HasSubstr("config space does not answer"), Not(HasSubstr("is off")))));
}

TEST_F(ScriptedHca, DeviceThatAnswersAtTheEnd_IsToldNothingOf) {
  const auto hca = bring_up();
  EXPECT_TRUE(hca->tear_down().has_value());
  EXPECT_THAT(log, IsEmpty());
}

TEST_F(ScriptedHca, EventThatWasTaken_IsToldToTheDeviceAtOnce) {
  const auto hca = bring_up();
  send_event(kPortChange);
  ASSERT_TRUE(hca->poll());
  EXPECT_EQ(scripted.read(kEventDoorbell), kEqn << 24 | 1);
  EXPECT_TRUE(hca->next_event());
}

TEST_F(ScriptedHca, EventOfNoKnownType_IsCountedAndNotHandedOn) {
  const auto hca = bring_up();
  send_event(kNoEventType);
  EXPECT_FALSE(hca->next_event());
  EXPECT_EQ(hca->unknown_events(), 1U);
  EXPECT_TRUE(hca->poll());
}

TEST_F(ScriptedHca, PortChange_IsHandedOnAndTheFunctionIsWell) {
  const auto hca = bring_up();
  send_event(kPortChange);
  EXPECT_TRUE(std::holds_alternative<PortChangeEvent>(hca->next_event().value()));
  EXPECT_TRUE(hca->poll());
}

TEST_F(ScriptedHca, InternalError_IsHandedOnAndBreaksTheFunction) {
  const auto hca = bring_up();
  send_event(kInternalError);
  EXPECT_EQ(hca->poll().error().text, "the device reported INTERNAL_ERROR");
  EXPECT_TRUE(std::holds_alternative<InternalErrorEvent>(hca->next_event().value()));
}

TEST_F(ScriptedHca, EventsThatNobodyFetches_AreKeptToALimitAndThenCounted) {
  const auto hca = bring_up();
  for (std::size_t kept = 0; kept < Hca::kMostPendingEvents; kept += kEvents) {
    for (std::uint32_t i = 0; i < kEvents; ++i) send_event(kPortChange);
    ASSERT_TRUE(hca->poll());
  }
  EXPECT_EQ(hca->events_lost(), 0U);
  send_event(kPortChange);
  send_event(kPortChange);
  ASSERT_TRUE(hca->poll());
  EXPECT_EQ(hca->events_lost(), 2U);
}

TEST_F(ScriptedHca, EventBehindTheQueuesEnd_IsNotTaken) {
  const auto hca = bring_up();
  on_command[kDestroyEq] = [this](const Command&) {
    send_event(kPortChange);
    return Reply{};
  };
  ASSERT_TRUE(hca->tear_down());
  EXPECT_FALSE(hca->next_event());
  EXPECT_EQ(hca->unknown_events(), 0U);
}

// ---- pages asked for ----

TEST_F(ScriptedHca, FunctionThatIsFoundBroken_IsGivenNoPages) {
  const auto hca = bring_up();
  send_event(kPageRequest, 5);
  scripted.write_byte(InitSegment::kSynd, 1);
  scripted.write_byte(InitSegment::kRfrSeverity, 0x80);
  EXPECT_FALSE(hca->poll());
  EXPECT_EQ(scripted.read(InitSegment::kCmdDbell), 0U);
}

/// The second request is for more than the firmware may have. Its turn comes when the first has
/// been given up, and not in the wait for it.
TEST_F(ScriptedHca, RequestBehindOneThatIsLate_IsServedOnceAndBehindIt) {
  const auto hca = bring_up();
  on_command[kManagePages] = [](const Command&) { return Reply{.returns = false}; };
  send_event(kPageRequest, 5);
  ASSERT_TRUE(hca->poll());
  send_event(kPageRequest, 0x7fff'ffff);
  scripted.now_ns += 60 * kNsPerSecond;
  ASSERT_TRUE(hca->poll());
  EXPECT_THAT(log, ElementsAre(HasSubstr("MANAGE_PAGES was not answered"), HasSubstr("refused")));
}

}  // namespace
}  // namespace portcullis::pmd
