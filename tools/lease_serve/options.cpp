// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "program/eal_options.hpp"
#include "steering/set_up.hpp"
#include "tools/lease_serve/program.hpp"
#include "tools/own_port.hpp"

namespace portcullis::tools::lease_serve {
namespace {

constexpr const char* kFooter = R"(
Owns a port through the driver and grants a lease on it to whoever asks: lease-verify on another
host, or by two files. Revokes it on a line "revoke" on standard input, on SIGUSR1, after
--revoke-after-ms, when the client hangs up, or on Ctrl-C; then watches the region. Before `--`
stand EAL arguments:
  lease-serve -l 2 -a 0000:03:00.0 -- --device 0000:03:00.0 --address 192.0.2.1 \
      --listen 192.0.2.9:7471 --plan nak-first --revoke-after-ms 2000

What a client says of its GID, MAC and QPN is believed: listen where only those can connect who may
have a lease. Ctrl-C twice ends it at once.

exit status: 0 TornDown and no byte changed while it was watched, or stopped before a lease was
granted, 1 not so, 2 it could not be served)";

void add_device_options(CLI::App& app, Options& options) {
  add_port_options(app, options.device, options.address);
  app.add_option("--dscp", options.dscp, "of the frames we send")
      ->type_name("0-63")
      ->check(CLI::Range(0U, 63U))
      ->capture_default_str();
  app.add_option("--priority", options.priority, "802.1p, in a VLAN tag")
      ->type_name("0-7")
      ->check(CLI::Range(0U, 7U))
      ->capture_default_str();
  app.add_option("--vlan", options.vlan, "of the address (default untagged)")
      ->type_name("1-4094")
      ->check(CLI::Range(1U, 4094U));
  app.add_option("--listen", options.listen,
                 "where clients ask, whom nobody authenticates: PORT of 127.0.0.1, or an address\n"
                 "of this host (0.0.0.0: all) and a port")
      ->type_name("[HOST:]PORT");
  app.add_option("--request-file", options.request_file, "or: read the request here")
      ->type_name("FILE");
  app.add_option("--grant-file", options.grant_file, "and write the grant here")->type_name("FILE");
}

void add_lease_options(CLI::App& app, Options& options, std::string& fill_file) {
  app.add_option("--bytes", options.terms.bytes, "of the region")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{8}, std::uint64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--fill", fill_file, "what the region holds at first (default zeros)")
      ->type_name("FILE");
  app.add_option("--timeout", options.terms.timeout, "the client's ack timeout, 4.096 us x 2^N")
      ->type_name("1-31")
      ->check(CLI::Range(1U, 31U))
      ->capture_default_str();
  app.add_option("--retry", options.terms.retry,
                 "the client's retry_cnt; soft-RoCE takes 7 for ever")
      ->type_name("0-7")
      ->check(CLI::Range(0U, 7U))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--access",
         [&options](const std::string& text) {
           auto access = service::exchange::parse_access(text);
           if (!access) throw CLI::ValidationError("--access", access.error().text);
           options.terms.access = *access;
           options.terms.access.local_write = true;
         },
         "write, read and atomic, joined by + (default write+read)")
      ->type_name("RIGHTS");
}

void add_steering_options(CLI::App& app, Options& options) {
  app.add_option_function<std::string>(
         "--steering",
         [&options](const std::string& text) {
           auto choice = steering::parse_choice(text);
           if (!choice) throw CLI::ValidationError("--steering", choice.error().text);
           options.steering = *choice;
         },
         "the DROP entry of a revoke: off (default; offered with a plan that has its entry from\n"
         "the grant on), offered, try, or a shape: dst-qp, client-flow, opcode, opcode-class,\n"
         "roce-port, match-all; a self-test judges it")
      ->type_name("WHICH");
  app.add_flag("--allow-function-drop", options.allow_function_drop,
               "install an entry that hits every lease, although others are ACTIVE");
}

