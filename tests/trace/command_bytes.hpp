// SPDX-License-Identifier: BSD-3-Clause
//
// Commands for the tests of recordings: bytes written as hex, fields looked up by name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/prm/hex.hpp"
#include "trace/command_text.hpp"

namespace portcullis::testing {

/// `hex`, and zeros up to `length`.
[[nodiscard]] inline std::vector<std::byte> padded(std::string_view hex, std::size_t length) {
  std::vector<std::byte> bytes = bytes_of(hex);
  bytes.resize(length);
  return bytes;
}

/// A command that succeeded.
[[nodiscard]] inline trace::TraceCommand command_of(std::string_view in, std::string_view out) {
  trace::TraceCommand command;
  command.sequence = 1;
  command.answer = trace::TraceAnswer::Given;
  command.in.bytes = bytes_of(in);
  command.out.bytes = bytes_of(out);
  return command;
}

/// The field's value, "0x0" where it is not among them.
[[nodiscard]] inline std::string value_of(const std::vector<prm::FieldValue>& fields,
                                          std::string_view name) {
  const auto found = std::ranges::find(fields, name, &prm::FieldValue::name);
  return found == fields.end() ? "0x0" : found->value;
}

[[nodiscard]] inline std::string in_field(const trace::TraceCommand& command,
                                          std::string_view name) {
  return value_of(prm::input_fields(command.in.bytes, prm::Detail::Full), name);
}

[[nodiscard]] inline std::string out_field(const trace::TraceCommand& command,
                                           std::string_view name) {
  return value_of(prm::output_fields(command.in.bytes, command.out.bytes, prm::Detail::Full), name);
}

[[nodiscard]] inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace portcullis::testing
