// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fleet/simulation/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "fleet/placement.hpp"
#include "fleet/quotas.hpp"
#include "tests/fleet/simulation/node.hpp"

namespace portcullis::fleet::simulation {
namespace {

constexpr std::uint64_t kFaultsNs = 30 * kNsPerSecond;
constexpr std::uint64_t kMendNs = 24 * kNsPerSecond;  // more than any session, watch or fence takes
constexpr std::uint64_t kOperators = 2;
constexpr std::uint64_t kLeastQuota = 3;
constexpr std::uint64_t kMostRateOff = 4;  // thousandths, each way: the bound is a hundredth in all

double rate(World& world) {
  const auto off = static_cast<double>(world.draw(0, 2 * kMostRateOff));
  return 1 + (off - static_cast<double>(kMostRateOff)) / 1000;
}

class Fleet {
 public:
  Fleet(World& world, const HistoryOptions& options)
      : world_(world),
        sets_clocks_(options.sets_clocks),
        cluster_(world, world.happens(700) ? 3 : 1),
        judge_(world, cluster_, kMostNodes),
        operators_life_(std::make_shared<Life>()) {
    cluster_.store().put(quota_key(kTenantWithQuota),
                         json_of(Quota{{.leases = world.draw(kLeastQuota, 8), .bytes = kNoLimit}}));
    const std::size_t nodes = world.draw(2, kMostNodes);
    for (std::size_t i = 0; i < nodes; ++i) nodes_.push_back(make_node(i, options.folder));
    for (std::uint64_t i = 0; i < kOperators; ++i) {
      clocks_.push_back(
          std::make_unique<HostClock>(world, world.draw(1, 1'000'000) * kNsPerMs, rate(world)));
      operators_.emplace_back();
    }
    for (std::size_t i = 0; i < kOperators; ++i)
      operators_[i] = std::make_unique<Fiber>(world, operators_life_, [this, i] { operate(i); });
  }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  ~Fleet() { operators_life_->is_over = true; }

