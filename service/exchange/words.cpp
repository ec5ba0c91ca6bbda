// SPDX-License-Identifier: BSD-3-Clause
#include "service/exchange/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "service/exchange/exchange.hpp"

namespace portcullis::service::exchange {
namespace {

tl::unexpected<Error> malformed(std::string text) { return fail(Errc::Malformed, std::move(text)); }

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end != 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Result<Words> Words::parse(std::string_view line, std::string_view kind) {
  if (line.size() > kMaxLineBytes)
    return malformed(
        fmt::format("a line of {} bytes; at most {} are accepted", line.size(), kMaxLineBytes));
  const auto parts = split(line, ' ');
  if (parts.empty() || parts.front() != kind)
    return malformed(
        fmt::format("\"{}\"; a line that begins with {} is accepted", shown(line), kind));
  Words words(kind);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string_view::npos || equals == 0)
      return malformed(
          fmt::format("{}: word \"{}\"; key=value is accepted", kind, shown(parts[i])));
    const auto key = parts[i].substr(0, equals);
    if (!words.values_.emplace(key, parts[i].substr(equals + 1)).second)
      return malformed(fmt::format("{}: {} stands there twice", kind, shown(key)));
  }
  PORTCULLIS_TRY(words.number("version", kVersion, kVersion));
  return words;
}

Result<std::string_view> Words::text(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return malformed(fmt::format("{}: {} is missing", kind_, key));
  const std::string_view value = found->second;
  values_.erase(found);
  return value;
}

Result<std::uint64_t> Words::number(std::string_view key, std::uint64_t least, std::uint64_t most) {
  PORTCULLIS_TRY_ASSIGN(const std::string_view value, text(key));
  const bool is_hex = value.starts_with("0x");
  const std::string_view digits = value.substr(is_hex ? 2 : 0);
  std::uint64_t parsed = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, parsed, is_hex ? 16 : 10);
  if (error != std::errc() || at != end || parsed < least || parsed > most)
    return malformed(least == most
                         ? fmt::format("{}: {}={}; {} is accepted", kind_, key, shown(value), least)
                         : fmt::format("{}: {}={}; {:#x} to {:#x} is accepted", kind_, key,
                                       shown(value), least, most));
  return parsed;
}

Result<void> Words::done() const {
  if (values_.empty()) return {};
  return malformed(fmt::format("{}: no word {} is known", kind_, shown(values_.begin()->first)));
}

}  // namespace portcullis::service::exchange
