// SPDX-License-Identifier: BSD-3-Clause
//
// leased: owns a port and serves leases on it.
#include <systemd/sd-daemon.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <optional>
#include <string_view>

#include "program/checking_main.hpp"
#include "program/signals.hpp"
#include "program/standard_streams.hpp"
#include "service/daemon/daemon.hpp"
#include "tools/leased/options.hpp"

namespace {

namespace program = portcullis::program;
namespace leased = portcullis::tools::leased;
using portcullis::service::daemon::Config;
using portcullis::service::daemon::Daemon;

std::atomic<bool> stop_asked{false};
std::atomic<bool> reload_asked{false};

/// A server's log has every line: what happens twice is told twice.
void log_line(std::string_view line) { std::cerr << "leased: " << line << std::endl; }

/// None unless it was asked for; a file that does not do changes nothing.
std::optional<Config> reload(const leased::Options& options) {
  if (!reload_asked.exchange(false)) return std::nullopt;
  (void)sd_notify(0, "RELOADING=1");
  auto config = options.read_again();
  (void)sd_notify(0, "READY=1");
  log_line(config ? "the configuration was read again: limits and users count from now on"
                  : config.error().text + "; the configuration stays as it was");
  if (!config) return std::nullopt;
  return *std::move(config);
}

bool is_to_stop() {
  if (!stop_asked.load()) return false;
  (void)sd_notify(0, "STOPPING=1");
  return true;
}

portcullis::Result<bool> serve(const leased::Options& options) {
  if (options.checks_only) {
    std::cout << "the configuration does\n";
    return true;
  }
  PORTCULLIS_TRY_ASSIGN(const auto daemon, Daemon::start(options.read, log_line));
  // Where nobody reads standard output, it goes on: its log is on standard error.
  std::cout << daemon->description() << std::endl;
  // Nothing happens where no service manager has asked to be told.
  (void)sd_notify(0, "READY=1");
  return daemon->run({.stop = [] { return is_to_stop(); },
                      .reload = [&options] { return reload(options); },
                      .is_well = [] { (void)sd_notify(0, "WATCHDOG=1"); },
                      .log = log_line});
}

}  // namespace

int main(int argc, char** argv) {
  program::heed_stop_signals(stop_asked);
  program::ask_each_time(SIGHUP, reload_asked);
  return program::run_main("leased", [&] {
    return program::checking_main("leased", leased::parse_options(argc, argv), serve);
  });
}
