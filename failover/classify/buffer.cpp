// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "failover/classify/buffer_story.hpp"

namespace portcullis::failover {
namespace {

using Dump = std::vector<OutstandingRequest>;
using Answer = BufferAdvice::Answer;

constexpr const char* kStopped = "stopped before all of it was explored";
constexpr Proviso kProvisos[] = {Proviso::CompletionPolled, Proviso::FenceDone,
                                 Proviso::QueuePairFenced};

bool has_buffer(const OutstandingRequest& r) {
  constexpr std::string_view kWithout[] = {"LOCAL_INV", "BIND_MW", "FLUSH"};
  if (!r.opcode &&
      std::find(std::begin(kWithout), std::end(kWithout), r.opcode_name) != std::end(kWithout))
    return false;
  return r.sg_list ? !r.sg_list->empty() : r.length.value_or(1) != 0;
}

/// Bytes of the sender's, whose request, and where they end.
struct Run {
  std::uint64_t first, last;
  std::size_t request;
};

/// Of each request the others that have some of its bytes, in their order.
class Sharing {
 public:
  /// False: stopped.
  bool find(const Dump& dump, const std::atomic<bool>* stop) {
    others_.resize(dump.size());
    is_crowded_.resize(dump.size());
    for (std::size_t i = 0; i < dump.size(); ++i)
      if (dump[i].sg_list)
        for (const LocalBytes& bytes : *dump[i].sg_list)
          runs_.push_back({bytes.addr, bytes.addr + (bytes.length - 1), i});
    std::sort(runs_.begin(), runs_.end(),
              [](const Run& a, const Run& b) { return a.first < b.first; });
    find_crowds();
    const std::vector<std::size_t> next_quiet = quiet_ones();
    for (std::size_t at = 0; at < runs_.size(); ++at) {
      if (stop != nullptr && stop->load()) return false;
      const bool is_crowded = is_crowded_[runs_[at].request];
      const auto after = [&](std::size_t i) { return is_crowded ? next_quiet[i + 1] : i + 1; };
      for (std::size_t i = after(at); i < runs_.size() && runs_[i].first <= runs_[at].last;
           i = after(i)) {
        note(runs_[at].request, runs_[i].request);
        note(runs_[i].request, runs_[at].request);
      }
    }
    for (auto& one : others_) std::sort(one.begin(), one.end());
    return true;
  }
  [[nodiscard]] const std::vector<std::size_t>& with(std::size_t request) const {
    return others_[request];
  }
  /// More than are listed.
  [[nodiscard]] bool is_crowded(std::size_t request) const {
    return is_crowded_[request] || others_[request].size() > kMostSharing;
  }

 private:
  /// Those that so many runs meet that they are not looked at one by one.
  void find_crowds() {
    constexpr std::size_t kMostMeetings = 4096;
    std::vector<std::uint64_t> lasts;
    for (const Run& run : runs_) lasts.push_back(run.last);
    std::sort(lasts.begin(), lasts.end());
    std::vector<std::size_t> meetings(others_.size());
    for (const Run& run : runs_) {
      const auto begun =
          std::upper_bound(runs_.begin(), runs_.end(), run.last,
                           [](std::uint64_t last, const Run& other) { return last < other.first; });
      const auto over = std::lower_bound(lasts.begin(), lasts.end(), run.first);
      meetings[run.request] += static_cast<std::size_t>(begun - runs_.begin()) -
                               static_cast<std::size_t>(over - lasts.begin()) - 1;
    }
    for (std::size_t i = 0; i < meetings.size(); ++i) is_crowded_[i] = meetings[i] > kMostMeetings;
  }
  /// From each place on the next run that is not of a crowd.
  [[nodiscard]] std::vector<std::size_t> quiet_ones() const {
    std::vector<std::size_t> next(runs_.size() + 1, runs_.size());
    for (std::size_t i = runs_.size(); i-- > 0;)
      next[i] = is_crowded_[runs_[i].request] ? next[i + 1] : i;
    return next;
  }
  void note(std::size_t request, std::size_t other) {
    auto& all = others_[request];
    if (request == other || is_crowded_[request] || all.size() > kMostSharing) return;
    if (std::find(all.begin(), all.end(), other) == all.end()) all.push_back(other);
  }

  std::vector<Run> runs_;
  std::vector<std::vector<std::size_t>> others_;
  std::vector<bool> is_crowded_;
};

BufferPromise with(BufferPromise promise, Proviso proviso) {
  if (proviso == Proviso::CompletionPolled) promise.is_polled = true;
  if (proviso == Proviso::FenceDone) promise.is_fenced = true;
  if (proviso == Proviso::QueuePairFenced) promise.is_queue_fenced = true;
  return promise;
}

class BufferAdviser {
 public:
  BufferAdviser(const Dump& dump, Effort effort, std::vector<Classification>& advice,
                const std::atomic<bool>* stop)
      : dump_(dump), effort_(effort), advice_(advice), stop_(stop) {}

