// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/spin_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
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

}  // namespace

Result<Finished> run_program(const std::vector<std::string>& arguments, const std::string& folder) {
  const std::string output = folder + "/output.txt";
  const std::string errors = folder + "/errors.txt";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<std::string> texts = arguments;
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int refused = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (refused != 0)
    return fail(Errc::System, fmt::format("{}: {}, accepted is an installed program", arguments[0],
                                          std::strerror(refused)));
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0)
    if (errno != EINTR) return fail(Errc::System, fmt::format("{}: cannot wait", arguments[0]));
  Finished finished;
  finished.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  remove_shared_segments_of(child);
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  finished.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  finished.megabytes = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  finished.out = contents_of(output);
  finished.err = contents_of(errors);
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
