// SPDX-License-Identifier: BSD-3-Clause
#include "trace/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "prm/layout.hpp"
#include "trace/align.hpp"

namespace portcullis::trace {
namespace {

using prm::Detail;
using prm::FieldValue;

/// Input fields that say of what kind an object is, or which of several things a command is about.
/// obj_type of general objects stands where others have op_mod.
constexpr std::string_view kKindFields[] = {"register_id", "table_type"};
constexpr std::string_view kQpKind = "qpc.st";

bool is_kind(prm::Opcode opcode, std::string_view field) {
  return std::ranges::find(kKindFields, field) != std::end(kKindFields) ||
         (opcode == prm::Opcode::CREATE_QP && field == kQpKind);
}

bool has_event_mask(const FieldValue& field) { return field.name.starts_with("event_bitmask"); }

/// "OPCODE:FIELD" or "FIELD".
bool matches_any(const std::vector<std::string>& patterns, std::string_view opcode,
                 std::string_view field) {
  return std::ranges::any_of(patterns, [&](std::string_view pattern) {
    const std::size_t colon = pattern.find(':');
    if (colon == std::string_view::npos) return matches(pattern, field);
    return matches(pattern.substr(0, colon), opcode) && matches(pattern.substr(colon + 1), field);
  });
}

/// Collects differences that the rules let through.
class Differences {
 public:
  Differences(const TraceCommand& command, const Rules& rules)
      : opcode_(prm::name(command.opcode())), rules_(rules) {}

  void add(std::string field, std::string a, std::string b) {
    if (a == b || matches_any(rules_.ignored, opcode_, field)) return;
    found_.push_back({std::move(field), std::move(a), std::move(b)});
  }

  /// `width` in bits; a field that is not there is 0.
  void add(std::string field, const FieldValue* a, const FieldValue* b) {
    const FieldValue& any = a != nullptr ? *a : *b;
    const std::string zero = any.value.starts_with("0x") ? "0x0" : "0";
    std::string a_value = a != nullptr ? a->value : zero;
    std::string b_value = b != nullptr ? b->value : zero;
    const std::string all_ones =
        any.width <= 64 ? fmt::format("{:#x}", prm::widest(any.width)) : std::string();
    const bool both_numbers = (a_value == all_ones) == (b_value == all_ones);
    if (both_numbers && matches_any(rules_.handed_out, opcode_, field)) return;
    add(std::move(field), std::move(a_value), std::move(b_value));
  }

  [[nodiscard]] std::vector<FieldDifference> take() && { return std::move(found_); }

