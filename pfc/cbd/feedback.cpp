// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/feedback.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace portcullis::pfc::cbd {
namespace {

constexpr double kFirstTemperature = 0.6;  // these and kMostFailures are the paper's
constexpr double kCooling = 0.99;
constexpr std::size_t kMovesEach = 20;  // at one temperature, of each vertex; 5 in the paper
constexpr int kMostFailures = 50;       // temperatures without a new best
constexpr std::size_t kMostWork = std::size_t{1} << 28;
constexpr std::uint32_t kOut = ~std::uint32_t{0};
constexpr double kRange = 4294967296;  // of std::mt19937, the same on every machine

class Annealer {
 public:
  Annealer(const Graph& graph, std::uint32_t seed)
      : graph_(graph), random_(seed), into_(graph.size()), place_(graph.size(), kOut) {
    for (Vertex vertex = 0; vertex < graph.size(); ++vertex) {
      out_.push_back(vertex);
      for (const Vertex target : graph.out(vertex)) into_[target].push_back(vertex);
    }
    at_.resize(graph.size());
    for (std::uint32_t i = 0; i < out_.size(); ++i) at_[i] = i;
  }

  std::vector<Vertex> run() {
    drop_loops();
    keep_best();
    double temperature = kFirstTemperature;
    for (int failures = 0; failures < kMostFailures && work_ < kMostWork; ++failures) {
      for (std::size_t i = 0; i < kMovesEach * graph_.size() && !out_.empty(); ++i) {
        if (work_ > kMostWork) break;
        move(temperature);
        if (out_.size() + loops_.size() < best_.size()) {
          keep_best();
          failures = -1;
        }
      }
      temperature *= kCooling;
    }
    std::ranges::sort(best_);
    return best_;
  }

 private:
  std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  /// Whoever is its own successor can never be kept.
  void drop_loops() {
    for (Vertex vertex = 0; vertex < graph_.size(); ++vertex)
      if (std::ranges::find(graph_.out(vertex), vertex) != graph_.out(vertex).end()) {
        loops_.push_back(vertex);
        take_from_out(vertex);
      }
  }

  void keep_best() {
    best_ = out_;
    best_.insert(best_.end(), loops_.begin(), loops_.end());
  }

  void take_from_out(Vertex vertex) {
    out_[at_[vertex]] = out_.back();
    at_[out_.back()] = at_[vertex];
    out_.pop_back();
  }

  /// Right behind the last of those before it, or right before the first of those behind it; who
  /// stands on the wrong side then goes.
  void move(double temperature) {
    const Vertex vertex = out_[below(out_.size())];
    const bool is_behind = random_() % 2 == 0;
    std::uint32_t place = is_behind ? 0 : static_cast<std::uint32_t>(order_.size());
    conflicts_.clear();
    if (is_behind) {
      for (const Vertex source : into_[vertex])
        if (place_[source] != kOut) place = std::max(place, place_[source] + 1);
      for (const Vertex target : graph_.out(vertex))
        if (place_[target] < place) conflicts_.push_back(target);
    } else {
      for (const Vertex target : graph_.out(vertex))
        if (place_[target] != kOut) place = std::min(place, place_[target]);
      for (const Vertex source : into_[vertex])
        if (place_[source] != kOut && place_[source] >= place) conflicts_.push_back(source);
    }
    work_ += into_[vertex].size() + graph_.out(vertex).size() + 4;
    const double worse = static_cast<double>(conflicts_.size()) - 1;
    // Of 32 bits, so that it is the same on every machine.
    if (worse > 0 &&
        static_cast<double>(random_()) / 4294967296.0 >= std::exp(-worse / temperature))
      return;
    insert(vertex, place);
    for (const Vertex conflict : conflicts_) remove(conflict);
  }

  void insert(Vertex vertex, std::uint32_t place) {
    take_from_out(vertex);
    order_.insert(order_.begin() + place, vertex);
    renumber(place);
  }
  void remove(Vertex vertex) {
    const std::uint32_t place = place_[vertex];
    order_.erase(order_.begin() + place);
    place_[vertex] = kOut;
    at_[vertex] = static_cast<std::uint32_t>(out_.size());
    out_.push_back(vertex);
    renumber(place);
  }
  void renumber(std::uint32_t first) {
    for (std::uint32_t i = first; i < order_.size(); ++i) place_[order_[i]] = i;
    work_ += (order_.size() - first) / 4;
  }

