// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/eal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

namespace portcullis::pmd {
namespace {

/// An EAL without huge pages, PCI, shared files or privileges, just large enough to start.
std::vector<std::string> unprivileged_arguments(const std::string& program) {
  return {
      program, "--no-huge", "--no-pci",       "--no-shconf",
      "-m",    "64",        "--no-telemetry", fmt::format("--file-prefix=portcullis-{}", getpid())};
}

bool mentions(const std::vector<std::string>& arguments, std::string_view prefix) {
  return std::any_of(arguments.begin(), arguments.end(), [prefix](const std::string& argument) {
    return argument.compare(0, prefix.size(), prefix) == 0;
  });
}

/// Takes what the process writes to its standard streams until end(). The EAL writes there before
/// any of its log settings apply, and prints its whole usage when it dislikes an argument.
class OutputCapture {
 public:
  OutputCapture() : file_(memfd_create("eal", MFD_CLOEXEC)) {
    std::fflush(nullptr);
    for (std::size_t i = 0; i < saved_.size(); ++i) {
      saved_[i] = fcntl(kStreams[i], F_DUPFD_CLOEXEC, 0);
      if (file_ >= 0) dup2(file_, kStreams[i]);
    }
  }
  OutputCapture(const OutputCapture&) = delete;
  OutputCapture& operator=(const OutputCapture&) = delete;
  ~OutputCapture() { (void)end(); }

  std::string end() {
    if (ended_) return {};
    ended_ = true;
    std::fflush(nullptr);
    for (std::size_t i = 0; i < saved_.size(); ++i) {
      if (saved_[i] < 0) continue;
      dup2(saved_[i], kStreams[i]);
      close(saved_[i]);
    }
    std::string text;
    std::array<char, 4096> part;
    for (off_t at = 0; file_ >= 0;) {
      const ssize_t got = pread(file_, part.data(), part.size(), at);
      if (got <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(got));
      at += got;
    }
    if (file_ >= 0) close(file_);
    return text;
  }

 private:
  static constexpr std::array<int, 2> kStreams{STDOUT_FILENO, STDERR_FILENO};
  int file_;
  std::array<int, 2> saved_{-1, -1};
  bool ended_ = false;
};

/// The line of the EAL's output that says what was wrong: the first that is not small talk.
std::string complaint_in(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.find("EAL: Detected") == 0 || line.find("EAL: Selected") == 0)
      continue;
    return line;
  }
  return rte_strerror(rte_errno);
}

/// Where the EAL keeps a process's files; one that is left behind harms nobody.
void remove_directory(const std::string& directory) {
  std::error_code ignored;
  if (!directory.empty()) std::filesystem::remove_all(directory, ignored);
}

int run_work(void* work) {
  (*static_cast<std::function<void()>*>(work))();
  return 0;
}

}  // namespace

Result<CommandLine> split_command_line(int argc, const char* const* argv,
                                       const std::vector<std::string>& own_prefixes) {
  const std::vector<std::string> all(argv, argv + argc);
  const auto separator = std::find(all.begin(), all.end(), "--");
  CommandLine line;
  line.eal.assign(all.begin(), separator);
  line.own.assign(1, all.empty() ? std::string() : all.front());
  if (separator != all.end()) line.own.insert(line.own.end(), separator + 1, all.end());
  for (const std::string& argument : line.eal) {
    for (const std::string& prefix : own_prefixes) {
      if (argument.compare(0, prefix.size(), prefix) != 0) continue;
      return fail(Errc::InvalidArgument,
                  fmt::format("{0} must come after --, before which only EAL arguments stand; "
                              "write: {1} [EAL arguments] -- {0}",
                              argument, line.own.front()));
    }
  }
  return line;
}

Result<Eal> Eal::start(std::vector<std::string> arguments, bool emulated) {
  const bool supplied = emulated && arguments.size() <= 1;
  if (supplied)
    arguments = unprivileged_arguments(arguments.empty() ? "portcullis" : arguments.front());
  std::vector<std::string> copy = arguments;  // the EAL reorders what it is given
  std::vector<char*> pointers;
  for (std::string& argument : copy) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  const bool talks = mentions(arguments, "--log-level") || mentions(arguments, "-h") ||
                     mentions(arguments, "--help") || mentions(arguments, "-v");
  std::string output;
  int parsed = 0;
  if (talks) {
    parsed = rte_eal_init(static_cast<int>(arguments.size()), pointers.data());
  } else {
    OutputCapture capture;
    parsed = rte_eal_init(static_cast<int>(arguments.size()), pointers.data());
    output = capture.end();
    // "Using IOMMU type 1" at each device that is opened is nothing the user has to know.
    rte_log_set_level_pattern("lib.eal", RTE_LOG_WARNING);
  }
  const std::string private_directory = supplied ? rte_eal_get_runtime_dir() : "";
  if (parsed < 0) {
    remove_directory(private_directory);
    return fail(Errc::System, fmt::format("the EAL refuses \"{}\": {}", fmt::join(arguments, " "),
                                          complaint_in(output)));
  }
  return Eal(std::move(arguments), private_directory);
}

Eal::Eal(Eal&& other) noexcept
    : arguments_(std::move(other.arguments_)),
      private_directory_(std::move(other.private_directory_)),
      running_(std::exchange(other.running_, false)) {}

Eal::~Eal() {
  if (!running_) return;
  rte_eal_cleanup();
  remove_directory(private_directory_);
}

unsigned Eal::main_lcore() noexcept { return rte_get_main_lcore(); }

std::vector<unsigned> Eal::worker_lcores() {
  std::vector<unsigned> lcores;
  unsigned lcore = 0;
  RTE_LCORE_FOREACH_WORKER(lcore) lcores.push_back(lcore);
  return lcores;
}

Result<LcoreTask> LcoreTask::launch(unsigned lcore, std::function<void()> work) {
  const std::vector<unsigned> workers = Eal::worker_lcores();
  if (std::find(workers.begin(), workers.end(), lcore) == workers.end())
    return fail(Errc::InvalidArgument, fmt::format("lcore {} is no worker lcore; there are: {}",
                                                   lcore, fmt::join(workers, " ")));
  auto held = std::make_unique<std::function<void()>>(std::move(work));
  if (rte_eal_remote_launch(&run_work, held.get(), lcore) != 0)
    return fail(Errc::Busy, fmt::format("lcore {} is at work already", lcore));
  return LcoreTask(lcore, std::move(held));
}

LcoreTask::LcoreTask(LcoreTask&& other) noexcept
    : lcore_(other.lcore_), work_(std::move(other.work_)) {}

LcoreTask::~LcoreTask() {
  if (work_) rte_eal_wait_lcore(lcore_);
}

}  // namespace portcullis::pmd
