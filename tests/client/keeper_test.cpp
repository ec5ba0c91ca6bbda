// SPDX-License-Identifier: BSD-3-Clause
//
// A whole leased in this process, its threads and the model's, with clients in threads of their
// own, over the socket and over QUIC: what ThreadSanitizer is for. client_test.py asks the same of
// the program.
#include "client/keeper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "service/daemon/daemon.hpp"
#include "tests/quic/authority_folder.hpp"

namespace portcullis::client {
namespace {

using service::daemon::Config;
using service::daemon::Daemon;

wire::AllocRequest wanted(std::uint64_t ttl_ms = 0) {
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
  void configure_quic() {
    config_.quic = {.address = UdpAddress::parse("127.0.0.1:0", "listen").value(),
                    .files = authority_.server(),
                    .timeouts = {}};
    files_ = authority_.client("operator", {"URI:portcullis:7:operator"});
  }
  /// Where the server is, by the way that is tried.
  ServerAddress server() const {
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
      is_good_ = daemon_
                     ->run({.stop = [this] { return stop_.load(); },
                            .reload = [] { return std::optional<Config>(); },
                            .log = {}})
                     .value_or(false);
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

TEST_P(KeeperTest, LeaseTakenBackByAnother_GateIsClosedAndTheEndTold) {
  const auto kept = keeper();
  const KeptLease lease = had(kept->alloc(wanted()));
  EXPECT_TRUE(lease.gate->is_open());
  auto other = connection();
  EXPECT_EQ(other.revoke({.id = lease.grant.id, .epoch = lease.grant.epoch}).value().outcome,
            wire::Outcome::TornDown);
  const KeptEnd end = ends_.wait_for(0);
  EXPECT_EQ(end.body.id, lease.grant.id);
  EXPECT_TRUE(end.is_known);
  EXPECT_FALSE(lease.gate->is_open());
}

TEST_P(KeeperTest, LeaseGivenBack_GateIsClosedAndNoEndTold) {
  const auto kept = keeper();
  const KeptLease lease = had(kept->alloc(wanted()));
  EXPECT_EQ(kept->release(lease.grant.id, lease.grant.epoch).value().outcome,
            wire::Outcome::TornDown);
  EXPECT_FALSE(lease.gate->is_open());
  EXPECT_EQ(kept->release(lease.grant.id, lease.grant.epoch + 1).value().outcome,
            wire::Outcome::NotFound);
}

TEST_P(KeeperTest, ServerThatEnds_TellsEveryLeaseAndEndsWell) {
  const auto kept = keeper();
  std::vector<KeptLease> leases;
  for (int i = 0; i < 20; ++i) leases.push_back(had(kept->alloc(wanted())));
  stop();
  EXPECT_TRUE(is_good_);
  EXPECT_EQ(ends_.wait_for(19).body.cause, wire::Cause::Server);
  for (const KeptLease& lease : leases) EXPECT_FALSE(lease.gate->is_open());
}

TEST_P(KeeperTest, ServerThatIsAnother_TellsHowLeasesOfTheFirstEnded) {
  const auto kept = keeper();
  const KeptLease lease = had(kept->alloc(wanted()));
  const std::uint64_t first = kept->server().incarnation;
  stop();
  start();
  EXPECT_TRUE(ends_.wait_for(0).is_known);
  while (kept->server().incarnation == first) std::this_thread::yield();
  EXPECT_TRUE(had(kept->alloc(wanted())).gate->is_open());
}

TEST_P(KeeperTest, ManyLeasesThatEndWhileTheyAreRenewed_EachEndIsToldOnce) {
  const auto kept = keeper();
  constexpr std::size_t kLeases = 60;
  constexpr std::size_t kRounds = 3;
  constexpr std::uint64_t kTtlMs = 3'000;  // more than a busy machine lets a thread wait
  auto other = connection();
  for (std::size_t round = 1; round <= kRounds; ++round) {
    std::vector<KeptLease> leases;  // renewed many times a second
    for (std::size_t i = 0; i < kLeases; ++i) leases.push_back(had(kept->alloc(wanted(kTtlMs))));
    ASSERT_TRUE(other.revoke_tenant(7));
    (void)ends_.wait_for(round * kLeases - 1);
    for (const KeptLease& lease : leases) EXPECT_FALSE(lease.gate->is_open());
  }
  EXPECT_EQ(ends_.count(), kRounds * kLeases);
}

TEST_P(KeeperTest, ManyThreadsOnOneKeeper_EachHasItsOwnLeases) {
  const auto kept = keeper();
  std::vector<std::thread> threads;
  std::atomic<int> torn_down{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 10; ++j) {
        const KeptLease lease = had(kept->alloc(wanted()));
        const auto answer = kept->release(lease.grant.id, lease.grant.epoch);
        torn_down += answer.value().outcome == wire::Outcome::TornDown ? 1 : 0;
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(torn_down, 80);
}

INSTANTIATE_TEST_SUITE_P(Over, KeeperTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Quic" : "Socket");
});

}  // namespace
}  // namespace portcullis::client
