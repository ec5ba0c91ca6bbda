// SPDX-License-Identifier: BSD-3-Clause
//
// Two sides of a connection on a function whose model runs on a core of its own.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "model/model.hpp"
#include "pmd/hca.hpp"
#include "pmd/roce_address.hpp"
#include "tests/pmd/loopback_side.hpp"

namespace portcullis::testing {

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
  explicit PolledLoopback(pmd::Access access = {.local_write = true, .remote_write = true},
                          const pmd::QueuePairOptions& options = {kLogEntries})
      : model(model::Model::create({.behaviours = {}, .execution = model::Execution::Polled})
                  .value()),
        core(*model),
        hca(pmd::Hca::bring_up(model->device(), {}).value()),
        addresses(hca->context()),
        client(Side::make(hca->context(), access, options)),
        server(Side::make(hca->context(), access, options)) {}

  void SetUp() override {
    ASSERT_TRUE(addresses.set(0, {kGid, kMac}));
    client.connect(server.qp.number(), kClientPsn, kServerPsn);
    server.connect(client.qp.number(), kServerPsn, kClientPsn);
  }
  [[nodiscard]] std::uint64_t in_a_minute() const {
    return hca->context().device.clock.now_ns() + 60 * kNsPerSecond;
  }
  pmd::Completion complete() { return client.cq.wait(in_a_minute()).value(); }

  std::unique_ptr<model::Model> model;
  ModelCore core;
  std::unique_ptr<pmd::Hca> hca;
  pmd::RoceAddressTable addresses;
  Side client, server;
};

}  // namespace portcullis::testing
