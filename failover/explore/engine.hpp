// SPDX-License-Identifier: BSD-3-Clause
//
// One exploration, for one size of state. Workers own the states whose hash says so: each expands
// its own, inserts those of the successors that it owns and hands the others to their owners, and
// inserts what it was handed. Two barriers a round, no lock, no shared table. A level of few states
// is not worth barriers: one thread does what all workers have to do, and the others sleep.
//
// Where steps a and b of two actors commute, a then b leads where b then a does, through a state
// of the same level. So b of the lower actor is counted but not followed from the state that a led
// to: its successor is also found by a, from the state that b leads to. That may be passed over as
// well, but for a step of an actor yet higher, so that one of the highest is followed in the end
// (sleep sets, Godefroid 1996, reduced to one step of memory). All states, transitions and depths
// remain.
#pragma once

#include <array>
#include <barrier>
#include <chrono>
#include <memory>
#include <new>
#include <thread>

#include "failover/explore/explorer.hpp"
#include "failover/explore/frontier.hpp"
#include "failover/explore/state_set.hpp"
#include "failover/explore/step_cache.hpp"
#include "failover/explore/storage.hpp"
#include "failover/explore/symmetry.hpp"

namespace portcullis::failover {

template <unsigned kWords>
class Engine {
 public:
  /// On the machine's own states, or on those of the view of one of the others.
  Engine(const Machine& machine, const Collapse* collapse, Parts* parts,
         const ExploreOptions& options)
      : m_(machine),
        collapse_(collapse),
        parts_(parts),
        view_(parts != nullptr      ? parts->view()
              : collapse != nullptr ? collapse->view()
                                    : machine),
        o_(options),
        domain_(domain_of(view_)),
        symmetry_(view_),
        budget_(options.memory_limit_bytes),
        together_(options.threads),
        expanded_(options.threads),
        absorbed_(options.threads, Steering{*this}) {
    constexpr std::uint64_t kFirstTables = std::uint64_t{1} << 17;  // of steps and parts
    budget_.set_aside(std::min(options.memory_limit_bytes / 4, kFirstTables));
    for (unsigned i = 0; i < o_.threads; ++i)
      workers_.push_back(std::make_unique<Worker>(*this, i));
  }

  Exploration run() {
    start_ = std::chrono::steady_clock::now();
    S first{};
    for (unsigned i = 0; i < kWords; ++i) first.words[i] = view_.initial.words[i];
    if (o_.uses_symmetry) first = symmetry_.canonical(first);
    const std::uint64_t hash = fingerprint(first, o_.seed, domain_);
    Worker& owner = *workers_[Set::share_of(hash, o_.threads)];
    owner.set.insert(first, hash);
    owner.has_no_memory = !owner.current.push(first, StepMark().byte());
    for (const auto& worker : workers_)
      std::fill(worker->recent.begin(), worker->recent.end(), first);
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < o_.threads; ++i) threads.emplace_back([this, i] { work(i); });
    work(0);
    for (std::thread& thread : threads) thread.join();
    return summary();
  }

 private:
  using S = State<kWords>;
  struct Handed {
    S state;
    std::uint64_t hash;
    StepMark by;
  };
  using Set = StateSet<kWords>;
  /// Different orders of the same steps meet soon: most repetitions are caught in a small cache
  /// before they cost a lookup. The initial state fills it, which no step needs to find new.
  static constexpr std::size_t kRecent = 2048;
  static constexpr unsigned kBlocksARound = 4;
  static constexpr std::size_t kAhead = 12;  // insertions between asking for memory and reading it

  struct alignas(64) Worker {
    Worker(Engine& engine, unsigned self)
        : set(upper_bytes(engine.view_, engine.o_.set), self, engine.o_.threads,
              engine.o_.expected_states, engine.domain_, &engine.budget_),
          current(state_bytes(engine.view_), spare, engine.budget_),
          next(state_bytes(engine.view_), spare, engine.budget_),
          steps(engine.m_, engine.collapse_, engine.parts_),
          outbox(engine.o_.threads),
          recent(kRecent) {}
    Set set;
    SpareBlocks spare;
    Frontier<kWords> current, next;
    StepCache<kWords> steps;
    std::vector<std::vector<Handed>> outbox;
    std::vector<S> recent;
    std::array<Handed, kAhead> coming;
    std::size_t awaited = 0;  // so many went through `coming` since all were inserted
    std::uint64_t transitions = 0;
    std::uint64_t stuck = 0;
    std::uint64_t cut = 0;
    Violation violation = Violation::None;  // of a step, so of the next level
    Violation of_state = Violation::None;   // of a state of this one, which comes first
    bool has_no_memory = false;

