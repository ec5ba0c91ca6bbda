// SPDX-License-Identifier: BSD-3-Clause
//
// Commands of the Ethernet data path: what sends (TIS, SQ), tables of receive queues, and what is
// done to a receive queue and a TIR after they were made.
#include "model/commands.hpp"
#include "model/core.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t { kNoSuchPd = 0xe10001, kNoSuchCq, kNoSuchUar, kNoSuchUnderlay };

/// Entries of the table of rates, the first of which stands for none.
std::uint32_t rates_offered(const Core& core) {
  return core.capabilities.qualities().get<"packet_pacing_rate_table_size">();
}

}  // namespace

Verdict create_tis(Core& core, const Request<prm::create_tis_in, prm::create_tis_out>& request) {
  const auto context = prm::ConstView<prm::tisc>::at(request.in.bytes<"ctx">());
  const std::uint32_t underlay = context.get<"underlay_qpn">();
  const auto named = core.qps.find(underlay);
  if (underlay != 0 && (named == core.qps.end() || !named->second.is_underlay))
    return refuse(CommandStatus::BAD_RES_ERR, kNoSuchUnderlay);
  std::uint32_t number = 0;
  const Verdict verdict = core.send_queues.create_tis(context, number);
  if (!verdict.ok()) return verdict;
  if (underlay != 0) core.underlay_references.add(underlay);
  static_cast<void>(request.out.try_set<"tisn">(number));
  return {};
}

Verdict modify_tis(Core& core, const Request<prm::modify_tis_in, prm::modify_tis_out>& request) {
  return core.send_queues.modify_tis(request.in);
}

Verdict query_tis(Core& core, const Request<prm::query_tis_in, prm::query_tis_out>& request) {
  return core.send_queues.query_tis(request.in.get<"tisn">(),
                                    prm::View<prm::tisc>::at(request.out.bytes<"tis_context">()));
}

Verdict destroy_tis(Core& core, const Request<prm::destroy_tis_in, prm::destroy_tis_out>& request) {
  prm::Buffer<prm::tisc> context;
  const std::uint32_t number = request.in.get<"tisn">();
  static_cast<void>(core.send_queues.query_tis(number, context.view()));
  const Verdict verdict = core.send_queues.destroy_tis(number);
  if (const std::uint32_t underlay = context.get<"underlay_qpn">(); verdict.ok() && underlay != 0)
    core.underlay_references.drop(underlay);
  return verdict;
}

Verdict create_sq(Core& core, const Request<prm::create_sq_in, prm::create_sq_out>& request) {
  const auto context = prm::ConstView<prm::sqc>::at(request.in.bytes<"ctx">());
  const std::uint32_t pd = context.get<"wq.pd">();
  const std::uint32_t cqn = context.get<"cqn">();
  const std::uint32_t uar = context.get<"wq.uar_page">();
  // 0 is none, which mlx5_wc_create_sq of mlx5/core/wc.c names on an InfiniBand port.
  const bool has_none = pd == 0 && core.port.type == PortType::InfiniBand;
  if (!has_none && !core.pds.contains(pd)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchPd);
  if (!core.cqs.exists(cqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCq);
  if (!core.uars.contains(uar)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchUar);
  if (const Verdict verdict =
          RateLimits::check(context.get<"packet_pacing_rate_limit_index">(), rates_offered(core));
      !verdict.ok())
    return verdict;
  std::uint32_t number = 0;
  const Verdict verdict = core.send_queues.create_sq(context, request.in_tail, number);
  if (!verdict.ok()) return verdict;
  core.pd_references.add(pd);
  core.cq_references.add(cqn);
  core.use_uar(uar);
  static_cast<void>(request.out.try_set<"sqn">(number));
  return {};
}

Verdict modify_sq(Core& core, const Request<prm::modify_sq_in, prm::modify_sq_out>& request) {
  if ((request.in.get<"modify_bitmask">() & prm::kModifySqRateLimit) != 0) {
    const Verdict verdict = RateLimits::check(
        request.in.get<"ctx.packet_pacing_rate_limit_index">(), rates_offered(core));
    if (!verdict.ok()) return verdict;
  }
  return core.send_queues.modify_sq(request.in);
}

Verdict set_pp_rate_limit(
    Core& core, const Request<prm::set_pp_rate_limit_in, prm::set_pp_rate_limit_out>& request) {
  const Verdict verdict = core.rates.set(request.in, rates_offered(core));
  if (verdict.ok()) core.send_queues.rate_changed(request.in.get<"rate_limit_index">());
  return verdict;
}

Verdict query_sq(Core& core, const Request<prm::query_sq_in, prm::query_sq_out>& request) {
  return core.send_queues.query_sq(request.in.get<"sqn">(),
                                   prm::View<prm::sqc>::at(request.out.bytes<"sq_context">()));
}

Verdict destroy_sq(Core& core, const Request<prm::destroy_sq_in, prm::destroy_sq_out>& request) {
  SendQueues::Used used;
  const Verdict verdict = core.send_queues.destroy_sq(request.in.get<"sqn">(), used);
  if (!verdict.ok()) return verdict;
  core.pd_references.drop(used.pd);
  core.cq_references.drop(used.cqn);
  core.release_uar(used.uar);
  return {};
}

Verdict create_rqt(Core& core, const Request<prm::create_rqt_in, prm::create_rqt_out>& request) {
  std::uint32_t number = 0;
  const Verdict verdict = core.receive_targets.tables.create(
      prm::ConstView<prm::rqtc>::at(request.in.bytes<"rqt_context">()), request.in_tail, number);
  if (verdict.ok()) static_cast<void>(request.out.try_set<"rqtn">(number));
  return verdict;
}

Verdict modify_rqt(Core& core, const Request<prm::modify_rqt_in, prm::modify_rqt_out>& request) {
  return core.receive_targets.tables.modify(request.in, request.in_tail);
}

Verdict query_rqt(Core& core, const Request<prm::query_rqt_in, prm::query_rqt_out>& request) {
  return core.receive_targets.tables.query(
      request.in.get<"rqtn">(), prm::View<prm::rqtc>::at(request.out.bytes<"rqt_context">()),
      request.out_tail);
}

Verdict destroy_rqt(Core& core, const Request<prm::destroy_rqt_in, prm::destroy_rqt_out>& request) {
  return core.receive_targets.tables.destroy(request.in.get<"rqtn">());
}

Verdict query_rq(Core& core, const Request<prm::query_rq_in, prm::query_rq_out>& request) {
  return core.receive_targets.query_rq(request.in.get<"rqn">(),
                                       prm::View<prm::rqc>::at(request.out.bytes<"rq_context">()));
}

Verdict modify_tir(Core& core, const Request<prm::modify_tir_in, prm::modify_tir_out>& request) {
  return core.receive_targets.modify_tir(request.in);
}

Verdict query_tir(Core& core, const Request<prm::query_tir_in, prm::query_tir_out>& request) {
  return core.receive_targets.query_tir(
      request.in.get<"tirn">(), prm::View<prm::tirc>::at(request.out.bytes<"tir_context">()));
}

}  // namespace portcullis::model::commands
