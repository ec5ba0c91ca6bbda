// SPDX-License-Identifier: BSD-3-Clause
//
// The senders' buffers of a dump: which of them may be used for something else, where two requests
// share bytes too, and what answers may have changed what is to be sent again.
#pragma once

#include <atomic>
#include <vector>

#include "failover/classify/classify.hpp"

namespace portcullis::failover {

inline constexpr std::size_t kMostSharing = 64;  // requests on the same bytes that are listed

/// Fills in the buffers of `advice`, and what its conditions say of them, when all else is decided.
[[nodiscard]] Result<void> advise_buffers(const std::vector<OutstandingRequest>& dump,
                                          Effort effort, std::vector<Classification>& advice,
                                          const std::atomic<bool>* stop);

}  // namespace portcullis::failover
