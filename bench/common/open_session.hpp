// SPDX-License-Identifier: BSD-3-Clause
//
// A session as every bench program wants it: it says on standard error what the driver has to say,
// tells of a recording that was lost, and ends on Ctrl-C.
#pragma once

#include <memory>

#include "attach/open_device.hpp"
#include "base/result.hpp"
#include "proof/session.hpp"

namespace portcullis::bench {

[[nodiscard]] Result<std::unique_ptr<proof::Session>> open_session(const attach::DeviceSpec& spec);

}  // namespace portcullis::bench
