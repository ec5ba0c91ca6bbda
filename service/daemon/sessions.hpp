// SPDX-License-Identifier: BSD-3-Clause
//
// The lease protocol from the server's side: what each connection may say, and what it is answered.
// Frames come in and go out, requests go to the device's thread and events come back; sockets,
// threads and the file are somebody else's. docs/wire.md is the protocol, docs/leased.md what it
// promises.
//
// Order that is kept: a grant is answered once it is on record; who holds a lease hears of its end
// before who asked for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "fleet/directory.hpp"
#include "lease/number_rest.hpp"
#include "pmd/gid.hpp"
#include "service/daemon/lease_book.hpp"
#include "service/daemon/policy.hpp"
#include "service/daemon/requests.hpp"
#include "wire/frame.hpp"

namespace portcullis::service::daemon {

/// What clients are told of the device.
struct Facts {
  pmd::Gid gid = {};
  pmd::Mac mac = {};
  std::string description;
  bool is_emulated = false;
  /// What a slot rests for after its lease, beside what the client may send.
  lease::NumberRest rest = {};
  /// What it does as a node of a fleet that has been without etcd for long.
  std::optional<fleet::Isolation> isolation = {};
  /// What it gives to leases of all tenants together; 0: as much as there is.
  std::uint64_t memory_bytes = 0;
};

/// Who is told what happens, for statistics; each may be empty.
struct Observer {
  std::function<void()> granted = {};
  std::function<void(wire::Code)> refused = {};  // a grant
  std::function<void()> challenge_met = {};
  /// `revoke_ns`: since it was asked for; none where nobody did.
  std::function<void(const Ending&, wire::Plan, std::optional<std::uint64_t> revoke_ns)> ended = {};
};

/// Where what a session decides goes to. All of them are called from within Sessions' own calls,
/// and must not call it.
struct SessionPorts {
  std::function<void(Request)> ask;
  std::function<void(LookUp)> look_up;  // of the journal
  std::function<void(ConnectionId, wire::FrameBytes)> send;
  std::function<void(ConnectionId)> hang_up;  // once what was sent has gone
  LogSink log;
  Observer observer = {};
  /// What came of FenceTenant. Where there is one, this server is a node of a fleet: nothing is
  /// granted before it has heard FleetLives, and after that time.
  std::function<void(TenantFenced)> fenced = {};
  /// What is to be this node's of a tenant's quota; answered by fleet::ShareIs. Together with the
  /// one above.
  std::function<void(const fleet::ShareWanted&)> want_share = {};
  Clock clock = Clock::wall();
};

class Sessions {
 public:
  Sessions(const Beginning& beginning, const Limits& limits, Facts facts, SessionPorts ports);
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  void opened(ConnectionId connection, Identity identity);
  /// One frame, or what claims to be one.
  void received(ConnectionId connection, std::span<const std::byte> bytes);
  /// It asks nothing more, and reads still: hung up on once each of its requests is answered.
  void finished(ConnectionId connection);
  void closed(ConnectionId connection);
  void hear(const Event& event);
  void hear(const Recorded& recorded);
  void hear(const Looked& looked);
  void hear(const FleetNews& news);
  /// What time brings: to be called all the time.
  void look_at_time();
  /// What had to end because the node is alone has not ended in time, or without a proof: the
  /// server is to be ended at once, whatever it is at.
  [[nodiscard]] bool is_overdue() const;
  /// Tells some of the ends that watchers have not heard of; true while there are more. Between two
  /// calls whoever waits for an outcome is answered.
  bool tell_watchers();
  /// For STATUS, and for whether anything is granted.
  void set_counts(const Counts& counts) noexcept { counts_ = counts; }
  void set_journal_lost(bool is_lost) noexcept { is_journal_lost_ = is_lost; }
  /// Of requests from now on.
  void set_limits(const Limits& limits) { limits_ = limits; }
  /// Nothing is granted any more, and every lease is revoked.
  void end();
  /// Leases without an outcome, and grants that were asked for.
  [[nodiscard]] std::size_t unended() const noexcept { return book_.held() + asked_.size(); }
  /// Every lease has its outcome.
  [[nodiscard]] bool has_ended() const noexcept { return unended() == 0; }
  [[nodiscard]] std::uint64_t fenced() const noexcept { return fenced_; }
  /// No lease, of this server or of those before it, stays without a proof that its memory is free.
  [[nodiscard]] bool has_proved_all() const {
    return has_ended() && fenced_ == 0 &&
           book_.unproved_before(incarnation_, wire::kEveryTenant) == 0;
  }
  [[nodiscard]] std::map<std::uint64_t, LeaseTally> tally() const { return book_.tally(); }
  /// For whoever looks for a node: slots, and bytes where it is known how many there are.
  [[nodiscard]] fleet::Amount left() const;

