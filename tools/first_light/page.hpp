// SPDX-License-Identifier: BSD-3-Clause
//
// What first light found as one page: no script, no font, no network.
#pragma once

#include <string>

#include "light/facts.hpp"

namespace portcullis::tools::first_light {

[[nodiscard]] std::string page_of(const light::Facts& facts);

}  // namespace portcullis::tools::first_light
