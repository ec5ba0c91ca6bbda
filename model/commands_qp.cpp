// SPDX-License-Identifier: BSD-3-Clause
//
// Queue pairs: what any command needs is checked here, state and transitions by the transport.
#include <utility>

#include "model/commands.hpp"
#include "model/core.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kNoNumber = 0x5001,
  kNoSuchUar,
  kNoSuchPd,
  kNoSuchCq,
  kNoSuchQp,
  kShortList,
  kBadSizes,
  kBadPages,
  kNotOffered,
  kBadUmem,
  kNoSuchCounters,
  kNoSuchSrq,
  kNoSuchDomain,
  kInUse,
};

/// A REG_UMR QP is created without a protection domain: create_kernel_qp of mlx5_ib/qp.c.
bool has_pd(prm::ConstView<prm::qpc> context) {
  return context.get<"st">() != prm::number(prm::QpServiceType::REG_UMR) ||
         context.get<"pd">() != 0;
}

Verdict check_references(const Core& core, const QpReferences& references, bool has_pd) {
  if (references.is_underlay) return {};
  if (has_pd && !core.pds.contains(references.pd))
    return refuse(CommandStatus::BAD_RES_ERR, kNoSuchPd);
  if (references.has_uar && !core.uars.contains(references.uar))
    return refuse(CommandStatus::BAD_RES_ERR, kNoSuchUar);
  if (references.xrcd != 0 && !core.shared_receives.domains().contains(references.xrcd))
    return refuse(CommandStatus::BAD_RES_ERR, kNoSuchDomain);
  if (!core.cqs.exists(references.cq_send) || !core.cqs.exists(references.cq_receive))
    return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCq);
  return {};
}

/// The XRC domain. Linux names one for every other QP too, which then means nothing.
Verdict find_domain(prm::ConstView<prm::qpc> context, std::uint32_t& number) {
  if (context.get<"st">() != prm::number(prm::QpServiceType::XRC)) return {};
  number = context.get<"xrcd">();
  return number != 0 ? Verdict{} : refuse(CommandStatus::BAD_RES_ERR, kNoSuchDomain);
}

/// The shared receive queue, of a QP that has one. Linux names one for every other QP too
/// (create_user_qp of mlx5_ib/qp.c), which then means nothing.
Verdict find_shared_receives(const Core& core, prm::ConstView<prm::qpc> context,
                             std::uint32_t& number) {
  if (context.get<"rq_type">() != prm::number(prm::QpRqType::SRQ_RQ)) return {};
  number = context.get<"srqn_rmpn_xrqn">();
  if (!core.shared_receives.exists(number)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchSrq);
  return {};
}

using CreateQp = Request<prm::create_qp_in, prm::create_qp_out>;

/// What of the queue pair lies in a umem, if anything does.
Verdict find_in_umems(const Core& core, const CreateQp& request, QpCreate& create, UmemUse& use) {
  if (create.context.get<"dbr_umem_valid">() != 0) {
    use.record = static_cast<std::uint32_t>(create.context.get<"dbr_umem_id">());
    const Verdict verdict =
        core.umems.record(*use.record, create.context.get<"dbr_addr">(), create.record.emplace());
    if (!verdict.ok()) return verdict;
  }
  if (request.in.get<"wq_umem_valid">() == 0) return {};
  const auto bytes = Transport::work_queue_bytes(create.context);
  if (!bytes) return refuse(CommandStatus::BAD_PARAM_ERR, kBadSizes);
  use.queue = static_cast<std::uint32_t>(request.in.get<"wq_umem_id">());
  return core.umems.queue(*use.queue, request.in.get<"wq_umem_offset">(), *bytes, false,
                          create.queue.emplace());
}

/// The work queue's pages, or why they are not acceptable.
Verdict read_pages(prm::ConstView<prm::qpc> context, std::span<const std::byte> pas,
                   std::vector<Iova>& pages) {
  constexpr std::uint32_t kMaxLogPageSize = 19;  // 2 GiB pages
  const auto bytes = Transport::work_queue_bytes(context);
  const std::uint32_t log_page_size = context.get<"log_page_size">();
  if (!bytes || log_page_size > kMaxLogPageSize)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadSizes);
  const std::uint32_t page_offset = context.get<"page_offset">();
  const std::uint64_t needed = QueuePages::needed(*bytes, log_page_size, page_offset);
  if (needed > pas.size() / sizeof(Iova)) return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
  pages = page_list(pas, needed);
  if (!QueuePages(pages, log_page_size, page_offset).aligned())
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadPages);
  return {};
}

