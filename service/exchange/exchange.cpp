// SPDX-License-Identifier: BSD-3-Clause
#include "service/exchange/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <vector>

namespace portcullis::service::exchange {
namespace {

constexpr std::string_view kRequest = "lease-request";
constexpr std::string_view kGrant = "lease-grant";
constexpr std::string_view kRefused = "lease-refused";
constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t k24Bits = 0xffffff;
constexpr std::uint64_t kLeastQpn = 2;  // 0 and 1 are the special QPs of a port

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end != 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

tl::unexpected<Error> malformed(std::string text) { return fail(Errc::Malformed, std::move(text)); }

/// The words of a line by key; every one must have been asked for by done().
class Words {
 public:
  static Result<Words> parse(std::string_view line, std::string_view kind) {
    if (line.size() > kMaxLineBytes)
      return malformed(
          fmt::format("a line of {} bytes; at most {} are accepted", line.size(), kMaxLineBytes));
    const auto parts = split(line, ' ');
    if (parts.empty() || parts.front() != kind)
      return malformed(
          fmt::format("\"{}\"; a line that begins with {} is accepted", shown(line), kind));
    Words words(kind);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::size_t equals = parts[i].find('=');
      if (equals == std::string_view::npos || equals == 0)
        return malformed(
            fmt::format("{}: word \"{}\"; key=value is accepted", kind, shown(parts[i])));
      const auto key = parts[i].substr(0, equals);
      if (!words.values_.emplace(key, parts[i].substr(equals + 1)).second)
        return malformed(fmt::format("{}: {} stands there twice", kind, shown(key)));
    }
    PORTCULLIS_TRY(words.number("version", kVersion, kVersion));
    return words;
  }

  Result<std::string_view> text(std::string_view key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return malformed(fmt::format("{}: {} is missing", kind_, key));
    const std::string_view value = found->second;
    values_.erase(found);
    return value;
  }

  Result<std::uint64_t> number(std::string_view key, std::uint64_t least, std::uint64_t most) {
    PORTCULLIS_TRY_ASSIGN(const std::string_view value, text(key));
    const bool is_hex = value.starts_with("0x");
    const std::string_view digits = value.substr(is_hex ? 2 : 0);
    std::uint64_t parsed = 0;
    const char* const end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, parsed, is_hex ? 16 : 10);
    if (error != std::errc() || at != end || parsed < least || parsed > most)
      return malformed(
          least == most ? fmt::format("{}: {}={}; {} is accepted", kind_, key, shown(value), least)
                        : fmt::format("{}: {}={}; {:#x} to {:#x} is accepted", kind_, key,
                                      shown(value), least, most));
    return parsed;
  }

  template <class T>
  Result<T> narrow(std::string_view key, std::uint64_t least, std::uint64_t most) {
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t value, number(key, least, most));
    return static_cast<T>(value);
  }

  Result<std::uint32_t> mtu() {
    constexpr std::uint32_t kLeast = 256;
    constexpr std::uint32_t kMost = 4096;
    PORTCULLIS_TRY_ASSIGN(const auto bytes, narrow<std::uint32_t>("mtu", kLeast, kMost));
    if ((bytes & (bytes - 1)) == 0) return bytes;
    return malformed(
        fmt::format("{}: mtu={}; 256, 512, 1024, 2048 and 4096 are accepted", kind_, bytes));
  }

  Result<Endpoint> endpoint() {
    Endpoint end;
    PORTCULLIS_TRY_ASSIGN(end.qpn, narrow<std::uint32_t>("qpn", kLeastQpn, k24Bits));
    PORTCULLIS_TRY_ASSIGN(end.psn, narrow<std::uint32_t>("psn", 0, k24Bits));
    PORTCULLIS_TRY_ASSIGN(const std::string_view gid, text("gid"));
    PORTCULLIS_TRY_ASSIGN(end.gid, unicast_gid(gid));
    PORTCULLIS_TRY_ASSIGN(const std::string_view mac, text("mac"));
    PORTCULLIS_TRY_ASSIGN(end.mac, unicast_mac(mac));
    return end;
  }

  /// Nothing is left that nobody asked for.
  Result<void> done() const {
    if (values_.empty()) return {};
    return malformed(fmt::format("{}: no word {} is known", kind_, shown(values_.begin()->first)));
  }

 private:
  explicit Words(std::string_view kind) : kind_(kind) {}

  Result<pmd::Gid> unicast_gid(std::string_view text) const {
    auto gid = pmd::Gid::parse(text.size() < 64 ? text : text.substr(0, 64));
    if (gid && gid->is_unicast()) return *gid;
    return malformed(
        fmt::format("{}: gid={}; a unicast IPv4 or IPv6 address is accepted", kind_, shown(text)));
  }

  Result<pmd::Mac> unicast_mac(std::string_view text) const {
    const auto mac = pmd::Mac::parse(text);
    if (mac && mac->is_unicast()) return *mac;
    return malformed(
        fmt::format("{}: mac={}; a unicast address such as 02:50:43:00:00:01 is "
                    "accepted",
                    kind_, shown(text)));
  }

  std::string_view kind_;
  std::map<std::string_view, std::string_view> values_;
};

std::string endpoint_text(const Endpoint& end) {
  return fmt::format("version={} qpn={:#x} psn={:#x} gid={} mac={}", kVersion, end.qpn, end.psn,
                     end.gid.text(), end.mac.text());
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
  PORTCULLIS_TRY_ASSIGN(request.client, words.endpoint());
  PORTCULLIS_TRY_ASSIGN(request.mtu, words.mtu());
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
  PORTCULLIS_TRY_ASSIGN(grant.server, words.endpoint());
  PORTCULLIS_TRY_ASSIGN(grant.mtu, words.mtu());
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
