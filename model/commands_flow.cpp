// SPDX-License-Identifier: BSD-3-Clause
//
// Commands of flow steering. A function steers for itself alone: a command for another vport is
// refused, as it is by a device whose vport_group_manager capability is 0.
#include <algorithm>

#include "model/commands.hpp"
#include "model/core.hpp"
#include "model/steering/icm_addresses.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kOtherVport = 0x610001,
  kFieldSelect,
  kNoCounters,
  kNoSuchCounter,
  kBulk,
};

template <class In>
bool is_other_vport(prm::ConstView<In> in) {
  return in.template get<"other_vport">() != 0 || in.template get<"vport_number">() != 0;
}

template <class In>
prm::FlowTableType type_of(prm::ConstView<In> in) {
  return prm::FlowTableType{static_cast<std::uint8_t>(in.template get<"table_type">())};
}

template <class In>
prm::ConstView<prm::flow_table_context> context_of(prm::ConstView<In> in) {
  return prm::ConstView<prm::flow_table_context>::at(in.template bytes<"flow_table_context">());
}

}  // namespace

Verdict create_flow_table(
    Core& core, const Request<prm::create_flow_table_in, prm::create_flow_table_out>& request) {
  if (is_other_vport(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  std::uint32_t id = 0;
  const Verdict verdict = core.flows.create_table(type_of(request.in), context_of(request.in), id,
                                                  request.in.get<"uid">());
  if (!verdict.ok()) return verdict;
  static_cast<void>(request.out.try_set<"table_id">(id));
  icm::put_address(request.out, icm::address_of(icm::kTablesAt, id));
  return verdict;
}

Verdict modify_flow_table(
    Core& core, const Request<prm::modify_flow_table_in, prm::modify_flow_table_out>& request) {
  if (is_other_vport(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  if (request.in.get<"modify_field_select">() != prm::number(prm::ModifyFlowTable::MISS_TABLE_ID))
    return refuse(CommandStatus::BAD_PARAM_ERR, kFieldSelect);
  return core.flows.modify_table(type_of(request.in), request.in.get<"table_id">(),
                                 context_of(request.in));
}

/// Of what a program made by DevX (devx_is_obj_query_cmd of mlx5_ib/devx.c).
Verdict query_flow_table(
    Core& core, const Request<prm::query_flow_table_in, prm::query_flow_table_out>& request) {
  return core.flows.query_table(
      type_of(request.in), request.in.get<"table_id">(),
      prm::View<prm::flow_table_context>::at(request.out.bytes<"flow_table_context">()));
}

/// As query_flow_table; mcx_dump_flow_group of OpenBSD's if_mcx.c has it too.
Verdict query_flow_group(
    Core& core, const Request<prm::query_flow_group_in, prm::query_flow_group_out>& request) {
  return core.flows.query_group(request.in, request.out);
}

Verdict destroy_flow_table(
    Core& core, const Request<prm::destroy_flow_table_in, prm::destroy_flow_table_out>& request) {
  if (is_other_vport(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  return core.flows.destroy_table(type_of(request.in), request.in.get<"table_id">());
}

Verdict set_flow_table_root(
    Core& core, const Request<prm::set_flow_table_root_in, prm::set_flow_table_root_out>& request) {
  if (is_other_vport(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  return core.flows.set_root(request.in);
}

Verdict create_flow_group(
    Core& core, const Request<prm::create_flow_group_in, prm::create_flow_group_out>& request) {
  if (is_other_vport(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  std::uint32_t id = 0;
  const Verdict verdict = core.flows.create_group(request.in, id);
  if (verdict.ok()) static_cast<void>(request.out.try_set<"group_id">(id));
  return verdict;
}

Verdict destroy_flow_group(
    Core& core, const Request<prm::destroy_flow_group_in, prm::destroy_flow_group_out>& request) {
  if (is_other_vport(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  return core.flows.destroy_group(request.in);
}

Verdict set_fte(Core& core, const Request<prm::set_fte_in, prm::set_fte_out>& request) {
  if (is_other_vport(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  return core.flows.set_entry(request.in, request.in_tail);
}

Verdict query_fte(Core& core, const Request<prm::query_fte_in, prm::query_fte_out>& request) {
  return core.flows.query_entry(
      request.in, prm::View<prm::flow_context>::at(request.out.bytes<"flow_context">()),
      request.out_tail);
}

Verdict delete_fte(Core& core, const Request<prm::delete_fte_in, prm::delete_fte_out>& request) {
  if (is_other_vport(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  return core.flows.delete_entry(request.in);
}

Verdict alloc_flow_counter(
    Core& core, const Request<prm::alloc_flow_counter_in, prm::alloc_flow_counter_out>& request) {
  // A bulk needs flow_counter_bulk_alloc, which is not offered.
  if (request.in.get<"flow_counter_bulk">() != 0 ||
      request.in.get<"flow_counter_bulk_log_size">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBulk);
  const auto id = core.flows.counters.allocate();
  if (!id) return refuse(CommandStatus::NO_RES_ERR, kNoCounters);
  request.out.put<"flow_counter_id">(*id);
  return {};
}

Verdict dealloc_flow_counter(
    Core& core,
    const Request<prm::dealloc_flow_counter_in, prm::dealloc_flow_counter_out>& request) {
  return core.flows.counters.free(request.in.get<"flow_counter_id">())
             ? Verdict{}
             : refuse(CommandStatus::BAD_RES_ERR, kNoSuchCounter);
}

Verdict query_flow_counter(
    Core& core, const Request<prm::query_flow_counter_in, prm::query_flow_counter_out>& request) {
  const std::uint32_t first = request.in.get<"flow_counter_id">();
  const std::uint32_t count = std::max(request.in.get<"num_of_counters">(), 1U);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (core.flows.counters.find(first + i) == nullptr)
      return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCounter);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    TrafficCount* const counter = core.flows.counters.find(first + i);
    prm::Buffer<prm::traffic_counter> entry;
    entry.put<"packets">(counter->packets).put<"octets">(counter->octets);
    put_in_tail(request.out_tail, std::size_t{i} * prm::traffic_counter::bytes, entry.all());
    if (request.in.get<"clear">() != 0) *counter = {};
  }
  return {};
}

}  // namespace portcullis::model::commands
