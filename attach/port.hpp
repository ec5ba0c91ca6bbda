// SPDX-License-Identifier: BSD-3-Clause
//
// The port of a function that is up, with an address: on Ethernet entry 0 of its RoCE address
// table, or of a NIC that its kernel driver keeps one of those there; on InfiniBand the LID that a
// subnet manager gave it. And the path from the port to itself, which is what --peer=loopback
// stands for, on a card as on the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/roce_address.hpp"
#include "pmd/roce_path.hpp"

namespace portcullis::attach {

/// For both ends on one function: of 192.0.2.0/24, which is for documentation (RFC 5737).
inline constexpr pmd::Gid kLoopbackGid = pmd::Gid::from_ipv4(192, 0, 2, 1);

/// Whether a port may have it: an address of one host that another host can send to, which
/// 127.0.0.0/8 and ::1 are not either. InvalidArgument names it.
[[nodiscard]] Result<void> check_port_address(const pmd::Gid& address);
/// The same of what a user wrote.
[[nodiscard]] Result<pmd::Gid> parse_port_address(std::string_view text);

class Port {
 public:
  /// The RoCE address; what is not given is the port's own. Where the kernel keeps the NIC one of
  /// its addresses is meant, without a GID the first, and a MAC cannot be chosen.
  struct Options {
    std::optional<pmd::Gid> gid = std::nullopt;  // none: the link-local one of the MAC
    std::optional<pmd::Mac> mac = std::nullopt;  // none: pmd::port_mac()
    std::optional<std::uint16_t> vlan_id = std::nullopt;
  };

  /// `context` must outlive it. An InfiniBand port takes no address; it is waited for until it is
  /// active, 10 s.
  [[nodiscard]] static Result<Port> create(const pmd::Context& context, const Options& options);

  /// Zeros on InfiniBand.
  [[nodiscard]] const pmd::RoceAddress& address() const noexcept { return address_; }
  /// In the port's table.
  [[nodiscard]] std::uint8_t address_index() const noexcept { return path_.source_address_index; }
  /// From the port to itself.
  [[nodiscard]] const pmd::RocePath& path() const noexcept { return path_; }

 private:
  Port() = default;
  [[nodiscard]] Result<void> find_address(const Options& options);
  [[nodiscard]] Result<void> set_address(const pmd::Context& context, const Options& options);

  pmd::RoceAddress address_;
  pmd::RocePath path_;
  std::optional<pmd::RoceAddressTable> addresses_;  // none on InfiniBand
};

}  // namespace portcullis::attach
