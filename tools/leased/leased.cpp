// SPDX-License-Identifier: BSD-3-Clause
//
// leased: owns a port and serves leases on it.
#include <limits.h>
#include <poll.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "program/checking_main.hpp"
#include "program/signals.hpp"
#include "program/standard_streams.hpp"
#include "service/daemon/daemon.hpp"
#include "service/daemon/privileges.hpp"
#include "service/daemon/system_calls.hpp"
#include "tools/leased/at_point.hpp"
#include "tools/leased/options.hpp"
#include "tools/leased/service_manager.hpp"

namespace {

namespace program = portcullis::program;
namespace leased = portcullis::tools::leased;
namespace daemon = portcullis::service::daemon;
using portcullis::service::daemon::Config;
using portcullis::service::daemon::Daemon;

std::atomic<bool> stop_asked{false};
std::atomic<bool> reload_asked{false};

/// A server's log has every line: what happens twice is told twice. Whoever does not read it must
/// not keep a revoke waiting, so what does not fit is counted instead.
void log_line(std::string_view line) {
  static std::mutex one_at_a_time;
  static std::uint64_t lost = 0;
  const std::lock_guard<std::mutex> one(one_at_a_time);
  // Room for a line is room for PIPE_BUF bytes (pipe(7)), and a write of as many does not wait.
  pollfd room{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0) {
    ++lost;
    return;
  }
  std::string text = "leased: " + std::string(line);
  if (lost > 0) text += " (" + std::to_string(std::exchange(lost, 0)) + " lines before are lost)";
  text = text.substr(0, PIPE_BUF - 1) + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

/// As many descriptors as the system lets this process have: every connection takes one.
void raise_descriptors(std::uint32_t connections) {
  constexpr rlim_t kOwn = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < connections + kOwn)
    log_line("the system allows " + std::to_string(limit.rlim_max) + " descriptors, fewer than " +
             std::to_string(connections) + " connections need");
}

/// None unless it was asked for; a file that does not do changes nothing.
std::optional<Config> reload(const leased::Options& options,
                             const leased::ServiceManager& manager) {
  if (!reload_asked.exchange(false)) return std::nullopt;
  manager.tell("RELOADING=1");
  auto config = options.read_again();
  manager.tell("READY=1");
  if (config) return *std::move(config);  // the server says what it makes of it
  log_line(config.error().text + "; the configuration stays as it was");
  return std::nullopt;
}

bool is_to_stop(const leased::ServiceManager& manager) {
  if (!stop_asked.load()) return false;
  manager.tell("STOPPING=1");
  return true;
}

/// From here on it serves, and does nothing else.
portcullis::Result<void> confine(const leased::Options& options) {
  const auto& process = options.read.process;
  PORTCULLIS_TRY_ASSIGN(const auto whom, daemon::drop_privileges(process));
  log_line(whom);
  const auto reach = options.read.fleet ? daemon::Reach::Connects : daemon::Reach::AcceptsAlone;
  if (process.seccomp) PORTCULLIS_TRY(daemon::allow_listed_calls_alone(reach));
  auto again = options.read_again();
  const auto readable = again ? Daemon::check(*again) : portcullis::forward_error(std::move(again));
  if (!readable) log_line("SIGHUP will change nothing: " + readable.error().text);
  return {};
}

/// Whoever says how long a server may stand still has somebody who ends it then.
portcullis::Result<void> check_watchdog(const Config& config) {
  if (!config.fleet || !config.fleet->isolation || config.fleet->isolation->stall_s == 0) return {};
  const std::uint64_t most_us = config.fleet->isolation->stall_s * 1'000'000;
  std::uint64_t watchdog_us = 0;
  if (sd_watchdog_enabled(0, &watchdog_us) > 0 && watchdog_us <= most_us) return {};
  return portcullis::fail(
      portcullis::Errc::InvalidArgument,
      "[etcd] stall_s = " + std::to_string(config.fleet->isolation->stall_s) +
          (watchdog_us == 0 ? ": no watchdog is there to end a server that stands still"
                            : ": the watchdog takes " + std::to_string(watchdog_us) + " us") +
          "; a service with WatchdogSec= of at most so long is accepted");
}

[[noreturn]] void give_up() {
  log_line("leases did not end in time without etcd: the process ends, and the function with it");
  std::_Exit(1);  // no lock, no thread and no device is waited for
}

portcullis::Result<bool> serve(const leased::Options& options) {
  PORTCULLIS_TRY(Daemon::check(options.read));
  if (options.checks_only) {
    PORTCULLIS_TRY(Daemon::check_places(options.read));
    std::cout << "the configuration does\n";
    return true;
  }
  PORTCULLIS_TRY(check_watchdog(options.read));
  PORTCULLIS_TRY(daemon::hide_memory(options.read.process));
  raise_descriptors(options.read.limits.connections);
  const leased::ServiceManager manager;
  PORTCULLIS_TRY_ASSIGN(const auto server,
                        Daemon::start(options.read, log_line, leased::at_point()));
  PORTCULLIS_TRY(confine(options));
  // Where nobody reads standard output, it goes on: its log is on standard error.
  std::cout << server->description() << std::endl;
  manager.tell("READY=1");
  return server->run({.stop = [&manager] { return is_to_stop(manager); },
                      .reload = [&] { return reload(options, manager); },
                      .is_well = [&manager] { manager.tell("WATCHDOG=1"); },
                      .give_up = [] { give_up(); },
                      // sd_notify(3): it goes beyond TimeoutStopSec=.
                      .takes_longer =
                          [&manager](std::uint64_t ns) {
                            manager.tell("EXTEND_TIMEOUT_USEC=" + std::to_string(ns / 1'000));
                          },
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
