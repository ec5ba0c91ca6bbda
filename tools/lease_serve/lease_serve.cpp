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

#include "tools/checking_main.hpp"
#include "tools/lease_serve/program.hpp"

namespace {

namespace serve = portcullis::tools::lease_serve;

std::atomic<bool> stop_asked{false};
std::atomic<bool> revoke_asked{false};

extern "C" void ask_to_stop(int /*signal*/) { stop_asked.store(true); }
extern "C" void ask_to_revoke(int /*signal*/) { revoke_asked.store(true); }

/// Lines of standard input; at its end there are no more, and the signal is left. True once for
/// what was asked since the last time.
class Commands {
 public:
  bool revoke() {
    while (open_ && has_input()) read_some();
    return revoke_asked.exchange(false);  // one lease for each time it is asked
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
    for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos;) {
      const std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      if (line == "revoke") {
        revoke_asked.store(true);
      } else if (!line.empty()) {
        std::cerr << "lease-serve: \"" << line << "\"; \"revoke\" is accepted\n";
      }
    }
  }

  bool open_ = true;
  std::string text_;
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  std::signal(SIGUSR1, ask_to_revoke);
  Commands commands;
  const serve::World world{[] { return stop_asked.load(); }, [&] { return commands.revoke(); },
                           [](const std::string& line) { std::cout << line << std::endl; }};
  return portcullis::tools::checking_main(
      "lease-serve", serve::parse_options(argc, argv),
      [&world](const serve::Options& options) { return serve::run(options, world); });
}
