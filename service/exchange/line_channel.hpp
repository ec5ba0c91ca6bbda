// SPDX-License-Identifier: BSD-3-Clause
//
// What carries the two lines of an exchange: a TCP connection, or two files, for hosts that reach
// each other by other means. Nothing here waits: who has a device to serve polls in between, who
// has not uses wait_for_line. A line ends with a newline; one that does not, or never ends, or
// is not text at all is an error that says so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "program/output_file.hpp"

namespace portcullis::service::exchange {

class LineChannel {
 public:
  virtual ~LineChannel() = default;
  /// The peer's line once it is whole. Malformed for what is none, Timeout for a peer that began
  /// and does not end.
  [[nodiscard]] virtual Result<std::optional<std::string>> poll_line() = 0;
  /// A further line of the peer that sent the first, once it is whole. Of files nobody sends one.
  [[nodiscard]] virtual Result<std::optional<std::string>> poll_further() { return poll_line(); }
  /// `line` without a newline.
  [[nodiscard]] virtual Result<void> send_line(std::string_view line) = 0;
  /// Forgets the peer. A server's channel takes the next one; a client's has no other.
  virtual void drop() = 0;
  /// The peer that has sent its line is gone; throws away what it sends beyond. Always false for
  /// files.
  [[nodiscard]] virtual bool is_peer_gone() = 0;
  /// "192.0.2.2:40312", or a file's name: for messages.
  [[nodiscard]] virtual std::string peer() const = 0;
  /// Of a server's channel: who can ask for a lease by it, and what is not checked. One line.
  [[nodiscard]] virtual std::string who_may_ask() const { return {}; }
};

/// What a wait does between two looks, for at most the given time; false ends it.
using Idle = std::function<bool(std::uint64_t most_ns)>;
/// Sleeps, until `stop` is set: what a program without a device passes.
[[nodiscard]] Idle sleep_unless(const std::function<bool()>& stop);

/// Whether connect_tcp() could make something of it; nobody is asked.
[[nodiscard]] Result<void> check_server(const std::string& address);
/// Connects to HOST:PORT (brackets around an IPv6 address), again until `timeout_ms` is over when
/// nobody listens yet. `who` should, for the message.
[[nodiscard]] Result<std::unique_ptr<LineChannel>> connect_tcp(
    const std::string& address, std::uint64_t timeout_ms, const Idle& idle,
    std::string_view who = "lease-serve");
/// Listens on HOST:PORT, or with PORT alone on 127.0.0.1. Whose line is whole first is the peer,
/// and the others wait until it was dropped; one without a whole line for `silence_ms` is hung up
/// on, and delays nobody. A peer whose host is dead counts as gone within about ten seconds.
[[nodiscard]] Result<std::unique_ptr<LineChannel>> listen_tcp(const std::string& address,
                                                              std::uint64_t silence_ms = 5'000);
/// Reads `from`, once it is there, and writes `to`, as a whole or not at all, with the permissions
/// `mode`. Busy when `to` is there already: it could be the answer of the last time.
[[nodiscard]] Result<std::unique_ptr<LineChannel>> open_files(const std::filesystem::path& from,
                                                              const std::filesystem::path& to,
                                                              mode_t mode = program::kAnybody);

/// Polls until there is a line; Timeout after `timeout_ms`, Busy when `idle` ended the wait.
[[nodiscard]] Result<std::string> wait_for_line(LineChannel& channel, std::uint64_t timeout_ms,
                                                const Idle& idle);

}  // namespace portcullis::service::exchange
