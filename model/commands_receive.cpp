// SPDX-License-Identifier: BSD-3-Clause
//
// Commands on what flow steering forwards to: transport domains, receive queues, TIRs.
#include "model/commands.hpp"
#include "model/core.hpp"
#include "model/steering/icm_addresses.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t { kNoSuchPd = 0x910001, kNoSuchCq, kNoSuchCounters, kTirInUse };

}  // namespace

Verdict alloc_transport_domain(
    Core& core,
    const Request<prm::alloc_transport_domain_in, prm::alloc_transport_domain_out>& request) {
  std::uint32_t number = 0;
  const Verdict verdict = core.receive_targets.domains().allocate(number);
  if (verdict.ok()) static_cast<void>(request.out.try_set<"transport_domain">(number));
  return verdict;
}

Verdict dealloc_transport_domain(
    Core& core,
    const Request<prm::dealloc_transport_domain_in, prm::dealloc_transport_domain_out>& request) {
  return core.receive_targets.domains().free(request.in.get<"transport_domain">());
}

Verdict create_rq(Core& core, const Request<prm::create_rq_in, prm::create_rq_out>& request) {
  const auto context = prm::ConstView<prm::rqc>::at(request.in.bytes<"ctx">());
  const std::uint32_t pd = context.get<"wq.pd">();
  const std::uint32_t cqn = context.get<"cqn">();
  // One that nothing is ever posted to names none: mlx5e_build_drop_rq_param of en/params.c.
  if (pd != 0 && !core.pds.contains(pd)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchPd);
  if (!core.cqs.exists(cqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCq);
  const std::uint32_t counters = context.get<"counter_set_id">();
  if (!core.q_counters.exists(counters)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCounters);
  std::uint32_t number = 0;
  const Verdict verdict = core.receive_targets.create_rq(context, request.in_tail, number);
  if (!verdict.ok()) return verdict;
  core.pd_references.add(pd);
  core.cq_references.add(cqn);
  if (counters != 0) core.q_counter_references.add(counters);
  static_cast<void>(request.out.try_set<"rqn">(number));
  return {};
}

Verdict modify_rq(Core& core, const Request<prm::modify_rq_in, prm::modify_rq_out>& request) {
  return core.receive_targets.modify_rq(request.in);
}

Verdict destroy_rq(Core& core, const Request<prm::destroy_rq_in, prm::destroy_rq_out>& request) {
  std::uint32_t pd = 0;
  std::uint32_t cqn = 0;
  const std::uint32_t counters = core.receive_targets.counters_of(request.in.get<"rqn">());
  const Verdict verdict = core.receive_targets.destroy_rq(request.in.get<"rqn">(), pd, cqn);
  if (!verdict.ok()) return verdict;
  core.pd_references.drop(pd);
  core.cq_references.drop(cqn);
  if (counters != 0) core.q_counter_references.drop(counters);
  return {};
}

Verdict create_tir(Core& core, const Request<prm::create_tir_in, prm::create_tir_out>& request) {
  std::uint32_t number = 0;
  const Verdict verdict = core.receive_targets.create_tir(
      prm::ConstView<prm::tirc>::at(request.in.bytes<"ctx">()), number);
  if (!verdict.ok()) return verdict;
  static_cast<void>(request.out.try_set<"tirn">(number));
  icm::put_address(request.out, icm::address_of(icm::kTirsAt, number));
  return verdict;
}

Verdict destroy_tir(Core& core, const Request<prm::destroy_tir_in, prm::destroy_tir_out>& request) {
  const std::uint32_t number = request.in.get<"tirn">();
  if (core.flows.uses_tir(number)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kTirInUse);
  return core.receive_targets.destroy_tir(number);
}

}  // namespace portcullis::model::commands
