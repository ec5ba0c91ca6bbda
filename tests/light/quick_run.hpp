// SPDX-License-Identifier: BSD-3-Clause
//
// First light of a model, with little of everything.
#pragma once

#include <ostream>
#include <string>

#include "attach/open_device.hpp"
#include "light/conclusions.hpp"
#include "light/steps.hpp"

namespace portcullis::light {

inline std::ostream& operator<<(std::ostream& out, Answer answer) { return out << name(answer); }

}  // namespace portcullis::light

namespace portcullis::light::testing {

inline Options little_of(const std::string& device, const std::string& steps = {}) {
  Options options;
  options.device = attach::parse_device(device).value();
  if (!steps.empty()) options.steps = parse_steps(steps).value();
  options.rounds = 2;
  options.writes = 4;
  options.revokes = 2;
  options.fences = 32;
  return options;
}

inline Facts light_of(const std::string& device, const std::string& steps = {}) {
  return run(little_of(device, steps));
}

/// Of the hypothesis of that name.
inline Conclusion of(const Facts& facts, const std::string& id) {
  const auto all = conclude(facts);
  const auto found = std::ranges::find(all, id, &Conclusion::id);
  return found == all.end() ? Conclusion{.id = "no hypothesis " + id} : *found;
}

}  // namespace portcullis::light::testing
