// SPDX-License-Identifier: BSD-3-Clause
//
// The numbers of the lease protocol. LEASE_REVOKE is 0x020A and the outcomes are 0, 1 and 2 because
// the floor document says so (docs/floor-document.md, 1.1); every other number is ours
// (docs/wire.md says the same in a table).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace portcullis::wire {

inline constexpr std::uint16_t kVersion = 1;

/// What a client asks for. The answer's op has kAnswerBit beside it.
enum class Op : std::uint16_t {
  Hello = 0x0201,
  LeaseAlloc = 0x0202,
  LeaseRenew = 0x0203,
  LeaseList = 0x0204,
  LeaseWatch = 0x0205,
  Status = 0x0206,
  LeaseHistory = 0x0207,
  LeaseChallenge = 0x0208,
  LeaseRevoke = 0x020A,  // the floor document's
  RevokeTenant = 0x020B,
};
inline constexpr std::uint16_t kAnswerBit = 0x8000;
/// The answer to what was not done, whatever was asked.
inline constexpr std::uint16_t kRefused = 0x8000;

/// What the server says unasked; the request id is 0.
enum class Notice : std::uint16_t {
  Revoked = 0x4201,
  Expired = 0x4202,
  ServerRestarted = 0x4203,
};

/// The floor document's.
enum class Outcome : std::uint8_t {
  TornDown = 0,  // fenced; no access to the memory under this lease any more
  Fenced = 1,    // a step that may not fail failed; `memory` says whether the memory is proved safe
  NotFound = 2,  // no such lease of the asker, or another epoch
  Revoking = 3,  // LEASE_LIST alone: its outcome is not there yet
};

/// What proved that no access reaches the memory.
enum class Memory : std::uint8_t {
  Unproved = 0,
  Mkey = 1,           // DESTROY_MKEY answered with success
  Umr = 2,            // the UMR that frees the key completed
  Unmap = 3,          // the IOMMU unmap returned
  Function = 4,       // bus mastering off
  TenantMkey = 5,     // DESTROY_MKEY of the indirect key
  FunctionReset = 6,  // the function was reset before the server served again
};

/// Who ended a lease.
enum class Cause : std::uint8_t {
  None = 0,       // it is held
  Holder = 1,     // its own tenant asked
  Operator = 2,   // somebody else who may
  Expired = 3,    // its time to live, or its holder was gone for too long
  Server = 4,     // the server ended, or could not record the grant
  Restart = 5,    // the server's process or its function was gone
  Challenge = 6,  // nobody wrote its number into the region in time (LEASE_CHALLENGE)
};

enum class State : std::uint8_t { Active = 1, Revoking = 2, Fenced = 3 };

/// Whether a holder has shown that its RDMA requests arrive.
enum class Challenge : std::uint8_t {
  None = 0,  // the server asks for nothing
  Open = 1,  // the number is to be written yet
  Met = 2,   // it was
};

/// What a peer may do.
enum class Role : std::uint8_t {
  Client = 1,    // leases of its own tenant
  Operator = 2,  // every tenant's
  Observer = 3,  // looks at everything, changes nothing
};

/// How a lease is to be fenced; Default: as the server is configured.
enum class Plan : std::uint8_t {
  Default = 0,
  Seed = 1,
  NakFirst = 2,
  Legacy = 3,
  Umr = 4,
  AccessFlags = 5,
};

/// Why nothing was done.
enum class Code : std::uint16_t {
  Malformed = 1,  // a length, a reserved byte, bytes behind the body: the connection ends
  UnknownOp = 2,  //
  UnknownVersion = 3,
  HelloFirst = 4,    // nothing else is answered before HELLO, and HELLO once
  InvalidValue = 5,  // a member is out of its range; the text names it
  NotAllowed = 6,    // the role does not
  Limit = 7,         // of the tenant: leases, bytes or requests under way
  NoResources = 8,   // of the server
  Busy = 9,          // again later
  Unavailable = 10,  // the device or the journal is lost; nothing is granted
  NotFound = 11,     // LEASE_RENEW, LEASE_CHALLENGE: no such lease of the asker
  Ending = 12,       // the server is about to end
};

/// The steps that a failed_mask names, as docs/revocation.md has them: "2ERR_QP|DESTROY_MKEY"; "bit
/// 20" for one that means nothing, "none" for 0.
[[nodiscard]] std::string steps_text(std::uint32_t failed_mask);

/// "LEASE_REVOKE", "TornDown", ..; "unknown" of a number that means nothing.
[[nodiscard]] std::string_view name(Op op) noexcept;
[[nodiscard]] std::string_view name(Notice notice) noexcept;
[[nodiscard]] std::string_view name(Outcome outcome) noexcept;
[[nodiscard]] std::string_view name(Memory memory) noexcept;
[[nodiscard]] std::string_view name(Cause cause) noexcept;
[[nodiscard]] std::string_view name(State state) noexcept;
[[nodiscard]] std::string_view name(Challenge challenge) noexcept;
[[nodiscard]] std::string_view name(Role role) noexcept;
[[nodiscard]] std::string_view name(Plan plan) noexcept;
[[nodiscard]] std::string_view name(Code code) noexcept;

[[nodiscard]] constexpr std::uint16_t number(Op op) noexcept {
  return static_cast<std::uint16_t>(op);
}
[[nodiscard]] constexpr std::uint16_t answer_to(Op op) noexcept { return number(op) | kAnswerBit; }
[[nodiscard]] constexpr std::uint16_t number(Notice notice) noexcept {
  return static_cast<std::uint16_t>(notice);
}

/// Whether a number that came is one of those above.
[[nodiscard]] bool is_known_op(std::uint16_t op) noexcept;
[[nodiscard]] bool is_known(Plan plan) noexcept;

}  // namespace portcullis::wire
