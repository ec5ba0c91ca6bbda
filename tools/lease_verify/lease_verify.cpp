// SPDX-License-Identifier: BSD-3-Clause
//
// lease-verify: the client of a lease, as a user runs it on another host.
#include <atomic>
#include <iostream>

#include "program/checking_main.hpp"
#include "program/signals.hpp"
#include "tools/lease_verify/leased_check.hpp"
#include "tools/lease_verify/program.hpp"
#include "tools/lease_verify/sweep.hpp"
#include "tools/lease_verify/verbs_requester.hpp"

namespace {

namespace program = portcullis::program;
namespace verify = portcullis::tools::lease_verify;

std::atomic<bool> stop_asked{false};

portcullis::Result<std::unique_ptr<verify::Requester>> open_verbs(const verify::Options& options) {
  PORTCULLIS_TRY_ASSIGN(auto requester, verify::VerbsRequester::create(
                                            {.device = options.device,
                                             .port = static_cast<std::uint8_t>(options.port),
                                             .gid_index = options.gid_index}));
  return requester;
}

}  // namespace

int main(int argc, char** argv) {
  program::heed_stop_signals(stop_asked);
  const verify::World world{open_verbs, [] { return stop_asked.load(); },
                            [](const std::string& line) { std::cout << line << std::endl; }};
  const auto run = [&world](const verify::Options& options) -> portcullis::Result<verify::Verdict> {
    if (options.leased) return verify::run_leased(options, world);
    if (!options.listen.empty()) {
      PORTCULLIS_TRY(verify::run_sweep(options, world));
      return verify::Verdict::Good;
    }
    PORTCULLIS_TRY_ASSIGN(const bool is_good, verify::run(options, world));
    return is_good ? verify::Verdict::Good : verify::Verdict::Wrong;
  };
  return program::run_main(
      "lease-verify",
      [&] {
        return program::checking_main("lease-verify", verify::parse_options(argc, argv), run);
      },
      &stop_asked);
}