 private:
  std::string_view opcode_;
  const Rules& rules_;
  std::vector<FieldDifference> found_;
};

void compare_message(Differences& to, std::string_view side, const TraceMessage& a,
                     const std::vector<FieldValue>& a_fields, const TraceMessage& b,
                     const std::vector<FieldValue>& b_fields) {
  std::map<std::pair<std::size_t, std::string_view>,
           std::pair<const FieldValue*, const FieldValue*>>
      fields;
  for (const FieldValue& field : a_fields) fields[{field.offset, field.name}].first = &field;
  for (const FieldValue& field : b_fields) fields[{field.offset, field.name}].second = &field;
  for (const auto& [key, values] : fields) {
    const FieldValue& any = values.first != nullptr ? *values.first : *values.second;
    if (a.is_unknown(any.offset, any.bytes) || b.is_unknown(any.offset, any.bytes)) continue;
    to.add(fmt::format("{}.{}", side, any.name), values.first, values.second);
  }
}

template <class T>
void compare_known(Differences& to, std::string field, const std::optional<T>& a,
                   const std::optional<T>& b, std::string (*text)(T)) {
  if (a && b) to.add(std::move(field), text(*a), text(*b));
}

template <class T>
std::string decimal(T value) {
  return std::to_string(value);
}
template <class T>
std::string hexadecimal(T value) {
  return fmt::format("{:#x}", value);
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last * seen, and where it began to match
  std::size_t from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Rules Rules::usual() {
  Rules rules;
  rules.ignored = {
      "slot",          "time_ns",                                              // of the moment
      "*.pas[*]",      "*.klm_pas_mtt[*]", "*.dbr_addr",      "*.start_addr",  // addresses
      "*.sw_owner_id", "*.mkey_7_0",       "*.next_send_psn",                  // drawn at random
  };
  rules.handed_out = {
      "*.uar",         "*.pd",
      "*.eq_number",   "*.cqn",
      "*.qpn",         "*.mkey_index",
      "*.uar_page",    "*.cqn_snd",
      "*.cqn_rcv",     "*.c_eqn_or_apu_element",
      "*.remote_qpn",  "out.resd_lkey",
      "out.null_mkey", "out.dump_fill_mkey",
  };
  return rules;
}

std::string identity(const TraceCommand& command) {
  std::string text = trace_title(command);
  bool has_events = false;
  for (const FieldValue& field : prm::input_fields(command.in.bytes, Detail::Summary)) {
    has_events = has_events || has_event_mask(field);
    if (is_kind(command.opcode(), field.name))
      text += fmt::format(" {} {}", field.name, field.value);
  }
  // An EQ that takes events and one that takes completions are two things.
  return has_events ? text + " with events" : text;
}

std::vector<FieldDifference> compare_fields(const TraceCommand& a, const TraceCommand& b,
                                            const Rules& rules) {
  Differences found(a, rules);
  compare_known<std::uint32_t>(found, "slot", a.slot, b.slot, decimal);
  compare_known<std::uint64_t>(found, "time_ns", a.time_ns, b.time_ns, decimal);
  if (a.answer != TraceAnswer::Unknown && b.answer != TraceAnswer::Unknown)
    found.add("delivery", trace_delivery(a), trace_delivery(b));
  compare_known<std::uint8_t>(found, "status", a.status(), b.status(), hexadecimal);
  compare_known<std::uint32_t>(found, "syndrome", a.syndrome(), b.syndrome(), hexadecimal);

  found.add("in_length", decimal(a.in.bytes.size()), decimal(b.in.bytes.size()));
  compare_message(found, "in", a.in, prm::input_fields(a.in.bytes, Detail::Full), b.in,
                  prm::input_fields(b.in.bytes, Detail::Full));
  // No output at all is one that was not given or not shown: the delivery says that.
  if (!a.out.bytes.empty() && !b.out.bytes.empty()) {
    found.add("out_length", decimal(a.out.bytes.size()), decimal(b.out.bytes.size()));
    compare_message(found, "out", a.out, prm::output_fields(a.in.bytes, a.out.bytes, Detail::Full),
                    b.out, prm::output_fields(b.in.bytes, b.out.bytes, Detail::Full));
  }
  return std::move(found).take();
}

bool has_field(const Recording& recording, const std::string& pattern) {
  static constexpr std::string_view kOfEvery[] = {"slot",     "time_ns",   "delivery",  "status",
                                                  "syndrome", "in_length", "out_length"};
  const std::vector<std::string> patterns{pattern};
  return std::ranges::any_of(recording.commands, [&patterns](const TraceCommand& command) {
    const std::string_view opcode = prm::name(command.opcode());
    const auto is_meant = [&](std::string_view field) {
      return matches_any(patterns, opcode, field);
    };
    const auto has = [&is_meant](std::string_view side, const std::vector<FieldValue>& fields) {
      return std::ranges::any_of(fields, [&](const FieldValue& field) {
        return is_meant(fmt::format("{}.{}", side, field.name));
      });
    };
    return std::ranges::any_of(kOfEvery, is_meant) ||
           has("in", prm::input_fields(command.in.bytes, Detail::Full)) ||
           has("out", prm::output_fields(command.in.bytes, command.out.bytes, Detail::Full));
  });
}

Comparison compare(const Recording& a, const Recording& b, const Rules& rules) {
  std::unordered_map<std::string, int> numbers;
  const auto numbered = [&numbers](const Recording& recording) {
    std::vector<int> sequence;
    for (const TraceCommand& command : recording.commands)
      sequence.push_back(
          numbers.try_emplace(identity(command), static_cast<int>(numbers.size())).first->second);
    return sequence;
  };
  const std::vector<int> a_sequence = numbered(a);
  const std::vector<int> b_sequence = numbered(b);
  auto pairs = align(a_sequence, b_sequence);
  pairs.emplace_back(a_sequence.size(), b_sequence.size());  // the ends belong together

  Comparison result;
  std::size_t at_a = 0;
  std::size_t at_b = 0;
  for (const auto& [i, j] : pairs) {
    result.only_a += i - at_a;
    result.only_b += j - at_b;
    for (; at_a < i; ++at_a) result.steps.push_back({at_a, std::nullopt, {}});
    for (; at_b < j; ++at_b) result.steps.push_back({std::nullopt, at_b, {}});
    if (i == a_sequence.size()) break;
    Step step{at_a, at_b, compare_fields(a.commands[at_a], b.commands[at_b], rules)};
    ++(step.fields.empty() ? result.same : result.different);
    result.steps.push_back(std::move(step));
    ++at_a;
    ++at_b;
  }
  return result;
}

}  // namespace portcullis::trace
