// SPDX-License-Identifier: BSD-3-Clause
//
// What the doctor found about one thing: its state, one line, and the commands that mend it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis::tools::doctor {

enum class Status : std::uint8_t {
  Ok,
  Advice,   // works without; measurements are slower or noisier
  Missing,  // --device=BDF cannot work
  Waits,    // cannot be judged before something else is mended
};
/// "ok", "advice", "missing", "waits".
[[nodiscard]] std::string_view name(Status status) noexcept;

struct Finding {
  std::string_view area;   // "vfio", "device", "memory", "cpus", "function"
  std::string_view check;  // unique and stable, for scripts: "iommu"
  Status status = Status::Ok;
  std::string what;                 // one line
  std::vector<std::string> mend{};  // shell commands for root, in their order
  std::string hint{};               // one line: what no command does, or how to make it last
};

using Findings = std::vector<Finding>;

/// Findings of `status`.
[[nodiscard]] inline std::size_t count(const Findings& findings, Status status) {
  return static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(), [&](const Finding& f) { return f.status == status; }));
}

/// The commands after which the kernel boots with `parameters`, on a machine with GRUB.
[[nodiscard]] std::vector<std::string> boot_with(std::string_view parameters);

}  // namespace portcullis::tools::doctor
