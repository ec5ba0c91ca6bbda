// SPDX-License-Identifier: BSD-3-Clause
//
// doctor without main: arguments in, text and exit status out.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tools/doctor/finding.hpp"
#include "tools/doctor/machine.hpp"

namespace portcullis::tools::doctor {

inline constexpr int kExitReady = 0;
inline constexpr int kExitMissing = 1;
inline constexpr int kExitUsage = 2;

struct Outcome {
  int status = kExitReady;
  std::string out;
  std::string err;
};

/// What the program needs of the world; main gives it the real one.
struct World {
  std::function<Machine(const std::filesystem::path& root)> machine;
  /// Opens the function; asked only on this machine, and only when nothing else is missing.
  std::function<Findings(const std::string& bdf, bool hugepages)> open;
  /// The same of a NIC that its kernel driver keeps.
  std::function<Findings(const std::string& name)> open_kept;
};

/// `arguments` without the program's name.
[[nodiscard]] Outcome run(std::span<const std::string_view> arguments, const World& world);

}  // namespace portcullis::tools::doctor
