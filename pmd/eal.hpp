// SPDX-License-Identifier: BSD-3-Clause
//
// DPDK's environment: its life time, work on its lcores. A process has one EAL and
// can start it once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace portcullis::pmd {

/// The running EAL; cleaned up on destruction.
class Eal {
 public:
  /// rte_eal_init with `arguments` (program name first). Without any and with `emulated`, those of
  /// an unprivileged process without a NIC are supplied, under a file prefix of its own that is
  /// removed at the end. Says nothing unless --log-level is among the arguments; what the EAL had
  /// to say when it refuses is in the error, in one line.
  [[nodiscard]] static Result<Eal> start(std::vector<std::string> arguments, bool emulated);
  Eal(Eal&& other) noexcept;
  Eal& operator=(Eal&&) = delete;
  ~Eal();

  /// As the EAL got them, for the context of a benchmark.
  [[nodiscard]] const std::vector<std::string>& arguments() const noexcept { return arguments_; }
  [[nodiscard]] static unsigned main_lcore() noexcept;
  /// None while no EAL of this class runs.
  [[nodiscard]] static std::vector<unsigned> worker_lcores();

 private:
  Eal(std::vector<std::string> arguments, std::string private_directory)
      : arguments_(std::move(arguments)),
        private_directory_(std::move(private_directory)),
        running_(true) {}

  std::vector<std::string> arguments_;
  std::string private_directory_;
  bool running_;
};

/// A function at work on a worker lcore; waited for on destruction, so whoever owns it must have
/// told the function to end.
class LcoreTask {
 public:
  /// InvalidArgument when `lcore` is no worker lcore, Busy when it works already.
  [[nodiscard]] static Result<LcoreTask> launch(unsigned lcore, std::function<void()> work);
  LcoreTask(LcoreTask&& other) noexcept;
  LcoreTask& operator=(LcoreTask&&) = delete;
  ~LcoreTask();

  [[nodiscard]] unsigned lcore() const noexcept { return lcore_; }

 private:
  LcoreTask(unsigned lcore, std::unique_ptr<std::function<void()>> work) noexcept
      : lcore_(lcore), work_(std::move(work)) {}

  unsigned lcore_;
  std::unique_ptr<std::function<void()>> work_;
};

}  // namespace portcullis::pmd
