// SPDX-License-Identifier: BSD-3-Clause
//
// roce-peer: the asking end of an RC connection on our own driver, whatever RC stack answers.
#include <fmt/format.h>

#include <atomic>
#include <iostream>

#include "base/entropy.hpp"
#include "pmd/eal.hpp"
#include "pmd/vfio_function.hpp"
#include "program/checking_main.hpp"
#include "program/signals.hpp"
#include "tools/lease_verify/program.hpp"
#include "tools/own_port.hpp"
#include "tools/roce_peer/connection.hpp"
#include "tools/roce_peer/options.hpp"
#include "tools/roce_peer/ping_pong.hpp"

namespace {

using namespace portcullis;
using namespace portcullis::tools;

std::atomic<bool> stop_asked{false};

void print(const std::string& line) { std::cout << line << std::endl; }

Result<std::unique_ptr<roce_peer::Connection>> open_connection(service::ServedPort& port) {
  PORTCULLIS_TRY_ASSIGN(const std::uint32_t psn, random_psn());
  return roce_peer::Connection::create(port, psn);
}

Result<bool> check_memory(const roce_peer::Options& options, service::ServedPort& port) {
  lease_verify::Options asked;
  asked.server = options.server;
  asked.data.rounds = options.rounds;
  const auto open = [&](const lease_verify::Options& /*options*/)
      -> Result<std::unique_ptr<lease_verify::Requester>> {
    PORTCULLIS_TRY_ASSIGN(auto connection, open_connection(port));
    return connection;
  };
  return lease_verify::run(asked, {open, [] { return stop_asked.load(); }, print});
}

Result<bool> exchange_messages(const roce_peer::Options& options, service::ServedPort& port) {
  PORTCULLIS_TRY_ASSIGN(const auto connection, open_connection(port));
  const auto stop = [] { return stop_asked.load(); };
  roce_peer::PingPongOptions messages = options.messages;
  messages.stop = stop;
  PORTCULLIS_TRY_ASSIGN(auto game, roce_peer::PingPong::create(*connection, messages));
  lease_verify::Options asked;
  asked.server = options.server;
  std::unique_ptr<service::exchange::LineChannel> channel;
  PORTCULLIS_TRY_ASSIGN(const auto grant,
                        lease_verify::ask(asked, {{}, stop, print}, *connection, channel));
  PORTCULLIS_TRY(connection->connect(grant));
  const auto report = game.run();
  if (!report && report.error().code == Errc::Busy) return tl::unexpected<Error>(report.error());
  if (!report) {
    print("WRONG " + report.error().text);
    return false;
  }
  print(
      fmt::format("ok    SEND        {} messages of {} bytes came, {} compared with what was sent",
                  report->received, options.messages.bytes, report->compared));
  return true;
}

Result<bool> run(const roce_peer::Options& options) {
  PORTCULLIS_TRY_ASSIGN(const auto spec, attach::parse_device(options.device));
  PORTCULLIS_TRY_ASSIGN(const auto eal, spec.start_eal(options.eal));
  PORTCULLIS_TRY_ASSIGN(const auto port, open_port(spec, options.address));
  return options.ping_pong ? exchange_messages(options, *port) : check_memory(options, *port);
}

}  // namespace

int main(int argc, char** argv) {
  program::heed_stop_signals(stop_asked);
  return program::run_main(
      "roce-peer",
      [&] {
        return program::checking_main("roce-peer", roce_peer::parse_options(argc, argv), run);
      },
      &stop_asked);
}
