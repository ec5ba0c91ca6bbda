// SPDX-License-Identifier: BSD-3-Clause
//
// Which leases there are and how those before them ended, as the network thread knows it: whose a
// name is, who holds it, who waits for its outcome. Asks nobody and tells nobody.
#pragma once

#include <boost/container/flat_set.hpp>
#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <deque>
#include <forward_list>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "service/daemon/journal.hpp"
#include "service/daemon/requests.hpp"
#include "wire/frame.hpp"

namespace portcullis::service::daemon {

using ConnectionId = std::uint64_t;
inline constexpr ConnectionId kNobody = 0;
/// Most leases have one holder, who takes no memory of its own.
using Connections = boost::container::flat_set<ConnectionId, std::less<>,
                                               boost::container::small_vector<ConnectionId, 1>>;

/// REVOKE_TENANT: answered when the last of its leases has its outcome.
struct TenantRevoke {
  ConnectionId connection = kNobody;
  std::uint64_t request_id = 0;
  std::uint64_t asked_ns = 0;
  std::uint32_t left = 0;
  std::uint32_t torn_down = 0;
  std::uint32_t fenced = 0;
};

/// Who waits for the outcome of one lease.
struct Waiter {
  ConnectionId connection = kNobody;
  std::uint64_t request_id = 0;
  std::uint64_t asked_ns = 0;
  std::shared_ptr<TenantRevoke> tenant = {};  // where it was asked for by tenant
};

/// What its holder has to write into the region, once it was granted with one.
struct BookedChallenge {
  wire::ByteArray<8> nonce{};
  std::uint64_t until_ns = 0;
  bool is_met = false;
};

/// There are thousands: what few of them have stands apart.
struct BookedLease {
  Record record;
  Connections holders = {};                       // it was granted to them, or renewed by them
  std::forward_list<ConnectionId> renewing = {};  // for each renewal that is not answered yet
  std::uint64_t granted_ns = 0;
  std::uint64_t ends_ns = 0;               // unless it is renewed
  std::uint64_t rest_ns = 0;               // its slot rests so long behind the outcome
  std::uint64_t fence_epoch = 0;           // of its tenant in the fleet, when it was granted
  std::forward_list<Waiter> waiters = {};  // who asked last is first
  std::unique_ptr<BookedChallenge> challenge = {};
  std::unique_ptr<const Ending> fenced = {};  // its slot is out of use, and it stays in the book
  wire::Plan plan = wire::Plan::Default;      // that it is revoked by
  bool is_recorded = false;                   // before that nobody has been told of it
  bool is_revoking = false;

  /// That connection is no more.
  void leave(ConnectionId connection);
  /// One of its renewals is answered.
  void note_renewed(ConnectionId connection);
  /// Nobody holds it, and no renewal that is under way says otherwise.
  [[nodiscard]] bool is_orphan() const noexcept { return holders.empty() && renewing.empty(); }
};

/// Leases of one tenant, by how they are.
struct LeaseTally {
  std::uint32_t active = 0;
  std::uint32_t revoking = 0;
  std::uint32_t fenced = 0;
  bool operator==(const LeaseTally&) const = default;
};

class LeaseBook {
 public:
  explicit LeaseBook(const std::vector<PastEnding>& past);

  /// A lease that is held or being revoked, or is FENCED.
  [[nodiscard]] BookedLease* find(lease::LeaseName name);
  /// How a lease that is gone ended; null when that is not known, or not any more.
  [[nodiscard]] const Ending* past(lease::LeaseName name) const;
  BookedLease& enter(BookedLease lease);
  /// Takes the lease out, or keeps it as FENCED; what it was until then. None when it is not there.
  /// Its tenant is charged with the slot until that has rested.
  [[nodiscard]] std::optional<BookedLease> end(const Ending& ending, std::uint64_t incarnation,
                                               std::uint64_t now_ns);
  /// Slots that have rested are given back to their tenants.
  void settle(std::uint64_t now_ns);

