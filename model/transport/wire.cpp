// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/wire.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "model/ethernet/pause_frame.hpp"
#include "model/transport/headers.hpp"
#include "model/transport/pace.hpp"
#include "model/transport/pcap.hpp"
#include "prm/special_qps.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

// Kind::Reorder: a frame that nothing overtakes waits no longer.
constexpr std::uint64_t kHoldNs = 20'000;

bool is_for_group(std::span<const std::byte> frame, PortType port_type) noexcept {
  if (port_type == PortType::Ethernet) return (frame[0] & std::byte{1}) != std::byte{0};
  return prm::is_multicast_lid(
      static_cast<std::uint16_t>(prm::ConstView<lrh>::at(frame).get<"dlid">()));
}

}  // namespace

Wire::Wire(std::uint64_t latency_ns, PortType port_type)
    : latency_ns_(latency_ns),
      port_type_(port_type),
      // for_overwrite: two megabytes that nobody reads before a frame was built in them
      pool_(std::make_unique_for_overwrite<Buffer[]>(kFrames)) {
  free_.resize(kFrames);
  std::iota(free_.rbegin(), free_.rend(), 0U);
}

Wire::~Wire() = default;

Wire::PortId Wire::attach(FrameSink& sink, Scheduler& scheduler, Counters& counters) {
  Port port;
  port.sink = &sink;
  port.scheduler = &scheduler;
  port.counters = &counters;
  ports_.push_back(std::move(port));
  return static_cast<PortId>(ports_.size() - 1);
}

Wire::PortId Wire::attach_uplink(FrameSink& sink, Scheduler& scheduler, Counters& counters) {
  uplink_ = attach(sink, scheduler, counters);
  return *uplink_;
}

void Wire::detach(PortId port) {
  forget_frames(port);
  if (uplink_ == port) uplink_.reset();
  ports_[port] = Port{};
}

void Wire::forget_frames(PortId port) noexcept {
  ports_[port].held.clear();
  for (std::uint32_t slot = 0; slot < kFrames; ++slot) {
    if (frames_[slot].under_way && frames_[slot].from == port) release(slot);
  }
}

void Wire::set_listening(PortId port, bool on) noexcept {
  ports_[port].listening = on;
  has_listeners_ = std::ranges::any_of(ports_, &Port::listening);
}

void Wire::capture(PortId port, std::shared_ptr<PcapWriter> writer) {
  ports_[port].pcap = std::move(writer);
}

void Wire::inject(PortId port, const FrameFaultRule& rule) { ports_[port].faults.add(rule); }

void Wire::seed_faults(PortId port, std::uint64_t seed) noexcept {
  // Ports of one seed do not lose the same frames.
  ports_[port].faults.seed(Random(seed).next() + port);
}

void Wire::send(PortId port, std::size_t length, Way way, std::uint32_t domain) {
  Port& sender = ports_[port];
  const std::uint32_t slot = free_.back();
  const std::span<std::byte> bytes = bytes_of(slot).first(length);
  ++sender.counters->frames_sent;
  if (sender.pcap) sender.pcap->write(bytes, sender.scheduler->now_ns());

  const FrameFate fate =
      sender.faults.empty() ? FrameFate{} : sender.faults.judge(bytes, port_type_);
  if (fate.drop || way == Way::Nowhere || (way != Way::Back && !carries(sender, bytes))) {
    ++sender.counters->frames_dropped;
    return;
  }
  if (fate.corrupt_icrc) corrupt_icrc(bytes, port_type_);
  if (fate.flip_bit) bytes[*fate.flip_bit / 8] ^= std::byte{1} << *fate.flip_bit % 8;
  Frame frame;
  frame.length = static_cast<std::uint32_t>(length);
  frame.from = port;
  frame.domain = domain;
  frame.way = way;
  free_.pop_back();
  if (fate.overtaken_by == 0) {
    carry(slot, frame, fate.delay_ns);
    if (!sender.held.empty()) overtake(sender);
  } else {
    hold(sender, slot, frame, fate);
  }
  if (fate.duplicate && !free_.empty()) {
    const std::uint32_t copy = free_.back();
    free_.pop_back();
    std::memcpy(bytes_of(copy).data(), bytes.data(), length);
    carry(copy, frame, fate.delay_ns);
  }
}

void Wire::hold(Port& sender, std::uint32_t slot, const Frame& frame, const FrameFate& fate) {
  sender.held.push_back({slot, frames_[slot].generation, fate.overtaken_by, fate.delay_ns});
  carry(slot, frame, fate.delay_ns + kHoldNs);
}

/// One more frame of the port went before those it holds. What was overtaken often enough is
/// planned again, earlier; arrive() finds nothing at the later time.
void Wire::overtake(Port& sender) {
  for (Held& held : sender.held) {
    if (frames_[held.slot].generation != held.generation) {
      held.overtaken_by = 0;  // it did not wait so long
    } else if (--held.overtaken_by == 0) {
      plan(*sender.scheduler, held.slot, held.delay_ns);
    }
  }
  std::erase_if(sender.held, [](const Held& held) { return held.overtaken_by == 0; });
}

