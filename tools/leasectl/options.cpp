// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leasectl/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <CLI/CLI.hpp>
#include <fstream>

#include "pmd/gid.hpp"
#include "program/command_line.hpp"
#include "program/leased_socket.hpp"
#include "tools/leased_server.hpp"

namespace portcullis::tools::leasectl {
namespace {

constexpr std::uint64_t kMostMs = 31'536'000'000;  // a year

constexpr const char* kFooter = R"(
  leasectl status
  leasectl alloc --gid 192.0.2.2 --mac 02:50:43:00:00:02 --qpn 0x11 &
  leasectl list
  leasectl revoke 5ac0..:2f31..        the name as list and alloc print it
  leasectl alloc --anywhere --etcd http://192.0.2.1:2379 --label rack=r1 --gid .. --mac ..
  leasectl quota 7 --leases 100 --etcd http://192.0.2.1:2379
  leasectl pki init /etc/portcullis/pki      then pki issue: certificates for --server

exit status: 0 done (revoke: TornDown), 1 alloc: the lease has ended otherwise than by its
holder, 2 it could not be asked or was refused, 3 Fenced (fenced: there are such, or were), 4
NotFound (--everywhere: no node has joined), 5 --everywhere: not certain, a node is Unreachable
or endpoints are of two clusters, 6 --everywhere: a node is Expired, and none is Unreachable)";

struct LeaseName {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
};

/// ID:EPOCH, both hexadecimal, as report.cpp writes them.
std::optional<LeaseName> parse_name(const std::string& text) {
  const auto hex = [](const char* from, const char* to, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(from, to, value, 16);
    return error == std::errc{} && end == to && from != to;
  };
  const char* begin = text.data();
  const char* end = begin + text.size();
  const std::size_t colon = text.find(':');
  LeaseName name;
  if (colon == std::string::npos || !hex(begin, begin + colon, name.id) ||
      !hex(begin + colon + 1, end, name.epoch))
    return std::nullopt;
  return name;
}

template <class Request>
void add_name(CLI::App& command, Request& request) {
  command
      .add_option_function<std::string>(
          "LEASE",
          [&request](const std::string& text) {
            const auto name = parse_name(text);
            if (!name)
              throw CLI::ValidationError(
                  "LEASE", text + ": ID:EPOCH is accepted, both hexadecimal, as list prints them");
            request.id = name->id;
            request.epoch = name->epoch;
          },
          "its name, as list and alloc print it")
      ->required();
}

/// In decimal alone: CLI11 takes 010 for 8, and what is beyond 64 bits for the most that they hold.
CLI::Option* add_number(CLI::App& command, const std::string& name,
                        std::optional<std::uint64_t>& to, const char* what) {
  return command.add_option_function<std::string>(
      name,
      [&to, name](const std::string& text) {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [last, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc{} || last != end)
          throw CLI::ValidationError(
              name, text + ": a number from 0 to 18446744073709551615 is accepted");
        to = value;
      },
      what);
}

void add_tenant(CLI::App& command, Options& options) {
  auto* one =
      add_number(command, "--tenant", options.tenant, "whose (default one's own)")->type_name("N");
  command.add_flag("--all", options.every_tenant, "every tenant's: for operators and observers")
      ->excludes(one);
}

/// Where the nodes meet. A password is in a file, for everybody sees a command line.
CLI::Option* add_etcd(CLI::App& command, fleet::EtcdOptions& etcd) {
  auto* urls = command.add_option_function<std::string>(
      "--etcd",
      [&etcd](const std::string& text) {
        auto parsed = fleet::parse_endpoints(text);
        if (!parsed) throw CLI::ValidationError("--etcd", parsed.error().text);
        etcd.endpoints = *std::move(parsed);
      },
      "where the nodes meet");
  urls->type_name("URL,..");
  const auto file = [&](const char* name, std::filesystem::path& path, const char* what) {
    command.add_option(name, path, what)->type_name("FILE")->needs(urls);
  };
  file("--etcd-authority", etcd.tls.authority,
       "whom etcd is believed by, PEM (default the system's)");
  file("--etcd-certificate", etcd.tls.certificate, "one's own for etcd, PEM");
  file("--etcd-key", etcd.tls.key, "of the certificate, PEM");
  command.add_option("--etcd-user", etcd.user, "as whom etcd is asked")
      ->needs(urls)
      ->type_name("NAME");
  command
      .add_option_function<std::string>(
          "--etcd-password-file",
          [&etcd](const std::string& path) {
            std::ifstream stream(path);
            if (!std::getline(stream, etcd.password) || etcd.password.empty())
              throw CLI::ValidationError(
                  "--etcd-password-file",
                  path + ": a file whose first line is the password is accepted");
          },
          "the first line of it")
      ->needs(urls)
      ->type_name("FILE");
  return urls;
}

/// Where it is to be, for whoever does not care which node it is.
void add_anywhere(CLI::App& command, Options& options) {
  auto* anywhere = command.add_flag("--anywhere", options.anywhere,
                                    "of whichever node of the fleet takes it (docs/fleet.md)");
  auto* urls = add_etcd(command, options.etcd);
  urls->needs(anywhere);
  anywhere->needs(urls);
  const auto labels = [&](const char* name, std::vector<std::string>& to, const char* what) {
    command
        .add_option_function<std::vector<std::string>>(
            name,
            [&to, name](const std::vector<std::string>& texts) {
              if (const auto checked = fleet::check_labels(texts); !checked)
                throw CLI::ValidationError(name, checked.error().text);
              to = texts;
            },
            what)
        ->type_name("KEY=VALUE")
        ->needs(anywhere)
        ->expected(1, 1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  labels("--label", options.place.labels, "that the node must have; may be given again");
  labels("--prefer", options.place.prefers, "that it had better have; may be given again");
}

void add_alloc(CLI::App& app, Options& options) {
  CLI::App* command = app.add_subcommand(
      "alloc", "asks for a lease, prints it, and holds it until Ctrl-C or its end");
  wire::AllocRequest& alloc = options.alloc;
  alloc.bytes = 65'536;
  alloc.qpn = 0x11;
  const auto rate = CLI::Range(std::uint64_t{1}, ~std::uint64_t{0});
  command->add_option("--bytes", alloc.bytes, "of the region")
      ->type_name("N")
      ->check(rate)
      ->capture_default_str();
  command->add_option("--ttl-ms", alloc.ttl_ms, "between renewals (default the server's)")
      ->type_name("MS");
  command
      ->add_option_function<std::string>(
          "--gid",
          [&alloc](const std::string& text) {
            const auto gid = pmd::Gid::parse(text);
            if (!gid) throw CLI::ValidationError("--gid", gid.error().text);
            for (std::size_t i = 0; i < alloc.gid.size(); ++i)
              alloc.gid[i] = static_cast<std::uint8_t>(gid->bytes[i]);
          },
          "the client's RoCE address")
      ->type_name("IP")
      ->required();
  command
      ->add_option_function<std::string>(
          "--mac",
          [&alloc](const std::string& text) {
            const auto mac = pmd::Mac::parse(text);
            if (!mac) throw CLI::ValidationError("--mac", mac.error().text);
            alloc.mac = mac->octets;
          },
          "the client's MAC")
      ->type_name("MAC")
      ->required();
  command->add_option("--qpn", alloc.qpn, "the client's queue pair")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--psn", alloc.psn, "the first that it sends")->type_name("N");
  add_anywhere(*command, options);
  command->add_option("--hold-ms", options.hold_ms, "revokes it after this (default: Ctrl-C does)")
      ->type_name("MS")
      ->check(CLI::Range(std::uint64_t{1}, kMostMs));
  command->callback([&options] { options.command = Command::Alloc; });
}

void add_revoke(CLI::App& app, Options& options) {
  CLI::App* command =
      app.add_subcommand("revoke", "takes a lease back, and says what that came to");
  add_name(*command, options.revoke);
  command
      ->add_option_function<std::string>(
          "--plan",
          [&options](const std::string& text) {
            for (std::uint8_t each = 0; wire::is_known(wire::Plan{each}); ++each)
              if (wire::name(wire::Plan{each}) == text) {
                options.revoke.plan = wire::Plan{each};
                return;
              }
            throw CLI::ValidationError("--plan", text +
                                                     ": default, seed, nak-first, legacy, umr or "
                                                     "access-flags is accepted");
          },
          "how it is fenced (default as the server is configured)")
      ->type_name("NAME");
  command->callback([&options] { options.command = Command::Revoke; });
}

void add_quota(CLI::App& app, Options& options) {
  CLI::App* command =
      app.add_subcommand("quota", "what tenants may have on all nodes of the fleet together");
  add_number(*command, "TENANT", options.tenant, "its number (default every one that has a quota)")
      ->type_name("");
  add_etcd(*command, options.etcd)->required();
  auto* none = command->add_flag("--no-limit", options.quota.lifts, "takes both limits away");
  add_number(*command, "--leases", options.quota.leases, "at most so many")
      ->type_name("N")
      ->excludes(none);
  add_number(*command, "--bytes", options.quota.bytes,
             "of regions, in whole pages, at most so many")
      ->type_name("N")
      ->excludes(none);
  command->callback([&options] { options.command = Command::Quota; });
}

void add_revoke_tenant(CLI::App& app, Options& options) {
  CLI::App* tenant = app.add_subcommand("revoke-tenant", "takes back everything a tenant has");
  add_number(*tenant, "TENANT", options.tenant, "its number")->type_name("")->required();
  auto* everywhere = tenant->add_flag("--everywhere", options.everywhere,
                                      "on every node that has joined the fleet (docs/fleet.md)");
  auto* urls = add_etcd(*tenant, options.etcd);
  urls->needs(everywhere);
  everywhere->needs(urls);
  tenant
      ->add_flag("--wait", options.waits,
                 "follows until every node has answered, those that are away, too")
      ->needs(everywhere);
  tenant
      ->add_option("--most-ms", options.most_wait_ms,
                   "at most so long: for nodes that have a session (default 10000), or with --wait "
                   "for every node (default without end)")
      ->type_name("MS")
      ->needs(everywhere)
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{3'600'000}));
  tenant->callback([&options] { options.command = Command::RevokeTenant; });
}

void add_rest(CLI::App& app, Options& options) {
  app.add_subcommand("status", "the server, its device, and how many leases there are")
      ->callback([&options] { options.command = Command::Status; });
  CLI::App* list = app.add_subcommand("list", "leases that are held, or whose slots are fenced");
  add_tenant(*list, options);
  list->callback([&options] { options.command = Command::List; });
  CLI::App* renew = app.add_subcommand("renew", "puts a lease's end off");
  add_name(*renew, options.renew);
  renew->add_option("--ttl-ms", options.renew.ttl_ms, "from now (default the server's)")
      ->type_name("MS");
  renew->callback([&options] { options.command = Command::Renew; });
  add_revoke_tenant(app, options);
  CLI::App* watch = app.add_subcommand("watch", "a line for each lease that ends");
  add_tenant(*watch, options);
  watch->add_option("--for-ms", options.watch_ms, "ends after this (default: Ctrl-C does)")
      ->type_name("MS")
      ->check(CLI::Range(std::uint64_t{1}, kMostMs));
  watch->callback([&options] { options.command = Command::Watch; });
}

/// "90s", "15m", "24h" or "7d", in milliseconds.
std::optional<std::uint64_t> parse_duration(const std::string& text) {
  constexpr std::uint64_t kMost = 36'500;  // of whatever unit: a hundred years of days
  std::uint64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc{} || end - unit != 1 || count > kMost) return std::nullopt;
  switch (*unit) {
    case 's':
      return count * 1'000;
    case 'm':
      return count * 60'000;
    case 'h':
      return count * 3'600'000;
    case 'd':
      return count * 86'400'000;
    default:
      return std::nullopt;
  }
}

