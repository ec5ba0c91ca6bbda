// SPDX-License-Identifier: BSD-3-Clause
//
// A first-light that is sent a signal in a step that was named:
//   PORTCULLIS_STOP_AT=STEP:N:SIGNAL   at the N-th command of that step, SIGNAL by its number
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tools/first_light/at_command.hpp"

namespace portcullis::tools::first_light {

AtCommand at_command() {
  const char* const asked = std::getenv("PORTCULLIS_STOP_AT");
  std::istringstream words(asked == nullptr ? "" : asked);
  std::string name;
  unsigned left = 0;
  int signal = 0;
  char colon = 0;
  std::getline(words, name, ':');
  words >> left >> colon >> signal;
  return [name, left, signal](std::string_view step) mutable {
    if (step == name && left != 0 && --left == 0) (void)raise(signal);
  };
}

}  // namespace portcullis::tools::first_light
