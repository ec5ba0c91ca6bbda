// SPDX-License-Identifier: BSD-3-Clause
//
// portcullis without main: which programs there are, and one of them in this process's place.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace portcullis::tools::command {

struct Program {
  std::string_view name;
  std::string_view component;  // of the installation: which package has it
  std::string_view summary;    // one line
};

/// Those that are installed beside this one, by name.
[[nodiscard]] std::span<const Program> programs() noexcept;

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

inline constexpr int kExitUsage = 2;
// As a shell has them, so that they are no program's own.
inline constexpr int kExitNotRun = 126;
inline constexpr int kExitNotInstalled = 127;

/// What is printed where no program is run: the list, the version, or what was wrong.
[[nodiscard]] Outcome answer(std::span<const std::string_view> arguments);

/// Whether these are arguments for a program of the list, the first of them its name.
[[nodiscard]] bool names_program(std::span<const std::string_view> arguments) noexcept;
/// Becomes the program argv[1], with what stands behind it: the one in `folder`, or else in PATH.
/// Comes back only when that could not be.
[[nodiscard]] Outcome become(const std::filesystem::path& folder, char** argv);

}  // namespace portcullis::tools::command
