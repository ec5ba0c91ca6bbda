// SPDX-License-Identifier: BSD-3-Clause
#include "proof/adversary/run.hpp"

#include <algorithm>
#include <array>

#include "model/transport/headers.hpp"
#include "model/transport/opcode.hpp"
#include "proof/adversary/world.hpp"

namespace portcullis::proof::adversary {
namespace {

constexpr Adversary::Mood kMild{.wire = 8, .check = 12, .memory = 24, .response = 8};
constexpr std::uint32_t kHoardRounds = 60;
constexpr std::uint64_t kLongestWaitMs = 60'000;

using Held = Adversary::Held;

/// The middle of a WRITE: no key in it, it goes on where the message stands.
bool is_write_middle(const Held& held) noexcept {
  return held.step.opcode == static_cast<std::uint8_t>(model::BthOpcode::WriteMiddle);
}
/// The start of a SEND: no key in it, it goes where there is a receive.
bool is_send_start(const Held& held) noexcept {
  return held.step.bytes != 0 &&
         (held.step.opcode == static_cast<std::uint8_t>(model::BthOpcode::SendFirst) ||
          held.step.opcode == static_cast<std::uint8_t>(model::BthOpcode::SendOnly));
}

/// A stale packet that no key check would stop, if there is one.
std::optional<Held> stale_without_key(World& world, const Connection& over) {
  const auto stale = world.adversary().stale_of(over);
  const auto found = std::ranges::find_if(
      stale, [](const Held& held) { return is_write_middle(held) || is_send_start(held); });
  return found == stale.end() ? std::nullopt : std::optional(*found);
}

/// The tenant that follows has the PSN that the stale packet needs: the adversary's luck, which is
/// his as long as a packet may live.
Result<void> admit_into_stale(World& world, Client& next, const Held& stale) {
  if (is_send_start(stale)) {
    PORTCULLIS_TRY(world.admit(next, stale.step.psn));
    world.adversary().let_go(world.model(), stale.ticket);
    return world.pass(1'000);
  }
  PORTCULLIS_TRY(world.admit(next, model::psn_add(stale.step.psn, (1U << 24) - 1)));
  world.adversary().set_mood({.wire = 256});
  PORTCULLIS_TRY(next.post(Operation::Write, kMostPackets, 0));
  PORTCULLIS_TRY(world.pass(1'000));
  // Its first packet is on its way; the stale one overtakes the second.
  const auto first = std::ranges::find_if(world.adversary().held(), [&](const Held& held) {
    return held.serial == next.connection().serial &&
           held.step.qpn == prm::number(next.grant().qpn);
  });
  if (first != world.adversary().held().end())
    world.adversary().let_go(world.model(), first->ticket);
  PORTCULLIS_TRY(world.pass(1'000));
  world.adversary().let_go(world.model(), stale.ticket);
  return world.pass(1'000);
}

/// One of those that name a key.
Operation what_strikes(World& world) {
  const Mutant mutant = world.spec().mutant;
  static constexpr std::array kAll{Operation::Write, Operation::Read, Operation::FetchAdd,
                                   Operation::CompareSwap};
  std::span<const Operation> operations(kAll);
  if (mutant == Mutant::KeyByteKeptRead) operations = operations.subspan(1, 1);
  if (mutant == Mutant::KeyByteKeptAtomic) operations = operations.last(2);
  return operations[world.random().below(static_cast<std::uint32_t>(operations.size()))];
}

/// The client whose lease is over goes on with its old key, at the QP that has the number now, and
/// guesses the PSN. It goes where the new client asks for nothing. What names no key would be taken
/// (docs/hca-contract.md), so it sends nothing else.
Result<void> strike(World& world, Client& old, Client& next) {
  PORTCULLIS_TRY(world.settle(Adversary::Release::Mortal));
  PORTCULLIS_TRY(world.pass(kNsPerMs));
  PORTCULLIS_TRY(old.reset());
  PORTCULLIS_TRY(old.connect_to(next.grant().qpn, next.connection().next_psn));
  PORTCULLIS_TRY(old.post(what_strikes(world), 1, kVault));
  PORTCULLIS_TRY(world.pass(kNsPerMs));
  return old.reset();
}

/// Whether a packet that lives until its number is another lease's may have the PSN that is
/// expected there: one that lives no longer than the number was to rest may have all the luck there
/// is, and comes to nothing as long as the number rests.
bool is_lucky(const World& world, const Client& old) {
  return world.is_resting(old) || world.spec().mutant == Mutant::LegacyReuse;
}

/// What is stale meets a first PSN far from its own, in either direction. The grant dictated that
/// it dies before it meets any; plan legacy, which does not wait, leaves this to 24 random bits
/// (docs/hca-contract.md), and there the old client itself is not done with sending again. Nor is
/// it where nothing was under way at the fence and it has heard of nothing: whatever the plan, its
/// QP is still connected, and it may begin what names no key.
std::optional<std::uint32_t> psn_without_luck(World& world, const Client& old) {
  constexpr std::uint32_t kFar = 1U << 22;
  const auto stale = world.adversary().stale_of(old.connection());
  if (stale.empty() && world.spec().plan.has_grace && old.has_failed()) return std::nullopt;
  const std::uint32_t psn = stale.empty() ? old.connection().next_psn : stale.front().step.psn;
  return model::psn_add(psn, kFar + world.random().below(2 * kFar));
}

Result<void> admit_next(World& world, const Client& old, Client& next) {
  const auto keyless = stale_without_key(world, old.connection());
  if (keyless && is_lucky(world, old)) return admit_into_stale(world, next, *keyless);
  return world.admit(next, psn_without_luck(world, old));
}

/// Traffic of the tenant that follows, in the midst of which half of what is stale arrives.
Result<void> traffic_with_stale(World& world, const Client& old) {
  constexpr std::uint32_t kParts = 4;
  for (std::uint32_t part = 0; part < kParts; ++part) {
    PORTCULLIS_TRY(world.traffic(world.spec().operations / (3 * kParts), kMild));
    const auto stale = world.adversary().stale_of(old.connection());
    if (stale.size() > 1) world.adversary().let_go(world.model(), stale.front().ticket);
  }
  return {};
}

Result<void> second_tenant(World& world, Client& old, Client& next) {
  PORTCULLIS_TRY(admit_next(world, old, next));
  PORTCULLIS_TRY(traffic_with_stale(world, old));
  if (world.random().below(4) == 0) PORTCULLIS_TRY(strike(world, old, next));
  if (are_together(world.spec()) && world.is_active(world.client(1)) &&
      world.random().below(2) == 0)
    PORTCULLIS_TRY(world.reach_over(world.client(1), old, what_strikes(world)));
  // Now and then the last lease goes with it, in one batch.
  std::vector<Client*> ended{&next};
  const bool is_drained = drains(world.spec());
  const bool all = world.random().below(4) == 0 || is_drained;
  if (is_drained) PORTCULLIS_TRY(world.finish_operations());
  if (all && world.is_active(world.client(1))) {
    PORTCULLIS_TRY(world.finish_operations());
    ended.push_back(&world.client(1));
  }
  PORTCULLIS_TRY(world.hoard(next, kHoardRounds));
  PORTCULLIS_TRY(is_drained ? world.drain(ended) : world.revoke(ended));
  PORTCULLIS_TRY(world.settle(Adversary::Release::Everything));
  return world.pass(20 * kNsPerMs);
}

/// Two leases under traffic, of which one is taken away; or both, where one key is for both.
Result<void> first_tenants(World& world) {
  Client& first = world.client(0);
  std::vector<Client*> together{&first, &world.client(1)};
  if (are_together(world.spec())) {
    PORTCULLIS_TRY(world.admit_together(together));
  } else {
    PORTCULLIS_TRY(world.admit(*together[0]));
    PORTCULLIS_TRY(world.admit(*together[1]));
  }
  PORTCULLIS_TRY(world.traffic(world.spec().operations / 3, kMild));
  const bool all = are_together(world.spec()) && world.random().below(4) != 0;
  if (all) PORTCULLIS_TRY(world.finish_operations());
  PORTCULLIS_TRY(world.hoard(first, kHoardRounds));
  return world.revoke(std::span(together).first(all ? 2 : 1));
}

}  // namespace

Result<RunResult> run(const RunSpec& spec) {
  PORTCULLIS_TRY_ASSIGN(const auto world, World::create(spec));
  Client& first = world->client(0);
  PORTCULLIS_TRY(first_tenants(*world));
  if (world->random().below(2) == 0) (void)world->adversary().keep_on_wire(first.connection(), 4);
  // Half of the time DMA stays where it is, long after the outcome.
  const bool spares_dma = world->random().below(2) == 0;
  PORTCULLIS_TRY(
      world->settle(spares_dma ? Adversary::Release::Packets : Adversary::Release::Mortal));
  PORTCULLIS_TRY_ASSIGN(const bool is_free,
                        world->wait_until_free(first.grant().lease.slot, kLongestWaitMs));
  if (is_free) PORTCULLIS_TRY(second_tenant(*world, first, world->client(2)));
  PORTCULLIS_TRY(world->finish_operations());
  PORTCULLIS_TRY(world->settle(Adversary::Release::Everything));
  PORTCULLIS_TRY(world->pass(kNsPerMs));
  return world->result();
}

}  // namespace portcullis::proof::adversary
