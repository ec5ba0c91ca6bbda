// SPDX-License-Identifier: BSD-3-Clause
//
// What first light found of a device, as the model can be told it: --device=model,profile=BUNDLE.
// Times, capabilities and refusals are of the commands; the behaviours follow from the facts, each
// only where a step asked for it.
#pragma once

#include <string>
#include <vector>

#include "light/facts.hpp"
#include "trace/device_profile.hpp"
#include "trace/profile_builder.hpp"

namespace portcullis::light {

/// Switches of the model (model/behaviours.hpp) that make it answer as the facts say, "NAME" or
/// "NAME=VALUE". What no step asks is not among them, and is named in docs/first-light.md.
[[nodiscard]] std::vector<std::string> behaviours_of(const Facts& facts,
                                                     const trace::ProfileBuilder& commands);

/// What among those no step could measure, a line each.
[[nodiscard]] std::vector<std::string> assumed_by_model(const Facts& facts);

[[nodiscard]] trace::DeviceProfile profile_of(const Facts& facts,
                                              const trace::ProfileBuilder& commands);

}  // namespace portcullis::light
