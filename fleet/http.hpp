// SPDX-License-Identifier: BSD-3-Clause
//
// POST with a deadline, and one answer that goes on for as long as the server likes (a watch): by
// libcurl, in the caller's thread, which waits in here alone and is woken by a descriptor of its
// own. No proxy, no redirect, no signal.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace portcullis::fleet {

/// What TLS needs; PEM. Without an authority those of the system are believed.
struct TlsFiles {
  std::filesystem::path authority = {};
  std::filesystem::path certificate = {};
  std::filesystem::path key = {};

  bool operator==(const TlsFiles&) const = default;
};

class Http {
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

  [[nodiscard]] static Result<std::unique_ptr<Http>> create(TlsFiles tls);
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;
  ~Http();

  /// Timeout when the whole answer is not here by then; System for what keeps it from being asked.
  [[nodiscard]] Result<Response> post(const Request& request, std::uint64_t deadline_ms);
  /// In the place of the stream that there was.
  [[nodiscard]] Result<void> open_stream(const Request& request);
  void close_stream() noexcept;
  /// The oldest line that has come and was not taken, without its end. NotFound where no stream is
  /// open; System once it has ended, and then it is closed.
  [[nodiscard]] Result<std::optional<std::string>> next_line();
  /// Until something comes, or `wake_fd` is readable (-1: none), for at most so long.
  void wait(std::uint64_t most_ms, int wake_fd = -1);

 private:
  struct Transfer;
  struct CloseMulti {
    void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
  };

  explicit Http(TlsFiles tls);
  [[nodiscard]] Result<std::unique_ptr<Transfer>> start(const Request& request,
                                                        std::uint64_t deadline_ms);
  void drop(std::unique_ptr<Transfer>& transfer) noexcept;
  /// What can be done without waiting.
  void run();

  TlsFiles tls_;
  std::unique_ptr<CURLM, CloseMulti> multi_;
  std::unique_ptr<Transfer> stream_;
};

}  // namespace portcullis::fleet
