// SPDX-License-Identifier: BSD-3-Clause
//
// The part of Sessions that challenges: who is granted a lease writes a number into its region by
// RDMA, from the address that it named, or loses it. The device's thread looks; what is known here
// is what to tell the holder. The number lives as long as the lease, in this process alone: no
// journal, log or metric has it, and a server that follows has no lease that it would be of.
#include <algorithm>
#include <cstring>

#include "base/entropy.hpp"
#include "service/daemon/session_answers.hpp"
#include "service/daemon/sessions.hpp"

namespace portcullis::service::daemon {
namespace {

/// Not zeros: a region is scrubbed before it is granted, and would have met that by itself.
Result<wire::ByteArray<8>> draw_nonce() {
  std::uint64_t number = 0;
  while (number == 0) {
    PORTCULLIS_TRY_ASSIGN(number, random_number());
  }
  wire::ByteArray<8> nonce{};
  static_assert(sizeof nonce == sizeof number);
  std::memcpy(nonce.data(), &number, sizeof number);
  return nonce;
}

}  // namespace

/// Its time runs from the answer on, not from the grant: a journal that is slow is not the
/// holder's. Nor is a configuration that was read between: who asked for a lease without write when
/// that was accepted could never meet it.
Result<void> Sessions::begin_challenge(BookedLease& lease, std::uint8_t access) {
  if (limits_.challenge_ms == 0 || (access & wire::kMayWrite) == 0) return {};
  PORTCULLIS_TRY_ASSIGN(const auto nonce, draw_nonce());
  lease.challenge = std::make_unique<BookedChallenge>(
      BookedChallenge{.nonce = nonce, .until_ns = now_ns() + limits_.challenge_ms * kNsPerMs});
  ports_.ask(
      Challenge{.name = lease.record.name, .nonce = nonce, .within_ms = limits_.challenge_ms});
  return {};
}

/// To who holds it alone, as the key was: neither an operator nor another client of the tenant has
/// anything to write there.
void Sessions::challenge(const Asking& asking) {
  const auto wanted = body_of<wire::ChallengeRequest>(asking);
  if (!wanted) return;
  const BookedLease* lease = visible(asking, {.id = wanted->id, .epoch = wanted->epoch});
  if (lease == nullptr || lease->is_revoking || lease->fenced ||
      !lease->holders.contains(asking.id))
    return refuse(asking, wire::Code::NotFound, "the asker holds no such lease");
  wire::ChallengeAnswer answer;
  if (const auto& set = lease->challenge) {
    answer.challenge = set->is_met ? wire::Challenge::Met : wire::Challenge::Open;
    const std::uint64_t now = now_ns();
    if (!set->is_met) answer.nonce = set->nonce;
    if (!set->is_met && set->until_ns > now)
      answer.left_ms = (set->until_ns - now + kNsPerMs - 1) / kNsPerMs;
  }
  reply(asking, wire::Op::LeaseChallenge, answer);
}

void Sessions::hear_challenge_met(const ChallengeMet& met) {
  BookedLease* lease = book_.find(met.name);
  if (lease == nullptr || !lease->challenge) return;
  lease->challenge->is_met = true;
  if (ports_.observer.challenge_met) ports_.observer.challenge_met();
}

}  // namespace portcullis::service::daemon
