// SPDX-License-Identifier: BSD-3-Clause
#include "late/switched_wire.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/transport/frame.hpp"

namespace portcullis::late {
namespace {

constexpr std::int64_t kPsPerNs = 1000;
/// FCS, preamble and start, gap: what a frame takes of a link beside what the model builds of it.
constexpr std::uint32_t kUnseenBytes = 4 + 8 + 12;

std::uint64_t whole_ns(pfc::packet::Picoseconds time) noexcept {
  return static_cast<std::uint64_t>((time + kPsPerNs - 1) / kPsPerNs);
}

}  // namespace

/// The end of a server's wire that leads out.
class SwitchedWire::Uplink final : public model::FrameSink {
 public:
  Uplink(SwitchedWire& owner, std::size_t index)
      : owner_(&owner),
        index_(index),
        wire_(owner.stations_[index].wire),
        port_(wire_->attach_uplink(*this, owner.scheduler_, counters_)) {}
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;
  ~Uplink() override { wire_->detach(port_); }

  [[nodiscard]] bool owns(std::span<const std::byte> /*frame*/) const noexcept override {
    return false;
  }
  void receive(std::span<const std::byte> frame) override { owner_->take(index_, frame); }
  void room() override {}

  /// False: the wire has no room for it.
  [[nodiscard]] bool send(std::span<const std::byte> frame) {
    if (!wire_->has_frame()) return false;
    std::memcpy(wire_->next_buffer().data(), frame.data(), frame.size());
    wire_->send(port_, frame.size());
    return true;
  }

 private:
  SwitchedWire* owner_;
  std::size_t index_;
  model::Counters counters_;
  std::shared_ptr<model::Wire> wire_;
  model::Wire::PortId port_;
};

SwitchedWire::SwitchedWire(const Ring& ring, std::shared_ptr<model::EventLoop> loop,
                           std::vector<Station> stations)
    : ring_(ring),
      stations_(std::move(stations)),
      scheduler_(std::move(loop)),
      begin_ns_(scheduler_.now_ns()) {
  for (std::size_t i = 0; i < stations_.size(); ++i)
    uplinks_.push_back(std::make_unique<Uplink>(*this, i));
}

SwitchedWire::~SwitchedWire() { scheduler_.clear(); }

Result<std::unique_ptr<SwitchedWire>> SwitchedWire::create(const Ring& ring,
                                                           const pfc::packet::RunOptions& options,
                                                           std::shared_ptr<model::EventLoop> loop,
                                                           std::vector<Station> stations) {
  if (stations.size() != kServers)
    return fail(Errc::InvalidArgument, "a ring with another number of stations than servers");
  std::unique_ptr<SwitchedWire> wire(new SwitchedWire(ring, std::move(loop), std::move(stations)));
  PORTCULLIS_TRY_ASSIGN(auto fabric, pfc::packet::LiveFabric::create(
                                         wire->ring_.topology, options,
                                         [at = wire.get()](const pfc::packet::Guest& guest) {
                                           at->on_guest(guest);
                                         }));
  wire->fabric_.emplace(std::move(fabric));
  wire->wake();
  return wire;
}

pfc::packet::Picoseconds SwitchedWire::fabric_now() const noexcept {
  return static_cast<pfc::packet::Picoseconds>(scheduler_.now_ns() - begin_ns_) * kPsPerNs;
}

void SwitchedWire::take(std::size_t from, std::span<const std::byte> frame) {
  const auto packet = model::decode(frame);
  if (!fabric_ || !packet) return;
  const auto to = std::ranges::find(stations_, packet->dest_mac, &Station::mac);
  if (to == stations_.end()) return;
  catch_up();
  Passage passage;
  passage.from = from;
  passage.to = static_cast<std::size_t>(to - stations_.begin());
  passage.opcode = packet->opcode;
  passage.syndrome = packet->syndrome;
  passage.dest_qpn = packet->dest_qpn;
  passage.psn = packet->psn;
  passage.handed_ns = scheduler_.now_ns();
  const std::uint64_t tag = passages_.size();
  passages_.push_back(passage);
  frames_.emplace_back(frame.begin(), frame.end());
  const auto bytes = static_cast<std::uint32_t>(frame.size()) + kUnseenBytes;
  if (!fabric_->offer(ring_.way(from, passage.to), bytes, tag)) {
    passages_[tag].fate = Passage::Fate::Dropped;
    frames_[tag].clear();
  }
  wake();
}

void SwitchedWire::on_guest(const pfc::packet::Guest& guest) {
  Passage& passage = passages_[guest.tag];
  passage.sent_ns = begin_ns_ + whole_ns(guest.sent);
  passage.ended_ns = scheduler_.now_ns();
  passage.paused_ns = whole_ns(guest.paused);
  passage.fate = guest.has_arrived ? Passage::Fate::Arrived : Passage::Fate::Dropped;
  if (guest.has_arrived && hears_) hears_(passage);
  if (guest.has_arrived && !uplinks_[passage.to]->send(frames_[guest.tag]))
    passage.fate = Passage::Fate::Dropped;
  frames_[guest.tag] = {};
}

void SwitchedWire::catch_up() { fabric_->run_until(fabric_now()); }

/// One timer, for what the fabric does next.
void SwitchedWire::wake() {
  scheduler_.cancel(timer_);
  if (const auto next = fabric_->next_time())
    timer_ = scheduler_.schedule(begin_ns_ + whole_ns(*next), {&SwitchedWire::woken, this, 0});
}

void SwitchedWire::woken(void* self, std::uint64_t /*argument*/) {
  auto& wire = *static_cast<SwitchedWire*>(self);
  if (!wire.fabric_) return;
  wire.catch_up();
  wire.wake();
}

pfc::packet::RunReport SwitchedWire::finish() {
  catch_up();
  scheduler_.clear();
  pfc::packet::LiveFabric fabric = std::move(*fabric_);
  fabric_.reset();
  return std::move(fabric).finish();
}

}  // namespace portcullis::late
