// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of cables, which other importers start from. Internal to pfc/import.
#pragma once

#include "pfc/import/draft.hpp"

namespace portcullis::pfc::import {

/// Adds the cables of the list; hosts are found afterwards.
[[nodiscard]] Result<void> add_edges(const File& file, Draft& to);

}  // namespace portcullis::pfc::import
