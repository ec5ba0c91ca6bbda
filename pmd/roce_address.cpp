// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/roce_address.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "prm/enums.hpp"
#include "prm/opcodes.hpp"
#include "prm/port_commands.hpp"

namespace portcullis::pmd {
namespace {

using SetRoceAddress = prm::Buffer<prm::set_roce_address_in>;

SetRoceAddress prepare(std::uint32_t index) {
  SetRoceAddress in;
  in.set<"opcode", prm::number(prm::Opcode::SET_ROCE_ADDRESS)>();
  in.put<"roce_address_index">(index);
  in.set<"roce_address.roce_version", prm::number(prm::RoceVersion::V2)>();
  return in;
}

Result<void> check(const RoceAddress& address) {
  constexpr std::uint16_t kMostVlanId = 4094;
  if (address.vlan_id.value_or(0) > kMostVlanId)
    return fail(Errc::InvalidArgument, "VLAN id " + std::to_string(*address.vlan_id) +
                                           "; at most " + std::to_string(kMostVlanId));
  if (address.gid == Gid{} || address.mac == Mac{})
    return fail(Errc::InvalidArgument, "RoCE address " + address.gid.text() + ", MAC " +
                                           address.mac.text() +
                                           "; neither may be zero, which is an empty entry");
  return {};
}

}  // namespace

RoceAddressTable& RoceAddressTable::operator=(RoceAddressTable&& other) noexcept {
  if (this != &other) {
    (void)clear_all();
    context_ = other.context_;
    set_ = std::exchange(other.set_, {});
  }
  return *this;
}

Result<void> RoceAddressTable::check_index(std::uint32_t index) const {
  if (context_->caps.port_type != prm::number(prm::PortType::ETH))
    return fail(Errc::Unsupported, "RoCE addresses on a port of type " +
                                       std::to_string(context_->caps.port_type) +
                                       "; only an Ethernet port (1) has them");
  if (index >= context_->caps.roce_address_table_size)
    return fail(Errc::InvalidArgument,
                "RoCE address index " + std::to_string(index) + "; the table has " +
                    std::to_string(context_->caps.roce_address_table_size) + " entries");
  return {};
}

Result<void> RoceAddressTable::set(std::uint32_t index, const RoceAddress& address) {
  PORTCULLIS_TRY(check_index(index));
  PORTCULLIS_TRY(check(address));
  SetRoceAddress in = prepare(index);
  const std::uint64_t mac = address.mac.number();
  in.put<"roce_address.source_mac_47_32">(mac >> 32);
  in.put<"roce_address.source_mac_31_0">(mac & 0xffffffff);
  in.put<"roce_address.vlan_valid">(address.vlan_id ? 1 : 0);
  in.put<"roce_address.vlan_id">(address.vlan_id.value_or(0));
  in.put<"roce_address.roce_l3_type">(
      prm::number(address.gid.is_ipv4() ? prm::RoceL3Type::IPV4 : prm::RoceL3Type::IPV6));
  std::copy(address.gid.bytes.begin(), address.gid.bytes.end(),
            in.bytes<"roce_address.source_l3_address">().begin());
  PORTCULLIS_TRY(run<prm::set_roce_address_out>(*context_->commands, in));
  if (std::find(set_.begin(), set_.end(), index) == set_.end()) set_.push_back(index);
  return {};
}

// As Linux deletes a GID (set_roce_addr of mlx5_ib with none): version and IPv6, all else zero.
Result<void> RoceAddressTable::clear(std::uint32_t index) {
  PORTCULLIS_TRY(check_index(index));
  SetRoceAddress in = prepare(index);
  in.set<"roce_address.roce_l3_type", prm::number(prm::RoceL3Type::IPV6)>();
  PORTCULLIS_TRY(run<prm::set_roce_address_out>(*context_->commands, in));
  std::erase(set_, index);
  return {};
}

Result<void> RoceAddressTable::clear_all() {
  if (set_.empty()) return {};  // moved from, it may have no context
  const UndoScope undoing(*context_->commands);
  Result<void> first;
  for (const std::uint32_t index : std::exchange(set_, {})) {
    auto done = clear(index);
    if (!done && first) first = std::move(done);
  }
  return first;
}

Result<RoceAddress> RoceAddressTable::query(std::uint32_t index) const {
  PORTCULLIS_TRY_ASSIGN(const Entry entry, read(index));
  return entry.address;
}

Result<FoundRoceAddress> RoceAddressTable::find(const std::optional<Gid>& gid,
                                                const std::optional<std::uint16_t>& vlan_id) const {
  // ads.src_addr_index has 8 bits.
  const std::uint32_t entries = std::min(context_->caps.roce_address_table_size, 256U);
  std::string there;
  for (std::uint32_t index = 0; index < entries; ++index) {
    PORTCULLIS_TRY_ASSIGN(const Entry entry, read(index));
    if (!entry.is_version_2 || entry.address.gid == Gid{}) continue;
    const bool is_wanted =
        (!gid || entry.address.gid == *gid) && (!vlan_id || entry.address.vlan_id == vlan_id);
    if (is_wanted) return FoundRoceAddress{static_cast<std::uint8_t>(index), entry.address};
    there += (there.empty() ? "" : ", ") + entry.address.gid.text();
    if (entry.address.vlan_id) there += " on VLAN " + std::to_string(*entry.address.vlan_id);
  }
  return fail(Errc::NotFound,
              "no RoCEv2 address " + (gid ? gid->text() : std::string("at all")) +
                  (vlan_id ? " on VLAN " + std::to_string(*vlan_id) : std::string()) +
                  " on this port, whose addresses are the kernel's" +
                  (there.empty() ? "; give its netdev one" : "; there are " + there));
}

Result<RoceAddressTable::Entry> RoceAddressTable::read(std::uint32_t index) const {
  PORTCULLIS_TRY(check_index(index));
  prm::Buffer<prm::query_roce_address_in> in;
  in.set<"opcode", prm::number(prm::Opcode::QUERY_ROCE_ADDRESS)>();
  in.put<"roce_address_index">(index);
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::query_roce_address_out>(*context_->commands, in));
  Entry entry;
  entry.is_version_2 = out.get<"roce_address.roce_version">() == prm::number(prm::RoceVersion::V2);
  RoceAddress& address = entry.address;
  const auto gid = out.bytes<"roce_address.source_l3_address">();
  std::copy(gid.begin(), gid.end(), address.gid.bytes.begin());
  std::uint64_t mac = std::uint64_t{out.get<"roce_address.source_mac_47_32">()} << 32 |
                      out.get<"roce_address.source_mac_31_0">();
  for (std::size_t i = address.mac.octets.size(); i-- > 0; mac >>= 8)
    address.mac.octets[i] = static_cast<std::uint8_t>(mac);
  if (out.get<"roce_address.vlan_valid">() != 0)
    address.vlan_id = static_cast<std::uint16_t>(out.get<"roce_address.vlan_id">());
  return entry;
}

}  // namespace portcullis::pmd
