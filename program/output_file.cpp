// SPDX-License-Identifier: BSD-3-Clause
#include "program/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/entropy.hpp"
#include "base/unique_fd.hpp"
#include "program/standard_streams.hpp"
#include "trace/recording_file.hpp"

namespace portcullis::program {
namespace {

tl::unexpected<Error> refuse(const std::string& path, const std::string& why) {
  return fail(Errc::System, path + " cannot be written: " + why);
}

std::string message(int error) { return std::generic_category().message(error); }

/// 0, or the error number of what the file did not take.
int write_whole(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t taken = write(fd, text.data(), text.size());
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(taken));
  }
  return 0;
}

/// A file under a name of its own, which goes unless it gets the name that was meant.
class Unfinished {
 public:
  static Result<Unfinished> create(const std::string& path, mode_t mode) {
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t number, random_number());
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
    const auto name = std::filesystem::path(path).replace_filename(".unfinished-" +
                                                                   std::string(digits.data(), end));
    UniqueFd fd(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!fd.is_open()) return refuse(path, message(errno));
    return Unfinished(path, name.string(), std::move(fd));
  }
  Unfinished(Unfinished&& other) noexcept
      : path_(std::move(other.path_)),
        name_(std::exchange(other.name_, {})),
        fd_(std::move(other.fd_)) {}
  Unfinished& operator=(Unfinished&&) = delete;
  ~Unfinished() {
    if (!name_.empty()) unlink(name_.c_str());
  }

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  Result<void> finish(std::string_view text) {
    int error = write_whole(fd_.get(), text);
    if (error == 0 && fsync(fd_.get()) != 0) error = errno;
    if (error != 0) return refuse(path_, message(error));
    if (rename(name_.c_str(), path_.c_str()) != 0) return refuse(path_, message(errno));
    name_.clear();
    return {};
  }

 private:
  Unfinished(std::string path, std::string name, UniqueFd fd) noexcept
      : path_(std::move(path)), name_(std::move(name)), fd_(std::move(fd)) {}

  std::string path_;
  std::string name_;
  UniqueFd fd_;
};

/// Of what stands there now; none when nothing does.
Result<std::optional<mode_t>> mode_of(const std::string& path) {
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) return there.st_mode;
  if (errno == ENOENT) return std::nullopt;
  return refuse(path, message(errno));
}

/// Terminals and the like are written without harm to what is read from them.
bool is_read(const std::string& output, const std::string& input) {
  std::error_code none;
  return std::filesystem::is_regular_file(output, none) &&
         std::filesystem::equivalent(output, input == "-" ? "/dev/stdin" : input, none);
}

}  // namespace

Result<void> check_output(const std::string& path) {
  PORTCULLIS_TRY_ASSIGN(const auto there, mode_of(path));
  if (there && S_ISLNK(*there))
    return refuse(path, "it is a symbolic link; the name of the file itself is accepted");
  if (there && !S_ISREG(*there) && !S_ISFIFO(*there) && !S_ISCHR(*there))
    return refuse(path, "it is no plain file; one, a pipe or a terminal is accepted");
  // A name says nothing of who may write what it stands for.
  if (there && faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
    return refuse(path, message(errno));
  if (there && !S_ISREG(*there)) return {};
  const std::string folder = std::filesystem::path(path).replace_filename(".").string();
  if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return refuse(path, message(errno));
  return {};
}

Result<void> write_output(const std::string& path, std::string_view text, mode_t mode) {
  PORTCULLIS_TRY(check_output(path));
  PORTCULLIS_TRY_ASSIGN(const auto there, mode_of(path));
  if (there && !S_ISREG(*there)) {
    PORTCULLIS_TRY_ASSIGN(const UniqueFd fd, trace::open_recording(path));
    const int error = write_whole(fd.get(), text);
    return error == 0 ? Result<void>() : refuse(path, message(error));
  }
  PORTCULLIS_TRY_ASSIGN(auto unfinished, Unfinished::create(path, mode));
  if (there && fchmod(unfinished.fd(), *there & mode) != 0) return refuse(path, message(errno));
  return unfinished.finish(text);
}

void keep_output(std::string_view option, const std::string& path, std::string_view text,
                 mode_t mode) {
  const auto written = write_output(path, text, mode);
  if (!written) note_lost_file(std::string(option) + " " + written.error().text);
}

Result<void> check_outputs(const std::vector<WrittenFile>& files,
                           const std::vector<std::string>& inputs) {
  for (const WrittenFile& output : files)
    for (const std::string& input : inputs)
      if (!output.file.empty() && !input.empty() && is_read(output.file, input))
        return fail(Errc::InvalidArgument,
                    std::string(output.option) + " " + output.file + ": it is read, as " +
                        (input == "-" ? "standard input" : input) + "; another file is accepted");
  std::error_code none;
  const auto resolved = [&none](const std::string& file) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file, none), none);
  };
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t other = 0; other < i; ++other)
      // Nothing is lost of what two write to /dev/null, or to a terminal.
      if (!files[i].file.empty() && !files[other].file.empty() &&
          !std::filesystem::is_character_file(files[i].file, none) &&
          resolved(files[i].file) == resolved(files[other].file))
        return fail(Errc::InvalidArgument, std::string(files[i].option) + " " + files[i].file +
                                               ": " + std::string(files[other].option) +
                                               " is written there; two files are accepted");
  return {};
}

}  // namespace portcullis::program