void add_since(CLI::App& command, Options& options) {
  command
      .add_option_function<std::string>(
          "--since",
          [&options](const std::string& text) {
            const auto since_ms = parse_duration(text);
            if (!since_ms)
              throw CLI::ValidationError(
                  "--since", text + ": a number up to 36500 and s, m, h or d is accepted");
            options.since_ms = *since_ms;
          },
          "how far back (default 24h)")
      ->type_name("90s|15m|24h|7d");
}

/// What was, from the server's journal, and what is, again and again.
void add_views(CLI::App& app, Options& options) {
  const auto rows = CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000});
  CLI::App* history = app.add_subcommand("history", "leases that have ended, the newest first");
  CLI::App* fenced = app.add_subcommand(
      "fenced", "slots that are out of use, and leases that ended so: status 3 if there are any");
  for (CLI::App* each : {history, fenced}) {
    add_tenant(*each, options);
    add_since(*each, options);
    each->add_option("--most", options.most_rows, "no more than these")
        ->type_name("N")
        ->check(rows)
        ->capture_default_str();
  }
  history->callback([&options] { options.command = Command::History; });
  fenced->callback([&options] { options.command = Command::Fenced; });
  CLI::App* report = app.add_subcommand(
      "report", "one page of HTML: timeline, how long leases were held, every Fenced");
  report->add_option("FILE", options.report_file, "to be written")->required();
  add_tenant(*report, options);
  add_since(*report, options);
  report->callback([&options] { options.command = Command::Report; });
  CLI::App* top = app.add_subcommand("top", "the server and its tenants, again and again");
  add_tenant(*top, options);
  top->add_option("--every-ms", options.every_ms, "between two looks")
      ->type_name("MS")
      ->check(CLI::Range(std::uint64_t{100}, std::uint64_t{3'600'000}))
      ->capture_default_str();
  top->add_option("--rounds", options.rounds, "ends after so many (default: Ctrl-C does)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, ~std::uint64_t{0}));
  top->callback([&options] { options.command = Command::Top; });
}

