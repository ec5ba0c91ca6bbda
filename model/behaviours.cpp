// SPDX-License-Identifier: BSD-3-Clause
#include "model/behaviours.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <variant>

#include "model/model.hpp"

namespace portcullis::model {
namespace {

using Flag = bool Behaviours::*;
using Number = std::optional<std::uint64_t> Behaviours::*;

/// What a Number takes.
struct Range {
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;
  std::string_view unit = "";
  std::optional<std::uint64_t> preset = std::nullopt;  // what NAME alone, or `timing`, gives it
};

struct Row {
  std::string_view name;
  std::variant<Flag, Number> member;
  std::string_view description;
  Range range{};
  std::string_view timing = "";  // which switches it on; a Number needs a preset then
};

constexpr std::array kRows{
    Row{"page-starved", &Behaviours::page_starved,
        "every fourth CREATE command first asks for a firmware page and waits for it"},
    Row{"slow-init",
        &Behaviours::slow_init_ms,
        "initializing stays set that long (3000) after power-on and reset",
        {.least = 1, .greatest = 600'000, .unit = "ms", .preset = 3000}},
    Row{"never-ready", &Behaviours::never_ready, "initializing stays set for ever"},
    Row{"cmdif-rev-6", &Behaviours::cmdif_rev_6,
        "the command interface says revision 6, which no driver speaks"},
    Row{"reuse-numbers", &Behaviours::reuse_numbers,
        "a PD, QP or mkey number that was given back is the next one given"},
};

bool is_flag(const Row& row) { return std::holds_alternative<Flag>(row.member); }

void turn_off(const Row& row, Behaviours& chosen) {
  if (is_flag(row))
    chosen.*std::get<Flag>(row.member) = false;
  else
    chosen.*std::get<Number>(row.member) = std::nullopt;
}

void turn_on(const Row& row, Behaviours& chosen, std::uint64_t value) {
  if (is_flag(row))
    chosen.*std::get<Flag>(row.member) = true;
  else
    chosen.*std::get<Number>(row.member) = value;
}

/// "slow-init=1-4000 (ms)" or "never-ready".
std::string form_of(const Row& row) {
  std::string form(row.name);
  if (is_flag(row)) return form;
  form += "=" + std::to_string(row.range.least) + "-" + std::to_string(row.range.greatest);
  return row.range.unit.empty() ? form : form + " (" + std::string(row.range.unit) + ")";
}

std::optional<std::uint64_t> number_of(const Row& row, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < row.range.least || value > row.range.greatest) return std::nullopt;
  return value;
}

Result<void> apply(const std::string& word, Behaviours& chosen) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const auto row = std::find_if(kRows.begin(), kRows.end(),
                                [&name](const Row& each) { return each.name == name; });
  if (row == kRows.end()) {
    std::string names;
    for (const std::string_view each : behaviour_names())
      names += (names.empty() ? "" : ", ") + std::string(each);
    return fail(Errc::InvalidArgument, "unknown behaviour '" + name + "'; accepted: " + names);
  }
  if (word == name + "=off") {
    turn_off(*row, chosen);
    return {};
  }
  const std::optional<std::uint64_t> number =
      equals == std::string::npos ? row->range.preset : number_of(*row, word.substr(equals + 1));
  if (is_flag(*row) ? equals != std::string::npos : !number)
    return fail(Errc::InvalidArgument,
                "behaviour '" + word + "'; accepted: " + form_of(*row) + ", " + name + "=off");
  turn_on(*row, chosen, number.value_or(0));
  return {};
}

/// What is in force, in the table's order, and what a timing would have switched on.
std::string names_in_force(const Behaviours& chosen, std::string_view timing) {
  std::string names;
  for (const Row& row : kRows) {
    std::string word(row.name);
    const bool is_on = is_flag(row) ? chosen.*std::get<Flag>(row.member)
                                    : (chosen.*std::get<Number>(row.member)).has_value();
    if (!is_on && row.timing != timing) continue;
    if (!is_on)
      word += "=off";
    else if (!is_flag(row))
      word += "=" + std::to_string(*(chosen.*std::get<Number>(row.member)));
    names += (names.empty() ? "" : "+") + word;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

Result<Behaviours> find_behaviours(const std::vector<std::string>& words, std::string_view timing) {
  Behaviours chosen;
  for (const Row& row : kRows)
    if (row.timing == timing) turn_on(row, chosen, row.range.preset.value_or(0));
  for (const std::string& word : words) PORTCULLIS_TRY(apply(word, chosen));
  chosen.names = names_in_force(chosen, timing);
  return chosen;
}

const std::vector<std::string_view>& behaviour_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Row& row : kRows) all.push_back(row.name);
    return all;
  }();
  return names;
}

std::string behaviour_help() {
  std::string text;
  for (const Row& row : kRows) {
    text += "  " + form_of(row) + ": " + std::string(row.description);
    if (!row.timing.empty()) text += " (on with timing=" + std::string(row.timing) + ")";
    text += '\n';
  }
  return text;
}

Result<std::string> behaviours_in_force(const Options& options) {
  PORTCULLIS_TRY_ASSIGN(Behaviours chosen, find_behaviours(options.behaviours, options.timing));
  return std::move(chosen.names);
}

}  // namespace portcullis::model
