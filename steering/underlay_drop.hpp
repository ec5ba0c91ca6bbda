// SPDX-License-Identifier: BSD-3-Clause
//
// The underlay (the floor document, section 5, option c): a lease's QP gets a root table of its own
// in NIC_RX, attached with SET_FLOW_TABLE_ROOT and its number as underlay_qpn before its client's
// first packet. The one entry, on bth_dst_qp, lets packets pass while the lease is ACTIVE; the
// revoke makes it forward them to a TIR whose receive queue nobody fills, so that the QP sees them
// no more.
//
// Linux does the like for IPoIB and for UD QPs of IB_QP_CREATE_SOURCE_QPN, on InfiniBand ports
// alone (mlx5_fs_add_rx_underlay_qpn of mlx5/core/fs_core.c, process_create_flag and
// create_raw_packet_qp of mlx5_ib/qp.c, set_underlay_qp of mlx5_ib/fs.c). That a card filters an RC
// responder by it is a hypothesis, and the self-test asks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/receive_target.hpp"
#include "pmd/roce_path.hpp"
#include "prm/numbers.hpp"
#include "steering/drop_group.hpp"
#include "steering/drop_rule.hpp"
#include "steering/self_test.hpp"

namespace portcullis::steering {

class UnderlayDrop final : public DropRule {
 public:
  struct Options {
    std::uint32_t slots = 1;  // of the lease table
    pmd::RocePath loopback = {};
    std::uint64_t quiet_ms = 20;
    /// Asks the device even where port type or capabilities speak against it.
    bool try_anyway = false;
  };
  /// Unsupported where port type or a capability forbids it, in one line; otherwise what the
  /// self-test says is in describe(). `context` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<UnderlayDrop>> set_up(const pmd::Context& context,
                                                                    const Options& options);

  /// Attaches RQ, TIR, table and root: seven commands.
  [[nodiscard]] Result<bool> prepare(const DropTarget& target, std::uint64_t deadline_ns) override;
  /// One command. NotFound where prepare() attached nothing.
  [[nodiscard]] Result<void> install(const DropTarget& target, std::uint64_t deadline_ns) override;
  /// Takes everything of the slot back, in as many commands; a slot without is done.
  [[nodiscard]] Result<void> remove(const DropTarget& target, std::uint64_t deadline_ns) override;

  [[nodiscard]] const SelfTestVerdict& verdict() const noexcept { return verdict_; }
  /// "underlay of NIC_RX (scope lease), verified: stops new and running connections".
  [[nodiscard]] std::string describe() const;

 private:
  /// What a QP has been given so far; the entry goes before what it forwards to.
  struct Attachment {
    std::optional<pmd::ReceiveTarget> target;
    std::optional<DropGroup> group;
  };

  UnderlayDrop(const pmd::Context& context, pmd::ProtectionDomain pd, pmd::CompletionQueue cq,
               pmd::TransportDomain domain, std::uint32_t slots);
  [[nodiscard]] Result<void> attach(Attachment& made, prm::QpNumber qpn,
                                    std::uint64_t deadline_ns) const;
  [[nodiscard]] Result<void> check_slot(std::uint32_t slot) const;
  [[nodiscard]] Result<void> judge(const Options& options);
  [[nodiscard]] Result<void> judge_on(LoopbackPair& pair, const DropTarget& target,
                                      const Options& options);

  const pmd::Context* context_;
  pmd::ProtectionDomain pd_;
  pmd::CompletionQueue cq_;
  pmd::TransportDomain domain_;
  std::vector<std::optional<Attachment>> attachments_;  // by slot; the last is the self-test's
  SelfTestVerdict verdict_;
};

}  // namespace portcullis::steering