/// A server of another host.
void add_quic(CLI::App& app, std::optional<client::QuicServer>& quic, CLI::Option& socket) {
  client::QuicServer& server = quic.emplace();
  auto* address = app.add_option("--server", server.address, "another host's leased, over QUIC");
  address->type_name("HOST:PORT")->excludes(&socket);
  for (CLI::Option* file : add_credentials(app, server, *address)) {
    address->needs(file);
    file->remove_needs(address);  // or alloc --anywhere: check_credentials()
  }
}

/// Those of a server by its name, or of whichever node; for nothing else they say anything.
Result<void> check_credentials(Options& options) {
  if (!options.server.quic) return {};
  const quic::CredentialFiles& files = options.server.quic->files;
  const bool has_any = !files.authority.empty() || !files.certificate.empty() || !files.key.empty();
  const bool has_all = !files.authority.empty() && !files.certificate.empty() && !files.key.empty();
  if (!options.server.quic->address.empty()) {
    if (options.anywhere)
      return fail(Errc::InvalidArgument, "--server and --anywhere: one of them is accepted");
    return {};
  }
  if (has_any && !options.anywhere)
    return fail(Errc::InvalidArgument,
                "--authority, --certificate and --key: --server is needed beside them, or alloc "
                "--anywhere");
  if (has_any && !has_all)
    return fail(Errc::InvalidArgument,
                "--anywhere: --authority, --certificate and --key are accepted together");
  if (has_any) options.credentials = options.server.quic;
  options.server.quic.reset();
  return {};
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  options.server.socket = program::leased_socket();
  CLI::App app{"Asks leased for leases, and for their end.", "leasectl"};
  app.require_subcommand(1);
  auto* socket = app.add_option("--socket", options.server.socket, "where leased listens");
  socket->type_name("PATH");
  add_quic(app, options.server.quic, *socket);
  app.add_flag("--json", options.json, "one JSON object a line, for programs");
  add_rest(app, options);
  add_alloc(app, options);
  add_revoke(app, options);
  add_views(app, options);
  add_quota(app, options);
  add_pki(app, options.pki, [&options] { options.command = Command::Pki; });
  for (CLI::App* each : app.get_subcommands({})) each->fallthrough();
  app.footer(kFooter);
  PORTCULLIS_TRY_ASSIGN(options.text, program::parse_arguments(app, {argv + 1, argv + argc}));
  if (options.text) return options;
  if (options.anywhere && socket->count() > 0)
    return fail(Errc::InvalidArgument, "--socket and --anywhere: one of them is accepted");
  PORTCULLIS_TRY(check_credentials(options));
  options.place.bytes = options.alloc.bytes;
  PORTCULLIS_TRY(fleet::check(options.etcd));
  return options;
}

}  // namespace portcullis::tools::leasectl
