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
  static constexpr std::size_t kMostOfHost = 64;
  static constexpr std::uint32_t kMostASecond = 64;  // of one host
  /// A handshake that takes longer may be ended for another; one that has just begun may not.
  static constexpr std::uint64_t kTheirTimeNs = 1'000'000'000;

  struct Place {
    bool is_there = false;
    std::optional<ConnectionId> instead_of;  // who goes before one more comes
  };

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  /// Whether one more of that host may begin now; counts it.
  [[nodiscard]] bool may_begin(const std::string& host, std::uint64_t now_ns);
  /// For one more of that host: there is one, or that of its own oldest where it has its share, and
  /// else of the oldest of the host that has most, once their time is over. Who finds none asks
  /// again.
  [[nodiscard]] Place place_for(const std::string& host, std::uint64_t now_ns) const;
  void add(const std::string& host, ConnectionId id, std::uint64_t now_ns);
  /// Nothing where it is none.
  void remove(ConnectionId id);

 private:
  struct Stranger {
    std::string host;
    std::uint64_t since_ns = 0;
  };
  std::map<ConnectionId, Stranger> all_;
  std::map<std::string, std::set<ConnectionId>> by_host_;  // the oldest first
  std::map<std::string, std::uint32_t> begun_;             // in this second
  std::uint64_t second_ns_ = 0;                            // when it began
};

}  // namespace portcullis::service::daemon
