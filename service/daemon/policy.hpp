// SPDX-License-Identifier: BSD-3-Clause
//
// Who may ask for what, and how much of it: values that the configuration sets and the sessions
// obey. Nothing here reads a file or a socket.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "wire/account.hpp"
#include "wire/ops.hpp"

namespace portcullis::service::daemon {

/// Whom a connection speaks for.
struct Identity {
  std::uint64_t tenant = 0;
  wire::Role role = wire::Role::Client;
  std::string peer;  // "uid 1000 pid 4711": for the log
};

struct Limits {
  std::uint32_t tenant_leases = 1024;
  std::uint64_t tenant_bytes = std::uint64_t{1} << 30;
  std::uint64_t lease_bytes = std::uint64_t{64} << 20;
  std::uint64_t default_ttl_ms = 30'000;
  std::uint64_t most_ttl_ms = 86'400'000;
  std::uint64_t orphan_ms = 10'000;  // a lease outlives its holder's connection so long
  /// What a client's own timeout and retries make its queue pair's number rest, at most.
  std::uint64_t most_rest_ms = 60'000;
  /// Within so long a holder writes its lease's nonce into the region, or loses it; 0: none is
  /// asked for.
  std::uint64_t challenge_ms = 0;
  std::uint32_t connections = 1024;        // of all, on each of socket and QUIC
  std::uint32_t uid_connections = 256;     // of one user
  std::uint32_t tenant_connections = 256;  // of one tenant's certificates
  std::uint32_t host_connections = 256;    // of one host, over QUIC
  std::uint32_t requests = 64;             // under way on one connection
  /// What all clients of the socket, and all over QUIC, have not read together. Where it is more,
  /// whoever has most to read is hung up on.
  std::uint64_t unread_bytes = std::uint64_t{256} << 20;

  bool operator==(const Limits&) const = default;
};

using wire::Account;

/// By the peer's user, as the kernel tells it.
struct Users {
  std::map<std::uint32_t, Account> by_uid;

  /// None for a user who is not named.
  [[nodiscard]] std::optional<Identity> of(std::uint32_t uid, std::int32_t pid) const {
    const auto found = by_uid.find(uid);
    if (found == by_uid.end()) return std::nullopt;
    return Identity{.tenant = found->second.tenant,
                    .role = found->second.role,
                    .peer = "uid " + std::to_string(uid) + " pid " + std::to_string(pid)};
  }
  bool operator==(const Users&) const = default;
};

/// By what the peer's certificate is called. A name of the form "URI:portcullis:TENANT:ROLE" says
/// it by itself, since the authority vouches for it; any other has to be listed.
struct Certificates {
  std::map<std::string, Account> by_name;  // "DNS:db1.example", "URI:spiffe://..", "IP:192.0.2.7"

  /// None when no name says anything, or two of them say different things.
  [[nodiscard]] std::optional<Account> of(std::span<const std::string> names) const;
  /// Two of them do, and so it is nobody's.
  [[nodiscard]] bool is_torn(std::span<const std::string> names) const;
  bool operator==(const Certificates&) const = default;

 private:
  /// What they say, each thing once.
  [[nodiscard]] std::vector<Account> all_of(std::span<const std::string> names) const;
};

}  // namespace portcullis::service::daemon
