// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leased/options.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "attach/port.hpp"
#include "fleet/directory.hpp"
#include "program/command_line.hpp"

namespace portcullis::tools::leased {
namespace {

using service::daemon::Config;

constexpr const char* kFooter = R"(
Owns a port and serves leases on it to clients of this host, by the protocol of docs/wire.md:
  leased &                        a model, the user's own socket, nothing to configure
  leasectl status                 what it has; leasectl --help for the rest
  leased --config /etc/portcullis/leased.toml

SIGHUP reads the file again: limits and users count from then on. SIGTERM or Ctrl-C revokes every
lease, tells the outcomes, and ends; a second one ends it at once, and the function is reset.

exit status: 0 every lease that it had was TornDown at its end, 1 some were Fenced, 2 it could not
serve, 74 what was printed is not all there)";

Result<void> apply(const Options& options, service::daemon::ProcessConfig& process) {
  const auto take = [](const char* option, const std::string& text, auto find, auto& owner) {
    if (text.empty()) return Result<void>();
    auto found = find(text);
    if (!found)
      return Result<void>(fail(found.error().code,
                               std::string(option) + " \"" + text + "\": " + found.error().text));
    owner = *std::move(found);
    return Result<void>();
  };
  PORTCULLIS_TRY(take("--user", options.user, service::daemon::find_user, process.user));
  PORTCULLIS_TRY(take("--group", options.group, service::daemon::find_group, process.group));
  if (options.without_seccomp) process.seccomp = false;
  if (options.is_debuggable) process.is_debuggable = true;
  return service::daemon::check_process(process);
}

Result<void> apply_fleet(const Options& options, Config& config) {
  if (!options.etcd.empty()) {
    if (!config.fleet) config.fleet.emplace();
    PORTCULLIS_TRY_ASSIGN(config.fleet->etcd.endpoints, fleet::parse_endpoints(options.etcd));
  }
  if (options.node.empty()) return {};
  PORTCULLIS_TRY(fleet::check_node_name(options.node));
  if (!config.fleet)
    return fail(Errc::InvalidArgument,
                "--node " + options.node + " without --etcd; both together are accepted");
  config.fleet->node = options.node;
  return {};
}

Result<void> apply(const Options& options, Config& config) {
  if (!options.device.empty()) config.device.name = options.device;
  if (!options.socket.empty()) config.socket = options.socket;
  if (options.journal == "none") config.journal.reset();
  if (!options.journal.empty() && options.journal != "none") config.journal = options.journal;
  config.left_function = options.left_function;
  PORTCULLIS_TRY(apply(options, config.process));
  PORTCULLIS_TRY(apply_fleet(options, config));
  if (options.address.empty()) return {};
  PORTCULLIS_TRY_ASSIGN(config.device.address, attach::parse_port_address(options.address));
  return {};
}

}  // namespace

Result<Config> Options::read_again() const {
  // A journal that the command line names needs no place of the user's own.
  auto config = built_in;
  if (!config && journal.empty()) return config;
  if (!config) config = Config{};
  if (this->config) config = service::daemon::read_config(*this->config, *std::move(config));
  if (!config) return config;
  PORTCULLIS_TRY(apply(*this, *config));
  return config;
}

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app{"Serves leases, and takes them back: the revoke as a service.", "leased"};
  std::string file;
  app.add_option(
         "--device", options.device,
         "model (default), a PCI address such as 0000:03:00.0, mlx5_0, or\nshm:PATH, a model that "
         "hca-server --shm PATH has in a process of its own")
      ->type_name("SPEC");
  app.add_option("--address", options.address,
                 "the port's RoCE address (default its link-local IPv6 address)")
      ->type_name("IP");
  app.add_option("--config", file, "what docs/leased.md lists, in TOML")->type_name("FILE");
  app.add_flag("--check-config", options.checks_only, "says whether it would do, and ends");
  app.add_option("--socket", options.socket,
                 "where clients connect (default /run/portcullis/leased.sock for root, and\n"
                 "$XDG_RUNTIME_DIR/portcullis/leased.sock)")
      ->type_name("PATH");
  app.add_option("--journal", options.journal,
                 "what outlives the server (default /var/lib/portcullis/leased.journal for root,\n"
                 "and ~/.local/state/portcullis/leased.journal); none: nothing does")
      ->type_name("FILE");
  app.add_option("--leave", options.left_function,
                 "gives up the journal's leases there, where that is not --device:\n"
                 "they are Fenced, unproved (the line that refuses the start names it)")
      ->type_name("FUNCTION");
  app.add_option("--etcd", options.etcd,
                 "where nodes meet: it is one of many, and grants nothing while etcd has not\n"
                 "its session (docs/fleet.md); TLS and users stand in [etcd] of the file")
      ->type_name("URL,..");
  app.add_option("--node", options.node, "its name there, its own (default the host's)")
      ->type_name("NAME");
  app.add_option("--user", options.user,
                 "whom it goes on as once it has its device, files and sockets; for root alone\n"
                 "(default: as it was started)")
      ->type_name("NAME");
  app.add_option("--group", options.group, "and the group (default: the user's own)")
      ->type_name("NAME");
  app.add_flag("--no-seccomp", options.without_seccomp,
               "any system call is allowed, not those that it needs alone");
  app.add_flag("--debuggable", options.is_debuggable,
               "it may be traced and may leave a core, with keys in it");
  app.footer(kFooter);
  PORTCULLIS_TRY_ASSIGN(options.text, program::parse_arguments(app, {argv + 1, argv + argc}));
  if (options.text) return options;
  if (!file.empty()) options.config = file;
  options.built_in = service::daemon::default_config();
  PORTCULLIS_TRY_ASSIGN(options.read, options.read_again());
  return options;
}

}  // namespace portcullis::tools::leased
