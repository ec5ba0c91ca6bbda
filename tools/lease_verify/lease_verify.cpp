// SPDX-License-Identifier: BSD-3-Clause
//
// lease-verify: the client of a lease, as a user runs it on another host.
#include <atomic>
#include <csignal>
#include <iostream>

#include "tools/checking_main.hpp"
#include "tools/lease_verify/program.hpp"
#include "tools/lease_verify/verbs_requester.hpp"

namespace {

namespace verify = portcullis::tools::lease_verify;

std::atomic<bool> stop_asked{false};

/// The second time the program ends as if there were no handler.
extern "C" void ask_to_stop(int signal) {
  stop_asked.store(true);
  std::signal(signal, SIG_DFL);
}

portcullis::Result<std::unique_ptr<verify::Requester>> open_verbs(const verify::Options& options) {
  PORTCULLIS_TRY_ASSIGN(auto requester, verify::VerbsRequester::create(
                                            {.device = options.device,
                                             .port = static_cast<std::uint8_t>(options.port),
                                             .gid_index = options.gid_index}));
  return requester;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  const verify::World world{open_verbs, [] { return stop_asked.load(); },
                            [](const std::string& line) { std::cout << line << std::endl; }};
  const auto run = [&world](const verify::Options& options) { return verify::run(options, world); };
  return portcullis::tools::run_main(
      "lease-verify",
      [&] {
        return portcullis::tools::checking_main("lease-verify", verify::parse_options(argc, argv),
                                                run);
      },
      &stop_asked);
}
