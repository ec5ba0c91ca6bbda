// SPDX-License-Identifier: BSD-3-Clause
#include "service/exchange/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "service/exchange/exchange.hpp"
#include "service/exchange/words.hpp"

namespace portcullis::service::exchange {
namespace {

constexpr std::string_view kHello = "sweep-hello";
constexpr std::string_view kPeer = "sweep-peer";
constexpr std::string_view kPoint = "sweep-point";
constexpr std::string_view kReady = "sweep-ready";
constexpr std::string_view kClock = "sweep-clock";
constexpr std::string_view kGo = "sweep-go";
constexpr std::string_view kSeen = "sweep-seen";
constexpr std::string_view kEnd = "sweep-end";
constexpr std::string_view kFailed = "sweep-failed";

constexpr std::uint64_t kMostNumber = 1'000'000;
/// So that the difference of two times is a number with a sign.
constexpr std::uint64_t kMostNs = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMostStatus = std::numeric_limits<std::uint8_t>::max();
constexpr std::size_t kMostFirmware = 32;

/// Numbers with dots between them, as the drivers of rdma-core print fw_ver; anything else may name
/// a machine, and is not told.
std::string version_of(std::string_view text) {
  char before = '.';
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c != '.' || before == '.')) return {};
    before = c;
  }
  return text.size() > kMostFirmware || before == '.' ? std::string() : std::string(text);
}

Result<std::uint64_t> number_alone(std::string_view line, std::string_view kind) {
  PORTCULLIS_TRY_ASSIGN(auto words, Words::parse(line, kind));
  PORTCULLIS_TRY_ASSIGN(const auto number, words.number("number", 0, kMostNumber));
  PORTCULLIS_TRY(words.done());
  return number;
}

}  // namespace

std::string sweep_hello() { return fmt::format("{} version={}", kHello, kVersion); }
std::string sweep_point(std::uint64_t number) {
  return fmt::format("{} version={} number={}", kPoint, kVersion, number);
}
std::string sweep_clock(std::uint64_t number) {
  return fmt::format("{} version={} number={}", kClock, kVersion, number);
}
std::string sweep_end() { return fmt::format("{} version={}", kEnd, kVersion); }

std::string to_line(const SweepPeer& peer) {
  const std::string firmware = version_of(peer.firmware);
  return fmt::format("{} version={} vendor={:#x} part={} firmware={}", kPeer, kVersion, peer.vendor,
                     peer.part, firmware.empty() ? "unknown" : firmware);
}

std::string to_line(const SweepReady& ready) {
  return fmt::format("{} version={} number={} status={}", kReady, kVersion, ready.number,
                     ready.status);
}

std::string to_line(const SweepClock& clock) {
  return fmt::format("{} version={} number={} received={} sent={}", kClock, kVersion, clock.number,
                     clock.received_ns, clock.sent_ns);
}

std::string to_line(const SweepGo& go) {
  return fmt::format("{} version={} number={} limit-ms={}", kGo, kVersion, go.number, go.limit_ms);
}

std::string to_line(const SweepSeen& seen) {
  return fmt::format(
      "{} version={} number={} succeeded={} last-success={} last-success-post={} failed-post={} "
      "first-failure={} status={}",
      kSeen, kVersion, seen.number, seen.succeeded, seen.last_success_ns, seen.last_success_post_ns,
      seen.failed_post_ns, seen.first_failure_ns, seen.status);
}

std::string sweep_failure(std::string_view why) {
  std::string text = fmt::format("{} {}", kFailed, why);
  std::ranges::replace(text, '\n', ' ');
  return text.substr(0, kMaxLineBytes);
}

std::string_view kind_of(std::string_view line) noexcept { return line.substr(0, line.find(' ')); }

Result<void> check_not_failed(std::string_view line) {
  constexpr std::size_t kReason = 300;
  if (kind_of(line) != kFailed) return {};
  return fail(Errc::CommandFailed,
              "the peer gave up:" + shown(line.substr(kFailed.size()), kReason));
}

