// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/classify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "failover/classify/alike.hpp"
#include "failover/classify/buffer.hpp"
#include "failover/classify/findings.hpp"
#include "failover/classify/meeting.hpp"
#include "failover/classify/order.hpp"
#include "failover/classify/rules.hpp"

namespace portcullis::failover {
namespace {

using Dump = std::vector<OutstandingRequest>;
using Members = std::vector<unsigned>;

constexpr Proviso kProvisos[] = {Proviso::FenceDone, Proviso::TargetQuiet, Proviso::TagUnique,
                                 Proviso::NothingLater, Proviso::QueuePairFenced};

struct Words {
  std::string reason, lemma;
};

Words repost_words(const OutstandingRequest& r) {
  const bool is_quiet = r.contract.environment == Environment::Quiet;
  switch (*r.opcode) {
    case Opcode::Read:
      return {"a READ has no effect", "read_solvable"};
    case Opcode::FetchAdd:
      return {"an addend of 0 modulo 2^64 has no effect", "fadd_solvable_iff"};
    case Opcode::CompareSwap:
      if (r.compare_add == r.swap)
        return {"compare and swap are the same word: no effect", "cas_solvable_iff"};
      if (is_quiet)
        return {"the repeated CAS is absorbed in memory", "cas_quiet, cas_quiet_result_wrong"};
      return {"the expected word never comes back, so the repeated CAS is absorbed, however late",
              "T4b"};
    default:
      break;
  }
  if (is_quiet) return {"nobody else touches the target: the WRITE is absorbed", "write_quiet"};
  return {"no old packet can arrive any more, and nobody reads before the notification",
          "fence_makes_write_repostable"};
}

Words never_words(const OutstandingRequest& r) {
  if (notifies(*r.opcode))
    return {
        "a repeated message consumes a second receive; the receiver must drop duplicates "
        "itself, by a number in the message",
        "notification_never"};
  if (*r.opcode == Opcode::FetchAdd)
    return {"a second FADD adds again, and no read or fence tells whether the first one did",
            "fadd_quiet, T3_no_protocol"};
  if (*r.opcode == Opcode::CompareSwap)
    return {"the expected word may come back, and then the CAS happens twice", "cas_aba"};
  return {"a late or repeated WRITE destroys what was written after it", "T2_ghost_write"};
}

Words only_if_words(const OutstandingRequest& r) {
  if (*r.opcode == Opcode::CompareSwap)
    return {"the expected word may come back, and then the CAS happens twice", "cas_aba, T4b"};
  if (r.contract.environment == Environment::Quiet)
    return {"an old packet may arrive after what the sender posts to these bytes later",
            "T2_ghost_write"};
  if (r.contract.environment == Environment::Reuse && r.contract.consumer == Consumer::Notified)
    return {"an old packet may arrive after the buffer was reused",
            "T2_ghost_write, fence_makes_write_repostable"};
  return {"the WRITE may have happened, and what came after it would be overwritten",
          "write_other_writer, write_quiet"};
}

/// The contract with one more thing promised; false when it was already.
bool promise(Contract& contract, Proviso proviso) {
  switch (proviso) {
    case Proviso::FenceDone:
      return !std::exchange(contract.is_fenced, true);
    case Proviso::TargetQuiet:
      return std::exchange(contract.environment, Environment::Quiet) != Environment::Quiet;
    case Proviso::TagUnique:
      return !std::exchange(contract.has_unique_tags, true);
    case Proviso::NothingLater:
      return !std::exchange(contract.is_nothing_later, true);
    case Proviso::QueuePairFenced:
      return !std::exchange(contract.are_queues_fenced, true);
    case Proviso::CompletionPolled:  // of a buffer alone
      return false;
  }
  return false;
}

bool swaps_for_itself(const OutstandingRequest& r) {
  return r.opcode == Opcode::CompareSwap && r.compare_add == r.swap;
}

bool is_asked(const std::vector<bool>& asked, std::size_t number) {
  return asked.empty() || asked[number];
}

std::string names_of(const std::vector<std::size_t>& requests) {
  std::string text;
  for (const std::size_t index : requests)
    text += fmt::format("{}work_requests[{}]", text.empty() ? "" : ", ", index);
  return text;
}

void forget_memory(Evidence& evidence) {
  evidence.word.reset();
  evidence.word_before.reset();
  evidence.holds_source.reset();
}

/// A dump that is being classified.
struct Case {
  const Dump& dump;
  Effort effort;
  std::vector<Classification>& advice;
  const std::atomic<bool>* stop;
  const Asked& asked;
  const PostedOn& posted_on;
  const Letters& letters;
};

/// The requests of one group, and what is found for them.
class GroupAdvice {
 public:
  GroupAdvice(const Case& of, const Members& members)
      : dump_(of.dump),
        story_(story_of(of.dump, members, of.letters)),
        advice_(of.advice),
        stop_(of.stop),
        asked_(of.asked.requests) {
    std::size_t at = 0;
    for (const unsigned member : members) {
      while (story_.requests[at].is_message) ++at;
      if (is_candidate(dump_[member])) candidates_.push_back({member, at});
      ++at;
    }
  }

