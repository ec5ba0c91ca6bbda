// SPDX-License-Identifier: BSD-3-Clause
#include "trace/align.hpp"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

namespace portcullis::trace {
namespace {

using Index = std::ptrdiff_t;
using Sequence = std::span<const int>;

constexpr Index kNowhere = -1;

/// How far into the first sequence paths of ever more edits reach, by diagonal x - y, from the
/// starts of both or, turned round, from their ends.
class Frontier {
 public:
  Frontier(Index a_size, Index b_size)
      : n_(a_size), m_(b_size), reach_(static_cast<std::size_t>(a_size + b_size + 3), kNowhere) {}

  /// Of the furthest path of `edits` edits on the diagonal, followed while `equal(x, y)`.
  template <class Equal>
  Index advance(Index diagonal, Index edits, Equal equal) {
    Index x = edits == 0 ? 0 : kNowhere;
    const Index from_left = at(diagonal - 1);
    const Index from_above = at(diagonal + 1);
    if (edits != 0 && from_left != kNowhere && from_left < n_) x = from_left + 1;
    if (edits != 0 && from_above != kNowhere && from_above - diagonal <= m_)
      x = std::max(x, from_above);
    if (x != kNowhere)
      while (x < n_ && x - diagonal < m_ && equal(x, x - diagonal)) ++x;
    return reach_[slot(diagonal)] = x;
  }

  /// kNowhere for diagonals that leave the square.
  [[nodiscard]] Index at(Index diagonal) const {
    return diagonal < -m_ || diagonal > n_ ? kNowhere : reach_[slot(diagonal)];
  }
  [[nodiscard]] Index lowest(Index edits) const {
    return edits <= m_ ? -edits : -m_ + (edits - m_) % 2;
  }
  [[nodiscard]] Index highest(Index edits) const { return std::min(edits, n_); }

 private:
  [[nodiscard]] std::size_t slot(Index diagonal) const {
    return static_cast<std::size_t>(diagonal + m_ + 1);
  }

  Index n_;
  Index m_;
  std::vector<Index> reach_;
};

struct Point {
  Index x = 0;
  Index y = 0;
};

/// A point on a shortest path, with about half of its edits on either side. Neither sequence is
/// empty, and they differ at both ends.
Point middle(Sequence a, Sequence b) {
  const auto n = static_cast<Index>(a.size());
  const auto m = static_cast<Index>(b.size());
  const Index delta = n - m;
  Frontier forward(n, m);
  Frontier backward(n, m);
  const auto meets = [n](Index x, Index reversed) {
    return x != kNowhere && reversed != kNowhere && x + reversed >= n;
  };
  for (Index edits = 0;; ++edits) {
    for (Index k = forward.lowest(edits); k <= forward.highest(edits); k += 2) {
      const Index x = forward.advance(k, edits, [&](Index i, Index j) {
        return a[static_cast<std::size_t>(i)] == b[static_cast<std::size_t>(j)];
      });
      if (delta % 2 != 0 && std::abs(delta - k) < edits && meets(x, backward.at(delta - k)))
        return {x, x - k};
    }
    for (Index k = backward.lowest(edits); k <= backward.highest(edits); k += 2) {
      const Index x = backward.advance(k, edits, [&](Index i, Index j) {
        return a[static_cast<std::size_t>(n - 1 - i)] == b[static_cast<std::size_t>(m - 1 - j)];
      });
      if (delta % 2 == 0 && std::abs(delta - k) <= edits && meets(forward.at(delta - k), x))
        return {n - x, m - (x - k)};
    }
  }
}

class Aligner {
 public:
  void solve(Sequence a, Sequence b, std::size_t a_at, std::size_t b_at) {
    const auto ends = std::ranges::mismatch(a, b);
    const auto prefix = static_cast<std::size_t>(ends.in1 - a.begin());
    pair_up(a_at, b_at, prefix);
    a = a.subspan(prefix);
    b = b.subspan(prefix);
    std::size_t suffix = 0;
    while (suffix < std::min(a.size(), b.size()) &&
           a[a.size() - 1 - suffix] == b[b.size() - 1 - suffix])
      ++suffix;
    const std::size_t a_end = a_at + prefix + a.size() - suffix;
    const std::size_t b_end = b_at + prefix + b.size() - suffix;
    a = a.first(a.size() - suffix);
    b = b.first(b.size() - suffix);
    if (!a.empty() && !b.empty()) {
      const Point split = middle(a, b);
      const auto x = static_cast<std::size_t>(split.x);
      const auto y = static_cast<std::size_t>(split.y);
      solve(a.first(x), b.first(y), a_at + prefix, b_at + prefix);
      solve(a.subspan(x), b.subspan(y), a_at + prefix + x, b_at + prefix + y);
    }
    pair_up(a_end, b_end, suffix);
  }

  [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> take() && {
    return std::move(pairs_);
  }

 private:
  void pair_up(std::size_t a_at, std::size_t b_at, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) pairs_.emplace_back(a_at + i, b_at + i);
  }

  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
};

/// The elements that another sequence has too, and where they stood.
struct Part {
  std::vector<int> elements;
  std::vector<std::size_t> places;
};

Part common_part(Sequence sequence, Sequence other) {
  const std::unordered_set<int> known(other.begin(), other.end());
  Part part;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    if (!known.contains(sequence[i])) continue;
    part.elements.push_back(sequence[i]);
    part.places.push_back(i);
  }
  return part;
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> align(std::span<const int> a,
                                                       std::span<const int> b) {
  // What only one of them has costs edits and can match nothing.
  const Part in_a = common_part(a, b);
  const Part in_b = common_part(b, a);
  Aligner aligner;
  aligner.solve(in_a.elements, in_b.elements, 0, 0);
  auto pairs = std::move(aligner).take();
  for (auto& [i, j] : pairs) {
    i = in_a.places[i];
    j = in_b.places[j];
  }
  return pairs;
}

}  // namespace portcullis::trace
