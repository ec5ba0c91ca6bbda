// SPDX-License-Identifier: BSD-3-Clause
//
// Who hears of each point at which the server could be killed: nobody in the program, which nothing
// from outside can make stop there; tests link another answer (tests/tools/leased).
#pragma once

#include "service/daemon/points.hpp"

namespace portcullis::tools::leased {

[[nodiscard]] service::daemon::AtPoint at_point();

}  // namespace portcullis::tools::leased
