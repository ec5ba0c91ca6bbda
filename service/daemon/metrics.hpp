// SPDX-License-Identifier: BSD-3-Clause
//
// What a Prometheus server reads of leased, over HTTP: counts and times, and no key, address or
// name of a lease. Every call may come from any thread, and none waits for a reader.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include "base/result.hpp"
#include "service/daemon/lease_book.hpp"
#include "service/daemon/requests.hpp"
#include "service/daemon/timed_channel.hpp"
#include "wire/ops.hpp"

namespace portcullis::service::daemon {

class Metrics {
 public:
  struct About {
    std::string device;
    std::string version;
    bool is_emulated = false;
  };
  /// How things are, as of now.
  struct State {
    Counts slots;
    std::map<std::uint64_t, LeaseTally> leases;  // by tenant
    std::size_t socket_connections = 0;
    std::size_t quic_connections = 0;
    bool is_journal_lost = false;
  };

  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  /// At http://ADDRESS/metrics. Busy when the address cannot be had.
  [[nodiscard]] Result<void> serve(const std::string& address);
  /// "127.0.0.1:9754", with the port that the system chose where it was to.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }

  void describe(const About& about);
  void granted();
  void refused(wire::Code code);
  void challenge_met();
  /// `revoke_ns`: from the request to the outcome; none where nobody asked for it.
  void ended(const Ending& ending, const std::string& plan, std::optional<std::uint64_t> revoke_ns);
  /// The start of this server ended so many of the one before, with a proof or without.
  void restarted(std::uint64_t leases, bool is_proved);
  void journal_wrote(std::uint64_t ns);
  /// From one thread.
  void command(const CommandTime& took);
  void set(const State& state);
  /// What there is, series by series.
  [[nodiscard]] std::vector<prometheus::MetricFamily> collect() const;
  /// What a reader would be given.
  [[nodiscard]] std::string text() const;

 private:
  void set_leases(const std::map<std::uint64_t, LeaseTally>& leases);

  std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Family<prometheus::Gauge>& info_;
  prometheus::Family<prometheus::Gauge>& leases_;
  prometheus::Family<prometheus::Gauge>& slots_;
  prometheus::Family<prometheus::Gauge>& connections_;
  prometheus::Family<prometheus::Gauge>& lost_;
  prometheus::Counter& granted_;
  prometheus::Family<prometheus::Counter>& refused_;
  prometheus::Counter& challenges_met_;
  prometheus::Family<prometheus::Counter>& ended_;
  prometheus::Family<prometheus::Histogram>& revoke_seconds_;
  prometheus::Histogram& journal_seconds_;
  prometheus::Family<prometheus::Histogram>& command_seconds_;
  std::map<std::pair<prm::Opcode, std::string_view>, prometheus::Histogram*> by_command_;
  mutable std::mutex lock_;  // of tenants_
  std::map<std::uint64_t, std::array<prometheus::Gauge*, 3>> tenants_;
  std::string address_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace portcullis::service::daemon
