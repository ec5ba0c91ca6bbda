// SPDX-License-Identifier: BSD-3-Clause
//
// lease-verify without main and without verbs: the exchange, what is checked and said. What it does
// at leased is in leased_check.hpp.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "service/exchange/exchange.hpp"
#include "service/exchange/line_channel.hpp"
#include "tools/lease_verify/options.hpp"
#include "tools/lease_verify/requester.hpp"

namespace portcullis::tools::lease_verify {

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

/// "lease   65536 bytes at 0x0, write+read, ..".
[[nodiscard]] std::string lease_line(const service::exchange::Grant& grant);
/// False: it was checked and found wrong, and printed. An error: it could not be checked.
[[nodiscard]] Result<bool> run_data_check(const Options& options, const World& world,
                                          Requester& requester,
                                          const service::exchange::Grant& grant);
/// Nothing where no path was given.
void write_json(const std::string& path, const std::string& text);

/// Asks lease-serve for a lease and checks it. False: it was checked and found wrong, or a revoke
/// that was waited for did not come. An error: it could not be checked.
[[nodiscard]] Result<bool> run(const Options& options, const World& world);

}  // namespace portcullis::tools::lease_verify