  void run() {
    const std::uint64_t began_ns = world_.now_ns();
    for (const auto& each : nodes_)
      world_.after(world_.draw(0, 2'000) * kNsPerMs, [&node = *each] { node.start(); });
    fault_later();
    world_.run_until(began_ns + kFaultsNs);
    mend();
    world_.run_until(began_ns + kFaultsNs + kMendNs);
    check_that_all_get_on();
    judge_.judge_the_whole();
  }
  [[nodiscard]] const Judge::Counts& counts() const noexcept { return judge_.counts(); }

 private:
  static constexpr std::size_t kMostNodes = 4;

  std::unique_ptr<SimulatedNode> make_node(std::size_t number,
                                           const std::filesystem::path& folder) {
    SimulatedNode::Options options{.number = number, .folder = folder, .clock_rate = rate(world_)};
    const std::uint64_t promise = world_.draw(0, 3);
    if (promise != 0) options.isolation = Isolation{.after_s = kIsolationS};
    if (promise > 1) options.isolation->stall_s = kStallS;
    if (promise == 3) options.isolation->tenants = {kTenants[1]};
    return std::make_unique<SimulatedNode>(world_, cluster_, judge_, std::move(options));
  }

  // ---- What goes wrong --------------------------------------------------------------------------

  void fault_later() {
    world_.after(world_.draw(50, 1'500) * kNsPerMs, [this] {
      if (is_mended_) return;
      if (sets_clocks_ && world_.happens(300)) set_a_clock();
      if (world_.happens(600))
        fault_of_a_node(*nodes_[world_.draw(0, nodes_.size() - 1)]);
      else
        fault_of_etcd(world_.draw(0, cluster_.members() - 1));
      fault_later();
    });
  }

  /// Mostly short, now and then longer than a session and what a node waits alone.
  [[nodiscard]] std::uint64_t fault_ns() {
    return (world_.happens(700) ? world_.draw(50, 2'500) : world_.draw(8'000, 26'000)) * kNsPerMs;
  }

  void later(std::uint64_t ns, std::function<void()> act) {
    world_.after(ns, [this, act = std::move(act)] {
      if (!is_mended_) act();
    });
  }
  void start_later(SimulatedNode& node, std::uint64_t ns) {
    later(ns, [&node] { node.start(); });
  }

  void fault_of_a_node(SimulatedNode& node) {
    switch (world_.draw(0, 4)) {
      case 0:
        node.kill();
        return start_later(node, fault_ns());
      case 1:
        node.end();
        return start_later(node, fault_ns());
      case 2:
        return node.stop_for(fault_ns());
      default:
        return cut(node);
    }
  }

  void set_a_clock() {
    constexpr std::uint64_t kMostNs = 20 * kNsPerSecond;
    const std::uint64_t which = world_.draw(0, nodes_.size() + clocks_.size() - 1);
    HostClock& clock =
        which < nodes_.size() ? nodes_[which]->clock() : *clocks_[which - nodes_.size()];
    clock.set_by(static_cast<std::int64_t>(world_.draw(0, 2 * kMostNs)) -
                 static_cast<std::int64_t>(kMostNs));
  }

  void cut(const SimulatedNode& node) {
    const std::size_t host = number_of(node.name());
    world_.say(node.name() + " is cut off");
    const bool from_all = world_.happens(700);
    for (std::size_t i = 0; i < cluster_.members(); ++i)
      if (from_all || world_.happens(500)) cluster_.cut(host, i);
    later(fault_ns(), [this, host] { cluster_.mend(host); });
  }

  void fault_of_etcd(std::size_t member) {
    const std::uint64_t fault = world_.draw(0, 7);
    world_.say(fmt::format("fault {} of etcd, member {}", fault, member));
    switch (fault) {
      case 0:
        cluster_.kill(member);
        return later(fault_ns(), [this, member] { cluster_.restart(member); });
      case 1:
        cluster_.isolate(member);
        return later(fault_ns(), [this, member] { cluster_.join(member); });
      case 2:
        return cluster_.lose_leader(world_.draw(100, 4'000) * kNsPerMs);
      case 3:
        return cluster_.compact();
      case 4:
        return cluster_.break_streams(member, false);
      case 5:
        return cluster_.break_streams(member, true);
      case 6:
        cluster_.set_full(true);
        return later(fault_ns(), [this] { cluster_.set_full(false); });
      default:
        cluster_.set_slow(world_.draw(20, 3'500) * kNsPerMs);
        return later(fault_ns(), [this] { cluster_.set_slow(2 * kNsPerMs); });
    }
  }

  // ---- Who fences -------------------------------------------------------------------------------

  [[nodiscard]] std::unique_ptr<Etcd> etcd_of(std::size_t number) {
    auto transport = std::make_unique<SimulatedTransport>(world_, cluster_, kMostNodes + number,
                                                          operators_[number], [] { return false; });
    return *Etcd::create({.endpoints = endpoints_of(cluster_)}, std::move(transport));
  }

  void operate(std::size_t number) {
    for (std::uint64_t turn = 0;; ++turn) {
      wait(number, world_.draw(200, is_mended_ ? 8'000 : 4'000) * kNsPerMs);
      const auto etcd = etcd_of(number);
      if (number == 0 && world_.happens(200)) raise_quota(*etcd);  // two might lower it
      if (world_.happens(200)) look_for_a_place(*etcd);
      // By turns, so that each comes in the end.
      const std::uint64_t tenant = kTenants[(number + turn) % std::size(kTenants)];
      const std::uint64_t patience_ns = world_.happens(400) ? 22'000 : world_.draw(500, 5'000);
      const bool is_certain = fence(number, *etcd, tenant, patience_ns * kNsPerMs);
      if (is_mended_ && is_certain) certain_.insert(tenant);
    }
  }

  void wait(std::size_t number, std::uint64_t ns) {
    const std::uint64_t until_ns = world_.now_ns() + ns;
    while (world_.now_ns() < until_ns) operators_[number]->wait_until(until_ns);
  }

  static void raise_quota(Etcd& etcd) {
    const auto read = read_quotas(etcd, kTenantWithQuota);
    if (!read || read->uses.size() != 1) return;
    const QuotaUse& use = read->uses.front();
    if (use.has_quota && use.fault.empty())
      (void)set_quota(etcd, kTenantWithQuota, {.leases = use.quota.most.leases + 1});
  }

  void look_for_a_place(Etcd& etcd) {
    const auto places = find_places(etcd, {.bytes = 4'096}, world_.draw(1, 1'000));
    if (!places) return;
    for (const Place& each : places->fit)
      if (each.about.node != 0xa000 + number_of(each.name))
        world_.violation(each.name + " is found at another node's name");
  }

  /// As leasectl does. Whether all is certain.
  bool fence(std::size_t number, Etcd& etcd, std::uint64_t tenant, std::uint64_t patience_ns) {
    constexpr std::uint64_t kStepMs = 50;
    constexpr std::uint64_t kLookNs = 200 * kNsPerMs;
    const std::uint64_t asked_ns = world_.now_ns();
    auto raised = Revocation::raise(etcd, tenant, clocks_[number]->clock());
    if (!raised) return false;
    judge_.raised(asked_ns, tenant, raised->epoch());
    std::set<std::string> told;
    tell_certain(*raised, told);
    std::uint64_t look_ns = 0;
    while (!raised->is_certain() && world_.now_ns() < asked_ns + patience_ns) {
      (void)raised->wait(kStepMs);
      tell_certain(*raised, told);
      if (raised->is_certain() || world_.now_ns() < look_ns) continue;
      const bool has_looked = raised->look().has_value();
      look_ns = world_.now_ns() + kLookNs;
      if (has_looked) tell_certain(*raised, told);
    }
    for (const NodeStanding& each : raised->nodes())
      if (each.standing == Standing::Unreachable)
        judge_.answered(number_of(each.name), tenant, raised->epoch(), each.standing);
    return raised->is_certain();
  }

  void tell_certain(const Revocation& revocation, std::set<std::string>& told) {
    for (const NodeStanding& each : revocation.nodes())
      if (each.standing != Standing::Unreachable && told.insert(each.name).second)
        judge_.answered(number_of(each.name), revocation.tenant(), revocation.epoch(),
                        each.standing);
  }

  static std::size_t number_of(const std::string& name) {
    return std::stoul(name.substr(std::string("node-").size()));
  }

  // ---- The end ----------------------------------------------------------------------------------

  void mend() {
    world_.say("everything is mended");
    is_mended_ = true;
    cluster_.mend_all();
    for (const auto& each : nodes_) {
      each->go_on();
      for (const std::uint64_t tenant : kTenants)
        granted_before_[{each->name(), tenant}] = each->granted(tenant);
      start_when_it_is_gone(*each);
    }
    world_.after(kMendNs * 2 / 3, [this] {
      for (const auto& each : nodes_) each->calm(true);
    });
  }

  void start_when_it_is_gone(SimulatedNode& node) {
    if (!node.is_up()) return node.start();
    world_.after(200 * kNsPerMs, [this, &node] { start_when_it_is_gone(node); });
  }

  void check_that_all_get_on() {
    for (const auto& each : nodes_)
      if (each->granted(kTenants[1]) <= granted_before_[{each->name(), kTenants[1]}])
        world_.violation(each->name() + " grants nothing after everything was mended");
    std::uint64_t granted = 0;
    for (const auto& each : nodes_)
      granted +=
          each->granted(kTenantWithQuota) - granted_before_[{each->name(), kTenantWithQuota}];
    if (granted == 0) world_.violation("nobody grants to the tenant with a quota");
    for (const std::uint64_t tenant : kTenants)
      if (!certain_.contains(tenant))
        world_.violation(fmt::format("no fence of tenant {} ends with certainty", tenant));
    check_that_shares_are_given_back();
  }

  /// But for what stays charged because nothing proves its end.
  void check_that_shares_are_given_back() {
    Store& store = cluster_.store();
    for (const auto& each : nodes_) {
      const auto* entry = store.find(share_key(kTenantWithQuota, each->name()), store.revision());
      const std::uint64_t taken = entry == nullptr ? 0 : read_share(entry->value)->taken.leases;
      const Hardware& hardware = judge_.hardware(number_of(each->name()));
      const auto left = static_cast<std::uint64_t>(
          std::count_if(hardware.begin(), hardware.end(),
                        [](const auto& lease) { return lease.second.tenant == kTenantWithQuota; }));
      if (taken != left)
        world_.violation(fmt::format("{} has a share of {}, and {} leases are there", each->name(),
                                     taken, left));
    }
  }

  World& world_;
  bool sets_clocks_;
  Cluster cluster_;
  Judge judge_;
  std::shared_ptr<Life> operators_life_;
  std::vector<std::unique_ptr<HostClock>> clocks_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
  std::vector<std::unique_ptr<Fiber>> operators_;
  std::set<std::uint64_t> certain_;  // tenants, since everything was mended
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> granted_before_;
  bool is_mended_ = false;
};

}  // namespace

History run_history(const HistoryOptions& options) {
  World world(options.seed);
  History history;
  {
    Fleet fleet(world, options);
    fleet.run();
    history.counts = fleet.counts();
  }
  history.violations = world.violations();
  history.said = world.said();
  history.digest = world.digest();
  return history;
}

}  // namespace portcullis::fleet::simulation
