// SPDX-License-Identifier: BSD-3-Clause
//
// Places every field of a machine in the packed state. A client's fields form one block of the same
// shape for each client, so that exchanging two clients is exchanging two runs of bits.
#pragma once

#include "base/result.hpp"
#include "failover/semantics/machine.hpp"

namespace portcullis::failover {

/// Fills fields, shared, environment_budget, log, pieces, bits, state_words and initial. Needs
/// scenario, words and clients. Fails with InvalidArgument when the state exceeds kMaxStateWords.
[[nodiscard]] Result<void> place_fields(Machine& machine);

}  // namespace portcullis::failover
