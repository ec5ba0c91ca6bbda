// SPDX-License-Identifier: BSD-3-Clause
//
// The client on another host that first-light --peer asks for: of each lease that it is granted it
// goes on until its queue pair fails, and tells what it saw by this host's clock.
#pragma once

#include "base/result.hpp"
#include "service/exchange/line_channel.hpp"
#include "tools/lease_verify/options.hpp"
#include "tools/lease_verify/program.hpp"

namespace portcullis::tools::lease_verify {

/// Whoever comes by `channel` and says that he is first-light is served until he says that it is
/// over; the others are told so and hung up on. An error ends it: who was there is gone, silent for
/// two minutes, or says what nobody may, or a queue pair could not be had; Timeout when nobody
/// came.
[[nodiscard]] Result<void> sweep(const Options& options, const World& world,
                                 service::exchange::LineChannel& channel);

/// Listens where the options say, and serves one sweep.
[[nodiscard]] Result<void> run_sweep(const Options& options, const World& world);

}  // namespace portcullis::tools::lease_verify
