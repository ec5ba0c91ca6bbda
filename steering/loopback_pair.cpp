// SPDX-License-Identifier: BSD-3-Clause
#include "steering/loopback_pair.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "base/dma_bytes.hpp"
#include "pmd/port.hpp"
#include "pmd/roce_path.hpp"

namespace portcullis::steering {
namespace {

// The first half is written, the second is where long WRITEs come from.
constexpr std::size_t kRegionBytes = 32768;
constexpr std::uint32_t kLogCompletions = 7;

Result<void> connect(pmd::QueuePair& qp, const pmd::RocePath& path, prm::QpNumber remote_qpn,
                     prm::QpcMtu mtu) {
  PORTCULLIS_TRY(qp.to_init({.remote_write = true}));
  pmd::RtrAttributes rtr;
  rtr.path = path;
  rtr.remote_qpn = remote_qpn;
  rtr.mtu = mtu;
  PORTCULLIS_TRY(qp.to_rtr(rtr));
  return qp.to_rts({});  // 67 ms by default, and seven retries: half a second
}

}  // namespace

Result<void> connect_pair(pmd::QueuePair& requester, pmd::QueuePair& responder,
                          const pmd::RocePath& path, prm::QpcMtu mtu) {
  PORTCULLIS_TRY(connect(requester, path, responder.number(), mtu));
  return connect(responder, path, requester.number(), mtu);
}

LoopbackPair::LoopbackPair(const pmd::Context& context, const pmd::RocePath& path, DmaMemory region,
                           pmd::ProtectionDomain pd, pmd::MemoryKey key, pmd::CompletionQueue cq,
                           pmd::QueuePair requester, pmd::QueuePair responder)
    : context_(&context),
      path_(path),
      region_(std::move(region)),
      pd_(std::move(pd)),
      key_(std::move(key)),
      cq_(std::move(cq)),
      requester_(std::move(requester)),
      responder_(std::move(responder)) {}

Result<std::unique_ptr<LoopbackPair>> LoopbackPair::create(const pmd::Context& context,
                                                           const pmd::RocePath& path,
                                                           const Options& options) {
  PORTCULLIS_TRY_ASSIGN(auto region, DmaMemory::create(*context.device.dma, kRegionBytes));
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, kLogCompletions));
  PORTCULLIS_TRY_ASSIGN(auto requester, pmd::QueuePair::create(context, pd, cq));
  PORTCULLIS_TRY_ASSIGN(auto responder, pmd::QueuePair::create(context, pd, cq));
  PORTCULLIS_TRY_ASSIGN(auto key,
                        pmd::MemoryKey::create_mtt(
                            context, pd, pmd::MemoryRange::zero_based(region),
                            {.local_write = true, .remote_write = true},
                            options.key_names_qp ? responder.number() : pmd::MemoryKey::kAnyQp));
  PORTCULLIS_TRY(
      connect_pair(requester, responder, path,
                   options.mtu.value_or(pmd::fitting_path_mtu(context, prm::QpcMtu::MTU_1024))));
  return std::unique_ptr<LoopbackPair>(
      new LoopbackPair(context, path, std::move(region), std::move(pd), std::move(key),
                       std::move(cq), std::move(requester), std::move(responder)));
}

DropTarget LoopbackPair::target(std::uint32_t index) const noexcept {
  return {.slot = index,
          .qpn = responder_.number(),
          .client = path_.remote_gid,
          .client_udp_sport =
              pmd::udp_source_port(path_.flow_label, requester_.number(), responder_.number())};
}

Result<void> LoopbackPair::post(std::uint64_t value) {
  std::array<std::byte, sizeof value> data;
  std::memcpy(data.data(), &value, sizeof value);
  PORTCULLIS_TRY(requester_.post_write_inline(data, {.rkey = key_.rkey()}));
  requester_.ring();
  return {};
}

Result<void> LoopbackPair::post_bytes(std::uint32_t bytes) {
  PORTCULLIS_TRY(requester_.post_write(
      {.address = kRegionBytes / 2, .lkey = key_.lkey(), .bytes = bytes}, {.rkey = key_.rkey()}));
  requester_.ring();
  return {};
}

Result<std::optional<prm::WcStatus>> LoopbackPair::outcome(std::uint64_t within_ns) {
  const auto completion = cq_.wait(context_->device.clock.now_ns() + within_ns);
  if (completion) return completion->status;
  if (completion.error().code != Errc::Timeout) return tl::unexpected(completion.error());
  return std::nullopt;
}

std::uint64_t LoopbackPair::word() const noexcept { return dma_peek_u64(region_.bytes().data()); }

}  // namespace portcullis::steering