  Result<void> decide() {
    PORTCULLIS_TRY(check_memory());
    if (candidates_.empty()) return {};
    PORTCULLIS_TRY_ASSIGN(const bool all_safe, are_safe(candidates_));
    std::vector<Candidate> safe = all_safe ? candidates_ : std::vector<Candidate>();
    for (const Candidate& one : candidates_) {
      if (all_safe) break;
      PORTCULLIS_TRY_ASSIGN(const bool is_safe, are_safe({one}));
      if (is_safe)
        safe.push_back(one);
      else if (is_asked(asked_, one.number))
        PORTCULLIS_TRY(restrict(one));
    }
    PORTCULLIS_TRY_ASSIGN(const bool is_joint_safe, are_safe(safe));
    if (is_joint_safe) PORTCULLIS_TRY(ask_for_answers(safe));
    for (const Candidate& one : safe) is_joint_safe ? allow(one, safe) : part(one, safe);
    for (const Candidate& one : candidates_) note_company(one);
    return {};
  }
  /// What the table has of a request that meets nobody.
  void decide_by_rule() {
    for (const Candidate& one : candidates_) {
      Classification& c = advice_[one.number];
      const OutstandingRequest& r = dump_[one.number];
      c.reason = kNoRule;
      const std::optional<Ruling> ruling = is_plain() ? rule_for(r) : std::nullopt;
      if (!ruling) continue;
      Words words = ruling->advice == Advice::Repost  ? repost_words(r)
                    : ruling->advice == Advice::Never ? never_words(r)
                                                      : only_if_words(r);
      c.advice = ruling->advice;
      c.one_of = ruling->one_of;
      c.reason = std::move(words.reason);
      c.lemma = std::move(words.lemma);
      if (c.advice != Advice::Never) c.conditions = conditions_of(one, {one});
      c.is_by_rule = true;
    }
  }

 private:
  struct Candidate {
    unsigned number;  // in the dump
    std::size_t at;   // in the story
  };

  Result<Told> tell_of(const std::vector<Candidate>& reposted, const Contract& contract) {
    Story story = story_;
    story.contract = contract;
    for (const Candidate& one : reposted) story.requests[one.at].is_reposted = true;
    constexpr std::uint64_t kMostOfAGroup = 1'000'000;  // states; some seconds
    if (states_ > kMostOfAGroup)
      return Told{Told::Verdict::Undecided, Violation::None, 0, true, std::nullopt};
    PORTCULLIS_TRY_ASSIGN(Told told, tell(story, stop_));
    states_ += told.states;
    return told;
  }
  /// Whether what the reposted CASes that change nothing return may be taken for their answer.
  Result<void> ask_for_answers(const std::vector<Candidate>& reposted) {
    const bool is_asked = std::ranges::any_of(
        reposted, [&](const Candidate& one) { return swaps_for_itself(dump_[one.number]); });
    if (!is_asked || is_plain()) return {};
    story_.takes_any_answer = true;
    const Result<bool> is_safe = are_safe(reposted);
    story_.takes_any_answer = false;
    PORTCULLIS_TRY(is_safe);
    are_answers_known_ = *is_safe;
    return {};
  }
  Result<bool> are_safe(const std::vector<Candidate>& reposted) {
    PORTCULLIS_TRY_ASSIGN(const Told told, tell_of(reposted, story_.contract));
    return told.verdict == Told::Verdict::Safe;
  }

