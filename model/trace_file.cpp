// SPDX-License-Identifier: BSD-3-Clause
#include "model/trace_file.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

namespace portcullis::model {

Result<std::unique_ptr<TraceFile>> TraceFile::create(const std::string& path,
                                                     std::string_view source) {
  File file(std::fopen(path.c_str(), "we"));
  if (!file)
    return fail(Errc::System, "trace file " + path +
                                  " cannot be written: " + std::generic_category().message(errno));
  std::unique_ptr<TraceFile> trace(new TraceFile(path, std::move(file)));
  trace->append(prm::trace_header(source));
  PORTCULLIS_TRY(trace->status());
  return trace;
}

void TraceFile::write(const prm::TraceCommand& command) { append(prm::trace_text(command)); }

Result<void> TraceFile::status() const {
  if (error_ == 0) return {};
  return fail(Errc::System, "trace file " + path_ +
                                " cannot be written: " + std::generic_category().message(error_));
}

void TraceFile::append(std::string_view text) {
  if (error_ != 0) return;
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
      std::fflush(file_.get()) != 0)
    error_ = errno;
}

}  // namespace portcullis::model
