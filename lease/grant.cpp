// SPDX-License-Identifier: BSD-3-Clause
#include "lease/grant.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/dma_bytes.hpp"
#include "lease/deadline.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/roce_path.hpp"

namespace portcullis::lease {
namespace {

constexpr std::uint32_t kPsnMask = 0xffffff;

/// Enters into the target what became of the object that `steps` would take back.
void note_failed(FenceTarget& target, StepMask steps, const Error& error) noexcept {
  if (!pmd::may_have_happened(error)) return;
  target.note_made(steps);
  target.unknown = static_cast<StepMask>(target.unknown | steps);
}

void note_key(std::span<Holding* const> holdings, Subject kind, pmd::MemoryKey& key) noexcept {
  const prm::MkeyIndex index = key.release();
  for (Holding* const holding : holdings) {
    FenceTarget& target = holding->target;
    if (kind == Subject::TenantKey) {
      target.tenant_mkey_index = index;
    } else {
      target.mkey_index = index;
      target.key = key.rkey();
    }
    target.note_made(steps_on(kind));
  }
}

std::string rights(const pmd::Access& access) {
  std::string text;
  if (access.remote_write) text += "write ";
  if (access.remote_read) text += "read ";
  if (access.remote_atomic) text += "atomic ";
  // The device's own is no right of a client, and every lease but those of tests has it.
  if (!access.local_write) text += "no-local-write ";
  if (text.empty()) return "none";
  text.pop_back();
  return text;
}

/// What leases granted together have in common with their first.
Result<void> check_member(const GrantRequest& request, const GrantRequest& first) {
  PORTCULLIS_TRY(Granter::check(request));
  if (request.tenant != first.tenant)
    return fail(Errc::InvalidArgument, fmt::format("tenant {}; {} expected, as the first has",
                                                   request.tenant, first.tenant));
  if (request.access != first.access)
    return fail(Errc::InvalidArgument, fmt::format("rights {}; {} expected, as the first has",
                                                   rights(request.access), rights(first.access)));
  // What is sent meets the region's own key, which outlives the tenant's.
  if (request.log_receives)
    return fail(Errc::InvalidArgument,
                fmt::format("2^{} receives; none expected", *request.log_receives));
  return {};
}

}  // namespace

StepMask Granter::nothing_made() noexcept {
  return steps_on(Subject::Qp) | steps_on(Subject::Key) | steps_on(Subject::TenantKey) |
         steps_on(Subject::Pd) | steps_on(Subject::Region) | steps_on(Subject::Entry);
}

Granter::Granter(const pmd::Context& context, RegionStore& regions, const Options& options,
                 LogSink log)
    : channel_(*context.commands, context.device.clock),
      context_(context),
      regions_(&regions),
      options_(options),
      log_(std::move(log)),
      random_(options.psn_seed),
      key_bytes_(options.psn_seed),
      key_binding_(context.binds_keys ? KeyBinding::Untried : KeyBinding::NotWanted) {
  context_.commands = &channel_;
}

void Granter::bound_commands() noexcept {
  const std::uint64_t whole_ns = ns_of_ms(options_.deadline_ms);
  // Firmware answers within a few ms; an eighth is 50 ms of the default.
  channel_.bound(after_ns(context_.device.clock.now_ns(), whole_ns), whole_ns / 8);
}

Result<void> check_ttl(std::uint64_t ttl_ms) {
  if (ttl_ms <= kMostTtlMs) return {};
  return fail(
      Errc::InvalidArgument,
      fmt::format("a time to live of {} ms; 0 (never ends) to {} expected", ttl_ms, kMostTtlMs));
}

Result<void> Granter::check(const GrantRequest& request) {
  if (request.bytes == 0)
    return fail(Errc::InvalidArgument, "a lease of 0 bytes; at least 1 expected");
  if (request.ack_timeout == 0 || request.ack_timeout > 31)
    return fail(
        Errc::InvalidArgument,
        fmt::format("ack timeout {}; 1 to 31 expected (0 would never end)", request.ack_timeout));
  if (request.retry_count > 7)
    return fail(Errc::InvalidArgument,
                fmt::format("retry count {}; 0 to 7 expected", request.retry_count));
  if (request.log_receives.value_or(0) > kMostLogReceives)
    return fail(Errc::InvalidArgument, fmt::format("2^{} receives; at most 2^{} expected",
                                                   *request.log_receives, kMostLogReceives));
  if (request.log_receives && !request.access.local_write)
    return fail(Errc::InvalidArgument,
                "a lease with receives and without local write; the device writes what arrives");
  if (prm::number(request.peer.qpn) > kPsnMask || request.peer.psn > kPsnMask)
    return fail(Errc::InvalidArgument,
                fmt::format("peer QPN {}, PSN {}; numbers of 24 bits expected",
                            prm::number(request.peer.qpn), request.peer.psn));
  return check_ttl(request.ttl_ms);
}

Result<void> Granter::check_together(std::span<const GrantRequest> requests) {
  if (requests.empty()) return fail(Errc::InvalidArgument, "0 leases together; 1 or more expected");
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto checked = check_member(requests[i], requests.front());
    if (checked) continue;
    Error& error = checked.error();
    error.text.insert(0,
                      fmt::format("lease {} of {} together, counted from 0: ", i, requests.size()));
    return checked;
  }
  return {};
}

