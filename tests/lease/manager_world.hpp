// SPDX-License-Identifier: BSD-3-Clause
//
// A lease manager on a scripted function, with one lease granted: for tests of which commands it
// sends, when, and what it keeps after a failure.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lease/lease_manager.hpp"
#include "tests/lease/noted_ports.hpp"
#include "tests/lease/scripted_function.hpp"

namespace portcullis::testing {

class ManagerWorld : public ::testing::Test {
 protected:
  /// A manager with a lease granted before, so that its completion queue is there.
  void SetUp() override { start({}); }

  void start(lease::LeaseManager::Options options) {
    options.table.slots = slots;
    options.grant.psn_seed = 7;
    manager.reset();
    manager = lease::LeaseManager::create(host, options).value();
    first = manager->grant(request).value();
    function.forget();
  }

  lease::Lease granted() {
    const lease::Lease made = manager->grant(request).value().lease;
    function.forget();
    return made;
  }
  lease::Lease granted_for(std::uint64_t ttl_ms) {
    request.ttl_ms = ttl_ms;
    const lease::Lease made = granted();
    request.ttl_ms = 0;
    return made;
  }
  static lease::LeaseName name_of(const lease::Lease& of) { return {of.id, of.epoch}; }
  lease::RevokeAnswer revoke(const lease::Lease& of) { return manager->revoke(of.id, of.epoch); }
  lease::State state(const lease::Lease& of) const { return manager->table().state(of.slot); }
  /// The idle path at `at_ms` after the start.
  void poll_at(std::uint64_t at_ms) {
    function.now_ns = ScriptedFunction::kStartNs + at_ms * kNsPerMs;
    manager->poll();
  }
  std::vector<prm::Opcode> opcodes() const { return function.channel.opcodes(); }
  std::uint32_t fence_bits(const lease::Lease& of) const {
    return manager->table().verdict(of.slot).failed_mask;
  }

  std::uint32_t slots = 4;  // of the managers that are started
  ScriptedFunction function;
  std::deque<pmd::Event> events;
  std::vector<std::string> log;
  std::uint32_t fence_slots = 3;
  NotedDropRule drop;
  lease::Host host{.context = &function.context,
                   .steering = nullptr,
                   .next_event =
                       [this] {
                         std::optional<pmd::Event> event;
                         if (!events.empty()) {
                           event = events.front();
                           events.pop_front();
                         }
                         return event;
                       },
                   .fence_slots_available = [this] { return fence_slots; },
                   .on_event = {},
                   .log = [this](std::string_view line) { log.emplace_back(line); }};
  lease::GrantRequest request{.bytes = 5000,
                              .peer = {.qpn = prm::QpNumber{0x77},
                                       .psn = 0x123456,
                                       .gid = pmd::Gid::from_ipv4(192, 0, 2, 1),
                                       .mac = {{2, 0, 0, 0, 0, 1}}}};
  std::unique_ptr<lease::LeaseManager> manager;
  lease::Grant first;
};

}  // namespace portcullis::testing
