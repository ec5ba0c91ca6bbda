// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_verify/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "program/command_line.hpp"
#include "program/output_file.hpp"
#include "service/exchange/exchange.hpp"
#include "service/exchange/line_channel.hpp"
#include "service/exchange/sweep.hpp"
#include "tools/leased_server.hpp"

namespace portcullis::tools::lease_verify {
namespace {

constexpr const char* kFooter = R"(
Asks lease-serve for a lease over TCP, or by two files where hosts do not reach each other so, or
leased, then writes the region with messages of every kind, reads it back and compares each byte,
and tries atomics where they are granted. Without a NIC, soft-RoCE on any interface will do:
  modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0
  lease-verify --server 192.0.2.1:7471
  lease-verify --server 192.0.2.1:7471 --revoke-test --json seen.json
  lease-verify --leased /run/portcullis/leased.sock --cooperate --revoke-after-ms 500
  lease-verify --leased quic://db1.example:7810 --authority ca.pem --certificate alice.pem \
    --key alice.key --revoke-test

--revoke-test goes on as if nothing had happened when the lease is revoked, and says when the last
operation succeeded, when the first failed, with which status, and what this QP's own budget was.
  12 IBV_WC_RETRY_EXC_ERR      silence: the budget ran out
  10 IBV_WC_REM_ACCESS_ERR     a NAK: the key is gone
   9 IBV_WC_REM_INV_REQ_ERR    a NAK: the right is gone
--cooperate does the same and stops when the client library closes the lease's gate.

  verdict                      was that within 1 s (the sub-second property), within 2000 ms (the
                               budget)? Counted from the last success, which this side knows; when
                               the revoke was called, which may be earlier, is in the server's
                               lines. With --revoke-after-ms it is this side that calls it, and
                               counts from then

With --leased the lease is kept by the client library, the server's challenge is met when it asks
one, and the library says at the end what of the requests without an answer may be posted again.
The revoke comes from elsewhere (leasectl revoke, revoke-tenant) or from --revoke-after-ms.

--sweep waits for first-light --peer on a host with a card, and is the client of every lease that
it grants and revokes; what it sees goes there with the times of this host's clock. Whoever reaches
the port can have this NIC write 8 bytes at a time to a queue pair that it names.
  lease-verify --sweep
  lease-verify --sweep --listen 192.0.2.2:7471 --wait-ms 7200000

exit status: 0 all is as it should be, 1 a byte was wrong, no revoke came, 2 not checked.
Behind these, with --server, 1: the 2000 ms budget was missed; the sub-second property depends on
--timeout and --retry of the server: it is told, and no status. With --leased, the gravest first:
  1 no word of the lease's end came, a request was posted behind it by who cooperates, or succeeded
    behind it
  5 no outcome within the 1 s of the contract (--revoke-after-ms, and giving the lease back)
  4 this side knew of it after more than the 2000 ms budget
  3 this side knew of it after more than 1 s: the sub-second property)";

void add_server(CLI::App& app, Options& options) {
  app.add_option("--server", options.server, "where lease-serve listens")->type_name("HOST:PORT");
  app.add_option("--request-file", options.request_file,
                 "write the request here, for the server to read")
      ->type_name("FILE");
  app.add_option("--grant-file", options.grant_file, "read the grant here, once it is there")
      ->type_name("FILE");
  app.add_option("--wait-ms", options.wait_ms,
                 "how long to wait for server and grant; of a sweep for\n"
                 "first-light, which is an hour if nothing is said")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{86'400'000}))
      ->capture_default_str();
}

struct SweepWords {
  bool is_asked = false;
  const CLI::Option* wait = nullptr;
  std::string listen = fmt::format("0.0.0.0:{}", service::exchange::kSweepPort);
};

void add_sweep(CLI::App& app, SweepWords& words) {
  auto* const sweep =
      app.add_flag("--sweep", words.is_asked, "be the client of first-light --peer");
  words.wait = app.get_option("--wait-ms");
  app.add_option("--listen", words.listen, "of a sweep: where first-light finds this host")
      ->type_name("[HOST:]PORT")
      ->needs(sweep)
      ->capture_default_str();
  for (const char* const other : {"--revoke-test", "--json", "--op", "--depth", "--limit-ms"})
    sweep->excludes(app.get_option(other));
}

void add_checks(CLI::App& app, Options& options) {
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
  app.add_option("--json", options.json_file, "of a revoke: what was seen, as JSON")
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
         "of a revoke: write (default), read or fetch-add")
      ->type_name("OP")
      ->check(CLI::IsMember({"write", "read", "fetch-add"}));
  app.add_option("--depth", options.revoke.depth, "of a revoke: operations outstanding")
      ->check(CLI::Range(1U, 16U))
      ->capture_default_str();
  app.add_option("--limit-ms", options.revoke.limit_ms, "how long to wait for the revoke")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{86'400'000}))
      ->capture_default_str();
}

/// What --leased alone knows of.
struct LeasedWords {
  std::string server = {};
  client::QuicServer quic = {};
  std::string access = "write+read";
  LeasedOptions options = {};
};

