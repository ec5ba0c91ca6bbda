// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock as its users call it: arguments in, status and both streams out.
#pragma once

#include <atomic>
#include <sstream>
#include <string>
#include <vector>

#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::testing {

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

inline Outcome run_pfc_deadlock(const std::vector<std::string>& arguments,
                                bool is_stopped = false) {
  std::ostringstream out;
  std::ostringstream err;
  const std::atomic<bool> stopped = is_stopped;
  tools::pfc_deadlock::Console console{out, err, stopped};
  const int status = tools::pfc_deadlock::run_program(arguments, console);
  return {status, out.str(), err.str()};
}

}  // namespace portcullis::testing
