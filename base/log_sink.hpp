// SPDX-License-Identifier: BSD-3-Clause
//
// Where a library says what is no error but worth knowing, one line at a time: that the link is
// down, that a hypothesis held. Who runs it decides whether and where that is read.
#pragma once

#include <functional>
#include <string_view>

namespace portcullis {

/// Takes one line; may be empty.
using LogSink = std::function<void(std::string_view)>;

}  // namespace portcullis
