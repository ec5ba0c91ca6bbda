// SPDX-License-Identifier: BSD-3-Clause
//
// A leased that can be killed at a point by its name. Two variables of the environment:
//   PORTCULLIS_CRASH_AT=NAME:N   it kills itself when it gets to NAME for the N-th time
//   PORTCULLIS_POINTS=FILE       every point that it gets to, one a line, as it gets there
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

#include "tools/leased/at_point.hpp"

namespace portcullis::tools::leased {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

class CrashPoints {
 public:
  CrashPoints() {
    const std::string asked = variable("PORTCULLIS_CRASH_AT");
    const std::size_t colon = asked.rfind(':');
    if (colon != std::string::npos) {
      name_ = asked.substr(0, colon);
      left_ = std::stoul(asked.substr(colon + 1));
    }
    if (const std::string file = variable("PORTCULLIS_POINTS"); !file.empty())
      file_ = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }

  void reach(std::string_view point) {
    const std::lock_guard one(one_at_a_time_);
    const bool is_it = point == name_ && --left_ == 0;
    if (file_ >= 0) {
      const std::string line = std::string(point) + "\n";
      (void)!write(file_, line.data(), line.size());
    }
    if (is_it) (void)raise(SIGKILL);  // by tgkill, which its seccomp lets through; not by kill
  }

 private:
  std::mutex one_at_a_time_;
  std::string name_;
  std::size_t left_ = 0;
  int file_ = -1;
};

}  // namespace

service::daemon::AtPoint at_point() {
  static CrashPoints points;
  return [](std::string_view point) { points.reach(point); };
}

}  // namespace portcullis::tools::leased
