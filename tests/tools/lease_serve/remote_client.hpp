// SPDX-License-Identifier: BSD-3-Clause
//
// A client of another host without a network: its line comes from a script, its WRITEs from a QP on
// a second address of the port that serves it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pmd/completion_queue.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "pmd/roce_address.hpp"
#include "service/exchange/exchange.hpp"
#include "service/exchange/line_channel.hpp"

namespace portcullis::tools::testing {

inline constexpr pmd::Gid kOurs = pmd::Gid::from_ipv4(192, 0, 2, 1);
inline constexpr pmd::Gid kTheirs = pmd::Gid::from_ipv4(192, 0, 2, 2);

/// Hands out the lines of a script, keeps what it is told.
class ScriptedChannel : public service::exchange::LineChannel {
 public:
  Result<std::optional<std::string>> poll_line() override {
    if (lines.empty()) return std::nullopt;
    auto line = std::move(lines.front());
    lines.pop_front();
    was_answered_ = false;
    if (!line) return tl::unexpected<Error>(line.error());
    return *std::move(line);
  }
  Result<void> send_line(std::string_view line) override {
    sent.emplace_back(line);
    was_answered_ = true;
    return on_send;
  }
  void drop() override { ++dropped; }
  bool is_peer_gone() override {
    if (!was_answered_) return std::exchange(is_gone_early, false);
    return on_hold ? on_hold() : false;
  }
  std::string peer() const override { return "script"; }

  std::deque<Result<std::string>> lines;
  std::vector<std::string> sent;
  std::function<bool()> on_hold;  // asked all the time while the lease is held
  Result<void> on_send;
  int dropped = 0;
  bool is_gone_early = false;  // the next to ask is, before it was answered

 private:
  bool was_answered_ = false;
};

/// The client's QP, which goes on writing whatever happens.
class Writer {
 public:
  /// With `depth` WRITEs outstanding, to the word at `offset`.
  Writer(const pmd::Context& context, const pmd::Mac& mac, std::uint64_t depth = 1,
         std::uint64_t offset = 0, std::optional<std::uint16_t> vlan_id = std::nullopt)
      : depth_(depth),
        offset_(offset),
        addresses_(context),
        pd_(pmd::ProtectionDomain::create(context).value()),
        cq_(pmd::CompletionQueue::create(context, 4).value()),
        qp_(pmd::QueuePair::create(context, pd_, cq_, *context.uar, {.log_sq_size = 4}).value()),
        mac_(mac) {
    EXPECT_TRUE(addresses_.set(1, {.gid = kTheirs, .mac = mac, .vlan_id = vlan_id}));
  }

  std::string request() const {
    return to_line(service::exchange::Request{
        .client = {.qpn = prm::number(qp_.number()), .psn = 5, .gid = kTheirs, .mac = mac_},
        .mtu = 1024});
  }
  void connect(const service::exchange::Grant& grant) {
    grant_ = grant;
    pmd::RtrAttributes rtr;
    rtr.path.remote_gid = grant.server.gid;
    rtr.path.remote_mac = grant.server.mac;
    rtr.path.source_address_index = 1;
    rtr.remote_qpn = prm::QpNumber{grant.server.qpn};
    rtr.rq_psn = grant.server.psn;
    EXPECT_TRUE(qp_.to_init({}));
    EXPECT_TRUE(qp_.to_rtr(rtr));
    EXPECT_TRUE(qp_.to_rts({.sq_psn = 5, .timeout = grant.timeout, .retry_count = grant.retry}));
  }
  /// Takes what completed, and writes the next numbers; no more after a failure.
  void go_on() {
    while (const auto done = cq_.try_poll().value()) {
      if (!done->ok() && !failure) failure = done->status;
      written += done->ok() ? 1 : 0;
    }
    if (!grant_) return;
    for (; !failure && posted_ < written + depth_; ++posted_) {
      const std::uint64_t number = posted_ + 1;
      std::array<std::byte, sizeof number> bytes{};
      std::memcpy(bytes.data(), &number, sizeof number);
      EXPECT_TRUE(qp_.post_write_inline(
          bytes, {.remote_address = grant_->address + offset_, .rkey = prm::Rkey{grant_->rkey}}));
      qp_.ring();
    }
  }

  std::uint64_t written = 0;
  std::optional<prm::WcStatus> failure;

 private:
  std::uint64_t depth_;
  std::uint64_t offset_;
  pmd::RoceAddressTable addresses_;
  pmd::ProtectionDomain pd_;
  pmd::CompletionQueue cq_;
  pmd::QueuePair qp_;
  pmd::Mac mac_;
  std::optional<service::exchange::Grant> grant_;
  std::uint64_t posted_ = 0;
};

}  // namespace portcullis::tools::testing