Result<SweepPeer> parse_sweep_peer(std::string_view line) {
  PORTCULLIS_TRY(check_not_failed(line));
  PORTCULLIS_TRY_ASSIGN(auto words, Words::parse(line, kPeer));
  SweepPeer peer;
  PORTCULLIS_TRY_ASSIGN(peer.vendor, words.narrow<std::uint32_t>("vendor", 0, 0xffffff));
  PORTCULLIS_TRY_ASSIGN(peer.part, words.narrow<std::uint32_t>("part", 0, 0xffffffff));
  PORTCULLIS_TRY_ASSIGN(const auto firmware, words.text("firmware"));
  peer.firmware = version_of(firmware);
  PORTCULLIS_TRY(words.done());
  return peer;
}

Result<SweepReady> parse_sweep_ready(std::string_view line) {
  PORTCULLIS_TRY(check_not_failed(line));
  PORTCULLIS_TRY_ASSIGN(auto words, Words::parse(line, kReady));
  SweepReady ready;
  PORTCULLIS_TRY_ASSIGN(ready.number, words.number("number", 0, kMostNumber));
  PORTCULLIS_TRY_ASSIGN(ready.status, words.narrow<std::uint8_t>("status", 0, kMostStatus));
  PORTCULLIS_TRY(words.done());
  return ready;
}

Result<SweepClock> parse_sweep_clock(std::string_view line) {
  PORTCULLIS_TRY(check_not_failed(line));
  PORTCULLIS_TRY_ASSIGN(auto words, Words::parse(line, kClock));
  SweepClock clock;
  PORTCULLIS_TRY_ASSIGN(clock.number, words.number("number", 0, kMostNumber));
  PORTCULLIS_TRY_ASSIGN(clock.received_ns, words.number("received", 0, kMostNs));
  PORTCULLIS_TRY_ASSIGN(clock.sent_ns, words.number("sent", clock.received_ns, kMostNs));
  PORTCULLIS_TRY(words.done());
  return clock;
}

Result<SweepSeen> parse_sweep_seen(std::string_view line) {
  PORTCULLIS_TRY(check_not_failed(line));
  PORTCULLIS_TRY_ASSIGN(auto words, Words::parse(line, kSeen));
  SweepSeen seen;
  PORTCULLIS_TRY_ASSIGN(seen.number, words.number("number", 0, kMostNumber));
  PORTCULLIS_TRY_ASSIGN(seen.succeeded, words.number("succeeded", 0, kMostNs));
  // A count without a last one, or the other way round, says nothing.
  const bool has_succeeded = seen.succeeded != 0;
  PORTCULLIS_TRY_ASSIGN(seen.last_success_ns, words.number("last-success", has_succeeded ? 1 : 0,
                                                           has_succeeded ? kMostNs : 0));
  PORTCULLIS_TRY_ASSIGN(seen.last_success_post_ns,
                        words.number("last-success-post", 0, seen.last_success_ns));
  PORTCULLIS_TRY_ASSIGN(seen.failed_post_ns, words.number("failed-post", 0, kMostNs));
  PORTCULLIS_TRY_ASSIGN(seen.first_failure_ns, words.number("first-failure", 0, kMostNs));
  // A status without a failure, or the other way round, says nothing.
  const bool has_failed = seen.first_failure_ns != 0;
  PORTCULLIS_TRY_ASSIGN(seen.status, words.narrow<std::uint8_t>("status", has_failed ? 1 : 0,
                                                                has_failed ? kMostStatus : 0));
  PORTCULLIS_TRY(words.done());
  if (seen.failed_post_ns <= seen.first_failure_ns) return seen;
  return fail(Errc::Malformed, fmt::format("{}: first-failure={} is before failed-post={}", kSeen,
                                           seen.first_failure_ns, seen.failed_post_ns));
}

Result<void> parse_sweep_hello(std::string_view line) {
  PORTCULLIS_TRY_ASSIGN(auto words, Words::parse(line, kHello));
  return words.done();
}

Result<std::uint64_t> parse_sweep_point(std::string_view line) {
  return number_alone(line, kPoint);
}

Result<std::uint64_t> parse_clock_question(std::string_view line) {
  return number_alone(line, kClock);
}

Result<SweepGo> parse_sweep_go(std::string_view line) {
  PORTCULLIS_TRY_ASSIGN(auto words, Words::parse(line, kGo));
  SweepGo go;
  PORTCULLIS_TRY_ASSIGN(go.number, words.number("number", 0, kMostNumber));
  PORTCULLIS_TRY_ASSIGN(go.limit_ms, words.number("limit-ms", 1, kMostSweepMs));
  PORTCULLIS_TRY(words.done());
  return go;
}

}  // namespace portcullis::service::exchange
