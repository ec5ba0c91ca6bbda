// SPDX-License-Identifier: BSD-3-Clause
#include "light/key_step.hpp"

#include <array>

#include "base/dma_memory.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "steering/loopback_pair.hpp"

namespace portcullis::light {
namespace {

/// What a WRITE takes at most that meets silence: the budget of to_rts({}), with room.
constexpr std::uint64_t kAnswerNs = 3 * kNsPerSecond;
constexpr std::size_t kRegionBytes = 4096;
constexpr std::uint32_t kLogCompletions = 7;  // for two queues of 64 WQEs

/// A requester and its responder, in one protection domain.
struct Connection {
  pmd::CompletionQueue cq;
  pmd::QueuePair requester;
  pmd::QueuePair responder;

  [[nodiscard]] static Result<std::unique_ptr<Connection>> create(const pmd::Context& context,
                                                                  const pmd::ProtectionDomain& pd,
                                                                  const pmd::RocePath& path) {
    PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, kLogCompletions));
    PORTCULLIS_TRY_ASSIGN(auto requester, pmd::QueuePair::create(context, pd, cq));
    PORTCULLIS_TRY_ASSIGN(auto responder, pmd::QueuePair::create(context, pd, cq));
    PORTCULLIS_TRY(steering::connect_pair(requester, responder, path));
    return std::unique_ptr<Connection>(
        new Connection{std::move(cq), std::move(requester), std::move(responder)});
  }

  /// How a WRITE under `key` ended.
  [[nodiscard]] Result<prm::WcStatus> write(const pmd::Context& context, prm::Rkey key) {
    constexpr std::array<std::byte, 8> kWord{};
    PORTCULLIS_TRY(requester.post_write_inline(kWord, {.rkey = key}));
    requester.ring();
    PORTCULLIS_TRY_ASSIGN(const auto completion,
                          cq.wait(context.device.clock.now_ns() + kAnswerNs));
    return completion.status;
  }
};

}  // namespace

Result<KeyFact> ask_of_key(const pmd::Context& context, const pmd::RocePath& path) {
  KeyFact fact{.is_run = true};
  PORTCULLIS_TRY_ASSIGN(const auto region, DmaMemory::create(*context.device.dma, kRegionBytes));
  PORTCULLIS_TRY_ASSIGN(const auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(const auto own, Connection::create(context, pd, path));
  PORTCULLIS_TRY_ASSIGN(const auto other, Connection::create(context, pd, path));
  const auto key = pmd::MemoryKey::create_mtt(context, pd, pmd::MemoryRange::zero_based(region),
                                              {.local_write = true, .remote_write = true},
                                              own->responder.number());
  if (!key) {
    if (pmd::may_have_happened(key.error())) return tl::unexpected(key.error());
    fact.refusal = key.error().text;
    return fact;
  }
  fact.takes_qpn = true;
  PORTCULLIS_TRY_ASSIGN(const auto by_own, own->write(context, key->rkey()));
  PORTCULLIS_TRY_ASSIGN(const auto by_other, other->write(context, key->rkey()));
  fact.own_qp_served = by_own == prm::WcStatus::SUCCESS;
  fact.other_qp_served = by_other == prm::WcStatus::SUCCESS;
  fact.other_qp_refused = by_other == prm::WcStatus::REM_ACCESS_ERR;
  return fact;
}

}  // namespace portcullis::light
