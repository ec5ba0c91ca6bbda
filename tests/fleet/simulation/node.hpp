// SPDX-License-Identifier: BSD-3-Clause
//
// A memory node: hardware that outlives its servers, and one server after the other. A server is
// leased's own code for etcd (fleet::Node) and for its sessions (daemon::Sessions), which tell each
// other what leased's threads do; its device, its journal and its clients are made up here.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fleet/node.hpp"
#include "service/daemon/sessions.hpp"
#include "tests/fleet/simulation/cluster.hpp"
#include "tests/fleet/simulation/judge.hpp"
#include "tests/fleet/simulation/world.hpp"

namespace portcullis::fleet::simulation {

inline constexpr std::uint64_t kSessionS = 3;
inline constexpr std::uint64_t kIsolationS = 4;
inline constexpr std::uint64_t kStallS = 2;

/// Tenants by number; the first of them has a quota.
inline constexpr std::uint64_t kTenantWithQuota = 7;
inline constexpr std::uint64_t kTenants[] = {kTenantWithQuota, 8};

class SimulatedNode {
 public:
  struct Options {
    std::size_t number = 0;  // and its host's
    std::optional<Isolation> isolation = {};
    std::filesystem::path folder = {};
    double clock_rate = 1;
  };
  SimulatedNode(World& world, Cluster& cluster, Judge& judge, Options options);
  SimulatedNode(const SimulatedNode&) = delete;
  SimulatedNode& operator=(const SimulatedNode&) = delete;
  ~SimulatedNode();

  [[nodiscard]] bool is_up() const noexcept { return server_ != nullptr; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The function is reset, then a server serves; nothing where one does.
  void start();
  /// SIGKILL. What the hardware does goes on, until the function is reset.
  void kill();
  /// SIGTERM: every lease is revoked, and the session ended.
  void end();
  /// SIGSTOP, and SIGCONT after so long. A watchdog may kill it before.
  void stop_for(std::uint64_t ns);
  void go_on();
  [[nodiscard]] HostClock& clock() noexcept { return clock_; }
  /// Its clients ask for nothing more, and give back what they have.
  void calm(bool is_calm) noexcept { is_calm_ = is_calm; }
  /// Leases that its clients have been told of, of that tenant.
  [[nodiscard]] std::uint64_t granted(std::uint64_t tenant) const;

 private:
  struct Client {
    std::uint64_t tenant = 0;
    bool is_waiting = false;
    std::vector<lease::LeaseName> held = {};
  };
  /// All that ends with the process.
  struct Server {
    std::shared_ptr<Life> life = std::make_shared<Life>();
    std::unique_ptr<service::daemon::Sessions> sessions;
    std::map<std::uint64_t, std::uint64_t> epochs;  // by tenant, as the sessions have heard
    std::deque<service::daemon::ToFleet> inbox;
    std::deque<std::function<void(service::daemon::Sessions&)>> news;
    std::map<service::daemon::ConnectionId, Client> clients;
    std::uint64_t news_ns = 0;
    bool is_ending = false;
    bool is_to_stop = false;
    std::unique_ptr<Fiber> fiber;  // ends before what it uses
  };

  void remember_nothing();
  void run_fleet();
  [[nodiscard]] Result<std::unique_ptr<fleet::Node>> make_node();
  [[nodiscard]] service::daemon::SessionPorts ports();
  void hand_on(fleet::Node& node);
  void tell(std::function<void(service::daemon::Sessions&)> news);
  void tell_fleet(service::daemon::ToFleet each);
  void look_at_time();
  void be_gone();

  void ask_device(const service::daemon::Request& request);
  void grant(const service::daemon::Alloc& alloc);
  void revoke(const lease::LeaseName& name, wire::Cause cause);
  [[nodiscard]] std::uint64_t device_ns();
  [[nodiscard]] std::uint64_t incarnation() const noexcept {
    return options_.number * 1'000 + lives_;
  }

  void open_clients();
  void client_turn(service::daemon::ConnectionId id);
  void hear_client(service::daemon::ConnectionId id, const wire::FrameBytes& frame);

  World& world_;
  Cluster& cluster_;
  Judge& judge_;
  Options options_;
  std::string name_;
  HostClock clock_;
  std::uint64_t lives_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t leases_ = 0;
  bool is_calm_ = false;
  struct AskedLease {
    std::uint64_t ns = 0;
    std::uint64_t epoch = 0;
  };
  std::map<std::uint32_t, AskedLease> asked_;       // by the client's queue pair
  std::map<std::uint64_t, std::uint64_t> granted_;  // by tenant
  std::unique_ptr<Server> server_;
};

}  // namespace portcullis::fleet::simulation