/// Whether the context's counter_set_id counts.
bool names_counters(const QpModify& change) {
  return change.transition == QpTransition::Rst2Init ||
         (change.transition == QpTransition::Rts2Rts &&
          (change.opt_param_mask & prm::number(prm::QpOptPar::COUNTER_SET_ID)) != 0);
}

template <class In, class Out>
Verdict modify(Core& core, QpTransition transition, const Request<In, Out>& request) {
  const std::uint32_t qpn = request.in.template get<"qpn">();
  if (!core.qps.contains(qpn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQp);
  if constexpr (prm::HasMember<In, "ece">) {
    if (request.in.template get<"ece">() != 0)
      return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);  // ece_support is 0
  }
  QpModify change{transition, qpn, request.in.template get<"opt_param_mask">(),
                  prm::ConstView<prm::qpc>::at(request.in.template bytes<"qpc">())};
  if constexpr (prm::HasMember<In, "opt_param_mask_95_32">)
    change.opt_param_mask_95_32 = request.in.template get<"opt_param_mask_95_32">();
  if (!names_counters(change)) return core.transport->modify_qp(change);
  const std::uint32_t counters = change.context->get<"counter_set_id">();
  if (!core.q_counters.exists(counters)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCounters);
  const Verdict verdict = core.transport->modify_qp(change);
  if (verdict.ok()) {
    QpReferences& references = core.qps.at(qpn);
    core.q_counter_references.add(counters);
    core.q_counter_references.drop(std::exchange(references.q_counters, counters));
  }
  return verdict;
}

}  // namespace

Verdict create_qp(Core& core, const CreateQp& request) {
  const auto context = prm::ConstView<prm::qpc>::at(request.in.bytes<"qpc">());
  // create_qp_start_hint and ece_support are not offered.
  if (request.in.get<"input_qpn">() != 0 || request.in.get<"ece">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const bool wants_underlay = context.get<"ulp_stateless_offload_mode">() == kUnderlayMode;
  if (wants_underlay && !(core.capabilities.offers_ipoib() && is_underlay(context)))
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  // A umem that is named and not said to be valid: a field in the wrong place.
  if ((request.in.get<"wq_umem_valid">() == 0 &&
       (request.in.get<"wq_umem_id">() | request.in.get<"wq_umem_offset">()) != 0) ||
      (context.get<"dbr_umem_valid">() == 0 && context.get<"dbr_umem_id">() != 0))
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadUmem);
  QpReferences references{context.get<"pd">(),
                          context.get<"cqn_snd">(),
                          context.get<"cqn_rcv">(),
                          context.get<"uar_page">(),
                          {},
                          0,
                          0,
                          0,
                          // One that only receives names none: create_xrc_tgt_qp of mlx5_ib/qp.c.
                          context.get<"no_sq">() == 0};
  if (const Verdict verdict = find_domain(context, references.xrcd); !verdict.ok()) return verdict;
  if (const Verdict verdict = find_shared_receives(core, context, references.shared_receives);
      !verdict.ok())
    return verdict;
  if (wants_underlay) references = {.has_uar = false, .is_underlay = true};
  if (const Verdict verdict = check_references(core, references, has_pd(context)); !verdict.ok())
    return verdict;
  QpCreate create{0, request.in.get<"opt_param_mask">(), context, {}};
  if (const Verdict verdict = find_in_umems(core, request, create, references.umems); !verdict.ok())
    return verdict;
  std::vector<Iova> pages;
  if (!create.queue) {
    if (const Verdict verdict = read_pages(context, request.in_tail, pages); !verdict.ok())
      return verdict;
  }
  const auto qpn = core.qp_ids.allocate();
  if (!qpn) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  create.qpn = *qpn;
  create.pages = pages;
  const Verdict verdict = core.transport->create_qp(create);
  if (!verdict.ok()) {
    core.qp_ids.give_back(*qpn);
    return verdict;
  }
  core.qps.emplace(*qpn, references);
  if (!references.is_underlay) {
    core.pd_references.add(references.pd);
    core.cq_references.add(references.cq_send);
    core.cq_references.add(references.cq_receive);
  }
  core.umems.hold(references.umems);
  if (references.shared_receives != 0) core.shared_receives.hold(references.shared_receives);
  if (references.xrcd != 0) core.shared_receives.domains().hold(references.xrcd);
  if (references.has_uar) core.use_uar(references.uar);
  static_cast<void>(request.out.try_set<"qpn">(*qpn));
  return {};
}

