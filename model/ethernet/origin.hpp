// SPDX-License-Identifier: BSD-3-Clause
//
// Who sent a frame, as far as a target of it asks.
#pragma once

#include <cstdint>

namespace portcullis::model {

/// Transport domains are numbered from 1: 0 is that of a frame that no send queue sent.
struct Origin {
  bool is_own = false;       // the function itself
  std::uint32_t domain = 0;  // of the send queue's TIS
};

}  // namespace portcullis::model