  Result<void> advise() {
    if (!sharing_.find(dump_, stop_)) return stopped_from(0);
    for (const OutstandingRequest& r : dump_) {
      open_ += is_open(r) ? 1 : 0;
      unknown_ += is_open(r) && !r.sg_list ? 1 : 0;
    }
    for (std::size_t i = 0; i < dump_.size(); ++i) {
      if (stop_ != nullptr && stop_->load()) return stopped_from(i);
      name_answers(i);
      if (has_buffer(dump_[i])) PORTCULLIS_TRY(advise(i));
    }
    return {};
  }

 private:
  /// What is found for one request: by rule, or explored once for all that are alike.
  struct Found {
    bool is_needed = false;
    std::uint64_t states = 0;
  };

  /// Its buffer is not known to be done with. Of an opcode that is not modelled a completion says
  /// so too.
  static bool is_open(const OutstandingRequest& r) {
    return has_buffer(r) && !r.is_inline && !promise_of(r).is_polled;
  }

  Result<Found> look(const OutstandingRequest& r, const BufferPromise& promise) {
    if (effort_ == Effort::Rules) return Found{needs_buffer(r, promise), 0};
    const bool is_long = r.length.value_or(~std::uint64_t{0}) > 256;
    const Key key{*r.opcode,
                  is_long,
                  promise.is_polled,
                  promise.is_fenced,
                  promise.is_queue_fenced,
                  r.evidence.least,
                  r.evidence.most};
    const auto known = explored_.find(key);
    if (known != explored_.end()) return known->second;
    PORTCULLIS_TRY_ASSIGN(const Told told, tell_buffer(r, promise, stop_));
    const Found found{told.verdict != Told::Verdict::Safe, told.states};
    explored_[key] = found;
    return found;
  }

  Result<void> stopped_from(std::size_t first) {
    for (std::size_t i = first; i < dump_.size(); ++i) {
      if (!has_buffer(dump_[i])) continue;
      advice_[i].buffer.answer = Answer::NoAdvice;
      advice_[i].buffer.reason = kStopped;
    }
    return {};
  }

  Result<void> advise(std::size_t i) {
    BufferAdvice& told = advice_[i].buffer;
    told.answer = Answer::NoAdvice;
    told.is_by_rule = effort_ == Effort::Rules;
    if (sharing_.is_crowded(i)) {
      told.reason =
          fmt::format("more than {} requests share its bytes, or in too many pieces", kMostSharing);
      return {};
    }
    std::vector<std::size_t> needing;
    std::vector<std::size_t> all = sharing_.with(i);
    all.insert(all.begin(), i);
    for (const std::size_t one : all) {
      const OutstandingRequest& r = dump_[one];
      if (!is_open(r)) continue;
      if (!r.opcode) {
        told.reason = fmt::format(
            "{}{} is not modelled; its buffer is free once its completion "
            "was polled",
            one == i ? "" : fmt::format("work_requests[{}]: ", one), r.opcode_name);
        return {};
      }
      PORTCULLIS_TRY_ASSIGN(const Found found, look(r, promise_of(r)));
      told.states += found.states;
      if (found.is_needed) needing.push_back(one);
      if (found.is_needed && one != i) told.shared_with.push_back(one);
    }
    add_conditions(i, all);
    if (needing.empty()) {
      told.answer = Answer::Reuse;
      told.reason = free_words(dump_[i]);
      return {};
    }
    return restrict(i, needing);
  }

