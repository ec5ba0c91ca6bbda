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
  kSizes,
  kShortList,
  kRecord,
  kState,
  kLimit,
};

constexpr std::uint32_t kRecordAlignment = 4;
constexpr std::uint32_t kLogStrideUnit = 4;  // xrc_srqc.log_rq_stride counts from 16 bytes
constexpr std::uint32_t kMaxLogStride = 9;   // max_wqe_sz_rq of the capabilities
constexpr std::uint32_t kMaxLogPageSize = 19;
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
         c.get<"wq.wq_type">() != prm::number(prm::WqType::LINKED_LIST) ||
         c.get<"wq.dbr_umem_valid">() != 0 || c.get<"wq.wq_umem_valid">() != 0 ||
         c.get<"wq.shampo_enable">() != 0;
}

std::vector<std::byte> copy_of(std::span<const std::byte> context) {
  return {context.begin(), context.end()};
}

}  // namespace

Verdict SharedReceives::allocate_domain(std::uint32_t& number) {
  const auto fresh = domain_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  domains_.insert(number = *fresh);
  return {};
}

Verdict SharedReceives::free_domain(std::uint32_t number) {
  if (!domains_.contains(number)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchDomain);
  if (domain_references_.any(number)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  domains_.erase(number);
  domain_ids_.give_back(number);
  return {};
}

Verdict SharedReceives::lay_out(const Shape& shape, std::span<const std::byte> pas, Queue& queue) {
  if (shape.log_stride < kMinLogStride || shape.log_stride > kMaxLogStride ||
      shape.log_entries > kLogMaxEntries || shape.log_page_size > kMaxLogPageSize)
    return refuse(CommandStatus::BAD_PARAM_ERR, kSizes);
  const std::uint64_t bytes = std::uint64_t{1} << (shape.log_stride + shape.log_entries);
  const std::uint64_t needed = QueuePages::needed(bytes, shape.log_page_size, shape.page_offset);
  if (needed > pas.size() / sizeof(Iova)) return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
  queue.pages = QueuePages(page_list(pas, needed), shape.log_page_size, shape.page_offset);
  if (!queue.pages.aligned()) return refuse(CommandStatus::BAD_PARAM_ERR, kSizes);
  if (shape.record % kRecordAlignment != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kRecord);
  queue.record = shape.record;
  queue.stride = 1U << shape.log_stride;
  queue.entries = 1U << shape.log_entries;
  return {};
}

Verdict SharedReceives::add(Queue queue, std::uint32_t& number) {
  const auto fresh = ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  if (queue.kind == Kind::XrcSrq) domain_references_.add(queue.uses.xrcd);
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
  const Shape shape{.log_stride = context.get<"log_rq_stride">() + kLogStrideUnit,
                    .log_entries = context.get<"log_xrc_srq_size">(),
                    .log_page_size = context.get<"log_page_size">(),
                    .page_offset = context.get<"page_offset">(),
                    .record = Iova{context.get<"db_record_addr_h">()} << 32 |
                              context.get<"db_record_addr_l">() << 2};
  if (const Verdict verdict = lay_out(shape, pas, queue); !verdict.ok()) return verdict;
  return add(std::move(queue), number);
}

Verdict SharedReceives::create(prm::ConstView<prm::rmpc> context, std::span<const std::byte> pas,
                               std::uint32_t& number) {
  if (asks_for_more(context)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  if (context.get<"state">() != prm::number(prm::RmpState::RDY))
    return refuse(CommandStatus::BAD_PARAM_ERR, kState);
  Queue queue{.kind = Kind::Rmp,
              .uses = {.pd = context.get<"wq.pd">()},
              .limit = context.get<"wq.lwm">(),
              .context = copy_of(context.all())};
  const Shape shape{.log_stride = context.get<"wq.log_wq_stride">(),
                    .log_entries = context.get<"wq.log_wq_sz">(),
                    .log_page_size = context.get<"wq.log_wq_pg_sz">(),
                    .page_offset = context.get<"wq.page_offset">(),
                    .record = context.get<"wq.dbr_addr">()};
  if (const Verdict verdict = lay_out(shape, pas, queue); !verdict.ok()) return verdict;
  return add(std::move(queue), number);
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
  if (kind == Kind::XrcSrq) domain_references_.drop(uses.xrcd);
  queues_.erase(number);
  ids_.give_back(number);
  return {};
}

Verdict SharedReceives::arm(Kind kind, std::uint32_t number, std::uint32_t limit) {
  if (find(kind, number) == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQueue);
  Queue& queue = queues_.at(number);
  if (limit >= queue.entries) return refuse(CommandStatus::BAD_PARAM_ERR, kLimit);
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
  const std::uint64_t at = std::uint64_t{queue.next & (queue.entries - 1)} * queue.stride;
  std::array<std::byte, prm::mlx5_wqe_srq_next_seg::bytes> next;
  if (!dma_->read(queue.pages.at(at), next)) return ReceiveFault::Unreadable;
  taken.pieces.clear();
  for (std::uint32_t byte = next.size(); byte < queue.stride;
       byte += prm::mlx5_wqe_data_seg::bytes) {
    std::array<std::byte, prm::mlx5_wqe_data_seg::bytes> raw;
    if (!dma_->read(queue.pages.at(at + byte), raw)) return ReceiveFault::Unreadable;
    const prm::ConstView<prm::mlx5_wqe_data_seg> segment{raw};
    if (segment.get<"lkey">() == prm::kInvalidLkey) break;
    taken.pieces.push_back(
        {segment.get<"byte_count">(), segment.get<"lkey">(), segment.get<"addr">()});
  }
  taken.index = queue.next;
  queue.next = static_cast<std::uint16_t>(
      prm::ConstView<prm::mlx5_wqe_srq_next_seg>{next}.get<"next_wqe_index">());
  ++queue.taken;
  check_limit(number, queue, static_cast<std::uint16_t>(left - 1));
  return ReceiveFault::None;
}

void SharedReceives::clear() {
  domains_.clear();
  queues_.clear();
  domain_references_.clear();
  references_.clear();
  domain_ids_.clear();
  ids_.clear();
}

}  // namespace portcullis::model
