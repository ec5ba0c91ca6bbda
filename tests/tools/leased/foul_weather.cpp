// SPDX-License-Identifier: BSD-3-Clause
//
// A library for LD_PRELOAD: a disk that fails or is slow and a clock that is set, while a program
// runs that knows of neither. What the weather is stands in the file that PORTCULLIS_WEATHER names,
// mapped before the program gives up its rights (weather.py writes it): a number of errno(3) for
// whoever reads or writes a file whose path has "journal" in it or waits for it, which of these
// calls fail, milliseconds that the wall clock is ahead, and milliseconds that a wait for the disk
// takes.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

struct Weather {
  std::atomic<std::int64_t> disk_errno;
  std::atomic<std::int64_t> ahead_ms;
  std::atomic<std::int64_t> spared;  // calls that pass first
  std::atomic<std::int64_t> one_in;  // of those after them, which fail; 0: each
  std::atomic<std::int64_t> slow_ms;
  std::atomic<std::int64_t> calls;  // so far
};

Weather* weather() noexcept {
  static Weather* const mapped = []() -> Weather* {
    const char* const path = std::getenv("PORTCULLIS_WEATHER");
    const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) std::abort();
    void* const at = ::mmap(nullptr, sizeof(Weather), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (at == MAP_FAILED) std::abort();
    return static_cast<Weather*>(at);
  }();
  return mapped;
}
[[gnu::constructor]] void map_early() noexcept { (void)weather(); }

template <class Call>
Call next(const char* name) noexcept {
  return std::bit_cast<Call>(::dlsym(RTLD_NEXT, name));
}

bool is_journal(int file) noexcept {
  std::array<char, 64> link{};
  std::array<char, 4096> path{};
  (void)std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", file);
  const ssize_t bytes = ::readlink(link.data(), path.data(), path.size() - 1);
  return bytes > 0 && std::strstr(path.data(), "journal") != nullptr;
}

/// Sets errno where it does.
bool fails(int file) noexcept {
  if (!is_journal(file)) return false;
  const std::int64_t earlier = weather()->calls.fetch_add(1) - weather()->spared.load();
  const auto error = static_cast<int>(weather()->disk_errno.load());
  const std::int64_t one_in = weather()->one_in.load();
  if (error == 0 || earlier < 0 || (one_in > 1 && earlier % one_in != 0)) return false;
  errno = error;
  return true;
}

bool fails_to_wait(int file) noexcept {
  const auto slow_ms = static_cast<int>(weather()->slow_ms.load());
  if (slow_ms != 0 && is_journal(file)) (void)::poll(nullptr, 0, slow_ms);
  return fails(file);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the C library's names
extern "C" {

ssize_t write(int file, const void* from, std::size_t bytes) {
  static const auto own = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  return fails(file) ? -1 : own(file, from, bytes);
}

ssize_t pwrite64(int file, const void* from, std::size_t bytes, off64_t at) {
  static const auto own = next<ssize_t (*)(int, const void*, std::size_t, off64_t)>("pwrite64");
  if (!fails(file)) return own(file, from, bytes, at);
  const int error = errno;
  (void)own(file, from, bytes / 2, at);  // what a disk that fails has written of it nobody knows
  errno = error;
  return -1;
}

/// A disk that is full can be read.
ssize_t pread64(int file, void* to, std::size_t bytes, off64_t at) {
  static const auto own = next<ssize_t (*)(int, void*, std::size_t, off64_t)>("pread64");
  const bool is_full = weather()->disk_errno.load() == ENOSPC;
  return !is_full && fails(file) ? -1 : own(file, to, bytes, at);
}

int fdatasync(int file) {
  static const auto own = next<int (*)(int)>("fdatasync");
  return fails_to_wait(file) ? -1 : own(file);
}

int fsync(int file) {
  static const auto own = next<int (*)(int)>("fsync");
  return fails_to_wait(file) ? -1 : own(file);
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto own = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int done = own(clock, now);
  const std::int64_t ahead_ms = weather()->ahead_ms.load();
  if (done == 0 && clock == CLOCK_REALTIME) now->tv_sec += ahead_ms / 1'000;
  return done;
}

time_t time(time_t* to) noexcept {
  timespec now{};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  if (to != nullptr) *to = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec exact{};
  (void)clock_gettime(CLOCK_REALTIME, &exact);
  *now = {.tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1'000};
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
