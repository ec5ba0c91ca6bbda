// SPDX-License-Identifier: BSD-3-Clause
//
// The longest common subsequence of two sequences: which command of one recording is which of the
// other. E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986, in linear space:
// recordings of one workload are long and differ in little.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace portcullis::trace {

/// Pairs (index in a, index in b) of equal elements, both ascending, as many as possible.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> align(std::span<const int> a,
                                                                     std::span<const int> b);

}  // namespace portcullis::trace
