// SPDX-License-Identifier: BSD-3-Clause
//
// A node's part of tenants' quotas. Before it grants it takes a share in etcd, in a key of its own
// that nothing but itself and the end of the node's memory lets go of; the shares of all nodes
// together stay within the quota, for each is written in a transaction that fails if any share of
// the tenant, or its quota, has been written since they were read. No total is kept: the sum is
// what the keys say.
//
// A write that nobody has answered may still happen. So what a node relies on is what it has been
// told was written, in this session, and never what it finds; and a write that makes the share
// smaller counts from before it is sent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "fleet/etcd.hpp"
#include "fleet/share.hpp"

namespace portcullis::fleet {

/// A key that a node has written, and when.
struct OwnKey {
  std::string key = {};
  std::uint64_t revision = 0;  // 0: none yet
};

/// What is there of it instead, in words; 0: nothing.
[[nodiscard]] std::string lost_text(const OwnKey& own, std::uint64_t revision);

class Shares {
 public:
  Shares(std::string name, std::uint64_t node) : name_(std::move(name)), node_(node) {}

  void want(const ShareWanted& wanted);
  /// Another session: nothing that was written in the one before is relied on, and nothing that was
  /// wanted then is wanted still.
  void begin();
  /// When the next of them is to be looked at; none where there is none.
  [[nodiscard]] std::optional<std::uint64_t> due_ns() const;
  /// One tenant that is due: at most three requests, each of which holds etcd to `standing`. None
  /// where it is to be tried again. NotFound: that does not stand any more; DeviceFailed: what this
  /// node has written is not there any more. Other errors are in the answer, or tried again.
  [[nodiscard]] Result<std::optional<ShareIs>> settle(Etcd& etcd,
                                                      const std::vector<Compare>& standing,
                                                      std::uint64_t now_ns);
  /// Of the shares that etcd has confirmed, in whatever session: the one that was written last.
  [[nodiscard]] const OwnKey& newest() const noexcept { return newest_; }

 private:
  struct Tenant {
    std::optional<ShareWanted> wanted = {};
    std::uint64_t due_ns = 0;
    std::uint32_t tries = 0;
    // In this session.
    Amount sure = {};                   // at least so much is this node's in etcd
    bool has_unanswered = false;        // a write that may still happen
    std::uint64_t revision = 0;         // of the last write that was answered
    std::optional<Amount> before = {};  // with keeps_before
  };
  /// As one transaction has found it.
  struct Found {
    Room room = {};
    std::uint64_t revision = 0;        // of the store
    std::uint64_t quota_revision = 0;  // of the keys; 0: there is none
    std::uint64_t own_revision = 0;
    bool has_quota = false;
    std::string fault = {};  // something that cannot be read, for which nothing more is taken
  };

  [[nodiscard]] Result<Found> look(Etcd& etcd, const std::vector<Compare>& standing,
                                   std::uint64_t tenant, bool with_members) const;
  [[nodiscard]] Result<void> check_own(Etcd& etcd, const Tenant& tenant, const Found& found) const;
  [[nodiscard]] ShareWanted with_before(Tenant& tenant, const Found& found) const;
  [[nodiscard]] ShareIs answer(Tenant& tenant, const Found& found) const;
  void try_later(Tenant& tenant, std::uint64_t now_ns, bool is_contended);
  /// False: somebody was faster.
  [[nodiscard]] Result<bool> write(Etcd& etcd, const std::vector<Compare>& standing, Tenant& tenant,
                                   const Found& found, const Amount& target);

  std::string name_;
  std::uint64_t node_;
  std::map<std::uint64_t, Tenant> tenants_;
  std::uint64_t turn_ = 0;  // the tenant that was looked at last
  OwnKey newest_;
};

}  // namespace portcullis::fleet
