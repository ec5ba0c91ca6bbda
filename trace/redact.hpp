// SPDX-License-Identifier: BSD-3-Clause
//
// Recordings for other people's eyes: what a command said stays, what would name a machine or open
// a door goes. A recording has a word for bytes that its source did not show, and readers compare
// them with nothing.
#pragma once

#include "trace/command_text.hpp"

namespace portcullis::trace {

/// The same command without MACs, GIDs, keys, numbers of objects, addresses: of a command that is
/// known to carry none everything stays (capabilities, pages, states of the port), of any other the
/// opcode, the lengths, the times, delivery, status and syndrome. What is not known to be harmless
/// is not shown.
[[nodiscard]] TraceCommand without_identities(TraceCommand command);

}  // namespace portcullis::trace
