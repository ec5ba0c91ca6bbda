// SPDX-License-Identifier: BSD-3-Clause
#include "service/served_port.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "prm/enums.hpp"

namespace portcullis::service {

Result<std::unique_ptr<ServedPort>> ServedPort::open(const attach::DeviceSpec& spec,
                                                     const ServedPortOptions& wanted) {
  PORTCULLIS_TRY_ASSIGN(auto opened, attach::OpenDevice::open(spec, wanted.on_recording_lost));
  if (opened.needs_core())
    return fail(Errc::InvalidArgument,
                "a polled model, which needs a core of its own; a function under VFIO or a stepped "
                "model is accepted");
  std::unique_ptr<ServedPort> port(new ServedPort(opened.device()));
  attach::Function::Options options{.on_command = wanted.on_command,
                                    .bring_up = {.log = wanted.log}};
  options.present = [&port](Device device) {
    device.relax = Relax(&ServedPort::relax_entry, port.get());
    return device;
  };
  PORTCULLIS_TRY_ASSIGN(port->function_, attach::Function::bring_up(std::move(opened), options));
  if (port->function_->context().caps.port_type == prm::number(prm::PortType::IB))
    return fail(Errc::Unsupported,
                "port_type is 0 (InfiniBand), and what is served here is addressed by RoCE; a port "
                "of type 1 (Ethernet) is accepted");
  attach::Port::Options addressed{.gid = wanted.address};
  if (wanted.vlan) addressed.vlan_id = static_cast<std::uint16_t>(*wanted.vlan);
  PORTCULLIS_TRY_ASSIGN(auto made, attach::Port::create(port->function_->context(), addressed));
  port->port_.emplace(std::move(made));
  port->responder_ =
      neighbour::Responder::set_up_or_say(port->function_->context(), port->address(), wanted.log);
  return port;
}

/// It is not polled by what its own end waits for.
ServedPort::~ServedPort() { const auto ending = std::move(responder_); }

std::string ServedPort::description() const {
  return plain_.description + " fw " + function_->driver().firmware_version() +
         (function_->driver().is_emulated() ? ", emulated: not NIC latency" : "");
}

std::string ServedPort::neighbour_advice() const {
  if (function_->context().is_kept) return "no entry needed: the kernel answers for the port";
  if (responder_ && responder_->is_answering())
    return "no entry needed: the port answers for itself";
  return "ip neigh replace " + address().gid.text() + " lladdr " + address().mac.text() +
         " dev NETDEV  (on the client: nobody answers for the port)";
}

void ServedPort::relax_entry(void* port, std::uint64_t until_ns) noexcept {
  auto& self = *static_cast<ServedPort*>(port);
  if (self.watched_ != nullptr) self.watched_->look();
  self.plain_.relax(until_ns);
  self.answer();
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
  answer();
  PORTCULLIS_TRY(driver().poll());
  return function_->connection();
}

}  // namespace portcullis::service
