// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/story.hpp"

#include <algorithm>
#include <set>

#include "failover/protocols/program.hpp"

namespace portcullis::failover {
namespace {

using namespace program;

constexpr std::uint64_t kMostWays = 600;
constexpr std::uint64_t kMostStates = 300'000;  // of all ways
constexpr unsigned kMostLate = 7;               // what Limits::late holds

/// What the sender does after the last repost.
struct Later {
  enum class Kind : std::uint8_t { Nothing, Overwrites, Notifies };
  Kind kind = Kind::Nothing;
  Word word = 0;
};

/// One way to fill in what the dump does not say.
struct Way {
  Word initial = 0;
  std::vector<Word> data;           // of each request; where it is a WRITE
  std::vector<unsigned> read_cell;  // of each request; where it is a READ
  Later later;
  unsigned watched = 0;  // the request whose word a polling receiver waits for
};

/// Words that nothing in the story names. With addends about they lie far from each other.
class FreshWords {
 public:
  FreshWords(std::set<Word> used, Word step) : used_(std::move(used)), step_(step) {}
  Word next() {
    do last_ += step_;
    while (used_.contains(last_));
    return last_;
  }

 private:
  std::set<Word> used_;
  Word step_;
  Word last_ = 0;
};

class Teller {
 public:
  explicit Teller(const Story& story) : story_(story) {
    for (const StoryRequest& r : story_.requests) {
      has_atomic_ = has_atomic_ || (!r.is_message && is_atomic(opcode_of(r)));
      writers_ += writes(r) ? 1 : 0;
    }
    for (unsigned i = 0; i < story_.requests.size(); ++i)
      if (story_.requests[i].is_message) message_ = i;
    has_receiver_ = story_.contract.environment == Environment::Reuse && !has_atomic_ &&
                    (writers_ != 0 || message_ != 0);
    has_evidence_ = has_evidence(story_);
    choose_words();
  }

  /// All ways, in mixed radix: 0 beyond what is looked at.
  [[nodiscard]] std::uint64_t ways() const {
    unsigned late = 0;  // all that is on its way when the QPs fail
    for (const StoryRequest& r : story_.requests)
      if (r.request.outcome != Outcome::Completed) late += writes(r) ? r.cells : 1;
    if (late > kMostLate || has_two_initials_) return 0;
    std::uint64_t product = 1;
    for (const std::size_t radix : radices()) product *= radix;
    return product <= kMostWays ? product : 0;
  }

  [[nodiscard]] Scenario scenario(std::uint64_t number) const {
    const Way way = way_of(number);
    Scenario scenario;
    scenario.name = "classify";
    scenario.has_history = true;
    scenario.keeps_posting_order = true;
    scenario.answers_one_by_one = story_.is_order_alone;
    scenario.fence_kind = FenceKind::Mkey;  // which a SEND passes
    scenario.initial_shared = way.initial;
    (has_receiver_ ? scenario.own_cells : scenario.shared_cells) = story_.cells;
    scenario.operations = static_cast<unsigned>(story_.requests.size()) + 1;
    // What the sender had read before it let go of the buffer.
    for (unsigned i = 0; i < message_; ++i)
      if (story_.requests[i].is_reposted && opcode_of(story_.requests[i]) == Opcode::Read)
        scenario.before_reuse.push_back(i);
    add_what_is_known(scenario);
    add_requests(scenario, way);
    add_program(scenario, way);
    has_receiver_ ? add_receiver(scenario, way) : add_others(scenario, way);
    return scenario;
  }

 private:
  static Opcode opcode_of(const StoryRequest& r) {
    return r.is_message ? Opcode::Send : r.request.opcode.value_or(Opcode::Send);
  }
  static bool writes(const StoryRequest& r) { return !r.is_message && carries_data(opcode_of(r)); }

