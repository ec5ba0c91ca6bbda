// SPDX-License-Identifier: BSD-3-Clause
#include "tools/roce_peer/options.hpp"

#include <CLI/CLI.hpp>

#include "program/eal_options.hpp"
#include "service/exchange/line_channel.hpp"
#include "tools/own_port.hpp"

namespace portcullis::tools::roce_peer {
namespace {

constexpr const char* kFooter = R"(
Owns a port through the driver and asks, over it, whoever grants memory in lease-serve's exchange:
writes, reads and compares every byte, and tries atomics where they are granted. With --ping-pong
SENDs go back and forth, each echo compared; the grant then names no memory. Before `--` stand EAL
arguments:
  roce-peer -l 2 -a 0000:03:00.0 -- --device 0000:03:00.0 --address 192.0.2.1 \
      --server 192.0.2.2:7472

exit status: 0 all is as it should be, 1 something was wrong, 2 nothing could be checked)";

void add_options(CLI::App& app, Options& options) {
  add_port_options(app, options.device, options.address);
  app.add_option("--server", options.server, "who grants")->type_name("HOST:PORT")->required();
  auto* const rounds =
      app.add_option("--rounds", options.rounds, "times the whole region is written and read")
          ->check(CLI::Range(1U, 1'000'000U))
          ->capture_default_str();
  auto* const ping_pong =
      app.add_flag("--ping-pong", options.ping_pong, "exchange messages instead; not with --rounds")
          ->excludes(rounds);
  app.add_flag("--first", options.messages.starts, "with --ping-pong: send the first message")
      ->needs(ping_pong);
  app.add_option("--messages", options.messages.rounds, "with --ping-pong: messages each way")
      ->check(CLI::Range(1U, 1'000'000'000U))
      ->capture_default_str()
      ->needs(ping_pong);
  app.add_option("--bytes", options.messages.bytes, "with --ping-pong: of a message")
      ->check(CLI::Range(1U, 65536U))
      ->capture_default_str()
      ->needs(ping_pong);
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app{"The asking end of an RC connection, on our own driver.",
               "roce-peer [EAL arguments] --"};
  add_options(app, options);
  app.footer(kFooter);
  PORTCULLIS_TRY_ASSIGN(auto parsed, program::parse_behind_eal(app, argc, argv));
  options.eal = std::move(parsed.eal);
  options.text = std::move(parsed.text);
  if (!options.text) PORTCULLIS_TRY(service::exchange::check_server(options.server));
  return options;
}

}  // namespace portcullis::tools::roce_peer
