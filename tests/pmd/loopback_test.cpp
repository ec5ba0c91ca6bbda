// SPDX-License-Identifier: BSD-3-Clause
//
// Both sides of a connection on one function, against the model: brought up by Hca, linked through
// the port's own address, over RoCEv2 frames. What a peer sees when something is taken away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/dma_bytes.hpp"
#include "model/model.hpp"
#include "pmd/fence_commands.hpp"
#include "pmd/hca.hpp"
#include "pmd/roce_address.hpp"
#include "tests/pmd/loopback_side.hpp"

namespace portcullis::testing {
namespace {

using pmd::Completion;
using pmd::GatherEntry;
using pmd::WriteRequest;
using prm::WcStatus;

struct Loopback : ::testing::Test {
  Loopback()
      : model(model::Model::create({}).value()),
        hca(pmd::Hca::bring_up(model->device(), {}).value()),
        addresses(hca->context()),
        client(Side::make(hca->context())),
        server(Side::make(hca->context())) {}

  void SetUp() override {
    ASSERT_TRUE(addresses.set(0, {kGid, kMac}));
    connect();
    for (std::size_t i = 0; i < kRegionBytes; ++i)
      client.memory.bytes()[i] = static_cast<std::byte>(i * 31 + i / 257);
  }
  void connect() {
    client.connect(server.qp.number(), kClientPsn, kServerPsn);
    server.connect(client.qp.number(), kServerPsn, kClientPsn);
  }

  [[nodiscard]] std::uint64_t now_ns() const { return hca->context().device.clock.now_ns(); }
  WriteRequest to(std::uint64_t offset, std::uint64_t wr_id = 0, bool signaled = true) const {
    return {offset, server.key.rkey(), wr_id, signaled};
  }
  GatherEntry from(std::uint64_t offset, std::uint32_t bytes) const {
    return {offset, client.key.lkey(), bytes};
  }
  /// Posts, rings and waits up to a minute of virtual time.
  Completion write(const GatherEntry& piece, const WriteRequest& request) {
    EXPECT_TRUE(client.qp.post_write(piece, request));
    client.qp.ring();
    return complete();
  }
  Completion complete() { return client.cq.wait(now_ns() + 60 * kNsPerSecond).value(); }
  /// Lets a second of virtual time pass.
  void pass_time() {
    const std::uint64_t until = now_ns() + kNsPerSecond;
    EXPECT_FALSE(wait_until(hca->context().device, until, [] { return false; }));
  }
  [[nodiscard]] std::vector<std::byte> arrived(std::size_t offset, std::size_t bytes) const {
    std::vector<std::byte> copy(bytes);
    dma_copy(copy.data(), server.memory.bytes().data() + offset, bytes);
    return copy;
  }
  [[nodiscard]] std::vector<std::byte> sent(std::size_t offset, std::size_t bytes) const {
    const auto region = client.memory.bytes().subspan(offset, bytes);
    return {region.begin(), region.end()};
  }

