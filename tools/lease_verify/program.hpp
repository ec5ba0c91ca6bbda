// SPDX-License-Identifier: BSD-3-Clause
//
// lease-verify without main and without verbs: arguments, the exchange, what is checked and said.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "service/exchange/exchange.hpp"
#include "service/exchange/line_channel.hpp"
#include "tools/lease_verify/data_check.hpp"
#include "tools/lease_verify/requester.hpp"
#include "tools/lease_verify/revoke_test.hpp"

namespace portcullis::tools::lease_verify {

struct Options {
  std::string device;
  std::uint32_t port = 1;
  int gid_index = -1;
  std::string server;        // HOST:PORT
  std::string request_file;  // or these two
  std::string grant_file;
  std::uint64_t wait_ms = 30'000;
  bool revoke_test = false;
  DataCheckOptions data;
  RevokeTestOptions revoke;
  std::string json_file;
  std::optional<std::string> text;  // --help: print and leave
};

/// InvalidArgument names the argument and what is accepted.
[[nodiscard]] Result<Options> parse_options(int argc, const char* const* argv);

/// What the program needs of the world; main gives it the real one.
struct World {
  std::function<Result<std::unique_ptr<Requester>>(const Options&)> open_requester;
  std::function<bool()> stop;                     // Ctrl-C
  std::function<void(const std::string&)> print;  // a line of standard output
};

/// Asks for a lease for `requester`. `channel` stays open as long as the lease is used: over TCP
/// the server takes its end for the client's.
[[nodiscard]] Result<service::exchange::Grant> ask(
    const Options& options, const World& world, const Requester& requester,
    std::unique_ptr<service::exchange::LineChannel>& channel);

/// Asks for a lease and checks it. False: it was checked and found wrong, or a revoke that was
/// waited for did not come. An error: it could not be checked.
[[nodiscard]] Result<bool> run(const Options& options, const World& world);

}  // namespace portcullis::tools::lease_verify
