// SPDX-License-Identifier: BSD-3-Clause
//
// A port of the model that our driver owns, and a station on the same wire that asks it what scapy
// builds (frames.py). What comes back is compared byte for byte.
#include "neighbour/responder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/model.hpp"
#include "model/transport/wire.hpp"
#include "model/transport_port.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/hca.hpp"
#include "pmd/l2_table.hpp"
#include "pmd/roce_address.hpp"
#include "prm/ethernet_port_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/status.hpp"
#include "steering/loopback_pair.hpp"
#include "tests/neighbour/digits.hpp"
#include "tests/neighbour/frames.hpp"

namespace portcullis::neighbour {
namespace {

namespace frames = portcullis::testing::frames;
using portcullis::testing::digits_of;
using portcullis::testing::frame_of;

/// Hears everything that is sent, and sends what it is told.
class Station final : public model::FrameSink {
 public:
  explicit Station(model::Wire& wire)
      : wire_(&wire),
        scheduler_(model::shared_loop(wire, 1)),
        port_(wire.attach(*this, scheduler_, counters_)) {
    wire.set_listening(port_, true);
  }
  ~Station() override { wire_->detach(port_); }

  [[nodiscard]] bool owns(std::span<const std::byte> frame) const noexcept override {
    return digits_of(frame.first(6)) == "025043000002";
  }
  [[nodiscard]] bool listens(std::span<const std::byte> /*frame*/) const noexcept override {
    return true;
  }
  void receive(std::span<const std::byte> frame) override { heard.push_back(digits_of(frame)); }
  // Its own, for a group.
  void receive_back(std::span<const std::byte> /*frame*/, std::uint32_t /*domain*/) override {}
  void room() override {}

  void send(std::string_view digits) {
    const auto frame = frame_of(digits);
    std::ranges::copy(frame, wire_->next_buffer().begin());
    wire_->send(port_, frame.size());
  }

  std::vector<std::string> heard;

 private:
  model::Wire* wire_;
  model::Counters counters_;
  model::Scheduler scheduler_;
  model::Wire::PortId port_;
};

class ResponderTest : public ::testing::Test {
 protected:
  static constexpr pmd::Mac kMac{{0x02, 0x50, 0x43, 0, 0, 1}};

  void power_on(std::vector<std::string> behaviours = {"eth-offloads"}) {
    model::Options options;
    options.timing = "instant";
    options.behaviours = std::move(behaviours);
    options.wire = wire;
    options.mac = kMac.octets;
    model = model::Model::create(options).value();
    hca = pmd::Hca::bring_up(model->device(), {}).value();
    addresses.emplace(hca->context());
  }
  void answer_for(const pmd::RoceAddress& address) {
    ASSERT_TRUE(addresses->set(0, address));
    responder = Responder::set_up_or_say(hca->context(), address,
                                         [this](std::string_view line) { log.emplace_back(line); });
    settle();
  }
  void answer_for(const std::string& address) {
    answer_for({.gid = pmd::Gid::parse(address).value(), .mac = kMac});
  }
  void settle() { model->device().relax(model->device().clock.now_ns() + kNsPerMs); }
  /// What the station hears back.
  std::vector<std::string> ask(std::string_view digits) {
    station.heard.clear();
    station.send(digits);
    settle();
    responder->poll();
    settle();
    return std::exchange(station.heard, {});
  }
  using Heard = std::vector<std::string>;

