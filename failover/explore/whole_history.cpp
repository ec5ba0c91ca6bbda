// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/whole_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/json.hpp"

namespace portcullis::failover {
namespace {

/// The search goes as deep as there are operations.
constexpr std::size_t kMostOperations = 5'000;

/// All below a number, and some from it on: what is answered early is placed early.
class ManyPlaced {
 public:
  [[nodiscard]] std::size_t begin() const noexcept { return below_; }
  [[nodiscard]] bool has(std::size_t i) const noexcept {
    return i < below_ || std::binary_search(beyond_.begin(), beyond_.end(), i);
  }
  [[nodiscard]] ManyPlaced with(std::size_t i) const {
    ManyPlaced more = *this;
    more.beyond_.insert(std::lower_bound(more.beyond_.begin(), more.beyond_.end(), i), i);
    auto next = more.beyond_.begin();
    for (; next != more.beyond_.end() && *next == more.below_; ++next) ++more.below_;
    more.beyond_.erase(more.beyond_.begin(), next);
    return more;
  }
  [[nodiscard]] std::size_t size() const noexcept { return below_ + beyond_.size(); }
  // NOLINTNEXTLINE(modernize-use-nullptr): the 0 of "< 0"
  friend auto operator<=>(const ManyPlaced&, const ManyPlaced&) = default;

 private:
  std::size_t below_ = 0;
  std::vector<std::size_t> beyond_;  // ascending
};

/// Operations that have cells in common.
class Part {
 public:
  Part(const WholeHistory& history, const std::vector<std::size_t>& numbers,
       std::uint64_t most_steps)
      : history_(history), numbers_(numbers), steps_left_(most_steps) {
    for (const std::size_t number : numbers_) {
      Operated operated = history_.operations[number].operated;
      for (Operated::OnWord& word : operated.words) {
        const auto own = static_cast<unsigned>(cells_.size());
        word.cell = cells_.try_emplace(word.cell, own).first->second;
      }
      operations_.push_back(std::move(operated));
    }
  }

  [[nodiscard]] bool has_order() {
    return Orders<ManyPlaced, Part>(operations_, *this).exists(Memory(cells_.size(), 0), {});
  }
  [[nodiscard]] bool has_given_up() const noexcept { return steps_left_ == 0; }

  [[nodiscard]] Unordered unordered() const {
    constexpr std::size_t kMostStuck = 4;
    Unordered found{.operations = operations_.size(), .placed = best_.size()};
    for (const auto& [name, cell] : history_.cells)
      if (cells_.contains(cell)) found.cells.push_back(name);
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = best_.begin(); i < operations_.size(); ++i)
      if (!best_.has(i) && operations_[i].is_answered) limit = std::min(limit, operations_[i].last);
    for (std::size_t i = best_.begin(); i < operations_.size(); ++i)
      if (!best_.has(i) && operations_[i].first <= limit && found.stuck.size() < kMostStuck)
        found.stuck.push_back(history_.operations[numbers_[i]].name);
    return found;
  }

  // What an order has to heed.
  [[nodiscard]] bool enter(const Memory& memory, const ManyPlaced& placed) {
    if (steps_left_ == 0 || failures_.contains({placed, memory})) return false;
    --steps_left_;
    if (placed.size() >= best_.size()) best_ = placed;
    return true;
  }
  void failed(const Memory& memory, const ManyPlaced& placed) {
    if (steps_left_ != 0) failures_.emplace(placed, memory);
  }
  [[nodiscard]] static bool may_end(const Memory& /*memory*/) noexcept { return true; }
  [[nodiscard]] static bool may_place(std::size_t /*i*/, const ManyPlaced& /*placed*/) noexcept {
    return true;
  }