  void choose_words() {
    std::set<Word> used = {0};
    std::vector<Word> addends;
    for (const StoryRequest& r : story_.requests) {
      if (r.is_message || !is_atomic(opcode_of(r))) continue;
      const Evidence& evidence = r.request.evidence;
      for (const auto& word : {evidence.word, evidence.word_before})
        if (word) used.insert(*word);
      if (opcode_of(r) == Opcode::FetchAdd) {
        addends.push_back(r.request.compare_add);
      } else {
        expected_.insert(r.request.compare_add);
        used.insert(r.request.swap);
      }
    }
    // What a CAS expects may be what an FADD makes of something.
    for (const Word addend : addends)
      for (const Word word : std::set<Word>(expected_)) expected_.insert(word - addend);
    used.insert(expected_.begin(), expected_.end());
    used.insert(addends.begin(), addends.end());
    constexpr Word kFar = 1'000'003;
    FreshWords fresh(used, addends.empty() ? 1 : kFar);
    for (std::size_t i = 0; i < story_.requests.size(); ++i) own_.push_back(fresh.next());
    overwriting_ = fresh.next();
    reused_ = fresh.next();
    foreign_ = fresh.next();
    initials_ = {0};
    if (!expected_.empty()) initials_ = {fresh.next()};
    initials_.insert(initials_.end(), expected_.begin(), expected_.end());
    if (has_evidence_ && !has_receiver_) choose_words_of_evidence(addends);
    choose_later();
  }
  /// What was found in memory may be what was there before, and what another WRITE carries.
  void choose_words_of_evidence(const std::vector<Word>& addends) {
    std::set<Word> before;
    for (std::size_t i = 0; i < story_.requests.size(); ++i) {
      const Evidence& evidence = story_.requests[i].request.evidence;
      if (evidence.holds_source) found_.insert(own_[i]);
      if (evidence.word) found_.insert(*evidence.word);
      if (evidence.word_before) before.insert(*evidence.word_before);
    }
    std::set<Word> initials = found_;
    for (const Word addend : addends)
      for (const Word word : std::set<Word>(initials)) initials.insert(word - addend);
    for (const Word word : initials_) initials.erase(word);
    initials_.insert(initials_.end(), initials.begin(), initials.end());
    has_two_initials_ = before.size() > 1;
    if (!before.empty()) initials_.assign(before.begin(), before.end());
  }
  /// What a WRITE may have carried.
  [[nodiscard]] std::vector<Word> data_of(std::size_t number) const {
    std::vector<Word> words = {own_[number]};
    words.insert(words.end(), expected_.begin(), expected_.end());
    for (const Word word : found_)
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    return words;
  }
  void choose_later() {
    if (!has_receiver_) {
      laters_ = {{Later::Kind::Nothing, 0}};
      if (story_.contract.is_nothing_later) return;
      if (!has_atomic_ && writers_ == 0) return;  // nothing old can undo anything
      laters_.push_back({Later::Kind::Overwrites, overwriting_});
      for (const Word word : expected_) laters_.push_back({Later::Kind::Overwrites, word});
    } else if (story_.contract.consumer == Consumer::Notified) {
      laters_ = {{Later::Kind::Notifies, 0}};  // and the receiver overwrites
    } else {
      laters_ = {{Later::Kind::Nothing, 0}};
    }
  }

  [[nodiscard]] std::vector<std::size_t> radices() const {
    std::vector<std::size_t> radices = {initials_.size(), laters_.size()};
    for (std::size_t i = 0; i < story_.requests.size(); ++i) {
      const StoryRequest& r = story_.requests[i];
      radices.push_back(writes(r) ? data_of(i).size() : 1);
      radices.push_back(opcode_of(r) == Opcode::Read ? r.cells : 1);
    }
    const bool is_polled = has_receiver_ && story_.contract.consumer == Consumer::Polls;
    radices.push_back(is_polled ? writers_ : 1);
    return radices;
  }
  [[nodiscard]] Way way_of(std::uint64_t number) const {
    std::vector<std::size_t> digits;
    for (const std::size_t radix : radices()) {
      digits.push_back(number % radix);
      number /= radix;
    }
    Way way;
    way.initial = initials_[digits[0]];
    way.later = laters_[digits[1]];
    unsigned writer = 0;
    for (std::size_t i = 0; i < story_.requests.size(); ++i) {
      way.data.push_back(data_of(i)[digits[2 + 2 * i]]);
      way.read_cell.push_back(story_.requests[i].cell + static_cast<unsigned>(digits[3 + 2 * i]));
      if (writes(story_.requests[i]) && writer++ == digits.back())
        way.watched = static_cast<unsigned>(i);
    }
    return way;
  }

  [[nodiscard]] Address address(unsigned cell) const {
    return {has_receiver_ ? Address::Space::Own : Address::Space::Shared, cell};
  }

