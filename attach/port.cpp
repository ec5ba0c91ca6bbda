// SPDX-License-Identifier: BSD-3-Clause
#include "attach/port.hpp"

#include "base/clock.hpp"
#include "pmd/infiniband_port.hpp"
#include "pmd/port_mac.hpp"
#include "prm/enums.hpp"

namespace portcullis::attach {

Result<Port> Port::create(const pmd::Context& context, const Options& options) {
  Port port;
  if (context.caps.port_type == prm::number(prm::PortType::IB)) {
    constexpr std::uint64_t kPatienceNs = 10 * kNsPerSecond;
    PORTCULLIS_TRY_ASSIGN(const pmd::InfinibandPort active,
                          pmd::wait_for_subnet(context.device, *context.commands,
                                               context.device.clock.now_ns() + kPatienceNs));
    port.path_.remote_lid = active.lid;
    return port;
  }
  if (options.mac) {
    port.address_.mac = *options.mac;
  } else {
    PORTCULLIS_TRY_ASSIGN(port.address_.mac, pmd::port_mac(context));
  }
  port.address_.gid = options.gid.value_or(pmd::Gid::link_local(port.address_.mac));
  port.address_.vlan_id = options.vlan_id;
  port.path_.remote_gid = port.address_.gid;
  port.path_.remote_mac = port.address_.mac;
  port.addresses_.emplace(context);
  PORTCULLIS_TRY(port.addresses_->set(0, port.address_));
  return port;
}

}  // namespace portcullis::attach
