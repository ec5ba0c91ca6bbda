// SPDX-License-Identifier: BSD-3-Clause
//
// Every request of an RC QP from one side to the other, against the model: READ, atomics, SEND and
// receive, immediate data, unsignaled batches, drain, counters, and keys changed by UMR.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "base/dma_bytes.hpp"
#include "model/model.hpp"
#include "pmd/hca.hpp"
#include "pmd/q_counter.hpp"
#include "pmd/roce_address.hpp"
#include "pmd/umr_queue.hpp"
#include "tests/pmd/loopback_side.hpp"

namespace portcullis::testing {
namespace {

using pmd::Completion;
using pmd::GatherEntry;
using pmd::WorkRequest;
using prm::WcOpcode;
using prm::WcStatus;
using prm::WqeOpcode;

constexpr std::uint32_t kLogReceives = 4;

struct Requests : ::testing::Test {
  Requests()
      : model(model::Model::create({}).value()),
        hca(pmd::Hca::bring_up(model->device(), {}).value()),
        addresses(hca->context()),
        counter(pmd::QCounter::create(hca->context()).value()),
        client(Side::make(hca->context(), Side::kEverything, options(0))),
        server(Side::make(hca->context(), Side::kEverything, options(counter.id()))) {}

  static pmd::QueuePairOptions options(std::uint8_t counter_set) {
    return {kLogEntries, kLogReceives, 1, counter_set};
  }
  void SetUp() override {
    ASSERT_TRUE(addresses.set(0, {kGid, kMac}));
    connect();
    for (std::size_t i = 0; i < kRegionBytes; ++i) {
      client.memory.bytes()[i] = static_cast<std::byte>(i * 31 + i / 257);
      server.memory.bytes()[i] = static_cast<std::byte>(i * 7 + i / 129);
    }
  }
  void connect(const pmd::RtsAttributes& how = {.timeout = 10, .retry_count = 6, .rnr_retry = 7}) {
    client.connect(server.qp.number(), kClientPsn, kServerPsn, how);
    server.connect(client.qp.number(), kServerPsn, kClientPsn, how);
  }
  [[nodiscard]] std::uint64_t now_ns() const { return hca->context().device.clock.now_ns(); }
  [[nodiscard]] std::uint64_t in_a_minute() const { return now_ns() + 60 * kNsPerSecond; }
  [[nodiscard]] WorkRequest request(WqeOpcode opcode, std::uint64_t offset = 0) const {
    WorkRequest request;
    request.opcode = opcode;
    request.wr_id = 42;
    request.remote_address = offset;
    request.rkey = server.key.rkey();
    return request;
  }
  [[nodiscard]] GatherEntry piece(std::uint64_t offset, std::uint32_t bytes) const {
    return {offset, client.key.lkey(), bytes};
  }
  [[nodiscard]] GatherEntry room(std::uint64_t offset, std::uint32_t bytes) const {
    return {offset, server.key.lkey(), bytes};
  }
  Completion complete() { return client.cq.wait(in_a_minute()).value(); }
  Completion received() { return server.cq.wait(in_a_minute()).value(); }
  Completion run(const WorkRequest& wanted, const GatherEntry& local) {
    EXPECT_TRUE(client.qp.post(wanted, local));
    client.qp.ring();
    return complete();
  }
  void pass(std::uint64_t ns) {
    EXPECT_FALSE(wait_until(hca->context().device, now_ns() + ns, [] { return false; }));
  }
  static std::vector<std::byte> bytes_of(const Side& side, std::size_t offset, std::size_t bytes) {
    std::vector<std::byte> copy(bytes);
    dma_copy(copy.data(), side.memory.bytes().data() + offset, bytes);
    return copy;
  }
  static std::uint64_t word_of(const Side& side, std::size_t offset) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes_of(side, offset, sizeof word).data(), sizeof word);
    return word;
  }
  /// What a WRITE of 64 bytes under `key` comes to.
  Completion write_with(prm::Rkey key) {
    WorkRequest write = request(WqeOpcode::RDMA_WRITE);
    write.rkey = key;
    return run(write, piece(0, 64));
  }
  void reconnect() {
    ASSERT_TRUE(client.qp.to_reset());
    ASSERT_TRUE(server.qp.to_reset());
    connect();
  }

