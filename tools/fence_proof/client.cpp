// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fence_proof/client.hpp"

#include "base/dma_bytes.hpp"
#include "model/transport/headers.hpp"
#include "tools/fence_proof/witness.hpp"

namespace portcullis::fence_proof {
namespace {

constexpr std::uint32_t kLogSendQueue = 6;
constexpr std::uint32_t kMostPackets = 4;
constexpr std::uint32_t kMostOutstanding = 24;

}  // namespace

Result<std::unique_ptr<Client>> Client::create(const pmd::Context& context) {
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, kLogSendQueue));
  PORTCULLIS_TRY_ASSIGN(auto qp,
                        pmd::QueuePair::create(context, pd, cq, {.log_sq_size = kLogSendQueue}));
  PORTCULLIS_TRY_ASSIGN(auto source, DmaMemory::create(*context.device.dma, 2 * kPageBytes));
  PORTCULLIS_TRY_ASSIGN(
      auto key, pmd::MemoryKey::create_mtt(context, pd, pmd::MemoryRange::zero_based(source),
                                           {.local_write = true}));
  return std::unique_ptr<Client>(
      new Client(std::move(pd), std::move(cq), std::move(qp), std::move(source), std::move(key)));
}

Result<void> Client::connect(const lease::Grant& grant, std::uint32_t serial, std::uint32_t psn) {
  grant_ = grant;
  // The second page is for what is read.
  const std::span<std::byte> words = source_.bytes().first(kPageBytes);
  for (std::uint32_t i = 0; i < words.size() / sizeof(std::uint64_t); ++i)
    dma_poke_u64(words.data() + i * sizeof(std::uint64_t), stamp(serial, i));
  *connection_ = Connection{.serial = serial,
                            .qpn = grant.qpn,
                            .client_qpn = qp_.number(),
                            .next_psn = psn,
                            .done_psn = psn,
                            .messages = {}};
  return to_rts(grant.qpn, grant.psn, psn);
}

Result<void> Client::connect_to(std::uint32_t qpn, std::uint32_t psn) {
  connection_->next_psn = psn;
  return to_rts(qpn, 0, psn);
}

Result<void> Client::to_rts(std::uint32_t remote_qpn, std::uint32_t remote_psn, std::uint32_t psn) {
  has_failed_ = false;
  pmd::RtrAttributes rtr;
  rtr.path.remote_gid = kPort.gid;
  rtr.path.remote_mac = kPort.mac;
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
  const std::uint64_t room = kRegionBytes - packets * kMtuBytes;
  const std::uint64_t at = random.below(static_cast<std::uint32_t>(room / 64)) * 64;
  switch (random.below(8)) {
    case 0:
    case 1:
      return post(prm::WqeOpcode::RDMA_READ, packets, at);
    case 2:
      return post(prm::WqeOpcode::ATOMIC_FA, 1, at);
    case 3:
      return post(prm::WqeOpcode::ATOMIC_CS, 1, at);
    default:
      return post_write(packets, at);
  }
}

Result<bool> Client::post_write(std::uint32_t packets, std::uint64_t at) {
  return post(prm::WqeOpcode::RDMA_WRITE, packets, at);
}

Result<bool> Client::post(prm::WqeOpcode opcode, std::uint32_t packets, std::uint64_t at) {
  if (has_failed_ || outstanding() >= kMostOutstanding) return false;
  const bool is_write = opcode == prm::WqeOpcode::RDMA_WRITE;
  const bool is_read = opcode == prm::WqeOpcode::RDMA_READ;
  pmd::WorkRequest request;
  request.opcode = opcode;
  request.wr_id = posted_;
  request.remote_address = grant_.address + at;
  request.rkey = grant_.rkey;
  const std::uint32_t bytes =
      is_write || is_read ? packets * kMtuBytes : static_cast<std::uint32_t>(sizeof(std::uint64_t));
  PORTCULLIS_TRY(qp_.post(
      request, pmd::GatherEntry{.address = is_write ? std::uint64_t{0} : std::uint64_t{kPageBytes},
                                .lkey = key_.lkey(),
                                .bytes = bytes}));
  qp_.ring();
  ++posted_;
  connection_->next_psn = model::psn_add(connection_->next_psn, packets);
  connection_->messages.push_back({is_write  ? MessageKind::Write
                                   : is_read ? MessageKind::Read
                                             : MessageKind::Atomic,
                                   connection_->next_psn});
  return true;
}

Result<void> Client::poll() {
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const auto completion, cq_.try_poll());
    if (!completion) return {};
    if (completion->ok())
      ++succeeded_;
    else
      has_failed_ = true;
  }
}

}  // namespace portcullis::fence_proof
