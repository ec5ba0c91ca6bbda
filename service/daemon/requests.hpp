// SPDX-License-Identifier: BSD-3-Clause
//
// What the threads of leased tell each other: the network thread asks (Request), the thread that
// owns the device tells what came of it (Event), and the one that owns the journal tells what is
// durable (Recorded). Values only: no thread looks at another's objects.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "fleet/share.hpp"
#include "lease/fence_plan.hpp"
#include "lease/grant.hpp"
#include "lease/lease_table.hpp"
#include "wire/frame.hpp"
#include "wire/ops.hpp"

namespace portcullis::service::daemon {

/// Of one request, by whoever made it; never given twice.
using Ticket = std::uint64_t;

/// A lease as the journal and the list of leases keep it. No key is part of it.
struct Record {
  lease::LeaseName name;
  std::uint64_t tenant = 0;
  std::uint64_t bytes = 0;
  std::uint64_t granted_unix_ms = 0;
};

/// How a lease ended.
struct Ending {
  lease::LeaseName name;
  std::uint64_t tenant = 0;
  std::uint64_t unix_ms = 0;  // when its outcome stood
  std::uint32_t failed_mask = 0;
  wire::Outcome outcome = wire::Outcome::TornDown;
  wire::Memory memory = wire::Memory::Unproved;
  wire::Cause cause = wire::Cause::None;
  lease::Origin origin = lease::Origin::None;

  bool operator==(const Ending&) const = default;
};

// ---- what the network thread asks --------------------------------------------------------------

struct Alloc {
  Ticket ticket = 0;
  lease::GrantRequest wanted;
};
struct Renew {
  Ticket ticket = 0;
  lease::LeaseName name;
  std::uint64_t ttl_ms = 0;
};
/// `cause` is recorded with the outcome, unless the lease ends for another reason first. A name
/// whose outcome has been told is passed over.
struct Revoke {
  std::vector<lease::LeaseName> names;
  wire::Cause cause = wire::Cause::Holder;
  wire::Plan plan = wire::Plan::Default;
};
/// From now on `nonce` has to stand in the region's first eight bytes within so long, or the lease
/// is revoked.
struct Challenge {
  lease::LeaseName name;
  wire::ByteArray<8> nonce{};
  std::uint64_t within_ms = 0;
};
using Request = std::variant<Alloc, Renew, Revoke, Challenge>;

// ---- what comes of it --------------------------------------------------------------------------

struct Granted {
  Ticket ticket = 0;
  Record record;
  lease::Grant grant;
};
struct NotGranted {
  Ticket ticket = 0;
  Error why;
};
struct Renewed {
  Ticket ticket = 0;
  Result<void> done;
};
/// Of every lease that was granted, once.
struct Ended {
  Ending ending;
};
/// The nonce of a challenge was seen in the region, in time.
struct ChallengeMet {
  lease::LeaseName name;
};
using Event = std::variant<Granted, NotGranted, Renewed, Ended, ChallengeMet>;

/// A grant is in the journal, or could not be put there.
struct Recorded {
  Ticket ticket = 0;
  Result<void> done;
};

/// What the journal has of leases that have ended.
struct LookUp {
  Ticket ticket = 0;
  wire::HistoryRequest wanted;
};
struct Looked {
  Ticket ticket = 0;
  Result<wire::History> found;
};

// ---- what the fleet's thread tells, and is told ------------------------------------------------

/// As far as etcd goes, grants are in order until then: the node's session lives at least so long.
struct FleetLives {
  std::uint64_t until_ns = 0;
  std::uint64_t asked_ns = 0;  // when etcd was asked for what showed it
};
/// They are not, until it lives again.
struct FleetIsOut {};
/// What the tenant has that was granted below that epoch is to end.
struct FenceTenant {
  std::uint64_t tenant = 0;
  std::uint64_t epoch = 0;
};
/// The tenant's quota in the fleet is another, or is heard of for the first time in this session.
struct QuotaChanged {
  std::uint64_t tenant = 0;
};
using FleetNews = std::variant<FleetLives, FleetIsOut, FenceTenant, QuotaChanged, fleet::ShareIs>;

/// Nothing of the tenant is left that was granted below the epoch.
struct TenantFenced {
  std::uint64_t tenant = 0;
  std::uint64_t epoch = 0;
  std::uint32_t torn_down = 0;  // by this fence
  std::uint32_t fenced = 0;     // of the tenant in all, whenever they ended so
};

/// What the fleet's thread is told.
using ToFleet = std::variant<TenantFenced, fleet::ShareWanted, fleet::Amount>;  // what is left here

/// What the network thread hears, in the order in which it was said: a grant comes before what the
/// journal says of it, for the device's thread tells both.
using News = std::variant<Event, Recorded, Looked, FleetNews>;

/// Of the device's side, for whoever asks how things are.
struct Counts {
  std::uint32_t slots = 0;
  std::uint32_t held = 0;
  std::uint32_t resting = 0;
  std::uint32_t out = 0;
  bool is_lost = false;
};

}  // namespace portcullis::service::daemon
