// SPDX-License-Identifier: BSD-3-Clause
//
// How first-light has a client on another host go through revokes, one after the other, and tell
// what it saw: lines of a TCP connection, which first-light opens. Times are of the clock of
// whoever says them, in ns; rounds of sweep-clock before and behind each revoke say how the two
// stand.
//
//   first-light                                lease-verify --sweep
//   sweep-hello version=1                      sweep-peer version=1 vendor=0x2c9 part=4119
//                                                firmware=16.35.4506                      (one
//                                                line)
//   of each lease:
//   sweep-point version=1 number=3             lease-request ..
//   lease-grant .., or lease-refused WHY       sweep-ready version=1 number=3 status=0
//   sweep-clock version=1 number=7, often      sweep-clock version=1 number=7 received=81 sent=82
//   sweep-go version=1 number=3 limit-ms=4000  sweep-seen version=1 number=3 succeeded=900 ..
//   sweep-clock version=1 number=8, often      sweep-clock version=1 number=8 received=95 sent=96
//   and at the end:
//   sweep-end version=1                        (hangs up)
//
// sweep-failed WHY stands for any of the second column, and is its last line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "service/exchange/line_channel.hpp"

namespace portcullis::service::exchange {

/// Where lease-verify --sweep listens, and first-light asks where nobody says otherwise.
inline constexpr std::string_view kSweepPort = "7471";

/// The longest that a client is asked to go on for.
inline constexpr std::uint64_t kMostSweepMs = 600'000;

/// What kind of NIC the client uses, as far as that names no machine; zeros and "": unknown.
struct SweepPeer {
  std::uint32_t vendor = 0;  // of PCI
  std::uint32_t part = 0;
  std::string firmware = {};
  bool operator==(const SweepPeer&) const = default;
};

/// The client's first WRITE; ibv_wc_status, 0: it arrived.
struct SweepReady {
  std::uint64_t number = 0;
  std::uint8_t status = 0;
};

/// One look at the peer's clock.
struct SweepClock {
  std::uint64_t number = 0;
  std::uint64_t received_ns = 0;  // the question
  std::uint64_t sent_ns = 0;      // the answer
};

struct SweepGo {
  std::uint64_t number = 0;
  std::uint64_t limit_ms = 0;  // a client that has not failed by then says so
};

/// What the client saw of one revoke, as RevokeObservation of lease-verify has it.
struct SweepSeen {
  std::uint64_t number = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t last_success_ns = 0;       // 0: none
  std::uint64_t last_success_post_ns = 0;  // just before the newest that succeeded was posted
  std::uint64_t failed_post_ns = 0;        // just before that which failed first was posted
  std::uint64_t first_failure_ns = 0;      // 0: none within the limit
  std::uint8_t status = 0;                 // of it
};

[[nodiscard]] std::string sweep_hello();
[[nodiscard]] std::string sweep_point(std::uint64_t number);
[[nodiscard]] std::string sweep_clock(std::uint64_t number);
[[nodiscard]] std::string sweep_end();
[[nodiscard]] std::string to_line(const SweepPeer& peer);
[[nodiscard]] std::string to_line(const SweepReady& ready);
[[nodiscard]] std::string to_line(const SweepClock& clock);
[[nodiscard]] std::string to_line(const SweepGo& go);
[[nodiscard]] std::string to_line(const SweepSeen& seen);
/// `why` on one line, cut to what a line may hold.
[[nodiscard]] std::string sweep_failure(std::string_view why);

/// The kind of a line: its first word.
[[nodiscard]] std::string_view kind_of(std::string_view line) noexcept;

/// Of the second column: Malformed with one line that names the word and what is accepted, and
/// CommandFailed with the peer's own words where the line is sweep-failed.
[[nodiscard]] Result<SweepPeer> parse_sweep_peer(std::string_view line);
[[nodiscard]] Result<SweepReady> parse_sweep_ready(std::string_view line);
[[nodiscard]] Result<SweepClock> parse_sweep_clock(std::string_view line);
[[nodiscard]] Result<SweepSeen> parse_sweep_seen(std::string_view line);
/// The client's own words; ok for any other line.
[[nodiscard]] Result<void> check_not_failed(std::string_view line);

/// Of the first column; Malformed.
[[nodiscard]] Result<void> parse_sweep_hello(std::string_view line);
[[nodiscard]] Result<std::uint64_t> parse_sweep_point(std::string_view line);
[[nodiscard]] Result<std::uint64_t> parse_clock_question(std::string_view line);
[[nodiscard]] Result<SweepGo> parse_sweep_go(std::string_view line);

}  // namespace portcullis::service::exchange
