// SPDX-License-Identifier: BSD-3-Clause
//
// Who hears, before it is kept, of each command and of the step it belongs to: nobody in the
// program, which nothing from outside can make stop there; tests link another answer
// (tests/tools/first_light).
#pragma once

#include <functional>
#include <string_view>

namespace portcullis::tools::first_light {

using AtCommand = std::function<void(std::string_view step)>;

/// May be empty.
[[nodiscard]] AtCommand at_command();

}  // namespace portcullis::tools::first_light