 private:
  struct Connection {
    Identity identity;
    std::string name;  // as the client calls itself
    bool has_greeted = false;
    bool has_finished = false;  // asks nothing more
    std::uint32_t under_way = 0;
  };
  struct Watch {
    std::uint64_t tenant = 0;  // or kEveryTenant
    std::uint64_t since = 0;   // behind that many ends
  };
  /// An end that not every watcher has heard of.
  struct Untold {
    std::uint64_t number = 0;  // among all ends
    Ending ending;
    Connections holders;          // they have
    ConnectionId last = kNobody;  // up to here the watchers have

    [[nodiscard]] bool is_for(ConnectionId id, const Watch& watch) const;
  };
  /// A grant that the device or the journal has not answered.
  struct AskedAlloc {
    ConnectionId connection = kNobody;
    std::uint64_t request_id = 0;
    wire::AllocRequest wanted;
    std::uint64_t tenant = 0;
    std::uint64_t ttl_ms = 0;
    std::uint64_t charged_bytes = 0;
    std::uint64_t fence_epoch = 0;            // of its tenant, when it was asked for
    std::optional<wire::AllocAnswer> answer;  // held back until it is on record
    bool has_ended = false;                   // revoked meanwhile
    lease::LeaseName name = {};
  };
  /// A request for a lease, by whom it was made.
  struct WantedAlloc {
    ConnectionId connection = kNobody;
    std::uint64_t request_id = 0;
    wire::AllocRequest wanted;
    std::uint64_t tenant = 0;
    std::uint64_t until_ns = 0;  // it waits for the tenant's share so long
  };
  /// What this node has of a tenant's quota in the fleet.
  struct TenantShare {
    fleet::Amount held;        // grants that were asked for, and leases without an outcome
    fleet::Amount most;        // of it; never above what is this node's in etcd
    std::uint64_t number = 0;  // of what was asked for last
    std::uint64_t grown_ns = 0;
    bool has_quota = false;
    bool is_asked = false;  // and not answered
    std::deque<WantedAlloc> waiting;
  };
  struct AskedRenew {
    ConnectionId connection = kNobody;
    std::uint64_t request_id = 0;
    lease::LeaseName name;
    std::uint64_t ttl_ms = 0;
    bool is_own = true;  // the asker is of the lease's tenant
  };

  /// Of one tenant, until the last of what it had below the epoch has ended.
  struct Fence {
    std::uint64_t epoch = 0;
    std::uint32_t left = 0;
    std::uint32_t torn_down = 0;
  };

  struct AskedHistory {
    ConnectionId connection = kNobody;
    std::uint64_t request_id = 0;
  };

  /// One request of a connection that has greeted.
  struct Asking {
    ConnectionId id = kNobody;
    Connection* connection = nullptr;
    const wire::Frame* frame = nullptr;
  };

  void handle(const Asking& asking);
  void hello(const Asking& asking);
  void alloc(const Asking& asking);
  /// The device is asked, and the tenant charged.
  void start_alloc(const WantedAlloc& asked);
  void renew(const Asking& asking);
  void challenge(const Asking& asking);
  void revoke(const Asking& asking);
  void revoke_tenant(const Asking& asking);
  void list(const Asking& asking);
  void history(const Asking& asking);
  void watch(const Asking& asking);
  void status(const Asking& asking);
  void tell_of_restart(const Asking& asking, std::uint64_t known);

  void hear_granted(const Granted& granted);
  void hear_not_granted(const NotGranted& refused);
  void hear_renewed(const Renewed& renewed);
  void hear_ended(const Ending& ending);
  void hear_challenge_met(const ChallengeMet& met);
  void hear_fence(const FenceTenant& wanted);
  void hear_quota(std::uint64_t tenant);
  void hear_share(const fleet::ShareIs& share);
  /// The session is lost: nothing that is not held is this node's.
  void forget_shares();
  void ask_for_shares();
  void ask_for_share(std::uint64_t tenant, TenantShare& share);
  /// What waits for too long is refused, and what has been spared for long is given back.
  void look_at_shares();
  void start_or_wait(const WantedAlloc& asked);
  void refuse_waiting(const WantedAlloc& asked, wire::Code code, const std::string& text);
  void refuse_all_waiting(TenantShare& share, wire::Code code, const std::string& text);
  void charge_share(std::uint64_t tenant, std::uint64_t bytes);
  void uncharge_share(std::uint64_t tenant, std::uint64_t bytes);
  [[nodiscard]] bool is_node() const noexcept { return static_cast<bool>(ports_.fenced); }
  /// Of the tenant and its epoch: it ended, or was never granted.
  void note_gone(std::uint64_t tenant, std::uint64_t fence_epoch, bool is_torn_down);
  void tell_if_fenced(std::uint64_t tenant);
  /// The node is alone, and what this tenant has is to end for it.
  [[nodiscard]] bool is_cut_off(std::uint64_t tenant) const noexcept {
    return isolated_ns_ != 0 && facts_.isolation->covers(tenant);
  }
  [[nodiscard]] std::uint64_t epoch_of(std::uint64_t tenant) const;
  [[nodiscard]] std::optional<wire::Refusal> renewal_objection() const;
  [[nodiscard]] std::optional<wire::Refusal> fleet_objection(std::uint16_t op,
                                                             std::uint64_t tenant) const;
  /// Of a lease that is about to be told, where challenges are configured. System when the kernel
  /// gives no random number.
  [[nodiscard]] Result<void> begin_challenge(BookedLease& lease, std::uint8_t access);

