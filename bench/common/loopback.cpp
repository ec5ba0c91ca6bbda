// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/loopback.hpp"

#include "pmd/infiniband_port.hpp"
#include "pmd/port_mac.hpp"
#include "prm/enums.hpp"

namespace portcullis::bench {

Result<Port> Port::create(const pmd::Context& context) {
  if (context.caps.port_type == prm::number(prm::PortType::IB)) {
    constexpr std::uint64_t kPatienceNs = 10 * kNsPerSecond;
    PORTCULLIS_TRY_ASSIGN(const pmd::InfinibandPort port,
                          pmd::wait_for_subnet(context.device, *context.commands,
                                               context.device.clock.now_ns() + kPatienceNs));
    pmd::RocePath path;
    path.remote_lid = port.lid;
    return Port(std::nullopt, path);
  }
  PORTCULLIS_TRY_ASSIGN(const pmd::Mac mac, pmd::port_mac(context));
  const pmd::RoceAddress address{.gid = pmd::Gid::from_ipv4(192, 0, 2, 1), .mac = mac};
  pmd::RoceAddressTable addresses(context);
  PORTCULLIS_TRY(addresses.set(0, address));
  pmd::RocePath path;
  path.remote_gid = address.gid;
  path.remote_mac = address.mac;
  return Port(std::move(addresses), path);
}

}  // namespace portcullis::bench
