// SPDX-License-Identifier: BSD-3-Clause
//
// What the user asked fence-audit for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pmd/gid.hpp"

namespace portcullis::tools::fence_audit {

struct Options {
  std::string device;
  std::vector<std::string> plans;     // each accepted by lease::parse_plan
  std::uint64_t fences = 10'000;      // for each plan
  std::uint32_t leases = 16;          // under traffic at a time
  std::uint64_t interval_ns = 2'000;  // between WRITEs, all clients together
  std::uint64_t watch_ms = 5;         // after the last outcome of a round
  std::uint32_t timeout = 8;          // of the clients
  std::uint32_t retry = 3;
  /// [HOST:]PORT where lease-verify asks; empty: clients of our own, by loopback.
  std::string listen;
  std::optional<pmd::Gid> address;  // of the port then; none: its link-local one
  std::string json;                 // file; empty: none
  std::vector<std::string> eal;     // the program's name and what stood before `--`
  std::string text;                 // --help: print and leave
};

/// InvalidArgument with one line that names the argument and what is accepted.
[[nodiscard]] Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace portcullis::tools::fence_audit
