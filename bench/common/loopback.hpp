// SPDX-License-Identifier: BSD-3-Clause
//
// Both ends on one function: the port's own address, and a path from the port to itself. What
// --peer=loopback stands for, on a card as on the model.
#pragma once

#include <optional>
#include <utility>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/roce_address.hpp"
#include "pmd/roce_path.hpp"

namespace portcullis::bench {

/// The function's RoCE address, index 0, or its LID, and the way to it.
class Port {
 public:
  /// Sets an address of 192.0.2.0/24 (documentation, RFC 5737) with the port's permanent MAC, or a
  /// locally administered one where it has none. An InfiniBand port is waited for until a subnet
  /// manager has made it active, 10 s. `context` must outlive it.
  [[nodiscard]] static Result<Port> create(const pmd::Context& context);
  /// From the port to itself.
  [[nodiscard]] const pmd::RocePath& path() const noexcept { return path_; }

 private:
  Port(std::optional<pmd::RoceAddressTable> addresses, pmd::RocePath path)
      : addresses_(std::move(addresses)), path_(path) {}
  std::optional<pmd::RoceAddressTable> addresses_;  // none on InfiniBand
  pmd::RocePath path_;
};

}  // namespace portcullis::bench
