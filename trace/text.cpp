// SPDX-License-Identifier: BSD-3-Clause
#include "trace/text.hpp"

#include <algorithm>
#include <charconv>

namespace portcullis::trace {
namespace {

constexpr std::size_t kQuotedCharacters = 60;
constexpr std::string_view kBlanks = " \t";

}  // namespace

std::optional<std::string_view> Lines::next() noexcept {
  if (rest_.empty()) return std::nullopt;
  const std::size_t end = rest_.find('\n');
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++number_;
  return line;
}

std::string_view take_word(std::string_view& rest) noexcept {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  return word;
}

std::optional<std::uint64_t> to_number(std::string_view text, int base) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> to_prefixed_hex(std::string_view text) noexcept {
  if (!text.starts_with("0x")) return std::nullopt;
  return to_number(text.substr(2), 16);
}

std::string in_quotes(std::string_view text) {
  std::string shown(text.substr(0, kQuotedCharacters));
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return "\"" + shown + (text.size() > kQuotedCharacters ? "..\"" : "\"");
}

}  // namespace portcullis::trace
