// SPDX-License-Identifier: BSD-3-Clause
#include "program/log_line.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace portcullis::program {
namespace {

struct Log {
  std::FILE* file;
  std::string program;
  std::mutex mutex;
  std::set<std::string, std::less<>> told;

  Log(std::FILE* to, std::string name) : file(to), program(std::move(name)) {}

  void tell(std::string_view line) {
    const std::scoped_lock lock(mutex);
    if (told.size() > kMostLogLines || told.contains(line)) return;
    const bool is_too_much = told.size() == kMostLogLines;
    told.emplace(line);
    std::fflush(stdout);  // what was printed before stands before it where one file takes both
    fmt::print(file, "{}: {}\n", program,
               is_too_much ? "there is more to tell; it is left out" : line);
    std::fflush(file);
  }
};

}  // namespace

LogSink log_once_to(std::FILE* file, std::string program) {
  return [log = std::make_shared<Log>(file, std::move(program))](std::string_view line) {
    log->tell(line);
  };
}

LogSink log_to_stderr() {
  static const auto log = log_once_to(stderr, program_invocation_short_name);
  return log;
}

}  // namespace portcullis::program
