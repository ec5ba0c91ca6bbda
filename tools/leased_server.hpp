// SPDX-License-Identifier: BSD-3-Clause
//
// Where leased is and by what its clients are believed, as every command line spells it.
#pragma once

#include <array>
#include <CLI/CLI.hpp>
#include <string>

#include "base/result.hpp"
#include "client/link.hpp"

namespace portcullis::tools {

/// --authority, --certificate, --key and --server-name of a server of another host. They say
/// nothing without the option `server`, which names it. The three files, in this order, for whoever
/// cannot do without them.
std::array<CLI::Option*, 3> add_credentials(CLI::App& app, client::QuicServer& quic,
                                            CLI::Option& server);

/// What `option` says: "quic://HOST:PORT", with all three files of `quic`, or a socket's path, with
/// none. InvalidArgument names the option, what it says, and what is missing or too much.
[[nodiscard]] Result<client::ServerAddress> leased_server(const std::string& option,
                                                          const std::string& text,
                                                          const client::QuicServer& quic);

}  // namespace portcullis::tools
