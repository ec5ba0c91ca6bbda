// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/loopback.hpp"

#include "pmd/port_mac.hpp"

namespace portcullis::bench {

Result<Port> Port::create(const pmd::Context& context) {
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
