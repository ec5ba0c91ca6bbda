// SPDX-License-Identifier: BSD-3-Clause
//
// What a person with a card sends back: plain files in one .tar.zst, readable in ten years with tar
// and a text editor. manifest.json says what each is.
//
//   README.txt       how to read it
//   manifest.json    the format's version, when and by what it was made, the files
//   facts.json       what was found (light/facts.hpp)
//   profile.json     the device as the model can be told to be (trace/device_profile.hpp)
//   conclusions.txt  each hypothesis and its answer, as the program printed them
//   figures.txt      times and counts, as a table
//   commands.trace   commands as recorded (docs/trace-format.md)
//   fences.csv       a line for each audited fence
//   log.txt          what the driver said
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis::trace {

/// Of all files of a bundle together, unpacked.
inline constexpr std::size_t kMostBundleBytes = std::size_t{1} << 28;
inline constexpr std::size_t kMostBundleFiles = 64;

struct BundleFile {
  std::string name;  // no folder
  std::string text;
};

struct Bundle {
  std::vector<BundleFile> files;

  /// Null when there is none of that name.
  [[nodiscard]] const BundleFile* find(std::string_view name) const noexcept;
};

/// The bytes of the .tar.zst. The same bundle gives the same bytes: every file is of 1970 and of
/// nobody.
[[nodiscard]] Result<std::string> pack(const Bundle& bundle);
/// Malformed in one line for what is no such archive, for a name with a folder in it, for anything
/// but plain files, and past the limits above. `file` is only a name.
[[nodiscard]] Result<Bundle> unpack(std::string_view bytes, std::string_view file);
/// The text of the one file `name`, at most `most_bytes` long, of the bundle at `path`; the others
/// are passed over. System or Malformed in one line that begins with `path`.
[[nodiscard]] Result<std::string> read_from_bundle(const std::string& path, std::string_view name,
                                                   std::size_t most_bytes);

}  // namespace portcullis::trace