Result<Grant> Granter::make(Holding& holding, pmd::CompletionQueue& cq,
                            const GrantRequest& request) {
  Holding* const alone = &holding;
  PORTCULLIS_TRY(take_region(holding, request));
  PORTCULLIS_TRY_ASSIGN(const auto pd, make_pd(std::span(&alone, 1)));
  PORTCULLIS_TRY(make_qp(holding, pd, cq, request));
  PORTCULLIS_TRY(holding.qp->to_init(request.access));
  PORTCULLIS_TRY_ASSIGN(const prm::Rkey rkey, make_key(holding, pd, request.access));
  return connect(holding, request, rkey, 0);
}

Result<void> Granter::make_next(GroupMaking& making) {
  PORTCULLIS_TRY(make_step(making));
  const bool is_of_all =
      making.stage == GroupMaking::Stage::Domain || making.stage == GroupMaking::Stage::TenantKey;
  if (!is_of_all && ++making.next < making.holdings.size()) return {};
  making.next = 0;
  making.stage = static_cast<GroupMaking::Stage>(static_cast<unsigned>(making.stage) + 1);
  return {};
}

Result<void> Granter::make_step(GroupMaking& making) {
  const std::size_t member = making.next;
  const GrantRequest& request = making.requests[member];
  Holding& holding = *making.holdings[member];
  switch (making.stage) {
    case GroupMaking::Stage::Regions:
      return take_region(holding, request);
    case GroupMaking::Stage::Domain: {
      PORTCULLIS_TRY_ASSIGN(making.pd, make_pd(making.holdings));
      return {};
    }
    case GroupMaking::Stage::Objects:
      PORTCULLIS_TRY(make_qp(holding, *making.pd, *making.queues[member], request));
      PORTCULLIS_TRY(holding.qp->to_init(request.access));
      return make_local_key(holding, *making.pd, request.access);
    case GroupMaking::Stage::TenantKey: {
      PORTCULLIS_TRY_ASSIGN(making.rkey,
                            make_tenant_key(making.holdings, *making.pd, request.access));
      return {};
    }
    case GroupMaking::Stage::Connections: {
      PORTCULLIS_TRY_ASSIGN(const Grant grant,
                            connect(holding, request, making.rkey, making.address));
      making.grants.push_back(grant);
      making.address += grant.bytes;
      return {};
    }
    case GroupMaking::Stage::Made:
      break;
  }
  return {};
}

