// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that talks to etcd, for a server that is a node of a fleet. It waits for the network
// as long as it must, and nobody waits for it: what it has to say goes where the network thread
// hears it, and what came of a fence, what a tenant needs and what is left come by its own mailbox.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "fleet/node.hpp"
#include "service/daemon/config.hpp"
#include "service/daemon/mailbox.hpp"
#include "service/daemon/requests.hpp"

namespace portcullis::service::daemon {

/// As it is in etcd: the configured one, or the host's.
[[nodiscard]] std::string node_name(const FleetConfig& config);
/// A name that etcd's keys can have, files that can be read, and a journal, which says what was
/// held before. InvalidArgument or System.
[[nodiscard]] Result<void> check_fleet(const Config& config);

class FleetThread {
 public:
  /// `tell` is called from its own thread. Takes what the node remembers beside the journal; does
  /// not wait for etcd.
  [[nodiscard]] static Result<std::unique_ptr<FleetThread>> start(
      const Config& config, fleet::Registration about, const std::function<void(FleetNews)>& tell,
      const LogSink& log);
  FleetThread(const FleetThread&) = delete;
  FleetThread& operator=(const FleetThread&) = delete;
  ~FleetThread() { stop(false); }

  void tell(ToFleet each) { inbox_.put(each); }
  /// The session ends. `holds_nothing`: every lease that there was is TornDown. Done twice is done.
  void stop(bool holds_nothing);

 private:
  explicit FleetThread(std::unique_ptr<fleet::Node> node)
      : node_(std::move(node)), thread_([this] { run(); }) {}
  void run();
  void hand_on(const ToFleet& each);

  std::unique_ptr<fleet::Node> node_;
  Mailbox<ToFleet> inbox_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> holds_nothing_{false};
  std::thread thread_;
};

}  // namespace portcullis::service::daemon