  /// Number i of the scenario is request i; its repost follows after all of them.
  [[nodiscard]] WorkRequest attempt(unsigned number, const Way& way) const {
    const StoryRequest& r = story_.requests[number];
    WorkRequest posted;
    posted.opcode = opcode_of(r);
    posted.name = name_of(posted.opcode) + ("[" + std::to_string(r.request.index) + "]");
    posted.operation = number;
    posted.queue = r.queue;
    posted.is_counted = !r.is_message;
    posted.address = address(r.cell);
    if (writes(r)) {
      posted.packets = r.cells;
      posted.operand.word = way.data[number];
    } else if (posted.opcode == Opcode::Read) {
      posted.address = address(way.read_cell[number]);
    } else if (posted.opcode == Opcode::FetchAdd) {
      posted.operand.word = r.request.compare_add;
    } else if (posted.opcode == Opcode::CompareSwap) {
      posted.operand.word = r.request.swap;
      posted.compare.word = r.request.compare_add;
    } else {
      posted.address = address(0);
    }
    return posted;
  }
  void add_requests(Scenario& scenario, const Way& way) const {
    const auto count = static_cast<unsigned>(story_.requests.size());
    for (unsigned i = 0; i < count; ++i) scenario.work_requests.push_back(attempt(i, way));
    unsigned new_queue = 0;
    for (const WorkRequest& posted : scenario.work_requests)
      new_queue = std::max(new_queue, posted.queue + 1);
    scenario.limits = {kMostLate, 0, new_queue};
    for (unsigned queue = 0; queue < new_queue; ++queue)
      if (is_closed(queue)) scenario.closed_queues.push_back(queue);
    for (unsigned i = 0; i < count; ++i) {
      if (!story_.requests[i].is_reposted) continue;
      WorkRequest again = scenario.work_requests[i];
      again.name += " again";
      again.queue = new_queue;
      scenario.work_requests.push_back(again);
    }
    if (way.later.kind == Later::Kind::Nothing) return;
    const bool overwrites = way.later.kind == Later::Kind::Overwrites;
    WorkRequest later;
    later.name = overwrites ? "a later WRITE" : "a later SEND";
    later.operation = count;
    later.opcode = overwrites ? Opcode::Write : Opcode::Send;
    later.address = address(0);
    later.operand.word = way.later.word;
    later.packets = overwrites ? story_.cells : 1;
    later.queue = new_queue;
    later.is_counted = overwrites;
    scenario.work_requests.push_back(later);
  }

  static Instruction completes(unsigned request, const Condition& condition, unsigned yes,
                               unsigned no) {
    Instruction instruction = await_if(request, condition, yes, no, no);
    instruction.may_time_out = false;
    instruction.keeps = true;
    return instruction;
  }

  void add_program(Scenario& scenario, const Way& way) const {
    auto& program = scenario.program;
    const auto here = [&] { return static_cast<unsigned>(program.size()); };
    const auto count = static_cast<unsigned>(story_.requests.size());
    for (unsigned i = 0; i < count; ++i) program.push_back(post(i, here() + 1));
    for (unsigned i = 0; i < count; ++i) {
      const StoryRequest& r = story_.requests[i];
      if (r.request.outcome != Outcome::Completed) continue;
      program.push_back(completes(i, always(), here() + 1, here() + 1));
      if (!r.is_message) program.push_back(report(i, Claim::Done, here() + 1));
    }
    std::set<unsigned> failed;
    for (unsigned i = 0; i < count; ++i) {
      const StoryRequest& r = story_.requests[i];
      if (r.request.outcome == Outcome::Completed || !failed.insert(r.queue).second) continue;
      Instruction fails = await(i, here() + 1, here() + 1);
      fails.may_complete = false;
      program.push_back(fails);
    }
    for (const unsigned queue : failed) {
      if (!story_.contract.is_fenced && !is_closed(queue)) continue;
      program.push_back(fence(queue, here() + 1));
      program.push_back(await_fence(queue, here() + 1));
    }
    add_look(program, way);
    unsigned again = count;
    for (unsigned i = 0; i < count; ++i) {
      const StoryRequest& r = story_.requests[i];
      if (!r.is_reposted) continue;
      program.push_back(post(again, here() + 1));
      // An answer that a first execution would not have given leaves the result unknown.
      const bool is_swap = opcode_of(r) == Opcode::CompareSwap && !story_.takes_any_answer;
      program.push_back(completes(again++, is_swap ? equals(r.request.compare_add) : always(),
                                  here() + 1, here() + 2));
      program.push_back(report(i, Claim::Done, here() + 1));
    }
    if (way.later.kind != Later::Kind::Nothing) {
      program.push_back(post(again, here() + 1));
      program.push_back(completes(again, always(), here() + 1, here() + 1));
      if (way.later.kind == Later::Kind::Overwrites)
        program.push_back(report(count, Claim::Done, here() + 1));
    }
    program.emplace_back();
  }

