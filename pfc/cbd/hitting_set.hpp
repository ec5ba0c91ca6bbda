// SPDX-License-Identifier: BSD-3-Clause
//
// Smallest sets that break a few cycles, by exhaustive search. Knows nothing of fabrics: items have
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace portcullis::pfc::cbd {

using Item = std::uint32_t;

/// The fewest items with one of each set; ascending. At most 24 sets, none empty.
[[nodiscard]] std::vector<Item> smallest_hitting_set(const std::vector<std::vector<Item>>& sets);

/// Each choice is a list of alternatives, each alternative a set of items (ascending). The fewest
/// items that hold an alternative of every choice; ascending. Nothing when `most_steps` did not
/// suffice to be sure.
[[nodiscard]] std::optional<std::vector<Item>> smallest_union(
    const std::vector<std::vector<std::vector<Item>>>& choices, std::size_t most_steps);

}  // namespace portcullis::pfc::cbd
