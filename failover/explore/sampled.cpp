// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/sampled.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace portcullis::failover {
namespace {

using Number = Pairs::Number;
/// Clients' numbers, then the memory's.
using Whole = std::u32string;

constexpr unsigned kLeastDraws = 60, kMostDraws = 4000;
constexpr unsigned kEnough = 40;             // that are reached: chance makes little of them
constexpr std::size_t kMostOfOne = 20'000;   // states that one search looks at
constexpr std::size_t kMostOfAll = 500'000;  // within a second

class Backward {
 public:
  explicit Backward(Pairs& pairs) : pairs_(pairs), clients_(pairs.client_count()) {
    for (std::size_t actor = 0; actor < pairs.actors(); ++actor) {
      steps_.push_back(pairs.take_steps_of(actor));
      depths_.push_back(depths_of(actor));
    }
    for (std::size_t client = 0; client < clients_; ++client)
      initial_ += static_cast<char32_t>(pairs.initial_of(client) >> 32);
    initial_ += static_cast<char32_t>(pairs.initial_of(0));
    reached_.insert(initial_);
    double sum = 0;
    for (Number memory = 0; memory < pairs.memory_count(); ++memory) {
      double beside = 1;
      for (std::size_t client = 0; client < clients_; ++client)
        beside *= static_cast<double>(pairs.beside(client, memory).size());
      sums_.push_back(sum += beside);
    }
  }

  [[nodiscard]] Whole draw() {
    const double at = std::uniform_real_distribution<>(0, sums_.back())(random_);
    const auto memory = static_cast<Number>(
        std::min<std::ptrdiff_t>(std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin(),
                                 static_cast<std::ptrdiff_t>(sums_.size()) - 1));
    Whole whole;
    for (std::size_t client = 0; client < clients_; ++client) {
      const std::vector<Number>& all = pairs_.beside(client, memory);
      whole += static_cast<char32_t>(all[random_() % all.size()]);
    }
    return whole + static_cast<char32_t>(memory);
  }

  /// Nothing: more to look at than is tried. The states nearest to the initial one come first.
  [[nodiscard]] std::optional<bool> is_reached(const Whole& from) {
    using Waiting = std::pair<unsigned, Whole>;
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
    std::unordered_map<Whole, Whole> led_to;  // a state and what it was found from
    led_to.emplace(from, Whole());
    waiting.emplace(depth_of(from), from);
    while (!waiting.empty()) {
      const Whole now = waiting.top().second;
      waiting.pop();
      if (reached_.contains(now)) {
        for (Whole on = now; !on.empty(); on = led_to[on]) reached_.insert(on);
        return true;
      }
      if (led_to.size() > kMostOfOne) break;
      for_each_before(now, [&](const Whole& before) {
        if (!unreached_.contains(before) && led_to.emplace(before, now).second)
          waiting.emplace(depth_of(before), before);
      });
    }
    looked_at_ += led_to.size();
    if (!waiting.empty()) return std::nullopt;
    // Small searches meet often enough in few states; many would take more than the run itself.
    constexpr std::size_t kMostKept = 2048;
    if (unreached_.size() > kMostKept) unreached_.clear();
    for (const auto& [state, next] : led_to) unreached_.insert(state);
    return false;
  }
  [[nodiscard]] bool is_enough() const noexcept { return looked_at_ > kMostOfAll; }

 private:
  [[nodiscard]] std::uint64_t pair_of(const Whole& whole, std::size_t actor) const {
    const std::uint64_t own = actor < clients_ ? whole[actor] : 0;
    return own << 32 | whole.back();
  }
  template <class Visit>
  void for_each_before(const Whole& now, const Visit& visit) const {
    for (std::size_t actor = 0; actor < steps_.size(); ++actor) {
      const auto [first, last] = std::equal_range(steps_[actor].begin(), steps_[actor].end(),
                                                  Pairs::Step{pair_of(now, actor), 0});
      for (auto step = first; step != last; ++step) {
        Whole before = now;
        if (actor < clients_) before[actor] = static_cast<char32_t>(step->from >> 32);
        before.back() = static_cast<char32_t>(step->from & 0xffffffffU);
        bool is_allowed = true;
        for (std::size_t other = 0; other < steps_.size(); ++other)
          is_allowed = is_allowed && (other == actor || pairs_.has(other, pair_of(before, other)));
        if (is_allowed) visit(before);
      }
    }
  }
  [[nodiscard]] unsigned depth_of(const Whole& whole) const {
    unsigned sum = 0;
    for (std::size_t client = 0; client < clients_; ++client) {
      const auto found = depths_[client].find(whole[client]);
      sum += found == depths_[client].end() ? 0 : found->second;
    }
    return sum;
  }
  /// Steps of its own that an actor is away from its first state, whatever the memory is.
  [[nodiscard]] std::unordered_map<Number, unsigned> depths_of(std::size_t actor) const {
    std::unordered_multimap<Number, Number> next;
    for (const Pairs::Step& step : steps_[actor])
      if (step.from >> 32 != step.to >> 32)
        next.emplace(static_cast<Number>(step.from >> 32), static_cast<Number>(step.to >> 32));
    const auto first = static_cast<Number>(pairs_.initial_of(actor) >> 32);
    std::unordered_map<Number, unsigned> depths = {{first, 0}};
    std::queue<Number> waiting({first});
    for (; !waiting.empty(); waiting.pop()) {
      const auto [begin, end] = next.equal_range(waiting.front());
      const unsigned depth = depths[waiting.front()] + 1;
      for (auto step = begin; step != end; ++step)
        if (depths.emplace(step->second, depth).second) waiting.push(step->second);
    }
    return depths;
  }

  const Pairs& pairs_;
  std::size_t clients_;
  std::vector<std::vector<Pairs::Step>> steps_;
  std::vector<std::unordered_map<Number, unsigned>> depths_;
  std::vector<double> sums_;  // of the states beside each state of the memory and those before
  Whole initial_;
  std::unordered_set<Whole> reached_, unreached_;
  std::size_t looked_at_ = 0;
  std::mt19937 random_{18};
};

}  // namespace

std::optional<double> Sampled::share() const noexcept {
  constexpr double kFactor = 3, kSurely = 2.5;  // standard deviations
  const double all = reached + unreached + undecided;
  if (reached == 0) return std::nullopt;
  const double least = reached / all, most = (reached + undecided) / all;
  const double chance = 1 + kSurely * std::sqrt((1 - least) / reached);
  if (std::sqrt(most / least) * chance > kFactor) return std::nullopt;
  return std::sqrt(least * most);
}

Sampled sample_reached(Pairs& pairs, const std::atomic<bool>* stop) {
  Backward backward(pairs);
  Sampled found;
  for (unsigned draw = 0; draw < kMostDraws && !backward.is_enough(); ++draw) {
    if (draw >= kLeastDraws && found.reached >= kEnough) break;
    if (stop != nullptr && stop->load()) break;
    const std::optional<bool> is_reached = backward.is_reached(backward.draw());
    ++(!is_reached ? found.undecided : *is_reached ? found.reached : found.unreached);
  }
  return found;
}

}  // namespace portcullis::failover
