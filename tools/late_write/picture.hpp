// SPDX-License-Identifier: BSD-3-Clause
//
// The runs of late-write as a picture: bytes against the rest, when the number came back and when
// the WRITE, and the gates on its way while it was held.
#pragma once

#include <string>

#include "late/conclusion.hpp"

namespace portcullis::tools::late_write {

/// A self-contained SVG.
[[nodiscard]] std::string picture(const late::Setup& setup, const late::Findings& findings);

}  // namespace portcullis::tools::late_write
