// SPDX-License-Identifier: BSD-3-Clause
//
// The transport over a network, by libcurl. No proxy, no redirect, no signal.
#pragma once

#include <curl/curl.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "fleet/transport.hpp"

namespace portcullis::fleet {

/// What TLS needs; PEM. Without an authority those of the system are believed.
struct TlsFiles {
  std::filesystem::path authority = {};
  std::filesystem::path certificate = {};
  std::filesystem::path key = {};

  bool operator==(const TlsFiles&) const = default;
};

class Http final : public Transport {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Http>> create(TlsFiles tls);
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;
  ~Http() override;

  [[nodiscard]] Result<Response> post(const Request& request, std::uint64_t deadline_ms) override;
  void end_by(std::uint64_t until_ns) noexcept override;
  [[nodiscard]] bool has_sent() const noexcept override { return has_sent_; }
  [[nodiscard]] Result<void> open_stream(const Request& request) override;
  void close_stream() noexcept override;
  [[nodiscard]] Result<std::optional<std::string>> next_line() override;
  void wait(std::uint64_t most_ms, int wake_fd) override;

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
  bool has_sent_ = false;
  std::atomic<std::uint64_t> end_by_ns_{UINT64_MAX};
};

}  // namespace portcullis::fleet