  /// Nothing of that QP is executed any more.
  [[nodiscard]] bool is_closed(unsigned queue) const {
    return story_.contract.are_queues_fenced ||
           std::any_of(story_.requests.begin(), story_.requests.end(), [&](const auto& r) {
             return r.queue == queue && r.request.evidence.is_queue_fenced;
           });
  }

  /// The judge may not think away what the dump says was executed, nor think up what was not. A
  /// SEND passes a fenced key: one that was not executed may be yet.
  void add_what_is_known(Scenario& scenario) const {
    for (unsigned i = 0; i < story_.requests.size(); ++i) {
      const StoryRequest& r = story_.requests[i];
      if (r.is_message || r.request.outcome == Outcome::Completed) continue;
      const bool is_final =
          is_closed(r.queue) || (story_.contract.is_fenced && opcode_of(r) != Opcode::Send);
      if (r.request.evidence.least == Part::All) scenario.surely_executed.push_back(i);
      if (r.request.evidence.most == Part::Nothing && is_final) scenario.surely_not.push_back(i);
    }
  }

  /// What the application found; a run goes on where it could be found.
  void add_look(std::vector<Instruction>& program, const Way& way) const {
    if (!has_evidence_) return;
    const auto next = [&] { return static_cast<unsigned>(program.size()) + 1; };
    const auto count = static_cast<unsigned>(story_.requests.size());
    for (unsigned i = 0; i < count; ++i) {
      if (story_.requests[i].request.outcome == Outcome::Completed) continue;
      const auto executed = known_part(story_.requests[i]);
      if (!executed) continue;
      Instruction ask = query_psn(i, next(), next());
      ask.packets = executed->packets;
      ask.known = executed->is_past;
      program.push_back(ask);
    }
    for (unsigned i = 0; i < count && !has_receiver_; ++i) add_look_at_memory(program, way, i);
    program.push_back(report(count, Claim::Unknown, next()));  // so that it is seen to be reached
  }
  struct Known {
    unsigned packets = 0;  // 0: all
    bool is_past = true;
  };
  static std::optional<Known> known_part(const StoryRequest& r) {
    constexpr std::uint64_t kOnePacket = 256;  // IBV_MTU_256
    const Evidence& evidence = r.request.evidence;
    if (evidence.least == Part::All) return Known{0, true};
    if (evidence.most == Part::Nothing) return Known{1, false};
    // A part of one run of bytes is neither there nor not.
    const bool is_cut = opcode_of(r) == Opcode::Write && r.cells == 1 &&
                        r.request.length.value_or(kOnePacket + 1) > kOnePacket;
    if (evidence.most == Part::All || is_cut) return std::nullopt;
    return Known{0, false};
  }
  void add_look_at_memory(std::vector<Instruction>& program, const Way& way, unsigned i) const {
    const StoryRequest& r = story_.requests[i];
    const Evidence& evidence = r.request.evidence;
    const auto here = [&] { return static_cast<unsigned>(program.size()); };
    if (r.is_message) return;
    if (evidence.word) {
      Instruction look = probe(address(r.cell), equals(*evidence.word), here() + 1, here() + 1);
      look.known = true;
      program.push_back(look);
    }
    if (!evidence.holds_source || !writes(r)) return;
    const unsigned end = here() + r.cells;
    for (unsigned cell = r.cell; cell < r.cell + r.cells; ++cell) {
      const bool is_last = cell + 1 == r.cell + r.cells;
      Instruction look = probe(address(cell), equals(way.data[i]), here() + 1, end);
      if (*evidence.holds_source || is_last) look.known = *evidence.holds_source;
      program.push_back(look);
    }
  }

