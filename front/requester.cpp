// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/requester.hpp>

#include <optional>
#include <utility>

#include "base/dma_bytes.hpp"
#include "base/dma_memory.hpp"
#include "base/entropy.hpp"
#include "front/lease_values.hpp"
#include "front/port_impl.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "prm/cqe.hpp"
#include "prm/enums.hpp"

namespace portcullis {
namespace {

constexpr std::uint32_t kLogQueue = 2;
constexpr std::uint64_t kPatienceNs = 60 * kNsPerSecond;

/// Of a grant that somebody may have written down and read back.
Result<void> check(const Grant& grant, const Gid& own) {
  PORTCULLIS_TRY(check_peer("port", grant.port, own));
  if (grant.ack_timeout < 1 || grant.ack_timeout > 31)
    return fail(Errc::InvalidArgument,
                "ack_timeout " + std::to_string(grant.ack_timeout) + "; 1 to 31 is accepted");
  if (grant.retry_count > 7)
    return fail(Errc::InvalidArgument,
                "retry_count " + std::to_string(grant.retry_count) + "; 0 to 7 is accepted");
  if (grant.bytes == 0) return fail(Errc::InvalidArgument, "bytes 0; 1 or more is accepted");
  if (grant.address <= ~std::uint64_t{0} - (grant.bytes - 1)) return {};
  return fail(Errc::InvalidArgument, "address " + std::to_string(grant.address) + " of " +
                                         std::to_string(grant.bytes) +
                                         " bytes; a region that ends below 2^64 is accepted");
}

}  // namespace

/// In the order in which they are made; each needs those before it.
struct [[gnu::visibility("hidden")]] Requester::Impl {
  std::shared_ptr<Port::Impl> port;
  pmd::ProtectionDomain pd;
  DmaMemory buffer;
  pmd::MemoryKey key;
  pmd::CompletionQueue cq;
  pmd::QueuePair qp;
  Peer peer;
  std::optional<Grant> grant;

  static Result<std::unique_ptr<Impl>> create(std::shared_ptr<Port::Impl> port);
  [[nodiscard]] Result<void> check(std::size_t bytes) const;
  Result<RequestEnd> run(prm::WqeOpcode opcode, std::uint64_t offset, std::size_t bytes);
};

Result<std::unique_ptr<Requester::Impl>> Requester::Impl::create(std::shared_ptr<Port::Impl> port) {
  const pmd::Context& context = port->context();
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(auto buffer, DmaMemory::create(*context.device.dma, kMostBytes));
  PORTCULLIS_TRY_ASSIGN(
      auto key, pmd::MemoryKey::create_mtt(context, pd, pmd::MemoryRange::zero_based(buffer),
                                           {.local_write = true}));
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, kLogQueue));
  PORTCULLIS_TRY_ASSIGN(auto qp,
                        pmd::QueuePair::create(context, pd, cq, {.log_sq_size = kLogQueue}));
  PORTCULLIS_TRY_ASSIGN(const std::uint32_t psn, random_psn());
  const Peer peer{.qpn = Qpn{prm::number(qp.number())},
                  .psn = Psn{psn},
                  .gid = port->address().gid,
                  .mac = port->address().mac};
  return std::unique_ptr<Impl>(new Impl{std::move(port), std::move(pd), std::move(buffer),
                                        std::move(key), std::move(cq), std::move(qp), peer,
                                        std::nullopt});
}

Result<void> Requester::Impl::check(std::size_t bytes) const {
  // A function that was reset would keep it waiting for nothing.
  PORTCULLIS_TRY(port->driver().condition());
  if (!grant)
    return fail(Errc::InvalidArgument,
                "a request before connect(), or after one that failed; a connected queue pair is "
                "accepted");
  if (bytes > 0 && bytes <= kMostBytes) return {};
  return fail(Errc::InvalidArgument, std::to_string(bytes) + " bytes in one request; 1 to " +
                                         std::to_string(kMostBytes) + " are accepted");
}

Result<RequestEnd> Requester::Impl::run(prm::WqeOpcode opcode, std::uint64_t offset,
                                        std::size_t bytes) {
  pmd::WorkRequest request;
  request.opcode = opcode;
  request.remote_address = grant->address + offset;
  request.rkey = prm::Rkey{static_cast<std::uint32_t>(grant->rkey)};
  PORTCULLIS_TRY(qp.post(
      request, {.address = 0, .lkey = key.lkey(), .bytes = static_cast<std::uint32_t>(bytes)}));
  qp.ring();
  auto end = cq.wait(port->clock().now_ns() + kPatienceNs);
  if (!end) {
    grant.reset();  // what is still under way would be taken for the next request
    return forward_error(std::move(end));
  }
  const std::uint32_t status = prm::number(end->status);
  return RequestEnd{status,
                    std::string(prm::name(end->status)) + " (" + std::to_string(status) + ")"};
}

Requester::Requester(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Requester::Requester(Requester&& other) noexcept = default;
Requester& Requester::operator=(Requester&& other) noexcept = default;
Requester::~Requester() = default;

Result<Requester> Requester::create(const Port& port) {
  PORTCULLIS_TRY_ASSIGN(auto impl, Impl::create(port.impl()));
  return Requester(std::move(impl));
}

const Peer& Requester::peer() const noexcept { return impl_->peer; }

Result<void> Requester::connect(const Grant& grant) {
  PORTCULLIS_TRY_ASSIGN(const prm::QpcMtu mtu, mtu_of(grant.mtu_bytes));
  PORTCULLIS_TRY(check(grant, impl_->port->address().gid));
  impl_->grant.reset();
  pmd::QueuePair& qp = impl_->qp;
  PORTCULLIS_TRY(qp.to_reset());
  PORTCULLIS_TRY(qp.to_init({}));
  pmd::RtrAttributes rtr;
  rtr.path.remote_gid = grant.port.gid;
  rtr.path.remote_mac = grant.port.mac;
  rtr.path.source_address_index = impl_->port->port->address_index();
  rtr.remote_qpn = prm::QpNumber{static_cast<std::uint32_t>(grant.port.qpn)};
  rtr.rq_psn = static_cast<std::uint32_t>(grant.port.psn);
  rtr.mtu = mtu;
  PORTCULLIS_TRY(qp.to_rtr(rtr));
  pmd::RtsAttributes rts;
  rts.sq_psn = static_cast<std::uint32_t>(impl_->peer.psn);
  rts.timeout = grant.ack_timeout;
  rts.retry_count = grant.retry_count;
  PORTCULLIS_TRY(qp.to_rts(rts));
  impl_->grant = grant;
  return {};
}

Result<RequestEnd> Requester::write(std::uint64_t offset, std::span<const std::byte> data) {
  PORTCULLIS_TRY(impl_->check(data.size()));
  dma_copy(impl_->buffer.bytes().data(), data.data(), data.size());
  return impl_->run(prm::WqeOpcode::RDMA_WRITE, offset, data.size());
}

Result<RequestEnd> Requester::read(std::uint64_t offset, std::span<std::byte> data) {
  PORTCULLIS_TRY(impl_->check(data.size()));
  PORTCULLIS_TRY_ASSIGN(auto end, impl_->run(prm::WqeOpcode::RDMA_READ, offset, data.size()));
  if (end.is_success()) dma_copy(data.data(), impl_->buffer.bytes().data(), data.size());
  return end;
}

}  // namespace portcullis