void add_leased(CLI::App& app, LeasedWords& words) {
  LeasedOptions& options = words.options;
  auto* leased =
      app.add_option("--leased", words.server, "where leased listens: a socket, or over QUIC");
  leased->type_name("PATH|quic://HOST:PORT");
  add_credentials(app, words.quic, *leased);
  const auto number = [&](const char* name, auto& value, const char* what, auto least, auto most) {
    return app.add_option(name, value, what)
        ->needs(leased)
        ->check(CLI::Range(std::uint64_t{least}, std::uint64_t{most}));
  };
  number("--bytes", options.bytes, "of the region that leased is asked for", 8U, 1ULL << 40)
      ->capture_default_str();
  number("--ttl-ms", options.ttl_ms, "between renewals (default the server's)", 1U,
         ~std::uint64_t{0});
  number("--timeout", options.timeout, "of this QP: 4.096 us x 2^N", 1U, 31U)
      ->capture_default_str();
  number("--retry", options.retry, "times that this QP asks again", 0U, 7U)->capture_default_str();
  app.add_option("--access", words.access, "rights that leased is asked for, joined by +")
      ->type_name("write+read+atomic")
      ->needs(leased)
      ->capture_default_str();
  app.add_flag("--cooperate", options.cooperate, "stop when the lease's gate is closed")
      ->needs(leased);
  app.add_option("--revoke-after-ms", options.revoke_after_ms,
                 "have it revoked after this time (default: somebody else does)")
      ->needs(leased)
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{86'400'000}));
}

/// Of the ways to a lease none goes with a sweep.
Result<void> take_sweep(const SweepWords& words, bool by_leased, Options& options) {
  constexpr std::uint64_t kHourMs = 3'600'000;
  if (!options.server.empty() || !options.request_file.empty() || !options.grant_file.empty() ||
      by_leased)
    return fail(Errc::InvalidArgument,
                "--sweep beside --server, --request-file, --grant-file or --leased; one way to "
                "ask is accepted");
  options.listen = words.listen;
  if (words.wait->count() == 0) options.wait_ms = kHourMs;
  return {};
}

Result<void> check_ways(const Options& options, bool by_leased) {
  const bool by_files = !options.request_file.empty() && !options.grant_file.empty();
  const bool some_file = !options.request_file.empty() || !options.grant_file.empty();
  if (by_leased) {
    if (options.server.empty() && !some_file) return {};
    return fail(Errc::InvalidArgument,
                "--leased beside --server, --request-file or --grant-file; one way to ask is "
                "accepted");
  }
  if (options.server.empty() && by_files) return {};
  if (!options.server.empty() && !some_file) return service::exchange::check_server(options.server);
  return fail(Errc::InvalidArgument,
              "either --server HOST:PORT or both --request-file and --grant-file are needed, or "
              "--leased, or --sweep; see lease-verify --help");
}

Result<LeasedOptions> leased_options(const LeasedWords& words, bool revoke_test) {
  LeasedOptions options = words.options;
  PORTCULLIS_TRY_ASSIGN(options.server, leased_server("--leased", words.server, words.quic));
  auto access = service::exchange::parse_access(words.access);
  if (!access) return fail(Errc::InvalidArgument, "--access: " + access.error().text);
  options.access = *access;
  if (options.cooperate && revoke_test)
    return fail(Errc::InvalidArgument,
                "--cooperate beside --revoke-test, which does not; one of them is accepted");
  if (options.revoke_after_ms && !options.cooperate && !revoke_test)
    return fail(Errc::InvalidArgument,
                fmt::format("--revoke-after-ms {}: goes with --cooperate or --revoke-test",
                            *options.revoke_after_ms));
  return options;
}

/// What would be passed over: its user meant something by it.
Result<void> check_of_a_revoke(const CLI::App& app, const Options& options, bool cooperates) {
  for (const char* const name : {"--op", "--depth", "--limit-ms"})
    if (app.count(name) != 0 && !options.revoke_test && !cooperates)
      return fail(Errc::InvalidArgument,
                  fmt::format("{}: of a revoke; it goes with --revoke-test or --cooperate", name));
  return {};
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  LeasedWords leased;
  CLI::App app{"The client of a lease, on plain libibverbs: checks what it was granted.",
               "lease-verify"};
  add_server(app, options);
  add_leased(app, leased);
  add_checks(app, options);
  add_revoke_options(app, options);
  SweepWords sweep;
  add_sweep(app, sweep);
  app.footer(kFooter);
  PORTCULLIS_TRY_ASSIGN(options.text, program::parse_arguments(app, {argv + 1, argv + argc}));
  if (options.text) return options;
  const bool by_leased = app.count("--leased") != 0;
  if (sweep.is_asked) {
    PORTCULLIS_TRY(take_sweep(sweep, by_leased, options));
    return options;
  }
  PORTCULLIS_TRY(check_ways(options, by_leased));
  PORTCULLIS_TRY(check_of_a_revoke(app, options, leased.options.cooperate));
  PORTCULLIS_TRY(program::check_outputs({{"--json", options.json_file},
                                         {"--request-file", options.request_file},
                                         {"--grant-file", options.grant_file}},
                                        {}));
  if (by_leased) {
    PORTCULLIS_TRY_ASSIGN(options.leased, leased_options(leased, options.revoke_test));
  }
  return options;
}

}  // namespace portcullis::tools::lease_verify