void Wire::plan(Scheduler& scheduler, std::uint32_t slot, std::uint64_t delay_ns) {
  const Task task{&Wire::arrive, this, std::uint64_t{frames_[slot].generation} << 32 | slot};
  const Frame& frame = frames_[slot];
  const Port& sender = ports_[frame.from];
  if (sender.pacer != nullptr && !passes(sender, bytes_of(slot).first(frame.length), task)) return;
  const std::uint64_t wait_ns = latency_ns_ + delay_ns;
  if (wait_ns == 0) {
    scheduler.post(task);
  } else {
    static_cast<void>(scheduler.schedule(scheduler.now_ns() + wait_ns, task));
  }
}

void Wire::carry(std::uint32_t slot, const Frame& frame, std::uint64_t delay_ns) {
  const std::uint32_t generation = frames_[slot].generation;
  frames_[slot] = frame;
  frames_[slot].generation = generation;
  frames_[slot].under_way = true;
  plan(*ports_[frame.from].scheduler, slot, delay_ns);
}

bool Wire::passes(const Port& sender, std::span<const std::byte> bytes, Task task) const {
  PaceStep step;
  step.at = PacePoint::FrameOnWire;
  if (const auto label = peek(bytes, port_type_)) {
    step.opcode = label->opcode;
    step.qpn = label->dest_qpn;
    step.psn = label->psn;
  }
  step.bytes = static_cast<std::uint32_t>(bytes.size());
  return sender.pacer->pass(step, task);
}

void Wire::arrive(void* wire, std::uint64_t argument) {
  auto& self = *static_cast<Wire*>(wire);
  const auto slot = static_cast<std::uint32_t>(argument);
  const Frame frame = self.frames_[slot];
  if (!frame.under_way || frame.generation != argument >> 32) return;
  // From here on a reset of the sender, which the frame itself may cause, leaves it alone.
  self.frames_[slot].under_way = false;
  self.deliver(frame, self.bytes_of(slot).first(frame.length));
  self.release(slot);
}

bool Wire::carries(const Port& port, std::span<const std::byte> bytes) const noexcept {
  if (port.link_up || !port.is_trained || port_type_ != PortType::InfiniBand) return port.link_up;
  return prm::ConstView<lrh>::at(bytes).get<"vl">() == kManagementLane;
}

Wire::Port* Wire::destination(const Frame& frame, std::span<const std::byte> bytes) noexcept {
  if (frame.way == Way::Back) return &ports_[frame.from];
  for (Port& port : ports_) {
    if (frame.way == Way::Away && &port == &ports_[frame.from]) continue;
    if (port.sink != nullptr && carries(port, bytes) && port.sink->owns(bytes)) return &port;
  }
  if (uplink_ && *uplink_ != frame.from) return &ports_[*uplink_];
  return nullptr;
}

void Wire::deliver(const Frame& frame, std::span<const std::byte> bytes) {
  if (port_type_ == PortType::Ethernet && is_mac_control(bytes)) return tell_link(frame, bytes);
  Port* const owner = destination(frame, bytes);
  if (owner != nullptr) hand(*owner, frame, bytes);
  const bool copied = (has_listeners_ || frame.domain != 0) && frame.way != Way::Back &&
                      copy_to_listeners(frame, bytes, owner);
  if (owner == nullptr && !copied) ++ports_[frame.from].counters->frames_dropped;
}

void Wire::tell_link(const Frame& frame, std::span<const std::byte> bytes) {
  for (Port& port : ports_)
    if (port.sink != nullptr && port.link_up && &port != &ports_[frame.from])
      hand(port, frame, bytes);
}

void Wire::hand(Port& receiver, const Frame& frame, std::span<const std::byte> bytes) {
  ++receiver.counters->frames_received;
  const bool is_back = &receiver == &ports_[frame.from];
  if (receiver.pcap && !is_back) receiver.pcap->write(bytes, receiver.scheduler->now_ns());
  if (is_back)
    receiver.sink->receive_back(bytes, frame.domain);
  else
    receiver.sink->receive(bytes);
}

/// A switch sends nothing back to where it came from, but a card its groups' frames to itself. That
/// those of send queues come back whatever the port's list of groups has is what rdma-core's tests
/// of raw packets rest on ("DST mac must be multicast" of tests/utils.py: no list has that group).
bool Wire::wants_copy(const Port& port, const Frame& frame,
                      std::span<const std::byte> bytes) const noexcept {
  const bool listens = port.listening && port.sink->listens(bytes);
  if (&port != &ports_[frame.from]) return listens;
  return frame.way != Way::Away && is_for_group(bytes, port_type_) &&
         (listens || frame.domain != 0);
}

bool Wire::copy_to_listeners(const Frame& frame, std::span<const std::byte> bytes,
                             const Port* owner) {
  bool copied = false;
  for (Port& port : ports_) {
    if (&port == owner || port.sink == nullptr || !port.link_up || !wants_copy(port, frame, bytes))
      continue;
    hand(port, frame, bytes);
    copied = true;
  }
  return copied;
}

void Wire::release(std::uint32_t slot) {
  frames_[slot].under_way = false;
  ++frames_[slot].generation;
  free_.push_back(slot);
  tell_of_room();
}

void Wire::set_full(bool full) {
  is_full_ = full;
  tell_of_room();
}

void Wire::tell_of_room() {
  if (!has_room()) return;
  for (Port& port : ports_) {
    if (std::exchange(port.waiting, false)) port.sink->room();
  }
}

}  // namespace portcullis::model