Verdict destroy_qp(Core& core, const Request<prm::destroy_qp_in, prm::destroy_qp_out>& request) {
  const std::uint32_t qpn = request.in.get<"qpn">();
  const auto found = core.qps.find(qpn);
  if (found == core.qps.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQp);
  if (core.underlay_references.any(qpn)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  if (const Verdict verdict = core.transport->destroy_qp(qpn); !verdict.ok()) return verdict;
  const QpReferences references = found->second;
  core.qps.erase(found);
  core.groups.forget(qpn);
  core.qp_ids.give_back(qpn);
  if (!references.is_underlay) {
    core.pd_references.drop(references.pd);
    core.cq_references.drop(references.cq_send);
    core.cq_references.drop(references.cq_receive);
  }
  core.umems.release(references.umems);
  if (references.shared_receives != 0) core.shared_receives.release(references.shared_receives);
  core.q_counter_references.drop(references.q_counters);
  if (references.xrcd != 0) core.shared_receives.domains().release(references.xrcd);
  if (references.has_uar) core.release_uar(references.uar);
  return {};
}

Verdict rst2init_qp(Core& core, const Request<prm::rst2init_qp_in, prm::rst2init_qp_out>& request) {
  return modify(core, QpTransition::Rst2Init, request);
}

Verdict init2init_qp(Core& core,
                     const Request<prm::init2init_qp_in, prm::init2init_qp_out>& request) {
  return modify(core, QpTransition::Init2Init, request);
}

Verdict init2rtr_qp(Core& core, const Request<prm::init2rtr_qp_in, prm::init2rtr_qp_out>& request) {
  return modify(core, QpTransition::Init2Rtr, request);
}

Verdict rtr2rts_qp(Core& core, const Request<prm::rtr2rts_qp_in, prm::rtr2rts_qp_out>& request) {
  return modify(core, QpTransition::Rtr2Rts, request);
}

Verdict rts2rts_qp(Core& core, const Request<prm::rts2rts_qp_in, prm::rts2rts_qp_out>& request) {
  return modify(core, QpTransition::Rts2Rts, request);
}

Verdict rts2sqd_qp(Core& core, const Request<prm::sqd2rts_qp_in, prm::sqd2rts_qp_out>& request) {
  return modify(core, QpTransition::Rts2Sqd, request);
}

Verdict sqd2rts_qp(Core& core, const Request<prm::sqd2rts_qp_in, prm::sqd2rts_qp_out>& request) {
  return modify(core, QpTransition::Sqd2Rts, request);
}

Verdict sqerr2rts_qp(Core& core,
                     const Request<prm::sqerr2rts_qp_in, prm::sqerr2rts_qp_out>& request) {
  return modify(core, QpTransition::Sqerr2Rts, request);
}

Verdict qp_2err(Core& core, const Request<prm::qp_2err_in, prm::qp_2err_out>& request) {
  const std::uint32_t qpn = request.in.get<"qpn">();
  if (!core.qps.contains(qpn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQp);
  return core.transport->modify_qp({QpTransition::ToErr, qpn, 0, std::nullopt});
}

Verdict qp_2rst(Core& core, const Request<prm::qp_2rst_in, prm::qp_2rst_out>& request) {
  const std::uint32_t qpn = request.in.get<"qpn">();
  if (!core.qps.contains(qpn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQp);
  return core.transport->modify_qp({QpTransition::ToRst, qpn, 0, std::nullopt});
}

Verdict query_qp(Core& core, const Request<prm::query_qp_in, prm::query_qp_out>& request) {
  const std::uint32_t qpn = request.in.get<"qpn">();
  if (!core.qps.contains(qpn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQp);
  return core.transport->query_qp(qpn, prm::View<prm::qpc>::at(request.out.bytes<"qpc">()));
}

}  // namespace portcullis::model::commands
