// SPDX-License-Identifier: BSD-3-Clause
//
// Recordings of commands and kernel logs that anybody wrote. A text is refused in one line that
// names it, or it becomes commands that are the same once they were written and read again, with
// themselves compared differ in nothing, and stripped of identities are a recording still.
// libFuzzer drives it in the asan build; elsewhere corpus_test.cpp runs the corpus once.
//
// An input is the text of either, read as both.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "trace/compare.hpp"
#include "trace/dmesg_import.hpp"
#include "trace/recording.hpp"
#include "trace/redact.hpp"

namespace {

using namespace portcullis;

void require(bool held) {
  if (!held) std::abort();
}

bool is_one_line_about(std::string_view text, std::string_view file) {
  return text.starts_with(file) && text.find('\n') == std::string_view::npos;
}

void check(const trace::Recording& recording) {
  const std::string text = to_text(recording);
  const auto again = trace::parse_recording(text, "again");
  require(again && again->commands.size() == recording.commands.size());
  require(to_text(*again) == text);
  require(trace::compare(recording, *again, trace::Rules::usual()).is_same());
  trace::Recording stripped{.source = recording.source, .commands = {}};
  for (const trace::TraceCommand& command : recording.commands)
    stripped.commands.push_back(trace::without_identities(command));
  require(trace::parse_recording(to_text(stripped), "stripped").has_value());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto recording = trace::parse_recording(text, "file");
  require(recording || is_one_line_about(recording.error().text, "file"));
  if (recording) check(*recording);
  const auto log = trace::import_log(text, "log", "");
  require(log || is_one_line_about(log.error().text, "log"));
  if (!log) return 0;
  require(log->warnings.size() <= trace::kMostWarnings + 1);
  for (const std::string& warning : log->warnings) require(is_one_line_about(warning, "log"));
  check(log->recording);
  return 0;
}
