// SPDX-License-Identifier: BSD-3-Clause
//
// A file that a user named, read whole.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace portcullis::program {

/// The bytes of a file or a pipe. System with one line that begins with `path`: a folder, a file
/// that cannot be read, one of more than `most_bytes`.
[[nodiscard]] Result<std::string> read_input(const std::string& path, std::size_t most_bytes);

}  // namespace portcullis::program
