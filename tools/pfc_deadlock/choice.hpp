// SPDX-License-Identifier: BSD-3-Clause
//
// Options that take one of a few words. The word becomes a value while arguments are parsed, by the
// table that also says which words there are: none that is unknown gets past it.
#pragma once

#include <algorithm>
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pfc/fluid/fluid.hpp"

namespace portcullis::tools::pfc_deadlock {

/// In the order that --help has them; every value is there.
template <class Value>
using Words = std::vector<std::pair<std::string, Value>>;

template <class Value>
[[nodiscard]] const std::string& word_of(const Words<Value>& words, Value value) {
  return std::ranges::find(words, value, &std::pair<std::string, Value>::second)->first;
}

/// `words` outlives the parsing; --help shows what `to` is before.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Value& to,
                        const Words<Value>& words, const std::string& help = "") {
  const auto take = [&to, &words](const std::string& word) {
    for (const auto& [known, value] : words)
      if (known == word) to = value;
  };
  return app.add_option_function<std::string>(name, take, help)
      ->check(CLI::IsMember(words))
      ->default_str(word_of(words, to));
}

enum class Format { Text, Json, Csv };
inline const Words<Format> format_words = {
    {"text", Format::Text}, {"json", Format::Json}, {"csv", Format::Csv}};
/// Of commands whose results are numbers.
inline const Words<Format> number_format_words = {{"csv", Format::Csv}, {"json", Format::Json}};

inline const Words<pfc::Discipline> discipline_words = {
    {"proportional", pfc::Discipline::Proportional}, {"fifo", pfc::Discipline::Fifo}};
[[nodiscard]] constexpr std::string_view discipline_text(pfc::Discipline discipline) {
  return discipline == pfc::Discipline::Fifo ? "true FIFO" : "proportional share";
}

}  // namespace portcullis::tools::pfc_deadlock
