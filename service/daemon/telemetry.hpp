// SPDX-License-Identifier: BSD-3-Clause
//
// What dpdk-telemetry.py reads of leased, where an EAL runs: the numbers that a Prometheus server
// is given, out of the same registry, so no key, address or name of a lease either. The EAL asks
// from a thread of its own for each reader, and knows no way to take a command back.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "service/daemon/metrics.hpp"

namespace portcullis::service::daemon {

/// The EAL's commands, answered as long as this is there. One of them at a time in a process.
class Telemetry {
 public:
  /// `metrics` must outlive it. Busy when another answers, System when the EAL takes no command
  /// more.
  [[nodiscard]] static Result<std::unique_ptr<Telemetry>> answer(const Metrics& metrics);
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;
  /// Waits for an answer that is being made; from then on each is null.
  ~Telemetry();

 private:
  Telemetry() = default;
};

}  // namespace portcullis::service::daemon
