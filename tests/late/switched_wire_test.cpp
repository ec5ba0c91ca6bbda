// SPDX-License-Identifier: BSD-3-Clause
//
// Frames of one wire of the model that come to another through the simulator's switches: when, in
// which order, and what is not carried.
#include "late/switched_wire.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "model/transport/frame.hpp"
#include "pfc/bound/pause_times.hpp"

namespace portcullis::late {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kQpn = 0x77;
constexpr std::uint64_t kMs = 1'000'000;

model::Mac mac_of(std::size_t number) {
  return {2, 0, 0, 0, 0, static_cast<std::uint8_t>(number + 1)};
}

/// A server's port: keeps what comes.
class Port final : public model::FrameSink {
 public:
  Port(std::shared_ptr<model::Wire> wire, std::shared_ptr<model::EventLoop> loop,
       std::size_t number)
      : wire_(std::move(wire)),
        scheduler_(std::move(loop)),
        number_(number),
        port_(wire_->attach(*this, scheduler_, counters_)) {}
  ~Port() override { wire_->detach(port_); }

  [[nodiscard]] bool owns(std::span<const std::byte> frame) const noexcept override {
    const auto packet = model::decode(frame);
    return packet && packet->dest_mac == mac_of(number_);
  }
  void receive(std::span<const std::byte> frame) override {
    const auto packet = model::decode(frame);
    psns.push_back(packet->psn);
    at_ns.push_back(scheduler_.now_ns());
    last_payload.assign(packet->payload.begin(), packet->payload.end());
  }
  void room() override {}

  /// An RC WRITE of one packet; its length.
  std::size_t send(std::size_t to, std::uint32_t psn, std::size_t payload = 64) {
    model::Path path;
    path.source_ip = path.dest_ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
    path.source_mac = mac_of(number_);
    path.dest_mac = mac_of(to);
    path.dest_qpn = kQpn;
    const model::FrameTemplate shape(path);
    const std::span<std::byte> frame = wire_->next_buffer();
    const auto room = frame.subspan(shape.payload_offset(model::BthOpcode::WriteOnly), payload);
    std::ranges::fill(room, static_cast<std::byte>(psn));
    model::PacketHeader header;
    header.opcode = model::BthOpcode::WriteOnly;
    header.psn = psn;
    header.dma_length = static_cast<std::uint32_t>(payload);
    const std::size_t length = shape.finish(frame, header, payload);
    wire_->send(port_, length);
    return length;
  }

  std::vector<std::uint32_t> psns;
  std::vector<std::uint64_t> at_ns;
  std::vector<std::byte> last_payload;

 private:
  std::shared_ptr<model::Wire> wire_;
  model::Scheduler scheduler_;
  model::Counters counters_;
  std::size_t number_;
  model::Wire::PortId port_;
};

class SwitchedWires : public ::testing::Test {
 protected:
  void start(const RingOptions& options) {
    std::vector<SwitchedWire::Station> stations;
    for (std::size_t i = 0; i < kServers; ++i) {
      stations.push_back({std::make_shared<model::Wire>(), mac_of(i)});
      ports.push_back(std::make_unique<Port>(stations.back().wire, loop, i));
    }
    pfc::packet::RunOptions run;
    run.until = 1'000'000'000'000;
    run.packet_bytes = pfc::bound::kLargestRoceFrame;
    wire = SwitchedWire::create(make_ring(options).value(), run, loop, std::move(stations)).value();
  }
  void pass(std::uint64_t ns) {
    const std::uint64_t until_ns = loop->now_ns() + ns;
    while (loop->now_ns() < until_ns) (void)loop->step(until_ns);
  }

