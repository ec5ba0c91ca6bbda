// SPDX-License-Identifier: BSD-3-Clause
//
// Two recordings side by side: which commands belong together, and which of their fields differ.
// Commands are aligned by opcode, op_mod and kind of object; fields by the names that
// prm/command_fields.hpp gives them, under "in." and "out.", beside slot, time_ns, delivery,
// status, syndrome, in_length and out_length.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/command_text.hpp"
#include "trace/recording.hpp"

namespace portcullis::trace {

/// True when `text` is `pattern`, where * stands for any characters and ? for one.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text) noexcept;

/// Which differences do not count. A pattern is "FIELD" or "OPCODE:FIELD", with * and ?.
struct Rules {
  std::vector<std::string> ignored;
  /// Numbers that somebody hands out: two of them are equal unless just one is all ones, which
  /// stands for "any" or "none".
  std::vector<std::string> handed_out;

  /// Times, slots, addresses, random numbers; and the numbers of objects.
  [[nodiscard]] static Rules usual();
};

struct FieldDifference {
  std::string field;
  std::string a;
  std::string b;
};

/// A command of either recording, or one of both.
struct Step {
  std::optional<std::size_t> a;  // index of the command
  std::optional<std::size_t> b;
  std::vector<FieldDifference> fields;  // where both have it
};

struct Comparison {
  std::vector<Step> steps;  // in order of both
  std::size_t same = 0;
  std::size_t different = 0;
  std::size_t only_a = 0;
  std::size_t only_b = 0;

  [[nodiscard]] bool is_same() const noexcept { return different + only_a + only_b == 0; }
};

/// What commands are aligned by, for people: "ACCESS_REG 0x805 op_mod 0x0 register_id 0x7004".
[[nodiscard]] std::string identity(const TraceCommand& command);
/// In the order of the fields. What one of the two does not know, because its source did not show
/// it, is no difference.
[[nodiscard]] std::vector<FieldDifference> compare_fields(const TraceCommand& a,
                                                          const TraceCommand& b,
                                                          const Rules& rules);
/// True when a command of it has a field that `pattern`, as in Rules, is about.
[[nodiscard]] bool has_field(const Recording& recording, const std::string& pattern);
[[nodiscard]] Comparison compare(const Recording& a, const Recording& b, const Rules& rules);

}  // namespace portcullis::trace
