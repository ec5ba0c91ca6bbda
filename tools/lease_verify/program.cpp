// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_verify/program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "program/command_line.hpp"
#include "program/output_file.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using service::exchange::Grant;

constexpr const char* kFooter = R"(
Asks lease-serve for a lease over TCP, or by two files where hosts do not reach each other so, then
writes the region with messages of every kind, reads it back and compares each byte, and tries
atomics where they are granted. Without a NIC, soft-RoCE on any interface will do:
  modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0
  lease-verify --server 192.0.2.1:7471
  lease-verify --server 192.0.2.1:7471 --revoke-test --json seen.json

--revoke-test goes on as if nothing had happened when the lease is revoked, and says when the last
operation succeeded, when the first failed, with which status, and what this QP's own budget was.
  12 IBV_WC_RETRY_EXC_ERR      silence: the budget ran out
  10 IBV_WC_REM_ACCESS_ERR     a NAK: the key is gone
   9 IBV_WC_REM_INV_REQ_ERR    a NAK: the right is gone

  verdict                      was that within 1 s (the sub-second property), within 2000 ms (the
                               budget)? Counted from the last success, which this side knows; when
                               the revoke was called, which may be earlier, is in the server's lines

exit status: 0 all is as it should be, 1 a byte was wrong, no revoke came or the 2000 ms budget was
missed, 2 not checked, 74 what was printed or written is not all there. The sub-second property
depends on --timeout and --retry of the server: it is told, and no status.)";

void add_options(CLI::App& app, Options& options) {
  app.add_option("--server", options.server, "where lease-serve listens")->type_name("HOST:PORT");
  app.add_option("--request-file", options.request_file,
                 "write the request here, for the server to read")
      ->type_name("FILE");
  app.add_option("--grant-file", options.grant_file, "read the grant here, once it is there")
      ->type_name("FILE");
  app.add_option("--wait-ms", options.wait_ms, "how long to wait for server and grant")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{3'600'000}))
      ->capture_default_str();
  app.add_option("--device", options.device, "RDMA device (default the only one; ibv_devices)");
  app.add_option("--port", options.port, "port of the device")
      ->check(CLI::Range(1, 255))
      ->capture_default_str();
  app.add_option("--gid-index", options.gid_index,
                 "address of the port (default the first RoCEv2 one, IPv4 before IPv6)")
      ->check(CLI::Range(0, 255));
  app.add_option("--rounds", options.data.rounds, "times the whole region is written and read")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  app.add_option("--seed", options.data.seed, "of the bytes")->capture_default_str();
  app.add_option("--json", options.json_file, "with --revoke-test: what was seen, as JSON")
      ->type_name("FILE");
}

void add_revoke_options(CLI::App& app, Options& options) {
  app.add_flag("--revoke-test", options.revoke_test, "go on through the revoke");
  app.add_option_function<std::string>(
         "--op",
         [&options](const std::string& text) {
           options.revoke.op = text == "write"  ? Op::Write
                               : text == "read" ? Op::Read
                                                : Op::FetchAdd;
         },
         "with --revoke-test: write (default), read or fetch-add")
      ->type_name("OP")
      ->check(CLI::IsMember({"write", "read", "fetch-add"}));
  app.add_option("--depth", options.revoke.depth, "with --revoke-test: operations outstanding")
      ->check(CLI::Range(1U, 16U))
      ->capture_default_str();
  app.add_option("--limit-ms", options.revoke.limit_ms, "how long to wait for the revoke")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{86'400'000}))
      ->capture_default_str();
}

Result<void> check_ways(const Options& options) {
  const bool by_files = !options.request_file.empty() && !options.grant_file.empty();
  const bool some_file = !options.request_file.empty() || !options.grant_file.empty();
  if (options.server.empty() && by_files) return {};
  if (!options.server.empty() && !some_file) return service::exchange::check_server(options.server);
  return fail(Errc::InvalidArgument,
              "either --server HOST:PORT or both --request-file and --grant-file are needed; see "
              "lease-verify --help");
}

Result<void> write_json(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  return program::named("--json", program::write_output(path, text));
}

Result<bool> run_revoke_test(const Options& options, const World& world, Requester& requester,
                             const Grant& grant) {
  const Budget budget{grant.timeout, grant.retry};
  RevokeTestOptions revoke = options.revoke;
  revoke.stop = world.stop;
  PORTCULLIS_TRY_ASSIGN(const auto seen, watch_revoke(requester, grant, revoke));
  for (const std::string& line : seen.lines(budget, options.revoke.op)) world.print(line);
  PORTCULLIS_TRY(write_json(options.json_file, seen.json(budget, options.revoke.op)));
  // Without a success there is no verdict on the time, but a revoke there was.
  return seen.failure && (!seen.told_after_ns() || seen.is_met(kRegressionBudgetNs));
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

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app{"The client of a lease, on plain libibverbs: checks what it was granted.",
               "lease-verify"};
  add_options(app, options);
  add_revoke_options(app, options);
  app.footer(kFooter);
  PORTCULLIS_TRY_ASSIGN(options.text, program::parse_arguments(app, {argv + 1, argv + argc}));
  if (!options.text) PORTCULLIS_TRY(check_ways(options));
  return options;
}

Result<Grant> ask(const Options& options, const World& world, const Requester& requester,
                  std::unique_ptr<service::exchange::LineChannel>& channel) {
  const auto idle = service::exchange::sleep_unless(world.stop);
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
  world.print(fmt::format(
      "{:14} {} bytes at {:#x}, {}, rkey {:#x}, QP {:#x} at {} ({}), MTU {}, "
      "timeout {}, retry {}",
      "lease", grant.length, grant.address, service::exchange::access_text(grant.access),
      grant.rkey, grant.server.qpn, grant.server.gid.text(), grant.server.mac.text(), grant.mtu,
      grant.timeout, grant.retry));
  PORTCULLIS_TRY(requester->connect(grant));
  return options.revoke_test ? run_revoke_test(options, world, *requester, grant)
                             : run_data_check(options, world, *requester, grant);
}

}  // namespace portcullis::tools::lease_verify
