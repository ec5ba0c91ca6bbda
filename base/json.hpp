// SPDX-License-Identifier: BSD-3-Clause
//
// JSON that remembers on which line each value stood, so that a wrong file is answered with file,
// line and field. nlohmann::json reads the text, but keeps no positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis {

struct JsonValue {
  enum class Kind : std::uint8_t { Null, Boolean, Number, String, Array, Object };

  Kind kind = Kind::Null;
  bool boolean = false;
  std::uint32_t line = 0;  // where the value ends: the line of a scalar; of { and [, their own
  double number = 0;
  std::optional<std::uint64_t> whole;  // the number exactly, where it is one from 0 to 2^64 - 1
  std::string text;
  std::vector<JsonValue> items;   // of an array, or of an object in the order of the file
  std::vector<std::string> keys;  // of an object, one an item

  /// nullptr when this is no object or has no such key.
  [[nodiscard]] const JsonValue* find(std::string_view key) const noexcept;
};

/// Malformed, as "FILE:LINE: what", for text that is no JSON, for a key that an object has twice,
/// and for numbers beyond a double's range. `file` is what messages call the text.
[[nodiscard]] Result<JsonValue> parse_json(std::string_view text, std::string_view file);

/// Keys and texts of a file may hold anything: control characters become blanks, so that what is
/// said of them is one line.
[[nodiscard]] std::string one_line(std::string text);

/// A value while it is read: where it stands in which file, and what is the matter with it.
class JsonCursor {
 public:
  JsonCursor(const JsonValue& value, std::string_view file, std::string path = {})
      : value_(&value), file_(file), path_(std::move(path)) {}

  [[nodiscard]] const JsonValue& value() const noexcept { return *value_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string_view file() const noexcept { return file_; }

  /// "FILE:LINE: PATH: what"
  [[nodiscard]] tl::unexpected<Error> bad(std::string_view what) const;
  /// "FILE:LINE: PATH: VALUE; ACCEPTED is accepted"
  [[nodiscard]] tl::unexpected<Error> refuse(std::string_view accepted) const;

  /// An object with none but the keys in `accepted`, a list "a, b, c".
  [[nodiscard]] Result<void> expect_object(std::string_view accepted) const;
  [[nodiscard]] Result<void> expect_array() const;
  /// The cursor of item `index` of an array or object.
  [[nodiscard]] JsonCursor item(std::size_t index) const;
  [[nodiscard]] std::size_t size() const noexcept { return value_->items.size(); }
  [[nodiscard]] bool has(std::string_view key) const noexcept {
    return value_->find(key) != nullptr;
  }
  /// The member `key`; this object itself when it has none, so that an error has a line.
  [[nodiscard]] JsonCursor at(std::string_view key) const;

  [[nodiscard]] Result<std::string> string() const;
  [[nodiscard]] Result<double> number() const;
  [[nodiscard]] Result<bool> boolean() const;
  /// A whole number from 0 to `most`.
  [[nodiscard]] Result<std::uint32_t> count(std::uint32_t most) const;

  /// Leaves `to` alone when there is no member `key`.
  [[nodiscard]] Result<void> read(std::string_view key, double& to) const;
  [[nodiscard]] Result<void> read(std::string_view key, std::string& to) const;

 private:
  [[nodiscard]] tl::unexpected<Error> wrong_kind(std::string_view expected) const;

  const JsonValue* value_;
  std::string_view file_;
  std::string path_;
};

}  // namespace portcullis
