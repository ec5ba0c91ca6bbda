// SPDX-License-Identifier: BSD-3-Clause
#include "model/eq.hpp"

#include <algorithm>
#include <utility>

namespace portcullis::model {
namespace {

using prm::CommandStatus;

constexpr std::uint64_t kCounterMask = 0xffffff;
constexpr std::uint32_t kMaxLogEqSize = 22;  // cmd_hca_cap.log_max_eq_sz

enum Refusal : std::uint32_t {
  kBadSize = 0x30001,
  kBadPages,
  kNoNumber,
  kNoSuchEq,
};

}  // namespace

EqTable::EqTable(Dma& dma, std::uint32_t log_max_eq, OnFailure on_failure, void* context)
    : dma_(&dma),
      eqs_(std::size_t{1} << log_max_eq),
      ids_(kFirstEqn, 1u << log_max_eq),
      on_failure_(on_failure),
      context_(context) {}

std::uint64_t EqTable::pages_needed(prm::ConstView<prm::eqc> context) noexcept {
  const std::uint32_t log_size = context.get<"log_eq_size">();
  const std::uint32_t log_page_size = context.get<"log_page_size">();
  if (log_size > kMaxLogEqSize || log_page_size > 19) return 0;
  return QueuePages::needed(prm::kEqeBytes << log_size, log_page_size, 0);
}

Verdict EqTable::create(prm::ConstView<prm::eqc> context,
                        std::span<const std::byte, 32> event_bitmask, std::vector<Iova> pages,
                        std::uint32_t& eqn) {
  const std::uint64_t needed = pages_needed(context);
  if (needed == 0 || context.get<"page_offset">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadSize);
  QueuePages queue(std::move(pages), context.get<"log_page_size">(), 0);
  if (queue.count() < needed || !queue.aligned())
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadPages);
  const auto id = ids_.allocate();
  if (!id) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);

  eqn = *id;
  Eq& eq = eqs_[eqn];
  eq = Eq{};
  eq.log_size = context.get<"log_eq_size">();
  eq.log_page_size = context.get<"log_page_size">();
  eq.uar = context.get<"uar_page">();
  eq.vector = context.get<"intr">();
  eq.ignore_overrun = context.get<"oi">() != 0;
  eq.pages = std::move(queue);
  // event_bitmask is four quadwords; event n is bit n % 64 of quadword n / 64 (create_map_eq of
  // mlx5/core/eq.c stores them with MLX5_ARRAY_SET64).
  for (std::size_t event = 0; event < 256; ++event) {
    const std::size_t byte = event / 64 * 8 + 7 - event % 64 / 8;
    eq.events[event] = (std::to_integer<unsigned>(event_bitmask[byte]) >> event % 8 & 1) != 0;
  }
  eq.live = true;
  ++live_;
  note_subscribers();
  return {};
}

