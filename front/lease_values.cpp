// SPDX-License-Identifier: BSD-3-Clause
#include "front/lease_values.hpp"

namespace portcullis {
namespace {

Outcome outcome_of(lease::Outcome outcome) {
  switch (outcome) {
    case lease::Outcome::TornDown:
      return Outcome::TornDown;
    case lease::Outcome::Fenced:
      return Outcome::Fenced;
    case lease::Outcome::NotFound:
      return Outcome::NotFound;
    case lease::Outcome::Revoking:
      return Outcome::Revoking;
  }
  return Outcome::Fenced;  // what is not known is not fit to be used again
}

MemoryProof memory_of(lease::Proof proof) {
  switch (proof) {
    case lease::Proof::None:
      return MemoryProof::Unproved;
    case lease::Proof::Mkey:
      return MemoryProof::Key;
    case lease::Proof::Umr:
      return MemoryProof::Umr;
    case lease::Proof::Unmap:
      return MemoryProof::Unmap;
    case lease::Proof::Function:
      return MemoryProof::Function;
    case lease::Proof::TenantMkey:
      return MemoryProof::TenantKey;
  }
  return MemoryProof::Unproved;
}

lease::Proof proof_of(MemoryProof proof) {
  switch (proof) {
    case MemoryProof::Unproved:
      return lease::Proof::None;
    case MemoryProof::Key:
      return lease::Proof::Mkey;
    case MemoryProof::Umr:
      return lease::Proof::Umr;
    case MemoryProof::Unmap:
      return lease::Proof::Unmap;
    case MemoryProof::Function:
      return lease::Proof::Function;
    case MemoryProof::TenantKey:
      return lease::Proof::TenantMkey;
  }
  return lease::Proof::None;
}

void tell(RevokeAnswer& answer, const lease::Verdict& verdict) {
  answer.memory = memory_of(verdict.proof);
  if (verdict.failed_mask != 0) answer.failed_steps = lease::names(verdict.failed_mask);
  answer.is_steering_degraded = verdict.steering == lease::SteeringState::Degraded;
}

}  // namespace

std::string_view name(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::TornDown:
      return lease::name(lease::Outcome::TornDown);
    case Outcome::Fenced:
      return lease::name(lease::Outcome::Fenced);
    case Outcome::NotFound:
      return lease::name(lease::Outcome::NotFound);
    case Outcome::Revoking:
      return lease::name(lease::Outcome::Revoking);
  }
  return "?";
}

std::string_view name(MemoryProof proof) noexcept { return lease::name(proof_of(proof)); }

lease::Plan plan_of(const FencePlan& plan) { return *lease::parse_plan(plan.name()); }

lease::LeaseName name_of(const LeaseName& name) { return {.id = name.id, .epoch = name.epoch}; }

Result<void> check_peer(const std::string& field, const Peer& peer, const Gid& own) {
  constexpr std::uint32_t kLeastQpn = 2;  // 0 and 1 are for management
  constexpr std::uint32_t k24Bits = 0xff'ffff;
  const auto refused = [&field](const std::string& what, const char* accepted) {
    return fail(Errc::InvalidArgument, field + "." + what + "; " + accepted + " is accepted");
  };
  const auto qpn = static_cast<std::uint32_t>(peer.qpn);
  const auto psn = static_cast<std::uint32_t>(peer.psn);
  if (qpn < kLeastQpn || qpn > k24Bits)
    return refused("qpn " + std::to_string(qpn), "2 to 16777215");
  if (psn > k24Bits) return refused("psn " + std::to_string(psn), "0 to 16777215");
  if (!peer.gid.is_unicast())
    return refused("gid " + peer.gid.text(), "a unicast IPv4 or IPv6 address");
  if (peer.gid.is_ipv4() != own.is_ipv4())
    return refused("gid " + peer.gid.text() + ", and the port has " + own.text(),
                   "an address of the same family");
  if (!peer.mac.is_unicast())
    return refused("mac " + peer.mac.text(), "a unicast address such as 02:50:43:00:00:01");
  return {};
}

Result<lease::GrantRequest> request_of(const LeaseRequest& request, const Gid& own) {
  PORTCULLIS_TRY(check_peer("peer", request.peer, own));
  lease::GrantRequest inner;
  inner.bytes = request.bytes;
  inner.peer.qpn = prm::QpNumber{static_cast<std::uint32_t>(request.peer.qpn)};
  inner.peer.psn = static_cast<std::uint32_t>(request.peer.psn);
  inner.peer.gid = request.peer.gid;
  inner.peer.mac = request.peer.mac;
  // A key with remote write or atomics has local write as well (ib_check_mr_access).
  inner.access = {.local_write = true,
                  .remote_write = request.rights.write,
                  .remote_read = request.rights.read,
                  .remote_atomic = request.rights.atomic};
  inner.ack_timeout = request.ack_timeout;
  inner.retry_count = request.retry_count;
  inner.tenant = request.tenant;
  inner.ttl_ms = request.ttl_ms;
  return inner;
}

Result<prm::QpcMtu> mtu_of(std::uint32_t bytes) {
  for (const prm::QpcMtu mtu : {prm::QpcMtu::MTU_256, prm::QpcMtu::MTU_512, prm::QpcMtu::MTU_1024,
                                prm::QpcMtu::MTU_2048, prm::QpcMtu::MTU_4096})
    if (prm::bytes_of(mtu) == bytes) return mtu;
  return fail(Errc::InvalidArgument,
              "mtu_bytes " + std::to_string(bytes) + "; 256, 512, 1024, 2048 or 4096 is accepted");
}

Grant grant_of(const lease::Grant& grant, const Gid& gid, const Mac& mac) {
  return {
      .lease = {.id = grant.lease.id, .epoch = grant.lease.epoch},
      .port = {.qpn = Qpn{prm::number(grant.qpn)}, .psn = Psn{grant.psn}, .gid = gid, .mac = mac},
      .rkey = Rkey{prm::number(grant.rkey)},
      .address = grant.address,
      .bytes = grant.bytes,
      .mtu_bytes = static_cast<std::uint32_t>(prm::bytes_of(grant.mtu)),
      .ack_timeout = grant.ack_timeout,
      .retry_count = grant.retry_count};
}

RevokeAnswer answer_of(const lease::RevokeAnswer& answer) {
  RevokeAnswer outer;
  outer.outcome = outcome_of(answer.outcome);
  outer.current_epoch = answer.current_epoch;
  outer.expected_ms = answer.expected_ms;
  const bool stands = outer.outcome == Outcome::TornDown || outer.outcome == Outcome::Fenced;
  if (stands) tell(outer, answer.verdict);
  return outer;
}

RevokeAnswer answer_of(const lease::Lease& lease, const lease::Verdict& verdict) {
  RevokeAnswer outer;
  outer.outcome = outcome_of(verdict.outcome);
  outer.current_epoch = lease.epoch;
  tell(outer, verdict);
  return outer;
}

}  // namespace portcullis
