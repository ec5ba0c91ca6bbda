// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for a program's own steering under requests of an RC QP, against the model: entries go
// there by WRITE and come back by READ (dr_post_send of rdma-core's dr_send.c), and a key of it is
// good for nothing beyond its range.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/model.hpp"
#include "model/steering/sw_icm.hpp"
#include "pmd/hca.hpp"
#include "pmd/roce_address.hpp"
#include "prm/object_commands.hpp"
#include "prm/steering_commands.hpp"
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

constexpr std::uint32_t kLogBytes = 14;
constexpr std::uint64_t kBytes = 1 << kLogBytes;
constexpr std::uint32_t kMessage = 5000;  // several packets

struct SteeringMemoryRequests : ::testing::Test {
  SteeringMemoryRequests()
      : model(model::Model::create({}).value()),
        hca(pmd::Hca::bring_up(model->device(), {}).value()),
        addresses(hca->context()),
        client(Side::make(hca->context(), Side::kEverything, {kLogEntries, 4})),
        server(Side::make(hca->context(), Side::kEverything, {kLogEntries, 4})) {
    allocate();
    key = make_key(server.pd);
  }

  void SetUp() override {
    ASSERT_TRUE(addresses.set(0, {kGid, kMac}));
    client.connect(server.qp.number(), kClientPsn, kServerPsn);
    server.connect(client.qp.number(), kServerPsn, kClientPsn);
    for (std::size_t i = 0; i < kBytes; ++i)
      client.memory.bytes()[i] = static_cast<std::byte>(i * 31 + i / 257);
  }
  [[nodiscard]] pmd::CommandChannel& commands() const { return *hca->context().commands; }
  /// mlx5_dm_sw_icm_alloc of mlx5/core/lib/dm.c.
  void allocate() const {
    prm::Buffer<prm::general_obj_in_cmd_hdr> head;
    head.put<"opcode">(Opcode::CREATE_GENERAL_OBJECT);
    head.set<"obj_type", prm::kObjTypeSwIcm>();
    prm::Buffer<prm::sw_icm> memory;
    memory.set<"log_sw_icm_size", kLogBytes>().put<"sw_icm_start_addr">(model::SwIcm::kEntriesAt);
    std::vector<std::byte> in(head.all().begin(), head.all().end());
    in.insert(in.end(), memory.all().begin(), memory.all().end());
    prm::Buffer<prm::general_obj_out_cmd_hdr> out;
    ASSERT_TRUE(commands().execute(in, out.all(), pmd::SlotClass::Common,
                                   commands().default_deadline_ns()));
    ASSERT_EQ(out.get<"status">(), 0U);
  }
  [[nodiscard]] std::uint32_t make_key(const pmd::ProtectionDomain& pd) const {
    return make_card_key(commands(), pd, prm::kMkcModeSwIcm, model::SwIcm::kEntriesAt, kBytes);
  }
  WcStatus run(WqeOpcode opcode, std::uint64_t remote, std::uint64_t local, std::uint32_t bytes) {
    WorkRequest request;
    request.opcode = opcode;
    request.remote_address = remote;
    request.rkey = prm::Rkey{key};
    EXPECT_TRUE(client.qp.post(request, GatherEntry{local, client.key.lkey(), bytes}));
    client.qp.ring();
    return client.cq.wait(hca->context().device.clock.now_ns() + 60 * kNsPerSecond).value().status;
  }
  [[nodiscard]] std::vector<std::byte> local(std::size_t offset, std::size_t bytes) const {
    const auto part = client.memory.bytes().subspan(offset, bytes);
    return {part.begin(), part.end()};
  }

  std::unique_ptr<model::Model> model;
  std::unique_ptr<pmd::Hca> hca;
  pmd::RoceAddressTable addresses;
  Side client, server;
  std::uint32_t key = 0;
};

TEST_F(SteeringMemoryRequests, ReadAfterWrite_FetchesWhatWasWritten) {
  constexpr std::uint64_t kBack = 1 << 16;
  ASSERT_EQ(run(WqeOpcode::RDMA_WRITE, 100, 7, kMessage), WcStatus::SUCCESS);
  ASSERT_EQ(run(WqeOpcode::RDMA_READ, 100, kBack, kMessage), WcStatus::SUCCESS);
  EXPECT_EQ(local(kBack, kMessage), local(7, kMessage));
}

TEST_F(SteeringMemoryRequests, ReadOfWhatNobodyWrote_FetchesZeros) {
  ASSERT_EQ(run(WqeOpcode::RDMA_READ, 0, 0, 64), WcStatus::SUCCESS);
  EXPECT_EQ(local(0, 64), std::vector<std::byte>(64));
}

TEST_F(SteeringMemoryRequests, WriteBeyondTheKey_IsARemoteAccessError) {
  EXPECT_EQ(run(WqeOpcode::RDMA_WRITE, kBytes - 32, 0, 64), WcStatus::REM_ACCESS_ERR);
}

}  // namespace
}  // namespace portcullis::testing
