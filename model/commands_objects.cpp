// SPDX-License-Identifier: BSD-3-Clause
//
// UAR, PD, EQ, CQ and MKEY.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/dma_bytes.hpp"
#include "model/commands.hpp"
#include "model/core.hpp"
#include "prm/doorbell.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kNoNumber = 0x2001,
  kNoSuchUar,
  kNoSuchPd,
  kPdInUse,
  kNoSuchEq,
  kEqInUse,
  kNoSuchCq,
  kCqInUse,
  kShortList,
  kNotOffered,
  kBadSize,
  kBadUmem,
  kBadSelection,
  kNoKeyOfAQp,
  kNoSuchQp,
  kNoSuchMemory,
  kNoSuchPsv,
  kNoSuchVector,
};

/// Where a completion queue lies.
struct CqMemory {
  QueuePages queue;
  Iova record = 0;
  UmemUse umems;
};

Verdict find_memory(const Core& core, const Request<prm::create_cq_in, prm::create_cq_out>& request,
                    CqMemory& out) {
  const auto context = prm::ConstView<prm::cqc>::at(request.in.bytes<"cq_context">());
  // A umem that is named and not said to be valid: a field in the wrong place.
  if ((request.in.get<"cq_umem_valid">() == 0 &&
       (request.in.get<"cq_umem_id">() | request.in.get<"cq_umem_offset">()) != 0) ||
      (context.get<"dbr_umem_valid">() == 0 && context.get<"dbr_umem_id">() != 0))
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadUmem);
  out.record = context.get<"dbr_addr">();
  if (context.get<"dbr_umem_valid">() != 0) {
    out.umems.record = static_cast<std::uint32_t>(context.get<"dbr_umem_id">());
    const Verdict verdict = core.umems.record(*out.umems.record, out.record, out.record);
    if (!verdict.ok()) return verdict;
  }
  if (request.in.get<"cq_umem_valid">() == 0) {
    const std::uint64_t needed = CqTable::pages_needed(context);
    if (needed > request.in_tail.size() / sizeof(Iova))
      return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
    return CqTable::lay_out(context, page_list(request.in_tail, needed), out.queue);
  }
  const auto bytes = CqTable::queue_bytes(context);
  if (!bytes) return refuse(CommandStatus::BAD_PARAM_ERR, kBadSize);
  out.umems.queue = static_cast<std::uint32_t>(request.in.get<"cq_umem_id">());
  return core.umems.queue(*out.umems.queue, request.in.get<"cq_umem_offset">(), *bytes, true,
                          out.queue);
}

}  // namespace

Verdict alloc_uar(Core& core, const Request<prm::alloc_uar_in, prm::alloc_uar_out>& request) {
  const auto id = core.uar_ids.allocate();
  if (!id) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  // A kick left by the page's last owner is not this one's.
  dma_fill(core.bar.bytes().subspan(prm::uar_offset(*id), prm::kUarPageBytes), std::byte{0});
  core.uars.insert(*id);
  static_cast<void>(request.out.try_set<"uar">(*id));
  return {};
}

/// One that objects still ring is gone for who makes new ones; its number rests until they are.
/// Linux frees the UARs of a process while its CQs live: a UVERBS_OBJECT of mlx5_ib
/// (MLX5_IB_OBJECT_UAR) goes in no order with them, and its driver looks at no answer
/// (mlx5_ib_mmap_free).
Verdict dealloc_uar(Core& core, const Request<prm::dealloc_uar_in, prm::dealloc_uar_out>& request) {
  const std::uint32_t uar = request.in.get<"uar">();
  if (!core.uars.contains(uar)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchUar);
  core.uars.erase(uar);
  if (!core.uar_references.any(uar)) core.uar_ids.give_back(uar);
  return {};
}

Verdict alloc_pd(Core& core, const Request<prm::alloc_pd_in, prm::alloc_pd_out>& request) {
  const auto id = core.pd_ids.allocate();
  if (!id) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  core.pds.insert(*id);
  static_cast<void>(request.out.try_set<"pd">(*id));
  return {};
}

Verdict dealloc_pd(Core& core, const Request<prm::dealloc_pd_in, prm::dealloc_pd_out>& request) {
  const std::uint32_t pd = request.in.get<"pd">();
  if (!core.pds.contains(pd)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchPd);
  if (core.pd_references.any(pd)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kPdInUse);
  core.pds.erase(pd);
  core.pd_ids.give_back(pd);
  return {};
}

