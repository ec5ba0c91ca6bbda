// SPDX-License-Identifier: BSD-3-Clause
//
// Dumps of a few requests on a word and what follows it, told to the second opinion of sender.hpp,
// and where its opinion and the advice differ.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "failover/classify/classify.hpp"
#include "failover/classify/meeting.hpp"
#include "tests/failover/sender.hpp"

namespace portcullis::failover::testing::opinion {

using Dump = std::vector<OutstandingRequest>;

/// Cell 0 is a word, cell 1 what follows it; a WRITE of both has several packets.
inline constexpr std::uint64_t kWordBytes = 8;
inline constexpr std::uint64_t kLongBytes = 264;

inline OutstandingRequest request(Opcode opcode, unsigned cell, unsigned cells = 1,
                                  Word compare_add = 0, Word swap = 0) {
  OutstandingRequest made;
  made.opcode = opcode;
  made.remote_addr = cell * kWordBytes;
  made.length = cells == 2 ? kLongBytes : kWordBytes;
  if (cell == 1) made.length = kLongBytes - kWordBytes;
  made.compare_add = compare_add;
  made.swap = swap;
  made.contract.environment = Environment::Quiet;
  return made;
}

inline std::vector<OutstandingRequest> kinds() {
  return {request(Opcode::Write, 0),
          request(Opcode::Write, 0, 2),
          request(Opcode::Write, 1),
          request(Opcode::Read, 0),
          request(Opcode::CompareSwap, 0, 1, 5, 6),
          request(Opcode::CompareSwap, 0, 1, 6, 5),
          request(Opcode::CompareSwap, 0, 1, 5, 5),
          request(Opcode::FetchAdd, 0, 1, 1),
          request(Opcode::FetchAdd, 0, 1, 0),
          request(Opcode::WriteWithImm, 0),
          request(Opcode::Send, 0)};
}

struct Completion {
  Outcome outcome;
  const char* status;
};
inline constexpr Completion kUnknown = {Outcome::Unknown, "RETRY_EXC_ERR"};
inline constexpr Completion kCompleted = {Outcome::Completed, "SUCCESS"};
inline constexpr Completion kUnmodelled = {Outcome::Unmodelled, "LOC_PROT_ERR"};

struct Promise {
  Environment environment = Environment::Quiet;
  bool is_fenced = false;
  bool is_nothing_later = false;
};
inline constexpr Promise kQuietPromises[] = {{Environment::Quiet, false, false},
                                             {Environment::Quiet, true, false},
                                             {Environment::Quiet, false, true}};

/// "Never" is shown with all of it: quiet, fenced, nothing later.
inline constexpr Promise kMostPromised = {Environment::Quiet, true, true};

inline OutstandingRequest with(OutstandingRequest made, const Completion& state, unsigned qp_num,
                               const Promise& promise) {
  made.outcome = state.outcome;
  made.status_name = state.status;
  made.qp_num = qp_num;
  made.contract.environment = promise.environment;
  made.contract.is_fenced = promise.is_fenced;
  made.contract.is_nothing_later = promise.is_nothing_later;
  return made;
}

inline std::string text_of(const Dump& dump) {
  std::string text;
  for (const OutstandingRequest& r : dump)
    text += std::string(name_of(*r.opcode)) + " cell " +
            std::to_string(*r.remote_addr / kWordBytes) + "+" + std::to_string(*r.length) + " " +
            std::to_string(r.compare_add) + "," + std::to_string(r.swap) + " QP " +
            std::to_string(r.qp_num.value_or(0)) + " " + r.status_name +
            (r.contract.is_fenced ? " fenced" : "") +
            (r.contract.is_nothing_later ? " nothing later; " : "; ");
  return text;
}

inline Op op_of(const OutstandingRequest& r) {
  Op op;
  op.first = static_cast<unsigned>(*r.remote_addr / kWordBytes);
  op.cells = *r.length == kLongBytes ? 2 : 1;
  op.word = r.opcode == Opcode::CompareSwap ? r.swap : r.compare_add;
  op.compare = r.compare_add;
  op.notifies = r.opcode == Opcode::Send || r.opcode == Opcode::WriteWithImm;
  op.queue = *r.qp_num;
  op.is_completed = r.outcome == Outcome::Completed;
  const std::pair<Opcode, Op::Kind> pairs[] = {
      {Opcode::Write, Op::Kind::Write},  {Opcode::WriteWithImm, Op::Kind::Write},
      {Opcode::Read, Op::Kind::Read},    {Opcode::CompareSwap, Op::Kind::Cas},
      {Opcode::FetchAdd, Op::Kind::Add}, {Opcode::Send, Op::Kind::Message}};
  op.kind = std::ranges::find(pairs, *r.opcode, &std::pair<Opcode, Op::Kind>::first)->second;
  return op;
}

/// With PSNs from `first` on, at 256 bytes a packet; on one count for all QPs.
inline Dump numbered(Dump dump, std::uint32_t first) {
  for (OutstandingRequest& r : dump) {
    r.psn = first & ((1U << 24) - 1);
    first += op_of(r).cells;
  }
  return dump;
}

/// `count` messages of that QP have consumed a receive.
inline Look received(const Dump& dump, std::uint32_t qp_num, std::uint64_t count) {
  return [=](const auto& done, const auto&) {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < dump.size(); ++i) {
      const Op op = op_of(dump[i]);
      found += op.queue == qp_num && op.notifies && done[i] == op.cells ? 1 : 0;
    }
    return found == count;
  };
}
/// `packets` packets of that QP have been executed.
inline Look executed(const Dump& dump, std::uint32_t qp_num, unsigned packets) {
  return [=](const auto& done, const auto&) {
    unsigned found = 0;
    for (std::size_t i = 0; i < dump.size(); ++i)
      found += op_of(dump[i]).queue == qp_num ? done[i] : 0;
    return found == packets;
  };
}