Result<void> Granter::take_region(Holding& holding, const GrantRequest& request) {
  PORTCULLIS_TRY_ASSIGN(holding.region, regions_->take(request.tenant, request.bytes));
  holding.target.region = &*holding.region;
  holding.target.note_made(bit(Step::UnmapRegion));
  return {};
}

Result<pmd::ProtectionDomain> Granter::make_pd(std::span<Holding* const> holdings) {
  auto pd = pmd::ProtectionDomain::create(context_);
  if (!pd) {
    note_failed(holdings.front()->target, bit(Step::DeallocPd), pd.error());
    return pd;
  }
  // From here on a plan takes it back, never a destructor; the same for QP and key.
  const prm::PdNumber pdn = pd->release();
  for (Holding* const holding : holdings) {
    holding->target.pdn = pdn;
    holding->target.note_made(bit(Step::DeallocPd));
  }
  return pd;
}

Result<void> Granter::make_qp(Holding& holding, const pmd::ProtectionDomain& pd,
                              pmd::CompletionQueue& cq, const GrantRequest& request) {
  // A responder sends nothing.
  auto qp = pmd::QueuePair::create(
      context_, pd, cq, *context_.uar,
      {.log_rq_size = request.log_receives, .counter_set = options_.counter_set, .sends = false});
  if (!qp) {
    note_failed(holding.target, steps_on(Subject::Qp), qp.error());
    return forward_error(std::move(qp));
  }
  holding.qp.emplace(*std::move(qp));
  holding.target.qpn = holding.qp->release();
  holding.target.client = request.peer.gid;
  holding.target.client_udp_sport =
      pmd::udp_source_port(/*flow_label=*/0, request.peer.qpn, holding.target.qpn);
  holding.target.note_made(steps_on(Subject::Qp));
  return {};
}

Result<prm::Rkey> Granter::make_key(Holding& holding, const pmd::ProtectionDomain& pd,
                                    pmd::Access access) {
  Holding* const alone = &holding;
  PORTCULLIS_TRY(take_key(std::span(&alone, 1), Subject::Key,
                          [&] { return create_key(holding, pd, access); }));
  return holding.target.key;
}

Result<void> Granter::choose_key_byte() {
  if (options_.key_byte) {
    context_.key_variants->restart(options_.key_byte());
    return {};
  }
  PORTCULLIS_TRY_ASSIGN(const std::uint8_t byte, key_bytes_.draw());
  context_.key_variants->restart(byte);
  return {};
}

/// The list of a tenant's key goes on naming a member's own key when that has been destroyed alone.
/// Firmware may give the index again, and the byte comes again too: whoever gets both could be
/// reached through the tenant's key, as far as the device checks no domain below it.
bool Granter::may_be_given(prm::Rkey key) const {
  const bool is_named = named_.contains(key) && !options_.gives_named_keys;
  return !is_named && (options_.key_byte || key_bytes_.is_fresh(key));
}

/// A key that may not be given goes back before anybody is told of it, and so does what was written
/// under it.
Result<void> Granter::take_key(std::span<Holding* const> holdings, Subject kind,
                               const std::function<Result<pmd::MemoryKey>()>& create) {
  constexpr int kMostTries = 4;  // one other byte will do
  for (int tries = 0; tries < kMostTries; ++tries) {
    PORTCULLIS_TRY(choose_key_byte());
    auto key = create();
    if (!key) {
      note_failed(holdings.front()->target, steps_on(kind), key.error());
      return forward_error(std::move(key));
    }
    if (may_be_given(key->rkey())) {
      key_bytes_.note(key->rkey());
      note_key(holdings, kind, *key);
      return {};
    }
    if (auto gone = key->destroy(); !gone) {
      note_key(holdings, kind, *key);
      return gone;
    }
    for (Holding* const holding : holdings) dma_fill(holding->region->bytes(), std::byte{0});
  }
  return fail(Errc::OutOfResources, "every new key was one that must not be given again");
}

void Granter::forget_entries(Group& group) {
  for (const prm::Rkey key : std::exchange(group.entries, {})) named_.erase(key);
}

