// SPDX-License-Identifier: BSD-3-Clause
#include "steering/flow_table.hpp"

#include <algorithm>
#include <string>

#include "pmd/command_channel.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::steering {
namespace {

std::uint64_t until_ns(const pmd::Context& context, std::optional<std::uint64_t> deadline_ns) {
  return deadline_ns.value_or(context.commands->default_deadline_ns());
}

}  // namespace

Result<FlowTable> FlowTable::create(const pmd::Context& context, prm::FlowTableType domain,
                                    const Options& options,
                                    std::optional<std::uint64_t> deadline_ns) {
  prm::Buffer<prm::create_flow_table_in> in;
  in.put<"opcode">(prm::Opcode::CREATE_FLOW_TABLE).put<"table_type">(domain);
  in.put<"flow_table_context.level">(options.level);
  in.put<"flow_table_context.log_size">(options.log_size);
  in.put<"flow_table_context.table_miss_action">(prm::FlowTableMiss::DEF);
  PORTCULLIS_TRY_ASSIGN(const auto out, pmd::run<prm::create_flow_table_out>(
                                            *context.commands, in, until_ns(context, deadline_ns)));
  if (out.get<"table_id">() == 0)
    return fail(Errc::Malformed, "CREATE_FLOW_TABLE in " + std::string(name(domain)) +
                                     ": success, and table_id 0 names no table");
  return FlowTable(context, domain, out.get<"table_id">());
}

Result<void> FlowTable::set_root(prm::FlowTableRootOpMod op_mod, std::uint64_t deadline_ns) {
  prm::Buffer<prm::set_flow_table_root_in> in;
  in.put<"opcode">(prm::Opcode::SET_FLOW_TABLE_ROOT).put<"op_mod">(op_mod);
  in.put<"table_type">(domain_).put<"underlay_qpn">(underlay_qpn_);
  if (op_mod == prm::FlowTableRootOpMod::SET) in.put<"table_id">(id_);
  PORTCULLIS_TRY(pmd::run<prm::set_flow_table_root_out>(*context_->commands, in, deadline_ns));
  return {};
}

Result<void> FlowTable::make_root(std::uint32_t underlay_qpn,
                                  std::optional<std::uint64_t> deadline_ns) {
  underlay_qpn_ = underlay_qpn;
  auto set = set_root(prm::FlowTableRootOpMod::SET, until_ns(*context_, deadline_ns));
  may_be_root_ = set || pmd::may_have_happened(set.error());
  return set;
}

// A command that timed out may yet be carried out, so a refusal to disconnect proves nothing: the
// table stays, and whoever asked for its end hears so.
Result<void> FlowTable::destroy(std::optional<std::uint64_t> deadline_ns) {
  if (context_ == nullptr) return {};
  const pmd::UndoScope undoing(*context_->commands, !deadline_ns);
  if (may_be_root_)
    PORTCULLIS_TRY(set_root(prm::FlowTableRootOpMod::DISCONNECT, until_ns(*context_, deadline_ns)));
  may_be_root_ = false;
  prm::Buffer<prm::destroy_flow_table_in> in;
  in.put<"opcode">(prm::Opcode::DESTROY_FLOW_TABLE).put<"table_type">(domain_);
  in.put<"table_id">(id_);
  PORTCULLIS_TRY(pmd::run<prm::destroy_flow_table_out>(*context_->commands, in,
                                                       until_ns(*context_, deadline_ns)));
  context_ = nullptr;
  return {};
}

Result<FlowGroup> FlowGroup::create(const pmd::Context& context, const FlowTable& table,
                                    Range range, std::uint32_t criteria_enable,
                                    prm::ConstView<prm::fte_match_param> mask,
                                    std::optional<std::uint64_t> deadline_ns) {
  prm::Buffer<prm::create_flow_group_in> in;
  in.put<"opcode">(prm::Opcode::CREATE_FLOW_GROUP).put<"table_type">(table.domain());
  in.put<"table_id">(table.id());
  in.put<"start_flow_index">(range.start).put<"end_flow_index">(range.end);
  in.put<"match_criteria_enable">(criteria_enable);
  std::ranges::copy(mask.all(), in.bytes<"match_criteria">().begin());
  PORTCULLIS_TRY_ASSIGN(const auto out, pmd::run<prm::create_flow_group_out>(
                                            *context.commands, in, until_ns(context, deadline_ns)));
  return FlowGroup(context, table, out.get<"group_id">());
}

Result<void> FlowGroup::destroy(std::optional<std::uint64_t> deadline_ns) {
  if (context_ == nullptr) return {};
  const pmd::UndoScope undoing(*context_->commands, !deadline_ns);
  prm::Buffer<prm::destroy_flow_group_in> in;
  in.put<"opcode">(prm::Opcode::DESTROY_FLOW_GROUP).put<"table_type">(domain_);
  in.put<"table_id">(table_).put<"group_id">(id_);
  PORTCULLIS_TRY(pmd::run<prm::destroy_flow_group_out>(*context_->commands, in,
                                                       until_ns(*context_, deadline_ns)));
  context_ = nullptr;
  return {};
}

}  // namespace portcullis::steering
