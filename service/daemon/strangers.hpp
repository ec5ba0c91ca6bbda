// SPDX-License-Identifier: BSD-3-Clause
//
// Who has begun a handshake over QUIC and has shown no certificate yet. So few are let be of one
// host, so few of all, and so few begin in a second, that no host keeps the others out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "service/daemon/lease_book.hpp"

namespace portcullis::service::daemon {

class Strangers {
 public:
  static constexpr std::size_t kMost = 128;
  static constexpr std::size_t kMostOfHost = 16;
  static constexpr std::uint32_t kMostASecond = 64;  // of one host

  [[nodiscard]] std::size_t size() const noexcept { return host_of_.size(); }
  /// Whether one more of that host may begin now; counts it.
  [[nodiscard]] bool may_begin(const std::string& host, std::uint64_t now_ns);
  /// Who goes before one more of that host comes: its own oldest where it has its share, and else
  /// the oldest of the host that has most. None while there is room.
  [[nodiscard]] std::optional<ConnectionId> in_the_way_of(const std::string& host) const;
  void add(const std::string& host, ConnectionId id);
  /// Nothing where it is none.
  void remove(ConnectionId id);

 private:
  std::map<ConnectionId, std::string> host_of_;
  std::map<std::string, std::set<ConnectionId>> by_host_;  // the oldest first
  std::map<std::string, std::uint32_t> begun_;             // in this second
  std::uint64_t second_ns_ = 0;                            // when it began
};

}  // namespace portcullis::service::daemon
