// SPDX-License-Identifier: BSD-3-Clause
//
// lease-serve without main: arguments, and the life of a lease that a client on another host asks
// for: granted over the exchange, held, revoked by a plan, and its memory watched afterwards.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "lease/lease_manager.hpp"
#include "service/client_desk.hpp"
#include "service/exchange/exchange.hpp"
#include "service/exchange/line_channel.hpp"
#include "service/served_port.hpp"
#include "steering/flow_drop.hpp"
#include "tools/fabric_residence.hpp"

namespace portcullis::tools::lease_serve {

struct Options {
  std::string device = "model";
  std::optional<pmd::Gid> address;
  std::uint32_t dscp = 0;
  std::uint32_t priority = 0;
  std::optional<std::uint32_t> vlan;
  std::string listen;        // [HOST:]PORT
  std::string request_file;  // or these two
  std::string grant_file;
  service::LeaseTerms terms;
  std::string contents;  // of the region when it is granted; zeros behind them
  lease::Plan plan = lease::seed_plan();
  std::optional<steering::Choice> steering;  // none: as the plan needs it
  bool allow_function_drop = false;
  std::uint64_t revoke_after_ms = 0;  // 0: on a command
  FabricOptions fabric;
  std::uint64_t residence_ms = 0;  // of the fabric; run() works it out
  std::uint64_t watch_ms = 2'000;
  std::uint32_t leases = 1;  // one after the other
  std::string json_file;
  std::string dump_file;
  std::vector<std::string> eal;     // what stood before "--"
  std::optional<std::string> text;  // of --help
};

/// InvalidArgument names the argument and what is accepted.
[[nodiscard]] Result<Options> parse_options(int argc, const char* const* argv);

/// What the program needs of the world; main gives it the real one.
struct World {
  std::function<bool()> stop;                     // Ctrl-C: revoke, and end
  std::function<bool()> revoke_asked;             // a command
  std::function<void(const std::string&)> print;  // a line of standard output
};

/// What became of one lease.
struct Served {
  bool good = true;       // TornDown, and no byte changed after the outcome
  std::string json = {};  // one object; empty when told to stop before anybody came
  bool counts = true;     // the client was told of its lease; else it hung up before
};

/// One lease from request to the end of the watch. A peer whose line is no request, or whose grant
/// fails, is told so and the next awaited. An error comes when the lease was taken back again.
[[nodiscard]] Result<Served> serve(const Options& options, const World& world,
                                   service::ServedPort& port,
                                   service::exchange::LineChannel& channel);

/// What the fabric under the lease is told: DSCP, priority, VLAN, and what is not supported.
[[nodiscard]] std::string path_text(const Options& options);

/// Opens the device and the exchange, then serves lease after lease. False when one was not good.
[[nodiscard]] Result<bool> run(const Options& options, const World& world);

}  // namespace portcullis::tools::lease_serve
