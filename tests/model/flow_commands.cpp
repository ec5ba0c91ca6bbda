// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/flow_commands.hpp"

#include <cstddef>
#include <span>

namespace portcullis::model::testing {
namespace {

void put_match(std::span<std::byte, prm::fte_match_param::bytes> bytes, const Match& match) {
  const prm::View<prm::fte_match_param> param(bytes);
  static_cast<void>(param.try_set<"misc_parameters.bth_dst_qp">(match.dst_qp));
  param.put<"misc_parameters.bth_opcode">(match.opcode);
  param.put<"outer_headers.udp_sport">(match.udp_sport);
  param.put<"outer_headers.udp_dport">(match.udp_dport);
}

template <class In>
prm::Buffer<In> at_place(prm::Opcode opcode, Place place) {
  prm::Buffer<In> in;
  in.template put<"opcode">(opcode);
  in.template put<"table_type">(place.type);
  in.template put<"table_id">(place.table);
  return in;
}

}  // namespace

prm::Buffer<prm::create_flow_table_in> table_command(prm::FlowTableType type,
                                                     std::uint32_t log_size, std::uint32_t level) {
  prm::Buffer<prm::create_flow_table_in> in;
  in.put<"opcode">(prm::Opcode::CREATE_FLOW_TABLE).put<"table_type">(type);
  in.put<"flow_table_context.log_size">(log_size).put<"flow_table_context.level">(level);
  return in;
}

prm::Buffer<prm::create_flow_group_in> group_command(Place place, std::uint32_t start,
                                                     std::uint32_t end, const Match& mask) {
  auto in = at_place<prm::create_flow_group_in>(prm::Opcode::CREATE_FLOW_GROUP, place);
  in.put<"start_flow_index">(start).put<"end_flow_index">(end);
  const bool misc = mask.dst_qp != 0 || mask.opcode != 0;
  const bool outer = mask.udp_sport != 0 || mask.udp_dport != 0;
  in.put<"match_criteria_enable">((outer ? prm::number(prm::MatchCriteria::OUTER_HEADERS) : 0U) |
                                  (misc ? prm::number(prm::MatchCriteria::MISC_PARAMETERS) : 0U));
  put_match(in.bytes<"match_criteria">(), mask);
  return in;
}

prm::Buffer<prm::set_fte_in> entry_command(Place place, std::uint32_t group, std::uint32_t index,
                                           const Match& value, prm::FlowAction action) {
  auto in = at_place<prm::set_fte_in>(prm::Opcode::SET_FLOW_TABLE_ENTRY, place);
  in.put<"flow_index">(index).put<"flow_context.group_id">(group);
  in.put<"flow_context.action">(action);
  put_match(in.bytes<"flow_context.match_value">(), value);
  return in;
}

prm::Buffer<prm::set_fte_in> modify_command(prm::Buffer<prm::set_fte_in> entry,
                                            prm::FlowAction action) {
  entry.put<"op_mod">(prm::SetFteOpMod::MODIFY).put<"flow_context.action">(action);
  return entry.put<"modify_enable_mask">(1U << prm::number(prm::ModifyFte::ACTION));
}

prm::Buffer<prm::delete_fte_in> delete_command(Place place, std::uint32_t index) {
  return at_place<prm::delete_fte_in>(prm::Opcode::DELETE_FLOW_TABLE_ENTRY, place)
      .put<"flow_index">(index);
}

prm::Buffer<prm::set_flow_table_root_in> root_command(Place place, prm::FlowTableRootOpMod op_mod,
                                                      std::uint32_t underlay_qpn) {
  return at_place<prm::set_flow_table_root_in>(prm::Opcode::SET_FLOW_TABLE_ROOT, place)
      .put<"op_mod">(op_mod)
      .put<"underlay_qpn">(underlay_qpn);
}

prm::Buffer<prm::set_fte_in> forwarding(prm::Buffer<prm::set_fte_in> entry) {
  entry.put<"flow_context.action">(prm::FlowAction::FWD_DEST);
  return entry.put<"flow_context.destination_list_size">(1);
}

std::vector<std::byte> destination(prm::FlowDestination type, std::uint32_t id) {
  prm::Buffer<prm::dest_format_struct> raw;
  raw.put<"destination_type">(type).put<"destination_id">(id);
  return {raw.all().begin(), raw.all().end()};
}

RawAction set_action(prm::HeaderField field, std::uint32_t data, unsigned length, unsigned offset) {
  RawAction raw{};
  const prm::View<prm::set_action_in> action(raw);
  action.put<"data">(data);
  static_cast<void>(action.try_set<"action_type">(prm::number(prm::HeaderChange::SET)));
  static_cast<void>(action.try_set<"field">(prm::number(field)));
  static_cast<void>(action.try_set<"length">(length));
  static_cast<void>(action.try_set<"offset">(offset));
  return raw;
}

RawAction add_action(prm::HeaderField field, std::uint32_t data) {
  RawAction raw{};
  const prm::View<prm::add_action_in> action(raw);
  action.put<"data">(data);
  static_cast<void>(action.try_set<"action_type">(prm::number(prm::HeaderChange::ADD)));
  static_cast<void>(action.try_set<"field">(prm::number(field)));
  return raw;
}

RawAction copy_action(prm::HeaderField from, unsigned from_offset, prm::HeaderField to,
                      unsigned to_offset, unsigned length) {
  RawAction raw{};
  const prm::View<prm::copy_action_in> action(raw);
  static_cast<void>(action.try_set<"action_type">(prm::number(prm::HeaderChange::COPY)));
  static_cast<void>(action.try_set<"src_field">(prm::number(from)));
  static_cast<void>(action.try_set<"src_offset">(from_offset));
  static_cast<void>(action.try_set<"dst_field">(prm::number(to)));
  static_cast<void>(action.try_set<"dst_offset">(to_offset));
  static_cast<void>(action.try_set<"length">(length));
  return raw;
}

std::vector<std::byte> changes_command(prm::FlowTableType type,
                                       std::span<const RawAction> actions) {
  prm::Buffer<prm::alloc_modify_header_context_in> in;
  in.put<"opcode">(prm::Opcode::ALLOC_MODIFY_HEADER_CONTEXT).put<"table_type">(type);
  in.put<"num_of_actions">(static_cast<std::uint8_t>(actions.size()));
  std::vector<std::byte> bytes(in.all().begin(), in.all().end());
  for (const RawAction& action : actions) bytes.insert(bytes.end(), action.begin(), action.end());
  return bytes;
}

/// As long as mlx5_cmd_packet_reformat_alloc of mlx5/core/fs_cmd.c has it: the header ends it.
std::vector<std::byte> reformat_command(prm::ReformatType type, std::span<const std::byte> header) {
  prm::Buffer<prm::alloc_packet_reformat_context_in> in;
  in.put<"opcode">(prm::Opcode::ALLOC_PACKET_REFORMAT_CONTEXT);
  in.put<"packet_reformat_context.reformat_type">(type);
  static_cast<void>(
      prm::View<prm::packet_reformat_context_in>::at(in.bytes<"packet_reformat_context">())
          .try_set<"reformat_data_size">(header.size()));
  std::vector<std::byte> bytes(in.all().begin(), in.all().end());
  bytes.resize(bytes.size() - in.bytes<"packet_reformat_context.reformat_data">().size());
  bytes.insert(bytes.end(), header.begin(), header.end());
  return bytes;
}

}  // namespace portcullis::model::testing
