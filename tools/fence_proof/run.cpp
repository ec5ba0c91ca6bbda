// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fence_proof/run.hpp"

#include <algorithm>

#include "model/transport/headers.hpp"
#include "model/transport/opcode.hpp"
#include "tools/fence_proof/world.hpp"

namespace portcullis::fence_proof {
namespace {

constexpr Adversary::Mood kMild{.wire = 8, .check = 12, .memory = 24, .response = 8};
constexpr std::uint32_t kHoardRounds = 60;
constexpr std::uint64_t kLongestWaitMs = 60'000;

using Held = Adversary::Held;

/// A packet of a lease that is over, inside a message, still on the wire.
const Held* stale_middle(World& world, const Connection& over) {
  for (const Held& held : world.adversary().held())
    if (held.serial == over.serial && held.step.qpn == over.qpn && held.immortal &&
        held.step.opcode == static_cast<std::uint8_t>(model::BthOpcode::WriteMiddle))
      return &held;
  return nullptr;
}

/// The tenant that follows starts a message so that the stale packet falls into it: the adversary's
/// luck, which is his as long as a packet may live.
Result<void> admit_into_stale(World& world, Client& next, const Held& stale) {
  PORTCULLIS_TRY(world.admit(next, model::psn_add(stale.step.psn, (1U << 24) - 1)));
  const Adversary::Ticket ticket = stale.ticket;
  world.adversary().set_mood({.wire = 256});
  PORTCULLIS_TRY(next.post_write(4, 0));
  PORTCULLIS_TRY(world.pass(1'000));
  // Its first packet is on its way; the stale one overtakes the second.
  const auto first = std::ranges::find_if(world.adversary().held(), [&](const Held& held) {
    return held.serial == next.connection().serial && held.step.qpn == next.grant().qpn;
  });
  if (first != world.adversary().held().end())
    world.adversary().let_go(world.model(), first->ticket);
  PORTCULLIS_TRY(world.pass(1'000));
  world.adversary().let_go(world.model(), ticket);
  return world.pass(1'000);
}

/// The client whose lease is over goes on with its old key, at the QP that has the number now, and
/// guesses the PSN.
Result<void> strike(World& world, Client& old, Client& next) {
  PORTCULLIS_TRY(world.settle(false));
  PORTCULLIS_TRY(world.pass(kNsPerMs));
  PORTCULLIS_TRY(old.reset());
  PORTCULLIS_TRY(old.connect_to(next.grant().qpn, next.connection().next_psn));
  PORTCULLIS_TRY(old.post_write(1, 0));
  return world.pass(kNsPerMs);
}

Result<void> second_tenant(World& world, Client& old, Client& next) {
  const Held* const stale = stale_middle(world, old.connection());
  const bool is_alive = world.spec().mutant == Mutant::NumberReusedEarly;
  if (stale != nullptr && is_alive) {
    PORTCULLIS_TRY(admit_into_stale(world, next, Held(*stale)));
  } else {
    PORTCULLIS_TRY(world.admit(next));
  }
  PORTCULLIS_TRY(world.traffic(world.spec().operations / 3, kMild));
  if (world.random().below(4) == 0) PORTCULLIS_TRY(strike(world, old, next));
  PORTCULLIS_TRY(world.hoard(next, kHoardRounds));
  PORTCULLIS_TRY(world.revoke(next));
  PORTCULLIS_TRY(world.settle(true));
  return world.pass(20 * kNsPerMs);
}

}  // namespace

Result<RunResult> run(const RunSpec& spec) {
  PORTCULLIS_TRY_ASSIGN(const auto world, World::create(spec));
  Client& first = world->client(0);
  PORTCULLIS_TRY(world->admit(first));
  PORTCULLIS_TRY(world->admit(world->client(1)));
  PORTCULLIS_TRY(world->traffic(spec.operations / 3, kMild));
  PORTCULLIS_TRY(world->hoard(first, kHoardRounds));
  PORTCULLIS_TRY(world->revoke(first));
  if (world->random().below(2) == 0) (void)world->adversary().keep_on_wire(first.connection(), 4);
  PORTCULLIS_TRY(world->settle(false));
  PORTCULLIS_TRY_ASSIGN(const bool is_free,
                        world->wait_until_free(first.grant().lease.slot, kLongestWaitMs));
  if (is_free) PORTCULLIS_TRY(second_tenant(*world, first, world->client(2)));
  const std::uint64_t posted = world->posted();
  if (posted < spec.operations)
    PORTCULLIS_TRY(world->traffic(static_cast<std::uint32_t>(spec.operations - posted), {}));
  PORTCULLIS_TRY(world->settle(true));
  PORTCULLIS_TRY(world->pass(kNsPerMs));
  return world->result();
}

}  // namespace portcullis::fence_proof
