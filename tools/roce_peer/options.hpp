// SPDX-License-Identifier: BSD-3-Clause
//
// What the user asked roce-peer for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pmd/gid.hpp"
#include "tools/roce_peer/ping_pong.hpp"

namespace portcullis::tools::roce_peer {

struct Options {
  std::string device;
  std::optional<pmd::Gid> address;
  std::string server;
  bool ping_pong = false;
  PingPongOptions messages;
  std::uint32_t rounds = 2;  // of the check
  std::vector<std::string> eal;
  std::optional<std::string> text;  // of --help
};

/// InvalidArgument names the argument and what is accepted.
[[nodiscard]] Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace portcullis::tools::roce_peer
