// SPDX-License-Identifier: BSD-3-Clause
//
// A lease in values: what is asked for, what the client is told, how a revoke ended. Sizes are
// bytes, times milliseconds of the device's clock.
//
// Each number of a queue pair is a type of its own, so that two of them cannot change places.
//
// Example, leases.cpp:
//   const LeaseRequest request{.bytes = 1 << 20, .peer = peer, .ttl_ms = 30'000};
//   PORTCULLIS_TRY_ASSIGN(const Grant elsewhere, leases.grant(request));
//   const RevokeAnswer answer = leases.revoke(elsewhere.lease);
//   std::cout << name(answer.outcome) << ", memory " << name(answer.memory) << '\n';
#pragma once

#include <portcullis/address.hpp>
#include <portcullis/export.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace portcullis {

/// The number of a queue pair, 24 bits.
enum class Qpn : std::uint32_t {};
/// The first packet sequence number that an end sends, 24 bits.
enum class Psn : std::uint32_t {};
/// The remote key, a secret between the granter and the client.
enum class Rkey : std::uint32_t {};

/// A queue pair as it introduces itself to the other end.
struct Peer {
  Qpn qpn{};     // of its queue pair
  Psn psn{};     // the first that it will send
  Gid gid = {};  // of its port
  Mac mac = {};  // of the port, or of the router on the way to it
};

/// What the client may do to the region.
struct Rights {
  bool write = true;    // RDMA WRITE
  bool read = true;     // RDMA READ
  bool atomic = false;  // FETCH_ADD and COMPARE_SWAP
};

/// What is asked for.
struct LeaseRequest {
  std::uint64_t bytes = 0;  // rounded up to whole pages of 4096
  Peer peer = {};           // the client's queue pair
  Rights rights = {};       // what it may do to the region
  /// What the client's queue pair must use: after a revoke the lease's number rests as long as
  /// these let it go on sending. 1 to 31, and 0 to 7; at most 6 for soft-RoCE.
  std::uint8_t ack_timeout = 14;  // 4.096 us x 2^ack_timeout
  std::uint8_t retry_count = 7;   // how often it sends again, 0 to 7
  std::uint64_t tenant = 0;       // whose quota it counts against
  /// The lease is revoked once this has passed without a renewal; 0: never. At most 2^40.
  std::uint64_t ttl_ms = 0;
};

/// What names a lease: an id, and an epoch by which a stale revoke is told from one of now.
struct LeaseName {
  std::uint64_t id = 0;     // of the lease
  std::uint64_t epoch = 0;  // of its slot, greater with each lease

  /// The same lease.
  bool operator==(const LeaseName&) const = default;
};

/// What the client is told.
struct Grant {
  LeaseName lease;               // its name, for the revoke
  Peer port;                     // whom it connects to; psn is the first that the port will send
  Rkey rkey{};                   // a secret
  std::uint64_t address = 0;     // of the region's first byte, as the client writes it
  std::uint64_t bytes = 0;       // of the region
  std::uint32_t mtu_bytes = 0;   // the path MTU that both ends set
  std::uint8_t ack_timeout = 0;  // as it was asked for
  std::uint8_t retry_count = 0;  // as it was asked for
};

/// How a revoke ended.
enum class Outcome : std::uint8_t {
  /// The commands that take rights away came back from the device with success, and nothing else
  /// counts as that. The slot comes back after GRACE.
  TornDown = 0,
  /// A step that may not fail failed: the slot is not used again before a function reset.
  Fenced = 1,
  /// No such lease, or a revoke for an earlier epoch.
  NotFound = 2,
  /// None yet, of a batch too large for its second: poll() goes on with it.
  Revoking = 3,
};
/// "TornDown".
[[nodiscard]] PORTCULLIS_API std::string_view name(Outcome outcome) noexcept;

/// What is known of the region's memory: whether something has shown that no DMA for this lease
/// reaches it any more. Shown by a command's success rests on docs/hca-contract.md.
enum class MemoryProof : std::uint8_t {
  Unproved,  // the region is never granted again
  Key,       // DESTROY_MKEY succeeded
  Umr,       // the UMR that frees the key completed
  Unmap,     // the IOMMU unmap returned
  Function,  // bus mastering of the whole function is off
  TenantKey  // DESTROY_MKEY of the key by which leases granted together are reached
};
/// "unproved", "proved by DESTROY_MKEY".
[[nodiscard]] PORTCULLIS_API std::string_view name(MemoryProof proof) noexcept;

/// What a revoke answers.
struct RevokeAnswer {
  Outcome outcome = Outcome::NotFound;  // what may be relied on
  std::uint64_t current_epoch = 0;      // of the slot; the lease's own unless NotFound
  // Of TornDown and Fenced alone:
  MemoryProof memory = MemoryProof::Unproved;  // what shows that no DMA reaches it
  std::string failed_steps;                    // "DESTROY_MKEY|SET_FLOW_TABLE_ENTRY"; empty: none
  /// The DROP entry was refused, or the plan's had to stand from the grant on and did not, and the
  /// lease was fenced without it. No outcome rests on it.
  bool is_steering_degraded = false;
  /// Of Revoking: about how long the device needs for all that wait.
  std::uint64_t expected_ms = 0;

  /// The same in every member.
  bool operator==(const RevokeAnswer&) const = default;
};

}  // namespace portcullis
