// SPDX-License-Identifier: BSD-3-Clause
//
// READ, atomics, SEND and receive, immediate data and UMR while the device runs on a core of its
// own: memory that the device writes for us, receives that it finds without a doorbell, keys that
// change under traffic. What orders them is for ThreadSanitizer to find missing.
#include <gtest/gtest.h>

#include <span>

#include "base/cells.hpp"
#include "base/dma_bytes.hpp"
#include "pmd/umr_queue.hpp"
#include "tests/pmd/polled_loopback.hpp"

namespace portcullis::testing {
namespace {

using pmd::Completion;
using pmd::GatherEntry;
using pmd::WorkRequest;
using prm::WcStatus;
using prm::WqeOpcode;

constexpr std::uint32_t kLogReceives = 4;
constexpr std::uint32_t kRounds = 100;
constexpr std::uint32_t kManyPackets = 5000;  // five at the path's MTU

struct PolledRequests : PolledLoopback {
  PolledRequests() : PolledLoopback(Side::kEverything, {kLogEntries, kLogReceives, 1}) {}

  [[nodiscard]] WorkRequest request(WqeOpcode opcode, std::uint64_t offset = 0) const {
    WorkRequest request;
    request.opcode = opcode;
    request.remote_address = offset;
    request.rkey = server.key.rkey();
    return request;
  }
  Completion run(const WorkRequest& wanted, const GatherEntry& local) {
    EXPECT_TRUE(client.qp.post(wanted, local));
    client.qp.ring();
    return complete();
  }
  Completion received() { return server.cq.wait(in_a_minute()).value(); }
  [[nodiscard]] GatherEntry piece(std::uint64_t offset, std::uint32_t bytes) const {
    return {offset, client.key.lkey(), bytes};
  }
  [[nodiscard]] GatherEntry room(std::uint64_t offset, std::uint32_t bytes) const {
    return {offset, server.key.lkey(), bytes};
  }
  static void fill(Side& side, std::size_t bytes, std::uint32_t value) {
    dma_fill(side.memory.bytes().first(bytes), static_cast<std::byte>(value));
  }
  static std::byte byte_of(const Side& side, std::size_t offset) {
    return dma_peek(side.memory.bytes().data() + offset);
  }
};

TEST_F(PolledRequests, Reads_BringWhatTheServerWroteLast) {
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    fill(server, kManyPackets, i);
    const Completion done = run(request(WqeOpcode::RDMA_READ), piece(0, kManyPackets));
    ASSERT_TRUE(done.ok()) << describe(done);
    ASSERT_EQ(byte_of(client, 0), static_cast<std::byte>(i));
    ASSERT_EQ(byte_of(client, kManyPackets - 1), static_cast<std::byte>(i));
  }
}

TEST_F(PolledRequests, FetchAdds_CountEveryOne) {
  WorkRequest add = request(WqeOpcode::ATOMIC_FA, 64);
  add.swap_or_add = 1;
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    const Completion done = run(add, piece(8 * (i % 64), 8));
    ASSERT_TRUE(done.ok()) << describe(done);
    const std::uint64_t told =
        dma_peek_u64(client.memory.bytes().data() + std::size_t{8} * (i % 64));
    ASSERT_EQ(hca->context().caps.atomic_host_order ? told : cells::be64(told), i);
  }
  EXPECT_EQ(dma_peek_u64(server.memory.bytes().data() + 64), kRounds);
}

TEST_F(PolledRequests, Sends_FillReceivesPostedMeanwhile) {
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    fill(client, kManyPackets, i);
    ASSERT_TRUE(client.qp.post(request(WqeOpcode::SEND), piece(0, kManyPackets)));
    client.qp.ring();
    ASSERT_TRUE(server.qp.post_receive(room(0, kManyPackets), i));
    server.qp.ring_receives();
    const Completion arrived = received();
    ASSERT_TRUE(arrived.ok()) << describe(arrived);
    ASSERT_EQ(arrived.wr_id, i);
    ASSERT_EQ(arrived.byte_count, kManyPackets);
    ASSERT_EQ(byte_of(server, kManyPackets - 1), static_cast<std::byte>(i));
    ASSERT_TRUE(complete().ok());
  }
}

TEST_F(PolledRequests, WriteWithImmediate_TellsAfterItsBytes) {
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    fill(client, 64, i);
    ASSERT_TRUE(server.qp.post_receive(std::span<const GatherEntry>{}, i));
    server.qp.ring_receives();
    WorkRequest write = request(WqeOpcode::RDMA_WRITE_IMM, 128);
    write.immediate = i;
    ASSERT_TRUE(client.qp.post(write, piece(0, 64)));
    client.qp.ring();
    const Completion told = received();
    ASSERT_TRUE(told.ok()) << describe(told);
    ASSERT_EQ(told.immediate, i);
    ASSERT_EQ(byte_of(server, 128), static_cast<std::byte>(i));
    ASSERT_TRUE(complete().ok());
  }
}

TEST_F(PolledRequests, KeyFreedUnderWrites_NoByteChangesAfterwards) {
  auto umr = pmd::UmrQueue::create(hca->context()).value();
  for (std::uint64_t i = 0; i < 64; ++i)
    ASSERT_TRUE(client.qp.post(request(WqeOpcode::RDMA_WRITE), piece(0, 64)));
  client.qp.ring();
  ASSERT_TRUE(umr.free_key(server.key.rkey(), in_a_minute()));
  fill(server, 64, 0xa5);
  for (std::uint64_t i = 0; i < 64; ++i) {
    const Completion done = complete();
    ASSERT_TRUE(done.ok() || done.status == WcStatus::REM_ACCESS_ERR ||
                done.status == WcStatus::WR_FLUSH_ERR)
        << describe(done);
  }
  EXPECT_EQ(byte_of(server, 0), std::byte{0xa5});
}

}  // namespace
}  // namespace portcullis::testing
