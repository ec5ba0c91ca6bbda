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

}  // namespace portcullis::model::testing
