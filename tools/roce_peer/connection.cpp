// SPDX-License-Identifier: BSD-3-Clause
#include "tools/roce_peer/connection.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/clock.hpp"

namespace portcullis::tools::roce_peer {
namespace {

using lease_verify::Op;

constexpr std::uint32_t kLogQueue = 6;

prm::WqeOpcode opcode_of(Op op) {
  switch (op) {
    case Op::Write:
      return prm::WqeOpcode::RDMA_WRITE;
    case Op::Read:
      return prm::WqeOpcode::RDMA_READ;
    case Op::FetchAdd:
      return prm::WqeOpcode::ATOMIC_FA;
    case Op::CompareSwap:
      return prm::WqeOpcode::ATOMIC_CS;
  }
  return prm::WqeOpcode::NOP;
}

/// The code of an MTU that an exchange has accepted: 256 to 4096.
prm::QpcMtu mtu_code(std::uint32_t bytes) {
  auto code = prm::QpcMtu::MTU_256;
  for (const auto mtu :
       {prm::QpcMtu::MTU_512, prm::QpcMtu::MTU_1024, prm::QpcMtu::MTU_2048, prm::QpcMtu::MTU_4096})
    if (prm::bytes_of(mtu) <= bytes) code = mtu;
  return code;
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::create(service::ServedPort& port,
                                                       std::uint32_t first_psn) {
  const pmd::Context& context = port.driver().context();
  PORTCULLIS_TRY_ASSIGN(auto memory, DmaMemory::create(*context.device.dma, kBufferBytes));
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(
      auto key, pmd::MemoryKey::create_mtt(context, pd, pmd::MemoryRange::zero_based(memory),
                                           {.local_write = true}));
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, kLogQueue + 1));
  PORTCULLIS_TRY_ASSIGN(
      auto qp, pmd::QueuePair::create(context, pd, cq, *context.uar,
                                      {.log_sq_size = kLogQueue, .log_rq_size = kLogQueue}));
  PORTCULLIS_TRY(qp.to_init({}));
  return std::unique_ptr<Connection>(new Connection(port, first_psn, std::move(memory),
                                                    std::move(pd), std::move(key), std::move(cq),
                                                    std::move(qp)));
}

service::exchange::Request Connection::request() const {
  return {.client = {.qpn = prm::number(qp_.number()),
                     .psn = first_psn_,
                     .gid = port_->address().gid,
                     .mac = port_->address().mac},
          .mtu = kMtu};
}

std::string Connection::description() const {
  return fmt::format("{}, {}", port_->description(), port_->address().gid.text());
}

Result<void> Connection::connect(const service::exchange::Grant& grant) {
  pmd::RtrAttributes rtr;
  rtr.path.remote_gid = grant.server.gid;
  rtr.path.remote_mac = grant.server.mac;
  rtr.path.source_address_index = port_->address_index();
  rtr.remote_qpn = prm::QpNumber{grant.server.qpn};
  rtr.rq_psn = grant.server.psn;
  rtr.mtu = mtu_code(grant.mtu);
  PORTCULLIS_TRY(qp_.to_rtr(rtr));
  rkey_ = prm::Rkey{grant.rkey};
  return qp_.to_rts({.sq_psn = first_psn_, .timeout = grant.timeout, .retry_count = grant.retry});
}

pmd::GatherEntry Connection::piece(std::size_t offset, std::size_t bytes) const noexcept {
  return {.address = offset, .lkey = key_.lkey(), .bytes = static_cast<std::uint32_t>(bytes)};
}

Result<void> Connection::post(const lease_verify::Operation& operation) {
  pmd::WorkRequest request;
  request.opcode = opcode_of(operation.op);
  request.remote_address = operation.remote_address;
  request.rkey = rkey_;
  const bool is_swap = operation.op == Op::CompareSwap;
  request.swap_or_add = is_swap ? operation.swap : operation.compare_add;
  request.compare = is_swap ? operation.compare_add : 0;
  PORTCULLIS_TRY(qp_.post(request, piece(operation.local_offset, operation.bytes)));
  qp_.ring();
  return {};
}

Result<std::optional<lease_verify::WorkResult>> Connection::wait(std::uint64_t until_ns) {
  PORTCULLIS_TRY_ASSIGN(const auto completion, wait_for_any(until_ns));
  if (!completion) return std::nullopt;
  return lease_verify::WorkResult{completion->status, completion->vendor_syndrome};
}

Result<void> Connection::post_send(std::size_t offset, std::size_t bytes) {
  PORTCULLIS_TRY(qp_.post({.opcode = prm::WqeOpcode::SEND}, piece(offset, bytes)));
  qp_.ring();
  return {};
}

Result<void> Connection::post_receive(std::size_t offset, std::size_t bytes) {
  PORTCULLIS_TRY(qp_.post_receive(piece(offset, bytes), offset));
  qp_.ring_receives();
  return {};
}

Result<std::optional<pmd::Completion>> Connection::wait_for_any(std::uint64_t until_ns) {
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const auto completion, cq_.try_poll());
    if (completion) return completion;
    const std::uint64_t now = clock().now_ns();
    if (now >= until_ns) return std::nullopt;
    constexpr std::uint64_t kMostNs = 20 * kNsPerUs;
    PORTCULLIS_TRY(port_->idle(std::min(until_ns - now, kMostNs)));
  }
}

}  // namespace portcullis::tools::roce_peer
