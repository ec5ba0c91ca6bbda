// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace_file.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

namespace portcullis::trace {

Result<std::unique_ptr<TraceFile>> TraceFile::create(const std::string& path,
                                                     std::string_view source,
                                                     OnRecordingLost on_lost) {
  PORTCULLIS_TRY_ASSIGN(std::FILE* const file, open_recording_stream("trace file", path));
  std::unique_ptr<TraceFile> trace(new TraceFile(path, file, std::move(on_lost)));
  if (!trace->append(trace_header(source))) {
    trace->is_lost_ = true;  // told here
    return fail(Errc::System, trace->complaint());
  }
  return trace;
}

TraceFile::~TraceFile() {
  // A network file system may report a full disk only when the file is closed.
  if (std::fclose(file_) != 0) lose();
}

void TraceFile::write(const TraceCommand& command) {
  if (!is_lost_ && !append(trace_text(command))) lose();
}

void TraceFile::remark(std::string_view text) {
  if (!is_lost_ && !append("\n# " + std::string(text) + "\n")) lose();
}

bool TraceFile::append(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0;
}

std::string TraceFile::complaint() const {
  return "trace file " + path_ + " cannot be written: " + std::generic_category().message(errno);
}

void TraceFile::lose() {
  if (std::exchange(is_lost_, true) || !on_lost_) return;
  on_lost_(complaint() + "; it ends where that happened");
}

}  // namespace portcullis::trace
