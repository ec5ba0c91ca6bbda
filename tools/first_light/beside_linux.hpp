// SPDX-License-Identifier: BSD-3-Clause
//
// Linux's bring-up of the same card, as mlx5_core wrote it into the owner's kernel log (dynamic
// debug, docs/trace-format.md), and ours beside it.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/bundle.hpp"
#include "trace/dmesg_import.hpp"
#include "trace/recording.hpp"

namespace portcullis::tools::first_light {

class BesideLinux {
 public:
  /// System for a file that cannot be read, Malformed for one without commands; where the log has
  /// several devices `device` ("0000:03:00.0") must be one of them.
  [[nodiscard]] static Result<BesideLinux> read(const std::string& path, const std::string& device);

  /// Of our own bring-up, in order.
  void add(const trace::TraceCommand& command) { ours_.commands.push_back(command); }
  /// What in the log is damaged, a line each.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// linux.trace and beside-linux.txt; without identities unless they are kept.
  [[nodiscard]] std::vector<trace::BundleFile> files(bool keeps_identities) const;

 private:
  explicit BesideLinux(trace::ImportedLog log)
      : linux_(std::move(log.recording)), warnings_(std::move(log.warnings)) {}

  trace::Recording linux_;
  std::vector<std::string> warnings_;
  trace::Recording ours_;
};

}  // namespace portcullis::tools::first_light
