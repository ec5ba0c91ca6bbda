// SPDX-License-Identifier: BSD-3-Clause
//
// A second opinion on advice, that shares nothing with the explorer: a sender, its queue pairs and
// two cells of memory, run through every order of events by plain recursion. What was seen is right
// when the sender's operations, in the order in which they were posted, explain it; those that were
// never answered may have happened or not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace portcullis::failover::testing {

struct Op {
  enum class Kind : std::uint8_t { Write, Read, Cas, Add, Message };
  Kind kind = Kind::Write;
  unsigned first = 0, cells = 1;
  std::uint64_t word = 0;     // data, swap or addend
  std::uint64_t compare = 0;  // of a CAS
  bool notifies = false;
  unsigned queue = 0;
  bool is_completed = false;
  bool is_reposted = false;
  bool answers_for_both = false;  // a reposted CAS: whatever word it returns
};

/// Another actor's one step: cell 0 from `from` to `to`, which it has seen.
struct Stranger {
  std::uint64_t from = 0, to = 0;
};

/// Whether what the application found agrees with the packets that were executed of each op, and
/// with memory.
using Look = std::function<bool(const std::vector<unsigned>&, const std::vector<std::uint64_t>&)>;

/// Of ops without an answer, what is so in every run that agrees with what was found.
struct Known {
  std::set<std::size_t> executed, not_executed;
};

struct Tale {
  std::vector<Op> ops;
  std::uint64_t initial = 0;
  bool is_fenced = false;              // the key is dead: a message needs none
  std::set<unsigned> closed_queues;    // nothing of these is executed once they have failed
  Look look;                           // before the first repost
  std::optional<std::uint64_t> later;  // the sender overwrites cells at the end
  std::vector<unsigned> later_cells = {0, 1};
  std::optional<Stranger> stranger;
  Known known = {};
};

class Sender {
 public:
  explicit Sender(Tale tale) : tale_(std::move(tale)) {}

  /// True when some run ends with what no order in time explains.
  bool can_break() {
    Now now;
    now.memory = {tale_.initial, tale_.initial};
    now.done.resize(tale_.ops.size());
    now.received.resize(tale_.ops.size());
    now.answers.resize(tale_.ops.size());
    return visit(now);
  }
  /// What was found tells this of the ops, as far as it is about packets and not about memory.
  Known what_is_known() {
    is_asking_ = true;
    for (std::size_t i = 0; i < tale_.ops.size(); ++i) {
      known_.executed.insert(i);
      if (is_refused(tale_.ops[i])) known_.not_executed.insert(i);
    }
    (void)can_break();
    return has_run_ ? known_ : Known{};
  }
  /// Some run of those that were visited agrees with what was found.
  [[nodiscard]] bool has_run() const { return has_run_; }

 private:
  using Words = std::vector<std::uint64_t>;
  struct Answer {
    bool is_given = false;
    std::uint64_t word = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means the 0 of the comparison
    auto operator<=>(const Answer&) const = default;
  };
  struct Now {
    Words memory;
    std::vector<unsigned> done;      // packets of the first attempts
    std::vector<unsigned> received;  // messages
    std::vector<Answer> answers;
    unsigned stage = 0;   // 0: QPs work; then each op's repost in turn; then the later WRITE
    unsigned packet = 0;  // of the stage
    bool has_failed = false;
    bool has_looked = false;
    int stranger_after = -1;  // not yet; else that many of the ops had been answered, from the left
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means the 0 of the comparison
    auto operator<=>(const Now&) const = default;
  };

  [[nodiscard]] static bool answers(const Op& op) {
    return op.kind != Op::Kind::Write && op.kind != Op::Kind::Message;
  }
  /// One packet on memory; the word that was there.
  static std::uint64_t execute(const Op& op, unsigned packet, Words& memory) {
    if (op.kind == Op::Kind::Message) return 0;
    std::uint64_t& cell = memory[op.first + packet];
    const std::uint64_t before = cell;
    if (op.kind == Op::Kind::Write) cell = op.word;
    if (op.kind == Op::Kind::Add) cell += op.word;
    if (op.kind == Op::Kind::Cas && before == op.compare) cell = op.word;
    return before;
  }

  bool visit(const Now& now) {
    if (!seen_.insert(now).second) return false;
    return first_attempts(now) || strange(now) || sender(now);
  }

  /// The next packet of each queue, while it can still arrive.
  bool first_attempts(const Now& now) {
    for (std::size_t i = 0; i < tale_.ops.size(); ++i) {
      const Op& op = tale_.ops[i];
      bool is_next = now.done[i] < op.cells && !(now.has_failed && is_refused(op));
      for (std::size_t j = 0; j < i; ++j)
        is_next = is_next && (tale_.ops[j].queue != op.queue || now.done[j] == tale_.ops[j].cells);
      if (!is_next) continue;
      Now next = now;
      const std::uint64_t before = execute(op, next.done[i]++, next.memory);
      const bool is_last = next.done[i] == op.cells;
      if (op.is_completed && is_last) next.answers[i] = {true, answers(op) ? before : 0};
      if (op.notifies && is_last && ++next.received[i] > 1) return true;
      if (visit(next)) return true;
    }
    return false;
  }

