// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory under every request of an RC QP, local and remote, against the model: what the CPU
// stores into BAR 0 goes out, what comes in is there for it to load, and none of it is DMA.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "base/dma_bytes.hpp"
#include "model/model.hpp"
#include "pmd/hca.hpp"
#include "pmd/roce_address.hpp"
#include "prm/device_memory_commands.hpp"
#include "prm/hca_commands.hpp"
#include "prm/object_commands.hpp"
#include "tests/pmd/card_key.hpp"
#include "tests/pmd/loopback_side.hpp"

namespace portcullis::testing {
namespace {

using pmd::Completion;
using pmd::GatherEntry;
using pmd::WorkRequest;
using prm::Opcode;
using prm::WcStatus;
using prm::WqeOpcode;

constexpr std::uint64_t kBytes = 16384;
constexpr std::uint32_t kMessage = 5000;  // several packets

/// Counts what the device read and wrote between two addresses.
class Ear final : public model::DmaObserver {
 public:
  explicit Ear(std::span<const std::byte> memory) : memory_(memory) {}
  void on_dma(std::span<const std::byte> memory, bool /*is_write*/) noexcept override {
    const bool is_inside = memory.data() + memory.size() > memory_.data() &&
                           memory.data() < memory_.data() + memory_.size();
    heard += is_inside ? 1 : 0;
  }
  std::size_t heard = 0;

 private:
  std::span<const std::byte> memory_;
};

struct DeviceMemoryRequests : ::testing::Test {
  DeviceMemoryRequests()
      : model(model::Model::create({}).value()),
        hca(pmd::Hca::bring_up(model->device(), {}).value()),
        addresses(hca->context()),
        client(Side::make(hca->context(), Side::kEverything, {kLogEntries, 4})),
        server(Side::make(hca->context(), Side::kEverything, {kLogEntries, 4})),
        at(allocate()),
        client_key(make_key(client.pd)),
        server_key(make_key(server.pd)) {}

  void SetUp() override {
    ASSERT_TRUE(addresses.set(0, {kGid, kMac}));
    const pmd::RtsAttributes how{.timeout = 10, .retry_count = 6, .rnr_retry = 7};
    client.connect(server.qp.number(), kClientPsn, kServerPsn, how);
    server.connect(client.qp.number(), kServerPsn, kClientPsn, how);
    for (std::size_t i = 0; i < kBytes; ++i) {
      card()[i] = static_cast<std::byte>(i * 13 + i / 251);
      client.memory.bytes()[i] = static_cast<std::byte>(i * 31 + i / 257);
      server.memory.bytes()[i] = static_cast<std::byte>(i * 7 + i / 129);
    }
  }
  [[nodiscard]] pmd::CommandChannel& commands() const { return *hca->context().commands; }
  [[nodiscard]] std::uint64_t allocate() const {
    prm::Buffer<prm::query_hca_cap_in> query;
    query.set<"opcode", Opcode::QUERY_HCA_CAP>();
    query.put<"op_mod">(prm::cap_op_mod(prm::CapType::DEV_MEM));
    const auto caps = pmd::run<prm::query_hca_cap_out>(commands(), query).value();
    const auto page = prm::ConstView<prm::device_mem_cap>::at(caps.bytes<"capability">());
    prm::Buffer<prm::alloc_memic_in> in;
    in.set<"opcode", Opcode::ALLOC_MEMIC>().put<"memic_size">(kBytes).put<"range_size">(kBytes);
    in.put<"range_start_addr">(page.get<"memic_bar_start_addr">());
    return pmd::run<prm::alloc_memic_out>(commands(), in).value().get<"memic_start_addr">();
  }
  [[nodiscard]] std::uint32_t make_key(const pmd::ProtectionDomain& pd) const {
    return make_card_key(commands(), pd, prm::kMkcModeMemic, at, kBytes, /*has_atomics=*/true);
  }
  /// The memory as the CPU has it.
  [[nodiscard]] std::span<std::byte> card() const {
    return hca->context().device.bar.subspan(at, kBytes);
  }
  static std::vector<std::byte> copy_of(std::span<const std::byte> from, std::size_t offset,
                                        std::size_t bytes) {
    std::vector<std::byte> copy(bytes);
    dma_copy(copy.data(), from.data() + offset, bytes);
    return copy;
  }
  static std::uint64_t word_of(std::span<const std::byte> from, std::size_t offset) {
    std::uint64_t word = 0;
    std::memcpy(&word, from.data() + offset, sizeof word);
    return word;
  }
  [[nodiscard]] WorkRequest request(WqeOpcode opcode, prm::Rkey rkey,
                                    std::uint64_t offset = 0) const {
    WorkRequest request;
    request.opcode = opcode;
    request.remote_address = offset;
    request.rkey = rkey;
    return request;
  }
  [[nodiscard]] prm::Rkey remote_card() const { return prm::Rkey{server_key}; }
  [[nodiscard]] GatherEntry local_card(std::uint64_t offset, std::uint32_t bytes) const {
    return {offset, client_key, bytes};
  }
  [[nodiscard]] GatherEntry local_host(std::uint64_t offset, std::uint32_t bytes) const {
    return {offset, client.key.lkey(), bytes};
  }
  [[nodiscard]] Completion wait(Side& side) const {
    return side.cq.wait(hca->context().device.clock.now_ns() + 60 * kNsPerSecond).value();
  }
  WcStatus run(const WorkRequest& wanted, const GatherEntry& local) {
    EXPECT_TRUE(client.qp.post(wanted, local));
    client.qp.ring();
    return wait(client).status;
  }

