// SPDX-License-Identifier: BSD-3-Clause
//
// The client of a lease, at the other end of its RC connection and on the same function: writes
// when told to and says what its completions said.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>

#include "lease/lease_manager.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "pmd/roce_address.hpp"
#include "prm/cqe.hpp"
#include "prm/status.hpp"

namespace portcullis::testing {

inline constexpr pmd::RoceAddress kPort{.gid = pmd::Gid::from_ipv4(192, 0, 2, 1),
                                        .mac = {{2, 0, 0, 0, 0, 1}}};

/// An RC requester and what it was told of its lease.
class Client {
 public:
  static constexpr std::uint32_t kPsn = 0x654321;

  /// `lid` is the port's own where it is InfiniBand.
  static Client create(const pmd::Context& context, std::uint16_t lid = 0) {
    auto pd = pmd::ProtectionDomain::create(context).value();
    auto cq = pmd::CompletionQueue::create(context, 7).value();
    auto qp = pmd::QueuePair::create(context, pd, cq, *context.uar, {.log_sq_size = 7}).value();
    Client client(std::move(pd), std::move(cq), std::move(qp));
    client.lid = lid;
    return client;
  }

  lease::Peer peer() const {
    return {.qpn = qp.number(), .psn = kPsn, .gid = kPort.gid, .mac = kPort.mac, .lid = lid};
  }
  void connect(const lease::Grant& to) {
    pmd::RocePath path;
    path.remote_gid = kPort.gid;
    path.remote_mac = kPort.mac;
    path.remote_lid = lid;
    connect(to, path);
  }
  /// Over a port that has another address than kPort.
  void connect(const lease::Grant& to, const pmd::RocePath& path) {
    grant = to;
    pmd::RtrAttributes rtr;
    rtr.path = path;
    rtr.remote_qpn = to.qpn;
    rtr.rq_psn = to.psn;
    rtr.mtu = to.mtu;
    EXPECT_TRUE(qp.to_init({}));
    EXPECT_TRUE(qp.to_rtr(rtr));
    EXPECT_TRUE(
        qp.to_rts({.sq_psn = kPsn, .timeout = to.ack_timeout, .retry_count = to.retry_count}));
  }
  /// Posts a WRITE of `value` to word `index` of the lease, without waiting.
  void post(std::uint64_t value, std::uint64_t index = 0) {
    std::array<std::byte, sizeof value> data;
    std::memcpy(data.data(), &value, sizeof value);
    EXPECT_TRUE(qp.post_write_inline(
        data, {.remote_address = grant.address + index * sizeof value, .rkey = grant.rkey}));
    qp.ring();
  }
  /// What became of the oldest WRITE that has not been asked for.
  prm::WcStatus wait(const Device& device) {
    const auto completion = cq.wait(device.clock.now_ns() + 120 * kNsPerSecond);
    EXPECT_TRUE(completion) << completion.error().text;
    return completion->status;
  }
  prm::WcStatus write(const Device& device, std::uint64_t value, std::uint64_t index = 0) {
    post(value, index);
    return wait(device);
  }
  /// Of everything posted, the first status that is not success.
  prm::WcStatus first_failure(const Device& device) {
    prm::WcStatus status = prm::WcStatus::SUCCESS;
    while (status == prm::WcStatus::SUCCESS && !::testing::Test::HasFailure())
      status = wait(device);
    return status;
  }

  pmd::ProtectionDomain pd;
  pmd::CompletionQueue cq;
  pmd::QueuePair qp;
  lease::Grant grant;
  std::uint16_t lid = 0;

 private:
  Client(pmd::ProtectionDomain the_pd, pmd::CompletionQueue the_cq, pmd::QueuePair the_qp)
      : pd(std::move(the_pd)), cq(std::move(the_cq)), qp(std::move(the_qp)) {}
};

}  // namespace portcullis::testing
