// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leased/at_point.hpp"

namespace portcullis::tools::leased {

service::daemon::AtPoint at_point() { return {}; }

}  // namespace portcullis::tools::leased
