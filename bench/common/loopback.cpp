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

Result<std::unique_ptr<Endpoint>> Endpoint::create(const pmd::Context& context,
                                                   std::size_t region_bytes) {
  PORTCULLIS_TRY_ASSIGN(auto region, DmaMemory::create(*context.device.dma, region_bytes));
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(
      auto key, pmd::MemoryKey::create_mtt(context, pd, pmd::MemoryRange::zero_based(region),
                                           {.local_write = true, .remote_write = true}));
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, 6));
  PORTCULLIS_TRY_ASSIGN(auto qp, pmd::QueuePair::create(context, pd, cq));
  return std::unique_ptr<Endpoint>(
      new Endpoint(std::move(region), std::move(pd), std::move(key), std::move(cq), std::move(qp)));
}

Result<void> Endpoint::connect(const pmd::RocePath& path, std::uint32_t remote_qpn) {
  PORTCULLIS_TRY(qp_.to_init({.remote_write = true}));
  pmd::RtrAttributes rtr;
  rtr.path = path;
  rtr.remote_qpn = remote_qpn;
  PORTCULLIS_TRY(qp_.to_rtr(rtr));
  return qp_.to_rts({});
}

}  // namespace portcullis::bench