/// What the sender may overwrite later for the sake of those that are reposted: their cells, and
/// those of requests that meet them.
inline std::vector<unsigned> cells_of(const Tale& tale) {
  std::set<unsigned> cells;
  const bool spans = std::ranges::any_of(tale.ops, [](const Op& op) { return op.cells == 2; });
  for (const Op& op : tale.ops) {
    if (!op.is_reposted || op.kind == Op::Kind::Message) continue;
    cells.insert(op.first);
    if (spans) cells = {0, 1};
  }
  return {cells.begin(), cells.end()};
}

/// What the application found, and words to try because of it. Nothing where there is no look.
struct Found {
  Look look;
  std::set<unsigned> closed_queues;
  std::vector<Word> words = {};                // of memory, or in WRITEs
  std::optional<Word> initial = std::nullopt;  // known
  /// Asks of a run what the WRITEs of the tale make of it.
  std::function<Look(const Tale&)> look_of = {};

  /// Not found, but said: what a repost of these answers is their answer.
  std::set<std::size_t> answered = {};

  [[nodiscard]] bool is_any() const { return look || look_of; }
};

/// Each WRITE carries a word of its own, or one that a CAS expects, or one of `words`.
inline void fill_in(const Dump& dump, std::size_t way, const std::vector<Word>& words, Tale& tale) {
  const std::size_t choices = 3 + words.size();
  for (std::size_t i = 0; i < dump.size(); ++i) {
    if (!carries_data(*dump[i].opcode)) continue;
    const std::size_t choice = way % choices;
    tale.ops[i].word = choice == 0 ? 10 + i : choice < 3 ? 4 + choice : words[choice - 3];
    way /= choices;
  }
}

/// Whether reposting the requests of `reposted` can be seen, whatever was in memory and was
/// written.
inline bool shows(const Dump& dump, const std::vector<std::size_t>& reposted,
                  const Promise& promise, const Found& found = {}, bool* has_run = nullptr) {
  Tale tale;
  for (const OutstandingRequest& r : dump) tale.ops.push_back(op_of(r));
  for (const std::size_t index : reposted) {
    tale.ops[index].is_reposted = true;
    tale.ops[index].answers_for_both = found.answered.contains(index);
  }
  tale.is_fenced = promise.is_fenced;
  tale.closed_queues = found.closed_queues;
  tale.look = found.look;
  tale.later_cells = cells_of(tale);
  const std::vector<std::vector<std::optional<std::uint64_t>>> laters = {{std::nullopt, 50, 5, 6},
                                                                         {std::nullopt}};
  if (found.look && found.words.empty()) tale.known = Sender(tale).what_is_known();
  const bool has_stranger = promise.environment != Environment::Quiet;
  std::size_t ways = 1;  // of what the WRITEs carried
  for (const OutstandingRequest& r : dump)
    ways *= carries_data(*r.opcode) ? 3 + found.words.size() : 1;
  std::vector<Word> initials = {4, 5, 6};
  initials.insert(initials.end(), found.words.begin(), found.words.end());
  if (found.initial) initials = {*found.initial};
  for (const std::uint64_t initial : initials)
    for (std::size_t way = 0; way < ways; ++way)
      for (const auto& later : laters[promise.is_nothing_later ? 1 : 0])
        for (unsigned stranger = has_stranger ? 1 : 0; stranger <= (has_stranger ? 5U : 0U);
             ++stranger) {
          tale.initial = initial;
          tale.later = tale.later_cells.empty() ? std::nullopt : later;
          if (has_stranger) tale.stranger = testing::Stranger{std::uint64_t{stranger} + 3, 90};
          if (stranger == 3) tale.stranger = testing::Stranger{10, initial};
          // What a CAS expects comes back, whatever was there at first.
          if (stranger == 4) tale.stranger = testing::Stranger{6, 5};
          if (stranger == 5) tale.stranger = testing::Stranger{5, 6};
          fill_in(dump, way, found.words, tale);
          if (found.look_of) tale.look = found.look_of(tale);
          Sender sender(tale);
          const bool can_break = sender.can_break();
          if (has_run != nullptr) *has_run = *has_run || sender.has_run();
          if (can_break) return true;
        }
  return false;
}