Verdict create_eq(Core& core, const Request<prm::create_eq_in, prm::create_eq_out>& request) {
  const auto context = prm::ConstView<prm::eqc>::at(request.in.bytes<"eq_context_entry">());
  const std::uint32_t uar = context.get<"uar_page">();
  if (!core.uars.contains(uar)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchUar);
  const std::uint64_t needed = EqTable::pages_needed(context);
  if (needed > request.in_tail.size() / sizeof(Iova))
    return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
  std::uint32_t eqn = 0;
  const Verdict verdict = core.eqs.create(context, request.in.bytes<"event_bitmask">(),
                                          page_list(request.in_tail, needed), eqn);
  if (!verdict.ok()) return verdict;
  core.use_uar(uar);
  static_cast<void>(request.out.try_set<"eq_number">(eqn));
  core.pages.send_pending_events();
  return {};
}

Verdict destroy_eq(Core& core, const Request<prm::destroy_eq_in, prm::destroy_eq_out>& request) {
  const std::uint32_t eqn = request.in.get<"eq_number">();
  if (!core.eqs.exists(eqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchEq);
  if (core.eq_references.any(eqn)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kEqInUse);
  core.release_uar(core.eqs.uar_of(eqn));
  return core.eqs.destroy(eqn);
}

Verdict query_eq(Core& core, const Request<prm::query_eq_in, prm::query_eq_out>& request) {
  const std::uint32_t eqn = request.in.get<"eq_number">();
  if (!core.eqs.exists(eqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchEq);
  core.eqs.describe(eqn, prm::View<prm::eqc>::at(request.out.bytes<"eq_context_entry">()),
                    request.out.bytes<"event_bitmask">());
  return {};
}

/// Of a vector that any context may name, whether an event queue has it or not: mlxcx of illumos
/// asks after CREATE_EQ (mlxcx_setup_eqs).
Verdict config_int_moderation(
    Core& core,
    const Request<prm::config_int_moderation_in, prm::config_int_moderation_out>& request) {
  const std::uint32_t op_mod = request.in.get<"op_mod">();
  const std::uint32_t vector = request.in.get<"int_vector">();
  const bool writes = op_mod == prm::number(prm::IntModerationOpMod::WRITE);
  if (!writes && op_mod != prm::number(prm::IntModerationOpMod::READ))
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadSelection);
  if (vector >= InterruptVectors::kVectors)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchVector);
  if (writes) core.interrupts.set_min_delay(vector, request.in.get<"min_delay">() * kNsPerUs);
  const std::uint64_t delay = core.interrupts.min_delay_ns(vector) / kNsPerUs;
  static_cast<void>(request.out.try_set<"min_delay">(delay));
  static_cast<void>(request.out.try_set<"int_vector">(vector));
  return {};
}