  std::shared_ptr<model::EventLoop> loop =
      std::make_shared<model::EventLoop>(model::Execution::Stepped, 1);
  std::vector<std::unique_ptr<Port>> ports;
  std::unique_ptr<SwitchedWire> wire;
};

TEST_F(SwitchedWires, FrameForAnotherServer_ComesWhenItsLinksHaveCarriedIt) {
  start({.has_loads = false});
  pass(kMs);
  const std::size_t length = ports[0]->send(2, 5);
  pass(kMs);
  ASSERT_THAT(ports[2]->psns, ElementsAre(5U));
  // 10 Gb/s, 24 bytes that nobody builds, and 1 us of delay, on each of four links.
  const auto a_link_ns = static_cast<double>(length + 24) * 8 / 10 + 1000;
  EXPECT_NEAR(static_cast<double>(ports[2]->at_ns[0] - kMs), 4 * a_link_ns, 2);
  EXPECT_THAT(ports[2]->last_payload, SizeIs(64));
  EXPECT_EQ(ports[2]->last_payload[63], std::byte{5});
  EXPECT_THAT(ports[1]->psns, IsEmpty());
}

TEST_F(SwitchedWires, FramesOfOneServer_KeepTheirOrder) {
  start({.has_loads = false});
  ports[0]->send(2, 1, 4096);
  ports[0]->send(2, 2, 64);
  ports[1]->send(2, 3, 64);
  pass(kMs);
  ASSERT_THAT(ports[2]->psns, SizeIs(3));
  EXPECT_LT(std::ranges::find(ports[2]->psns, 1U), std::ranges::find(ports[2]->psns, 2U));
}

TEST_F(SwitchedWires, Passage_SaysFromWhereToWhereAndWhatItTook) {
  start({.has_loads = false});
  std::vector<std::uint32_t> heard;
  wire->on_arrival([&](const Passage& passage) {
    heard.push_back(passage.psn);
    EXPECT_THAT(ports[1]->psns, IsEmpty());  // not yet
  });
  ports[2]->send(1, 9);
  pass(kMs);
  ASSERT_THAT(wire->passages(), SizeIs(1));
  const Passage& passage = wire->passages().front();
  EXPECT_EQ(passage.from, 2U);
  EXPECT_EQ(passage.to, 1U);
  EXPECT_EQ(passage.dest_qpn, kQpn);
  EXPECT_EQ(passage.fate, Passage::Fate::Arrived);
  EXPECT_EQ(passage.ended_ns, ports[1]->at_ns[0]);
  EXPECT_EQ(passage.paused_ns, 0U);
  EXPECT_THAT(heard, ElementsAre(9U));
}

TEST_F(SwitchedWires, FrameForNobody_IsNotCarried) {
  start({.has_loads = false});
  ports[0]->send(7, 1);
  pass(kMs);
  EXPECT_THAT(wire->passages(), IsEmpty());
}

TEST_F(SwitchedWires, UnderLoad_AFrameWaitsInQueuesThatArePaused) {
  start({.from_us = 0});
  pass(5 * kMs);
  ports[0]->send(2, 1);
  pass(60 * kMs);
  const Passage& passage = wire->passages().front();
  ASSERT_EQ(passage.fate, Passage::Fate::Arrived);
  EXPECT_GT(passage.paused_ns, 100'000U);
  EXPECT_LE(static_cast<double>(passage.ended_ns - passage.sent_ns) / 1000,
            residence_bound_us(make_ring({}).value()).value());
}

TEST_F(SwitchedWires, WithoutPause_FramesThatFindNoRoomAreToldAsDropped) {
  start({.from_us = 0, .pauses = false});
  pass(5 * kMs);
  for (std::uint32_t psn = 0; psn < 40; ++psn) ports[0]->send(2, psn, 4096);
  pass(60 * kMs);
  const auto dropped = std::ranges::count(wire->passages(), Passage::Fate::Dropped, &Passage::fate);
  EXPECT_GT(dropped, 0);
  EXPECT_EQ(ports[2]->psns.size() + static_cast<std::size_t>(dropped), 40U);
}

TEST_F(SwitchedWires, Finish_ReportsWhatTheFabricSaw) {
  start({.from_us = 0});
  ports[0]->send(2, 1);
  pass(2 * kMs);
  const auto report = wire->finish();
  EXPECT_EQ(report.end, 2'000'000'000);
  EXPECT_EQ(report.flows[make_ring({}).value().way(0, 2)].sent, 1U);
  ports[0]->send(2, 2);  // goes nowhere
  pass(kMs);
  EXPECT_THAT(ports[2]->psns, ElementsAre(1U));
}

}  // namespace
}  // namespace portcullis::late
