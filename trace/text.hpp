// SPDX-License-Identifier: BSD-3-Clause
//
// Pieces of untrusted text: lines, words, numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace portcullis::trace {

/// The lines of a text, from 1, without what ends them.
class Lines {
 public:
  explicit Lines(std::string_view text) noexcept : rest_(text) {}
  [[nodiscard]] std::optional<std::string_view> next() noexcept;
  /// Of the line that next() gave last.
  [[nodiscard]] std::size_t number() const noexcept { return number_; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// Takes the first word and the blanks around it off `rest`; empty at the end.
std::string_view take_word(std::string_view& rest) noexcept;

/// The whole of `text` as a number without sign or prefix; nothing when it is not one, or more than
/// 64 bits.
[[nodiscard]] std::optional<std::uint64_t> to_number(std::string_view text, int base) noexcept;
/// "0x1f".
[[nodiscard]] std::optional<std::uint64_t> to_prefixed_hex(std::string_view text) noexcept;

/// `text` for an error line: at most 60 characters of it, and none that a terminal would obey.
/// Not named quoted(): of a std::string that is std::quoted() as well, where <iomanip> is read.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace portcullis::trace
