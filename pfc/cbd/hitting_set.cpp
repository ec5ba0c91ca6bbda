// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/hitting_set.hpp"

#include <algorithm>
#include <bit>
#include <boost/dynamic_bitset.hpp>
#include <map>
#include <set>

namespace portcullis::pfc::cbd {
namespace {

using Mask = std::uint32_t;

/// Takes alternatives until every choice is met; what is dearer than the best so far is left.
class UnionSearch {
 public:
  using Bits = boost::dynamic_bitset<>;

  UnionSearch(std::vector<std::vector<Bits>> choices, std::size_t items, std::size_t most_steps)
      : choices_(std::move(choices)), best_(items), steps_left_(most_steps) {
    best_.set();
  }

  std::optional<Bits> run() {
    extend(0, Bits(best_.size()));
    if (steps_left_ == 0) return std::nullopt;
    return best_;
  }

 private:
  void extend(std::size_t at, const Bits& taken) {
    const auto is_met = [&](const std::vector<Bits>& choice) {
      return std::ranges::any_of(choice, [&](const Bits& set) { return set.is_subset_of(taken); });
    };
    while (at < choices_.size() && is_met(choices_[at])) ++at;
    if (at == choices_.size()) {
      if (taken.count() < best_.count()) best_ = taken;
      return;
    }
    for (const Bits& alternative : choices_[at]) {
      if (steps_left_ == 0 || --steps_left_ == 0) return;
      const Bits next = taken | alternative;
      if (next.count() < best_.count()) extend(at + 1, next);
    }
  }

  std::vector<std::vector<Bits>> choices_;
  Bits best_;
  std::size_t steps_left_;
};

}  // namespace

/// Breadth first over which sets have been hit, always hitting the first that has not been.
std::vector<Item> smallest_hitting_set(const std::vector<std::vector<Item>>& sets) {
  std::map<Item, Mask> hits;
  for (std::size_t i = 0; i < sets.size(); ++i)
    for (const Item item : sets[i]) hits[item] |= Mask{1} << i;
  std::vector<std::map<Mask, Item>> options(sets.size());  // items that hit the same are one
  for (const auto& [item, mask] : hits)
    for (std::size_t i = 0; i < sets.size(); ++i)
      if ((mask >> i & 1U) != 0) options[i].try_emplace(mask, item);

  struct Step {
    Mask before;
    Item item;
    bool is_reached;
  };
  const Mask all = static_cast<Mask>((std::uint64_t{1} << sets.size()) - 1);
  std::vector<Step> steps(std::size_t{all} + 1, Step{0, 0, false});
  std::vector<Mask> queue{0};
  steps[0].is_reached = true;
  for (std::size_t at = 0; at < queue.size() && !steps[all].is_reached; ++at) {
    const Mask before = queue[at];
    for (const auto& [mask, item] : options[static_cast<std::size_t>(std::countr_one(before))]) {
      const Mask after = before | mask;
      if (steps[after].is_reached) continue;
      steps[after] = {before, item, true};
      queue.push_back(after);
    }
  }
  std::vector<Item> items;
  for (Mask mask = all; mask != 0; mask = steps[mask].before) items.push_back(steps[mask].item);
  std::ranges::sort(items);
  return items;
}

std::optional<std::vector<Item>> smallest_union(
    const std::vector<std::vector<std::vector<Item>>>& choices, std::size_t most_steps) {
  std::set<Item> known;
  for (const auto& choice : choices)
    for (const auto& alternative : choice) known.insert(alternative.begin(), alternative.end());
  const std::vector<Item> names(known.begin(), known.end());
  std::vector<std::vector<UnionSearch::Bits>> bits;
  for (const auto& choice : choices) {
    std::set<UnionSearch::Bits> alternatives;
    for (const auto& alternative : choice) {
      UnionSearch::Bits set(names.size());
      for (const Item item : alternative)
        set.set(static_cast<std::size_t>(std::ranges::lower_bound(names, item) - names.begin()));
      alternatives.insert(set);
    }
    bits.emplace_back(alternatives.begin(), alternatives.end());
    std::ranges::stable_sort(bits.back(), {}, [](const auto& set) { return set.count(); });
  }
  const auto best = UnionSearch(std::move(bits), names.size(), most_steps).run();
  if (!best) return std::nullopt;
  std::vector<Item> items;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (best->test(i)) items.push_back(names[i]);
  return items;
}

}  // namespace portcullis::pfc::cbd
