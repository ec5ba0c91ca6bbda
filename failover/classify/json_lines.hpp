// SPDX-License-Identifier: BSD-3-Clause
//
// JSON whose values know the line they came from, so that a refusal can name it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace portcullis::failover {

struct JsonValue {
  struct Null {};
  struct Object {
    std::vector<std::string> names;
    std::vector<JsonValue> values;  // of the names, one for one
  };
  struct Array {
    std::vector<JsonValue> items;
  };

  std::size_t line = 1;
  std::variant<Null, bool, std::uint64_t, double, std::string, Object, Array> value;

  /// The member of an object; nullptr when it is no object, or has none of that name.
  [[nodiscard]] const JsonValue* find(std::string_view name) const noexcept;
  /// "a string", "an object": for errors.
  [[nodiscard]] std::string_view kind() const noexcept;
};

/// Malformed, with line and column, for what is no JSON. Negative numbers and fractions are
/// doubles.
[[nodiscard]] Result<JsonValue> parse_json(std::string_view text);

}  // namespace portcullis::failover