 private:
  const WholeHistory& history_;
  const std::vector<std::size_t>& numbers_;  // in the order of their invocations
  std::uint64_t steps_left_;
  std::map<unsigned, unsigned> cells_;  // to the part's own number
  std::vector<Operated> operations_;
  ManyPlaced best_;
  std::set<std::pair<ManyPlaced, Memory>> failures_;
};

/// By cells that some operation has in common.
std::vector<std::vector<std::size_t>> parts_of(const WholeHistory& history) {
  std::vector<unsigned> leader(history.cells.size());
  std::iota(leader.begin(), leader.end(), 0U);
  const auto find = [&leader](unsigned cell) {
    while (leader[cell] != cell) cell = leader[cell] = leader[leader[cell]];
    return cell;
  };
  for (const auto& [name, operated] : history.operations)
    for (const Operated::OnWord& word : operated.words)
      leader[find(word.cell)] = find(operated.words.front().cell);
  std::map<unsigned, std::vector<std::size_t>> found;
  for (std::size_t i = 0; i < history.operations.size(); ++i) {
    const auto& words = history.operations[i].operated.words;
    if (!words.empty()) found[find(words.front().cell)].push_back(i);
  }
  std::vector<std::vector<std::size_t>> parts;
  for (auto& [cell, numbers] : found) {
    std::stable_sort(numbers.begin(), numbers.end(), [&](std::size_t one, std::size_t other) {
      return history.operations[one].operated.first < history.operations[other].operated.first;
    });
    parts.push_back(std::move(numbers));
  }
  return parts;
}

// ---- A file of them ----------------------------------------------------------------------------

Result<std::uint64_t> whole(const JsonCursor& object, std::string_view field) {
  if (!object.has(field))
    return object.bad(fmt::format("no \"{}\"; an object that has it is accepted", field));
  const auto number = object.at(field).value().whole;
  if (!number) return object.at(field).refuse("a whole number from 0 to 2^64 - 1");
  return *number;
}

Result<Operated::OnWord> read_word(const JsonCursor& at, WholeHistory& history) {
  PORTCULLIS_TRY(at.expect_object("cell, do, value, compare, answer"));
  Operated::OnWord word;
  PORTCULLIS_TRY_ASSIGN(const std::string cell, at.at("cell").string());
  word.cell = history.cell(cell);
  PORTCULLIS_TRY_ASSIGN(const std::string what, at.at("do").string());
  constexpr std::pair<std::string_view, Opcode> kNames[] = {{"read", Opcode::Read},
                                                            {"write", Opcode::Write},
                                                            {"add", Opcode::FetchAdd},
                                                            {"cas", Opcode::CompareSwap}};
  const auto* const named = std::find_if(std::begin(kNames), std::end(kNames),
                                         [&](const auto& each) { return each.first == what; });
  if (named == std::end(kNames)) return at.at("do").refuse("one of read, write, add, cas");
  word.operation.opcode = named->second;
  if (word.operation.opcode != Opcode::Read) {
    PORTCULLIS_TRY_ASSIGN(word.operation.operand, whole(at, "value"));
  }
  if (word.operation.opcode == Opcode::CompareSwap) {
    PORTCULLIS_TRY_ASSIGN(word.operation.compare, whole(at, "compare"));
  }
  if (at.has("answer")) {
    PORTCULLIS_TRY_ASSIGN(word.answer, whole(at, "answer"));
  }
  return word;
}

Result<WholeHistory::Named> read_operation(const JsonCursor& at, WholeHistory& history) {
  PORTCULLIS_TRY(at.expect_object("name, from, to, words"));
  WholeHistory::Named named;
  PORTCULLIS_TRY_ASSIGN(named.name, at.at("name").string());
  PORTCULLIS_TRY_ASSIGN(named.operated.first, whole(at, "from"));
  named.operated.is_answered = at.has("to");
  if (named.operated.is_answered) {
    PORTCULLIS_TRY_ASSIGN(named.operated.last, whole(at, "to"));
    if (named.operated.last < named.operated.first)
      return at.at("to").refuse(
          fmt::format("{} or more, when it was asked,", named.operated.first));
  }
  PORTCULLIS_TRY(at.at("words").expect_array());
  const JsonCursor words = at.at("words");
  if (words.size() == 0) return words.bad("no word; what it does to one or more is accepted");
  for (std::size_t i = 0; i < words.size(); ++i) {
    PORTCULLIS_TRY_ASSIGN(auto word, read_word(words.item(i), history));
    named.operated.words.push_back(word);
  }
  return named;
}

}  // namespace

unsigned WholeHistory::cell(std::string_view name) {
  if (const auto at = cells.find(name); at != cells.end()) return at->second;
  const auto number = static_cast<unsigned>(cells.size());
  cells.emplace(name, number);
  return number;
}

Result<HistoryVerdict> judge_history(const WholeHistory& history, std::uint64_t most_steps) {
  HistoryVerdict verdict;
  for (const auto& numbers : parts_of(history)) {
    ++verdict.parts;
    Part part(history, numbers, most_steps);
    if (numbers.size() <= kMostOperations && part.has_order()) continue;
    Unordered unordered = part.unordered();
    if (numbers.size() > kMostOperations)
      return fail(Errc::OutOfResources,
                  fmt::format("cell {} and what is changed with it: {} operations; up to {} that "
                              "have cells in common are accepted",
                              unordered.cells.front(), numbers.size(), kMostOperations));
    if (part.has_given_up())
      return fail(Errc::OutOfResources,
                  fmt::format("cell {} and what is changed with it: {} operations have more than "
                              "{} steps of orders; fewer at a time are accepted",
                              unordered.cells.front(), unordered.operations, most_steps));
    verdict.unordered.push_back(std::move(unordered));
  }
  return verdict;
}

Result<WholeHistory> read_history(std::string_view text, std::string_view file) {
  PORTCULLIS_TRY_ASSIGN(const JsonValue top, parse_json(text, file));
  const JsonCursor whole_file(top, file);
  PORTCULLIS_TRY(whole_file.expect_object("operations"));
  if (!whole_file.has("operations"))
    return whole_file.bad("no \"operations\"; an object that has it is accepted");
  const JsonCursor operations = whole_file.at("operations");
  PORTCULLIS_TRY(operations.expect_array());
  WholeHistory history;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    PORTCULLIS_TRY_ASSIGN(auto named, read_operation(operations.item(i), history));
    history.operations.push_back(std::move(named));
  }
  return history;
}

}  // namespace portcullis::failover
