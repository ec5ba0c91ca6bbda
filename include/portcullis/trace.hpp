// SPDX-License-Identifier: BSD-3-Clause
//
// Recordings: every command that a driver gave a device, and what the device answered. The model
// writes one (--device=model,trace=FILE), and trace-import makes one of a kernel's log;
// docs/trace-format.md describes the text.
//
// Example, traces.cpp:
//   PORTCULLIS_TRY_ASSIGN(const auto a, Recording::parse(whole, "whole.trace"));
//   PORTCULLIS_TRY_ASSIGN(const auto b, Recording::parse(virtual_one, "vf.trace"));
//   const Comparison found = compare(a, b, {.ignored = {"out.capability.*"}});
#pragma once

#include <portcullis/export.hpp>
#include <portcullis/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis {

/// One command of a recording.
struct RecordedCommand {
  std::uint64_t sequence = 0;             // of its issue, from 1
  std::string title;                      // "QUERY_PAGES 0x107 op_mod 0x1"
  std::uint16_t opcode = 0;               // as the device was told
  std::uint16_t op_mod = 0;               // the same
  std::string delivery;                   // "OK 0x0", "none" or "unknown"
  std::optional<std::uint8_t> status;     // of the output; none: not delivered, or not shown
  std::optional<std::uint32_t> syndrome;  // the same
  std::optional<std::uint64_t> time_ns;   // from doorbell to answer, where known
};

/// Commands and their answers, as one file holds them; it never changes.
class PORTCULLIS_API Recording {
 public:
  struct Impl;

  /// A move copies: what was moved from is the same still. It costs no more than a count.
  Recording(const Recording&) = default;
  /// The same.
  Recording& operator=(const Recording&) = default;
  ~Recording() = default;

  /// Malformed, as "FILE:LINE: what; what is accepted"; `file` is what messages call the text.
  [[nodiscard]] static Result<Recording> parse(std::string_view text, std::string_view file);

  /// Where it comes from, one line.
  [[nodiscard]] const std::string& source() const noexcept;
  /// By sequence.
  [[nodiscard]] std::vector<RecordedCommand> commands() const;
  /// What parse() reads back.
  [[nodiscard]] std::string text() const;
  /// For the other functions of this library.
  [[nodiscard]] const Impl& impl() const noexcept { return *impl_; }

 private:
  explicit Recording(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;  // never changes
};

/// What counts as a difference.
struct CompareOptions {
  /// Fields whose differences do not count: "FIELD" or "OPCODE:FIELD", with * and ?.
  std::vector<std::string> ignored = {};
  /// Without the list that is ignored as a rule: times, slots, addresses, numbers of objects.
  bool is_strict = false;
};

/// Two recordings side by side, aligned by opcode, op_mod and kind of object. What one of the two
/// does not know, because its source did not show it, is no difference.
struct Comparison {
  std::size_t same = 0;       // commands of both
  std::size_t different = 0;  // of both, not answered or asked alike
  std::size_t only_a = 0;     // commands that b has not
  std::size_t only_b = 0;     // commands that a has not
  std::string text;           // as trace-diff prints it

  /// Nothing differs of what counts.
  [[nodiscard]] bool is_same() const noexcept { return different + only_a + only_b == 0; }
};
/// Compares them.
[[nodiscard]] PORTCULLIS_API Comparison compare(const Recording& a, const Recording& b,
                                                const CompareOptions& options = {});

}  // namespace portcullis
