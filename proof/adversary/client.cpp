// SPDX-License-Identifier: BSD-3-Clause
#include "proof/adversary/client.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/dma_bytes.hpp"
#include "model/transport/headers.hpp"

namespace portcullis::proof::adversary {
namespace {

constexpr std::uint32_t kLogSendQueue = 6;
constexpr std::uint32_t kMostOutstanding = 24;
static_assert(kMostOutstanding < 1U << kLogReceives);
constexpr std::uint32_t kAtomicBytes = sizeof(std::uint64_t);

MessageKind kind_of(Operation operation) noexcept {
  if (operation == Operation::Read) return MessageKind::Read;
  if (is_send(operation)) return MessageKind::Send;
  return is_atomic(operation) ? MessageKind::Atomic : MessageKind::Write;
}

}  // namespace

Result<std::unique_ptr<Client>> Client::create(const pmd::Context& context,
                                               const pmd::RocePath& own_port, Witness& witness) {
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, kLogSendQueue));
  PORTCULLIS_TRY_ASSIGN(auto qp,
                        pmd::QueuePair::create(context, pd, cq, {.log_sq_size = kLogSendQueue}));
  PORTCULLIS_TRY_ASSIGN(auto source, DmaMemory::create(*context.device.dma, 2 * kPageBytes));
  PORTCULLIS_TRY_ASSIGN(
      auto key, pmd::MemoryKey::create_mtt(context, pd, pmd::MemoryRange::zero_based(source),
                                           {.local_write = true}));
  return std::unique_ptr<Client>(new Client(own_port, witness, std::move(pd), std::move(cq),
                                            std::move(qp), std::move(source), std::move(key)));
}

Result<void> Client::connect(const lease::Grant& grant, std::uint32_t serial, std::uint32_t psn,
                             bool has_receives) {
  grant_ = grant;
  has_receives_ = has_receives;
  // The second page is for what is read.
  const std::span<std::byte> words = source_.bytes().first(kPageBytes);
  for (std::uint32_t i = 0; i < words.size() / sizeof(std::uint64_t); ++i)
    dma_poke_u64(words.data() + i * sizeof(std::uint64_t), stamp(serial, i));
  witness_->hold(source_.bytes().subspan(kPageBytes), serial);
  *connection_ = Connection{.serial = serial,
                            .qpn = prm::number(grant.qpn),
                            .client_qpn = prm::number(qp_.number()),
                            .first_psn = psn,
                            .next_psn = psn,
                            .done_psn = psn,
                            .messages = {}};
  return to_rts(grant.qpn, grant.psn, psn);
}

Result<void> Client::connect_to(prm::QpNumber qpn, std::uint32_t psn) {
  connection_->next_psn = psn;
  return to_rts(qpn, 0, psn);
}

Result<void> Client::to_rts(prm::QpNumber remote_qpn, std::uint32_t remote_psn, std::uint32_t psn) {
  has_failed_ = false;
  pmd::RtrAttributes rtr;
  rtr.path = own_port_;
  rtr.remote_qpn = remote_qpn;
  rtr.rq_psn = remote_psn;
  rtr.mtu = kMtu;
  PORTCULLIS_TRY(qp_.to_init({}));
  PORTCULLIS_TRY(qp_.to_rtr(rtr));
  return qp_.to_rts({.sq_psn = psn, .timeout = kAckTimeout, .retry_count = kRetryCount});
}

Result<void> Client::reset() {
  has_failed_ = true;
  return qp_.to_reset();
}

Result<bool> Client::post(model::Random& random) {
  const std::uint32_t packets = 1 + random.below(kMostPackets);
  // How often each operation is posted, of 16.
  using enum Operation;
  constexpr std::array kMix{Write,          Write,          Write,    Write,         Write, Write,
                            WriteImmediate, WriteImmediate, Send,     SendImmediate, Read,  Read,
                            Read,           Read,           FetchAdd, CompareSwap};
  const Operation drawn = kMix[random.below(kMix.size())];
  const Operation operation = has_receives_ || !needs_receive(drawn) ? drawn : Write;
  const std::uint64_t room = (comes_back(operation) ? kVault : kRegionBytes) - packets * kMtuBytes;
  const std::uint64_t at = random.below(static_cast<std::uint32_t>(room / 64)) * 64;
  const bool is_empty = is_send(operation) && random.below(4) == 0;
  return post(operation, is_empty ? 0 : packets, at);
}

std::uint32_t Client::bytes_of(Operation operation, std::uint32_t packets) noexcept {
  return is_atomic(operation) ? kAtomicBytes : packets * kMtuBytes;
}

Result<bool> Client::post(Operation operation, std::uint32_t packets, std::uint64_t at) {
  const std::uint32_t bytes = bytes_of(operation, packets);
  if (comes_back(operation) && has_room())
    witness_->ask(connection_->serial, at, bytes, is_atomic(operation));
  return send(operation, bytes, grant_.address + at);
}

Result<bool> Client::reach(Operation operation, std::uint64_t address) {
  return send(operation, bytes_of(operation, 1), address);
}

bool Client::has_room() const noexcept {
  return !has_failed_ && qp_.outstanding_blocks() < kMostOutstanding;
}

Result<bool> Client::send(Operation operation, std::uint32_t bytes, std::uint64_t address) {
  if (!has_room()) return false;
  const std::size_t index = index_of(operation);
  pmd::WorkRequest request;
  request.opcode = kOperations[index].opcode;
  request.wr_id = index;
  request.remote_address = address;
  request.rkey = grant_.rkey;
  // What an atomic leaves is stamped where nothing was or its client's stamp stood.
  request.swap_or_add = operation == Operation::CompareSwap ? stamp(connection_->serial, 0) : 1;
  const pmd::GatherEntry local{
      .address = comes_back(operation) ? kPageBytes : 0, .lkey = key_.lkey(), .bytes = bytes};
  PORTCULLIS_TRY(qp_.post(request, std::span(&local, local.bytes == 0 ? 0 : 1)));
  qp_.ring();
  ++posted_[index];
  const std::uint32_t packets = std::max((bytes + kMtuBytes - 1) / kMtuBytes, 1U);
  connection_->next_psn = model::psn_add(connection_->next_psn, packets);
  connection_->messages.push_back({kind_of(operation), connection_->next_psn});
  return true;
}

Result<void> Client::poll() {
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const auto completion, cq_.try_poll());
    if (!completion) return {};
    if (completion->ok())
      ++succeeded_[completion->wr_id];
    else
      has_failed_ = true;
  }
}

}  // namespace portcullis::proof::adversary
