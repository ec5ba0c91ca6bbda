// SPDX-License-Identifier: BSD-3-Clause
//
// leased, put together: a device that is up, the thread that owns it, the journal and its thread,
// and in the caller's own thread the socket and the sessions. The program around it (tools/leased)
// has the command line and the signals.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/function.hpp"
#include "attach/open_device.hpp"
#include "attach/port.hpp"
#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "neighbour/responder.hpp"
#include "pmd/eal.hpp"
#include "service/daemon/config.hpp"
#include "service/daemon/device_thread.hpp"
#include "service/daemon/fleet_thread.hpp"
#include "service/daemon/mailbox.hpp"
#include "service/daemon/metrics.hpp"
#include "service/daemon/points.hpp"
#include "service/daemon/quic_port.hpp"
#include "service/daemon/recorder.hpp"
#include "service/daemon/sessions.hpp"
#include "service/daemon/telemetry.hpp"
#include "service/daemon/unix_port.hpp"

namespace portcullis::service::daemon {

class Daemon {
 public:
  /// What the caller has to say while it runs.
  struct World {
    std::function<bool()> stop;
    /// A new configuration, once for each time it was asked for; its limits and users count from
    /// then on.
    std::function<std::optional<Config>()> reload;
    /// Called several times a second as long as both threads get on; not while a call to the device
    /// hangs. May be empty.
    std::function<void()> is_well = {};
    /// Leases that had to end because the node is alone have not ended in time, whatever keeps
    /// them: this process is to be ended at once, and does not come back from here.
    std::function<void()> give_up = {};
    /// The end goes on, and is heard of again within so many ns. May be empty.
    std::function<void(std::uint64_t)> takes_longer = {};
    LogSink log;
  };

  /// What a configuration says of device and socket, without touching either: InvalidArgument.
  [[nodiscard]] static Result<void> check(const Config& config);
  /// And of the folders that are there: the socket's and the journal's, each nobody else's.
  [[nodiscard]] static Result<void> check_places(const Config& config);
  /// Takes the journal, resets the function where nobody else owns it, brings it up, records what
  /// that ended, and listens. Each error names what it was about.
  [[nodiscard]] static Result<std::unique_ptr<Daemon>> start(const Config& config,
                                                             const LogSink& log, AtPoint at = {});
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  /// One line: what is served, where, and what was found in the journal.
  [[nodiscard]] std::string description() const;
  /// Where other hosts' clients connect, if they may: with the port that the system chose.
  [[nodiscard]] std::optional<UdpAddress> quic_address() const;
  [[nodiscard]] const Metrics* metrics() const noexcept { return metrics_.get(); }
  /// Serves until it is told to stop, then revokes every lease and tells the outcomes. True when
  /// every lease was TornDown; what the device kept of them is a line in the log.
  [[nodiscard]] bool run(const World& world);

 private:
  Daemon(const Config& config, AtPoint at) : config_(config), at_(std::move(at)) {}
  [[nodiscard]] Result<void> open_journal(std::optional<Journal>& journal) const;
  /// As the journal has it.
  [[nodiscard]] static std::string function_name(const attach::DeviceSpec& spec);
  /// Busy: leases on record are on another function, which this device's reset does not end.
  [[nodiscard]] Result<void> check_function(Journal& journal) const;
  [[nodiscard]] std::string restarted_text() const;
  [[nodiscard]] Result<void> start_eal(const attach::DeviceSpec& spec);
  [[nodiscard]] Result<void> attach(const LogSink& log);
  [[nodiscard]] Result<void> begin(std::optional<Journal> journal, const LogSink& log);
  [[nodiscard]] Result<void> listen(const Beginning& beginning, const LogSink& log);
  [[nodiscard]] Result<void> listen_to_others(const LogSink& log);
  [[nodiscard]] Result<void> join_fleet(std::uint64_t incarnation, const LogSink& log);
  [[nodiscard]] Port::Listener listener();
  [[nodiscard]] Port& port_of(ConnectionId connection);
  /// Each that listens.
  [[nodiscard]] std::vector<Port*> ports();
  void route(Event event);
  void send(ConnectionId to, wire::FrameBytes frame);
  void reach(std::string_view point) const {
    if (at_) at_(point);
  }
  /// What waits, for at most `most_ms`.
  void serve(int most_ms);
  void take_news(bool is_woken);
  [[nodiscard]] bool end(const World& world, const std::function<void()>& goes_on);
  [[nodiscard]] Result<void> check_again(const Config& config) const;
  void take_config(const Config& config, const LogSink& log);
  void look_after(const World& world);
  [[nodiscard]] Result<void> serve_metrics();
  [[nodiscard]] Observer observer();
  [[nodiscard]] TellCommand command_timer();
  void measure();
  /// What is left here, when it is another than before.
  void offer();

  Config config_;
  AtPoint at_;
  // In the order of bring-up.
  std::optional<pmd::Eal> eal_;
  std::unique_ptr<attach::Function> function_;
  std::optional<attach::Port> port_;
  std::unique_ptr<neighbour::Responder> responder_;  // polled by the device's thread
  Mailbox<News> news_;
  std::unique_ptr<Metrics> metrics_;      // where somebody reads; before the threads that tell it
  std::unique_ptr<Telemetry> telemetry_;  // where an EAL runs
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<UnixPort> socket_;
  std::unique_ptr<QuicPort> quic_;  // where it is configured
  std::unique_ptr<DeviceThread> device_;
  std::unique_ptr<FleetThread> fleet_;  // where it is a node of one
  Served served_;
  std::size_t restarted_ = 0;      // leases of the server before
  std::size_t left_unproved_ = 0;  // and of these, whose memory nothing proves
  bool has_untold_ = false;        // to watchers
  std::uint64_t seen_rounds_ = 0;  // of the device's thread
  std::uint64_t measured_ns_ = 0;
  std::optional<fleet::Amount> offered_;
};

}  // namespace portcullis::service::daemon
