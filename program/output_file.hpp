// SPDX-License-Identifier: BSD-3-Clause
//
// What a program was told to put into a file: there as a whole, or the file is what it was before.
// A full disk costs nothing that was there, and a symbolic link is never written through.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis::program {

inline constexpr mode_t kAnybody = 0666;    // less what umask says
inline constexpr mode_t kOnlyOwner = 0600;  // of a file with a key in it

/// Whether write_output() could write there as things are now: what it would refuse, before the
/// work that it is to keep. Nothing is written; a full disk is not foreseen.
[[nodiscard]] Result<void> check_output(const std::string& path);

/// Written under another name in the same folder, to the disk, then renamed. A pipe or a terminal
/// is written as it is. Of the permissions of a file that is there none are added, and those beyond
/// `mode` are taken. System with one line that begins with `path`: a symbolic link, a folder, a
/// file that may not be written, a full disk.
[[nodiscard]] Result<void> write_output(const std::string& path, std::string_view text,
                                        mode_t mode = kAnybody);

/// The same at the end of work that was done and is told on standard output: a file that is lost is
/// one line, and status 74 (note_lost_file() of program/standard_streams.hpp).
void keep_output(std::string_view option, const std::string& path, std::string_view text,
                 mode_t mode = kAnybody);

/// One file that a program writes: the option that names it, and what it names; empty: none.
struct WrittenFile {
  std::string_view option;
  std::string file;
};
/// InvalidArgument when two of them are one file, however it is spelled, or one is read: `inputs`
/// are names of files, "-" is standard input; empty: none.
[[nodiscard]] Result<void> check_outputs(const std::vector<WrittenFile>& files,
                                         const std::vector<std::string>& inputs);

/// `written` with the option that it is about before its error.
[[nodiscard]] inline Result<void> named(const std::string& option, Result<void> written) {
  if (!written) written.error().text = option + " " + written.error().text;
  return written;
}

}  // namespace portcullis::program
