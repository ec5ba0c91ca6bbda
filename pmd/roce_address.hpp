// SPDX-License-Identifier: BSD-3-Clause
//
// The port's own addresses: an address path names one by index (ads.src_addr_index), and what the
// wire sees as source comes from there. An Ethernet port has no other way to get a GID.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/gid.hpp"

namespace portcullis::pmd {

/// A RoCEv2 address.
struct RoceAddress {
  Gid gid;
  Mac mac;
  std::optional<std::uint16_t> vlan_id = std::nullopt;
  bool operator==(const RoceAddress&) const = default;
};

/// Where in the port's table a RoCEv2 address stands that somebody else has set.
struct FoundRoceAddress {
  std::uint8_t index = 0;
  RoceAddress address;
};

/// Clears on destruction what it set.
class RoceAddressTable {
 public:
  explicit RoceAddressTable(const Context& context) noexcept : context_(&context) {}
  RoceAddressTable(RoceAddressTable&& other) noexcept = default;
  RoceAddressTable& operator=(RoceAddressTable&& other) noexcept;
  ~RoceAddressTable() { (void)clear_all(); }

  /// SET_ROCE_ADDRESS. InvalidArgument for an index the table has not, a VLAN id above 4094, a zero
  /// GID or MAC; Unsupported on a port that is not Ethernet.
  [[nodiscard]] Result<void> set(std::uint32_t index, const RoceAddress& address);
  /// SET_ROCE_ADDRESS with an empty entry.
  [[nodiscard]] Result<void> clear(std::uint32_t index);
  /// Clears every entry set here; goes on past a failure and returns the first.
  [[nodiscard]] Result<void> clear_all();
  /// QUERY_ROCE_ADDRESS.
  [[nodiscard]] Result<RoceAddress> query(std::uint32_t index) const;
  /// QUERY_ROCE_ADDRESS of one entry after the other: the first of version 2 with this GID and,
  /// where it is given, this VLAN; without a GID the first of version 2. NotFound, with what there
  /// is.
  [[nodiscard]] Result<FoundRoceAddress> find(const std::optional<Gid>& gid,
                                              const std::optional<std::uint16_t>& vlan_id) const;

 private:
  struct Entry {
    bool is_version_2 = false;
    RoceAddress address;
  };
  [[nodiscard]] Result<Entry> read(std::uint32_t index) const;
  [[nodiscard]] Result<void> check_index(std::uint32_t index) const;

  const Context* context_;
  std::vector<std::uint32_t> set_;
};

}  // namespace portcullis::pmd