    /// Inserts a little later, when its place in the set has come from memory.
    void take_in(const Handed& handed) {
      set.prefetch(handed.hash);
      Handed& place = coming[awaited % kAhead];
      if (awaited >= kAhead) insert(place);
      place = handed;
      ++awaited;
    }
    void insert_rest() {
      for (std::size_t i = awaited - std::min(awaited, kAhead); i < awaited; ++i)
        insert(coming[i % kAhead]);
      awaited = 0;
    }
    void end_round() noexcept {
      try {
        insert_rest();
      } catch (const std::bad_alloc&) {
        has_no_memory = true;
      }
    }
    void insert(const Handed& handed) {
      if (set.insert(handed.state, handed.hash) && !next.push(handed.state, handed.by.byte()))
        has_no_memory = true;
    }
  };

  /// Between rounds, alone.
  struct Steering {
    Engine& engine;
    void operator()() const noexcept { engine.steer(); }
  };

  /// What steer() writes is read between two barriers in which nobody steers.
  void work(unsigned self) {
    for (;;) {
      if (self == 0) work_alone();
      together_.arrive_and_wait();
      if (is_over_) return;
      do {
        expand(self);
        expanded_.arrive_and_wait();
        absorb(self);
        absorbed_.arrive_and_wait();
      } while (!is_alone_ && !is_over_);
      together_.arrive_and_wait();
    }
  }
  void work_alone() {
    while (is_alone_ && !is_over_) {
      for (unsigned i = 0; i < o_.threads; ++i) expand(i);
      for (unsigned i = 0; i < o_.threads; ++i) workers_[i]->end_round();
      steer();
    }
  }

  void expand(unsigned self) {
    Worker& worker = *workers_[self];
    for (auto& box : worker.outbox) box.clear();
    const auto visit = [&](const S& state, std::uint8_t byte) {
      if (m_.scenario.has_history) note(worker.of_state, judge(m_, widen(state)));
      if (o_.uses_symmetry)
        expand_class(worker, state, StepMark::of_byte(byte));
      else
        expand_state(worker, state, StepMark::of_byte(byte));
    };
    try {
      for (unsigned i = 0; i < kBlocksARound; ++i)
        if (!worker.current.take_block(visit)) break;
      worker.insert_rest();
    } catch (const std::bad_alloc&) {
      worker.has_no_memory = true;
    }
  }
  void expand_state(Worker& worker, const S& state, StepMark last) {
    count(worker, state,
          worker.steps.for_each_step(state, last,
                                     [&](const S& next, StepMark by, Violation violation) {
                                       if (violation != Violation::None)
                                         return note(worker.violation, violation);
                                       hand_over(worker, next, by);
                                     }));
  }
  void count(Worker& worker, const S& state, std::uint64_t steps) const {
    worker.transitions += steps;
    if (steps != 0) return;
    const AnyState end = parts_ != nullptr      ? parts_->whole(state)
                         : collapse_ != nullptr ? collapse_->whole(state)
                                                : widen(state);
    if (!has_waiting_client(m_, end)) return;
    ++worker.stuck;
    if (is_cut(m_, end)) ++worker.cut;
  }
  /// In a class of states who is who says nothing, but what a client's block became does: of two
  /// steps that commute the one that leads to the greater block is followed.
  void expand_class(Worker& worker, const S& state, StepMark last) {
    const std::uint64_t steps =
        worker.steps.for_each_step(state, {}, [&](S next, StepMark by, Violation violation) {
          if (violation != Violation::None) return note(worker.violation, violation);
          const bool moves_one_block = by.actor() < m_.clients.size() && symmetry_.is_sorting();
          if (!moves_one_block) return hand_over(worker, symmetry_.canonical(next), {});
          if (last.actor() != 0 && by.commutes_with(last) &&
              symmetry_.is_before(next, by.actor(), last.actor()))
            return;
          const unsigned place = symmetry_.settle(next, by.actor());
          hand_over(worker, next, {place, by.touches_memory()});
        });
    count(worker, state, steps);
  }
  static void note(Violation& least, Violation violation) {
    if (violation == Violation::None) return;
    if (least == Violation::None || violation < least) least = violation;
  }
  void hand_over(Worker& worker, const S& state, StepMark by) {
    const std::uint64_t hash = fingerprint(state, o_.seed, domain_);
    S& recent = worker.recent[hash % kRecent];
    if (recent == state) return;
    recent = state;
    const unsigned owner = Set::share_of(hash, o_.threads);
    if (workers_[owner].get() == &worker) return worker.take_in({state, hash, by});
    if (is_alone_) return workers_[owner]->take_in({state, hash, by});
    worker.outbox[owner].push_back({state, hash, by});
  }

  void absorb(unsigned self) {
    Worker& worker = *workers_[self];
    try {
      for (const auto& from : workers_)
        for (const Handed& handed : from->outbox[self]) worker.take_in(handed);
    } catch (const std::bad_alloc&) {
      worker.has_no_memory = true;
    }
    worker.end_round();
  }

