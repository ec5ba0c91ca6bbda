// SPDX-License-Identifier: BSD-3-Clause
//
// Options of the packet simulator beside the scenario: what hosts and switches do in this run.
// packet and sweep have them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pfc/cbd/split_flows.hpp"
#include "pfc/packet/options.hpp"
#include "pfc/topology.hpp"

namespace portcullis::tools::pfc_deadlock {

struct PacketConditions {
  std::vector<std::string> limits;
  std::uint32_t packet_bytes = 1000;
  std::vector<std::string> sizes;
  bool pause_in_band = true;
  double response_us = 0;
  std::uint32_t quanta = 0;
  std::uint32_t refresh = 0;
  std::vector<std::string> storms;
  std::string schedule = "turns";
  std::string ecn;
  bool dcqcn = false;
  std::vector<std::string> dcqcn_settings;
  std::uint64_t seed = 1;  // of marks; no option of describe()
  pfc::packet::WatchdogAction watchdog = pfc::packet::WatchdogAction::None;
  double detect_ms = 200;
  double restore_ms = 200;
  double poll_ms = 0;
  std::vector<std::string> watchdog_ports;
};

void describe(CLI::App& app, PacketConditions& conditions);

/// `topology` as it was given, `flows` as they were split; `until` is that of the run. With a
/// watchdog it goes on behind a lock, which may be ended.
/// InvalidArgument names the option.
[[nodiscard]] Result<pfc::packet::RunOptions> run_options(const PacketConditions& conditions,
                                                          const pfc::Topology& topology,
                                                          const pfc::cbd::SplitFlows& flows,
                                                          pfc::packet::Picoseconds until);

}  // namespace portcullis::tools::pfc_deadlock
