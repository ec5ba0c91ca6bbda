// SPDX-License-Identifier: BSD-3-Clause
//
// What late-write says of its runs.
#pragma once

#include <string>

#include "late/conclusion.hpp"

namespace portcullis::tools::late_write {

/// The fabric, its bound, every run in a row of its own, and the verdict, which claims no more than
/// was run.
[[nodiscard]] std::string describe(const late::Setup& setup, const late::Findings& findings);

}  // namespace portcullis::tools::late_write
