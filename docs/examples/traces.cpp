// SPDX-License-Identifier: BSD-3-Clause
//
// What the header about recordings shows: two models bring up differently, told by their commands.
#include <portcullis/port.hpp>
#include <portcullis/trace.hpp>

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace {

using namespace portcullis;

/// Opens a port on the model with its commands recorded in `file`, and reads them.
Result<std::string> record(const std::string& device, const std::string& file) {
  PORTCULLIS_TRY_ASSIGN(const auto spec, DeviceSpec::parse(device + ",trace=" + file));
  PORTCULLIS_TRY(Port::open(spec));  // and closes it
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

Result<void> compare_two() {
  PORTCULLIS_TRY_ASSIGN(const std::string whole, record("model", "whole.trace"));
  PORTCULLIS_TRY_ASSIGN(const std::string virtual_one, record("model,vf", "vf.trace"));
  PORTCULLIS_TRY_ASSIGN(const auto a, Recording::parse(whole, "whole.trace"));
  PORTCULLIS_TRY_ASSIGN(const auto b, Recording::parse(virtual_one, "vf.trace"));
  std::cout << a.commands().front().title << '\n';
  const Comparison found = compare(a, b, {.ignored = {"out.capability.*"}});
  std::cout << found.same << " commands are the same\n" << found.text;
  return {};
}

}  // namespace

int main() {
  const auto done = compare_two();
  if (!done) std::cerr << "traces: " << done.error().text << '\n';
  return done ? 0 : 1;
}