  std::unique_ptr<model::Model> model;
  std::unique_ptr<pmd::Hca> hca;
  pmd::RoceAddressTable addresses;
  Side client, server;
};

struct Sizes : Loopback, ::testing::WithParamInterface<std::uint32_t> {};

TEST_P(Sizes, WriteLandsByteExact_AndNowhereElse) {
  constexpr std::size_t kOffset = 4096 - 3;
  const std::uint32_t bytes = GetParam();
  const Completion done = write(from(5, bytes), to(kOffset, 42));
  EXPECT_EQ(done.status, WcStatus::SUCCESS) << describe(done);
  EXPECT_EQ(done.wr_id, 42u);
  EXPECT_EQ(arrived(kOffset, bytes), sent(5, bytes));
  EXPECT_EQ(arrived(0, kOffset), std::vector<std::byte>(kOffset));
  EXPECT_EQ(arrived(kOffset + bytes, 64), std::vector<std::byte>(64));
}

// Around the path MTU of 1024, a page, and many packets.
INSTANTIATE_TEST_SUITE_P(Bytes, Sizes,
                         ::testing::Values(0u, 1u, 3u, 64u, 1023u, 1024u, 1025u, 2048u, 4096u,
                                           4097u, 65536u, 500'001u),
                         [](const auto& bytes) { return std::to_string(bytes.param); });

TEST_F(Loopback, InlineWriteLandsByteExact) {
  ASSERT_TRUE(client.qp.post_write_inline(sent(100, 64), to(128, 7)));
  client.qp.ring();
  EXPECT_EQ(complete().status, WcStatus::SUCCESS);
  EXPECT_EQ(arrived(128, 64), sent(100, 64));
}

TEST_F(Loopback, GatheredPiecesLandOneAfterTheOther) {
  const std::vector<GatherEntry> pieces{from(0, 10), from(5000, 3000), from(100, 1), from(9, 700)};
  ASSERT_TRUE(client.qp.post_write(pieces, to(0)));
  client.qp.ring();
  EXPECT_EQ(complete().status, WcStatus::SUCCESS);
  EXPECT_EQ(arrived(0, 10), sent(0, 10));
  EXPECT_EQ(arrived(10, 3000), sent(5000, 3000));
  EXPECT_EQ(arrived(3010, 1), sent(100, 1));
  EXPECT_EQ(arrived(3011, 700), sent(9, 700));
}

TEST_F(Loopback, PostWithoutRing_NothingHappens) {
  ASSERT_TRUE(client.qp.post_write(from(0, 64), to(0)));
  const auto frames = model->counters().frames_sent;
  pass_time();
  EXPECT_EQ(client.cq.try_poll().value(), std::nullopt);
  EXPECT_EQ(model->counters().frames_sent, frames);
  EXPECT_EQ(arrived(0, 64), std::vector<std::byte>(64));
  client.qp.ring();
  EXPECT_EQ(complete().status, WcStatus::SUCCESS);
}

TEST_F(Loopback, RingWithoutPost_NothingHappens) {
  const auto frames = model->counters().frames_sent;
  client.qp.ring();
  pass_time();
  EXPECT_EQ(model->counters().frames_sent, frames);
}

TEST_F(Loopback, ManyWrites_RunThroughEveryRingManyTimes) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(client.qp.post_write_inline(sent(i, 64), to(64 * i, i)));
    client.qp.ring();
    const Completion done = complete();
    ASSERT_TRUE(done.ok()) << describe(done);
    ASSERT_EQ(done.wr_id, i);
  }
  EXPECT_EQ(arrived(64 * 999, 64), sent(999, 64));
  EXPECT_EQ(model->counters().dma_faults, 0u);
}

TEST_F(Loopback, BatchBehindOneDoorbell_CompletesWithItsLastRequest) {
  for (std::uint64_t i = 0; i < 63; ++i)
    ASSERT_TRUE(client.qp.post_write(from(i, 64), to(64 * i, i, false)));
  ASSERT_TRUE(client.qp.post_write(from(63, 64), to(64 * 63, 63)));
  EXPECT_EQ(client.qp.post_write(from(0, 64), to(0)).error().code, Errc::Busy);
  client.qp.ring();
  EXPECT_EQ(complete().wr_id, 63u);
  EXPECT_EQ(client.qp.outstanding_blocks(), 0u);
  EXPECT_EQ(client.cq.try_poll().value(), std::nullopt);
  EXPECT_EQ(arrived(64 * 40, 64), sent(40, 64));
}

TEST_F(Loopback, LostFrame_IsSentAgain) {
  model->inject({.bth_opcode = {}, .dest_qpn = prm::number(server.qp.number())});
  EXPECT_EQ(write(from(0, 5000), to(0)).status, WcStatus::SUCCESS);
  EXPECT_EQ(arrived(0, 5000), sent(0, 5000));
  EXPECT_GE(model->counters().retransmissions, 1u);
}

TEST_F(Loopback, WrongKey_IsARemoteAccessError) {
  WriteRequest request = to(0);
  request.rkey = with_another_byte(request.rkey);  // the byte that turns
  const Completion done = write(from(0, 64), request);
  EXPECT_EQ(done.status, WcStatus::REM_ACCESS_ERR) << describe(done);
  EXPECT_EQ(arrived(0, 64), std::vector<std::byte>(64));
}

TEST_F(Loopback, WriteBeyondTheRegion_IsARemoteAccessError) {
  EXPECT_EQ(write(from(0, 64), to(kRegionBytes - 63)).status, WcStatus::REM_ACCESS_ERR);
}

TEST_F(Loopback, DestroyedKey_IsARemoteAccessErrorInOneRoundTrip) {
  ASSERT_TRUE(pmd::destroy_mkey_command(server.key.index())
                  .run(*hca->context().commands, now_ns() + kNsPerSecond));
  server.key.release();
  const std::uint64_t before = now_ns();
  EXPECT_EQ(write(from(0, 64), to(0)).status, WcStatus::REM_ACCESS_ERR);
  EXPECT_LT(now_ns() - before, kNsPerMs);
  EXPECT_EQ(arrived(0, 64), std::vector<std::byte>(64));
}

TEST_F(Loopback, WrongLocalKey_IsALocalProtectionError) {
  GatherEntry piece = from(0, 64);
  piece.lkey ^= 1;
  EXPECT_EQ(write(piece, to(0)).status, WcStatus::LOC_PROT_ERR);
}

TEST_F(Loopback, RightsTakenAway_IsARemoteError) {
  ASSERT_TRUE(server.qp.change_access({}));
  const Completion done = write(from(0, 64), to(0));
  EXPECT_THAT(done.status, ::testing::AnyOf(WcStatus::REM_INV_REQ_ERR, WcStatus::REM_ACCESS_ERR));
  EXPECT_EQ(arrived(0, 64), std::vector<std::byte>(64));
}

TEST_F(Loopback, ResponderInError_IsSilent_UntilTheRetryBudgetIsSpent) {
  ASSERT_TRUE(server.qp.to_error());
  const std::uint64_t before = now_ns();
  const Completion done = write(from(0, 64), to(0));
  EXPECT_EQ(done.status, WcStatus::RETRY_EXC_ERR) << describe(done);
  // 4.096 us x 2^10 a timeout, one for the request and one for each of 6 retries, or 7 in all.
  EXPECT_GE(now_ns() - before, 6 * 4096 * 1024u);
  EXPECT_LE(now_ns() - before, 4 * 7 * 4096 * 1024u);
}

TEST_F(Loopback, OwnError_FlushesEveryRequest) {
  ASSERT_TRUE(client.qp.to_error());
  ASSERT_TRUE(client.qp.post_write(from(0, 64), to(0, 1, false)));
  ASSERT_TRUE(client.qp.post_write(from(0, 64), to(0, 2)));
  client.qp.ring();
  const Completion first = complete();
  const Completion second = complete();
  EXPECT_EQ(first.status, WcStatus::WR_FLUSH_ERR) << describe(first);
  EXPECT_EQ(first.wr_id, 1u);
  EXPECT_EQ(second.status, WcStatus::WR_FLUSH_ERR);
  EXPECT_EQ(second.wr_id, 2u);
}

TEST_F(Loopback, RequestsBehindAnError_AreFlushed) {
  WriteRequest request = to(0, 1);
  request.rkey = with_another_byte(request.rkey);
  ASSERT_TRUE(client.qp.post_write(from(0, 64), request));
  ASSERT_TRUE(client.qp.post_write(from(0, 64), to(0, 2)));
  client.qp.ring();
  EXPECT_EQ(complete().status, WcStatus::REM_ACCESS_ERR);
  const Completion second = complete();
  EXPECT_EQ(second.status, WcStatus::WR_FLUSH_ERR) << describe(second);
  EXPECT_EQ(second.wr_id, 2u);
}

TEST_F(Loopback, ResetAndReconnected_WorksAgain) {
  ASSERT_TRUE(server.qp.to_error());
  EXPECT_EQ(write(from(0, 64), to(0)).status, WcStatus::RETRY_EXC_ERR);
  ASSERT_TRUE(client.qp.to_reset());
  ASSERT_TRUE(server.qp.to_reset());
  connect();
  const Completion done = write(from(0, 64), to(0));
  EXPECT_EQ(done.status, WcStatus::SUCCESS) << describe(done);
  EXPECT_EQ(arrived(0, 64), sent(0, 64));
}

TEST_F(Loopback, QueryTellsStateAndRights) {
  const auto connected = server.qp.query().value();
  EXPECT_EQ(connected.state, prm::QpState::RTS);
  EXPECT_TRUE(connected.access.remote_write);
  EXPECT_FALSE(connected.access.remote_read);
  EXPECT_EQ(connected.remote_qpn, client.qp.number());
  ASSERT_TRUE(server.qp.to_error());
  EXPECT_EQ(server.qp.query().value().state, prm::QpState::ERR);
}

TEST_F(Loopback, SkippedTransition_IsTheDevicesVerdict) {
  ASSERT_TRUE(client.qp.to_reset());
  const auto refused = client.qp.to_rts({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::CommandFailed);
  ASSERT_TRUE(refused.error().command.has_value());
  EXPECT_NE(refused.error().command->status, 0);
}

// ---- indirect keys ----

struct IndirectLoopback : Loopback {
  static constexpr std::uint64_t kHalf = kRegionBytes / 2;

  /// A key of the server's region with local rights alone: nothing that a peer could use.
  pmd::MemoryKey local_key() {
    return pmd::MemoryKey::create_mtt(hca->context(), server.pd,
                                      pmd::MemoryRange::zero_based(server.memory),
                                      {.local_write = true})
        .value();
  }
  /// The region through `direct`, its second half first.
  pmd::MemoryKey swapped(const pmd::MemoryKey& direct) {
    const std::array ranges{pmd::KeyRange{direct.rkey(), kHalf, kHalf},
                            pmd::KeyRange{direct.rkey(), 0, kHalf}};
    return pmd::MemoryKey::create_klm(hca->context(), server.pd, ranges,
                                      {.local_write = true, .remote_write = true})
        .value();
  }
  Completion write_by(const pmd::MemoryKey& key, std::uint64_t address, std::uint32_t bytes) {
    return write(from(0, bytes), {address, key.rkey(), 1, true});
  }
};

TEST_F(IndirectLoopback, WriteThroughIt_ArrivesWhereItsEntriesLead) {
  const auto direct = local_key();
  const auto key = swapped(direct);
  ASSERT_TRUE(write_by(key, kHalf - 4096, 8192).ok());
  EXPECT_EQ(arrived(kRegionBytes - 4096, 4096), sent(0, 4096));
  EXPECT_EQ(arrived(0, 4096), sent(4096, 4096));
}

TEST_F(IndirectLoopback, DirectKeyBelow_RefusesThePeer) {
  const auto direct = local_key();
  EXPECT_EQ(write_by(direct, 0, 64).status, WcStatus::REM_ACCESS_ERR);
}

TEST_F(IndirectLoopback, DestroyedIt_RefusesThePeer) {
  const auto direct = local_key();
  auto key = swapped(direct);
  ASSERT_TRUE(key.destroy());
  EXPECT_EQ(write_by(key, 0, 64).status, WcStatus::REM_ACCESS_ERR);
}

TEST_F(IndirectLoopback, DestroyedDirectKey_RefusesThePeerUnderALiveOne) {
  auto direct = local_key();
  const auto key = swapped(direct);
  ASSERT_TRUE(direct.destroy());
  EXPECT_EQ(write_by(key, 0, 64).status, WcStatus::REM_ACCESS_ERR);
}

TEST_F(Loopback, AddressIsReadBack) {
  EXPECT_EQ(addresses.query(0).value(), (pmd::RoceAddress{kGid, kMac}));
  ASSERT_TRUE(addresses.clear(0));
  EXPECT_EQ(addresses.query(0).value(), pmd::RoceAddress{});
}

TEST(Teardown, LeavesTheDeviceEmpty) {
  const auto model = model::Model::create({}).value();
  auto hca = pmd::Hca::bring_up(model->device(), {}).value();
  {
    pmd::RoceAddressTable addresses(hca->context());
    ASSERT_TRUE(addresses.set(0, {kGid, kMac}));
    auto client = Side::make(hca->context());
    auto server = Side::make(hca->context());
    client.connect(server.qp.number(), kClientPsn, kServerPsn);
    server.connect(client.qp.number(), kServerPsn, kClientPsn);
    EXPECT_EQ(model->census().qps, 2u);
    EXPECT_EQ(model->census().mkeys, 2u);
  }
  EXPECT_EQ(model->census().qps + model->census().cqs + model->census().mkeys + model->census().pds,
            0u);
  ASSERT_TRUE(hca->tear_down());
  hca.reset();
  EXPECT_EQ(model->census().objects(), 0u);
  EXPECT_EQ(model->census().dma_mappings, 0u);
}

}  // namespace
}  // namespace portcullis::testing
