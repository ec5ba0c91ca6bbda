// SPDX-License-Identifier: BSD-3-Clause
//
// A library for LD_PRELOAD: a disk that fails and a clock that is set, while a program runs that
// knows of neither. What the weather is stands in the file that PORTCULLIS_WEATHER names, mapped
// before the program gives up its rights: a number of errno(3) for whoever writes to a file whose
// path has "journal" in it, and milliseconds that the wall clock is ahead.
#include <dlfcn.h>
#include <fcntl.h>
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
};

const Weather* weather() noexcept {
  static const Weather* const mapped = []() -> const Weather* {
    const char* const path = std::getenv("PORTCULLIS_WEATHER");
    const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) std::abort();
    void* const at = ::mmap(nullptr, sizeof(Weather), PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (at == MAP_FAILED) std::abort();
    return static_cast<const Weather*>(at);
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
  const auto error = static_cast<int>(weather()->disk_errno.load());
  if (error == 0 || !is_journal(file)) return false;
  errno = error;
  return true;
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
  return fails(file) ? -1 : own(file, from, bytes, at);
}

int fdatasync(int file) {
  static const auto own = next<int (*)(int)>("fdatasync");
  return fails(file) ? -1 : own(file);
}

int fsync(int file) {
  static const auto own = next<int (*)(int)>("fsync");
  return fails(file) ? -1 : own(file);
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
