// SPDX-License-Identifier: BSD-3-Clause
//
// Whom leased goes on as once it has its device, its files and its sockets, and who may look into
// its memory. What was opened before stays open; nothing else that was root's can be had again.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.hpp"

namespace portcullis::service::daemon {

/// A user or a group as the configuration has it.
struct Owner {
  std::string text;                 // a name or a number
  unsigned id = 0;                  // of the user, or of the group
  std::optional<gid_t> group = {};  // of a user: the one that the system's entry says

  bool operator==(const Owner&) const = default;
};

struct ProcessConfig {
  std::optional<Owner> user = {};   // none: as whoever started it
  std::optional<Owner> group = {};  // none: the user's own
  bool seccomp = true;              // allow_listed_calls_alone()
  bool is_debuggable = false;       // may be traced, and may leave a core

  bool operator==(const ProcessConfig&) const = default;
};

/// By name, or by number where nobody is called so; never root, for that drops nothing.
/// InvalidArgument.
[[nodiscard]] Result<Owner> find_user(const std::string& text);
[[nodiscard]] Result<Owner> find_group(const std::string& text);
/// InvalidArgument when user and group do not go together.
[[nodiscard]] Result<void> check_process(const ProcessConfig& config);

/// Before any key is in memory, and before there is a second thread: no core, nobody of the same
/// user may trace the process or read its memory, and no program that it starts gets more than it
/// has.
[[nodiscard]] Result<void> hide_memory(const ProcessConfig& config);

/// Every thread becomes the user and the group, with no other groups and no capabilities; then each
/// is looked at, and what is not so is an error. One line that says what came of it.
[[nodiscard]] Result<std::string> drop_privileges(const ProcessConfig& config);

}  // namespace portcullis::service::daemon
