// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/transport/judges.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

namespace portcullis::model::testing {
namespace {

std::string output_of(const std::string& command) {
  std::string output;
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  char buffer[4096];
  while (pipe != nullptr && std::fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
  if (pipe != nullptr) pclose(pipe);
  return output;
}

std::string run(const char* script, const std::string& path) {
  return output_of(std::string(PORTCULLIS_PYTHON) + " " + script + " " + path);
}

}  // namespace

std::string tshark(const std::string& path, const std::string& filter, const std::string& field) {
  return output_of(std::string(PORTCULLIS_TSHARK) + " -n -r " + path + " -Y '" + filter +
                   "' -T fields -e " + field);
}

std::vector<std::string> tshark_values(const std::string& path, const std::string& filter,
                                       const std::string& field) {
  std::istringstream output(tshark(path, filter, field));
  std::set<std::string> values;
  for (std::string line; std::getline(output, line);) values.insert(line);
  return {values.begin(), values.end()};
}

std::string oracle(const std::string& path) { return run(PORTCULLIS_ROCE_ORACLE, path); }
std::string infiniband_oracle(const std::string& path) {
  return run(PORTCULLIS_INFINIBAND_ORACLE, path);
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace portcullis::model::testing