  Result<void> restrict(std::size_t i, const std::vector<std::size_t>& needing) {
    BufferAdvice& told = advice_[i].buffer;
    for (int size = 1; size <= static_cast<int>(std::size(kProvisos)); ++size)
      for (unsigned set = 1; set < 1U << std::size(kProvisos); ++set)
        if (std::popcount(set) == size) PORTCULLIS_TRY(attempt(told, needing, set));
    const OutstandingRequest& first = dump_[needing.front()];
    told.answer = Answer::OnlyIf;
    told.reason = returns_word(*first.opcode)
                      ? "its answer may still come into the buffer"
                      : "it may be sent again, with what the buffer holds then";
    if (needing.front() != i)
      told.reason = fmt::format("work_requests[{}] has some of these bytes: {}", needing.front(),
                                told.reason);
    if (told.is_by_rule) return {};
    PORTCULLIS_TRY_ASSIGN(Told run, tell_buffer(first, promise_of(first), stop_));
    if (run.verdict != Told::Verdict::Unsafe) {  // stopped on the way
      told = {};
      told.answer = Answer::NoAdvice;
      told.reason = kStopped;
      return {};
    }
    told.trace = shortest_violation(*run.machine, false, ~std::uint64_t{0}, stop_);
    told.machine = std::move(run.machine);
    return {};
  }
  /// The provisos of `set`, unless fewer of them are enough.
  Result<void> attempt(BufferAdvice& told, const std::vector<std::size_t>& needing, unsigned set) {
    std::vector<Proviso> provisos;
    for (unsigned at = 0; at < std::size(kProvisos); ++at)
      if ((set >> at & 1U) != 0) provisos.push_back(kProvisos[at]);
    for (const auto& enough : told.one_of)
      if (std::includes(provisos.begin(), provisos.end(), enough.begin(), enough.end(),
                        [](Proviso a, Proviso b) { return place_of(a) < place_of(b); }))
        return {};
    const bool has_message = std::any_of(needing.begin(), needing.end(), [&](std::size_t one) {
      return !carries_rkey(*dump_[one].opcode);
    });
    // A fence of the QP is one of what names a key, and says more of a SEND alone.
    if ((set >> place_of(Proviso::QueuePairFenced) & 1U) != 0 && !has_message) return {};
    for (const std::size_t one : needing) {
      BufferPromise promise = promise_of(dump_[one]);
      for (const Proviso proviso : provisos) promise = with(promise, proviso);
      PORTCULLIS_TRY_ASSIGN(const Found found, look(dump_[one], promise));
      told.states += found.states;
      if (found.is_needed) return {};
    }
    told.one_of.push_back(std::move(provisos));
    return {};
  }
  static unsigned place_of(Proviso proviso) {
    return static_cast<unsigned>(std::find(std::begin(kProvisos), std::end(kProvisos), proviso) -
                                 std::begin(kProvisos));
  }

  /// Where there is no advice, too: whoever asks once more may get it, and read this again no more.
  [[nodiscard]] bool may_be_posted_again(std::size_t one) const {
    const Advice repost = advice_[one].advice;
    const bool is_undecided = repost == Advice::NoAdvice && dump_[one].outcome == Outcome::Unknown;
    return repost == Advice::Repost || repost == Advice::OnlyIf || is_undecided;
  }

  void add_conditions(std::size_t i, const std::vector<std::size_t>& all) {
    BufferAdvice& told = advice_[i].buffer;
    Requirement again{Requirement::Kind::NotPostedAgain, {}};
    Requirement last{Requirement::Kind::EvidenceIsLast, {}};
    for (const std::size_t one : all) {
      if (may_be_posted_again(one)) again.requests.push_back(one);
      if (is_open(dump_[one]) && dump_[one].evidence.is_of_execution())
        last.requests.push_back(one);
    }
    std::sort(again.requests.begin(), again.requests.end());
    std::sort(last.requests.begin(), last.requests.end());
    if (!again.requests.empty()) told.conditions.push_back(std::move(again));
    if (!last.requests.empty()) told.conditions.push_back(std::move(last));
    const std::size_t others = open_ - (is_open(dump_[i]) ? 1 : 0);
    if ((dump_[i].sg_list ? unknown_ : others) > 0)
      told.conditions.push_back({Requirement::Kind::BufferUnshared, {}});
  }

  static std::string free_words(const OutstandingRequest& r) {
    if (r.is_inline) return "it was copied when the request was posted";
    if (r.outcome == Outcome::Completed && r.status_name.empty())
      return "completed, as a later request of its QP did";
    if (!r.status_name.empty()) return "its completion was polled: nothing reads or writes it";
    if (returns_word(*r.opcode)) return "it was not executed and will not be: no answer comes";
    if (r.evidence.least == Part::All) return "all of it was executed: sent again it does nothing";
    return "what is sent from it is refused: a fence is in effect";
  }

  /// Whose answers may have come into what is to be sent again.
  void name_answers(std::size_t i) {
    for (Requirement& one : advice_[i].conditions) {
      if (one.kind != Requirement::Kind::SourceUnchanged || sharing_.is_crowded(i)) continue;
      for (const std::size_t other : sharing_.with(i)) {
        const OutstandingRequest& r = dump_[other];
        const bool has_answer = r.opcode ? returns_word(*r.opcode) : has_buffer(r);
        if (has_answer && r.evidence.most != Part::Nothing) one.requests.push_back(other);
      }
    }
  }

  using Key = std::tuple<Opcode, bool, bool, bool, bool, Part, Part>;

  const Dump& dump_;
  Effort effort_;
  std::vector<Classification>& advice_;
  const std::atomic<bool>* stop_;
  Sharing sharing_;
  std::size_t open_ = 0;     // that may need their buffers
  std::size_t unknown_ = 0;  // of them, wherever these are
  std::map<Key, Found> explored_;
};

}  // namespace

Result<void> advise_buffers(const Dump& dump, Effort effort, std::vector<Classification>& advice,
                            const std::atomic<bool>* stop) {
  return BufferAdviser(dump, effort, advice, stop).advise();
}

}  // namespace portcullis::failover
