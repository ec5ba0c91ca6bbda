// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "tools/leasectl/options.hpp"

namespace portcullis::tools::leasectl {

/// What a command needs of the program around it.
struct World {
  std::function<bool()> stop;
  std::function<void(const std::string&)> print;      // a line
  bool is_terminal = false;                           // where it is printed
  std::function<void(const std::string&)> warn = {};  // a line beside what is printed
};

inline constexpr int kDone = 0;
inline constexpr int kEndedByOthers = 1;
inline constexpr int kFenced = 3;
inline constexpr int kNotFound = 4;
inline constexpr int kNotCertain = 5;
inline constexpr int kExpired = 6;

/// The exit status; an error is one more: it could not be asked, or was refused.
[[nodiscard]] Result<int> run(const Options& options, const World& world);

}  // namespace portcullis::tools::leasectl
