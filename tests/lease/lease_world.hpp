// SPDX-License-Identifier: BSD-3-Clause
//
// A ConnectX-5 in software, a lease manager on it, and clients on the same function that write
// through their leases over its own port.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/dma_bytes.hpp"
#include "lease/lease_manager.hpp"
#include "lease/umr_freer.hpp"
#include "model/model.hpp"
#include "pmd/hca.hpp"
#include "pmd/infiniband_port.hpp"
#include "pmd/roce_address.hpp"
#include "pmd/umr_queue.hpp"
#include "prm/enums.hpp"
#include "prm/opcodes.hpp"
#include "tests/lease/lease_client.hpp"

namespace portcullis::testing {

/// An IOMMU that can be told not to let go of anything.
class StubbornDmaSpace final : public DmaSpace {
 public:
  explicit StubbornDmaSpace(DmaSpace& space) : space_(&space) {}
  Result<Iova> map(std::span<std::byte> memory) override { return space_->map(memory); }
  Result<void> unmap(Iova iova, std::size_t bytes) override {
    if (refuse) return fail(Errc::System, "the IOMMU refuses to unmap");
    return space_->unmap(iova, bytes);
  }
  Result<void> retire(Iova iova, std::size_t bytes) override {
    if (refuse) return fail(Errc::System, "the IOMMU refuses to unmap");
    retired.push_back(iova);
    return space_->retire(iova, bytes);
  }
  bool refuse = false;
  std::vector<Iova> retired;

 private:
  DmaSpace* space_;
};

/// The core of a polled model.
class ModelCore {
 public:
  explicit ModelCore(std::function<void(const std::atomic<bool>&)> run)
      : thread_([this, run = std::move(run)] { run(end_); }) {}
  ModelCore(const ModelCore&) = delete;
  ~ModelCore() {
    end_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> end_ = false;
  std::thread thread_;
};

class LeaseWorld : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kMs = kNsPerMs;

  void SetUp() override { start({}); }
  void TearDown() override { stop(); }

  /// From reset to a manager.
  void start(lease::LeaseManager::Options options, const std::string& timing = "instant",
             model::Execution execution = model::Execution::Stepped) {
    stop();
    core.reset();
    model.reset();
    model::Options emulated;
    emulated.timing = timing;
    emulated.execution = execution;
    emulated.behaviours = behaviours;
    model = model::Model::create(emulated).value();
    if (execution == model::Execution::Polled)
      core.emplace([this](const std::atomic<bool>& end) { model->run(end); });
    device = model->device();
    dma.emplace(*device.dma);
    device.dma = &*dma;
    bring_up();
    options.table.slots = slots;
    options.grant.psn_seed = 7;
    manager = lease::LeaseManager::create(host(), options).value();
  }
  void bring_up() {
    auto up = pmd::Hca::bring_up(device, {});
    ASSERT_TRUE(up) << up.error().text;
    hca = *std::move(up);
    if (hca->context().caps.port_type == prm::number(prm::PortType::IB)) {
      lid = pmd::wait_for_subnet(device, *hca->context().commands,
                                 device.clock.now_ns() + 10'000 * kMs)
                .value()
                .lid;
    } else {
      addresses.emplace(hca->context());
      ASSERT_TRUE(addresses->set(0, kPort));
    }
    umr_queue.emplace(pmd::UmrQueue::create(hca->context()).value());
    umr.emplace(*umr_queue);
  }
  void stop() {
    manager.reset();
    clients.clear();
    umr.reset();
    umr_queue.reset();
    addresses.reset();
    hca.reset();
  }
  lease::Host host() {
    lease::Host of_hca = lease::Host::of(*hca);
    of_hca.umr = &*umr;
    of_hca.on_outcome = on_outcome;
    of_hca.log = [this](std::string_view line) { log.emplace_back(line); };
    return of_hca;
  }

  /// A client with a lease of its own, connected.
  Client& client(std::uint8_t ack_timeout = 8, std::uint8_t retry_count = 3) {
    clients.push_back(std::make_unique<Client>(Client::create(hca->context(), lid)));
    Client& made = *clients.back();
    auto grant = manager->grant({.bytes = kPageBytes,
                                 .peer = made.peer(),
                                 .ack_timeout = ack_timeout,
                                 .retry_count = retry_count});
    EXPECT_TRUE(grant) << grant.error().text;
    made.connect(grant.value());
    return made;
  }
  lease::RevokeAnswer revoke(const Client& of, const lease::Plan& plan = lease::seed_plan()) {
    return manager->revoke(of.grant.lease.id, of.grant.lease.epoch, plan);
  }
  lease::State state(const Client& of) const { return manager->table().state(of.grant.lease.slot); }
  /// Word `index` of the client's lease, as this side sees it.
  std::uint64_t word(const Client& of, std::size_t index = 0) const {
    return dma_peek_u64(manager->memory(of.grant.lease).data() + index * sizeof(std::uint64_t));
  }
  /// All of the client's lease.
  std::vector<std::uint64_t> words(const Client& of) const {
    std::vector<std::uint64_t> list;
    for (std::size_t i = 0; i < kPageBytes / sizeof(std::uint64_t); ++i)
      list.push_back(word(of, i));
    return list;
  }
  /// Lets `ms` pass on the device's clock, with the idle path running.
  void pass_ms(std::uint64_t ms) {
    const std::uint64_t until_ns = device.clock.now_ns() + ms * kMs;
    while (device.clock.now_ns() < until_ns) {
      device.relax(std::min(until_ns, device.clock.now_ns() + kMs));
      manager->poll();
    }
  }
  /// From now on, every command of `opcode` meets `kind`.
  void break_command(prm::Opcode opcode, model::CommandFaultRule::Kind kind, bool repeat = true) {
    model->inject(model::CommandFaultRule{.opcode = prm::number(opcode),
                                          .kind = kind,
                                          .status = prm::number(prm::CommandStatus::BAD_RES_ERR),
                                          .repeat = repeat});
  }

  std::uint32_t slots = 8;              // of the managers that are started
  std::vector<std::string> behaviours;  // of the models
  std::function<void(const lease::Lease&, const lease::Verdict&)> on_outcome;  // of the same
  std::unique_ptr<model::Model> model;
  std::optional<ModelCore> core;
  Device device = nothing();
  std::optional<StubbornDmaSpace> dma;
  std::unique_ptr<pmd::Hca> hca;
  std::optional<pmd::RoceAddressTable> addresses;
  std::uint16_t lid = 0;  // of an InfiniBand port
  std::optional<pmd::UmrQueue> umr_queue;
  std::optional<lease::UmrFreer> umr;
  std::vector<std::string> log;
  std::vector<std::unique_ptr<Client>> clients;
  std::unique_ptr<lease::LeaseManager> manager;

 private:
  static Device nothing() {
    return {.bar = {},
            .clock = Clock::wall(),
            .relax = Relax([](void*, std::uint64_t) noexcept {}, nullptr),
            .description = {}};
  }
};

}  // namespace portcullis::testing
