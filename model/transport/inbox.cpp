// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/inbox.hpp"

#include <algorithm>
#include <utility>

namespace portcullis::model {

bool Inbox::keep(const Packet& packet) {
  const std::uint32_t number = next_++;
  PaceStep step;
  step.at = PacePoint::BeforeCheck;
  step.opcode = packet.opcode;
  step.qpn = packet.dest_qpn;
  step.psn = packet.psn;
  step.key = packet.rkey;
  step.va = packet.va;
  step.bytes = static_cast<std::uint32_t>(packet.payload.size());
  const std::uint64_t argument = std::uint64_t{packet.dest_qpn} << 32 | number;
  const bool over = pacer_->pass(step, Task{&Inbox::step_over, this, argument});
  const auto queue = queues_.find(packet.dest_qpn);
  if (over && queue == queues_.end()) return false;

  Held held;
  held.number = number;
  held.released = over;
  held.packet = packet;
  held.payload.assign(packet.payload.begin(), packet.payload.end());
  held.packet.payload = held.payload;
  held.network.assign(packet.network.begin(), packet.network.end());
  held.packet.network = held.network;
  queues_[packet.dest_qpn].push_back(std::move(held));
  return true;
}

void Inbox::step_over(void* self, std::uint64_t qpn_and_number) {
  auto& inbox = *static_cast<Inbox*>(self);
  const auto qpn = static_cast<std::uint32_t>(qpn_and_number >> 32);
  const auto queue = inbox.queues_.find(qpn);
  if (queue == inbox.queues_.end()) return;
  const auto held =
      std::ranges::find(queue->second, static_cast<std::uint32_t>(qpn_and_number), &Held::number);
  if (held == queue->second.end()) return;
  held->released = true;
  inbox.deliver(qpn);
}

void Inbox::deliver(std::uint32_t qpn) {
  for (auto queue = queues_.find(qpn); queue != queues_.end(); queue = queues_.find(qpn)) {
    if (!queue->second.front().released) return;
    const Held held = std::move(queue->second.front());
    queue->second.pop_front();
    if (queue->second.empty()) queues_.erase(queue);
    sink_.fn(sink_.context, held.packet);
  }
}

}  // namespace portcullis::model
