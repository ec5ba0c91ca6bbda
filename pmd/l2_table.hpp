// SPDX-License-Identifier: BSD-3-Clause
//
// An entry of the table by which the switch in front of the physical functions finds the one that
// has an address. Field by field as set_l2table_entry_cmd of mlx5/core/lib/mpfs.c fills it; only
// the manager of the switch sets one (mlx5_mpfs_init).
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/gid.hpp"
#include "pmd/object_handle.hpp"

namespace portcullis::pmd {

class L2TableEntry {
 public:
  /// SET_L2_TABLE_ENTRY at `index`; none where the function has no such table to set. Deleted on
  /// destruction.
  [[nodiscard]] static Result<std::optional<L2TableEntry>> create(const Context& context,
                                                                  std::uint32_t index,
                                                                  const Mac& mac);

 private:
  explicit L2TableEntry(ObjectHandle handle) noexcept : handle_(std::move(handle)) {}
  ObjectHandle handle_;
};

}  // namespace portcullis::pmd
