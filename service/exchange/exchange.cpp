// SPDX-License-Identifier: BSD-3-Clause
#include "service/exchange/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "service/exchange/words.hpp"

namespace portcullis::service::exchange {
namespace {

constexpr std::string_view kRequest = "lease-request";
constexpr std::string_view kGrant = "lease-grant";
constexpr std::string_view kRefused = "lease-refused";

std::string endpoint_text(const Endpoint& end) {
  return fmt::format("version={} qpn={:#x} psn={:#x} gid={} mac={}", kVersion, end.qpn, end.psn,
                     end.gid.text(), end.mac.text());
}

tl::unexpected<Error> malformed(std::string text) { return fail(Errc::Malformed, std::move(text)); }

Result<std::uint32_t> mtu(Words& words) {
  constexpr std::uint32_t kLeast = 256;
  constexpr std::uint32_t kMost = 4096;
  PORTCULLIS_TRY_ASSIGN(const auto bytes, words.narrow<std::uint32_t>("mtu", kLeast, kMost));
  if ((bytes & (bytes - 1)) == 0) return bytes;
  return malformed(
      fmt::format("{}: mtu={}; 256, 512, 1024, 2048 and 4096 are accepted", words.kind(), bytes));
}

Result<pmd::Gid> unicast_gid(Words& words) {
  PORTCULLIS_TRY_ASSIGN(const std::string_view text, words.text("gid"));
  auto gid = pmd::Gid::parse(text.size() < 64 ? text : text.substr(0, 64));
  if (gid && gid->is_unicast()) return *gid;
  return malformed(fmt::format("{}: gid={}; a unicast IPv4 or IPv6 address is accepted",
                               words.kind(), shown(text)));
}

Result<pmd::Mac> unicast_mac(Words& words) {
  PORTCULLIS_TRY_ASSIGN(const std::string_view text, words.text("mac"));
  const auto mac = pmd::Mac::parse(text);
  if (mac && mac->is_unicast()) return *mac;
  return malformed(
      fmt::format("{}: mac={}; a unicast address such as 02:50:43:00:00:01 is accepted",
                  words.kind(), shown(text)));
}

Result<Endpoint> endpoint(Words& words) {
  constexpr std::uint64_t k24Bits = 0xffffff;
  constexpr std::uint64_t kLeastQpn = 2;  // 0 and 1 are the special QPs of a port
  Endpoint end;
  PORTCULLIS_TRY_ASSIGN(end.qpn, words.narrow<std::uint32_t>("qpn", kLeastQpn, k24Bits));
  PORTCULLIS_TRY_ASSIGN(end.psn, words.narrow<std::uint32_t>("psn", 0, k24Bits));
  PORTCULLIS_TRY_ASSIGN(end.gid, unicast_gid(words));
  PORTCULLIS_TRY_ASSIGN(end.mac, unicast_mac(words));
  return end;
}

}  // namespace

std::string shown(std::string_view line, std::size_t most) {
  std::string text(line.substr(0, most));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (line.size() > most) text += "..";
  return text;
}

std::string access_text(const pmd::Access& access) {
  std::string text;
  const auto add = [&](bool granted, std::string_view name) {
    if (granted) text += (text.empty() ? "" : "+") + std::string(name);
  };
  add(access.remote_write, "write");
  add(access.remote_read, "read");
  add(access.remote_atomic, "atomic");
  return text.empty() ? "none" : text;
}

Result<pmd::Access> parse_access(std::string_view text) {
  pmd::Access access;
  for (const std::string_view word : split(text, '+')) {
    bool* const right = word == "write"    ? &access.remote_write
                        : word == "read"   ? &access.remote_read
                        : word == "atomic" ? &access.remote_atomic
                                           : nullptr;
    if (right == nullptr || *right)
      return malformed("access \"" + shown(text) +
                       "\"; write, read and atomic are accepted, joined by +");
    *right = true;
  }
  if (!access.remote_write && !access.remote_read && !access.remote_atomic)
    return malformed("access \"" + shown(text) + "\"; at least one of write, read, atomic");
  return access;
}

std::string to_line(const Request& request) {
  return fmt::format("{} {} mtu={}", kRequest, endpoint_text(request.client), request.mtu);
}

std::string to_line(const Grant& grant) {
  return fmt::format(
      "{} {} mtu={} rkey={:#x} address={:#x} length={} timeout={} retry={} access={}", kGrant,
      endpoint_text(grant.server), grant.mtu, grant.rkey, grant.address, grant.length,
      grant.timeout, grant.retry, access_text(grant.access));
}

std::string refusal(std::string_view why) {
  std::string text = fmt::format("{} {}", kRefused, why);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.substr(0, kMaxLineBytes);
}

Result<Request> parse_request(std::string_view line) {
  PORTCULLIS_TRY_ASSIGN(auto words, Words::parse(line, kRequest));
  Request request;
  PORTCULLIS_TRY_ASSIGN(request.client, endpoint(words));
  PORTCULLIS_TRY_ASSIGN(request.mtu, mtu(words));
  PORTCULLIS_TRY(words.done());
  return request;
}

Result<Grant> parse_grant(std::string_view line) {
  constexpr std::size_t kReason = 200;
  if (line.starts_with(kRefused))
    return fail(Errc::CommandFailed,
                fmt::format("the server refused:{}", shown(line.substr(kRefused.size()), kReason)));
  PORTCULLIS_TRY_ASSIGN(auto words, Words::parse(line, kGrant));
  constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
  Grant grant;
  PORTCULLIS_TRY_ASSIGN(grant.server, endpoint(words));
  PORTCULLIS_TRY_ASSIGN(grant.mtu, mtu(words));
  PORTCULLIS_TRY_ASSIGN(grant.rkey, words.narrow<std::uint32_t>("rkey", 0, kMax32));
  PORTCULLIS_TRY_ASSIGN(grant.address, words.number("address", 0, kMax64));
  // At least a word to write and to count on, and no region that runs past the last address.
  PORTCULLIS_TRY_ASSIGN(grant.length,
                        words.number("length", sizeof(std::uint64_t), std::uint64_t{1} << 40));
  if (grant.length - 1 > kMax64 - grant.address)
    return malformed(fmt::format("{}: address={:#x} length={} ends above 2^64", kGrant,
                                 grant.address, grant.length));
  const std::uint64_t before_word = -grant.address % sizeof(std::uint64_t);
  if (grant.length - before_word < sizeof(std::uint64_t))
    return malformed(fmt::format("{}: address={:#x} length={} holds no aligned word of 8 bytes",
                                 kGrant, grant.address, grant.length));
  PORTCULLIS_TRY_ASSIGN(grant.timeout, words.narrow<std::uint8_t>("timeout", 1, 31));
  PORTCULLIS_TRY_ASSIGN(grant.retry, words.narrow<std::uint8_t>("retry", 0, 7));
  PORTCULLIS_TRY_ASSIGN(const std::string_view access, words.text("access"));
  PORTCULLIS_TRY_ASSIGN(grant.access, parse_access(access));
  PORTCULLIS_TRY(words.done());
  return grant;
}

}  // namespace portcullis::service::exchange
