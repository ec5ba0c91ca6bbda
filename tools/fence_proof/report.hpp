// SPDX-License-Identifier: BSD-3-Clause
//
// What a proof came to, in words.
#pragma once

#include <string>
#include <string_view>

#include "proof/adversary/proof.hpp"

namespace portcullis::tools::fence_proof {

namespace adversary = proof::adversary;

/// Plans, positions, totals and the verdict.
[[nodiscard]] std::string describe(const adversary::ProofReport& report);
/// "seed 3, plan seed, 12 operations: the device wrote ..", and the command that shows it again.
[[nodiscard]] std::string describe(const adversary::Finding& finding,
                                   std::string_view program = "fence_proof");
/// One line for a mutant.
[[nodiscard]] std::string describe_mutant(const adversary::MutantInfo& info,
                                          const adversary::ProofReport& report);

}  // namespace portcullis::tools::fence_proof
