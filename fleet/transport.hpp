// SPDX-License-Identifier: BSD-3-Clause
//
// How an etcd is reached: POST with a deadline, and one answer that goes on for as long as the
// server likes (a watch), in the caller's thread, which waits in here alone. Http is the one for a
// network; a test may have an etcd of its own behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace portcullis::fleet {

class Transport {
 public:
  struct Request {
    std::string url = {};
    std::string token = {};  // of the header Authorization; empty: none
    std::string body = {};
  };
  struct Response {
    long status = 0;
    std::string body = {};
  };

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// Timeout when the whole answer is not here by then; System for what keeps it from being asked.
  [[nodiscard]] virtual Result<Response> post(const Request& request,
                                              std::uint64_t deadline_ms) = 0;
  /// No post() goes on beyond that time of Clock::wall(), nor begins. Any thread may say so.
  virtual void end_by(std::uint64_t /*until_ns*/) noexcept {}
  /// Whether any of the last post() may have left, so that it may have been done.
  [[nodiscard]] virtual bool has_sent() const noexcept { return true; }
  /// In the place of the stream that there was.
  [[nodiscard]] virtual Result<void> open_stream(const Request& request) = 0;
  virtual void close_stream() noexcept = 0;
  /// The oldest line that has come and was not taken, without its end. NotFound where no stream is
  /// open; System once it has ended, and then it is closed.
  [[nodiscard]] virtual Result<std::optional<std::string>> next_line() = 0;
  /// Until something comes, or `wake_fd` is readable (-1: none), for at most so long.
  virtual void wait(std::uint64_t most_ms, int wake_fd) = 0;
};

}  // namespace portcullis::fleet
