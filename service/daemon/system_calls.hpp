// SPDX-License-Identifier: BSD-3-Clause
//
// What leased may still ask of the kernel once it serves (seccomp(2)). A call that is not on the
// list is answered EPERM, and the kernel's audit log has it where it is kept: a library that tries
// something new must not end a server that holds leases. None of them starts a program, makes a
// process or a socket of the Internet, signals or traces another, mounts, or makes memory
// executable.
#pragma once

#include "base/result.hpp"

namespace portcullis::service::daemon {

/// From now on and for every thread, those that are there and those that come. Unsupported where
/// the kernel has no such filters.
[[nodiscard]] Result<void> allow_listed_calls_alone();

}  // namespace portcullis::service::daemon