  [[nodiscard]] std::optional<wire::Refusal> objection(const Identity& identity,
                                                       const wire::AllocRequest& wanted);
  [[nodiscard]] std::optional<wire::Refusal> limit_objection(std::uint16_t op, std::uint64_t tenant,
                                                             std::uint64_t bytes) const;
  [[nodiscard]] std::optional<wire::Refusal> state_objection(std::uint16_t op) const;
  /// The lease, if it is the asker's to see; else it is not there.
  [[nodiscard]] BookedLease* visible(const Asking& asking, lease::LeaseName name);
  [[nodiscard]] bool may_see(const Asking& asking, std::uint64_t tenant) const noexcept;
  /// It lives for orphan_ms at most, if nobody holds it.
  void shorten_orphan(BookedLease& lease);
  void start_revoke(BookedLease& lease, wire::Cause cause, wire::Plan plan);
  void notify(const Ending& ending, const Connections& holders);
  void answer(const Waiter& waiter, const Ending& ending);
  void refuse(const Asking& asking, wire::Code code, const std::string& text);
  void refuse(const Asking& asking, const wire::Refusal& refusal);
  /// To a request that was under way.
  void send_answer(ConnectionId connection, wire::FrameBytes frame);
  void refuse_later(ConnectionId connection, std::uint64_t request_id, wire::Op op, wire::Code code,
                    const std::string& text);
  template <class Body>
  void reply(const Asking& asking, wire::Op op, const Body& body);
  template <class Body>
  void reply_later(ConnectionId connection, std::uint64_t request_id, wire::Op op,
                   const Body& body);
  /// The body, or the asker is refused and hung up on.
  template <class Body>
  [[nodiscard]] std::optional<Body> body_of(const Asking& asking);
  [[nodiscard]] std::uint64_t now_ns() const { return ports_.clock.now_ns(); }
  [[nodiscard]] std::uint64_t us_since(std::uint64_t ns) const {
    return (now_ns() - ns) / kNsPerUs;
  }

  std::uint64_t incarnation_;
  Limits limits_;
  Facts facts_;
  SessionPorts ports_;
  LeaseBook book_;
  std::map<ConnectionId, Connection> connections_;
  std::map<ConnectionId, Watch> watchers_;
  std::deque<Untold> untold_;
  std::uint64_t ended_ = 0;  // leases whose end was to be told
  std::unordered_map<Ticket, AskedAlloc> asked_;
  std::unordered_map<Ticket, AskedRenew> renewals_;
  std::unordered_map<Ticket, AskedHistory> lookups_;
  Ticket next_ticket_ = 1;
  std::uint64_t lives_until_ns_ = 0;               // as a node of a fleet
  std::uint64_t lived_ns_ = 0;                     // it was asked for when; 0: it has never joined
  std::uint64_t isolated_ns_ = 0;                  // since when; 0: it is not
  std::map<std::uint64_t, std::uint64_t> epochs_;  // by tenant: below it nothing is granted
  std::map<std::uint64_t, Fence> fences_;          // by tenant: under way
  std::map<std::uint64_t, TenantShare> shares_;    // by tenant
  Counts counts_;
  std::uint64_t started_ns_;
  std::uint64_t granted_ = 0;
  std::uint64_t torn_down_ = 0;
  std::uint64_t fenced_ = 0;
  std::uint64_t longest_revoke_us_ = 0;
  std::uint64_t refused_ = 0;    // grants, by the device
  std::uint64_t not_found_ = 0;  // looks at the past, by the journal
  bool is_journal_lost_ = false;
  bool is_ending_ = false;
};

}  // namespace portcullis::service::daemon
