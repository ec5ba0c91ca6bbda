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
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "pmd/eal_output.hpp"

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

/// The line of the EAL's output that says what was wrong: the first that is not small talk.
std::string complaint_in(const std::string& output) {
  if (const std::size_t panic = output.find("PANIC in "); panic != std::string::npos) {
    std::istringstream lines(output.substr(panic));
    std::string where, what;  // two lines of __rte_panic
    std::getline(lines, where);
    std::getline(lines, what);
    return where + " " + what;
  }
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.find("EAL: Detected") == 0 || line.find("EAL: Selected") == 0 ||
        line.find("EAL: Multi-process socket") == 0)
      continue;
    return line;
  }
  return rte_strerror(rte_errno);
}

/// Not by fmt: the EAL that panicked may have left no descriptor, and UBSan needs one to look at
/// the objects behind fmt's calls.
std::string refusal_of(const std::vector<std::string>& arguments, const std::string& output) {
  std::string text = "the EAL refuses \"";
  for (const std::string& argument : arguments) text += argument + " ";
  text.back() = '"';
  return text + ": " + complaint_in(output);
}

/// Where the EAL keeps a process's files; one that is left behind harms nobody.
void remove_directory(const std::string& directory) {
  std::error_code ignored;
  if (!directory.empty()) std::filesystem::remove_all(directory, ignored);
}

int free_descriptors(int limit) {
  int free = 0;
  for (int fd = 0; fd < limit; ++fd) free += fcntl(fd, F_GETFD) < 0 ? 1 : 0;
  return free;
}

/// The EAL panics where it has no descriptor left for the pipes of an lcore (rte_eal_init: four for
/// each worker), so a limit that is too low is told before.
Result<void> check_open_files(const std::vector<std::string>& arguments) {
  constexpr int kOfItsOwn = 16;  // epoll, timers, interrupts, sockets, memory: 8 to 12 were seen
  constexpr int kOfAnLcore = 4;
  constexpr int kEnough = kOfItsOwn + kOfAnLcore * RTE_MAX_LCORE;
  const bool names_lcores =
      mentions(arguments, "-l") || mentions(arguments, "-c") || mentions(arguments, "--lcores");
  cpu_set_t cpus;
  const bool known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
  const int lcores = names_lcores || !known ? 1 : std::min(CPU_COUNT(&cpus), RTE_MAX_LCORE);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return {};
  const int limit = static_cast<int>(std::min<rlim_t>(files.rlim_cur, 2 * kEnough));
  const int free = free_descriptors(limit);
  const int needed = kOfItsOwn + kOfAnLcore * (lcores - 1);
  if (free >= needed) return {};
  return fail(
      Errc::OutOfResources,
      fmt::format("{} files may be open and {} are free, of which the EAL takes up to {} for {} "
                  "lcores; ulimit -n {} is accepted",
                  files.rlim_cur, free, needed, lcores, limit - free + needed));
}

// The EAL's own tables call every lcore enabled before it has started.
std::atomic<bool> is_running = false;

/// Pieces of work that each lcore has ended. DPDK's own handshake is in a library that
/// ThreadSanitizer has not built, so it sees no order between a worker's last access and whoever
/// has waited for it.
std::array<std::atomic<std::uint64_t>, RTE_MAX_LCORE> ended{};

int run_work(void* work) {
  (*static_cast<std::function<void()>*>(work))();
  ended[rte_lcore_id()].fetch_add(1, std::memory_order_release);
  return 0;
}

}  // namespace

Result<Eal> Eal::start(std::vector<std::string> arguments, bool emulated) {
  const bool supplied = emulated && arguments.size() <= 1;
  if (supplied)
    arguments = unprivileged_arguments(arguments.empty() ? "portcullis" : arguments.front());
  PORTCULLIS_TRY(check_open_files(arguments));
  std::vector<std::string> copy = arguments;  // the EAL reorders what it is given
  std::vector<char*> pointers;
  for (std::string& argument : copy) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  const bool talks = mentions(arguments, "--log-level") || mentions(arguments, "-h") ||
                     mentions(arguments, "--help") || mentions(arguments, "-v");
  EalStart start;
  if (talks) {
    start.parsed = rte_eal_init(static_cast<int>(arguments.size()), pointers.data());
  } else {
    start = start_eal(static_cast<int>(arguments.size()), pointers.data());
    // "Using IOMMU type 1" at each device that is opened is nothing the user has to know.
    rte_log_set_level_pattern("lib.eal", RTE_LOG_WARNING);
  }
  const std::string private_directory = supplied ? rte_eal_get_runtime_dir() : "";
  if (start.parsed.value_or(-1) < 0) {
    remove_directory(private_directory);
    return fail(Errc::System, refusal_of(arguments, start.said));
  }
  is_running = true;
  return Eal(std::move(arguments), private_directory);
}

Eal::Eal(Eal&& other) noexcept
    : arguments_(std::move(other.arguments_)),
      private_directory_(std::move(other.private_directory_)),
      running_(std::exchange(other.running_, false)) {}

Eal::~Eal() {
  if (!running_) return;
  is_running = false;
  rte_eal_cleanup();
  remove_directory(private_directory_);
}

unsigned Eal::main_lcore() noexcept { return rte_get_main_lcore(); }

std::vector<unsigned> Eal::worker_lcores() {
  std::vector<unsigned> lcores;
  if (!is_running) return lcores;
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
  if (!work_) return;
  rte_eal_wait_lcore(lcore_);
  (void)ended[lcore_].load(std::memory_order_acquire);
}

}  // namespace portcullis::pmd
