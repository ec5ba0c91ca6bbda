// SPDX-License-Identifier: BSD-3-Clause
#include "model/shared_receives.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "model/request.hpp"
#include "prm/doorbell.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kNoNumber = 0xa00001,
  kNoSuchDomain,
  kNoSuchQueue,
  kInUse,
  kNotOffered,
  kState,
  kLimit,
};

constexpr std::uint32_t kLogStrideUnit = 4;  // xrc_srqc.log_rq_stride counts from 16 bytes
/// A WQE's first segment, which names the next WQE, and one data segment: create_srq of
/// mlx5_ib/srq.c makes none smaller.
constexpr std::uint32_t kMinLogStride = 5;

/// What the capabilities do not offer.
bool asks_for_more(prm::ConstView<prm::xrc_srqc> c) {
  return c.get<"wq_signature">() != 0 || c.get<"cont_srq">() != 0 || c.get<"rlky">() != 0 ||
         c.get<"basic_cyclic_rcv_wqe">() != 0 || c.get<"dbr_umem_valid">() != 0 ||
         c.get<"user_index_equal_xrc_srqn">() != 0;
}
bool asks_for_more(prm::ConstView<prm::rmpc> c) {
  return c.get<"basic_cyclic_rcv_wqe">() != 0 || c.get<"wq.wq_signature">() != 0 ||
         c.get<"wq.wq_type">() > prm::number(prm::WqType::CYCLIC) ||
         c.get<"wq.shampo_enable">() != 0;
}
bool asks_for_more(prm::ConstView<prm::xrqc> c) {
  return c.get<"rlkey">() != 0 || c.get<"wq.wq_signature">() != 0 ||
         c.get<"wq.wq_type">() > prm::number(prm::WqType::CYCLIC) ||
         c.get<"wq.shampo_enable">() != 0 ||
         c.get<"topology">() > prm::number(prm::XrqTopology::TAG_MATCHING) ||
         c.get<"offload">() > prm::kXrqOffloadRndv ||
         c.get<"tag_matching_topology_context.log_matching_list_sz">() > TagList::kLogMaxSize;
}

std::vector<std::byte> copy_of(std::span<const std::byte> context) {
  return {context.begin(), context.end()};
}

}  // namespace

Verdict SharedReceives::add(const RingShape& shape, std::span<const std::byte> pas, Queue queue,
                            std::uint32_t& number) {
  const Verdict verdict = lay_out(shape, pas, umems_, queue.ring, queue.record);
  if (!verdict.ok()) return verdict;
  const auto fresh = ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  if (queue.kind == Kind::XrcSrq) domains_.hold(queue.uses.xrcd);
  queue.umems = shape.umems;
  umems_->hold(queue.umems);
  queues_.emplace(number = *fresh, std::move(queue));
  return {};
}

