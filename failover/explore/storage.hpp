// SPDX-License-Identifier: BSD-3-Clause
//
// How a machine's states lie in sets and frontiers: what the engine lays out and what the estimate
// foretells are the same.
#pragma once

#include <algorithm>

#include "failover/explore/explorer.hpp"
#include "failover/explore/hash.hpp"

namespace portcullis::failover {

/// Bytes of a state that are ever other than 0.
[[nodiscard]] inline unsigned state_bytes(const Machine& machine) noexcept {
  return (machine.state_words - 1) * 8 + std::max(1U, (machine.last_word_bits + 7) / 8);
}

/// Bytes beside the fingerprint that an exact set compares.
[[nodiscard]] inline unsigned upper_bytes(const Machine& machine, SetKind set) noexcept {
  return set == SetKind::Exact && machine.state_words > 1 ? state_bytes(machine) - 8 : 0;
}

/// What fingerprints are made of; of enough bits that shares of them are not empty.
[[nodiscard]] inline Domain domain_of(const Machine& machine) noexcept {
  constexpr unsigned kLeastBits = 12;
  return Domain(machine.state_words > 1 ? 64 : std::max(kLeastBits, machine.last_word_bits));
}

}  // namespace portcullis::failover