void add_revoke_options(CLI::App& app, Options& options) {
  app.add_option_function<std::string>(
         "--plan",
         [&options](const std::string& text) {
           auto plan = lease::parse_plan(text);
           if (!plan) throw CLI::ValidationError("--plan", plan.error().text);
           options.plan = *plan;
         },
         "how the lease is fenced: " + lease::plan_names() + " (default seed);\n" +
             "+overlap behind one, drop-only excepted, has its commands under way at once")
      ->type_name("NAME");
  app.add_option("--revoke-after-ms", options.revoke_after_ms,
                 "revoke this long after the grant (default on a command)")
      ->type_name("MS")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{86'400'000}));
  add_fabric_options(app, options.fabric);
  app.add_option("--watch-ms", options.watch_ms, "how long the region is watched afterwards")
      ->type_name("MS")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{86'400'000}))
      ->capture_default_str();
  app.add_option("--leases", options.leases, "granted one after the other")
      ->type_name("N")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  app.add_option("--dump", options.dump_file, "the region as it was when the outcome stood")
      ->type_name("FILE");
  app.add_option("--json", options.json_file, "what became of it, as JSON")->type_name("FILE");
}

Result<void> check_ways(const Options& options) {
  const bool by_files = !options.request_file.empty() && !options.grant_file.empty();
  const bool some_file = !options.request_file.empty() || !options.grant_file.empty();
  if (options.listen.empty() ? by_files : !some_file) return {};
  return fail(Errc::InvalidArgument,
              "either --listen [HOST:]PORT or both --request-file and --grant-file are needed; see "
              "lease-serve --help");
}

Result<void> check_steering(const Options& options) {
  if (!options.steering) return {};
  auto checked = steering::check_choice(options.plan.entry, *options.steering);
  if (!checked)
    checked.error().text = "--plan " + options.plan.full_name() + ": --" + checked.error().text;
  return checked;
}

/// All of the file, which must not have more bytes than the region.
Result<std::string> read_contents(const std::string& path, std::uint64_t limit_bytes) {
  if (path.empty()) return {};
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return fail(Errc::InvalidArgument, fmt::format("--fill {}: there is no such file", path));
  if (!std::filesystem::is_regular_file(path, error))  // a pipe would be waited for
    return fail(Errc::InvalidArgument,
                fmt::format("--fill {}: no plain file; one of up to {} bytes is accepted", path,
                            limit_bytes));
  std::ifstream file(path, std::ios::binary);
  std::string contents(limit_bytes + 1, '\0');
  file.read(contents.data(), static_cast<std::streamsize>(contents.size()));
  if (!file.is_open() || file.bad() || (file.fail() && !file.eof()))
    return fail(Errc::System, fmt::format("--fill {}: it cannot be read", path));
  const auto bytes = static_cast<std::uint64_t>(file.gcount());
  if (bytes > limit_bytes)
    return fail(Errc::InvalidArgument,
                fmt::format("--fill {}: more than the {} bytes of the region are in it", path,
                            limit_bytes));
  contents.resize(bytes);
  return contents;
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app{"Grants a lease on a port to a client on another host, and takes it back.",
               "lease-serve [EAL arguments] --"};
  add_device_options(app, options);
  std::string fill_file;
  add_lease_options(app, options, fill_file);
  add_revoke_options(app, options);
  add_steering_options(app, options);
  app.footer(kFooter);
  PORTCULLIS_TRY_ASSIGN(auto parsed, program::parse_behind_eal(app, argc, argv));
  options.eal = std::move(parsed.eal);
  options.text = std::move(parsed.text);
  if (options.text) return options;
  PORTCULLIS_TRY(check_ways(options));
  PORTCULLIS_TRY(check_steering(options));
  PORTCULLIS_TRY_ASSIGN(options.contents, read_contents(fill_file, options.terms.bytes));
  return options;
}

}  // namespace portcullis::tools::lease_serve
