// SPDX-License-Identifier: BSD-3-Clause
//
// A requester on plain libibverbs: one RC QP of any RDMA NIC with RoCEv2, soft-RoCE included.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/lease_verify/requester.hpp"

namespace portcullis::tools::lease_verify {

struct VerbsOptions {
  std::string device;  // empty: the machine's only one
  std::uint8_t port = 1;
  int gid_index = -1;  // -1: the first RoCEv2 address, IPv4 before IPv6
  std::size_t buffer_bytes = std::size_t{2} << 20;
  std::uint32_t depth = 16;  // work requests the QP holds
};

/// Closes what libibverbs opened.
struct VerbsCloser {
  void operator()(ibv_context* context) const noexcept { ibv_close_device(context); }
  void operator()(ibv_pd* pd) const noexcept { ibv_dealloc_pd(pd); }
  void operator()(ibv_mr* key) const noexcept { ibv_dereg_mr(key); }
  void operator()(ibv_comp_channel* channel) const noexcept { ibv_destroy_comp_channel(channel); }
  void operator()(ibv_cq* cq) const noexcept { ibv_destroy_cq(cq); }
  void operator()(ibv_qp* qp) const noexcept { ibv_destroy_qp(qp); }
};
template <class T>
using Verbs = std::unique_ptr<T, VerbsCloser>;

class VerbsRequester final : public Requester {
 public:
  /// A QP in INIT. NotFound names the devices of this machine, or the addresses of the port.
  [[nodiscard]] static Result<std::unique_ptr<VerbsRequester>> create(const VerbsOptions& options);

  [[nodiscard]] service::exchange::Request request() const override;
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] service::exchange::SweepPeer nic() const override { return nic_; }
  [[nodiscard]] Result<void> connect(const service::exchange::Grant& grant) override;
  [[nodiscard]] std::span<std::byte> buffer() noexcept override { return memory_; }
  [[nodiscard]] Result<void> post(const Operation& operation) override;
  [[nodiscard]] Result<std::optional<WorkResult>> wait(std::uint64_t until_ns) override;

 private:
  VerbsRequester() = default;
  [[nodiscard]] Result<void> choose_address(const VerbsOptions& options);
  [[nodiscard]] Result<void> find_mac();
  [[nodiscard]] Result<void> make_objects(const VerbsOptions& options);
  [[nodiscard]] Result<void> to_init();
  [[nodiscard]] Result<void> to_rtr(const service::exchange::Grant& grant);
  [[nodiscard]] Result<void> to_rts(const service::exchange::Grant& grant);
  [[nodiscard]] Result<std::optional<WorkResult>> poll();

  Verbs<ibv_context> context_;
  ibv_port_attr port_{};
  std::uint8_t port_number_ = 1;
  service::exchange::SweepPeer nic_;
  std::uint8_t most_reads_ = 1;  // outstanding READs and atomics
  ibv_gid_entry gid_{};
  std::string netdev_;
  service::exchange::Endpoint local_;
  Verbs<ibv_pd> pd_;
  std::vector<std::byte> memory_;
  Verbs<ibv_mr> key_;
  Verbs<ibv_comp_channel> channel_;
  Verbs<ibv_cq> cq_;
  Verbs<ibv_qp> qp_;
  std::uint32_t rkey_ = 0;
  bool armed_ = false;
};

}  // namespace portcullis::tools::lease_verify
