// SPDX-License-Identifier: BSD-3-Clause
#include "program/leased_socket.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
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

Result<void> check_folder(const std::filesystem::path& folder) {
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0)
    return fail(Errc::System, folder.string() + ": " + std::strerror(errno));
  const bool is_trusted = found.st_uid == 0 || found.st_uid == ::geteuid();
  const bool others_write = (found.st_mode & 022) != 0 && (found.st_mode & S_ISVTX) == 0;
  if (is_trusted && !others_write) return {};
  return fail(Errc::System, folder.string() +
                                ": somebody else may change what is in it; a folder of one's own "
                                "or root's, which no other may write, is accepted");
}

}  // namespace portcullis::program
