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
#include "trace/command_text.hpp"
#include "trace/recording_file.hpp"

namespace portcullis::trace {

class TraceFile {
 public:
  /// `source` is what the recording says of its origin. System, with the path, when the file cannot
  /// be written.
  [[nodiscard]] static Result<std::unique_ptr<TraceFile>> create(const std::string& path,
                                                                 std::string_view source,
                                                                 OnRecordingLost on_lost = {});
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile();

  /// When something cannot be written, for instance because the disk is full, calls `on_lost` once
  /// and records nothing more.
  void write(const TraceCommand& command);
  /// What happened between two commands, as a line that readers of recordings pass over.
  void remark(std::string_view text);

 private:
  TraceFile(std::string path, std::FILE* file, OnRecordingLost on_lost) noexcept
      : path_(std::move(path)), file_(file), on_lost_(std::move(on_lost)) {}
  /// False: it could not be written, errno says why.
  [[nodiscard]] bool append(std::string_view text);
  [[nodiscard]] std::string complaint() const;
  void lose();

  std::string path_;
  std::FILE* file_;
  OnRecordingLost on_lost_;
  bool is_lost_ = false;
};

}  // namespace portcullis::trace
