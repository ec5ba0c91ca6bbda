// SPDX-License-Identifier: BSD-3-Clause
//
// What a run of first light leaves behind: commands, fences and log lines as they come, put into a
// bundle at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "light/facts.hpp"
#include "pmd/crash_dump.hpp"
#include "proof/audit.hpp"
#include "tools/first_light/beside_linux.hpp"
#include "trace/bundle.hpp"
#include "trace/command_text.hpp"
#include "trace/profile_builder.hpp"

namespace portcullis::tools::first_light {

/// Recorded in full: the first ones, and after that those that were not answered with 0. A run of
/// 30,000 fences sends a million; the times of all of them are in the facts.
inline constexpr std::uint64_t kMostRecorded = 20'000;
inline constexpr std::uint64_t kMostRefusedRecorded = 5'000;
/// Each is some MiB of a card's.
inline constexpr unsigned kMostCrashDumps = 4;

class Keeping {
 public:
  explicit Keeping(bool keeps_identities) noexcept : keeps_identities_(keeps_identities) {}

  void add(const trace::TraceCommand& command);
  void add(const std::string& plan, const proof::FenceRecord& fence);
  /// The first kMostCrashDumps.
  void add(const std::string& step, const pmd::CrashDump& dump);
  /// A line of the driver's, once.
  void add_line(std::string_view line);
  /// Hears of our bring-up from then on.
  void set_beside(BesideLinux linux_log);
  void add_of_bring_up(const trace::TraceCommand& command);

  [[nodiscard]] bool has_crash_dump() const noexcept { return crash_dump_count_ != 0; }
  [[nodiscard]] trace::Bundle bundle(const light::Facts& facts) const;

 private:
  [[nodiscard]] std::string manifest(const trace::Bundle& bundle, const light::Facts& facts) const;

  bool keeps_identities_;
  trace::ProfileBuilder profile_;
  std::uint64_t commands_ = 0;
  std::uint64_t recorded_ = 0;
  std::uint64_t refused_recorded_ = 0;
  std::string trace_;
  std::string fences_;
  std::string log_;
  std::string crash_dumps_;
  unsigned crash_dump_count_ = 0;
  std::optional<BesideLinux> beside_;
  std::unordered_set<std::string> lines_;
};

/// `text` with MAC addresses, IPv4 and IPv6 addresses, numbers of objects and paths of files
/// blotted out.
[[nodiscard]] std::string without_identities(std::string_view text);

}  // namespace portcullis::tools::first_light
