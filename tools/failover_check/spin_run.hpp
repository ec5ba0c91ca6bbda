// SPDX-License-Identifier: BSD-3-Clause
//
// A program run to its end, with its time and its greatest resident memory as the kernel counts
// them: the same measure for SPIN's verifiers and for ours.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace portcullis::tools::failover_check {

struct Finished {
  int status = 0;  // exit status, or 128 + signal
  double seconds = 0;
  double cpu_seconds = 0;  // user and system, all threads
  double megabytes = 0;    // greatest resident set, 10^6 bytes
  std::string out, err;
};

/// Runs arguments[0], found in PATH, in `folder`. System when it cannot be started. Shared memory
/// of System V that it leaves behind is removed.
[[nodiscard]] Result<Finished> run_program(const std::vector<std::string>& arguments,
                                           const std::string& folder);

/// A folder of its own under the system's temporary one; removed with everything in it.
class ScratchFolder {
 public:
  [[nodiscard]] static Result<ScratchFolder> create();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace portcullis::tools::failover_check
