// SPDX-License-Identifier: BSD-3-Clause
#include "trace/recording_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace portcullis::trace {
namespace {

tl::unexpected<Error> refuse(const std::string& path, const std::string& why) {
  return fail(Errc::System, path + " cannot be written: " + why);
}

std::string why_not_opened(int error) {
  if (error == ELOOP) return "it is a symbolic link; the name of the file itself is accepted";
  if (error == ENXIO) return "nobody reads the pipe";
  return std::generic_category().message(error);
}

}  // namespace

Result<UniqueFd> open_recording(const std::string& path) {
  constexpr mode_t kMode = 0666;  // less what umask says
  // O_NONBLOCK: opening a pipe would wait for who reads it.
  UniqueFd fd(::open(path.c_str(),
                     O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, kMode));
  if (!fd.is_open()) return refuse(path, why_not_opened(errno));
  struct stat opened {};
  if (fstat(fd.get(), &opened) != 0) return refuse(path, why_not_opened(errno));
  if (!S_ISREG(opened.st_mode) && !S_ISFIFO(opened.st_mode) && !S_ISCHR(opened.st_mode))
    return refuse(path, "it is no plain file; one, a pipe or a terminal is accepted");
  if (S_ISREG(opened.st_mode) && ftruncate(fd.get(), 0) != 0)
    return refuse(path, why_not_opened(errno));
  const int flags = fcntl(fd.get(), F_GETFL);
  if (flags < 0 || fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK) != 0)
    return refuse(path, why_not_opened(errno));
  return fd;
}

Result<std::FILE*> open_recording_stream(const std::string& what, const std::string& path) {
  auto fd = open_recording(path);
  if (!fd) return fail(fd.error().code, what + " " + fd.error().text);
  std::FILE* const stream = fdopen(fd->get(), "w");
  if (stream == nullptr) return refuse(what + " " + path, why_not_opened(errno));
  static_cast<void>(fd->release());
  return stream;
}

}  // namespace portcullis::trace
