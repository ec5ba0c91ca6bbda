// SPDX-License-Identifier: BSD-3-Clause
//
// The registers that firmware's authors ask for when it has failed: the device's own address space,
// as far as it lets itself be scanned, through the vendor specific capability of a physical
// function. The order of steps is that of mlx5_crdump_collect (mlx5/core/diag/crdump.c of Linux):
// the gateway's semaphore, the device's semaphore of resets, the space, word after word, and back.
// What is in it is nobody's business but the vendor's: addresses and keys may be.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/device.hpp"
#include "base/result.hpp"

namespace portcullis::pmd {

struct CrashWord {
  std::uint32_t address = 0;
  std::uint32_t value = 0;
};

struct CrashDump {
  std::uint32_t space_bytes = 0;  // as the device says
  /// In the order of their addresses; what lies between is not to be read.
  std::vector<CrashWord> words = {};
  bool is_whole = false;  // the scan came to the end of the space
};

struct CrashDumpOptions {
  std::uint64_t deadline_ms = 60'000;     // of the scan; what was read by then is told
  std::uint64_t semaphore_ms = 2'000;     // another may hold one of the two
  std::uint64_t answer_ms = 100;          // of the gateway, for one word
  std::function<bool()> is_stopped = {};  // ends the scan as the deadline does; may be empty
};

/// Unsupported where the function has no such capability, or the device no such space; Busy where
/// another holds a semaphore, DeviceFailed where the gateway does not answer or goes backwards.
[[nodiscard]] Result<CrashDump> read_crash_dump(const Device& device,
                                                const CrashDumpOptions& options = {});

}  // namespace portcullis::pmd
