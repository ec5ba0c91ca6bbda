// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/rules.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <utility>

namespace portcullis::failover {
namespace {

/// What a second execution of a request is.
enum class Kind : std::uint8_t {
  Harmless,    // it changes nothing, whatever is there
  Overwrites,  // a WRITE
  Swaps,       // a CAS
  Repeats,     // each execution is seen: a message, a sum
};

Kind kind_of(const OutstandingRequest& r) {
  switch (*r.opcode) {
    case Opcode::Read:
      return Kind::Harmless;
    case Opcode::Write:
      return Kind::Overwrites;
    case Opcode::CompareSwap:
      return r.compare_add == r.swap ? Kind::Harmless : Kind::Swaps;
    case Opcode::FetchAdd:
      return r.compare_add == 0 ? Kind::Harmless : Kind::Repeats;
    case Opcode::Send:
    case Opcode::WriteWithImm:
      return Kind::Repeats;
  }
  return Kind::Repeats;
}

/// Promises as bits, in the order of the provisos; the last one is no proviso.
constexpr unsigned kFenced = 1, kQuiet = 2, kUnique = 4, kNothingLater = 8, kNotified = 16;

struct Rule {
  Kind kind;
  unsigned enough;
};
/// A request with all of a row's promises may be reposted; without any row, never.
constexpr Rule kRules[] = {
    {Kind::Harmless, 0},
    {Kind::Overwrites, kFenced | kQuiet},        // nobody reads or writes between the two
    {Kind::Overwrites, kQuiet | kNothingLater},  //
    {Kind::Overwrites, kFenced | kNotified},     // nobody reads before the notification
    {Kind::Swaps, kFenced | kQuiet},             // the second one is absorbed, or does it first
    {Kind::Swaps, kQuiet | kNothingLater},       //
    {Kind::Swaps, kFenced | kUnique},            // the expected word never comes back
    {Kind::Swaps, kUnique | kNothingLater},      //
};

unsigned promises_of(const Contract& contract) {
  const bool is_notified =
      contract.environment == Environment::Reuse && contract.consumer == Consumer::Notified;
  return (contract.is_fenced ? kFenced : 0) |
         (contract.environment == Environment::Quiet ? kQuiet : 0) |
         (contract.has_unique_tags ? kUnique : 0) |
         (contract.is_nothing_later ? kNothingLater : 0) | (is_notified ? kNotified : 0);
}

std::vector<Proviso> provisos_of(unsigned promises) {
  constexpr std::pair<unsigned, Proviso> kNames[] = {{kFenced, Proviso::FenceDone},
                                                     {kQuiet, Proviso::TargetQuiet},
                                                     {kUnique, Proviso::TagUnique},
                                                     {kNothingLater, Proviso::NothingLater}};
  std::vector<Proviso> provisos;
  for (const auto& [promise, proviso] : kNames)
    if ((promises & promise) != 0) provisos.push_back(proviso);
  return provisos;
}

}  // namespace

std::optional<Ruling> rule_for(const OutstandingRequest& request) {
  if (!request.opcode || request.outcome != Outcome::Unknown || request.evidence.is_any() ||
      request.contract.are_queues_fenced)
    return std::nullopt;
  const Kind kind = kind_of(request);
  const unsigned promised = promises_of(request.contract);
  std::vector<unsigned> missing;  // of each row that can be met
  for (const Rule& rule : kRules)
    if (rule.kind == kind && (rule.enough & ~promised & kNotified) == 0)
      missing.push_back(rule.enough & ~promised);
  if (missing.empty()) return Ruling{Advice::Never, {}};
  // The fewest promises first, and none that holds another list.
  std::sort(missing.begin(), missing.end(), [](unsigned a, unsigned b) {
    return std::pair(std::popcount(a), a) < std::pair(std::popcount(b), b);
  });
  if (missing.front() == 0) return Ruling{Advice::Repost, {}};
  Ruling ruling{Advice::OnlyIf, {}};
  std::vector<unsigned> kept;
  for (const unsigned each : missing) {
    const bool holds_another =
        std::any_of(kept.begin(), kept.end(), [&](unsigned less) { return (less & ~each) == 0; });
    if (holds_another) continue;
    kept.push_back(each);
    ruling.one_of.push_back(provisos_of(each));
  }
  return ruling;
}

}  // namespace portcullis::failover
