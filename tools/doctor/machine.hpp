// SPDX-License-Identifier: BSD-3-Clause
//
// The machine as /sys, /proc and /dev show it, all below one root, so that a tree made by a test or
// copied from another machine can be examined like this one. Never fails: what cannot be read is
// not there.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmd/lcores.hpp"

namespace portcullis::tools::doctor {

class Machine {
 public:
  /// 0, or the errno of opening a file for reading and writing.
  using TryOpen = std::function<int(const std::filesystem::path&)>;

  explicit Machine(std::filesystem::path root = "/");
  /// With `try_open` in place of open(2).
  Machine(std::filesystem::path root, TryOpen try_open);

  // Paths are below the root, without a leading slash: "sys/module/vfio".
  [[nodiscard]] std::filesystem::path path(std::string_view at) const { return root_ / at; }
  [[nodiscard]] bool exists(std::string_view at) const;
  [[nodiscard]] std::string text(std::string_view at) const;
  /// The first line, without blanks around it.
  [[nodiscard]] std::string line(std::string_view at) const;
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view at) const;
  /// Empty where the file is not there or is no CPU list.
  [[nodiscard]] pmd::CpuSet cpus(std::string_view at) const;
  /// What a folder holds, in order.
  [[nodiscard]] std::vector<std::string> names(std::string_view folder) const;
  /// What a link points at, as written.
  [[nodiscard]] std::string target(std::string_view link) const;
  [[nodiscard]] int open_error(std::string_view at) const { return try_open_(path(at)); }

  /// Whether `parameter` is a word of the kernel's command line.
  [[nodiscard]] bool booted_with(std::string_view parameter) const;
  /// What follows `name=` on the kernel's command line, of the last such word.
  [[nodiscard]] std::string boot_value(std::string_view name) const;
  /// Why no modprobe helps on this kernel; "": it may.
  [[nodiscard]] std::string without_modules() const;

 private:
  [[nodiscard]] std::vector<std::string> boot_words() const;

  std::filesystem::path root_;
  TryOpen try_open_;
};

}  // namespace portcullis::tools::doctor
