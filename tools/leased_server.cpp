// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leased_server.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

namespace portcullis::tools {
namespace {

constexpr std::string_view kQuic = "quic://";

}  // namespace

std::array<CLI::Option*, 3> add_credentials(CLI::App& app, client::QuicServer& quic,
                                            CLI::Option& server) {
  const auto file = [&](const char* name, std::filesystem::path& path, const char* what) {
    return app.add_option(name, path, what)->type_name("FILE")->needs(&server);
  };
  auto* authority =
      file("--authority", quic.files.authority, "whom the server is believed by, PEM");
  auto* certificate = file("--certificate", quic.files.certificate, "one's own, PEM");
  auto* key = file("--key", quic.files.key, "of the certificate, PEM");
  app.add_option("--server-name", quic.name, "in the server's certificate (default HOST)")
      ->type_name("NAME")
      ->needs(&server);
  return {authority, certificate, key};
}

Result<client::ServerAddress> leased_server(const std::string& option, const std::string& text,
                                            const client::QuicServer& quic) {
  const bool has_all =
      !quic.files.authority.empty() && !quic.files.certificate.empty() && !quic.files.key.empty();
  const bool has_any = !quic.files.authority.empty() || !quic.files.certificate.empty() ||
                       !quic.files.key.empty() || !quic.name.empty();
  if (text.starts_with(kQuic)) {
    if (!has_all)
      return fail(Errc::InvalidArgument,
                  fmt::format("{} {}: --authority, --certificate and --key are needed, each a file "
                              "in PEM",
                              option, text));
    client::QuicServer server = quic;
    server.address = text.substr(kQuic.size());
    if (server.address.empty() || server.address.find(':') == std::string::npos)
      return fail(Errc::InvalidArgument,
                  fmt::format("{} {}: quic://HOST:PORT is accepted", option, text));
    return client::ServerAddress{.socket = {}, .quic = std::move(server)};
  }
  if (text.empty() || text.find("://") != std::string::npos)
    return fail(
        Errc::InvalidArgument,
        fmt::format("{} \"{}\": a socket's path or quic://HOST:PORT is accepted", option, text));
  if (has_any)
    return fail(Errc::InvalidArgument,
                fmt::format("{} {}: a socket asks for no certificate; --authority, --certificate, "
                            "--key and --server-name go with quic://HOST:PORT",
                            option, text));
  return client::ServerAddress{.socket = text, .quic = {}};
}

}  // namespace portcullis::tools
