// SPDX-License-Identifier: BSD-3-Clause
//
// lease-serve: owns a port, grants a lease to a client on another host, and takes it back.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <iostream>
#include <string>

#include "program/checking_main.hpp"
#include "program/signals.hpp"
#include "tools/lease_serve/program.hpp"

namespace {

namespace program = portcullis::program;
namespace serve = portcullis::tools::lease_serve;

/// The program revokes the lease and prints the outcome; the second signal ends it at once, and
/// VFIO resets the function.
std::atomic<bool> stop_asked{false};
std::atomic<bool> revoke_asked{false};

/// Lines of standard input; at its end there are no more, and the signal is left. True once for
/// what was asked since the last time.
class Commands {
 public:
  bool revoke() {
    if (open_ && has_input()) read_some();  // the rest next time: there may be no end of it
    return revoke_asked.exchange(false);    // one lease for each time it is asked
  }

 private:
  static bool has_input() {
    pollfd waited{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    return poll(&waited, 1, 0) > 0;
  }
  void read_some() {
    std::array<char, 256> buffer;
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    open_ = got > 0;
    if (!open_) return;
    text_.append(buffer.data(), static_cast<std::size_t>(got));
    if (text_.size() > kMostBytes) text_.resize(kMostBytes);
    for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos;) {
      const std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      if (line == "revoke") {
        revoke_asked.store(true);
      } else if (!line.empty() && !has_complained_) {
        has_complained_ = true;
        std::cerr << "lease-serve: \"" << portcullis::service::exchange::shown(line)
                  << "\" on standard input; \"revoke\" is accepted, other lines are passed over\n";
      }
    }
  }

  static constexpr std::size_t kMostBytes = 4096;  // of a line; the rest of a longer one is lost

  bool open_ = true;
  bool has_complained_ = false;
  std::string text_;
};

}  // namespace

int main(int argc, char** argv) {
  program::heed_stop_signals(stop_asked);
  if (std::signal(SIGHUP, SIG_IGN) != SIG_IGN) program::ask_once(SIGHUP, stop_asked);  // nohup
  program::ask_each_time(SIGUSR1, revoke_asked);
  Commands commands;
  // Nobody would see what became of a lease.
  const auto stop = [] { return stop_asked.load() || program::is_output_lost(); };
  const serve::World world{stop, [&] { return commands.revoke(); },
                           [](const std::string& line) { std::cout << line << std::endl; }};
  const auto run = [&world](const serve::Options& options) { return serve::run(options, world); };
  return program::run_main(
      "lease-serve",
      [&] { return program::checking_main("lease-serve", serve::parse_options(argc, argv), run); },
      &stop_asked);
}
