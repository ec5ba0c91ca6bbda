// SPDX-License-Identifier: BSD-3-Clause
//
// Words for writing a client's program as a list: one function an instruction. Targets are relative
// to the first instruction of the part that append() adds, so that a part can be repeated.
#pragma once

#include <string>
#include <vector>

#include "failover/semantics/scenario.hpp"

namespace portcullis::failover::program {

[[nodiscard]] Instruction post(unsigned request, unsigned next);
[[nodiscard]] Instruction await(unsigned request, unsigned next, unsigned on_timeout);
/// Branches on the result.
[[nodiscard]] Instruction await_if(unsigned request, Condition condition, unsigned yes, unsigned no,
                                   unsigned on_timeout);
[[nodiscard]] Instruction probe(Address address, Condition condition, unsigned yes, unsigned no);
[[nodiscard]] Instruction query_psn(unsigned request, unsigned yes, unsigned no);
[[nodiscard]] Instruction test(Condition condition, unsigned yes, unsigned no);
[[nodiscard]] Instruction decide(unsigned decision, unsigned yes, unsigned no);
[[nodiscard]] Instruction fence(unsigned queue, unsigned next);
[[nodiscard]] Instruction await_fence(unsigned queue, unsigned next);
[[nodiscard]] Instruction take(unsigned buffer, unsigned next);
[[nodiscard]] Instruction report(unsigned operation, Claim claim, unsigned next);

/// Adds `part` at the end of `whole`; the part's own target 0 is its first instruction.
void append(std::vector<Instruction>& whole, std::vector<Instruction> part);

[[nodiscard]] inline Condition always() { return {}; }
[[nodiscard]] inline Condition equals(Word word) { return {Condition::Kind::Equals, word}; }

}  // namespace portcullis::failover::program
