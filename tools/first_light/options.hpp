// SPDX-License-Identifier: BSD-3-Clause
//
// What the user asked first-light for: a run on a device, or a look at bundles of runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "light/steps.hpp"

namespace portcullis::tools::first_light {

struct Options {
  enum class Act : std::uint8_t { Run, Show, Diff };
  Act act = Act::Run;

  // Of Run.
  std::string device;
  light::Options run;  // but for the device
  std::string bundle;  // file; empty: none
  bool keeps_identities = false;
  bool wants_crash_dump = false;
  std::string dmesg;             // file; empty: none
  std::vector<std::string> eal;  // the program's name and what stood before `--`

  // Of Show and Diff.
  std::vector<std::string> bundles;

  std::string html;  // file; empty: none
  std::string text;  // --help: print and leave
};

/// InvalidArgument with one line that names the argument and what is accepted.
[[nodiscard]] Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace portcullis::tools::first_light
