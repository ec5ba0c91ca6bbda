// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/loopback.hpp"

#include "prm/opcodes.hpp"
#include "prm/port_commands.hpp"

namespace portcullis::bench {
namespace {

constexpr pmd::Mac kLocalMac{{0x02, 0x00, 0x00, 0x00, 0x00, 0x01}};

/// The switch inside a card loops back what is addressed to a MAC of its own, so the permanent one
/// is asked for.
Result<pmd::Mac> port_mac(const pmd::Context& context) {
  prm::Buffer<prm::query_nic_vport_context_in> in;
  in.put<"opcode">(static_cast<std::uint64_t>(prm::Opcode::QUERY_NIC_VPORT_CONTEXT));
  PORTCULLIS_TRY_ASSIGN(const auto out,
                        pmd::run<prm::query_nic_vport_context_out>(*context.commands, in));
  std::uint64_t number =
      std::uint64_t{out.get<"nic_vport_context.permanent_address.mac_addr_47_32">()} << 32 |
      out.get<"nic_vport_context.permanent_address.mac_addr_31_0">();
  if (number == 0) return kLocalMac;
  pmd::Mac mac;
  for (std::size_t i = mac.octets.size(); i-- > 0; number >>= 8)
    mac.octets[i] = static_cast<std::uint8_t>(number);
  return mac;
}

}  // namespace

Result<Port> Port::create(const pmd::Context& context) {
  PORTCULLIS_TRY_ASSIGN(const pmd::Mac mac, port_mac(context));
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
