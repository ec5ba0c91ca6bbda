// SPDX-License-Identifier: BSD-3-Clause
//
// What a proof came to, in words.
#pragma once

#include <string>

#include "tools/fence_proof/proof.hpp"

namespace portcullis::fence_proof {

/// Plans, positions, totals and the verdict.
[[nodiscard]] std::string describe(const ProofReport& report);
/// "seed 3, plan seed, 12 operations, 5 steps held: the device wrote ..", and how to see it again.
[[nodiscard]] std::string describe(const Finding& finding);
/// One line for a mutant.
[[nodiscard]] std::string describe_mutant(const MutantInfo& info, const ProofReport& report);

}  // namespace portcullis::fence_proof
