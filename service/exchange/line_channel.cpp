// SPDX-License-Identifier: BSD-3-Clause
//
// What both kinds of channel share: waiting, and the exchange by files.
#include "service/exchange/line_channel.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "service/exchange/exchange.hpp"

namespace portcullis::service::exchange {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLookAgainNs = 2 * kNsPerMs;

/// As much as can be a line, and a byte more; none of what is no plain file. O_NONBLOCK: opening a
/// pipe would wait for who writes it.
std::optional<std::string> read_some(const fs::path& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat opened {};
  if (!fd.is_open() || fstat(fd.get(), &opened) != 0 || !S_ISREG(opened.st_mode))
    return std::nullopt;
  std::string text(kMaxLineBytes + 2, '\0');
  const ssize_t got = read(fd.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

class FileChannel final : public LineChannel {
 public:
  FileChannel(fs::path from, fs::path to, mode_t mode)
      : from_(std::move(from)), to_(std::move(to)), mode_(mode) {}

  Result<std::optional<std::string>> poll_line() override {
    std::error_code error;
    const auto written = fs::last_write_time(from_, error);
    if (error || written == taken_) return std::nullopt;
    const auto read = read_some(from_);
    if (!read) {
      taken_ = written;
      return fail(
          Errc::Malformed,
          fmt::format("{} is no plain file that can be read; one with a line in it is accepted",
                      from_.string()));
    }
    const std::string& text = *read;
    const std::size_t end = text.find('\n');
    if (end == std::string::npos && text.size() <= kMaxLineBytes) return unfinished(text, written);
    taken_ = written;
    if (end == std::string::npos)
      return fail(Errc::Malformed, fmt::format("{}: a line of over {} bytes; that many are "
                                               "accepted",
                                               from_.string(), kMaxLineBytes));
    return text.substr(0, end);
  }

  Result<void> send_line(std::string_view line) override {
    return program::write_output(to_.string(), std::string(line) + '\n', mode_);
  }

  void drop() override {}
  bool is_peer_gone() override { return false; }
  std::string peer() const override { return from_.string(); }
  std::string who_may_ask() const override {
    return fmt::format(
        "whoever can write {} is granted a lease for the GID, MAC and QPN that it claims: nobody "
        "is "
        "authenticated",
        from_.string());
  }

 private:
  /// Somebody may still be writing it; after a while nobody is.
  Result<std::optional<std::string>> unfinished(const std::string& text,
                                                fs::file_time_type written) {
    constexpr auto kPatience = std::chrono::seconds(2);
    if (fs::file_time_type::clock::now() - written < kPatience) return std::nullopt;
    taken_ = written;
    return fail(Errc::Malformed,
                fmt::format("{}: \"{}\" has no newline at its end; a whole line is accepted",
                            from_.string(), shown(text)));
  }

  fs::path from_;
  fs::path to_;
  mode_t mode_;
  std::optional<fs::file_time_type> taken_;
};

}  // namespace

Idle sleep_unless(const std::function<bool()>& stop) {
  return [stop](std::uint64_t most_ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(most_ns));
    return !stop();
  };
}

Result<std::unique_ptr<LineChannel>> open_files(const fs::path& from, const fs::path& to,
                                                mode_t mode) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(to, error)))
    return fail(
        Errc::Busy,
        fmt::format("{} is there already; remove it: it may be of another exchange", to.string()));
  return std::make_unique<FileChannel>(from, to, mode);
}

Result<std::string> wait_for_line(LineChannel& channel, std::uint64_t timeout_ms,
                                  const Idle& idle) {
  const Clock clock = Clock::wall();
  const std::uint64_t until_ns = clock.now_ns() + timeout_ms * kNsPerMs;
  while (true) {
    PORTCULLIS_TRY_ASSIGN(auto line, channel.poll_line());
    if (line) return *std::move(line);
    if (clock.now_ns() >= until_ns)
      return fail(Errc::Timeout,
                  fmt::format("{}: no line within {} ms", channel.peer(), timeout_ms));
    if (!idle(kLookAgainNs)) return fail(Errc::Busy, "interrupted");
  }
}

}  // namespace portcullis::service::exchange