  /// Some run leads to what was found in memory, one piece of it after the other.
  Result<void> check_memory() {
    Story story = story_;
    for (StoryRequest& request : story.requests) forget_memory(request.request.evidence);
    for (std::size_t at = 0; at < story_.requests.size(); ++at) {
      const Evidence& evidence = story_.requests[at].request.evidence;
      if (!evidence.is_of_memory()) continue;
      story.requests[at].request.evidence = evidence;
      PORTCULLIS_TRY_ASSIGN(const Told told, tell(story, stop_));
      states_ += told.states;
      if (!told.has_run)
        return fail(Errc::InvalidArgument,
                    fmt::format("{}: no run of {} leaves this in memory; what some run leaves is "
                                "accepted",
                                evidence.place, names_of(all_of_it())));
    }
    return {};
  }

  /// Not safe as things stand: what else must be promised, or nothing that can be.
  Result<void> restrict(const Candidate& one) {
    Classification& c = advice_[one.number];
    PORTCULLIS_TRY_ASSIGN(Told as_is, tell_of({one}, story_.contract));
    if (as_is.verdict == Told::Verdict::Undecided) return too_much(c);
    for (unsigned size = 1; size <= std::size(kProvisos); ++size)
      for (unsigned set = 1; set < 1U << std::size(kProvisos); ++set) {
        if (std::popcount(set) != static_cast<int>(size)) continue;
        PORTCULLIS_TRY_ASSIGN(const bool is_decided, attempt(one, set));
        if (!is_decided) return too_much(c);
      }
    if (c.one_of.empty()) return forbid(one);
    c.advice = Advice::OnlyIf;
    c.conditions = conditions_of(one, {one});
    Requirement others{Requirement::Kind::NoOtherRepost, {}};
    for (const Candidate& other : candidates_)
      if (other.number != one.number) others.requests.push_back(other.number);
    if (!others.requests.empty()) c.conditions.push_back(std::move(others));
    return explain(one, only_if_words(dump_[one.number]), std::move(as_is));
  }
  /// Never, where it is the repost that breaks what is safe without one: with all that can be
  /// promised, and first attempts that execute in posting order.
  Result<void> forbid(const Candidate& one) {
    Classification& c = advice_[one.number];
    PORTCULLIS_TRY_ASSIGN(Story apart, most_promised());
    Story most = apart;
    for (StoryRequest& request : most.requests) request.queue = 0;
    most.is_order_alone = true;  // one may have completed before another's QP failed
    PORTCULLIS_TRY_ASSIGN(Told idle, tell(most, stop_));
    if (!idle.has_run) {  // the evidence says that they executed in another order
      most = std::move(apart);
      PORTCULLIS_TRY_ASSIGN(idle, tell(most, stop_));
    }
    most.requests[one.at].is_reposted = true;
    PORTCULLIS_TRY_ASSIGN(Told told, tell(most, stop_));
    states_ += idle.states + told.states;
    // A second receive is the repost's doing, whatever a first attempt in part leaves behind.
    const bool is_by_repost =
        idle.verdict == Told::Verdict::Safe || told.violation == Violation::DuplicateNotification;
    if (!is_by_repost || told.verdict != Told::Verdict::Unsafe) {
      c = {};
      c.reason = "some run breaks whatever is promised, but not by this repost alone";
      return {};
    }
    c.advice = Advice::Never;
    return explain(one, never_words(dump_[one.number]), std::move(told));
  }
  /// All that can be promised beside the evidence.
  Result<Story> most_promised() {
    Story most = story_;
    for (const Proviso proviso : kProvisos) {
      Story more = most;
      if (!applies(proviso) || !promise(more.contract, proviso)) continue;
      PORTCULLIS_TRY_ASSIGN(const Told told, tell(more, stop_));
      states_ += told.states;
      if (told.has_run) most = std::move(more);
    }
    return most;
  }
  /// Nothing is refused without the run that shows it, which time or memory may not suffice for.
  Result<void> explain(const Candidate& one, Words words, Told told) {
    Classification& c = advice_[one.number];
    c.trace = shortest_violation(*told.machine, false, ~std::uint64_t{0}, stop_);
    if (!c.trace) return too_much(c);
    c.machine = std::move(told.machine);
    c.reason = std::move(words.reason);
    c.lemma = std::move(words.lemma);
    if (is_plain()) return {};
    c.lemma.clear();
    c.reason = fmt::format("explored with {}: {}", companions(one), name_of(c.trace->violation));
    return {};
  }
  /// The provisos of `set`, unless fewer of them are enough; false when that is undecided.
  Result<bool> attempt(const Candidate& one, unsigned set) {
    Classification& c = advice_[one.number];
    Contract contract = story_.contract;
    std::vector<Proviso> provisos;
    for (unsigned i = 0; i < std::size(kProvisos); ++i) {
      if ((set >> i & 1U) == 0) continue;
      provisos.push_back(kProvisos[i]);
      if (!applies(kProvisos[i]) || !promise(contract, kProvisos[i])) return true;
    }
    for (const auto& enough : c.one_of)
      if (std::includes(provisos.begin(), provisos.end(), enough.begin(), enough.end()))
        return true;
    PORTCULLIS_TRY_ASSIGN(const Told told, tell_of({one}, contract));
    // What no run agrees with, because the evidence says otherwise, nobody can promise.
    if (told.verdict == Told::Verdict::Safe && told.has_run)
      c.one_of.push_back(std::move(provisos));
    return told.verdict != Told::Verdict::Undecided;
  }
  /// Whether it can make a difference to this story.
  [[nodiscard]] bool applies(Proviso proviso) const {
    const auto is_any = [&](const auto& matters) {
      return std::any_of(story_.requests.begin(), story_.requests.end(),
                         [&](const StoryRequest& r) { return matters(r.request); });
    };
    if (proviso == Proviso::TagUnique)
      return is_any([](const auto& r) { return r.opcode == Opcode::CompareSwap; });
    return proviso != Proviso::QueuePairFenced || is_any([](const auto& r) {
             return r.opcode == Opcode::Send && r.evidence.most != Part::All &&
                    !r.evidence.is_queue_fenced;
           });
  }

