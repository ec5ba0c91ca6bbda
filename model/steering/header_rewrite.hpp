// SPDX-License-Identifier: BSD-3-Clause
//
// Actions on headers as a program's own entries point to them: lists of eight bytes each in
// steering memory (dr_action_hw_set and dr_action_hw_copy of prm/steering_entries.hpp). A field is
// 64 bits, counted from the lowest; what stands in them is what the frame has of it, or registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/steering/lookup_tag.hpp"

namespace portcullis::model {

inline constexpr std::size_t kRewriteBytes = 8;

/// Changes `frame` and `registers` by a list of such actions. False: one is not offered; those
/// before it are done. An entry of eight zero bytes is a gap, which drivers leave between two
/// actions on one field (dr_actions_convert_modify_header of dr_action.c). A field that the frame
/// does not have stays away. Checksums are kept (ChecksumKeeper).
[[nodiscard]] bool rewrite_headers(std::span<std::byte> frame, SteeringRegisters& registers,
                                   std::span<const std::byte> list);

}  // namespace portcullis::model
