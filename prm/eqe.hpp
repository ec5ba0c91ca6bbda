// SPDX-License-Identifier: BSD-3-Clause
//
// Event queue entries and the events inside them.
// Source of every layout here: include/linux/mlx5/mlx5_ifc.h of Linux 6.1, struct
// mlx5_ifc_NAME_bits, or, where the name begins with mlx5_, the struct of that name in
// include/linux/mlx5/device.h; tests/prm holds each against that header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "prm/enums.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct eqe : Layout<"eqe", 0x200,
    Reserved<0x0, 0x8>,
    Field<"event_type", 0x8, 0x8>,
    Reserved<0x10, 0x8>,
    Field<"event_sub_type", 0x18, 0x8>,
    Reserved<0x20, 0xe0>,
    Bytes<"event_data", 0x100, 0xe0>,
    Reserved<0x1e0, 0x10>,
    Field<"signature", 0x1f0, 0x8>,
    Reserved<0x1f8, 0x7>,
    Field<"owner", 0x1ff, 0x1>> {};

struct comp_event : Layout<"comp_event", 0xe0,
    Reserved<0x0, 0xc8>,
    Field<"cq_number", 0xc8, 0x18>> {};

struct qp_events : Layout<"qp_events", 0xe0,
    Reserved<0x0, 0xa0>,
    Field<"type", 0xa0, 0x8>,
    Reserved<0xa8, 0x20>,
    Field<"qpn_rqn_sqn", 0xc8, 0x18>> {};

struct cq_error : Layout<"cq_error", 0xe0,
    Reserved<0x0, 0x8>,
    Field<"cqn", 0x8, 0x18>,
    Reserved<0x20, 0x38>,
    Field<"syndrome", 0x58, 0x8>,
    Reserved<0x60, 0x80>> {};

struct cmd_inter_comp_event : Layout<"cmd_inter_comp_event", 0xe0,
    Field<"command_completion_vector", 0x0, 0x20>,
    Reserved<0x20, 0xc0>> {};

struct port_state_change_event : Layout<"port_state_change_event", 0xe0,
    Reserved<0x0, 0x40>,
    Field<"port_num", 0x40, 0x4>,
    Reserved<0x44, 0x9c>> {};

/// EventType PAGE_REQUEST. num_pages is signed: the device asks for pages, or wants to give back.
struct mlx5_eqe_page_req : Layout<"mlx5_eqe_page_req", 0xe0,
    Field<"ec_function", 0x0, 0x10>,
    Field<"func_id", 0x10, 0x10>,
    Field<"num_pages", 0x20, 0x20>,
    Reserved<0x40, 0xa0>> {};

/// EventType GENERAL_EVENT, PCI_SYNC_FOR_FW_UPDATE_EVENT; the header has the first dword alone.
struct mlx5_eqe_sync_fw_update : Layout<"mlx5_eqe_sync_fw_update", 0x20,
    Reserved<0x0, 0x18>,
    Field<"sync_rst_state", 0x18, 0x8>> {};

// clang-format on

// Bits of mlx5_eqe_page_req.ec_function (mlx5/core/pagealloc.c).
inline constexpr std::uint32_t kEcFunctionMask = 0x8000;
inline constexpr std::uint32_t kReleaseAllPagesMask = 0x4000;

inline constexpr std::size_t kEqeBytes = 64;

/// create_eq_in.event_bitmask: four big-endian quadwords, event type t is bit t%64 of quadword t/64
/// (create_map_eq of mlx5/core/eq.c).
using EventBitmask = std::span<std::byte, 32>;
constexpr void enable_event(EventBitmask mask, EventType type) noexcept {
  const unsigned t = number(type);
  mask[t / 64 * 8 + 7 - t % 64 / 8] |= std::byte{1} << t % 8;
}
[[nodiscard]] constexpr bool event_enabled(std::span<const std::byte, 32> mask,
                                           EventType type) noexcept {
  const unsigned t = number(type);
  return (mask[t / 64 * 8 + 7 - t % 64 / 8] >> t % 8 & std::byte{1}) != std::byte{0};
}

/// True when the EQE at `index` of 2^log_size belongs to software (next_eqe_sw of
/// mlx5/core/lib/eq.h).
[[nodiscard]] constexpr bool eqe_is_ready(std::uint32_t owner, std::uint32_t index,
                                          std::uint32_t log_size) noexcept {
  return ((owner ^ index >> log_size) & 1) == 0;
}
/// eqe.owner of a queue that no hardware has written yet (init_eq_buf of mlx5/core/eq.c).
inline constexpr std::uint32_t kEqeNeverWritten = 1;

}  // namespace portcullis::prm