  /// The receiver consumes what one WRITE brought, and reuses all of it.
  void add_receiver(Scenario& scenario, const Way& way) const {
    const StoryRequest& watched = story_.requests[way.watched];
    const Word word = way.data[way.watched];
    const bool is_polled = story_.contract.consumer == Consumer::Polls;
    scenario.receiver.push_back(
        {is_polled ? ReceiverStep::Kind::AwaitWord : ReceiverStep::Kind::AwaitArrival,
         watched.cell + watched.cells - 1, 1, word});
    if (is_polled && writers_ == 1)
      scenario.receiver.push_back({ReceiverStep::Kind::Consume, watched.cell, watched.cells, word});
    scenario.receiver.push_back({ReceiverStep::Kind::Reuse, 0, story_.cells, reused_});
  }

  /// Whoever replaces a word has seen it.
  void add_others(Scenario& scenario, const Way& way) const {
    if (story_.contract.environment == Environment::Quiet || (writers_ == 0 && !has_word())) return;
    std::set<Word> named = {way.initial};
    for (std::size_t i = 0; i < story_.requests.size(); ++i) {
      const StoryRequest& r = story_.requests[i];
      if (writes(r)) named.insert(way.data[i]);
      if (opcode_of(r) == Opcode::CompareSwap) named.insert(r.request.swap);
      if (opcode_of(r) == Opcode::FetchAdd) named.insert(way.initial + r.request.compare_add);
    }
    std::set<Word> seen = named;
    seen.insert(found_.begin(), found_.end());
    // What a look found may be one step's work, and then it goes on: the old value comes back.
    scenario.environment_budget = has_evidence_ ? 2 : 1;
    const bool comes_back = !story_.contract.has_unique_tags;
    std::set<Word> old = comes_back ? expected_ : std::set<Word>();
    if (comes_back) old.insert(way.initial);
    for (unsigned cell = 0; cell < story_.cells; ++cell)
      for (const Word word : seen) {
        scenario.environment.push_back({"another writer", address(cell), word, foreign_});
        for (const Word found : found_)
          if (found != word && !old.contains(found) && (comes_back || !named.contains(found)))
            scenario.environment.push_back({"another writer", address(cell), word, found});
        for (const Word back : old)
          if (back != word)
            scenario.environment.push_back({"the old value comes back", address(cell), word, back});
      }
  }
  [[nodiscard]] bool has_word() const {
    return std::any_of(story_.requests.begin(), story_.requests.end(),
                       [](const auto& r) { return returns_word(opcode_of(r)); });
  }

  const Story& story_;
  bool has_atomic_ = false;
  bool has_receiver_ = false;
  bool has_evidence_ = false;
  bool has_two_initials_ = false;  // of two words; a machine's cells begin with one
  std::size_t writers_ = 0;
  unsigned message_ = 0;     // which of the requests is one; never the first
  std::set<Word> expected_;  // by a CAS
  std::set<Word> found_;     // in memory, as the evidence says
  std::vector<Word> own_;    // of each request, where it is a WRITE
  std::vector<Word> initials_;
  std::vector<Later> laters_;
  Word overwriting_ = 0, reused_ = 0, foreign_ = 0;
};

}  // namespace

bool has_evidence(const Story& story) noexcept {
  return std::any_of(story.requests.begin(), story.requests.end(),
                     [](const auto& r) { return r.request.evidence.is_any(); });
}

Result<Told> tell(const Story& story, const std::atomic<bool>* stop) {
  const Teller teller(story);
  Told told;
  const std::uint64_t ways = teller.ways();
  told.verdict = ways == 0 ? Told::Verdict::Undecided : Told::Verdict::Safe;
  const bool may_have_none = ways != 0 && has_evidence(story);
  told.has_run = !may_have_none;
  for (std::uint64_t way = 0; way < ways; ++way) {
    auto machine = compile(teller.scenario(way));
    if (!machine) {  // more words or bits than a machine holds
      told.verdict = Told::Verdict::Undecided;
      told.has_run = true;
      continue;
    }
    ExploreOptions options;
    options.stop = stop;
    options.state_limit = kMostStates - std::min(kMostStates, told.states);
    PORTCULLIS_TRY_ASSIGN(const Exploration explored, explore(*machine, options));
    told.states += explored.states;
    told.has_run = told.has_run || explored.gives_up || explored.ending != Ending::Complete;
    if (explored.ending == Ending::Violated) {
      told.verdict = Told::Verdict::Unsafe;
      told.violation = explored.violation;
      told.machine = std::move(*machine);
      return told;
    }
    if (explored.ending == Ending::Complete) continue;
    told.verdict = Told::Verdict::Undecided;
    return told;
  }
  return told;
}

}  // namespace portcullis::failover
