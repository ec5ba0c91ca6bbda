// SPDX-License-Identifier: BSD-3-Clause
//
// Anderson's extrapolation of an iteration x -> g(x): from the last few steps of it the point where
// a linear iteration would stand still. The caller goes on from there, so that what it ends with is
// a fixed point of its own iteration and not of this.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace portcullis::pfc {

class Extrapolation {
 public:
  using Vector = std::vector<double>;

  /// Forgets all steps.
  void restart() { known_ = 0; }

  /// From a step that began at `x` and led to `g`: `to` is where the next should begin. `to` may be
  /// `g`. Remembers kDepth steps.
  void advance(const Vector& x, const Vector& g, Vector& to);

 private:
  static constexpr std::size_t kDepth = 5;

  void remember(const Vector& x, const Vector& g);
  void correct(Vector& to);

  std::size_t known_ = 0;             // steps remembered; their differences are one fewer
  Vector rest_, last_rest_, last_g_;  // rest: g(x) - x
  std::array<Vector, kDepth> rest_steps_, g_steps_;  // rings: what rest and g changed by
  std::array<Vector, kDepth> rests_, moves_;         // combinations of these
};

}  // namespace portcullis::pfc
