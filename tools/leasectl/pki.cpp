// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leasectl/pki.hpp"

#include <CLI/CLI.hpp>

#include "base/udp_socket.hpp"
#include "wire/account.hpp"

namespace portcullis::tools::leasectl {
namespace {

constexpr unsigned kMostDays = 36'500;

/// A server is asked for by a name or by an address.
std::string server_name(const std::string& host) {
  const auto address = address_text(host);
  return address ? "IP:" + *address : "DNS:" + host;
}

wire::Account account_of(const std::string& text) {
  const auto account = wire::read_certificate_name("URI:portcullis:" + text);
  if (account) return *account;
  throw CLI::ValidationError("--client", text +
                                             ": TENANT:ROLE is accepted, such as 7:client; roles "
                                             "are client, operator and observer");
}

void add_init(CLI::App& pki, PkiOptions& options, const std::function<void()>& chosen) {
  CLI::App* command = pki.add_subcommand("init", "makes an authority in a folder");
  command->add_option("DIR", options.folder, "where it is to be")->type_name("")->required();
  command->add_option("--name", options.authority_name, "for people")
      ->type_name("TEXT")
      ->capture_default_str();
  command->add_option("--days", options.days, "until it runs out")
      ->type_name("N")
      ->check(CLI::Range(1U, kMostDays))
      ->capture_default_str();
  command->callback([&options, chosen] {
    options.command = PkiOptions::Command::Init;
    chosen();
  });
}

void add_issue(CLI::App& pki, PkiOptions& options, const std::function<void()>& chosen) {
  CLI::App* command = pki.add_subcommand("issue", "makes STEM.pem and STEM.key");
  command->add_option("DIR", options.folder, "of the authority")->type_name("")->required();
  command->add_option("STEM", options.stem, "of the two files")->type_name("")->required();
  auto* server = command->add_option_function<std::vector<std::string>>(
      "--server",
      [&options](const std::vector<std::string>& hosts) {
        options.wish.purpose = quic::Purpose::Server;
        for (const auto& each : hosts) options.wish.names.push_back(server_name(each));
      },
      "for leased: every name and address that clients ask for it by");
  server->type_name("HOST");
  auto* account = command->add_option_function<std::string>(
      "--client",
      [&options](const std::string& text) {
        options.wish.names.push_back(wire::certificate_name(account_of(text)));
      },
      "for a client: whose leases, and what it may");
  account->type_name("TENANT:ROLE")->excludes(server);
  auto* names = command->add_option_function<std::vector<std::string>>(
      "--name",
      [&options](const std::vector<std::string>& more) {
        options.wish.names.insert(options.wish.names.end(), more.begin(), more.end());
      },
      "for a client that leased.toml has a [[certificate]] for: DNS:NAME, IP:ADDRESS or URI:TEXT");
  names->type_name("SAN")->excludes(server);
  command->add_option("--days", options.wish.days, "until it runs out, with the authority at last")
      ->type_name("N")
      ->check(CLI::Range(1U, kMostDays))
      ->capture_default_str();
  command->callback([&options, chosen] {
    if (options.wish.names.empty())
      throw CLI::ValidationError("issue", "for whom? --server, --client or --name is accepted");
    options.command = PkiOptions::Command::Issue;
    chosen();
  });
}

void add_revoke(CLI::App& pki, PkiOptions& options, const std::function<void()>& chosen) {
  CLI::App* command =
      pki.add_subcommand("revoke", "puts a certificate on the list DIR/revoked.pem");
  command->add_option("DIR", options.folder, "of the authority")->type_name("")->required();
  command->add_option("CERTIFICATE", options.certificate, "its file")->type_name("")->required();
  command->callback([&options, chosen] {
    options.command = PkiOptions::Command::Revoke;
    chosen();
  });
}

}  // namespace

void add_pki(CLI::App& app, PkiOptions& options, const std::function<void()>& chosen) {
  CLI::App* pki = app.add_subcommand(
      "pki", "certificates for QUIC: init, issue, revoke (for who has no other)");
  pki->require_subcommand(1);
  add_init(*pki, options, chosen);
  add_issue(*pki, options, chosen);
  add_revoke(*pki, options, chosen);
  pki->footer(R"(
  leasectl pki init /etc/portcullis/pki
  leasectl pki issue /etc/portcullis/pki server --server db1.example --server 192.0.2.1
  leasectl pki issue /etc/portcullis/pki alice --client 7:client
  leasectl pki revoke /etc/portcullis/pki alice.pem     then SIGHUP to leased, which hangs up)");
}

Result<int> run_pki(const PkiOptions& options,
                    const std::function<void(const std::string&)>& print) {
  switch (options.command) {
    case PkiOptions::Command::Init: {
      PORTCULLIS_TRY(quic::create_authority(options.folder, options.authority_name, options.days));
      for (const char* each : {"ca.pem", "ca.key", "revoked.pem"})
        print((options.folder / each).string());
      return 0;
    }
    case PkiOptions::Command::Issue: {
      quic::CertificateWish wish = options.wish;
      wish.common_name = options.stem.filename().string();
      PORTCULLIS_TRY(quic::issue(options.folder, wish, options.stem));
      print(options.stem.string() + ".pem");
      print(options.stem.string() + ".key");
      return 0;
    }
    case PkiOptions::Command::Revoke: {
      PORTCULLIS_TRY(quic::revoke(options.folder, options.certificate));
      print((options.folder / "revoked.pem").string());
      return 0;
    }
  }
  return 0;
}

}  // namespace portcullis::tools::leasectl
