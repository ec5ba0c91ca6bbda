// SPDX-License-Identifier: BSD-3-Clause
//
// What a proof came to, in words.
#pragma once

#include <string>
#include <string_view>

#include "tools/fence_proof/proof.hpp"

namespace portcullis::fence_proof {

/// Plans, positions, totals and the verdict.
[[nodiscard]] std::string describe(const ProofReport& report);
/// "seed 3, plan seed, 12 operations: the device wrote ..", and the command that shows it again.
[[nodiscard]] std::string describe(const Finding& finding,
                                   std::string_view program = "fence_proof");
/// One line for a mutant.
[[nodiscard]] std::string describe_mutant(const MutantInfo& info, const ProofReport& report);

}  // namespace portcullis::fence_proof
