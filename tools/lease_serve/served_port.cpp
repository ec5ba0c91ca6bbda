// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_serve/served_port.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "pmd/port_mac.hpp"
#include "prm/enums.hpp"
#include "tools/log_line.hpp"

namespace portcullis::tools::lease_serve {

ServedPort::ServedPort(OpenDevice opened) : opened_(std::move(opened)), plain_(opened_.device()) {}

Result<std::unique_ptr<ServedPort>> ServedPort::open(const DeviceSpec& spec,
                                                     const std::optional<pmd::Gid>& address,
                                                     const std::optional<std::uint32_t>& vlan) {
  PORTCULLIS_TRY_ASSIGN(auto opened, OpenDevice::open(spec));
  if (opened.needs_core())
    return fail(Errc::InvalidArgument,
                "a polled model, which needs a core of its own; a function under VFIO or a stepped "
                "model is accepted");
  std::unique_ptr<ServedPort> port(new ServedPort(std::move(opened)));
  Device device = port->plain_;
  device.relax = Relax(&ServedPort::relax_entry, port.get());
  PORTCULLIS_TRY_ASSIGN(port->hca_, pmd::Hca::bring_up(device, {.log = log_to_stderr()}));
  if (port->hca_->context().caps.port_type == prm::number(prm::PortType::IB))
    return fail(Errc::Unsupported,
                "port_type is 0 (InfiniBand), and what is served here is addressed by RoCE; a port "
                "of type 1 (Ethernet) is accepted");
  PORTCULLIS_TRY_ASSIGN(port->address_.mac, pmd::port_mac(port->hca_->context()));
  port->address_.gid = address.value_or(pmd::Gid::link_local(port->address_.mac));
  if (vlan && port->hca_->is_emulated())
    return fail(Errc::Unsupported,
                "--vlan " + std::to_string(*vlan) +
                    ": not supported on the model, which carries no VLAN tags; leave it out");
  if (vlan) port->address_.vlan_id = static_cast<std::uint16_t>(*vlan);
  port->addresses_.emplace(port->hca_->context());
  PORTCULLIS_TRY(port->addresses_->set(0, port->address_));
  return port;
}

std::string ServedPort::description() const {
  return plain_.description + " fw " + hca_->firmware_version() +
         (hca_->is_emulated() ? ", emulated: not NIC latency" : "");
}

std::string ServedPort::neighbour_command() const {
  return "ip neigh replace " + address_.gid.text() + " lladdr " + address_.mac.text() +
         " dev NETDEV";
}

void ServedPort::relax_entry(void* port, std::uint64_t until_ns) noexcept {
  auto& self = *static_cast<ServedPort*>(port);
  if (self.watched_ != nullptr) self.watched_->look();
  self.plain_.relax(until_ns);
  // A client on this host may be waiting for the same core.
  if (!self.plain_.clock.is_virtual()) std::this_thread::yield();
}

Result<void> ServedPort::idle(std::uint64_t most_ns) {
  // Short sleeps: what is watched is seen to change within one.
  constexpr std::uint64_t kMostSleepNs = 50 * kNsPerUs;
  if (watched_ != nullptr) watched_->look();
  if (plain_.clock.is_virtual()) {
    plain_.relax(plain_.clock.now_ns() + most_ns);
  } else {
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(most_ns, kMostSleepNs)));
  }
  return hca_->poll();
}

}  // namespace portcullis::tools::lease_serve
