// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "client/link.hpp"
#include "pmd/access.hpp"
#include "tools/lease_verify/data_check.hpp"
#include "tools/lease_verify/revoke_test.hpp"

namespace portcullis::tools::lease_verify {

/// What leased is asked for, and when it is to take it back.
struct LeasedOptions {
  client::ServerAddress server = {};
  std::uint64_t bytes = 65'536;
  std::uint64_t ttl_ms = 0;  // 0: the server's
  std::uint32_t timeout = 14;
  std::uint32_t retry = 6;
  pmd::Access access = {.remote_write = true, .remote_read = true};
  bool cooperate = false;
  std::optional<std::uint64_t> revoke_after_ms = {};
};

struct Options {
  std::string device = {};
  std::uint32_t port = 1;
  int gid_index = -1;
  std::string server = {};        // HOST:PORT
  std::string request_file = {};  // or these two
  std::string grant_file = {};
  std::optional<LeasedOptions> leased = {};  // or this
  std::string listen = {};                   // or this: [HOST:]PORT, for first-light --peer
  std::uint64_t wait_ms = 30'000;
  bool revoke_test = false;
  DataCheckOptions data = {};
  RevokeTestOptions revoke = {};
  std::string json_file = {};
  std::optional<std::string> text = {};  // --help: print and leave
};

/// InvalidArgument names the argument and what is accepted.
[[nodiscard]] Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace portcullis::tools::lease_verify
