// SPDX-License-Identifier: BSD-3-Clause
#include "attach/port.hpp"

#include "base/clock.hpp"
#include "pmd/infiniband_port.hpp"
#include "pmd/port.hpp"
#include "pmd/port_mac.hpp"
#include "prm/enums.hpp"

namespace portcullis::attach {

Result<void> check_port_address(const pmd::Gid& address) {
  pmd::Gid this_host;  // ::1
  this_host.bytes.back() = std::byte{1};
  constexpr std::byte kLoopbackNet{127};
  const bool is_this_host =
      address == this_host || (address.is_ipv4() && address.bytes[12] == kLoopbackNet);
  if (address.is_unicast() && !is_this_host) return {};
  return fail(Errc::InvalidArgument,
              "address " + address.text() +
                  "; a unicast IPv4 or IPv6 address that other hosts can send to is accepted");
}

Result<pmd::Gid> parse_port_address(std::string_view text) {
  PORTCULLIS_TRY_ASSIGN(const pmd::Gid address, pmd::Gid::parse(text));
  PORTCULLIS_TRY(check_port_address(address));
  return address;
}

Result<Port> Port::create(const pmd::Context& context, const Options& options) {
  Port port;
  port.path_.is_forced_back = context.forces_loopback;
  if (context.caps.port_type == prm::number(prm::PortType::IB)) {
    constexpr std::uint64_t kPatienceNs = 10 * kNsPerSecond;
    PORTCULLIS_TRY_ASSIGN(const pmd::InfinibandPort active,
                          pmd::wait_for_subnet(context.device, *context.commands,
                                               context.device.clock.now_ns() + kPatienceNs));
    port.path_.remote_lid = active.lid;
    return port;
  }
  port.addresses_.emplace(context);
  if (context.is_kept) {
    PORTCULLIS_TRY(port.find_address(options));
  } else {
    PORTCULLIS_TRY(port.set_address(context, options));
  }
  port.path_.remote_gid = port.address_.gid;
  port.path_.remote_mac = port.address_.mac;
  return port;
}

Result<void> Port::find_address(const Options& options) {
  if (options.mac)
    return fail(Errc::Unsupported, "MAC " + options.mac->text() +
                                       " on a NIC that its kernel driver keeps: its addresses are "
                                       "the kernel's; give a GID of its netdev");
  PORTCULLIS_TRY_ASSIGN(const auto found, addresses_->find(options.gid, options.vlan_id));
  address_ = found.address;
  path_.source_address_index = found.index;
  return {};
}

Result<void> Port::set_address(const pmd::Context& context, const Options& options) {
  if (options.mac) {
    address_.mac = *options.mac;
    PORTCULLIS_TRY(pmd::announce_address(*context.commands, address_.mac));
  } else {
    PORTCULLIS_TRY_ASSIGN(address_.mac, pmd::port_mac(context));
  }
  address_.gid = options.gid.value_or(pmd::Gid::link_local(address_.mac));
  address_.vlan_id = options.vlan_id;
  return addresses_->set(0, address_);
}

}  // namespace portcullis::attach
