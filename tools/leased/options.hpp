// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "service/daemon/config.hpp"

namespace portcullis::tools::leased {

struct Options {
  std::optional<std::string> text;              // of --help or --version
  std::optional<std::filesystem::path> config;  // the file, to be read again on SIGHUP
  bool checks_only = false;
  service::daemon::Config read;

  /// The built-in values, the file's over them, the command line's over both.
  [[nodiscard]] Result<service::daemon::Config> read_again() const;

  /// Of who started it, for the user may be another when it is asked again.
  Result<service::daemon::Config> built_in;

  // As the command line has it; empty where it says nothing.
  std::string device;
  std::string address;
  std::string socket;
  std::string journal;
  std::string left_function;
  std::string etcd;
  std::string node;
  std::string user;
  std::string group;
  bool without_seccomp = false;
  bool is_debuggable = false;
};

[[nodiscard]] Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace portcullis::tools::leased