inline std::vector<std::size_t> with_advice(const std::vector<Classification>& advice,
                                            Advice wanted) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < advice.size(); ++i)
    if (advice[i].advice == wanted) found.push_back(i);
  return found;
}

inline bool promises(const std::vector<Proviso>& provisos, Proviso proviso) {
  return std::ranges::find(provisos, proviso) != provisos.end();
}

/// CASes whose result the advice does not call unknown.
inline std::set<std::size_t> answered_by(const std::vector<Classification>& advice,
                                         const std::vector<std::size_t>& reposted) {
  std::set<std::size_t> found;
  for (const std::size_t index : reposted)
    if (std::ranges::none_of(advice[index].conditions, [](const Requirement& condition) {
          return condition.kind == Requirement::Kind::ResultUnknown;
        }))
      found.insert(index);
  return found;
}

struct Tally {
  unsigned reposted = 0, only_if = 0, never = 0;
};

/// Where the two opinions differ; nothing where they agree.
inline std::string difference(const Dump& dump, const Promise& promise, Tally& tally,
                              const Found& found = {}) {
  const auto advice = classify(dump).value();
  const auto reposted = with_advice(advice, Advice::Repost);
  tally.reposted += static_cast<unsigned>(reposted.size());
  // Requests that meet nobody are advised each by itself: what breaks without a repost, as a WRITE
  // that stays a half does, is none of the other's, nor is what another's evidence excludes.
  const bool is_apart = found.is_any() && groups_of(dump, Letters(dump))->size() > 1;
  const auto breaks = [&](const std::vector<std::size_t>& again, const Promise& given,
                          const Found& of) {
    return shows(dump, again, given, of) && !(is_apart && shows(dump, {}, given, of));
  };
  Found told = found;
  told.answered = answered_by(advice, reposted);
  if (!reposted.empty() && breaks(reposted, promise, told)) return "repost shows: " + text_of(dump);
  for (std::size_t i = 0; i < dump.size(); ++i) {
    const bool is_restricted =
        advice[i].advice == Advice::OnlyIf || advice[i].advice == Advice::Never;
    if (dump[i].outcome != Outcome::Unknown || !is_restricted) continue;
    ++(advice[i].advice == Advice::OnlyIf ? tally.only_if : tally.never);
    const bool is_never = advice[i].advice == Advice::Never;
    const bool must_show = is_never || !is_apart;
    if (must_show && !shows(dump, {i}, is_never ? kMostPromised : promise, found))
      return "nothing shows for " + std::to_string(i) + ": " + text_of(dump);
    for (const auto& provisos : advice[i].one_of) {
      Promise more = promise;
      more.is_fenced = more.is_fenced || promises(provisos, Proviso::FenceDone);
      more.is_nothing_later = more.is_nothing_later || promises(provisos, Proviso::NothingLater);
      if (promises(provisos, Proviso::TargetQuiet)) more.environment = Environment::Quiet;
      if (promises(provisos, Proviso::TagUnique)) continue;
      Found closed = found;
      if (promises(provisos, Proviso::QueuePairFenced)) closed.closed_queues = {1, 2};
      if (breaks({i}, more, closed))
        return "not enough for " + std::to_string(i) + ": " + text_of(dump);
    }
  }
  return {};
}

}  // namespace portcullis::failover::testing::opinion
