// SPDX-License-Identifier: BSD-3-Clause
//
// What first light found, for a terminal: one screen of conclusions, the figures on request.
#pragma once

#include <string>
#include <vector>

#include "light/compare.hpp"
#include "light/conclusions.hpp"
#include "light/facts.hpp"
#include "trace/device_profile.hpp"

namespace portcullis::tools::first_light {

inline constexpr int kExitWhole = 0;
inline constexpr int kExitNothing = 1;  // nothing could be run
inline constexpr int kExitRefuted = 2;  // a promise that a fence rests on
inline constexpr int kExitNotWhole = 3;

/// "vfio, firmware 16.35.4506, board MT_0000000012, Ethernet, link up".
[[nodiscard]] std::string device_line(const light::DeviceFact& device);
/// "loopback    done      0.3 s", and its reason below where it was not done.
[[nodiscard]] std::string step_line(const light::StepFact& step);
[[nodiscard]] std::string conclusions_text(const light::Facts& facts);
/// Each field of each capability page that is not zero; a page that no layout names as dwords.
[[nodiscard]] std::string capabilities_text(const trace::DeviceProfile& profile);
[[nodiscard]] std::string figures_text(const light::Facts& facts);
/// Of a run, and of a bundle of it.
[[nodiscard]] int status_of(const light::Facts& facts);

/// A line for each side that is no card; "" where both are.
[[nodiscard]] std::string sides_text(const light::DeviceFact& a, const light::DeviceFact& b);
[[nodiscard]] std::string differences_text(const std::vector<light::Difference>& differences,
                                           const std::vector<light::CommandRatio>& ratios);

}  // namespace portcullis::tools::first_light
