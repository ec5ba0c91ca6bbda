// SPDX-License-Identifier: BSD-3-Clause
//
// What leased may still ask of the kernel once it serves (seccomp(2)). A call that is not on the
// list is answered EPERM, and the kernel's audit log has it where it is kept: a library that tries
// something new must not end a server that holds leases. None of them starts a program, makes a
// process, signals or traces another, mounts, or makes memory executable; and none makes a socket
// of the Internet, unless the server is a node of a fleet, which connects to etcd again and again.
#pragma once

#include "base/result.hpp"

namespace portcullis::service::daemon {

/// Whether other hosts are connected to, beside those that connect.
enum class Reach : bool { AcceptsAlone, Connects };

/// From now on and for every thread, those that are there and those that come. Unsupported where
/// the kernel has no such filters.
[[nodiscard]] Result<void> allow_listed_calls_alone(Reach reach = Reach::AcceptsAlone);

}  // namespace portcullis::service::daemon
