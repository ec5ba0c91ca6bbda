// SPDX-License-Identifier: BSD-3-Clause
//
// Commands on what more than one queue pair receives by: XRC domains, XRC SRQs, receive memory
// pools, XRQs, multicast groups.
#include <algorithm>

#include "model/commands.hpp"
#include "model/core.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;
using Kind = SharedReceives::Kind;

enum Refusal : std::uint32_t {
  kNoSuchPd = 0xa10001,
  kNoSuchCq,
  kBadOpMod,
  kNotOffered,
  kBadMask,
  kNoSuchQp,
};

template <class In>
Gid group_of(prm::ConstView<In> in) {
  const auto bytes = in.template bytes<"multicast_gid">();
  Gid gid;
  std::ranges::transform(bytes, gid.begin(),
                         [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  return gid;
}

Verdict destroy(Core& core, Kind kind, std::uint32_t number) {
  SharedReceives::Uses uses;
  const Verdict verdict = core.shared_receives.destroy(kind, number, uses);
  if (!verdict.ok()) return verdict;
  core.pd_references.drop(uses.pd);
  if (kind != Kind::Rmp) core.cq_references.drop(uses.cqn);
  return {};
}

}  // namespace

Verdict alloc_xrcd(Core& core, const Request<prm::alloc_xrcd_in, prm::alloc_xrcd_out>& request) {
  std::uint32_t number = 0;
  const Verdict verdict = core.shared_receives.domains().allocate(number);
  if (verdict.ok()) static_cast<void>(request.out.try_set<"xrcd">(number));
  return verdict;
}

Verdict dealloc_xrcd(Core& core,
                     const Request<prm::dealloc_xrcd_in, prm::dealloc_xrcd_out>& request) {
  return core.shared_receives.domains().free(request.in.get<"xrcd">());
}

Verdict create_xrc_srq(Core& core,
                       const Request<prm::create_xrc_srq_in, prm::create_xrc_srq_out>& request) {
  const auto context =
      prm::ConstView<prm::xrc_srqc>::at(request.in.bytes<"xrc_srq_context_entry">());
  const std::uint32_t pd = context.get<"pd">();
  const std::uint32_t cqn = context.get<"cqn">();
  if (request.in.get<"xrc_srq_umem_valid">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  if (!core.pds.contains(pd)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchPd);
  if (!core.cqs.exists(cqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCq);
  std::uint32_t number = 0;
  const Verdict verdict = core.shared_receives.create(context, request.in_tail, number);
  if (!verdict.ok()) return verdict;
  core.pd_references.add(pd);
  core.cq_references.add(cqn);
  static_cast<void>(request.out.try_set<"xrc_srqn">(number));
  return {};
}

Verdict destroy_xrc_srq(Core& core,
                        const Request<prm::destroy_xrc_srq_in, prm::destroy_xrc_srq_out>& request) {
  return destroy(core, Kind::XrcSrq, request.in.get<"xrc_srqn">());
}

Verdict query_xrc_srq(Core& core,
                      const Request<prm::query_xrc_srq_in, prm::query_xrc_srq_out>& request) {
  return core.shared_receives.query(
      request.in.get<"xrc_srqn">(),
      prm::View<prm::xrc_srqc>::at(request.out.bytes<"xrc_srq_context_entry">()));
}

Verdict arm_xrc_srq(Core& core, const Request<prm::arm_xrc_srq_in, prm::arm_xrc_srq_out>& request) {
  if (request.in.get<"op_mod">() != prm::kArmXrcSrq)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadOpMod);
  return core.shared_receives.arm(Kind::XrcSrq, request.in.get<"xrc_srqn">(),
                                  request.in.get<"lwm">());
}

Verdict create_rmp(Core& core, const Request<prm::create_rmp_in, prm::create_rmp_out>& request) {
  const auto context = prm::ConstView<prm::rmpc>::at(request.in.bytes<"ctx">());
  const std::uint32_t pd = context.get<"wq.pd">();
  if (!core.pds.contains(pd)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchPd);
  std::uint32_t number = 0;
  const Verdict verdict = core.shared_receives.create(context, request.in_tail, number);
  if (!verdict.ok()) return verdict;
  core.pd_references.add(pd);
  static_cast<void>(request.out.try_set<"rmpn">(number));
  return {};
}

/// arm_rmp_cmd of mlx5_ib/srq_cmd.c: the limit, of a pool that stays ready.
Verdict modify_rmp(Core& core, const Request<prm::modify_rmp_in, prm::modify_rmp_out>& request) {
  const auto context = prm::ConstView<prm::rmpc>::at(request.in.bytes<"ctx">());
  constexpr auto kReady = prm::number(prm::RmpState::RDY);
  if (request.in.get<"rmp_state">() != kReady || context.get<"state">() != kReady ||
      request.in.get<"bitmask.lwm">() != 1)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadMask);
  return core.shared_receives.arm(Kind::Rmp, request.in.get<"rmpn">(), context.get<"wq.lwm">());
}

Verdict destroy_rmp(Core& core, const Request<prm::destroy_rmp_in, prm::destroy_rmp_out>& request) {
  return destroy(core, Kind::Rmp, request.in.get<"rmpn">());
}

Verdict query_rmp(Core& core, const Request<prm::query_rmp_in, prm::query_rmp_out>& request) {
  return core.shared_receives.query(request.in.get<"rmpn">(),
                                    prm::View<prm::rmpc>::at(request.out.bytes<"rmp_context">()));
}

Verdict create_xrq(Core& core, const Request<prm::create_xrq_in, prm::create_xrq_out>& request) {
  const auto context = prm::ConstView<prm::xrqc>::at(request.in.bytes<"xrq_context">());
  const std::uint32_t pd = context.get<"wq.pd">();
  const std::uint32_t cqn = context.get<"cqn">();
  if (core.capabilities.in_force().get<"log_max_xrq">() == 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  if (!core.pds.contains(pd)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchPd);
  if (!core.cqs.exists(cqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCq);
  std::uint32_t number = 0;
  const Verdict verdict = core.shared_receives.create(context, request.in_tail, number);
  if (!verdict.ok()) return verdict;
  core.pd_references.add(pd);
  core.cq_references.add(cqn);
  static_cast<void>(request.out.try_set<"xrqn">(number));
  return {};
}

Verdict destroy_xrq(Core& core, const Request<prm::destroy_xrq_in, prm::destroy_xrq_out>& request) {
  return destroy(core, Kind::Xrq, request.in.get<"xrqn">());
}

Verdict query_xrq(Core& core, const Request<prm::query_xrq_in, prm::query_xrq_out>& request) {
  return core.shared_receives.query(request.in.get<"xrqn">(),
                                    prm::View<prm::xrqc>::at(request.out.bytes<"xrq_context">()));
}

Verdict arm_xrq(Core& core, const Request<prm::arm_xrq_in, prm::arm_xrq_out>& request) {
  return core.shared_receives.arm(Kind::Xrq, request.in.get<"xrqn">(), request.in.get<"lwm">());
}

/// What Linux arms an XRQ by. Of op_mod 1, a shared receive queue of interface version 0, there are
/// none here.
Verdict arm_rq(Core& core, const Request<prm::arm_rq_in, prm::arm_rq_out>& request) {
  if (request.in.get<"op_mod">() != prm::kArmRqXrq)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadOpMod);
  return core.shared_receives.arm(Kind::Xrq, request.in.get<"srq_number">(),
                                  request.in.get<"lwm">());
}

Verdict attach_to_mcg(Core& core,
                      const Request<prm::attach_to_mcg_in, prm::attach_to_mcg_out>& request) {
  const std::uint32_t qpn = request.in.get<"qpn">();
  if (!core.qps.contains(qpn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQp);
  const Verdict verdict = core.groups.attach(group_of(request.in), qpn);
  core.transport->port_changed();
  return verdict;
}

Verdict detach_from_mcg(Core& core,
                        const Request<prm::detach_from_mcg_in, prm::detach_from_mcg_out>& request) {
  const Verdict verdict = core.groups.detach(group_of(request.in), request.in.get<"qpn">());
  core.transport->port_changed();
  return verdict;
}

}  // namespace portcullis::model::commands
