// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/extrapolation.hpp"

#include <algorithm>
#include <numeric>

namespace portcullis::pfc {
namespace {

// Of a difference's square, what must be left of it beside the others that it is no sum of them.
constexpr double kIndependent = 1e-20;
// Of how many plain steps one extrapolation may stand for, the square. Where more are needed the
// iteration hardly moves, and where it would end is for rounding to say: there it stays.
constexpr double kFarthest = 1e4;

double product(const Extrapolation::Vector& a, const Extrapolation::Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// a += factor b
void add(Extrapolation::Vector& a, double factor, const Extrapolation::Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
}

}  // namespace

void Extrapolation::remember(const Vector& x, const Vector& g) {
  rest_ = g;
  add(rest_, -1, x);
  if (known_ > 0) {
    Vector& rest_step = rest_steps_[(known_ - 1) % kDepth];
    Vector& g_step = g_steps_[(known_ - 1) % kDepth];
    rest_step = rest_;
    add(rest_step, -1, last_rest_);
    g_step = g;
    add(g_step, -1, last_g_);
  }
  last_rest_ = rest_;
  last_g_ = g;
  ++known_;
}

/// Takes from the rest what the differences explain of it, one after the other, each made
/// orthogonal to those before (modified Gram-Schmidt), and from `to` what that moves g by. The
/// differences of g go through the same combinations, so that no triangle need be solved.
void Extrapolation::correct(Vector& to) {
  const std::size_t count = std::min(known_ - 1, kDepth);
  std::array<double, kDepth> squares{};
  for (std::size_t age = 0; age < count; ++age) {  // the newest first
    const std::size_t at = (known_ - 2 - age) % kDepth;
    rests_[age] = rest_steps_[at];
    moves_[age] = g_steps_[at];
    const double whole = product(rests_[age], rests_[age]);
    for (std::size_t other = 0; other < age; ++other) {
      if (squares[other] == 0) continue;
      const double part = product(rests_[age], rests_[other]) / squares[other];
      add(rests_[age], -part, rests_[other]);
      add(moves_[age], -part, moves_[other]);
    }
    const double left = product(rests_[age], rests_[age]);
    const bool is_near = product(moves_[age], moves_[age]) <= kFarthest * left;
    squares[age] = is_near && left > kIndependent * whole ? left : 0;
    if (squares[age] == 0) continue;
    const double part = product(rest_, rests_[age]) / squares[age];
    add(rest_, -part, rests_[age]);
    add(to, -part, moves_[age]);
  }
}

void Extrapolation::advance(const Vector& x, const Vector& g, Vector& to) {
  remember(x, g);
  to = g;
  if (known_ > 1) correct(to);
}

}  // namespace portcullis::pfc
