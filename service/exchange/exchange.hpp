// SPDX-License-Identifier: BSD-3-Clause
//
// How a client asks for a lease and how it is answered: one line each way, readable, so that it can
// be pasted as well as sent.
//
//   lease-request version=1 qpn=0x11 psn=0x3a51b2 gid=192.0.2.2 mac=02:50:43:00:00:02 mtu=1024
//   lease-grant version=1 qpn=0x41 psn=0x90127c gid=192.0.2.1 mac=02:50:43:00:00:01 mtu=1024
//     rkey=0x1c02 address=0x0 length=65536 timeout=14 retry=6 access=write+read      (one line)
//   lease-refused WHY
//
// Each word once, in any order, and no other; numbers are decimal or 0x. What a peer says is not
// trusted: a value that no lease can have is refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "pmd/access.hpp"
#include "pmd/gid.hpp"

namespace portcullis::service::exchange {

/// A line without its newline; a peer that sends more is cut off.
inline constexpr std::size_t kMaxLineBytes = 512;

/// One end of an RC connection.
struct Endpoint {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;  // the first that this end sends
  pmd::Gid gid = {};
  pmd::Mac mac = {};
  bool operator==(const Endpoint&) const = default;
};

struct Request {
  Endpoint client;
  std::uint32_t mtu = 1024;  // bytes of payload the client's path takes; the grant has no more
  bool operator==(const Request&) const = default;
};

struct Grant {
  Endpoint server;
  std::uint32_t mtu = 1024;
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;  // of the region's first byte
  std::uint64_t length = 0;
  std::uint8_t timeout = 14;  // the client's QP must use these two
  std::uint8_t retry = 6;
  pmd::Access access;  // remote rights only
};

[[nodiscard]] std::string to_line(const Request& request);
[[nodiscard]] std::string to_line(const Grant& grant);
/// `why` on one line, cut to what a line may hold.
[[nodiscard]] std::string refusal(std::string_view why);

/// Malformed with one line that names the word and what is accepted.
[[nodiscard]] Result<Request> parse_request(std::string_view line);
/// The same; a refusal is an error too, with the server's text.
[[nodiscard]] Result<Grant> parse_grant(std::string_view line);

/// "write+read", "write+read+atomic", .., as --access and a grant spell it.
[[nodiscard]] std::string access_text(const pmd::Access& access);
[[nodiscard]] Result<pmd::Access> parse_access(std::string_view text);

/// What a peer sent, fit for one line of a message: cut, and without bytes that are no text.
[[nodiscard]] std::string shown(std::string_view line, std::size_t most = 60);

}  // namespace portcullis::service::exchange