Result<pmd::MemoryKey> Granter::create_key(const Holding& holding, const pmd::ProtectionDomain& pd,
                                           pmd::Access access) {
  const auto range = pmd::MemoryRange::zero_based(*holding.region);
  if (key_binding_ == KeyBinding::Refused || key_binding_ == KeyBinding::NotWanted)
    return pmd::MemoryKey::create_mtt(context_, pd, range, access);
  auto bound = pmd::MemoryKey::create_mtt(context_, pd, range, access, holding.target.qpn);
  if (bound && std::exchange(key_binding_, KeyBinding::Accepted) == KeyBinding::Untried && log_)
    log_("CREATE_MKEY accepts a QP number in mkc.qpn; that the device checks it is a hypothesis");
  if (bound || key_binding_ == KeyBinding::Accepted || pmd::may_have_happened(bound.error()))
    return bound;
  auto unbound = pmd::MemoryKey::create_mtt(context_, pd, range, access);
  if (unbound) {
    key_binding_ = KeyBinding::Refused;
    if (log_)
      log_(
          fmt::format("CREATE_MKEY refuses a QP number in mkc.qpn ({}); a key is bound by its "
                      "protection domain alone",
                      bound.error().text));
  }
  return unbound;
}

/// With rights for us alone, which is enough below the tenant's key.
Result<void> Granter::make_local_key(Holding& holding, const pmd::ProtectionDomain& pd,
                                     pmd::Access access) {
  Holding* const alone = &holding;
  return take_key(std::span(&alone, 1), Subject::Key, [&] {
    return pmd::MemoryKey::create_mtt(context_, pd, pmd::MemoryRange::zero_based(*holding.region),
                                      {.local_write = access.local_write});
  });
}

Result<prm::Rkey> Granter::make_tenant_key(std::span<Holding* const> holdings,
                                           const pmd::ProtectionDomain& pd, pmd::Access access) {
  std::vector<pmd::KeyRange> ranges;
  for (const Holding* const holding : holdings)
    ranges.push_back({holding->target.key, 0, holding->region->bytes().size()});
  prm::Rkey rkey{};
  PORTCULLIS_TRY(take_key(holdings, Subject::TenantKey, [&] {
    auto key = pmd::MemoryKey::create_klm(context_, pd, ranges, access);
    if (key) rkey = key->rkey();
    return key;
  }));
  for (Holding* const holding : holdings) {
    holding->group->entries.push_back(holding->target.key);
    named_.insert(holding->target.key);
  }
  return rkey;
}

Result<Grant> Granter::connect(Holding& holding, const GrantRequest& request, prm::Rkey rkey,
                               std::uint64_t address) {
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t drawn, random_.draw());
  const auto psn = static_cast<std::uint32_t>(drawn) & kPsnMask;
  pmd::RtrAttributes rtr;
  rtr.path.remote_gid = request.peer.gid;
  rtr.path.remote_mac = request.peer.mac;
  rtr.path.is_forced_back = request.peer.is_forced_back;
  rtr.path.remote_lid = request.peer.lid;
  rtr.path.source_address_index = options_.source_address_index;
  rtr.remote_qpn = request.peer.qpn;
  rtr.rq_psn = request.peer.psn;
  rtr.path.traffic_class = options_.traffic_class;
  rtr.path.priority = options_.priority;
  rtr.mtu = options_.mtu;
  PORTCULLIS_TRY(holding.qp->to_rtr(rtr));
  PORTCULLIS_TRY(holding.qp->to_rts(
      {.sq_psn = psn, .timeout = request.ack_timeout, .retry_count = request.retry_count}));
  return Grant{.lease = {},
               .qpn = holding.target.qpn,
               .psn = psn,
               .rkey = rkey,
               .address = address,
               .bytes = holding.region->bytes().size(),
               .ack_timeout = request.ack_timeout,
               .retry_count = request.retry_count,
               .mtu = options_.mtu};
}

}  // namespace portcullis::lease
