// SPDX-License-Identifier: BSD-3-Clause
//
// Inputs of flow steering as tests want them: a table, a group with a criterion, an entry with a
// value. Bytes by the layouts alone, for the model and its tables to judge.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "prm/flow_action_commands.hpp"
#include "prm/flow_action_enums.hpp"
#include "prm/flow_commands.hpp"
#include "prm/flow_enums.hpp"
#include "prm/opcodes.hpp"
#include "prm/view.hpp"

namespace portcullis::model::testing {

/// What a group compares, or an entry has, of the two misc parameters and the UDP ports.
struct Match {
  std::uint32_t dst_qp = 0;
  std::uint8_t opcode = 0;
  std::uint16_t udp_sport = 0;
  std::uint16_t udp_dport = 0;
};

struct Place {
  prm::FlowTableType type = prm::FlowTableType::RDMA_RX;
  std::uint32_t table = 0;
};

[[nodiscard]] prm::Buffer<prm::create_flow_table_in> table_command(prm::FlowTableType type,
                                                                   std::uint32_t log_size,
                                                                   std::uint32_t level = 0);
/// Flow indices `start` to `end`, with the criteria that `mask` makes necessary.
[[nodiscard]] prm::Buffer<prm::create_flow_group_in> group_command(Place place, std::uint32_t start,
                                                                   std::uint32_t end,
                                                                   const Match& mask);
[[nodiscard]] prm::Buffer<prm::set_fte_in> entry_command(
    Place place, std::uint32_t group, std::uint32_t index, const Match& value,
    prm::FlowAction action = prm::FlowAction::DROP);
/// The same entry with op_mod modify and the action alone to change.
[[nodiscard]] prm::Buffer<prm::set_fte_in> modify_command(prm::Buffer<prm::set_fte_in> entry,
                                                          prm::FlowAction action);
[[nodiscard]] prm::Buffer<prm::delete_fte_in> delete_command(Place place, std::uint32_t index);
[[nodiscard]] prm::Buffer<prm::set_flow_table_root_in> root_command(
    Place place, prm::FlowTableRootOpMod op_mod = prm::FlowTableRootOpMod::SET,
    std::uint32_t underlay_qpn = prm::kNoUnderlayQpn);
/// `entry` forwarding to `destination`.
[[nodiscard]] prm::Buffer<prm::set_fte_in> forwarding(prm::Buffer<prm::set_fte_in> entry);
[[nodiscard]] std::vector<std::byte> destination(prm::FlowDestination type, std::uint32_t id);

/// An action of a modify header context; a length of 0 is 32 bits.
using RawAction = std::array<std::byte, prm::set_action_in::bytes>;
[[nodiscard]] RawAction set_action(prm::HeaderField field, std::uint32_t data, unsigned length,
                                   unsigned offset = 0);
[[nodiscard]] RawAction add_action(prm::HeaderField field, std::uint32_t data);
[[nodiscard]] RawAction copy_action(prm::HeaderField from, unsigned from_offset,
                                    prm::HeaderField to, unsigned to_offset, unsigned length);
/// ALLOC_MODIFY_HEADER_CONTEXT of these actions.
[[nodiscard]] std::vector<std::byte> changes_command(prm::FlowTableType type,
                                                     std::span<const RawAction> actions);
/// ALLOC_PACKET_REFORMAT_CONTEXT with this header.
[[nodiscard]] std::vector<std::byte> reformat_command(prm::ReformatType type,
                                                      std::span<const std::byte> header);

}  // namespace portcullis::model::testing
