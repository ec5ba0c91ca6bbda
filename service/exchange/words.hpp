// SPDX-License-Identifier: BSD-3-Clause
//
// The words of a line that a peer sent, "KIND version=1 key=value ..": each once, in any order, and
// no other. What a peer says is not trusted, so every value is asked for with what is accepted.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis::service::exchange {

/// Of every line; a reader accepts no other.
inline constexpr std::uint64_t kVersion = 1;

/// What stands between the separators; nothing for two in a row.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// Refers to the line. Errors are Malformed and name the kind and the word.
class Words {
 public:
  [[nodiscard]] static Result<Words> parse(std::string_view line, std::string_view kind);

  /// Each may be asked for once.
  [[nodiscard]] Result<std::string_view> text(std::string_view key);
  [[nodiscard]] Result<std::uint64_t> number(std::string_view key, std::uint64_t least,
                                             std::uint64_t most);
  template <class T>
  [[nodiscard]] Result<T> narrow(std::string_view key, std::uint64_t least, std::uint64_t most) {
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t value, number(key, least, most));
    return static_cast<T>(value);
  }
  /// Nothing is left that nobody asked for.
  [[nodiscard]] Result<void> done() const;
  [[nodiscard]] std::string_view kind() const noexcept { return kind_; }

 private:
  explicit Words(std::string_view kind) : kind_(kind) {}

  std::string_view kind_;
  std::map<std::string_view, std::string_view> values_;
};

}  // namespace portcullis::service::exchange
