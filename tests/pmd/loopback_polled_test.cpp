// SPDX-License-Identifier: BSD-3-Clause
//
// The data path while the device runs on a core of its own: what the owner bits, records and
// doorbells order, and ThreadSanitizer would find missing.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/dma_bytes.hpp"
#include "model/model.hpp"
#include "pmd/hca.hpp"
#include "pmd/roce_address.hpp"
#include "tests/pmd/loopback_side.hpp"

namespace portcullis::testing {
namespace {

using prm::WcStatus;

/// Runs a polled model as long as it lives.
class ModelCore {
 public:
  explicit ModelCore(model::Model& model) : thread_([this, &model] { model.run(stop_); }) {}
  ~ModelCore() {
    stop_ = true;
    thread_.join();
  }
  ModelCore(const ModelCore&) = delete;
  ModelCore& operator=(const ModelCore&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

struct PolledLoopback : ::testing::Test {
  PolledLoopback()
      : model(model::Model::create({.behaviours = {}, .execution = model::Execution::Polled})
                  .value()),
        core(*model),
        hca(pmd::Hca::bring_up(model->device(), {}).value()),
        addresses(hca->context()),
        client(Side::make(hca->context())),
        server(Side::make(hca->context())) {}

  void SetUp() override {
    ASSERT_TRUE(addresses.set(0, {kGid, kMac}));
    client.connect(server.qp.number(), kClientPsn, kServerPsn);
    server.connect(client.qp.number(), kServerPsn, kClientPsn);
  }
  pmd::Completion complete() {
    return client.cq.wait(hca->context().device.clock.now_ns() + 60 * kNsPerSecond).value();
  }
  [[nodiscard]] pmd::WriteRequest to(std::uint64_t offset, std::uint64_t wr_id) const {
    return {offset, server.key.rkey(), wr_id, true};
  }

  std::unique_ptr<model::Model> model;
  ModelCore core;
  std::unique_ptr<pmd::Hca> hca;
  pmd::RoceAddressTable addresses;
  Side client, server;
};

TEST_F(PolledLoopback, WritesCompleteInOrderAndLand) {
  constexpr std::uint64_t kWrites = 2000;
  std::vector<std::byte> line(64);
  for (std::uint64_t i = 0; i < kWrites; ++i) {
    line[0] = static_cast<std::byte>(i);
    ASSERT_TRUE(client.qp.post_write_inline(line, to(64 * (i % 1024), i)));
    client.qp.ring();
    const pmd::Completion done = complete();
    ASSERT_TRUE(done.ok()) << describe(done);
    ASSERT_EQ(done.wr_id, i);
    ASSERT_EQ(dma_peek(server.memory.bytes().data() + 64 * (i % 1024)), line[0]);
  }
}

TEST_F(PolledLoopback, DeepQueue_CompletesEveryRequest) {
  constexpr std::uint64_t kWrites = 2000;
  std::uint64_t posted = 0;
  for (std::uint64_t completed = 0; completed < kWrites; ++completed) {
    while (posted < kWrites && client.qp.outstanding_blocks() < 64) {
      ASSERT_TRUE(
          client.qp.post_write({0, client.key.lkey(), 64}, to(64 * (posted % 1024), posted)));
      client.qp.ring();
      ++posted;
    }
    const pmd::Completion done = complete();
    ASSERT_TRUE(done.ok()) << describe(done);
    ASSERT_EQ(done.wr_id, completed);
  }
}

TEST_F(PolledLoopback, ErrorUnderTraffic_FlushesTheRest) {
  for (std::uint64_t i = 0; i < 64; ++i)
    ASSERT_TRUE(client.qp.post_write({0, client.key.lkey(), 64}, to(0, i)));
  client.qp.ring();
  ASSERT_TRUE(client.qp.to_error());
  for (std::uint64_t i = 0; i < 64; ++i) {
    const pmd::Completion done = complete();
    ASSERT_EQ(done.wr_id, i);
    ASSERT_TRUE(done.ok() || done.status == WcStatus::WR_FLUSH_ERR) << describe(done);
  }
}

}  // namespace
}  // namespace portcullis::testing
