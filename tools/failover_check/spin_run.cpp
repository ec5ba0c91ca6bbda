// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/spin_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace portcullis::tools::failover_check {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string contents_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// SPIN's verifiers for several cores create System V segments and sometimes leave one behind,
/// always when they are interrupted: reserved memory that outlives every process.
void remove_shared_segments_of(pid_t creator) {
  std::ifstream segments("/proc/sysvipc/shm");
  std::string line;
  std::getline(segments, line);  // headings
  while (std::getline(segments, line)) {
    std::istringstream columns(line);
    long key = 0, id = 0, permissions = 0, bytes = 0, made_by = 0;
    columns >> key >> id >> permissions >> bytes >> made_by;
    if (columns && made_by == creator) shmctl(static_cast<int>(id), IPC_RMID, nullptr);
  }
}

/// Where a program's output goes, and its errors.
std::string output_of(const std::string& folder) { return folder + "/output.txt"; }
std::string errors_of(const std::string& folder) { return folder + "/errors.txt"; }

/// In the child. Returns only when the program cannot be started; errno says why.
void become(char* const* argv, const std::string& folder) {
  constexpr int kAnew = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int output = open(output_of(folder).c_str(), kAnew, 0600);
  const int errors = open(errors_of(folder).c_str(), kAnew, 0600);
  if (output < 0 || errors < 0 || dup2(output, STDOUT_FILENO) < 0 ||
      dup2(errors, STDERR_FILENO) < 0 || chdir(folder.c_str()) < 0)
    return;
  execvp(argv[0], argv);
}

/// By fork, not posix_spawn: what a process held before exec counts in its ru_maxrss (as tried on
/// Linux 6.18). A spawned child holds all that its parent does, a forked one nothing that lies in
/// files: of this program less than any run that it measures.
Result<pid_t> start(const std::vector<std::string>& arguments, const std::string& folder) {
  std::vector<std::string> texts = arguments;
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  int failure[2];  // closed by exec
  if (pipe2(failure, O_CLOEXEC) != 0)
    return fail(Errc::System, fmt::format("{}: no pipe: {}", arguments[0], std::strerror(errno)));
  const pid_t child = fork();
  if (child == 0) {
    become(argv.data(), folder);
    const int why = errno;
    _exit(write(failure[1], &why, sizeof why) == sizeof why ? 127 : 126);
  }
  int why = child < 0 ? errno : 0;
  close(failure[1]);
  const bool is_refused = child < 0 || read(failure[0], &why, sizeof why) == sizeof why;
  close(failure[0]);
  if (!is_refused) return child;
  if (child > 0) waitpid(child, nullptr, 0);
  return fail(Errc::System, fmt::format("{}: {}, accepted is an installed program", arguments[0],
                                        std::strerror(why)));
}

}  // namespace

Result<Finished> run_program(const std::vector<std::string>& arguments, const std::string& folder) {
  const auto begun = std::chrono::steady_clock::now();
  PORTCULLIS_TRY_ASSIGN(const pid_t child, start(arguments, folder));
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0)
    if (errno != EINTR) return fail(Errc::System, fmt::format("{}: cannot wait", arguments[0]));
  Finished finished;
  finished.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  remove_shared_segments_of(child);
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  finished.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  finished.megabytes = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  finished.out = contents_of(output_of(folder));
  finished.err = contents_of(errors_of(folder));
  return finished;
}

Result<ScratchFolder> ScratchFolder::create() {
  std::error_code error;
  std::string path =
      (std::filesystem::temp_directory_path(error) / "failover-check-XXXXXX").string();
  if (error || mkdtemp(path.data()) == nullptr)
    return fail(
        Errc::System,
        fmt::format("{}: cannot be created, accepted is a TMPDIR that can be written", path));
  return ScratchFolder(std::move(path));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;  // a folder left in TMPDIR harms nobody
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace portcullis::tools::failover_check
