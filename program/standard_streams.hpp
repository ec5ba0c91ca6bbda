// SPDX-License-Identifier: BSD-3-Clause
//
// What main() has in common: standard streams that are there, output that was taken whole or said
// to be lost, no signal for a reader that has gone, and no exception that ends a program without a
// word.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

namespace portcullis::program {

/// What was printed, or written to a file, is not all there; whatever the verdict was. EX_IOERR of
/// sysexits.h, so that no program's own statuses are near.
inline constexpr int kExitOutputLost = 74;
/// An argument that no program takes (program/arguments.hpp): EX_USAGE of the same.
inline constexpr int kExitArgument = 64;
/// The system had no memory, no thread or no standard stream for it: EX_OSERR of sysexits.h.
inline constexpr int kExitNoResources = 71;
/// What --help says of them, below a program's own.
inline constexpr std::string_view kExitHelp =
    "\nExit status of every program: 74 what it printed or wrote is not all there, 71 the system "
    "had\n"
    "no memory, thread or stream for it, 64 an argument is too long or no text\n";

/// Runs `body` as the whole of main() and returns the status to leave with: the body's, or one of
/// the above after one line on standard error. A standard stream that is closed is opened first,
/// so that no file of the program's becomes one; what is printed to it is lost, and said to be.
/// `stop`, if there is one, is set when nobody reads standard output any more.
[[nodiscard]] int run_main(std::string_view program, const std::function<int()>& body,
                           std::atomic<bool>* stop = nullptr);

/// Standard output has refused something, or nobody reads it any more.
[[nodiscard]] bool is_output_lost() noexcept;

/// A file that was being written is not whole; `what` is the line that run_main() ends with. Of
/// several the first is told.
void note_lost_file(std::string_view what);

}  // namespace portcullis::program
