// SPDX-License-Identifier: BSD-3-Clause
#include "program/standard_streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <mutex>
#include <new>
#include <system_error>

#include "program/arguments.hpp"

namespace portcullis::program {
namespace {

std::atomic<std::atomic<bool>*> stop_flag{nullptr};

std::mutex lost_file_mutex;
std::string lost_file;

/// A pipe or socket whose other end is closed; async-signal-safe, as signal-safety(7) lists poll.
bool is_output_unread() noexcept {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

/// The write that met the closed pipe returns EPIPE after this. Other pipes and sockets have
/// writers that look at what they get.
extern "C" void on_closed_pipe(int /*signal*/) {
  const int error = errno;
  std::atomic<bool>* const stop = stop_flag.load();
  if (stop != nullptr && is_output_unread()) stop->store(true);
  errno = error;
}

/// For the direction that fails at once: what is printed to a closed stream is not to vanish. Only
/// messages may, since there is nowhere to complain.
bool open_closed_streams() noexcept {
  static constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", kModes[fd]) != fd) return false;
  return true;
}

std::string_view why_output_is_lost() noexcept {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) return "it is closed";
  return is_output_unread() ? "nobody reads it any more" : "no room, or a failing device";
}

/// A network's file system tells of a full disk when a file is closed, not when it is written.
bool fails_to_close() noexcept {
  const int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  return copy >= 0 && close(copy) != 0;
}

/// Where there is no /proc nothing is looked at.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run_caught(std::string_view program, const std::function<int()>& body) {
  try {
    if (const std::string wrong = wrong_argument(command_line()); !wrong.empty()) {
      std::cerr << program << ": " << wrong << '\n';
      return kExitArgument;
    }
    return body();
  } catch (const std::bad_alloc&) {
    std::cerr << program << ": out of memory; what is left here, or ulimit -v, is too little\n";
  } catch (const std::system_error& error) {
    // pthread_create(3): no memory for its stack, or as many as are allowed.
    if (error.code() == std::errc::resource_unavailable_try_again)
      std::cerr << program << ": no thread is left; what ulimit -u or ulimit -v allows is too "
                << "little\n";
    else if (!is_output_lost())
      std::cerr << program << ": " << error.what() << '\n';
  } catch (const std::exception& error) {
    // fmt::print throws when its stream refuses; that line comes at the end.
    if (!is_output_lost()) std::cerr << program << ": " << error.what() << '\n';
  }
  return kExitNoResources;
}

}  // namespace

bool is_output_lost() noexcept {
  return std::cout.bad() || std::ferror(stdout) != 0 || is_output_unread();
}

void note_lost_file(std::string_view what) {
  const std::lock_guard lock(lost_file_mutex);
  if (lost_file.empty()) lost_file = what;
}

int run_main(std::string_view program, const std::function<int()>& body, std::atomic<bool>* stop) {
  if (!open_closed_streams()) return kExitNoResources;
  stop_flag.store(stop);
  std::signal(SIGPIPE, on_closed_pipe);
  std::signal(SIGXFSZ, SIG_IGN);  // the write fails with EFBIG instead, as on a full disk
  int status = run_caught(program, body);
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (!flushed || std::cout.bad() || std::ferror(stdout) != 0 || fails_to_close()) {
    std::cerr << program << ": standard output refused what was written: " << why_output_is_lost()
              << '\n';
    status = kExitOutputLost;
  }
  const std::lock_guard lock(lost_file_mutex);
  if (!lost_file.empty()) {
    std::cerr << program << ": " << lost_file << '\n';
    status = kExitOutputLost;
  }
  return status;
}

}  // namespace portcullis::program