  const Graph& graph_;
  std::mt19937 random_;
  std::vector<std::vector<Vertex>> into_;
  std::vector<Vertex> order_;         // of those that are kept
  std::vector<std::uint32_t> place_;  // in it, or kOut
  std::vector<Vertex> out_;           // those that are not kept, but for loops_
  std::vector<std::uint32_t> at_;     // in out_
  std::vector<Vertex> loops_;
  std::vector<Vertex> conflicts_;
  std::vector<Vertex> best_;
  std::size_t work_ = 0;
};

class OrderAnnealer {
 public:
  OrderAnnealer(const Graph& graph, std::vector<Vertex> order, std::uint32_t seed)
      : graph_(graph), random_(seed), into_(graph.size()), order_(std::move(order)) {
    place_.resize(order_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
    for (Vertex vertex = 0; vertex < graph.size(); ++vertex)
      for (const Vertex target : graph.out(vertex)) into_[target].push_back(vertex);
  }

  std::vector<Vertex> run() {
    if (order_.size() < 2) return order_;
    std::vector<Vertex> best = order_;
    std::int64_t least = 0;  // beside what `order_` had first
    std::int64_t now = 0;
    const double steps =
        std::min<double>(kOrderMoves, kOrderMovesEach * static_cast<double>(order_.size()));
    for (double step = 0; step < steps && work_ < kMostWork; ++step) {
      // Nothing is gained before it is cold, and copies cost.
      const double temperature = kHot * std::pow(kCold / kHot, step / steps);
      now += move(temperature);
      if (now < least && (temperature < kCopied || step + 1 >= steps)) {
        least = now;
        best = order_;
      }
    }
    return best;
  }

 private:
  static constexpr double kOrderMoves = 1 << 20;
  static constexpr std::uint32_t kOrderMovesEach = 4000;
  static constexpr double kHot = 2;
  static constexpr double kCold = 0.15;
  static constexpr double kCopied = 0.3;

  std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  /// Right behind one before it, right before one behind it, or, one time in four, anywhere.
  std::uint32_t target_of(Vertex vertex) {
    const auto out = graph_.out(vertex);
    const std::size_t neighbours = out.size() + into_[vertex].size();
    if (neighbours == 0 || random_() % 4 == 0) return below(order_.size());
    const std::uint32_t chosen = below(neighbours);
    const std::uint32_t from = place_[vertex];
    if (chosen < out.size()) return place_[out[chosen]] - (place_[out[chosen]] > from ? 1 : 0);
    const std::uint32_t source = place_[into_[vertex][chosen - out.size()]];
    return source + (source < from ? 1 : 0);
  }

  /// How many more edges go backwards when it moves to `to`.
  [[nodiscard]] std::int64_t cost_of(Vertex vertex, std::uint32_t to) const {
    const std::uint32_t from = place_[vertex];
    const auto is_passed = [&](Vertex other) {
      const std::uint32_t place = place_[other];
      return to > from ? place > from && place <= to : place >= to && place < from;
    };
    const std::int64_t targets = std::ranges::count_if(graph_.out(vertex), is_passed);
    const std::int64_t sources = std::ranges::count_if(into_[vertex], is_passed);
    return to > from ? targets - sources : sources - targets;
  }

  std::int64_t move(double temperature) {
    const Vertex vertex = below(order_.size());
    const std::uint32_t from = place_[vertex];
    const std::uint32_t to = target_of(vertex);
    if (to == from) return 0;
    const std::int64_t cost = cost_of(vertex, to);
    work_ += graph_.out(vertex).size() + into_[vertex].size() + 4;
    if (cost > 0 && static_cast<double>(random_()) / kRange >=
                        std::exp(-static_cast<double>(cost) / temperature))
      return 0;
    const auto [low, high] = std::minmax(from, to);
    const auto begin = order_.begin();
    if (to > from)
      std::rotate(begin + from, begin + from + 1, begin + to + 1);
    else
      std::rotate(begin + to, begin + from, begin + from + 1);
    for (std::uint32_t i = low; i <= high; ++i) place_[order_[i]] = i;
    work_ += (high - low) / 2;
    return cost;
  }

  const Graph& graph_;
  std::mt19937 random_;
  std::vector<std::vector<Vertex>> into_;
  std::vector<Vertex> order_;
  std::vector<std::uint32_t> place_;
  std::size_t work_ = 0;
};

}  // namespace

std::vector<Vertex> few_feedback_vertices(const Graph& graph, std::uint32_t seed) {
  return Annealer(graph, seed).run();
}

std::vector<Vertex> annealed_order(const Graph& graph, std::vector<Vertex> order,
                                   std::uint32_t seed) {
  return OrderAnnealer(graph, std::move(order), seed).run();
}

}  // namespace portcullis::pfc::cbd
