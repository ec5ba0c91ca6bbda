// SPDX-License-Identifier: BSD-3-Clause
#include "tools/vfio_peer/port.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "pmd/gid.hpp"
#include "prm/hca_cap.hpp"
#include "prm/hca_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/port_commands.hpp"
#include "prm/vport_commands.hpp"

namespace portcullis::tools::vfio_peer {
namespace {

using Mac = std::array<std::uint8_t, 6>;
using prm::Opcode;

constexpr std::chrono::milliseconds kLidTimeout{30000};
constexpr std::chrono::milliseconds kLidPeriod{100};
constexpr std::uint32_t kHopLimit = 64;
constexpr std::uint32_t kUdpSourcePort = 0xc000;  // lowest of roce_cap.r_roce_min_src_udp_port

std::uint32_t high_of(const Mac& mac) { return std::uint32_t{mac[0]} << 8 | mac[1]; }
std::uint32_t low_of(const Mac& mac) {
  return std::uint32_t{mac[2]} << 24 | std::uint32_t{mac[3]} << 16 | std::uint32_t{mac[4]} << 8 |
         mac[5];
}

Mac mac_of(std::uint32_t high, std::uint32_t low) {
  return {static_cast<std::uint8_t>(high >> 8), static_cast<std::uint8_t>(high),
          static_cast<std::uint8_t>(low >> 24), static_cast<std::uint8_t>(low >> 16),
          static_cast<std::uint8_t>(low >> 8),  static_cast<std::uint8_t>(low)};
}

Result<prm::PortType> port_type(Device& device) {
  prm::Buffer<prm::query_hca_cap_in> in;
  in.set<"opcode", Opcode::QUERY_HCA_CAP>();
  in.set<"op_mod", 1>();  // the general capabilities, as they are now
  PORTCULLIS_TRY_ASSIGN(const auto out, device.run<prm::query_hca_cap_out>(in));
  const auto general = prm::ConstView<prm::cmd_hca_cap>::at(out.bytes<"capability">());
  return prm::PortType{static_cast<std::uint8_t>(general.get<"port_type">())};
}

Result<void> set_up_ethernet(Device& device, Port& port) {
  prm::Buffer<prm::query_nic_vport_context_in> query;
  query.set<"opcode", Opcode::QUERY_NIC_VPORT_CONTEXT>();
  PORTCULLIS_TRY_ASSIGN(const auto vport, device.run<prm::query_nic_vport_context_out>(query));
  port.mac = mac_of(vport.get<"nic_vport_context.permanent_address.mac_addr_47_32">(),
                    vport.get<"nic_vport_context.permanent_address.mac_addr_31_0">());
  port.gid = link_local_gid(port.mac);
  prm::Buffer<prm::set_roce_address_in> set;
  set.set<"opcode", Opcode::SET_ROCE_ADDRESS>()
      .put<"roce_address.source_mac_47_32">(high_of(port.mac))
      .put<"roce_address.source_mac_31_0">(low_of(port.mac))
      .put<"roce_address.roce_l3_type">(prm::RoceL3Type::IPV6)
      .put<"roce_address.roce_version">(prm::RoceVersion::V2);
  std::ranges::copy(std::as_bytes(std::span(port.gid)),
                    set.bytes<"roce_address.source_l3_address">().begin());
  PORTCULLIS_TRY(device.run<prm::set_roce_address_out>(set));
  return {};
}

/// The link trains after INIT_HCA, and then a subnet manager gives the port its LID.
Result<void> set_up_infiniband(Device& device, Port& port) {
  prm::Buffer<prm::query_hca_vport_context_in> query;
  query.set<"opcode", Opcode::QUERY_HCA_VPORT_CONTEXT>();
  for (std::chrono::milliseconds waited{0}; waited < kLidTimeout; waited += kLidPeriod) {
    PORTCULLIS_TRY_ASSIGN(const auto vport, device.run<prm::query_hca_vport_context_out>(query));
    port.lid = static_cast<std::uint16_t>(vport.get<"hca_vport_context.lid">());
    if (port.lid != 0) return {};
    PORTCULLIS_TRY(device.process_events());
    std::this_thread::sleep_for(kLidPeriod);
  }
  return fail(
      Errc::Timeout,
      fmt::format("the port has no LID after {} s: is its link up, and does a subnet manager "
                  "(opensm) run on its fabric?",
                  kLidTimeout / std::chrono::seconds(1)));
}

}  // namespace

std::string Port::text() const {
  if (type == prm::PortType::IB) return fmt::format("LID {}", lid);
  std::array<char, INET6_ADDRSTRLEN> address{};
  ::inet_ntop(AF_INET6, gid.data(), address.data(), address.size());
  return fmt::format("RoCE {}", address.data());
}

std::array<std::uint8_t, 16> link_local_gid(const Mac& mac) {
  const auto gid = pmd::Gid::link_local({mac});
  std::array<std::uint8_t, 16> raw{};
  std::memcpy(raw.data(), gid.bytes.data(), raw.size());
  return raw;
}

Result<Port> set_up_port(Device& device) {
  Port port;
  PORTCULLIS_TRY_ASSIGN(port.type, port_type(device));
  if (port.type == prm::PortType::IB) {
    PORTCULLIS_TRY(set_up_infiniband(device, port));
  } else {
    PORTCULLIS_TRY(set_up_ethernet(device, port));
  }
  return port;
}

void fill_path(prm::Buffer<prm::init2rtr_qp_in>& in, const Port& port) {
  in.set<"qpc.primary_address_path.vhca_port_num", 1>();
  if (port.type == prm::PortType::IB) {
    in.put<"qpc.primary_address_path.rlid">(port.lid);
    return;
  }
  in.put<"qpc.primary_address_path.rmac_47_32">(high_of(port.mac))
      .put<"qpc.primary_address_path.rmac_31_0">(low_of(port.mac))
      .set<"qpc.primary_address_path.hop_limit", kHopLimit>()
      .set<"qpc.primary_address_path.udp_sport", kUdpSourcePort>()
      .set<"qpc.primary_address_path.src_addr_index", 0>();
  std::ranges::copy(std::as_bytes(std::span(port.gid)),
                    in.bytes<"qpc.primary_address_path.rgid_rip">().begin());
}

}  // namespace portcullis::tools::vfio_peer
