// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

namespace portcullis::bench {
namespace {

constexpr pmd::Access kEverything{true, true, true, true};
constexpr std::uint32_t kLogBlocksEach = 1;     // of the largest request here: 64 bytes inline
constexpr std::uint32_t kLogLeastReceives = 2;  // a receive queue is a basic block at least
constexpr std::uint64_t kPatienceNs = 60 * kNsPerSecond;

}  // namespace

Result<std::unique_ptr<Lanes>> Lanes::create(proof::Session& session, std::uint32_t count,
                                             std::uint32_t in_flight) {
  const pmd::Context& context = session.context();
  const auto log_requests = static_cast<std::uint32_t>(std::bit_width(in_flight - 1));
  const std::uint32_t blocks = 1u << (log_requests + kLogBlocksEach);
  const std::uint32_t each = blocks + (1u << std::max(log_requests, kLogLeastReceives));
  const auto log_entries = static_cast<std::uint32_t>(std::bit_width(count * each - 1));
  PORTCULLIS_TRY_ASSIGN(auto region,
                        DmaMemory::create(*context.device.dma, std::size_t{2} * kMostBytes));
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(
      auto key,
      pmd::MemoryKey::create_mtt(context, pd, pmd::MemoryRange::zero_based(region), kEverything));
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, log_entries));
  std::unique_ptr<Lanes> lanes(
      new Lanes(session, std::move(region), std::move(pd), std::move(key), std::move(cq)));
  for (std::uint32_t i = 0; i < count; ++i) PORTCULLIS_TRY(lanes->add(log_requests));
  return lanes;
}

Result<void> Lanes::add(std::uint32_t log_requests) {
  pmd::QueuePairOptions options;
  options.log_sq_size = log_requests + kLogBlocksEach;
  options.log_rq_size = std::max(log_requests, kLogLeastReceives);
  PORTCULLIS_TRY_ASSIGN(auto qp, pmd::QueuePair::create(session_->context(), pd_, cq_, options));
  PORTCULLIS_TRY(qp.to_init(kEverything));
  pmd::RtrAttributes rtr;
  rtr.path = session_->path();
  rtr.remote_qpn = qp.number();
  PORTCULLIS_TRY(qp.to_rtr(rtr));
  PORTCULLIS_TRY(qp.to_rts({}));
  qps_.push_back(std::move(qp));
  return {};
}

Result<void> Lanes::post(std::size_t lane, const Operation& operation, std::uint64_t wr_id,
                         bool is_signaled) {
  pmd::QueuePair& qp = qps_[lane];
  const pmd::GatherEntry near{0, key_.lkey(), operation.bytes};
  const pmd::GatherEntry far{kMostBytes, key_.lkey(), operation.bytes};
  if (operation.is_received()) {
    PORTCULLIS_TRY(qp.post_receive(far, wr_id));
    qp.ring_receives();
  }
  const std::span<const std::byte> data = region_.bytes().first(operation.bytes);
  if (operation.opcode == prm::WqeOpcode::RDMA_WRITE) {
    const pmd::WriteRequest write{kMostBytes, key_.rkey(), wr_id, is_signaled};
    return operation.is_inline ? qp.post_write_inline(data, write) : qp.post_write(near, write);
  }
  pmd::WorkRequest request;
  request.opcode = operation.opcode;
  request.wr_id = wr_id;
  request.signaled = is_signaled;
  request.remote_address = kMostBytes;
  request.rkey = key_.rkey();
  request.swap_or_add = 1;
  return operation.is_inline ? qp.post_inline(request, data) : qp.post(request, near);
}

Result<std::optional<pmd::Completion>> Lanes::poll(std::uint64_t until_ns) {
  while (true) {
    PORTCULLIS_TRY_ASSIGN(auto completion, cq_.poll(until_ns));
    if (!completion) return completion;
    if (!completion->ok()) return fail(Errc::DeviceFailed, describe(*completion));
    if (!prm::is_receive(completion->opcode)) return completion;
  }
}

Result<pmd::Completion> Lanes::wait() {
  const std::uint64_t until_ns = session_->now_ns() + kPatienceNs;
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const auto completion, poll(until_ns));
    if (completion) return *completion;
    if (session_->now_ns() >= until_ns)
      return fail(Errc::Timeout, fmt::format("a request did not complete within {} s",
                                             kPatienceNs / kNsPerSecond));
  }
}

}  // namespace portcullis::bench