  /// Leases of `tenant`, or of every tenant, that have no outcome yet; in no order.
  [[nodiscard]] std::vector<BookedLease*> held_by(std::uint64_t tenant);
  /// And of those the ones that are held, or are being renewed, over that connection, which is of
  /// that tenant.
  [[nodiscard]] std::vector<BookedLease*> held_at(ConnectionId connection, std::uint64_t tenant);
  /// Up to `most` rows whose id is above `cursor`, in the order of ids; recorded ones alone.
  [[nodiscard]] std::vector<const BookedLease*> rows(std::uint64_t tenant, std::uint64_t cursor,
                                                     std::size_t most) const;
  /// How leases of `tenant` ended that a server before this one held when it went.
  [[nodiscard]] std::vector<Ending> ended_with(std::uint64_t incarnation,
                                               std::uint64_t tenant) const;

  /// Leases of `tenant`, or of every tenant, that are FENCED.
  [[nodiscard]] std::uint32_t fenced_of(std::uint64_t tenant) const;
  /// And those of servers before this incarnation, as far as they are known, that ended Fenced with
  /// their memory unproved, and no reset has proved it since.
  [[nodiscard]] std::uint32_t unproved_before(std::uint64_t incarnation,
                                              std::uint64_t tenant) const;

  /// Tenants with a lease that has no outcome, or whose memory nothing proves.
  [[nodiscard]] std::set<std::uint64_t> unended() const;

  struct Use {
    std::uint32_t leases = 0;
    std::uint64_t bytes = 0;
  };
  /// What a tenant holds, with slots that rest, and asked-for grants (note_asked).
  [[nodiscard]] Use use_of(std::uint64_t tenant) const;
  /// Of every tenant.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  void note_asked(std::uint64_t tenant, std::uint64_t bytes);
  void note_refused(std::uint64_t tenant, std::uint64_t bytes);
  /// Of every tenant that has any.
  [[nodiscard]] std::map<std::uint64_t, LeaseTally> tally() const;
  /// Without an outcome.
  [[nodiscard]] std::size_t held() const noexcept { return held_; }

 private:
  /// Of a tenant, from that id on.
  struct TenantAndId {
    std::uint64_t tenant = 0;
    std::uint64_t id = 0;
    auto operator<=>(const TenantAndId&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  struct ByTenantAndId {
    using is_transparent = void;
    static TenantAndId key(const TenantAndId& key) noexcept { return key; }
    static TenantAndId key(const BookedLease* lease) noexcept {
      return {lease->record.tenant, lease->record.name.id};
    }
    bool operator()(const auto& a, const auto& b) const noexcept { return key(a) < key(b); }
  };
  using ByTenant = std::set<BookedLease*, ByTenantAndId>;

  /// There is one, and it is of that tenant.
  [[nodiscard]] bool is_at(ByTenant::const_iterator at, std::uint64_t tenant) const noexcept {
    return at != by_tenant_.end() && (*at)->record.tenant == tenant;
  }
  void remember(const PastEnding& past);
  void give_back(std::uint64_t tenant, std::uint64_t bytes);

  std::map<std::uint64_t, BookedLease> leases_;  // by id
  // The same by tenant and id: what one tenant asks takes no longer for what the others hold.
  ByTenant by_tenant_;
  std::unordered_map<std::uint64_t, PastEnding> past_;
  std::deque<std::uint64_t> past_order_;  // ids, the oldest first
  std::unordered_map<std::uint64_t, Use> use_;
  struct Resting {
    std::uint64_t tenant = 0;
    std::uint64_t bytes = 0;
  };
  std::multimap<std::uint64_t, Resting> resting_;  // by when that is over
  std::size_t held_ = 0;
  std::uint64_t bytes_ = 0;  // of all in use_
};

}  // namespace portcullis::service::daemon