  /// Totals, limits, the next level.
  void steer() {
    totals_ = {};
    bool is_level_done = true;
    bool has_no_memory = false;
    for (const auto& worker : workers_) {
      totals_.states += worker->set.size();
      totals_.transitions += worker->transitions;
      totals_.frontier += worker->current.size() + worker->next.size();
      totals_.bytes += worker->set.bytes() + worker->current.bytes() + worker->next.bytes() +
                       worker->steps.bytes();
      note(workers_[0]->violation, worker->violation);
      note(workers_[0]->of_state, worker->of_state);
      is_level_done = is_level_done && worker->current.size() == 0;
      has_no_memory = has_no_memory || worker->has_no_memory || worker->set.is_exhausted();
    }
    if (parts_ != nullptr) totals_.bytes += parts_->bytes();
    // Tables of steps and parts may double until the next look at them.
    const std::uint64_t asked = budget_.taken();
    budget_.set_aside(2 * (totals_.bytes - std::min(asked, totals_.bytes)));
    greatest_bytes_ = std::max(greatest_bytes_, totals_.bytes);
    greatest_frontier_ = std::max(greatest_frontier_, totals_.frontier);
    totals_.depth = depth_;
    if (o_.stop != nullptr && o_.stop->load(std::memory_order_relaxed)) end(Ending::Interrupted);
    if (totals_.states > o_.state_limit) end(Ending::StateLimit);
    if (has_no_memory || totals_.bytes > o_.memory_limit_bytes || is_machine_full())
      end(Ending::MemoryLimit);
    if (parts_ != nullptr && parts_->is_overfull()) end(Ending::Interrupted);  // begun anew
    if (is_level_done) next_level();
    report_progress();
  }
  /// Others may take what was free when the run began, and the kernel would end it without a word.
  [[nodiscard]] bool is_machine_full() {
    if (o_.leave_bytes == 0) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < std::chrono::seconds(1)) return false;
    looked_ = now;
    const std::uint64_t left = machine_memory_left();
    return left != 0 && left < o_.leave_bytes;
  }
  void next_level() {
    if (workers_[0]->of_state != Violation::None) return end(Ending::Violated);
    if (workers_[0]->violation != Violation::None) {
      ++depth_;
      return end(Ending::Violated);
    }
    std::size_t waiting = 0;
    for (const auto& worker : workers_) {
      swap(worker->current, worker->next);
      waiting += worker->current.size();
    }
    if (waiting == 0) return end(Ending::Complete);
    is_alone_ = o_.threads == 1 || waiting < o_.shares_from;
    ++depth_;
  }
  void end(Ending ending) {
    if (is_over_) return;
    is_over_ = true;
    ending_ = ending;
  }
  void report_progress() {
    if (!o_.progress) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - reported_ < std::chrono::seconds(1) || now - start_ < std::chrono::seconds(1)) return;
    reported_ = now;
    totals_.seconds = seconds();
    o_.progress(totals_);
  }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  Exploration summary() const {
    Exploration result;
    result.ending = ending_;
    const Worker& first = *workers_[0];
    result.violation = first.of_state != Violation::None ? first.of_state : first.violation;
    result.states = totals_.states;
    result.transitions = totals_.transitions;
    result.depth = depth_;
    for (const auto& worker : workers_) {
      result.stuck += worker->stuck;
      result.cut += worker->cut;
      result.gives_up = result.gives_up || worker->steps.gives_up();
    }
    if (ending_ == Ending::Complete) {
      Reach reach = workers_[0]->steps.reach();
      for (const auto& worker : workers_) reach.add(worker->steps.reach());
      result.unreached = reach.missing(o_.uses_symmetry);
    }
    result.bytes = greatest_bytes_;
    result.greatest_frontier = greatest_frontier_;
    result.seconds = seconds();
    result.state_bits = view_.bits;
    result.is_exact = o_.set == SetKind::Exact || kWords == 1;
    return result;
  }

  const Machine& m_;
  const Collapse* collapse_;
  Parts* parts_;
  const Machine& view_;  // says where things lie in a state
  const ExploreOptions& o_;
  Domain domain_;
  Symmetry symmetry_;
  Budget budget_;
  std::barrier<> together_, expanded_;
  std::barrier<Steering> absorbed_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Progress totals_;
  std::uint64_t greatest_bytes_ = 0, greatest_frontier_ = 0;
  unsigned depth_ = 0;
  bool is_over_ = false;  // written between two barriers, by one thread
  bool is_alone_ = true;  // the same
  Ending ending_ = Ending::Complete;
  std::chrono::steady_clock::time_point start_, reported_, looked_;
};

}  // namespace portcullis::failover
