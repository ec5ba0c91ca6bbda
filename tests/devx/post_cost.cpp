// SPDX-License-Identifier: BSD-3-Clause
//
// post-cost DEVICE WAY COUNT: COUNT RDMA WRITEs of 64 inline bytes over a port to itself, posted
// one at a time, and their completions polled when they have come. Run under callgrind, which
// collects inside portcullis_cost_post and portcullis_cost_poll; tests/vm/scenarios/post_cost.py
// reads what it counts. WAY is ours (by DevX), or post-send or wr of libibverbs.
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "attach/port.hpp"
#include "base/clock.hpp"
#include "base/device.hpp"
#include "base/result.hpp"
#include "devx/function.hpp"
#include "devx/libmlx5.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/queue_pair.hpp"

namespace {

using namespace portcullis;

constexpr std::size_t kLine = 64;
constexpr std::uint32_t kLogEntries = 7;  // a WRITE takes two blocks of 64 bytes
constexpr std::uint8_t kTimeout = 14;

/// A queue pair connected to itself, and what its WRITEs go to.
struct Ours {
  pmd::ProtectionDomain pd;
  pmd::CompletionQueue cq;
  pmd::QueuePair qp;
  DmaMemory memory;
  pmd::MemoryKey key;
};

struct Verbs {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_cq_ex* cq_ex = nullptr;
  ibv_qp* qp = nullptr;
  ibv_qp_ex* qp_ex = nullptr;
  ibv_mr* mr = nullptr;
  std::array<std::byte, kPageBytes> memory{};
  bool by_wr = false;
};

std::array<std::byte, kLine> line;

}  // namespace

// What callgrind collects in. Each returns false when it did nothing.
[[gnu::noinline]] bool portcullis_cost_post(Ours& ours) {
  if (!ours.qp.post_write_inline(line, {0, ours.key.rkey(), 1, true})) return false;
  ours.qp.ring();
  return true;
}
[[gnu::noinline]] bool portcullis_cost_poll(Ours& ours) {
  const auto done = ours.cq.try_poll();
  return done && *done && (*done)->ok();
}
[[gnu::noinline]] bool portcullis_cost_post(Verbs& verbs) {
  const auto target = std::bit_cast<std::uint64_t>(verbs.memory.data());
  if (verbs.by_wr) {
    ibv_wr_start(verbs.qp_ex);
    verbs.qp_ex->wr_id = 1;
    verbs.qp_ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    ibv_wr_rdma_write(verbs.qp_ex, verbs.mr->rkey, target);
    ibv_wr_set_inline_data(verbs.qp_ex, line.data(), line.size());
    return ibv_wr_complete(verbs.qp_ex) == 0;
  }
  ibv_sge piece{};
  piece.addr = std::bit_cast<std::uint64_t>(line.data());
  piece.length = kLine;
  ibv_send_wr request{};
  request.wr_id = 1;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  request.wr.rdma.remote_addr = target;
  request.wr.rdma.rkey = verbs.mr->rkey;
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(verbs.qp, &request, &bad) == 0;
}
[[gnu::noinline]] bool portcullis_cost_poll(Verbs& verbs) {
  ibv_wc done{};
  return ibv_poll_cq(verbs.cq, 1, &done) == 1 && done.status == IBV_WC_SUCCESS;
}

namespace {

Result<Ours> make(const pmd::Context& context, const pmd::RocePath& path) {
  constexpr pmd::Access kAccess{.local_write = true, .remote_write = true};
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, kLogEntries));
  PORTCULLIS_TRY_ASSIGN(auto qp, pmd::QueuePair::create(context, pd, cq, {kLogEntries}));
  PORTCULLIS_TRY_ASSIGN(auto memory, DmaMemory::create(*context.device.dma, kPageBytes));
  PORTCULLIS_TRY_ASSIGN(auto key, pmd::MemoryKey::create_mtt(
                                      context, pd, pmd::MemoryRange::zero_based(memory), kAccess));
  PORTCULLIS_TRY(qp.to_init(kAccess));
  pmd::RtrAttributes rtr;
  rtr.path = path;
  rtr.remote_qpn = qp.number();
  PORTCULLIS_TRY(qp.to_rtr(rtr));
  PORTCULLIS_TRY(qp.to_rts({.timeout = kTimeout, .retry_count = 7}));
  return Ours{std::move(pd), std::move(cq), std::move(qp), std::move(memory), std::move(key)};
}

Error failed(const char* call, int error) {
  return {Errc::System, fmt::format("{}: {}", call, std::generic_category().message(error)),
          std::nullopt};
}

