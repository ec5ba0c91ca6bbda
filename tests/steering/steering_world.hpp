// SPDX-License-Identifier: BSD-3-Clause
//
// A ConnectX-5 in software, brought up by the driver, with the port's own address set: what
// steering is set up on.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/model.hpp"
#include "pmd/hca.hpp"
#include "pmd/infiniband_port.hpp"
#include "pmd/roce_address.hpp"
#include "pmd/roce_path.hpp"
#include "steering/flow_drop.hpp"
#include "steering/loopback_pair.hpp"

namespace portcullis::testing {

class SteeringWorld : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kMs = kNsPerMs;
  /// RDMA_RX decides, and nothing else that was seen on one firmware holds.
  static std::vector<std::string> in_path() { return {"rdma-rx-in-path"}; }

  void start(std::vector<std::string> behaviours, const std::string& timing = "instant") {
    power_on(std::move(behaviours), timing, model::PortType::Ethernet);
    addresses.emplace(hca->context());
    const pmd::RoceAddress port{.gid = pmd::Gid::from_ipv4(192, 0, 2, 1),
                                .mac = {{2, 0, 0, 0, 0, 1}}};
    ASSERT_TRUE(addresses->set(0, port));
    path.remote_gid = port.gid;
    path.remote_mac = port.mac;
  }
  void start_infiniband(std::vector<std::string> behaviours) {
    power_on(std::move(behaviours), "instant", model::PortType::InfiniBand);
    const std::uint64_t until_ns = model->device().clock.now_ns() + 10'000 * kMs;
    path = {};
    path.remote_lid =
        pmd::wait_for_subnet(model->device(), *hca->context().commands, until_ns).value().lid;
  }
  void power_on(std::vector<std::string> behaviours, const std::string& timing,
                model::PortType port_type) {
    stop();
    model::Options options;
    options.timing = timing;
    options.behaviours = std::move(behaviours);
    options.port_type = port_type;
    model = model::Model::create(options).value();
    hca = pmd::Hca::bring_up(model->device(), {}).value();
  }
  void stop() {
    pair.reset();
    drop.reset();
    addresses.reset();
    hca.reset();
  }
  void TearDown() override { stop(); }

  steering::FlowDrop::Options options(const std::string& choice) const {
    steering::FlowDrop::Options made;
    made.choice = steering::parse_choice(choice).value();
    made.slots = 4;
    made.loopback = path;
    return made;
  }
  /// Null when there is no steering; `log` says why.
  steering::FlowDrop* set_up(const steering::FlowDrop::Options& with) {
    pair.reset();
    drop.reset();
    drop = steering::FlowDrop::set_up_or_say(
        hca->context(), with, [this](std::string_view line) { log.emplace_back(line); });
    return drop.get();
  }
  std::uint64_t deadline_ns() const { return hca->context().device.clock.now_ns() + 1000 * kMs; }
  steering::LoopbackPair& connect() {
    pair = steering::LoopbackPair::create(hca->context(), path).value();
    return *pair;
  }
  /// Whether a WRITE of `value` over `pair` ended with success within 50 ms.
  bool passes(std::uint64_t value) {
    EXPECT_TRUE(pair->post(value));
    return pair->outcome(50 * kMs).value() == prm::WcStatus::SUCCESS && pair->word() == value;
  }

  std::unique_ptr<model::Model> model;
  std::unique_ptr<pmd::Hca> hca;
  std::optional<pmd::RoceAddressTable> addresses;
  pmd::RocePath path;
  std::unique_ptr<steering::FlowDrop> drop;
  std::unique_ptr<steering::LoopbackPair> pair;
  std::vector<std::string> log;
};

}  // namespace portcullis::testing
