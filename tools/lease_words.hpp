// SPDX-License-Identifier: BSD-3-Clause
//
// What clients of leased print of a lease, in the same words everywhere.
#pragma once

#include <cstdint>
#include <string>

#include "wire/ops.hpp"

namespace portcullis::tools {

[[nodiscard]] std::string name_text(std::uint64_t id, std::uint64_t epoch);

/// "TornDown, memory proved by DESTROY_MKEY", "Fenced (failed DESTROY_MKEY), memory unproved".
[[nodiscard]] std::string outcome_text(wire::Outcome outcome, wire::Memory memory,
                                       std::uint32_t failed_mask);

}  // namespace portcullis::tools
