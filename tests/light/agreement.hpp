// SPDX-License-Identifier: BSD-3-Clause
//
// Two first lights held against each other, field for field, whatever the fields are: words are the
// same but for the numbers in them, truths are the same, counts are none, some or all, and times
// lie where the first one's lay.
#pragma once

#include <string>
#include <vector>

#include "light/facts.hpp"

namespace portcullis::light::testing {

/// A line for each field of `b` that says otherwise than `a`.
[[nodiscard]] std::vector<std::string> disagreements(const Facts& a, const Facts& b);

}  // namespace portcullis::light::testing