  std::shared_ptr<model::Wire> wire = std::make_shared<model::Wire>();
  Station station{*wire};
  std::vector<std::string> log;
  std::unique_ptr<model::Model> model;
  std::unique_ptr<pmd::Hca> hca;
  std::optional<pmd::RoceAddressTable> addresses;
  std::unique_ptr<Responder> responder;
};

TEST_F(ResponderTest, Ipv4Port_AnnouncesItselfAndAnswers) {
  power_on();
  answer_for("192.0.2.1");
  ASSERT_NE(responder, nullptr);
  EXPECT_EQ(station.heard, Heard{std::string(frames::kArpAnnouncement)});
  EXPECT_EQ(ask(frames::kArpRequest), Heard{std::string(frames::kArpReply)});
  EXPECT_EQ(ask(frames::kPing), Heard{std::string(frames::kPong)});
  EXPECT_EQ(ask(frames::kPing), Heard{std::string(frames::kPong)});
  EXPECT_EQ(log, Heard{});
}

TEST_F(ResponderTest, Ipv6Port_AnnouncesItselfAndAnswers) {
  power_on();
  answer_for("2001:db8::11:2201");
  ASSERT_NE(responder, nullptr);
  EXPECT_EQ(station.heard, Heard{std::string(frames::kUnsolicitedAdvertisement)});
  EXPECT_EQ(ask(frames::kSolicitation), Heard{std::string(frames::kAdvertisement)});
  EXPECT_EQ(ask(frames::kPing6), Heard{std::string(frames::kPong6)});
}

TEST_F(ResponderTest, PortOnVlan_AnswersThere) {
  power_on();
  answer_for({.gid = pmd::Gid::from_ipv4(192, 0, 2, 1), .mac = kMac, .vlan_id = 5});
  ASSERT_NE(responder, nullptr);
  EXPECT_EQ(ask(frames::kArpOnVlan), Heard{std::string(frames::kArpReplyOnVlan)});
  EXPECT_EQ(ask(frames::kArpRequest), Heard{});
}

/// Longer than the rings: every place is used again.
TEST_F(ResponderTest, ManyRequests_AreAllAnswered) {
  power_on();
  answer_for("192.0.2.1");
  std::size_t answered = 0;
  for (int i = 0; i < 100; ++i) answered += ask(frames::kPing).size();
  EXPECT_EQ(answered, 100U);
  EXPECT_EQ(responder->counts().echo_replies, 100U);
  EXPECT_EQ(responder->unsent(), 0U);
}

TEST_F(ResponderTest, MoreThanTheRingHolds_IsLostAndAnsweringGoesOn) {
  power_on();
  answer_for("192.0.2.1");
  for (int i = 0; i < 40; ++i) station.send(frames::kPing);
  settle();
  for (int i = 0; i < 4; ++i) responder->poll();
  settle();
  EXPECT_EQ(responder->counts().echo_replies, 16U);
  EXPECT_EQ(ask(frames::kPing), Heard{std::string(frames::kPong)});
}

TEST_F(ResponderTest, OtherFrames_ComeNowhere) {
  power_on();
  answer_for("192.0.2.1");
  EXPECT_EQ(ask(frames::kPing6), Heard{});
  EXPECT_EQ(ask(frames::kSolicitation), Heard{});
  EXPECT_EQ(responder->counts(), Counts{});
}

TEST_F(ResponderTest, FunctionWithoutEthernet_SaysWhatIsLost) {
  power_on({});
  answer_for("192.0.2.1");
  EXPECT_EQ(responder, nullptr);
  EXPECT_EQ(log,
            Heard{"nobody answers ARP, neighbour solicitation or ping for 192.0.2.1, so a peer "
                  "needs a static neighbour entry: the capability eth_net_offloads is 0"});
}

/// Also where NIC_RX stands in the way of RoCE, every packet of which is then compared with the
/// rules.
TEST_F(ResponderTest, PacketsOfRoce_NeverComeHere) {
  power_on({"eth-offloads", "nic-rx-bypassed-for-roce=off", "rdma-rx-in-path"});
  answer_for("192.0.2.1");
  const pmd::RocePath to_itself{.remote_gid = pmd::Gid::from_ipv4(192, 0, 2, 1),
                                .remote_mac = kMac};
  const auto pair = steering::LoopbackPair::create(hca->context(), to_itself).value();
  ASSERT_TRUE(pair->post(7));
  EXPECT_EQ(pair->outcome(1000 * kNsPerMs).value(), prm::WcStatus::SUCCESS);
  EXPECT_EQ(pair->word(), 7U);
  responder->poll();
  EXPECT_EQ(responder->counts(), Counts{});
}

/// A device that says no to one step, whichever.
class RefusedStepTest : public ResponderTest, public ::testing::WithParamInterface<prm::Opcode> {};

TEST_P(RefusedStepTest, Refusal_IsToldOnceAndLeavesNothingBehind) {
  power_on();
  const std::size_t memory = hca->context().arena->bytes_in_use();
  const std::uint64_t objects = model->census().objects();
  model->inject({.opcode = prm::number(GetParam()),
                 .status = prm::number(prm::CommandStatus::BAD_PARAM_ERR)});
  answer_for("192.0.2.1");
  EXPECT_EQ(responder, nullptr);
  ASSERT_EQ(log.size(), 1U);
  EXPECT_THAT(log[0], ::testing::HasSubstr("a peer needs a static neighbour entry: "));
  EXPECT_EQ(hca->context().arena->bytes_in_use(), memory);
  EXPECT_EQ(model->census().objects(), objects);
  EXPECT_TRUE(hca->poll());
}

INSTANTIATE_TEST_SUITE_P(
    Steps, RefusedStepTest,
    ::testing::Values(prm::Opcode::ALLOC_PD, prm::Opcode::ALLOC_TRANSPORT_DOMAIN,
                      prm::Opcode::ALLOC_UAR, prm::Opcode::CREATE_MKEY, prm::Opcode::CREATE_CQ,
                      prm::Opcode::CREATE_TIS, prm::Opcode::CREATE_SQ, prm::Opcode::MODIFY_SQ,
                      prm::Opcode::CREATE_RQ, prm::Opcode::MODIFY_RQ, prm::Opcode::CREATE_TIR,
                      prm::Opcode::MODIFY_NIC_VPORT_CONTEXT, prm::Opcode::CREATE_FLOW_TABLE,
                      prm::Opcode::CREATE_FLOW_GROUP, prm::Opcode::SET_FLOW_TABLE_ENTRY,
                      prm::Opcode::SET_FLOW_TABLE_ROOT),
    [](const auto& info) { return std::string(prm::name(info.param)); });

/// The model's function manages no switch; told otherwise the driver sets the entry.
TEST_F(ResponderTest, ManagerOfTheSwitch_SetsItsEntryAndDeletesIt) {
  power_on();
  pmd::Context manager = hca->context();
  manager.caps.eswitch_manager = 1;
  manager.caps.log_max_l2_table = 4;
  prm::Buffer<prm::query_l2_table_entry_in> in;
  in.put<"opcode">(prm::Opcode::QUERY_L2_TABLE_ENTRY).put<"table_index">(3U);
  {
    const auto entry = pmd::L2TableEntry::create(manager, 3, kMac).value();
    ASSERT_TRUE(entry.has_value());
    const auto out = pmd::run<prm::query_l2_table_entry_out>(*manager.commands, in);
    ASSERT_TRUE(out.has_value());
    EXPECT_EQ(out->get<"mac_address.mac_addr_47_32">(), 0x0250U);
    EXPECT_EQ(out->get<"mac_address.mac_addr_31_0">(), 0x43000001U);
  }
  EXPECT_FALSE(pmd::run<prm::query_l2_table_entry_out>(*manager.commands, in));
}

TEST_F(ResponderTest, End_LeavesNothingBehind) {
  power_on();
  const std::size_t before = hca->context().arena->bytes_in_use();
  answer_for("192.0.2.1");
  responder.reset();
  EXPECT_EQ(hca->context().arena->bytes_in_use(), before);
  answer_for("192.0.2.1");
  ASSERT_NE(responder, nullptr);
  EXPECT_EQ(ask(frames::kArpRequest), Heard{std::string(frames::kArpReply)});
}

}  // namespace
}  // namespace portcullis::neighbour