  static Result<void> too_much(Classification& c) {
    c = {};
    c.reason = "more to explore than is tried here";
    return {};
  }

  void allow(const Candidate& one, const std::vector<Candidate>& together) {
    Classification& c = advice_[one.number];
    c.advice = Advice::Repost;
    c.conditions = conditions_of(one, together);
    Words words = repost_words(dump_[one.number]);
    c.reason = std::move(words.reason);
    c.lemma = std::move(words.lemma);
    if (is_plain()) return;
    c.lemma.clear();
    c.reason =
        fmt::format("explored with {}: no run shows that it was posted twice", companions(one));
  }
  /// Each may be reposted, but not all of them.
  void part(const Candidate& one, const std::vector<Candidate>& together) {
    std::vector<std::size_t> others;
    for (const Candidate& other : together)
      if (other.number != one.number) others.push_back(other.number);
    advice_[one.number].reason = fmt::format(
        "safe where it alone is reposted, not together with {}; which of them matters the dump "
        "does not say",
        names_of(others));
  }
  void note_company(const Candidate& one) {
    advice_[one.number].explored_with = company(one);
    advice_[one.number].states = states_;
  }

  /// Nothing but the one request and its contract was looked at.
  [[nodiscard]] bool is_plain() const {
    return story_.requests.size() == 1 && !has_evidence(story_);
  }
  [[nodiscard]] std::vector<std::size_t> all_of_it() const {
    std::vector<std::size_t> all;
    for (const StoryRequest& each : story_.requests) all.push_back(each.request.index);
    return all;
  }
  /// Whatever the request was explored with.
  [[nodiscard]] std::string companions(const Candidate& one) const {
    std::string others = names_of(company(one));
    if (!has_evidence(story_)) return others;
    return others.empty() ? "the evidence" : others + " and the evidence";
  }
  [[nodiscard]] std::vector<std::size_t> company(const Candidate& one) const {
    std::vector<std::size_t> others;
    for (std::size_t at = 0; at < story_.requests.size(); ++at)
      if (at != one.at) others.push_back(story_.requests[at].request.index);
    return others;
  }
  [[nodiscard]] std::vector<Requirement> conditions_of(
      const Candidate& one, const std::vector<Candidate>& together) const {
    const OutstandingRequest& r = dump_[one.number];
    std::vector<Requirement> conditions;
    if (together.size() > 1) {
      Requirement order{Requirement::Kind::PostingOrder, {}};
      for (const Candidate& other : together) order.requests.push_back(other.number);
      conditions.push_back(std::move(order));
    }
    if (may_run_on(r)) conditions.push_back({Requirement::Kind::QueuePairFailed, {}});
    if ((carries_data(*r.opcode) || *r.opcode == Opcode::Send) && r.length.value_or(1) != 0)
      conditions.push_back({Requirement::Kind::SourceUnchanged, {}});
    const bool is_answer_known = swaps_for_itself(r) && (is_plain() || are_answers_known_);
    if (*r.opcode == Opcode::CompareSwap && !is_answer_known)
      conditions.push_back({Requirement::Kind::ResultUnknown, {}});
    Requirement evidence{Requirement::Kind::EvidenceIsLast, {}};
    for (const StoryRequest& each : story_.requests)
      if (each.request.evidence.is_of_execution() || each.request.evidence.is_of_memory())
        evidence.requests.push_back(each.request.index);
    if (!evidence.requests.empty()) conditions.push_back(std::move(evidence));
    return conditions;
  }

