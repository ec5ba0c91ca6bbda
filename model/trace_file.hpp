// SPDX-License-Identifier: BSD-3-Clause
//
// A file that every command is recorded in, with its fields by name (docs/trace-format.md). A
// command is in the file as soon as it is answered, so that a killed process leaves whole commands.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "prm/trace_text.hpp"

namespace portcullis::model {

class TraceFile {
 public:
  /// `source` is what the recording says of its origin. System, with the path, when the file cannot
  /// be written.
  [[nodiscard]] static Result<std::unique_ptr<TraceFile>> create(const std::string& path,
                                                                 std::string_view source);

  void write(const prm::TraceCommand& command);
  /// System when something could not be written, a full disk for instance: nothing is recorded
  /// after that.
  [[nodiscard]] Result<void> status() const;

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  TraceFile(std::string path, File file) noexcept
      : path_(std::move(path)), file_(std::move(file)) {}
  void append(std::string_view text);

  std::string path_;
  File file_;
  int error_ = 0;  // errno of the write that failed
};

}  // namespace portcullis::model