  std::unique_ptr<model::Model> model;
  std::unique_ptr<pmd::Hca> hca;
  pmd::RoceAddressTable addresses;
  Side client, server;
  std::uint64_t at;
  std::uint32_t client_key, server_key;
};

TEST_F(DeviceMemoryRequests, WriteToTheRemoteCard_IsThereForItsCpu) {
  const auto beside = copy_of(card(), 100 + kMessage, 64);
  ASSERT_EQ(run(request(WqeOpcode::RDMA_WRITE, remote_card(), 100), local_host(7, kMessage)),
            WcStatus::SUCCESS);
  EXPECT_EQ(copy_of(card(), 100, kMessage), copy_of(client.memory.bytes(), 7, kMessage));
  EXPECT_EQ(copy_of(card(), 100 + kMessage, 64), beside);
}

TEST_F(DeviceMemoryRequests, WriteFromTheLocalCard_SendsWhatItsCpuStored) {
  ASSERT_EQ(run(request(WqeOpcode::RDMA_WRITE, server.key.rkey(), 9), local_card(60, kMessage)),
            WcStatus::SUCCESS);
  EXPECT_EQ(copy_of(server.memory.bytes(), 9, kMessage), copy_of(card(), 60, kMessage));
}

TEST_F(DeviceMemoryRequests, ReadOfTheRemoteCard_FetchesWhatItsCpuStored) {
  ASSERT_EQ(run(request(WqeOpcode::RDMA_READ, remote_card(), 33), local_host(0, kMessage)),
            WcStatus::SUCCESS);
  EXPECT_EQ(copy_of(client.memory.bytes(), 0, kMessage), copy_of(card(), 33, kMessage));
}

TEST_F(DeviceMemoryRequests, ReadIntoTheLocalCard_IsThereForItsCpu) {
  ASSERT_EQ(run(request(WqeOpcode::RDMA_READ, server.key.rkey(), 5), local_card(200, kMessage)),
            WcStatus::SUCCESS);
  EXPECT_EQ(copy_of(card(), 200, kMessage), copy_of(server.memory.bytes(), 5, kMessage));
}

TEST_F(DeviceMemoryRequests, SendBetweenCards_FillsTheReceive) {
  const auto sent = copy_of(card(), 0, kMessage);
  ASSERT_TRUE(server.qp.post_receive(GatherEntry{8192, server_key, kMessage}, 7));
  server.qp.ring_receives();
  ASSERT_EQ(run(request(WqeOpcode::SEND, {}), local_card(0, kMessage)), WcStatus::SUCCESS);
  EXPECT_EQ(wait(server).status, WcStatus::SUCCESS);
  EXPECT_EQ(copy_of(card(), 8192, kMessage), sent);
}

TEST_F(DeviceMemoryRequests, FetchAndAddOnTheRemoteCard_AddsAndTellsWhatWasThere) {
  const std::uint64_t was = word_of(card(), 128);
  WorkRequest atomic = request(WqeOpcode::ATOMIC_FA, remote_card(), 128);
  atomic.swap_or_add = 5;
  ASSERT_EQ(run(atomic, local_card(256, 8)), WcStatus::SUCCESS);
  EXPECT_EQ(word_of(card(), 128), was + 5);
  const std::uint64_t told = word_of(card(), 256);
  EXPECT_EQ(hca->context().caps.atomic_host_order ? told : cells::be64(told), was);
}

TEST_F(DeviceMemoryRequests, CompareAndSwapOnTheRemoteCard_SwapsWhatIsEqual) {
  WorkRequest atomic = request(WqeOpcode::ATOMIC_CS, remote_card(), 64);
  atomic.compare = word_of(card(), 64);
  atomic.swap_or_add = 0x1122334455667788;
  ASSERT_EQ(run(atomic, local_host(0, 8)), WcStatus::SUCCESS);
  EXPECT_EQ(word_of(card(), 64), 0x1122334455667788U);
}

TEST_F(DeviceMemoryRequests, IndirectKey_LeadsToTheCardAndToTheHost) {
  const std::vector<pmd::KeyRange> ranges{{remote_card(), 500, 100}, {server.key.rkey(), 40, 100}};
  const auto both = pmd::MemoryKey::create_klm(hca->context(), server.pd, ranges,
                                               {.local_write = true, .remote_write = true})
                        .value();
  ASSERT_EQ(run(request(WqeOpcode::RDMA_WRITE, both.rkey()), local_host(0, 200)),
            WcStatus::SUCCESS);
  EXPECT_EQ(copy_of(card(), 500, 100), copy_of(client.memory.bytes(), 0, 100));
  EXPECT_EQ(copy_of(server.memory.bytes(), 40, 100), copy_of(client.memory.bytes(), 100, 100));
}

TEST_F(DeviceMemoryRequests, BehindTheEndOfTheKey_IsARemoteAccessError) {
  EXPECT_EQ(run(request(WqeOpcode::RDMA_WRITE, remote_card(), kBytes - 4), local_host(0, 8)),
            WcStatus::REM_ACCESS_ERR);
}

// The key's addresses begin at 0, though its context says where in BAR 0 it is.
TEST_F(DeviceMemoryRequests, AddressInTheBar_IsARemoteAccessError) {
  EXPECT_EQ(run(request(WqeOpcode::RDMA_WRITE, remote_card(), at), local_host(0, 8)),
            WcStatus::REM_ACCESS_ERR);
}

TEST_F(DeviceMemoryRequests, NoneOfIt_IsDma) {
  Ear ear(card());
  model->observe_dma(&ear);
  const WcStatus written =
      run(request(WqeOpcode::RDMA_WRITE, remote_card(), 8192), local_card(0, kMessage));
  const WcStatus read =
      run(request(WqeOpcode::RDMA_READ, remote_card(), 8192), local_card(0, kMessage));
  model->observe_dma(nullptr);
  EXPECT_EQ(written, WcStatus::SUCCESS);
  EXPECT_EQ(read, WcStatus::SUCCESS);
  EXPECT_EQ(ear.heard, 0U);
  EXPECT_EQ(model->counters().dma_faults, 0U);
}

}  // namespace
}  // namespace portcullis::testing