  const Dump& dump_;
  Story story_;
  std::vector<Classification>& advice_;
  const std::atomic<bool>* stop_;
  const std::vector<bool>& asked_;
  std::vector<Candidate> candidates_;
  std::uint64_t states_ = 0;
  bool are_answers_known_ = false;  // of CASes that swap a word for itself, beside others
};

/// Requests that need no exploring, or cannot have it.
std::string plain_reason(const OutstandingRequest& r) {
  constexpr std::uint64_t kWordBytes = 8;
  if (r.outcome == Outcome::Completed)
    return r.status_name.empty() ? "completed, as a later request of its QP did: nothing to repeat"
                                 : "completed: nothing to repeat";
  if (!r.opcode) return fmt::format("{} is not modelled", r.opcode_name);
  if (r.outcome == Outcome::Refused)
    return "refused by the responder: at most its first packets were executed, and the next "
           "attempt meets the same refusal until its cause is gone";
  if (r.outcome == Outcome::Unmodelled)
    return fmt::format("what was executed before {} is not modelled", r.status_name);
  if (is_atomic(*r.opcode) && r.length.value_or(kWordBytes) != kWordBytes)
    return fmt::format("an atomic has 8 bytes, the dump says {}", *r.length);
  if (is_atomic(*r.opcode) && r.remote_addr.value_or(0) % kWordBytes != 0)
    return fmt::format("{:#x} is no multiple of 8: a responder refuses an atomic there",
                       *r.remote_addr);
  if (r.remote_addr && r.length && *r.length != 0 &&
      *r.remote_addr + (*r.length - 1) < *r.remote_addr)
    return fmt::format("its {} bytes at {:#x} reach beyond 2^64", *r.length, *r.remote_addr);
  return {};
}

bool is_over(const std::atomic<bool>* stop) { return stop != nullptr && stop->load(); }

/// Explores them, unless that was done before.
Result<void> decide_together(const Case& of, const Members& members) {
  Findings* const findings = of.asked.findings;
  std::string key;
  if (findings != nullptr) {
    key = Findings::key_of(story_of(of.dump, members, of.letters));
    for (const unsigned member : members) key += is_asked(of.asked.requests, member) ? '1' : '0';
    if (const auto* const known = findings->of(key)) {
      for (std::size_t i = 0; i < members.size(); ++i) of.advice[members[i]] = (*known)[i];
      return {};
    }
  }
  GroupAdvice group(of, members);
  PORTCULLIS_TRY(group.decide());
  if (findings == nullptr || is_over(of.stop)) return {};
  std::vector<Classification> found;
  for (const unsigned member : members) found.push_back(of.advice[member]);
  findings->keep(std::move(key), std::move(found));
  return {};
}

/// Where it is unclear what a request meets, one that no company makes repostable.
Result<void> decide_alone(const Case& of, const Group& group) {
  const auto& [dump, effort, advice, stop, asked, posted_on, letters] = of;
  for (const unsigned member : group.members) {
    if (is_over(stop)) return {};
    if (!is_candidate(dump[member])) continue;
    // What was found in memory may be another's work.
    const bool is_told =
        group.is_unclear && effort == Effort::Explore && !dump[member].evidence.is_of_memory();
    if (is_told) PORTCULLIS_TRY(decide_together(of, {member}));
    if (advice[member].advice == Advice::Never) continue;
    advice[member] = {};
    advice[member].reason = group.obstacle;
  }
  return {};
}

/// More READs than are explored together, or that may meet: each with one that was answered behind
/// it, and in posting order with the one that is reposted next.
Result<void> decide_reads(const Case& of, const Group& group) {
  const auto& [dump, effort, advice, stop, asked, posted_on, letters] = of;
  std::optional<unsigned> last;
  for (const unsigned member : group.members) {
    if (is_over(stop)) return {};
    if (!is_candidate(dump[member])) continue;
    const auto answered = answered_read_behind(dump, group.members, member);
    if (answered && !answered->is_sure) {
      advice[member].reason = group.obstacle;
      continue;
    }
    const Members together = answered ? Members{member, answered->number} : Members{member};
    PORTCULLIS_TRY(decide_together(of, together));
    if (advice[member].advice != Advice::Repost) continue;
    if (last) order(advice, *last, member);
    if (last) order(advice, member, *last);
    last = member;
  }
  return {};
}

/// `alike` knows what was decided before.
Result<void> decide_group(const Case& of, const Group& group, Alike& alike) {
  const auto& [dump, effort, advice, stop, asked, posted_on, letters] = of;
  const bool are_reads = group.is_of_reads && effort == Effort::Explore;
  if (are_reads) return decide_reads(of, group);
  if (!group.obstacle.empty()) return decide_alone(of, group);
  if (effort == Effort::Rules) {
    GroupAdvice(of, group.members).decide_by_rule();
    return {};
  }
  if (group.members.size() == 1) {
    const unsigned one = group.members.front();
    const unsigned same = alike.earlier(story_of(dump, group.members, letters), one).value_or(one);
    if (same != one) {
      advice[one] = told_of(advice[same], same, one);
      return {};
    }
  }
  return decide_together(of, group.members);
}

/// Those that are asked for, and the messages whose repost has an order with theirs.
std::vector<bool> needed_for(const Case& of, const std::vector<Group>& groups) {
  const std::vector<bool>& asked = of.asked.requests;
  std::vector<bool> needed = asked;
  if (asked.empty()) return needed;
  for (const Group& group : groups)
    if (std::ranges::any_of(group.members, [&](unsigned i) { return asked[i]; }))
      for (const unsigned message : of.letters.unknown())
        needed[message] = needed[message] || message > group.members.front();
  std::set<std::optional<std::uint32_t>> queues;  // a QP's messages have an order
  for (std::size_t i = 0; i < of.dump.size(); ++i)
    if (asked[i] && of.posted_on[i]) queues.insert(of.posted_on[i]);
  for (std::size_t i = 0; i < of.dump.size(); ++i)
    if (queues.contains(of.posted_on[i]) && of.dump[i].opcode && notifies(*of.dump[i].opcode))
      needed[i] = true;
  return needed;
}

Result<void> decide_all(const Case& of) {
  const auto& [dump, effort, advice, stop, asked, posted_on, letters] = of;
  constexpr const char* kStopped = "stopped before all of it was explored";
  const std::optional<std::vector<Group>> groups = groups_of(dump, letters, stop);
  if (!groups) {
    for (Classification& c : advice) c.reason = kStopped;
    return {};
  }
  Alike alike;
  const std::vector<bool> needed = needed_for(of, *groups);
  for (const Group& group : *groups) {
    const bool is_needed =
        std::ranges::any_of(group.members, [&](unsigned i) { return is_asked(needed, i); });
    if (!is_needed) continue;
    if (!is_over(stop)) PORTCULLIS_TRY(decide_group(of, group, alike));
    if (!is_over(stop)) continue;
    for (const unsigned member : group.members) {
      advice[member] = {};
      advice[member].reason = kStopped;
    }
  }
  if (effort == Effort::Rules) leave_open(dump, *groups, letters, advice);
  order_messages(dump, *groups, letters, advice);
  order_among_messages(dump, posted_on, advice);
  return {};
}

}  // namespace

const char* name_of(Advice advice) noexcept {
  switch (advice) {
    case Advice::Repost:
      return "repost";
    case Advice::Never:
      return "never";
    case Advice::OnlyIf:
      return "only-if";
    case Advice::NoAdvice:
      return "no-advice";
  }
  return "?";
}

const char* name_of(BufferAdvice::Answer answer) noexcept {
  switch (answer) {
    case BufferAdvice::Answer::None:
      return "none";
    case BufferAdvice::Answer::Reuse:
      return "reuse";
    case BufferAdvice::Answer::OnlyIf:
      return "only-if";
    case BufferAdvice::Answer::NoAdvice:
      return "no-advice";
  }
  return "?";
}

const char* name_of(Proviso proviso) noexcept {
  switch (proviso) {
    case Proviso::FenceDone:
      return "fence-done";
    case Proviso::TargetQuiet:
      return "target-quiet";
    case Proviso::TagUnique:
      return "tag-unique";
    case Proviso::NothingLater:
      return "nothing-later";
    case Proviso::QueuePairFenced:
      return "queue-pair-fenced";
    case Proviso::CompletionPolled:
      return "completion-polled";
  }
  return "?";
}

const char* name_of(Requirement::Kind kind) noexcept {
  switch (kind) {
    case Requirement::Kind::PostingOrder:
      return "posting-order";
    case Requirement::Kind::NoOtherRepost:
      return "no-other-repost";
    case Requirement::Kind::QueuePairFailed:
      return "queue-pair-failed";
    case Requirement::Kind::SourceUnchanged:
      return "source-unchanged";
    case Requirement::Kind::ResultUnknown:
      return "result-unknown";
    case Requirement::Kind::EvidenceIsLast:
      return "evidence-is-last";
    case Requirement::Kind::BufferUnshared:
      return "buffer-unshared";
    case Requirement::Kind::NotPostedAgain:
      return "not-posted-again";
  }
  return "?";
}

namespace {

/// Each request's own state, and the advice that follows from it; `dump` is settled by it.
Result<std::vector<Classification>> advise_reposts(Dump& dump, Effort effort,
                                                   const std::atomic<bool>* stop,
                                                   const Asked& asked) {
  for (std::size_t i = 0; i < dump.size(); ++i) dump[i].index = i;
  PostedOn posted_on;
  for (const OutstandingRequest& r : dump) posted_on.push_back(r.qp_num);
  const auto contradictions = settle_outcomes(dump);
  close_behind_fences(dump);
  std::vector<Classification> advice(dump.size());
  std::vector<std::string> plain;
  for (std::size_t i = 0; i < dump.size(); ++i) {
    plain.push_back(
        contradictions[i]
            ? fmt::format("the dump contradicts itself: {} here, and SUCCESS at "
                          "work_requests[{}], posted later on the same QP, which an error "
                          "would have stopped",
                          dump[i].status_name, *contradictions[i])
            : plain_reason(dump[i]));
    const bool is_unknown = is_candidate(dump[i]);
    if (!plain.back().empty() && is_unknown) dump[i].outcome = Outcome::Unmodelled;
  }
  PORTCULLIS_TRY(decide_all({dump, effort, advice, stop, asked, posted_on, Letters(dump)}));
  for (std::size_t i = 0; i < dump.size(); ++i) {
    if (plain[i].empty() && is_empty(dump[i]) && dump[i].outcome == Outcome::Unknown) {
      advice[i].advice = Advice::Repost;
      advice[i].reason = "it has no bytes";
      if (may_run_on(dump[i]))
        advice[i].conditions.push_back({Requirement::Kind::QueuePairFailed, {}});
    }
    if (plain[i].empty()) continue;
    advice[i].reason = plain[i];
    if (dump[i].outcome == Outcome::Completed) advice[i].advice = Advice::Never;
  }
  return advice;
}

}  // namespace

Result<std::vector<Classification>> classify_reposts(const Dump& given,
                                                     const std::atomic<bool>* stop, Effort effort,
                                                     const Asked& asked) {
  Dump dump = given;
  return advise_reposts(dump, effort, stop, asked);
}

Result<std::vector<Classification>> classify(const Dump& given, const std::atomic<bool>* stop,
                                             Effort effort) {
  Dump dump = given;
  PORTCULLIS_TRY_ASSIGN(std::vector<Classification> advice, advise_reposts(dump, effort, stop, {}));
  PORTCULLIS_TRY(advise_buffers(dump, effort, advice, stop));
  return advice;
}

}  // namespace portcullis::failover
