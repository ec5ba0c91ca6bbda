// SPDX-License-Identifier: BSD-3-Clause
#include "program/leased_socket.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace portcullis::program {

std::filesystem::path leased_socket() {
  const uid_t uid = ::geteuid();
  if (uid == 0) return "/run/portcullis/leased.sock";
  const char* run = std::getenv("XDG_RUNTIME_DIR");
  if (run != nullptr && run[0] == '/')
    return std::filesystem::path(run) / "portcullis" / "leased.sock";
  return "/tmp/portcullis-" + std::to_string(uid) + "/leased.sock";
}

}  // namespace portcullis::program
