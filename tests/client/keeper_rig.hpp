// SPDX-License-Identifier: BSD-3-Clause
//
// A whole leased in this process, its threads and the model's, and keepers of its leases: over the
// socket, or over QUIC where the test's parameter says so.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/keeper.hpp"
#include "service/daemon/daemon.hpp"
#include "tests/quic/authority_folder.hpp"

namespace portcullis::client {

using service::daemon::Config;
using service::daemon::Daemon;

inline wire::AllocRequest wanted(std::uint64_t ttl_ms = 0) {
  wire::AllocRequest request{.bytes = 4096, .ttl_ms = ttl_ms, .qpn = 0x11};
  request.gid = {0xfe, 0x80};
  request.gid[15] = 0x99;
  request.mac = {2, 0, 0, 0, 0, 9};
  return request;
}

/// Granted, or the test says why not and ends.
template <class T>
T had(Result<T> result) {
  if (!result) ADD_FAILURE() << result.error().text;
  return std::move(result).value();
}

/// Asked again where the server says so: a disk that others keep busy may take a lease's whole time
/// to record it.
inline KeptLease granted(Keeper& keeper, const wire::AllocRequest& request) {
  constexpr std::chrono::minutes kMost{2};
  const auto until = std::chrono::steady_clock::now() + kMost;
  auto lease = keeper.alloc(request);
  while (!lease && lease.error().code == Errc::Busy && std::chrono::steady_clock::now() < until)
    lease = keeper.alloc(request);
  return had(std::move(lease));
}

/// Ends that were told, from whatever thread.
class Ends {
 public:
  void note(const KeptEnd& end) {
    const std::lock_guard<std::mutex> one(lock_);
    ends_.push_back(end);
    changed_.notify_all();
  }
  KeptEnd wait_for(std::size_t nth) {
    std::unique_lock<std::mutex> one(lock_);
    changed_.wait(one, [&] { return ends_.size() > nth; });
    return ends_[nth];
  }
  std::size_t count() {
    const std::lock_guard<std::mutex> one(lock_);
    return ends_.size();
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<KeptEnd> ends_;
};

class KeeperTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "portcullis-keeper-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    config_.socket = folder_ / "leased.sock";
    config_.journal = folder_ / "journal";
    config_.users.by_uid[::geteuid()] = {.tenant = 7, .role = wire::Role::Operator};
    if (GetParam()) configure_quic();
    start();
  }
  virtual void configure_quic() {
    config_.quic = {.address = UdpAddress::parse("127.0.0.1:0", "listen").value(),
                    .files = authority_.server(),
                    .timeouts = {}};
    files_ = authority_.client("operator", {"URI:portcullis:7:operator"});
  }
  /// Where the server is, by the way that is tried.
  [[nodiscard]] virtual ServerAddress server() const {
    if (!GetParam()) return {.socket = config_.socket};
    return {.quic = QuicServer{.address = config_.quic->address.text(), .files = files_}};
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(folder_);
  }

  void start() {
    stop_ = false;
    auto daemon = Daemon::start(config_, {});
    ASSERT_TRUE(daemon) << daemon.error().text;
    daemon_ = *std::move(daemon);
    if (GetParam()) config_.quic->address = daemon_->quic_address().value();  // again next time
    thread_ = std::thread([this] {
      is_good_ = daemon_->run({.stop = [this] { return stop_.load(); },
                               .reload = [] { return std::optional<Config>(); },
                               .log = {}});
    });
  }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    daemon_.reset();
  }
  std::unique_ptr<Keeper> keeper() {
    return had(Keeper::open({.server = server(),
                             .name = "keeper",
                             .deadline_ms = 60'000,
                             .on_ended = [this](const KeptEnd& end) { ends_.note(end); }}));
  }
  Connection connection() {
    return Connection::open(server(), {.name = "operator", .deadline_ms = 60'000}).value();
  }

  quic::AuthorityFolder authority_;
  quic::CredentialFiles files_;
  std::filesystem::path folder_;
  Config config_;
  Ends ends_;
  std::unique_ptr<Daemon> daemon_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> is_good_{false};
  std::thread thread_;
};

}  // namespace portcullis::client
