// SPDX-License-Identifier: BSD-3-Clause
#include "late/writer.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "model/transport/headers.hpp"
#include "proof/adversary/witness.hpp"

namespace portcullis::late {
namespace {

constexpr std::uint32_t kLogQueue = 4;

}  // namespace

Result<Writer> Writer::create(const Server& home, std::uint32_t owner) {
  const pmd::Context& context = home.context();
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, kLogQueue));
  PORTCULLIS_TRY_ASSIGN(auto qp,
                        pmd::QueuePair::create(context, pd, cq, {.log_sq_size = kLogQueue}));
  return Writer(home, owner, std::move(pd), std::move(cq), std::move(qp));
}

lease::Peer Writer::peer(std::uint32_t psn) const {
  const pmd::RoceAddress& address = home_->address();
  return {.qpn = qp_.number(), .psn = psn, .gid = address.gid, .mac = address.mac};
}

Result<void> Writer::connect(const lease::Grant& grant, const Server& of, std::uint32_t psn) {
  grant_ = grant;
  next_psn_ = psn;
  pmd::RtrAttributes rtr;
  rtr.path = of.path();
  rtr.remote_qpn = grant.qpn;
  rtr.rq_psn = grant.psn;
  rtr.mtu = grant.mtu;
  PORTCULLIS_TRY(qp_.to_init({}));
  PORTCULLIS_TRY(qp_.to_rtr(rtr));
  return qp_.to_rts(
      {.sq_psn = psn, .timeout = grant.ack_timeout, .retry_count = grant.retry_count});
}

Result<void> Writer::post(std::uint64_t offset) {
  std::array<std::uint64_t, kWriteBytes / sizeof(std::uint64_t)> words{};
  for (std::uint64_t& word : words) word = proof::adversary::stamp(owner_, ++words_);
  PORTCULLIS_TRY(
      qp_.post_write_inline(std::as_bytes(std::span(words)),
                            {.remote_address = grant_.address + offset, .rkey = grant_.rkey}));
  qp_.ring();
  next_psn_ = model::psn_add(next_psn_, 1);
  return {};
}

Result<pmd::Completion> Writer::wait(std::uint64_t ns) {
  return cq_.wait(home_->context().device.clock.now_ns() + ns);
}

}  // namespace portcullis::late
