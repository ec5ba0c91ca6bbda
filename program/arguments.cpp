// SPDX-License-Identifier: BSD-3-Clause
#include "program/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace portcullis::program {

std::string wrong_argument(std::string_view command_line) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  command_line.remove_prefix(std::min(command_line.find('\0'), command_line.size()));
  for (std::size_t number = 1; !command_line.empty(); ++number) {
    command_line.remove_prefix(1);  // the 0 before it
    const std::string_view argument = command_line.substr(0, command_line.find('\0'));
    if (argument.size() > kMostArgumentBytes)
      return fmt::format("argument {} has {} bytes; at most {} are accepted", number,
                         argument.size(), kMostArgumentBytes);
    const auto found = std::ranges::find_if(argument, is_control);
    if (found != argument.end())
      return fmt::format("argument {} has the control character {:#04x}; none is accepted", number,
                         static_cast<unsigned char>(*found));
    command_line.remove_prefix(argument.size());
  }
  return {};
}

}  // namespace portcullis::program