  [[nodiscard]] bool is_refused(const Op& op) const {
    return (tale_.is_fenced && op.kind != Op::Kind::Message) ||
           tale_.closed_queues.contains(op.queue);
  }

  bool strange(const Now& now) {
    if (!tale_.stranger || now.stranger_after >= 0 || now.memory[0] != tale_.stranger->from)
      return false;
    Now next = now;
    next.memory[0] = tale_.stranger->to;
    next.stranger_after = 0;  // the last answered one before it
    for (std::size_t i = 0; i < now.answers.size(); ++i)
      if (now.answers[i].is_given && is_told(now, i)) next.stranger_after = static_cast<int>(i) + 1;
    if (now.stage > tale_.ops.size()) next.stranger_after = static_cast<int>(tale_.ops.size());
    return visit(next);
  }
  /// The sender learns of a completion once it goes on.
  [[nodiscard]] bool is_told(const Now& now, std::size_t op) const {
    return now.has_failed && (tale_.ops[op].is_completed || op < now.stage);
  }

  bool sender(const Now& now) {
    const std::size_t count = tale_.ops.size();
    if (!now.has_failed) {
      for (std::size_t i = 0; i < count; ++i)
        if (tale_.ops[i].is_completed && now.done[i] != tale_.ops[i].cells) return false;
      Now next = now;
      next.has_failed = true;
      return visit(next);
    }
    if (tale_.look && !now.has_looked) {
      if (!tale_.look(now.done, now.memory)) return false;
      has_run_ = true;
      if (is_asking_) return note(now);
      Now next = now;
      next.has_looked = true;
      return visit(next);
    }
    if (now.stage < count) return repost(now);
    if (now.stage == count && tale_.later) {
      Now next = now;
      next.memory[tale_.later_cells[next.packet++]] = *tale_.later;
      if (next.packet == tale_.later_cells.size()) ++next.stage;
      return visit(next);
    }
    // What may still arrive may as well be lost: every such state is an end.
    return !is_explained(now);
  }
  bool note(const Now& now) {
    for (std::size_t i = 0; i < tale_.ops.size(); ++i) {
      if (now.done[i] != tale_.ops[i].cells) known_.executed.erase(i);
      if (now.done[i] != 0) known_.not_executed.erase(i);
    }
    return false;
  }
  bool repost(const Now& now) {
    const Op& op = tale_.ops[now.stage];
    Now next = now;
    if (!op.is_reposted) {
      ++next.stage;
      return visit(next);
    }
    const std::uint64_t before = execute(op, next.packet++, next.memory);
    if (next.packet < op.cells) return visit(next);
    if (op.notifies && ++next.received[now.stage] > 1) return true;
    // A CAS that does not return what it compares with says nothing of the first attempt.
    if (op.kind != Op::Kind::Cas || before == op.compare || op.answers_for_both)
      next.answers[now.stage] = {true, answers(op) ? before : 0};
    next.packet = 0;
    ++next.stage;
    return visit(next);
  }

  bool is_explained(const Now& now) const {
    return explains(now, 0, Words{tale_.initial, tale_.initial}, now.stranger_after < 0);
  }
  /// Op after op: each that was answered, with that answer; the others or not.
  bool explains(const Now& now, std::size_t at, const Words& memory, bool was_strange) const {
    const std::size_t count = tale_.ops.size();
    if (!was_strange && static_cast<int>(at) >= now.stranger_after &&
        memory[0] == tale_.stranger->from) {
      Words changed = memory;
      changed[0] = tale_.stranger->to;
      if (explains(now, at, changed, true)) return true;
    }
    if (at == count) {
      Words final = memory;
      for (const unsigned cell : tale_.later_cells)
        if (tale_.later) final[cell] = *tale_.later;
      // One that came after the later WRITE is ordered after it.
      if (!was_strange && tale_.later && now.stranger_after == static_cast<int>(count) &&
          final[0] == tale_.stranger->from) {
        final[0] = tale_.stranger->to;
        was_strange = true;
      }
      return was_strange && final == now.memory;
    }
    const Answer& answer = now.answers[at];
    // The receiver knows of a message that it was handed.
    const bool may_be_left_out =
        !answer.is_given && now.received[at] == 0 && !tale_.known.executed.contains(at);
    if (may_be_left_out && explains(now, at + 1, memory, was_strange)) return true;
    if (!answer.is_given && tale_.known.not_executed.contains(at)) return false;
    Words after = memory;
    std::uint64_t before = 0;
    for (unsigned packet = 0; packet < tale_.ops[at].cells; ++packet)
      before = execute(tale_.ops[at], packet, after);
    if (answer.is_given && answers(tale_.ops[at]) && answer.word != before) return false;
    return explains(now, at + 1, after, was_strange);
  }

  Tale tale_;
  Known known_;
  bool is_asking_ = false;
  std::set<Now> seen_;
  bool has_run_ = false;
};

}  // namespace portcullis::failover::testing