Result<void> create(Verbs& verbs) {
  verbs.pd = ibv_alloc_pd(verbs.context);
  if (verbs.pd == nullptr) return tl::unexpected<Error>(failed("ibv_alloc_pd", errno));
  verbs.mr = ibv_reg_mr(verbs.pd, verbs.memory.data(), verbs.memory.size(),
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (verbs.mr == nullptr) return tl::unexpected<Error>(failed("ibv_reg_mr", errno));
  ibv_cq_init_attr_ex cq_wanted{};
  cq_wanted.cqe = 1U << kLogEntries;
  cq_wanted.wc_flags = IBV_WC_STANDARD_FLAGS;
  verbs.cq_ex = ibv_create_cq_ex(verbs.context, &cq_wanted);
  if (verbs.cq_ex == nullptr) return tl::unexpected<Error>(failed("ibv_create_cq_ex", errno));
  verbs.cq = ibv_cq_ex_to_cq(verbs.cq_ex);
  ibv_qp_init_attr_ex wanted{};
  wanted.send_cq = wanted.recv_cq = verbs.cq;
  wanted.cap.max_send_wr = 1U << kLogEntries;
  wanted.cap.max_send_sge = 1;
  wanted.cap.max_inline_data = kLine;
  wanted.qp_type = IBV_QPT_RC;
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD;
  wanted.pd = verbs.pd;
  if (verbs.by_wr) {
    wanted.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
  }
  verbs.qp = ibv_create_qp_ex(verbs.context, &wanted);
  if (verbs.qp == nullptr) return tl::unexpected<Error>(failed("ibv_create_qp_ex", errno));
  if (verbs.by_wr) verbs.qp_ex = ibv_qp_to_qp_ex(verbs.qp);
  return {};
}

Result<void> connect(Verbs& verbs) {
  ibv_port_attr port{};
  if (const int error = ibv_query_port(verbs.context, 1, &port); error != 0)
    return tl::unexpected<Error>(failed("ibv_query_port", error));
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = 1;
  to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  constexpr int kToInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (const int error = ibv_modify_qp(verbs.qp, &to, kToInit); error != 0)
    return tl::unexpected<Error>(failed("INIT", error));
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = IBV_MTU_1024;
  to.dest_qp_num = verbs.qp->qp_num;
  to.ah_attr.dlid = port.lid;
  to.ah_attr.port_num = 1;
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {  // RoCE goes by GIDs alone
    to.ah_attr.is_global = 1;
    if (const int error = ibv_query_gid(verbs.context, 1, 0, &to.ah_attr.grh.dgid); error != 0)
      return tl::unexpected<Error>(failed("GID", error));
  }
  constexpr int kToRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                         IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (const int error = ibv_modify_qp(verbs.qp, &to, kToRtr); error != 0)
    return tl::unexpected<Error>(failed("RTR", error));
  to.qp_state = IBV_QPS_RTS;
  to.timeout = kTimeout;
  to.retry_cnt = to.rnr_retry = 7;
  constexpr int kToRts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  if (const int error = ibv_modify_qp(verbs.qp, &to, kToRts); error != 0)
    return tl::unexpected<Error>(failed("RTS", error));
  return {};
}

/// A poll that finds nothing costs less, so none is made before the completions must be there.
template <class Side>
Result<void> measure(Side& side, std::uint64_t count) {
  constexpr std::uint64_t kTogether = 50;
  constexpr std::uint64_t kUntilTheyAreThereNs = 1500 * kNsPerMs;
  const Clock clock = Clock::wall();
  for (std::uint64_t first = 0; first < count; first += kTogether) {
    const std::uint64_t together = std::min(kTogether, count - first);
    for (std::uint64_t i = 0; i < together; ++i)
      if (!portcullis_cost_post(side)) return fail(Errc::System, "a WRITE was not posted");
    const std::uint64_t until_ns = clock.now_ns() + kUntilTheyAreThereNs;
    while (clock.now_ns() < until_ns) std::this_thread::yield();
    for (std::uint64_t i = 0; i < together; ++i)
      if (!portcullis_cost_poll(side))
        return fail(Errc::Timeout, fmt::format("WRITE {} did not complete in time", first + i));
  }
  return {};
}

Result<void> measure_ours(const std::string& device, std::uint64_t count) {
  PORTCULLIS_TRY_ASSIGN(auto provider, devx::open_libmlx5(device));
  devx::KeptNic nic(std::move(provider), device);
  PORTCULLIS_TRY_ASSIGN(const auto function, devx::Function::open(nic, nic.device()));
  PORTCULLIS_TRY_ASSIGN(const auto port, attach::Port::create(function->context(), {}));
  PORTCULLIS_TRY_ASSIGN(Ours ours, make(function->context(), port.path()));
  return measure(ours, count);
}

/// What it makes goes with the process.
Result<void> measure_verbs(const std::string& device, std::string_view way, std::uint64_t count) {
  Verbs verbs;
  verbs.by_wr = way == "wr";
  ibv_device** const list = ibv_get_device_list(nullptr);
  for (ibv_device** each = list; each != nullptr && *each != nullptr; ++each)
    if (device == ibv_get_device_name(*each)) verbs.context = ibv_open_device(*each);
  if (verbs.context == nullptr) return fail(Errc::NotFound, "no RDMA device " + device);
  PORTCULLIS_TRY(create(verbs));
  PORTCULLIS_TRY(connect(verbs));
  return measure(verbs, count);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 0;
  if (count == 0) {
    fmt::print(stderr, "usage: post-cost DEVICE ours|post-send|wr COUNT\n");
    return 2;
  }
  line.fill(std::byte{0x5a});
  const std::string_view way = argv[2];
  const auto done =
      way == "ours" ? measure_ours(argv[1], count) : measure_verbs(argv[1], way, count);
  if (done) return 0;
  fmt::print(stderr, "post-cost: {}\n", done.error().text);
  return 1;
}
