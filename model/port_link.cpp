// SPDX-License-Identifier: BSD-3-Clause
#include "model/port_link.hpp"

#include <utility>

#include "prm/eqe.hpp"

namespace portcullis::model {
namespace {

constexpr std::uint16_t kMulticastLids = 0xc000;

/// As a subnet manager would number ports that differ in the last bytes of their GUID. Unicast LIDs
/// are 1 to 0xbfff, and the last is the subnet manager's own.
std::uint16_t lid_of(const Mac& mac) noexcept {
  const auto low = static_cast<std::uint16_t>(mac[4] << 8 | mac[5]);
  return static_cast<std::uint16_t>(low % (kMulticastLids - 2) + (low % (kMulticastLids - 2) == 0));
}

}  // namespace

void PortLink::reset() noexcept {
  ++generation_;
  port_->admin_up = true;
  port_->link_up = !needs_time();
  port_->state = needs_time() ? PortState::Down : PortState::Active;
  port_->lid = port_->sm_lid = 0;
  on_change_(context_);
}

void PortLink::start(bool bring_up) {
  port_->admin_up = bring_up;
  if (!bring_up) return take_down();
  if (needs_time()) begin();
}

void PortLink::set_admin(bool up) {
  if (port_->admin_up == up) return;
  port_->admin_up = up;
  if (up) return begin();
  take_down();
  changed(prm::PortChangeSubtype::DOWN);
}

void PortLink::take_down() {
  ++generation_;
  port_->link_up = false;
  port_->state = PortState::Down;
  on_change_(context_);
}

void PortLink::begin() {
  if (port_->type == PortType::InfiniBand) return after(kTrainingNs, &PortLink::trained);
  if (const auto ms = behaviours_->link_up_ms) return after(*ms * kNsPerMs, &PortLink::ethernet_up);
  ethernet_up();
}

void PortLink::ethernet_up() {
  port_->link_up = true;
  port_->state = PortState::Active;
  changed(prm::PortChangeSubtype::ACTIVE);
}

void PortLink::after(std::uint64_t ns, void (PortLink::*next)()) {
  next_ = next;
  ++generation_;
  static_cast<void>(scheduler_->schedule(scheduler_->now_ns() + ns,
                                         Task{&PortLink::run_task, this, generation_}));
}

void PortLink::run_task(void* self, std::uint64_t generation) {
  auto& link = *static_cast<PortLink*>(self);
  if (link.generation_ == generation) (link.*link.next_)();
}

void PortLink::trained() {
  port_->link_up = true;
  port_->state = PortState::Init;
  after(kSweepNs, &PortLink::swept);
  changed(prm::PortChangeSubtype::INITIALIZED);
}

void PortLink::swept() {
  port_->lid = lid_of(port_->mac);
  port_->sm_lid = kSmLid;
  port_->state = PortState::Active;
  changed(prm::PortChangeSubtype::LID);
  changed(prm::PortChangeSubtype::ACTIVE);
}

void PortLink::changed(prm::PortChangeSubtype what) {
  on_change_(context_);
  prm::Buffer<prm::port_state_change_event> event;
  event.set<"port_num", 1>();
  eqs_->raise(prm::EventType::PORT_CHANGE, event.all(), prm::number(what));
}

}  // namespace portcullis::model
