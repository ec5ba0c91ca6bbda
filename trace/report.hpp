// SPDX-License-Identifier: BSD-3-Clause
//
// A comparison as text for people, or as JSON (docs/trace-format.md): what trace-diff prints.
#pragma once

#include <string>
#include <string_view>

#include "trace/compare.hpp"

namespace portcullis::trace {

/// A recording and what the user calls it.
struct Named {
  std::string_view file;
  const Recording& recording;
};

[[nodiscard]] std::string text_report(const Named& a, const Named& b, const Comparison& comparison);
[[nodiscard]] std::string json_report(const Named& a, const Named& b, const Rules& rules,
                                      const Comparison& comparison);

}  // namespace portcullis::trace
