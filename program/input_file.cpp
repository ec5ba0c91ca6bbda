// SPDX-License-Identifier: BSD-3-Clause
#include "program/input_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/unique_fd.hpp"

namespace portcullis::program {

Result<std::string> read_input(const std::string& path, std::size_t most_bytes) {
  constexpr std::size_t kPiece = 1U << 16U;
  const auto complaint = [&path] {
    return fail(Errc::System, path + " cannot be read: " + std::generic_category().message(errno));
  };
  // A pipe by name that nobody writes would keep open(2) waiting, deaf to Ctrl-C; this way it is an
  // empty file.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 || ::fcntl(file.get(), F_SETFL, 0) != 0) return complaint();
  std::string bytes;
  for (;;) {
    const std::size_t had = bytes.size();
    bytes.resize(had + kPiece);
    const ssize_t got = ::read(file.get(), bytes.data() + had, kPiece);
    bytes.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return bytes;
    if (got < 0 && errno != EINTR) return complaint();
    if (bytes.size() > most_bytes)
      return fail(Errc::System, path + " has more than " + std::to_string(most_bytes) +
                                    " bytes, the most that is accepted");
  }
}

}  // namespace portcullis::program
