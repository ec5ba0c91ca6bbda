// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_verify/program.hpp"

#include <fmt/format.h>

#include "base/clock.hpp"
#include "program/output_file.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using service::exchange::Grant;

Result<bool> run_revoke_test(const Options& options, const World& world, Requester& requester,
                             const Grant& grant) {
  const Budget budget{grant.timeout, grant.retry};
  RevokeTestOptions revoke = options.revoke;
  revoke.stop = world.stop;
  PORTCULLIS_TRY_ASSIGN(const auto seen, watch_revoke(requester, grant, revoke));
  for (const std::string& line : seen.lines(budget, options.revoke.op)) world.print(line);
  write_json(options.json_file, seen.json(budget, options.revoke.op));
  // Without a success there is no verdict on the time, but a revoke there was.
  return seen.failure && (!seen.told_after_ns() || seen.is_met(kRegressionBudgetNs));
}

/// Waits as a program without a device does, and says so of a wait that is no short one.
service::exchange::Idle telling_wait(const Options& options, const World& world) {
  constexpr std::uint64_t kShortNs = 1000 * kNsPerMs;
  const std::string what =
      fmt::format("{:14} {}, for up to {} ms", "awaiting",
                  options.server.empty() ? options.grant_file : options.server, options.wait_ms);
  return [sleep = service::exchange::sleep_unless(world.stop), print = world.print, what,
          clock = Clock::wall(), start_ns = Clock::wall().now_ns(),
          told = false](std::uint64_t most_ns) mutable {
    if (!told && clock.now_ns() - start_ns >= kShortNs) {
      print(what);
      told = true;
    }
    return sleep(most_ns);
  };
}

}  // namespace

void write_json(const std::string& path, const std::string& text) {
  if (!path.empty()) program::keep_output("--json", path, text);
}

Result<bool> run_data_check(const Options& options, const World& world, Requester& requester,
                            const Grant& grant) {
  DataCheckOptions data = options.data;
  data.stop = world.stop;
  const auto report = check_data(requester, grant, data);
  if (!report && (report.error().code == Errc::System || report.error().code == Errc::Busy))
    return tl::unexpected<Error>(report.error());
  if (!report) {
    world.print("WRONG " + report.error().text);
    return false;
  }
  for (const std::string& line : report->lines(grant.access)) world.print(line);
  return true;
}

std::string lease_line(const Grant& grant) {
  return fmt::format(
      "{:14} {} bytes at {:#x}, {}, rkey {:#x}, QP {:#x} at {} ({}), MTU {}, "
      "timeout {}, retry {}",
      "lease", grant.length, grant.address, service::exchange::access_text(grant.access),
      grant.rkey, grant.server.qpn, grant.server.gid.text(), grant.server.mac.text(), grant.mtu,
      grant.timeout, grant.retry);
}

Result<Grant> ask(const Options& options, const World& world, const Requester& requester,
                  std::unique_ptr<service::exchange::LineChannel>& channel) {
  const auto idle = telling_wait(options, world);
  if (options.server.empty()) {
    PORTCULLIS_TRY_ASSIGN(channel,
                          service::exchange::open_files(options.grant_file, options.request_file));
  } else {
    PORTCULLIS_TRY_ASSIGN(channel,
                          service::exchange::connect_tcp(options.server, options.wait_ms, idle));
  }
  PORTCULLIS_TRY(channel->send_line(to_line(requester.request())));
  PORTCULLIS_TRY_ASSIGN(const std::string line,
                        service::exchange::wait_for_line(*channel, options.wait_ms, idle));
  return service::exchange::parse_grant(line);
}

Result<bool> run(const Options& options, const World& world) {
  if (!options.json_file.empty())
    PORTCULLIS_TRY(program::named("--json", program::check_output(options.json_file)));
  PORTCULLIS_TRY_ASSIGN(const auto requester, world.open_requester(options));
  world.print(fmt::format("{:14} {}", "client", requester->description()));
  std::unique_ptr<service::exchange::LineChannel>
      channel;  // open until the end: the server sees it
  PORTCULLIS_TRY_ASSIGN(const Grant grant, ask(options, world, *requester, channel));
  world.print(lease_line(grant));
  PORTCULLIS_TRY(requester->connect(grant));
  return options.revoke_test ? run_revoke_test(options, world, *requester, grant)
                             : run_data_check(options, world, *requester, grant);
}

}  // namespace portcullis::tools::lease_verify
