// SPDX-License-Identifier: BSD-3-Clause
//
// What both kinds of channel share: waiting, and the exchange by files.
#include "tools/lease_exchange/line_channel.hpp"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "tools/lease_exchange/exchange.hpp"

namespace portcullis::tools::lease_exchange {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLookAgainNs = 2 * kNsPerMs;

class FileChannel final : public LineChannel {
 public:
  FileChannel(fs::path from, fs::path to) : from_(std::move(from)), to_(std::move(to)) {}

  Result<std::optional<std::string>> poll_line() override {
    std::error_code error;
    const auto written = fs::last_write_time(from_, error);
    if (error || written == taken_) return std::nullopt;
    if (!fs::is_regular_file(from_, error)) {  // opening a pipe would wait for who writes it
      taken_ = written;
      return fail(
          Errc::Malformed,
          fmt::format("{} is no plain file; one with a line in it is accepted", from_.string()));
    }
    std::ifstream file(from_, std::ios::binary);
    std::string text(kMaxLineBytes + 2, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
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
    const fs::path unfinished = to_.string() + ".unfinished";
    std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
    file << line << '\n';
    file.close();
    std::error_code error;
    if (file) fs::rename(unfinished, to_, error);
    if (!file || error)
      return fail(Errc::System, fmt::format("{} cannot be written{}", to_.string(),
                                            error ? ": " + error.message() : std::string()));
    return {};
  }

  void drop() override {}
  bool is_peer_gone() override { return false; }
  std::string peer() const override { return from_.string(); }

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
  std::optional<fs::file_time_type> taken_;
};

}  // namespace

Idle sleep_unless(const std::function<bool()>& stop) {
  return [stop](std::uint64_t most_ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(most_ns));
    return !stop();
  };
}

Result<std::unique_ptr<LineChannel>> open_files(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (fs::exists(to, error))
    return fail(
        Errc::Busy,
        fmt::format("{} is there already; remove it: it may be of another exchange", to.string()));
  return std::make_unique<FileChannel>(from, to);
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

}  // namespace portcullis::tools::lease_exchange
