// SPDX-License-Identifier: BSD-3-Clause
//
// Every sentence about hardware that the documents call a promise or a hypothesis, and what first
// light found of it: a function of the facts and of nothing else, so that whoever has the bundle
// can hold it against them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "light/facts.hpp"

namespace portcullis::light {

enum class Answer : std::uint8_t {
  Confirmed,  // it was tried, and was so each time; not that it must be
  Refuted,    // it was tried, and was not so
  Undecided,  // it was tried, and what came says neither
  NotRun,
};
/// "confirmed", "refuted", "undecided", "not run".
[[nodiscard]] std::string_view name(Answer answer) noexcept;

struct Conclusion {
  std::string id = {};        // "A1", "dst-qp"; stable
  std::string sentence = {};  // that is confirmed or refuted
  Answer answer = Answer::NotRun;
  std::string why = {};    // one line: the number that says so, or why nothing does
  std::string where = {};  // the page that says what follows: "docs/hca-contract.md"
};

/// In the order of the documents; one of each, also of what was not run.
[[nodiscard]] std::vector<Conclusion> conclude(const Facts& facts);

/// A promise that a fence rests on is refuted: leases on such a device are not safe.
[[nodiscard]] bool breaks_a_promise(const std::vector<Conclusion>& conclusions) noexcept;

}  // namespace portcullis::light
