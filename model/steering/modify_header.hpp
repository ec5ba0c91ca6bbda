// SPDX-License-Identifier: BSD-3-Clause
//
// Fields of a frame that an entry of a flow table changes. Bits of a field count from its lowest,
// and data stands in the lowest bits of its dword: so offload_pedit_fields of mlx5/core/en_tc.c
// writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "prm/flow_action_commands.hpp"
#include "prm/flow_action_enums.hpp"

namespace portcullis::model {

/// One action of a modify header context.
struct HeaderAction {
  prm::HeaderChange change{};
  prm::HeaderField field{};
  unsigned offset = 0;
  unsigned length = 0;  // bits
  std::uint32_t data = 0;
  prm::HeaderField source{};  // of COPY, as the next
  unsigned source_offset = 0;
};

/// An action as a command has it; nothing when its field is not offered or has not so many bits.
[[nodiscard]] std::optional<HeaderAction> read_header_action(
    std::span<const std::byte, prm::set_action_in::bytes> raw);

/// Changes `frame`. A field that it does not have stays away: of a rule that changes headers Linux
/// demands that it matches frames with these (modify_header_match_supported of en_tc.c). Checksums
/// are kept (ChecksumKeeper).
void change_headers(std::span<std::byte> frame, std::span<const HeaderAction> actions);

}  // namespace portcullis::model
