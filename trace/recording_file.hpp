// SPDX-License-Identifier: BSD-3-Clause
//
// A file that a user named, to be written from its beginning: a trace, a capture, or what a program
// was told to put somewhere. Whoever can make a link in that folder must not choose what is
// overwritten, so a link is refused; so is whatever is no plain file, pipe or terminal.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace portcullis::trace {

/// Hears that a recording is not whole, in one line.
using OnRecordingLost = std::function<void(std::string_view)>;

/// Empty, made if it was not there. System with one line that begins with `path`: a symbolic link,
/// a pipe that nobody reads, a disk, a folder, or what open(2) says.
[[nodiscard]] Result<UniqueFd> open_recording(const std::string& path);
/// The same as a stream, whose owner closes it; an error begins with `what` the file is.
[[nodiscard]] Result<std::FILE*> open_recording_stream(const std::string& what,
                                                       const std::string& path);

}  // namespace portcullis::trace
