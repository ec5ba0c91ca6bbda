// SPDX-License-Identifier: BSD-3-Clause
//
// What etcd keeps, as the fleet's requests need it: every revision of every key, leases, and what
// has changed since a revision. Requests and answers are those of the JSON gateway. Nothing here
// fails or waits: that is the cluster's (cluster.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace portcullis::fleet::simulation {

/// A request as the gateway takes it, and its answer.
struct Reply {
  long status = 200;
  std::string body = {};
};

/// All keys from `key` up to `end`; empty: that key alone.
struct KeyRange {
  std::string key = {};
  std::string end = {};

  [[nodiscard]] bool contains(std::string_view one) const noexcept {
    return end.empty() ? one == key : one >= key && one < end;
  }
};
[[nodiscard]] KeyRange range_of(const nlohmann::json& request);

class Store {
 public:
  static constexpr std::uint64_t kCluster = 0xc1;

  struct Version {
    std::uint64_t mod_revision = 0;
    std::uint64_t create_revision = 0;  // 0: the key is deleted
    std::string value = {};
    std::uint64_t lease = 0;
  };
  struct Change {
    std::uint64_t revision = 0;
    std::string key = {};
    Version version = {};
  };

  [[nodiscard]] std::uint64_t revision() const noexcept { return revision_; }
  [[nodiscard]] std::uint64_t compacted() const noexcept { return compacted_; }
  /// Every change there was, oldest first.
  [[nodiscard]] const std::vector<Change>& changes() const noexcept { return changes_; }
  /// As it was at that revision; null where there is no such key.
  [[nodiscard]] const Version* find(const std::string& key, std::uint64_t revision) const;

  /// One transaction, at once.
  [[nodiscard]] Reply txn(const nlohmann::json& request);
  /// The same at an earlier revision, of a member that is behind; it must not write.
  [[nodiscard]] Reply read_at(const nlohmann::json& request, std::uint64_t revision) const;
  [[nodiscard]] Reply range(const nlohmann::json& request) const;
  void put(const std::string& key, const std::string& value, std::uint64_t lease = 0);
  void erase(const std::string& key);
  /// All keys of the lease, at one revision.
  void erase_keys_of(std::uint64_t lease);
  void compact() noexcept { compacted_ = revision_; }

  [[nodiscard]] nlohmann::json header() const { return header(revision_); }
  [[nodiscard]] static nlohmann::json header(std::uint64_t revision);
  /// Of `changes()`, as a watch has it.
  [[nodiscard]] static nlohmann::json event_of(const Change& change);

 private:
  [[nodiscard]] bool holds(const nlohmann::json& compare, std::uint64_t revision) const;
  [[nodiscard]] bool hold(const nlohmann::json& txn, std::uint64_t revision) const;
  [[nodiscard]] nlohmann::json found(const nlohmann::json& range, std::uint64_t revision) const;
  void write(const std::string& key, Version version);

  std::map<std::string, std::vector<Version>> keys_;
  std::vector<Change> changes_;
  std::uint64_t revision_ = 1;
  std::uint64_t compacted_ = 0;
};

/// Whether a transaction writes.
[[nodiscard]] bool is_write(const nlohmann::json& txn);
/// Whether a member may answer it by itself, by what it has: every read asks for that.
[[nodiscard]] bool is_serializable(const nlohmann::json& txn);

}  // namespace portcullis::fleet::simulation
