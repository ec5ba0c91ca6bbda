// SPDX-License-Identifier: BSD-3-Clause
//
// As much of etcd's store as the fleet's transactions need: revisions, compares, puts and ranges,
// leases that a test ends, behind a FakeGateway, and a way to come between two requests. That the
// real one does the same is for the tests with etcd.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fleet/etcd.hpp"
#include "tests/fleet/fake_gateway.hpp"

namespace portcullis::fleet {

class FakeStore {
 public:
  struct Entry {
    std::string value = {};
    std::uint64_t create_revision = 0;
    std::uint64_t mod_revision = 0;
    std::string lease = {};  // its number, as the gateway writes it; empty: none
  };
  /// What becomes of a transaction that writes.
  enum class Fate : std::uint8_t {
    Answered,
    Unanswered,  // it has happened, and who asked is told of an etcd that does not answer
    HeldBack,    // the same, and it has not happened: release() lets it
    Refused,     // etcd is full
  };

  FakeStore();
  FakeStore(const FakeStore&) = delete;
  FakeStore& operator=(const FakeStore&) = delete;
  ~FakeStore() = default;

  /// With other endpoints behind its own.
  [[nodiscard]] std::unique_ptr<Etcd> client(const std::vector<std::string>& others = {}) const;
  /// Its revision.
  std::uint64_t put(const std::string& key, const std::string& value);
  void erase(const std::string& key);
  [[nodiscard]] std::optional<Entry> get(const std::string& key) const;
  /// As from a backup that has all its keys and nothing that was written to others since.
  void go_back_to(std::uint64_t revision);
  /// As `etcdctl snapshot` makes one and puts it back: keys, leases and revision.
  struct Backup {
    std::map<std::string, Entry> entries = {};
    std::uint64_t revision = 0;
    std::set<std::string> leases = {};
  };
  [[nodiscard]] Backup backup() const;
  void restore(const Backup& backup);
  /// Every lease is over, and the keys under it are gone.
  void end_leases();
  /// Of the next transaction that writes; then they are answered again.
  void next_write(Fate fate);
  /// What was held back happens now, if its compares still hold.
  void release();
  /// Called once, when the next transaction that writes has come and has not happened.
  void before_next_write(std::function<void()> act);
  [[nodiscard]] std::uint64_t writes() const;
  /// As etcd that is started with --max-txn-ops.
  void limit_operations(std::size_t most);

 private:
  [[nodiscard]] FakeGateway::Answer answer(const FakeGateway::Asked& asked);
  [[nodiscard]] FakeGateway::Answer answer_lease(const FakeGateway::Asked& asked);
  [[nodiscard]] std::string done(const std::string& txn);
  [[nodiscard]] bool has_too_many(const std::string& txn) const;

  mutable std::recursive_mutex lock_;
  std::map<std::string, Entry> entries_;
  std::uint64_t revision_ = 1;
  std::uint64_t writes_ = 0;
  std::uint64_t last_lease_ = 100;
  std::set<std::string> leases_;
  Fate fate_ = Fate::Answered;
  std::size_t most_operations_ = 128;
  std::vector<std::string> held_back_;
  std::function<void()> act_;
  std::unique_ptr<FakeGateway> gateway_;
};

}  // namespace portcullis::fleet
