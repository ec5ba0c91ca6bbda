// SPDX-License-Identifier: BSD-3-Clause
#include "tools/eal_options.hpp"

#include <utility>

#include "pmd/eal.hpp"
#include "tools/command_line.hpp"

namespace portcullis::tools {
namespace {

/// The words that tell one of our options where it stands before `--`.
std::vector<std::string> own_prefixes(const CLI::App& app) {
  std::vector<std::string> prefixes;
  for (const CLI::Option* option : app.get_options())
    if (option != app.get_help_ptr() && option != app.get_version_ptr())
      prefixes.push_back(option->get_name());
  return prefixes;
}

/// --help and --version are answered on either side of `--`.
bool asks_for_text(const CLI::App& app, const std::string& word) {
  return word == "--help" || word == "-h" ||
         (word == "--version" && app.get_version_ptr() != nullptr);
}

}  // namespace

Result<EalOptions> parse_behind_eal(CLI::App& app, int argc, const char* const* argv) {
  PORTCULLIS_TRY_ASSIGN(auto parts, pmd::split_command_line(argc, argv, own_prefixes(app)));
  std::vector<std::string> ours(parts.own.begin() + 1, parts.own.end());
  for (const std::string& word : parts.eal)
    if (asks_for_text(app, word)) ours = {word};
  PORTCULLIS_TRY_ASSIGN(auto text, parse_arguments(app, std::move(ours)));
  return EalOptions{std::move(parts.eal), std::move(text)};
}

void add_port_options(CLI::App& app, std::string& device, std::optional<pmd::Gid>& address) {
  app.add_option("--device", device, "a PCI address such as 0000:03:00.0 (doctor helps)")
      ->type_name("SPEC")
      ->required();
  add_address_option(app, address);
}

CLI::Option* add_address_option(CLI::App& app, std::optional<pmd::Gid>& address) {
  return app
      .add_option_function<std::string>(
          "--address",
          [&address](const std::string& text) {
            auto gid = pmd::Gid::parse(text);
            if (!gid) throw CLI::ValidationError("--address", gid.error().text);
            address = *gid;
          },
          "the port's RoCE address (default its link-local IPv6 address)")
      ->type_name("IP");
}

}  // namespace portcullis::tools
