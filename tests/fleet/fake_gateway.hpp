// SPDX-License-Identifier: BSD-3-Clause
//
// An etcd's HTTP/JSON gateway that says what a test wants it to: one request a connection, answered
// by the test's own function. It knows HTTP as far as a POST of libcurl's needs it, and no etcd.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"

namespace portcullis::fleet {

class FakeGateway {
 public:
  struct Asked {
    std::string path = {};
    std::string body = {};
    std::string token = {};  // of the header Authorization
  };
  struct Answer {
    int status = 200;
    std::string body = {};
    bool is_silent = false;  // none comes, and the connection stays
  };
  using Handler = std::function<Answer(const Asked&)>;

  /// `handler` is called in a thread of the gateway's own, one request at a time.
  explicit FakeGateway(Handler handler);
  FakeGateway(const FakeGateway&) = delete;
  FakeGateway& operator=(const FakeGateway&) = delete;
  ~FakeGateway();

  [[nodiscard]] std::string url() const;
  /// What it was asked so far.
  [[nodiscard]] std::vector<Asked> asked() const;

 private:
  void run();
  void serve(UniqueFd connection);

  Handler handler_;
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  mutable std::mutex lock_;
  std::vector<Asked> asked_;
  std::vector<UniqueFd> silent_;
  std::thread thread_;
};

}  // namespace portcullis::fleet