  std::unique_ptr<model::Model> model;
  std::unique_ptr<pmd::Hca> hca;
  pmd::RoceAddressTable addresses;
  pmd::QCounter counter;
  Side client, server;
};

struct Reads : Requests, ::testing::WithParamInterface<std::uint32_t> {};

TEST_P(Reads, FetchTheBytes_AndNoneBeside) {
  const auto before = bytes_of(client, 9000 + GetParam(), 64);
  const auto wanted = bytes_of(server, 77, GetParam());
  const Completion done = run(request(WqeOpcode::RDMA_READ, 77), piece(9000, GetParam()));
  EXPECT_EQ(done.status, WcStatus::SUCCESS) << describe(done);
  EXPECT_EQ(done.opcode, WcOpcode::RDMA_READ);
  EXPECT_EQ(done.wr_id, 42u);
  EXPECT_EQ(done.byte_count, GetParam());
  EXPECT_EQ(bytes_of(client, 9000, GetParam()), wanted);
  EXPECT_EQ(bytes_of(client, 9000 + GetParam(), 64), before);
}

INSTANTIATE_TEST_SUITE_P(Bytes, Reads,
                         ::testing::Values(1u, 64u, 1024u, 1025u, 4096u, 65536u, 300'001u),
                         [](const auto& bytes) { return std::to_string(bytes.param); });

TEST_F(Requests, ReadIntoPieces_FillsOneAfterTheOther) {
  const std::vector<GatherEntry> pieces{piece(0, 10), piece(5000, 3000), piece(100, 7)};
  const auto wanted = bytes_of(server, 0, 3017);
  ASSERT_TRUE(client.qp.post(request(WqeOpcode::RDMA_READ), pieces));
  client.qp.ring();
  EXPECT_EQ(complete().status, WcStatus::SUCCESS);
  std::vector<std::byte> read = bytes_of(client, 0, 10);
  for (const std::byte b : bytes_of(client, 5000, 3000)) read.push_back(b);
  for (const std::byte b : bytes_of(client, 100, 7)) read.push_back(b);
  EXPECT_EQ(read, wanted);
}

TEST_F(Requests, ManyReadsAtOnce_CompleteInOrder) {
  for (std::uint32_t i = 0; i < 32; ++i) {
    WorkRequest read = request(WqeOpcode::RDMA_READ, 4096u * i);
    read.wr_id = i;
    ASSERT_TRUE(client.qp.post(read, piece(4096u * i, 3000)));
  }
  client.qp.ring();
  for (std::uint32_t i = 0; i < 32; ++i) ASSERT_EQ(complete().wr_id, i);
  EXPECT_EQ(bytes_of(client, 4096 * 31, 3000), bytes_of(server, 4096 * 31, 3000));
}

TEST_F(Requests, ReadWithoutTheRight_IsARemoteError) {
  ASSERT_TRUE(server.qp.change_access({.remote_write = true}));
  const auto before = bytes_of(client, 0, 64);
  const Completion done = run(request(WqeOpcode::RDMA_READ), piece(0, 64));
  EXPECT_THAT(done.status, ::testing::AnyOf(WcStatus::REM_INV_REQ_ERR, WcStatus::REM_ACCESS_ERR));
  EXPECT_EQ(bytes_of(client, 0, 64), before);
}

// A number in a region is the host's; so is what comes back only where the capability says so
// (handle_hca_cap_atomic), and in network order otherwise.
TEST_F(Requests, FetchAdd_AddsAndTellsWhatWas) {
  const std::uint64_t was = word_of(server, 128);
  WorkRequest atomic = request(WqeOpcode::ATOMIC_FA, 128);
  atomic.swap_or_add = 5;
  const Completion done = run(atomic, piece(256, 8));
  EXPECT_EQ(done.status, WcStatus::SUCCESS) << describe(done);
  EXPECT_EQ(done.opcode, WcOpcode::FETCH_ADD);
  EXPECT_EQ(done.byte_count, 8u);
  EXPECT_EQ(word_of(server, 128), was + 5);
  const std::uint64_t told = word_of(client, 256);
  EXPECT_EQ(hca->context().caps.atomic_host_order ? told : cells::be64(told), was);
}

TEST_F(Requests, CompareSwap_StoresOnlyWhatWasCompared) {
  const std::uint64_t was = word_of(server, 128);
  WorkRequest atomic = request(WqeOpcode::ATOMIC_CS, 128);
  atomic.swap_or_add = 0x1122334455667788;
  atomic.compare = was + 1;
  EXPECT_EQ(run(atomic, piece(256, 8)).status, WcStatus::SUCCESS);
  EXPECT_EQ(word_of(server, 128), was);
  atomic.compare = was;
  EXPECT_EQ(run(atomic, piece(256, 8)).opcode, WcOpcode::COMP_SWAP);
  EXPECT_EQ(word_of(server, 128), 0x1122334455667788u);
}

TEST_F(Requests, Send_ArrivesInTheReceivesPieces) {
  const auto sent = bytes_of(client, 33, 1500);
  const std::vector<GatherEntry> pieces{room(0, 100), room(5000, 2000)};
  ASSERT_TRUE(server.qp.post_receive(pieces, 7));
  server.qp.ring_receives();
  EXPECT_EQ(run(request(WqeOpcode::SEND), piece(33, 1500)).opcode, WcOpcode::SEND);
  const Completion done = received();
  EXPECT_EQ(done.status, WcStatus::SUCCESS) << describe(done);
  EXPECT_EQ(done.opcode, WcOpcode::RECV);
  EXPECT_EQ(done.wr_id, 7u);
  EXPECT_EQ(done.byte_count, 1500u);
  std::vector<std::byte> arrived = bytes_of(server, 0, 100);
  for (const std::byte b : bytes_of(server, 5000, 1400)) arrived.push_back(b);
  EXPECT_EQ(arrived, sent);
}

TEST_F(Requests, SendWithImmediate_TellsItToTheReceiver) {
  ASSERT_TRUE(server.qp.post_receive(room(0, 100), 7));
  server.qp.ring_receives();
  WorkRequest send = request(WqeOpcode::SEND_IMM);
  send.immediate = 0x01020304;
  EXPECT_EQ(run(send, piece(0, 10)).status, WcStatus::SUCCESS);
  const Completion done = received();
  EXPECT_TRUE(done.has_immediate);
  EXPECT_EQ(done.immediate, 0x01020304u);
}

TEST_F(Requests, WriteWithImmediate_WritesAndTakesAReceive) {
  const auto sent = bytes_of(client, 0, 3000);
  ASSERT_TRUE(server.qp.post_receive(std::span<const GatherEntry>(), 8));
  server.qp.ring_receives();
  WorkRequest write = request(WqeOpcode::RDMA_WRITE_IMM, 512);
  write.immediate = 99;
  EXPECT_EQ(run(write, piece(0, 3000)).opcode, WcOpcode::RDMA_WRITE);
  const Completion done = received();
  EXPECT_EQ(done.opcode, WcOpcode::RECV_RDMA_WITH_IMM);
  EXPECT_EQ(done.immediate, 99u);
  EXPECT_EQ(done.byte_count, 3000u);
  EXPECT_EQ(bytes_of(server, 512, 3000), sent);
}

TEST_F(Requests, SendWithoutAReceive_WaitsForOne) {
  ASSERT_TRUE(client.qp.post_inline(request(WqeOpcode::SEND), bytes_of(client, 0, 64)));
  client.qp.ring();
  pass(5 * kNsPerMs);
  EXPECT_EQ(client.cq.try_poll().value(), std::nullopt);
  ASSERT_TRUE(server.qp.post_receive(room(0, 64), 1));
  server.qp.ring_receives();
  EXPECT_EQ(complete().status, WcStatus::SUCCESS);
  EXPECT_EQ(bytes_of(server, 0, 64), bytes_of(client, 0, 64));
}

TEST_F(Requests, SendWithoutAReceive_EndsWithItsRnrRetries) {
  ASSERT_TRUE(client.qp.to_reset());
  ASSERT_TRUE(server.qp.to_reset());
  connect({.timeout = 10, .retry_count = 6, .rnr_retry = 2});
  EXPECT_EQ(run(request(WqeOpcode::SEND), piece(0, 64)).status, WcStatus::RNR_RETRY_EXC_ERR);
}

TEST_F(Requests, SendLargerThanTheReceive_FailsOnBothSides) {
  ASSERT_TRUE(server.qp.post_receive(room(0, 64), 1));
  server.qp.ring_receives();
  EXPECT_EQ(run(request(WqeOpcode::SEND), piece(0, 65)).status, WcStatus::REM_INV_REQ_ERR);
  EXPECT_EQ(received().status, WcStatus::LOC_LEN_ERR);
}

TEST_F(Requests, ErrorFlushesEveryReceive) {
  ASSERT_TRUE(server.qp.post_receive(room(0, 64), 1));
  ASSERT_TRUE(server.qp.post_receive(room(0, 64), 2));
  server.qp.ring_receives();
  ASSERT_TRUE(server.qp.to_error());
  const Completion first = received();
  EXPECT_EQ(first.status, WcStatus::WR_FLUSH_ERR) << describe(first);
  EXPECT_EQ(first.wr_id, 1u);
  EXPECT_EQ(received().wr_id, 2u);
}

TEST_F(Requests, MixedRequests_CompleteInTheOrderTheyWerePosted) {
  const WqeOpcode order[] = {WqeOpcode::RDMA_READ, WqeOpcode::RDMA_WRITE, WqeOpcode::ATOMIC_FA,
                             WqeOpcode::RDMA_WRITE};
  for (std::uint64_t i = 0; i < 4; ++i) {
    WorkRequest mixed = request(order[i], 8192);
    mixed.wr_id = i;
    ASSERT_TRUE(client.qp.post(mixed, piece(8192, 8)));
  }
  client.qp.ring();
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(complete().wr_id, i);
}

TEST_F(Requests, FencedWrite_CarriesWhatTheReadBeforeItFetched) {
  const auto wanted = bytes_of(server, 64, 64);
  ASSERT_TRUE(client.qp.post(request(WqeOpcode::RDMA_READ, 64), piece(0, 64)));
  WorkRequest write = request(WqeOpcode::RDMA_WRITE, 4096);
  write.fenced = true;
  ASSERT_TRUE(client.qp.post(write, piece(0, 64)));
  client.qp.ring();
  EXPECT_EQ(complete().status, WcStatus::SUCCESS);
  EXPECT_EQ(complete().status, WcStatus::SUCCESS);
  EXPECT_EQ(bytes_of(server, 4096, 64), wanted);
}

// ---- states and counters ----

TEST_F(Requests, DrainedQueue_SendsNothingUntilItIsResumed) {
  ASSERT_TRUE(client.qp.drain(in_a_minute()));
  EXPECT_EQ(client.qp.query().value().state, prm::QpState::SQD);
  ASSERT_TRUE(client.qp.post(request(WqeOpcode::RDMA_WRITE), piece(0, 64)));
  client.qp.ring();
  const auto frames = model->counters().frames_sent;
  pass(5 * kNsPerMs);
  EXPECT_EQ(model->counters().frames_sent, frames);
  ASSERT_TRUE(client.qp.resume());
  EXPECT_EQ(complete().status, WcStatus::SUCCESS);
}

TEST_F(Requests, DrainOfAQueueWithoutItsPeer_TimesOut) {
  ASSERT_TRUE(server.qp.to_error());
  ASSERT_TRUE(client.qp.post(request(WqeOpcode::RDMA_WRITE), piece(0, 64)));
  client.qp.ring();
  pass(100 * kNsPerUs);
  EXPECT_EQ(client.qp.drain(now_ns() + kNsPerMs).error().code, Errc::Timeout);
}

TEST_F(Requests, CounterSet_CountsWhatItsQueuePairMet) {
  EXPECT_EQ(run(request(WqeOpcode::RDMA_READ), piece(0, 64)).status, WcStatus::SUCCESS);
  EXPECT_EQ(run(request(WqeOpcode::RDMA_WRITE), piece(0, 64)).status, WcStatus::SUCCESS);
  const pmd::QCounterValues values = counter.query(/*clear=*/true).value();
  EXPECT_EQ(values.rx_read_requests, 1u);
  EXPECT_EQ(values.rx_write_requests, 1u);
  EXPECT_EQ(counter.query().value().rx_write_requests, 0u);
}

TEST_F(Requests, QueriedQueuePair_IsAsItWasConnected) {
  const pmd::QueuePairState state = server.qp.query().value();
  EXPECT_EQ(state.pdn, server.pd.number());
  EXPECT_EQ(state.mtu, prm::QpcMtu::MTU_1024);
  EXPECT_EQ(state.timeout, 10);
  EXPECT_EQ(state.retry_count, 6);
  EXPECT_EQ(state.rnr_retry, 7);
  EXPECT_EQ(state.max_rd_atomic, 4);
  EXPECT_EQ(state.max_dest_rd_atomic, 4);
  EXPECT_EQ(state.counter_set, counter.id());
}

TEST_F(Requests, RightsGivenInInit_AreThoseInForce) {
  ASSERT_TRUE(server.qp.to_reset());
  ASSERT_TRUE(server.qp.to_init({}));
  ASSERT_TRUE(server.qp.change_access_in_init({.remote_read = true}));
  const pmd::Access access = server.qp.query().value().access;
  EXPECT_TRUE(access.remote_read);
  EXPECT_FALSE(access.remote_write || access.remote_atomic);
}

TEST_F(Requests, QueriedKey_IsAsItWasMade) {
  const pmd::MemoryKeyState state = server.key.query(hca->context()).value();
  EXPECT_FALSE(state.is_free);
  EXPECT_TRUE(state.access.remote_write && state.access.remote_read && state.access.local_write);
  EXPECT_EQ(state.pdn, server.pd.number());
  EXPECT_EQ(state.bytes, kRegionBytes);
}

// ---- events ----

/// Events of QP `qpn` until there are no more, by type.
std::vector<prm::EventType> events_of(pmd::Hca& hca, prm::QpNumber qpn) {
  std::vector<prm::EventType> types;
  for (auto event = hca.next_event(); event; event = hca.next_event()) {
    const auto* of_qp = std::get_if<pmd::QpEvent>(&*event);
    if (of_qp != nullptr && of_qp->qpn == qpn) types.push_back(prm::EventType{of_qp->type});
  }
  return types;
}

TEST_F(Requests, WrongKey_RaisesAnAccessErrorAtTheResponder) {
  EXPECT_EQ(write_with(with_another_byte(server.key.rkey())).status, WcStatus::REM_ACCESS_ERR);
  EXPECT_THAT(events_of(*hca, server.qp.number()),
              ::testing::Contains(prm::EventType::WQ_ACCESS_ERROR));
}

TEST_F(Requests, DrainedQueue_RaisesItsEvent) {
  ASSERT_TRUE(client.qp.drain(in_a_minute()));
  EXPECT_THAT(events_of(*hca, client.qp.number()),
              ::testing::ElementsAre(prm::EventType::SQ_DRAINED));
}

// ---- keys changed by UMR ----

struct Umr : Requests {
  Umr() : umrs(pmd::UmrQueue::create(hca->context()).value()) {}
  [[nodiscard]] std::uint64_t soon() const { return now_ns() + kNsPerSecond; }
  [[nodiscard]] pmd::MemoryKeyState key() const { return server.key.query(hca->context()).value(); }

  pmd::UmrQueue umrs;
};

TEST_F(Umr, FreedKey_IsARemoteAccessErrorAndGoesToTheQueuesDomain) {
  const auto before = bytes_of(server, 0, 64);
  ASSERT_TRUE(umrs.free_key(server.key.rkey(), soon()));
  EXPECT_EQ(write_with(server.key.rkey()).status, WcStatus::REM_ACCESS_ERR);
  EXPECT_EQ(bytes_of(server, 0, 64), before);
  EXPECT_TRUE(key().is_free);
  EXPECT_EQ(key().pdn, umrs.pdn());
}

TEST_F(Umr, FreeOnADeviceThatTakesNoTime_TakesNone) {
  const std::uint64_t before_ns = now_ns();
  ASSERT_TRUE(umrs.free_key(server.key.rkey(), soon()));
  EXPECT_EQ(now_ns(), before_ns);
}

TEST_F(Umr, InvalidatedKey_IsARemoteAccessErrorAndStaysInItsDomain) {
  ASSERT_TRUE(umrs.invalidate_key(server.key.rkey(), soon()));
  EXPECT_EQ(write_with(server.key.rkey()).status, WcStatus::REM_ACCESS_ERR);
  EXPECT_TRUE(key().is_free);
  EXPECT_EQ(key().pdn, server.pd.number());
}

TEST_F(Umr, FreedKey_CanStillBeDestroyed) {
  ASSERT_TRUE(umrs.free_key(server.key.rkey(), soon()));
  EXPECT_TRUE(server.key.destroy());
}

TEST_F(Umr, ChangedAccess_IsWhatThePeerMeets) {
  ASSERT_TRUE(umrs.change_access(server.key.rkey(), server.pd.number(),
                                 {.local_write = true, .remote_read = true}, soon()));
  EXPECT_EQ(run(request(WqeOpcode::RDMA_READ), piece(0, 64)).status, WcStatus::SUCCESS);
  EXPECT_EQ(write_with(server.key.rkey()).status, WcStatus::REM_ACCESS_ERR);
  EXPECT_FALSE(key().access.remote_write || key().access.remote_atomic);
  EXPECT_TRUE(key().access.remote_read && key().access.local_write);
}

TEST_F(Umr, ChangeOfAFreeKey_FailsAndTheQueueRecovers) {
  ASSERT_TRUE(umrs.free_key(server.key.rkey(), soon()));
  const auto refused = umrs.change_access(server.key.rkey(), server.pd.number(), {}, soon());
  EXPECT_EQ(refused.error().code, Errc::DeviceFailed);
  EXPECT_TRUE(umrs.is_in_error());
  ASSERT_TRUE(umrs.recover());
  EXPECT_TRUE(umrs.free_key(client.key.rkey(), soon()));
}

TEST_F(Umr, ManyKeysFreedTogether_AreAllDead) {
  std::vector<pmd::MemoryKey> keys;
  std::vector<pmd::UmrQueue::Ticket> tickets;
  for (int i = 0; i < 100; ++i)
    keys.push_back(
        pmd::MemoryKey::create_mtt(hca->context(), server.pd, server.memory, Side::kEverything)
            .value());
  for (const pmd::MemoryKey& key : keys) tickets.push_back(umrs.submit_free(key.rkey()).value());
  for (const pmd::UmrQueue::Ticket ticket : tickets) ASSERT_TRUE(umrs.await(ticket, soon()));
  for (const pmd::MemoryKey& key : keys) EXPECT_TRUE(key.query(hca->context())->is_free);
}

TEST_F(Requests, PortIsUp) { EXPECT_TRUE(hca->port_state()->link_up); }

}  // namespace
}  // namespace portcullis::testing
