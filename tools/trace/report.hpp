// SPDX-License-Identifier: BSD-3-Clause
//
// What trace-diff prints: a comparison for people, or as JSON (docs/trace-format.md).
#pragma once

#include <string>
#include <string_view>

#include "trace/compare.hpp"

namespace portcullis::tools::trace {

using portcullis::trace::Comparison;
using portcullis::trace::Recording;
using portcullis::trace::Rules;

/// A recording and what the user calls it.
struct Named {
  std::string_view file;
  const Recording& recording;
};

[[nodiscard]] std::string text_report(const Named& a, const Named& b, const Comparison& comparison);
[[nodiscard]] std::string json_report(const Named& a, const Named& b, const Rules& rules,
                                      const Comparison& comparison);

}  // namespace portcullis::tools::trace