Verdict SharedReceives::create(prm::ConstView<prm::xrc_srqc> context,
                               std::span<const std::byte> pas, std::uint32_t& number) {
  if (asks_for_more(context)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  Queue queue{.kind = Kind::XrcSrq,
              .uses = {context.get<"pd">(), context.get<"cqn">(), context.get<"xrcd">(),
                       context.get<"user_index">()},
              .limit = context.get<"lwm">(),
              .context = copy_of(context.all())};
  if (!domains_.contains(queue.uses.xrcd)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchDomain);
  const RingShape shape{.log_stride = context.get<"log_rq_stride">() + kLogStrideUnit,
                        .min_log_stride = kMinLogStride,
                        .log_entries = context.get<"log_xrc_srq_size">(),
                        .log_page_size = context.get<"log_page_size">(),
                        .page_offset = context.get<"page_offset">(),
                        .record = Iova{context.get<"db_record_addr_h">()} << 32 |
                                  context.get<"db_record_addr_l">() << 2};
  return add(shape, pas, std::move(queue), number);
}

Verdict SharedReceives::create(prm::ConstView<prm::rmpc> context, std::span<const std::byte> pas,
                               std::uint32_t& number) {
  if (asks_for_more(context)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  if (context.get<"state">() != prm::number(prm::RmpState::RDY))
    return refuse(CommandStatus::BAD_PARAM_ERR, kState);
  Queue queue{.kind = Kind::Rmp,
              .is_cyclic = context.get<"wq.wq_type">() == prm::number(prm::WqType::CYCLIC),
              .uses = {.pd = context.get<"wq.pd">()},
              .limit = context.get<"wq.lwm">(),
              .context = copy_of(context.all())};
  return add(RingShape::of(context, kMinLogStride), pas, std::move(queue), number);
}

Verdict SharedReceives::create(prm::ConstView<prm::xrqc> context, std::span<const std::byte> pas,
                               std::uint32_t& number) {
  if (asks_for_more(context)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  if (context.get<"state">() != prm::number(prm::XrqState::GOOD))
    return refuse(CommandStatus::BAD_PARAM_ERR, kState);
  Queue queue{.kind = Kind::Xrq,
              .is_cyclic = context.get<"wq.wq_type">() == prm::number(prm::WqType::CYCLIC),
              .uses = {.pd = context.get<"wq.pd">(),
                       .cqn = context.get<"cqn">(),
                       .user_index = context.get<"user_index">(),
                       .offloads_rendezvous = context.get<"offload">() == prm::kXrqOffloadRndv},
              .limit = context.get<"wq.lwm">(),
              .context = copy_of(context.all())};
  if (context.get<"topology">() == prm::number(prm::XrqTopology::TAG_MATCHING))
    queue.tags = std::make_unique<TagList>(
        context.get<"tag_matching_topology_context.log_matching_list_sz">());
  return add(RingShape::of(context, kMinLogStride), pas, std::move(queue), number);
}

const SharedReceives::Queue* SharedReceives::find(Kind kind, std::uint32_t number) const noexcept {
  const auto found = queues_.find(number);
  return found == queues_.end() || found->second.kind != kind ? nullptr : &found->second;
}

Verdict SharedReceives::destroy(Kind kind, std::uint32_t number, Uses& uses) {
  const Queue* const queue = find(kind, number);
  if (queue == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQueue);
  if (references_.any(number)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  uses = queue->uses;
  if (kind == Kind::XrcSrq) domains_.release(uses.xrcd);
  umems_->release(queue->umems);
  queues_.erase(number);
  ids_.give_back(number);
  return {};
}

Verdict SharedReceives::arm(Kind kind, std::uint32_t number, std::uint32_t limit) {
  if (find(kind, number) == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQueue);
  Queue& queue = queues_.at(number);
  if (limit >= queue.ring.entries) return refuse(CommandStatus::BAD_PARAM_ERR, kLimit);
  queue.limit = limit;
  const auto posted = dma_->load_be32(queue.record + prm::record_byte(prm::kRcvDbr));
  if (posted) check_limit(number, queue, static_cast<std::uint16_t>(*posted - queue.taken));
  return {};
}

Verdict SharedReceives::query(std::uint32_t number, prm::View<prm::xrc_srqc> context) const {
  const Queue* const queue = find(Kind::XrcSrq, number);
  if (queue == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQueue);
  std::ranges::copy(queue->context, context.all().begin());
  static_cast<void>(context.try_set<"lwm">(queue->limit));
  return {};
}

Verdict SharedReceives::query(std::uint32_t number, prm::View<prm::rmpc> context) const {
  const Queue* const queue = find(Kind::Rmp, number);
  if (queue == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQueue);
  std::ranges::copy(queue->context, context.all().begin());
  static_cast<void>(context.try_set<"wq.lwm">(queue->limit));
  return {};
}

Verdict SharedReceives::query(std::uint32_t number, prm::View<prm::xrqc> context) const {
  const Queue* const queue = find(Kind::Xrq, number);
  if (queue == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQueue);
  std::ranges::copy(queue->context, context.all().begin());
  static_cast<void>(context.try_set<"wq.lwm">(queue->limit));
  if (queue->tags == nullptr) return {};
  const TagList& tags = *queue->tags;
  context.put<"tag_matching_topology_context.append_next_index">(tags.next_index());
  context.put<"tag_matching_topology_context.sw_phase_cnt">(tags.sw_phase());
  context.put<"tag_matching_topology_context.hw_phase_cnt">(tags.hw_phase());
  return {};
}

/// IB_EVENT_SRQ_LIMIT_REACHED, once (mlx5_ib_srq_event).
void SharedReceives::check_limit(std::uint32_t number, Queue& queue, std::uint16_t left) {
  if (left >= queue.limit) return;
  queue.limit = 0;
  static_cast<void>(eqs_->raise_qp(prm::EventType::SRQ_RQ_LIMIT, number));
}

ReceiveFault SharedReceives::take(std::uint32_t number, Taken& taken) {
  Queue& queue = queues_.at(number);
  const auto posted = dma_->load_be32(queue.record + prm::record_byte(prm::kRcvDbr));
  if (!posted) return ReceiveFault::Unreadable;
  const auto left = static_cast<std::uint16_t>(*posted - queue.taken);
  if (left == 0) return ReceiveFault::Empty;
  std::array<std::byte, prm::mlx5_wqe_srq_next_seg::bytes> next;
  if (!dma_->read(queue.ring.segment(queue.next, 0), next) ||
      !queue.ring.read(*dma_, queue.next, next.size(), taken.pieces))
    return ReceiveFault::Unreadable;
  taken.index = queue.next;
  ++queue.taken;
  queue.next = queue.is_cyclic
                   ? queue.taken
                   : static_cast<std::uint16_t>(
                         prm::ConstView<prm::mlx5_wqe_srq_next_seg>{next}.get<"next_wqe_index">());
  check_limit(number, queue, static_cast<std::uint16_t>(left - 1));
  return ReceiveFault::None;
}

void SharedReceives::clear() {
  domains_.clear();
  queues_.clear();
  references_.clear();
  ids_.clear();
}

}  // namespace portcullis::model