Verdict create_cq(Core& core, const Request<prm::create_cq_in, prm::create_cq_out>& request) {
  const auto context = prm::ConstView<prm::cqc>::at(request.in.bytes<"cq_context">());
  // What the capabilities do not offer: APU. Of compression a layout that is not offered is no
  // reason: a device that may compress need not.
  if (context.get<"apu_cq">() != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const std::uint32_t uar = context.get<"uar_page">();
  const std::uint32_t eqn = context.get<"c_eqn_or_apu_element">();
  if (!core.uars.contains(uar)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchUar);
  if (!core.eqs.exists(eqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchEq);
  CqMemory memory;
  if (const Verdict verdict = find_memory(core, request, memory); !verdict.ok()) return verdict;
  std::uint32_t cqn = 0;
  const Verdict verdict = core.cqs.create(context, std::move(memory.queue), memory.record, cqn);
  if (!verdict.ok()) return verdict;
  core.use_uar(uar);
  core.eq_references.add(eqn);
  core.cq_umems[cqn] = memory.umems;
  core.umems.hold(memory.umems);
  static_cast<void>(request.out.try_set<"cqn">(cqn));
  return {};
}

Verdict destroy_cq(Core& core, const Request<prm::destroy_cq_in, prm::destroy_cq_out>& request) {
  const std::uint32_t cqn = request.in.get<"cqn">();
  if (!core.cqs.exists(cqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCq);
  if (core.cq_references.any(cqn)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kCqInUse);
  core.release_uar(core.cqs.uar_of(cqn));
  core.eq_references.drop(core.cqs.eqn_of(cqn));
  core.umems.release(core.cq_umems[cqn]);
  core.cq_umems.erase(cqn);
  return core.cqs.destroy(cqn);
}

Verdict query_cq(Core& core, const Request<prm::query_cq_in, prm::query_cq_out>& request) {
  return core.cqs.query(request.in.get<"cqn">(),
                        prm::View<prm::cqc>::at(request.out.bytes<"cq_context">()));
}

/// A DevX client's command says that the queue lies in a umem, whatever it changes
/// (devx_set_umem_valid of mlx5_ib/devx.c); where in which umem it would go on has no name in a
/// header.
Verdict modify_cq(Core& core, const Request<prm::modify_cq_in, prm::modify_cq_out>& request) {
  constexpr std::uint32_t kWhole =
      prm::kCqResizeLogSize | prm::kCqResizePageOffset | prm::kCqResizePageSize;
  const std::uint32_t cqn = request.in.get<"cqn">();
  const auto context = prm::ConstView<prm::cqc>::at(request.in.bytes<"cq_context">());
  const auto select = request.in.get<"modify_field_select_resize_field_select">();
  if (request.in.get<"op_mod">() == prm::number(prm::ModifyCqOpMod::MODIFY_CQ))
    return core.cqs.modify(cqn, select, context);
  if (request.in.get<"op_mod">() != prm::number(prm::ModifyCqOpMod::RESIZE_CQ) || select != kWhole)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadSelection);
  if (!core.cqs.exists(cqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCq);
  if (request.in.get<"cq_umem_valid">() != 0 || core.cq_umems[cqn].queue)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const std::uint64_t needed = CqTable::pages_needed(context);
  if (needed > request.in_tail.size() / sizeof(Iova))
    return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
  QueuePages pages;
  const Verdict verdict = CqTable::lay_out(context, page_list(request.in_tail, needed), pages);
  return verdict.ok() ? core.cqs.resize(cqn, context, std::move(pages)) : verdict;
}

/// The translations of a key that names a umem in place of a list: of as many octowords as it asks
/// for, two pages each (mlx5_devx_cmd_mkey_create of DPDK counts them so).
Verdict find_key_pages(const Core& core,
                       const Request<prm::create_mkey_in, prm::create_mkey_out>& request,
                       prm::ConstView<prm::mkc> context, std::vector<std::byte>& pages) {
  if (MkeyTable::mode_of(context) != prm::number(prm::MkcAccessMode::MTT))
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const std::uint32_t shift = context.get<"log_page_size">();
  const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
  const std::uint64_t start = context.get<"start_addr">() & mask;
  const std::uint64_t bytes = context.get<"len">();
  if (bytes > ~mask - start) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  return core.umems.pages(request.in.get<"mkey_umem_id">(), request.in.get<"mkey_umem_offset">(),
                          shift, (start + bytes + mask) >> shift,
                          context.get<"lw">() != 0 || context.get<"rw">() != 0, pages);
}

namespace {

/// The QP that a key names, if it does: as behaviour mkc-qpn has it.
Verdict check_named_qp(const Core& core, prm::ConstView<prm::mkc> context) {
  const std::uint32_t qpn = context.get<"qpn">();
  const auto side = core.behaviours.mkc_qpn;
  if (qpn == prm::kMkcQpnAny || !side || *side == KeyBinding::Unchecked) return {};
  if (*side == KeyBinding::Refused) return refuse(CommandStatus::BAD_PARAM_ERR, kNoKeyOfAQp);
  const auto qp = core.qps.find(qpn);
  const bool is_of_the_domain = qp != core.qps.end() && qp->second.pd == context.get<"pd">();
  return is_of_the_domain ? Verdict{} : refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchQp);
}

/// A key asks for no more relaxed ordering than the capabilities in force offer; Linux asks under
/// those alone, of READs under either of two (set_mkc_access_pd_addr_fields of hw/mlx5/mr.c).
Verdict check_ordering(const Core& core, prm::ConstView<prm::mkc> context) {
  const prm::Buffer<prm::cmd_hca_cap>& offered = core.capabilities.in_force();
  const bool may_write = offered.get<"relaxed_ordering_write">() != 0;
  const bool may_read = offered.get<"relaxed_ordering_read">() != 0 ||
                        offered.get<"relaxed_ordering_read_pci_enabled">() != 0;
  const bool is_offered = (may_write || context.get<"relaxed_ordering_write">() == 0) &&
                          (may_read || context.get<"relaxed_ordering_read">() == 0);
  return is_offered ? Verdict{} : refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
}

}  // namespace

Verdict create_mkey(Core& core, const Request<prm::create_mkey_in, prm::create_mkey_out>& request) {
  const auto context = prm::ConstView<prm::mkc>::at(request.in.bytes<"memory_key_mkey_entry">());
  const std::uint32_t pd = context.get<"pd">();
  if (!core.pds.contains(pd)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchPd);
  if (const Verdict named = check_named_qp(core, context); !named.ok()) return named;
  if (const Verdict order = check_ordering(core, context); !order.ok()) return order;
  if (!core.device_memory.has_range_of(context) ||
      !core.steering_memory.has_range_of(context, request.in.get<"uid">()))
    return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchMemory);
  std::vector<std::byte> pages;
  UmemUse umem;
  if (request.in.get<"mkey_umem_valid">() != 0) {
    umem.queue = request.in.get<"mkey_umem_id">();
    const Verdict verdict = find_key_pages(core, request, context, pages);
    if (!verdict.ok()) return verdict;
  }
  std::uint32_t index = 0;
  const Verdict verdict =
      core.mkeys.create({context, request.in.get<"pg_access">() != 0,
                         request.in.get<"translations_octword_actual_size">(),
                         umem.queue ? std::span<const std::byte>(pages) : request.in_tail},
                        index);
  if (!verdict.ok()) return verdict;
  core.pd_references.add(pd);
  core.umems.hold(umem);
  if (umem.queue) core.mkey_umems[index] = umem;
  core.device_memory.hold(index, context);
  core.steering_memory.hold(index, context);
  static_cast<void>(request.out.try_set<"mkey_index">(index));
  return {};
}

Verdict destroy_mkey(Core& core,
                     const Request<prm::destroy_mkey_in, prm::destroy_mkey_out>& request) {
  const std::uint32_t index = request.in.get<"mkey_index">();
  if (core.waits_for_dma(index) && core.mkeys.disable(index) && core.mkeys.has_pending_dma(index))
    return not_yet();
  if (const auto pd = core.mkeys.pd_of(index)) core.pd_references.drop(*pd);
  if (const auto held = core.mkey_umems.extract(index)) core.umems.release(held.mapped());
  core.device_memory.let_go(index);
  core.steering_memory.let_go(index);
  return core.mkeys.destroy(index);
}

Verdict query_mkey(Core& core, const Request<prm::query_mkey_in, prm::query_mkey_out>& request) {
  const auto list = request.in.get<"pg_access">() != 0
                        ? std::span<std::byte>(request.out.bytes<"bsf0_klm0_pas_mtt0_1">())
                        : std::span<std::byte>();
  return core.mkeys.query(request.in.get<"mkey_index">(),
                          prm::View<prm::mkc>::at(request.out.bytes<"memory_key_mkey_entry">()),
                          list);
}

Verdict create_psv(Core& core, const Request<prm::create_psv_in, prm::create_psv_out>& request) {
  const std::uint32_t pd = request.in.get<"pd">();
  const std::uint32_t count = request.in.get<"num_psv">();
  constexpr std::uint32_t kMost = 4;  // as many as the answer has room for
  if (!core.pds.contains(pd)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchPd);
  if (count == 0 || count > kMost) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  std::array<std::uint32_t, kMost> made{};
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto index = core.psvs.create(pd);
    if (!index) {
      for (std::uint32_t j = 0; j < i; ++j) core.psvs.destroy(made[j]);
      return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
    }
    made[i] = *index;
  }
  for (std::uint32_t i = 0; i < count; ++i) core.pd_references.add(pd);
  static_cast<void>(request.out.try_set<"psv0_index">(made[0]));
  static_cast<void>(request.out.try_set<"psv1_index">(made[1]));
  static_cast<void>(request.out.try_set<"psv2_index">(made[2]));
  static_cast<void>(request.out.try_set<"psv3_index">(made[3]));
  return {};
}

Verdict destroy_psv(Core& core, const Request<prm::destroy_psv_in, prm::destroy_psv_out>& request) {
  const auto pd = core.psvs.destroy(request.in.get<"psvn">());
  if (!pd) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchPsv);
  core.pd_references.drop(*pd);
  return {};
}

Verdict query_special_contexts(
    Core& core,
    const Request<prm::query_special_contexts_in, prm::query_special_contexts_out>& request) {
  // null_mkey and dump_fill_mkey are not offered by the capabilities.
  request.out.put<"resd_lkey">(core.mkeys.reserved_lkey());
  return {};
}

}  // namespace portcullis::model::commands
