// SPDX-License-Identifier: BSD-3-Clause
#include "model/port_link.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "model/port_limits.hpp"
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
  port_->subnet = {};
  port_->pkeys = PortSettings{}.pkeys;
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
  port_->link_downs += port_->link_up ? 1 : 0;
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
  // As asked for before: mlx5e_set_fecparam of mlx5/core/en_ethtool.c takes the link down and up,
  // and so does mlxcx_mac_setprop of illumos.
  port_->fec_active = (port_->fec_admin & PortSettings::kReedSolomonFec) != 0
                          ? PortSettings::kReedSolomonFec
                          : PortSettings::kNoFec;
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
  if (!behaviours_->outside_sm) after(kSweepNs, &PortLink::swept);
  changed(prm::PortChangeSubtype::INITIALIZED);
}

void PortLink::swept() {
  port_->lid = lid_of(port_->mac);
  port_->sm_lid = kSmLid;
  port_->state = PortState::Active;
  changed(prm::PortChangeSubtype::LID);
  changed(prm::PortChangeSubtype::ACTIVE);
}

/// From where a subnet manager takes a port: INIT -> ARMED -> ACTIVE (osm_link_mgr_process in
/// do_sweep of opensm's osm_state_mgr.c), or down, from where it trains again.
bool PortLink::may_become(PortState wanted) const noexcept {
  const PortState now = port_->state;
  switch (wanted) {
    case PortState::Down:
      return true;
    case PortState::Armed:
      return now == PortState::Init || now == PortState::Armed;
    case PortState::Active:
      return now == PortState::Armed || now == PortState::Active;
    default:
      return false;
  }
}

void PortLink::train_again() {
  port_->link_downs += port_->link_up ? 1 : 0;
  take_down();
  changed(prm::PortChangeSubtype::DOWN);
  begin();
}

bool PortLink::obey(const PortOrder& order) {
  if (order.lid == 0 || order.lid >= kMulticastLids) return false;
  if (order.state && !may_become(*order.state)) return false;
  const std::uint32_t physical = order.physical_state;
  const bool is_moved = port_->lid != order.lid;
  const bool is_renamed = port_->subnet.gid_prefix != order.subnet.gid_prefix;
  const bool is_activated = order.state == PortState::Active && port_->state != PortState::Active;
  port_->lid = order.lid;
  port_->sm_lid = order.sm_lid;
  port_->subnet = order.subnet;
  if (order.state) port_->state = *order.state;
  on_change_(context_);
  if (is_moved) changed(prm::PortChangeSubtype::LID);
  if (is_renamed) changed(prm::PortChangeSubtype::GUID);
  if (is_activated) changed(prm::PortChangeSubtype::ACTIVE);
  if (order.reregister) changed(prm::PortChangeSubtype::CLIENT_REREG);
  if (physical == limits::kDisabled) {
    set_admin(false);
  } else if (physical == limits::kPolling) {
    port_->admin_up = true;
    train_again();
  } else if (order.state == PortState::Down && port_->admin_up) {
    train_again();
  }
  return true;
}

void PortLink::take_pkeys(const PkeyOrder& order) {
  const auto block =
      std::span(port_->pkeys).subspan(order.block * PkeyOrder::kKeys, PkeyOrder::kKeys);
  if (std::ranges::equal(block, order.keys)) return;
  std::ranges::copy(order.keys, block.begin());
  changed(prm::PortChangeSubtype::PKEY);
}

void PortLink::changed(prm::PortChangeSubtype what) {
  on_change_(context_);
  prm::Buffer<prm::port_state_change_event> event;
  event.set<"port_num", 1>();
  eqs_->raise(prm::EventType::PORT_CHANGE, event.all(), prm::number(what));
}

}  // namespace portcullis::model
