// SPDX-License-Identifier: BSD-3-Clause
//
// rte_eal_init, with what it says kept for the one line that tells why it failed, and a panic of it
// made an error. It logs to a stream that it is given (rte_openlog_stream), but prints its usage
// and its worst to stdout and stderr, so those two variables name streams of ours meanwhile. The
// file descriptors stay as they are, and what other threads write goes where it always went.
#pragma once

#include <optional>
#include <string>

namespace portcullis::pmd {

struct EalStart {
  std::optional<int> parsed;  // as rte_eal_init returned; none where it called rte_panic
  std::string said;           // cut after some 16 KiB
};

/// `argv` as rte_eal_init takes it. One at a time. Where a thread of the EAL's panics the process
/// ends by SIGABRT as ever, with its words on standard error.
[[nodiscard]] EalStart start_eal(int argc, char** argv);

}  // namespace portcullis::pmd
