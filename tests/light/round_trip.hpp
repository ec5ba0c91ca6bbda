// SPDX-License-Identifier: BSD-3-Clause
//
// A device is asked, a model is told what was found, and that model is asked the same: for single
// switches, and for sets of them that a number draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "light/facts.hpp"
#include "light/steps.hpp"
#include "trace/device_profile.hpp"

namespace portcullis::light::testing {

struct Asked {
  Facts facts;
  trace::DeviceProfile profile;
};

[[nodiscard]] Asked ask(Options options);

/// The model that a profile makes, through its text.
[[nodiscard]] Asked ask_again(const trace::DeviceProfile& profile, std::uint64_t seed,
                              const std::string& steps = {});

struct RoundTripped {
  std::string device;                    // as it was asked for
  std::vector<std::string> differences;  // of the second from the first
};

/// One to six switches and a device, drawn from `seed`.
[[nodiscard]] RoundTripped round_trip(std::uint32_t seed);

}  // namespace portcullis::light::testing
