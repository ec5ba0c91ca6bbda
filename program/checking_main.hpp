// SPDX-License-Identifier: BSD-3-Clause
//
// What main() is for programs that check something and say so by their status.
#pragma once

#include <iostream>
#include <string_view>
#include <type_traits>

#include "base/result.hpp"
#include "program/standard_streams.hpp"

namespace portcullis::program {

[[nodiscard]] constexpr int status_of(bool is_good) noexcept { return is_good ? 0 : 1; }
/// Of a program that tells more than that: an enumeration of statuses, with 0 and 1 as above.
template <class Verdict>
requires std::is_enum_v<Verdict>
[[nodiscard]] constexpr int status_of(Verdict verdict) noexcept {
  return static_cast<int>(verdict);
}

/// Inside run_main(). `options` hold `text` when --help asked for it; else `run` says whether all
/// was as it should be. 0: it was; 1: it was not; 2: nobody knows, and a line on standard error
/// says why.
template <class Options, class Run>
int checking_main(std::string_view program, const Result<Options>& options, Run run) {
  const auto refuse = [program](const Error& error) {
    constexpr int kNotChecked = 2;
    std::cerr << program << ": " << error.text << '\n';
    return kNotChecked;
  };
  if (!options) return refuse(options.error());
  if (options->text) {
    std::cout << *options->text;
    return 0;
  }
  const auto verdict = run(*options);
  if (!verdict) return refuse(verdict.error());
  return status_of(*verdict);
}

}  // namespace portcullis::program
