// SPDX-License-Identifier: BSD-3-Clause
//
// leasectl pki: an authority of one's own and what it issues. It speaks to no server.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "quic/pki.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's own
namespace CLI {
class App;
}

namespace portcullis::tools::leasectl {

struct PkiOptions {
  enum class Command { Init, Issue, Revoke };
  Command command = Command::Init;
  std::filesystem::path folder;
  std::filesystem::path stem;         // issue
  std::filesystem::path certificate;  // revoke
  std::string authority_name = "portcullis authority";
  quic::CertificateWish wish;
  unsigned days = 3650;  // of the authority
};

/// The subcommand, with subcommands of its own; `chosen` is called when it is the one.
void add_pki(CLI::App& app, PkiOptions& options, const std::function<void()>& chosen);
/// The exit status; `print` is given what was made, a line each.
[[nodiscard]] Result<int> run_pki(const PkiOptions& options,
                                  const std::function<void(const std::string&)>& print);

}  // namespace portcullis::tools::leasectl
