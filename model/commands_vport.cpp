// SPDX-License-Identifier: BSD-3-Clause
//
// The InfiniBand port as drivers ask it: HCA vport context, GID and P_Key tables
// (mlx5/core/vport.c), management datagrams (mlx5_ib/cmd.c, mlx5_cmd_mad_ifc). The P_Key table is
// there on an Ethernet port too: mlx5_ib_query_pkey asks it for RoCE, whose one P_Key is the
// default.
#include <algorithm>

#include "model/commands.hpp"
#include "model/core.hpp"
#include "model/mad.hpp"
#include "model/port_limits.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kNotInfiniBand = 0x6101,
  kOtherVport,
  kNoSuchPort,
  kNoSuchIndex,
  kNotChangeable,
};

constexpr std::uint32_t kWholeTable = 0xffff;

/// The function's own vport on its one port; 0 means that port too.
template <class View>
Verdict check_own(const View& in) {
  if (in.template get<"other_vport">() != 0 || in.template get<"vport_number">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  if (in.template get<"port_num">() > 1) return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchPort);
  return {};
}

template <class View>
Verdict check_vport(const Core& core, const View& in) {
  if (core.port.type != PortType::InfiniBand)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotInfiniBand);
  return check_own(in);
}

OrderEnd obey(Core& core, const PortOrder& order) {
  if (!core.link.obey(order)) return OrderEnd::BadValue;
  KeyViolations& violations = core.port_counters.violations;
  if (order.clears_pkey_violations) violations.pkey = 0;
  if (order.clears_qkey_violations) violations.qkey = 0;
  return OrderEnd::Done;
}

bool is_outside(std::uint32_t index, std::uint32_t entries) {
  return index != kWholeTable && index >= entries;
}

}  // namespace

Verdict query_hca_vport_context(
    Core& core,
    const Request<prm::query_hca_vport_context_in, prm::query_hca_vport_context_out>& request) {
  if (const Verdict verdict = check_vport(core, request.in); !verdict.ok()) return verdict;
  const PortSettings& port = core.port;
  const auto context =
      prm::View<prm::hca_vport_context>::at(request.out.bytes<"hca_vport_context">());
  context.set<"has_smi", 1>();
  static_cast<void>(context.try_set<"port_physical_state">(limits::physical_state(port)));
  static_cast<void>(context.try_set<"port_state">(prm::number(port.state)));
  static_cast<void>(context.try_set<"vport_state">(prm::number(port.state)));
  context.put<"system_image_guid">(port.guid());
  context.put<"port_guid">(port.guid());
  context.put<"node_guid">(port.guid());
  context.put<"cap_mask1">(limits::port_capabilities(port));
  context.set<"cap_mask1_field_select", limits::kAgentCapabilities>();  // what may be changed
  context.put<"lid">(port.lid);
  context.put<"sm_lid">(port.sm_lid);
  static_cast<void>(context.try_set<"subnet_timeout">(port.subnet.subnet_timeout));
  static_cast<void>(context.try_set<"sm_sl">(port.subnet.master_sm_sl));
  context.put<"pkey_violation_counter">(core.port_counters.violations.pkey);
  context.put<"qkey_violation_counter">(core.port_counters.violations.qkey);
  return {};
}

/// Of the capability mask alone, as set_port_caps_atomic of mlx5_ib/main.c asks for it.
Verdict modify_hca_vport_context(
    Core& core,
    const Request<prm::modify_hca_vport_context_in, prm::modify_hca_vport_context_out>& request) {
  if (const Verdict verdict = check_vport(core, request.in); !verdict.ok()) return verdict;
  const auto context =
      prm::ConstView<prm::hca_vport_context>::at(request.in.bytes<"hca_vport_context">());
  const std::uint32_t changed = context.get<"cap_mask1_field_select">();
  if (context.get<"field_select">() != 0 || (changed & ~limits::kAgentCapabilities) != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotChangeable);
  core.port.agent_capabilities =
      (core.port.agent_capabilities & ~changed) | (context.get<"cap_mask1">() & changed);
  return {};
}

Verdict query_hca_vport_gid(
    Core& core, const Request<prm::query_hca_vport_gid_in, prm::query_hca_vport_gid_out>& request) {
  if (const Verdict verdict = check_vport(core, request.in); !verdict.ok()) return verdict;
  const std::uint32_t index = request.in.get<"gid_index">();
  if (is_outside(index, limits::kGids)) return refuse(CommandStatus::IX_ERR, kNoSuchIndex);
  request.out.put<"gids_num">(static_cast<std::uint16_t>(index == kWholeTable ? limits::kGids : 1));
  // Only the first is set. The others have the prefix alone: null_gid of rdma-core's devinfo.c
  // looks at the GUID of each, and config_non_roce_gid_cache of Linux takes the prefix from the
  // last.
  Gid gid = core.port.default_gid();
  constexpr std::ptrdiff_t kPrefixBytes = 8;
  const std::uint32_t count = index == kWholeTable ? limits::kGids : 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (index != 0 && (index != kWholeTable || i != 0))
      std::fill(gid.begin() + kPrefixBytes, gid.end(), std::uint8_t{0});
    put_in_tail(request.out_tail, i * gid.size(), std::as_bytes(std::span(gid)));
  }
  return {};
}

Verdict query_hca_vport_pkey(
    Core& core,
    const Request<prm::query_hca_vport_pkey_in, prm::query_hca_vport_pkey_out>& request) {
  if (const Verdict verdict = check_own(request.in); !verdict.ok()) return verdict;
  const std::uint32_t index = request.in.get<"pkey_index">();
  if (is_outside(index, limits::kPkeys)) return refuse(CommandStatus::IX_ERR, kNoSuchIndex);
  const std::uint32_t first = index == kWholeTable ? 0 : index;
  const std::uint32_t count = index == kWholeTable ? limits::kPkeys : 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    prm::Buffer<prm::pkey> entry;
    entry.put<"pkey">(core.port.pkeys[first + i]);
    put_in_tail(request.out_tail, i * prm::pkey::bytes, entry.all());
  }
  return {};
}

Verdict mad_ifc(Core& core, const Request<prm::mad_ifc_in, prm::mad_ifc_out>& request) {
  if (core.port.type != PortType::InfiniBand)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotInfiniBand);
  if (request.in.get<"port">() > 1) return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchPort);
  const auto mad = request.in.bytes<"mad">();
  const auto response = request.out.bytes<"response_mad_packet">();
  if (is_of_performance(mad)) {
    core.performance.answer(performance_of(core.port_counters, core.port.link_downs), mad,
                            response);
    return {};
  }
  OrderEnd end = OrderEnd::NotTaken;
  if (core.behaviours.outside_sm) {
    if (const auto order = port_order(core.port, mad)) end = obey(core, *order);
    if (const auto order = pkey_order(mad)) {
      core.link.take_pkeys(*order);
      end = OrderEnd::Done;
    }
  }
  answer_mad(core.port, core.port_counters.violations, mad, response, end);
  return {};
}

}  // namespace portcullis::model::commands