Verdict EqTable::destroy(std::uint32_t eqn) {
  if (!exists(eqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchEq);
  eqs_[eqn] = Eq{};
  ids_.give_back(eqn);
  --live_;
  note_subscribers();
  return {};
}

void EqTable::describe(std::uint32_t eqn, prm::View<prm::eqc> context,
                       std::span<std::byte, 8> event_bitmask) const {
  const Eq& eq = eqs_[eqn];
  static_cast<void>(context.try_set<"oi">(eq.ignore_overrun ? 1 : 0));
  static_cast<void>(
      context.try_set<"st">(prm::number(eq.armed ? prm::EqState::ARMED : prm::EqState::FIRED)));
  static_cast<void>(context.try_set<"log_eq_size">(eq.log_size));
  static_cast<void>(context.try_set<"uar_page">(eq.uar));
  static_cast<void>(context.try_set<"intr">(eq.vector));
  static_cast<void>(context.try_set<"log_page_size">(eq.log_page_size));
  static_cast<void>(context.try_set<"consumer_counter">(eq.consumer & kCounterMask));
  static_cast<void>(context.try_set<"producer_counter">(eq.producer & kCounterMask));
  for (std::size_t event = 0; event < 64; ++event)
    if (eq.events[event]) event_bitmask[7 - event / 8] |= std::byte{1} << event % 8;
}

void EqTable::doorbell(std::uint32_t uar, std::uint32_t value, bool arm) noexcept {
  const std::uint32_t eqn = value >> 24;
  if (!exists(eqn) || eqs_[eqn].uar != uar) return;
  Eq& eq = eqs_[eqn];
  const std::uint64_t step = (value - eq.consumer) & 0xffffff;
  if (step > eq.producer - eq.consumer) return;
  eq.consumer += step;
  // The other cell moves the index alone, an EQ that is armed stays so: test_mlx5vfio_async_event
  // of rdma-core arms first, writes there next and waits for its interrupt.
  eq.armed = eq.armed || arm;
  interrupt_if_armed(eq);
}

void EqTable::interrupt_if_armed(Eq& eq) noexcept {
  if (!eq.armed || eq.producer == eq.consumer || on_interrupt_ == nullptr) return;
  eq.armed = false;
  on_interrupt_(interrupt_context_, eq.vector);
}

void EqTable::append(Eq& eq, prm::EventType type, std::uint8_t sub_type, Event data) {
  if (eq.producer - eq.consumer == std::uint64_t{1} << eq.log_size && !eq.ignore_overrun) {
    if (!std::exchange(eq.overrun, true))
      on_failure_(context_, prm::HealthSyndrome::ASYNCHRONOUS_EQ_BUF_OVERRUN);
    return;
  }
  prm::Buffer<prm::eqe> entry;
  entry.put<"event_type">(type);
  entry.put<"event_sub_type">(sub_type);
  std::copy(data.begin(), data.end(), entry.bytes<"event_data">().begin());
  entry.put<"owner">(eq.producer >> eq.log_size & 1);
  const std::uint64_t index = eq.producer & ((std::uint64_t{1} << eq.log_size) - 1);
  if (!dma_->publish(eq.pages.at(index * prm::kEqeBytes), entry.all())) {
    on_failure_(context_, prm::HealthSyndrome::EQ_IN_ERR);
    return;
  }
  ++eq.producer;
  interrupt_if_armed(eq);
}

bool EqTable::raise(prm::EventType type, Event data, std::uint8_t sub_type) {
  bool delivered = false;
  for (Eq& eq : eqs_) {
    if (!eq.live || !eq.events[prm::number(type)]) continue;
    append(eq, type, sub_type, data);
    delivered = true;
  }
  return delivered;
}

bool EqTable::raise_qp(prm::EventType type, std::uint32_t qpn) {
  prm::Buffer<prm::qp_events> event;
  event.put<"type">(prm::EventQueueType::QP).put<"qpn_rqn_sqn">(qpn & 0xffffff);
  return raise(type, event.all());
}

bool EqTable::raise_cq_error(std::uint32_t cqn, std::uint8_t syndrome) {
  prm::Buffer<prm::cq_error> event;
  event.put<"cqn">(cqn).put<"syndrome">(syndrome);
  return raise(prm::EventType::CQ_ERROR, event.all());
}

void EqTable::raise_completion(std::uint32_t eqn, std::uint32_t cqn) {
  if (!exists(eqn)) return;
  prm::Buffer<prm::comp_event> event;
  event.put<"cq_number">(cqn);
  append(eqs_[eqn], prm::EventType::COMP, 0, event.all());
}

void EqTable::note_subscribers() noexcept {
  subscribed_.reset();
  for (const Eq& eq : eqs_)
    if (eq.live) subscribed_ |= eq.events;
}

void EqTable::clear() noexcept {
  for (Eq& eq : eqs_) eq = Eq{};
  note_subscribers();
  ids_.clear();
  live_ = 0;
}

}  // namespace portcullis::model
