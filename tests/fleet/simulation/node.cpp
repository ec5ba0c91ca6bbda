// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fleet/simulation/node.hpp"

#include <fmt/format.h>

#include <fstream>
#include <utility>
#include <variant>

namespace portcullis::fleet::simulation {
namespace {

using namespace service::daemon;  // NOLINT(google-build-using-namespace): half of this is its own

constexpr std::uint64_t kLookNs = 50 * kNsPerMs;
constexpr std::uint64_t kMostHeld = 3;
constexpr std::uint64_t kBytes = 4'096;
/// A promise's watchdog kills, and the function is reset, within so long of a stop.
constexpr std::uint64_t kWatchdogNs = kStallS * kNsPerSecond;
constexpr std::uint64_t kMostResetNs = 200 * kNsPerMs;

/// By whom a request is of; 24 bits.
std::uint32_t queue_pair_of(std::uint64_t request) {
  return static_cast<std::uint32_t>(request % 0xffffff + 1);
}

}  // namespace

SimulatedNode::SimulatedNode(World& world, Cluster& cluster, Judge& judge, Options options)
    : world_(world),
      cluster_(cluster),
      judge_(judge),
      options_(std::move(options)),
      name_(fmt::format("node-{}", options_.number)),
      clock_(world, world.draw(1, 1'000'000) * kNsPerMs, options_.clock_rate) {
  remember_nothing();
}

SimulatedNode::~SimulatedNode() { be_gone(); }

/// Which node it is, as leased would draw it, and no etcd yet.
void SimulatedNode::remember_nothing() {
  std::ofstream file(options_.folder / name_, std::ios::trunc);
  file << fmt::format("portcullis node {:016x} cluster {:016x} revision {:020}\n",
                      0xa000 + options_.number, 0, 0);
}

void SimulatedNode::start() {
  if (server_) return;
  judge_.reset(options_.number);
  server_ = std::make_unique<Server>();
  ++lives_;
  world_.say(fmt::format("{} serves, life {}", name_, lives_));
  server_->sessions =
      std::make_unique<Sessions>(Beginning{.incarnation = incarnation(), .past = {}},
                                 Limits{.tenant_leases = 64, .default_ttl_ms = 600'000},
                                 Facts{.gid = pmd::Gid::from_ipv4(192, 0, 2, 1),
                                       .mac = {.octets = {2, 0, 0, 0, 0, 1}},
                                       .description = "simulated",
                                       .is_emulated = true,
                                       .isolation = options_.isolation},
                                 ports());
  server_->sessions->set_counts({.slots = 64});
  server_->fiber = std::make_unique<Fiber>(world_, server_->life, [this] { run_fleet(); });
  look_at_time();
  open_clients();
}

void SimulatedNode::be_gone() {
  if (!server_) return;
  server_->life->is_over = true;
  server_.reset();
}

void SimulatedNode::kill() {
  if (!server_) return;
  world_.say(name_ + " is killed");
  be_gone();
  // The process had the function, and whoever made a promise counts on that; of the others the
  // hardware goes on until the next server.
  if (options_.isolation && options_.isolation->stall_s != 0)
    world_.after(world_.draw(1, kMostResetNs), [this, lives = lives_] {
      if (lives == lives_) judge_.reset(options_.number);
    });
}

void SimulatedNode::end() {
  if (!server_ || server_->is_ending) return;
  world_.say(name_ + " is told to end");
  world_.after(server_->life, 0, [this] {
    server_->is_ending = true;
    server_->sessions->end();
  });
}

void SimulatedNode::stop_for(std::uint64_t ns) {
  if (!server_ || server_->life->is_stopped) return;
  world_.say(fmt::format("{} stands still for {} ms", name_, ns / kNsPerMs));
  server_->life->is_stopped = true;
  const bool has_watchdog = options_.isolation && options_.isolation->stall_s != 0;
  const bool is_killed = has_watchdog && ns >= kWatchdogNs - kMostResetNs;
  world_.after(is_killed ? kWatchdogNs - kMostResetNs : ns,
               [this, is_killed, life = std::weak_ptr<Life>(server_->life)] {
                 const auto same = life.lock();
                 if (!same || same->is_over || !same->is_stopped) return;
                 if (is_killed) kill();
                 if (!is_killed) go_on();
               });
}

void SimulatedNode::go_on() {
  if (server_) world_.go_on(server_->life);
}

std::uint64_t SimulatedNode::granted(std::uint64_t tenant) const {
  const auto at = granted_.find(tenant);
  return at == granted_.end() ? 0 : at->second;
}

// ---- Its thread for etcd, as leased has it -----------------------------------------------------

Result<std::unique_ptr<fleet::Node>> SimulatedNode::make_node() {
  auto transport = std::make_unique<SimulatedTransport>(
      world_, cluster_, options_.number, server_->fiber,
      [this] { return !server_->inbox.empty() || server_->is_to_stop; });
  PORTCULLIS_TRY_ASSIGN(auto etcd,
                        Etcd::create({.endpoints = endpoints_of(cluster_)}, std::move(transport)));
  PORTCULLIS_TRY_ASSIGN(auto memory, NodeMemory::open(options_.folder / name_));
  return fleet::Node::create(
      std::move(etcd), std::move(memory),
      {.name = name_,
       .ttl_s = kSessionS,
       .isolation = options_.isolation,
       .about = {.incarnation = incarnation(), .slots = 64}},
      {.lives =
           [this](std::uint64_t asked_ns, std::uint64_t until_ns) {
             tell([=](Sessions& to) {
               to.hear(FleetNews(FleetLives{.until_ns = until_ns, .asked_ns = asked_ns}));
             });
           },
       .is_out =
           [this](const std::string&) {
             tell([](Sessions& to) { to.hear(FleetNews(FleetIsOut{})); });
           },
       .fence =
           [this](std::uint64_t tenant, std::uint64_t epoch) {
             world_.say(fmt::format("{} is to fence tenant {} below {}", name_, tenant, epoch));
             tell([=, this](Sessions& to) {
               server_->epochs[tenant] = epoch;
               to.hear(FleetNews(FenceTenant{tenant, epoch}));
             });
           },
       .quota_changed =
           [this](std::uint64_t tenant) {
             tell([=](Sessions& to) { to.hear(FleetNews(QuotaChanged{tenant})); });
           },
       .share =
           [this](const ShareIs& share) { tell([=](Sessions& to) { to.hear(FleetNews(share)); }); },
       .log = [this](std::string_view line) { world_.say(fmt::format("{}: {}", name_, line)); }},
      clock_.clock());
}

void SimulatedNode::hand_on(fleet::Node& node) {
  for (auto& inbox = server_->inbox; !inbox.empty(); inbox.pop_front()) {
    const ToFleet& each = inbox.front();
    if (const auto* fenced = std::get_if<TenantFenced>(&each))
      node.fenced(fenced->tenant, fenced->epoch, fenced->torn_down, fenced->fenced);
    if (const auto* wanted = std::get_if<ShareWanted>(&each)) node.want(*wanted);
    if (const auto* left = std::get_if<Amount>(&each)) node.offer(*left);
  }
}

void SimulatedNode::run_fleet() {
  auto node = make_node();
  if (!node) return world_.violation(name_ + ": " + node.error().text);
  while (!server_->is_to_stop) {
    hand_on(**node);
    (*node)->work(-1);
  }
  (*node)->end(server_->sessions->has_proved_all());
}

void SimulatedNode::tell_fleet(ToFleet each) {
  server_->inbox.push_back(std::move(each));
  server_->fiber->wake();
}

/// In the order in which it was said, a little later.
void SimulatedNode::tell(std::function<void(Sessions&)> news) {
  Server& server = *server_;
  server.news.push_back(std::move(news));
  server.news_ns = std::max(server.news_ns, world_.now_ns() + world_.draw(10, 2'000) * kNsPerUs);
  world_.after(server.life, server.news_ns - world_.now_ns(), [&server] {
    const auto next = std::move(server.news.front());
    server.news.pop_front();
    next(*server.sessions);
  });
}

SessionPorts SimulatedNode::ports() {
  return {
      .ask = [this](const Request& request) { ask_device(request); },
      .look_up = [](const LookUp&) {},
      .send = [this](ConnectionId to, const wire::FrameBytes& frame) { hear_client(to, frame); },
      .hang_up = [](ConnectionId) {},
      .log = [this](std::string_view line) { world_.say(fmt::format("{}: {}", name_, line)); },
      .fenced =
          [this](const TenantFenced& fenced) {
            world_.say(fmt::format("{} has fenced tenant {} below {}", name_, fenced.tenant,
                                   fenced.epoch));
            tell_fleet(fenced);
          },
      .want_share = [this](const ShareWanted& wanted) { tell_fleet(wanted); },
      .clock = clock_.clock()};
}

void SimulatedNode::look_at_time() {
  Server& server = *server_;
  server.sessions->look_at_time();
  if (server.sessions->is_overdue()) {  // with the process its function goes
    world_.say(name_ + " gives up");
    be_gone();
    return judge_.reset(options_.number);
  }
  if (server.is_ending && server.sessions->has_ended() && !server.is_to_stop) {
    server.is_to_stop = true;
    server.fiber->wake();
  }
  if (server.fiber->has_ended()) {
    world_.say(name_ + " has ended");
    be_gone();
    return judge_.reset(options_.number);
  }
  world_.after(server.life, kLookNs, [this] { look_at_time(); });
}

// ---- Its device and its journal ----------------------------------------------------------------

/// Mostly at once, now and then nearly as long as a fence may take.
std::uint64_t SimulatedNode::device_ns() {
  return (world_.happens(20) ? world_.draw(100, 900) : world_.draw(1, 30)) * kNsPerMs;
}

void SimulatedNode::ask_device(const Request& request) {
  const auto& life = server_->life;
  if (const auto* alloc = std::get_if<Alloc>(&request)) {
    judge_.asked(options_.number, incarnation());
    world_.after(life, device_ns(), [this, alloc = *alloc] { grant(alloc); });
  }
  if (const auto* wanted = std::get_if<Revoke>(&request))
    for (const lease::LeaseName& each : wanted->names)
      world_.after(life, device_ns(), [this, each, cause = wanted->cause] { revoke(each, cause); });
}

void SimulatedNode::grant(const Alloc& alloc) {
  if (world_.happens(20))
    return tell([ticket = alloc.ticket](Sessions& to) {
      to.hear(Event(NotGranted{.ticket = ticket, .why = {.code = Errc::Busy, .text = "busy"}}));
    });
  const lease::LeaseName name{.id = ++leases_, .epoch = lives_};
  const AskedLease& asked = asked_.at(prm::number(alloc.wanted.peer.qpn));
  judge_.begins(
      options_.number,
      {.id = name.id, .tenant = alloc.wanted.tenant, .asked_ns = asked.ns, .epoch = asked.epoch});
  Granted granted{.ticket = alloc.ticket,
                  .record = {.name = name, .tenant = alloc.wanted.tenant, .bytes = kBytes},
                  .grant = {}};
  granted.grant.lease = {.id = name.id, .epoch = name.epoch};
  granted.grant.bytes = kBytes;
  granted.grant.qpn = alloc.wanted.peer.qpn;  // so that the client finds its request again
  tell([granted](Sessions& to) { to.hear(Event(granted)); });
  const std::uint64_t journal_ns = world_.draw(1, 20) * kNsPerMs;
  world_.after(server_->life, journal_ns, [this, ticket = alloc.ticket] {
    tell([ticket](Sessions& to) { to.hear(Recorded{.ticket = ticket, .done = {}}); });
  });
}

void SimulatedNode::revoke(const lease::LeaseName& name, wire::Cause cause) {
  Hardware& hardware = judge_.hardware(options_.number);
  const auto at = hardware.find(name.id);
  if (at == hardware.end()) return;
  Ending ending{.name = name, .tenant = at->second.tenant, .cause = cause};
  ending.memory = wire::Memory::Mkey;
  if (world_.happens(10)) {
    ending.outcome = wire::Outcome::Fenced;
    ending.memory = world_.happens(700) ? wire::Memory::Unmap : wire::Memory::Unproved;
  }
  at->second.is_unproved = ending.memory == wire::Memory::Unproved;
  if (!at->second.is_unproved) judge_.ends(options_.number, name.id);
  tell([ending](Sessions& to) { to.hear(Event(Ended{ending})); });
}

// ---- Its clients -------------------------------------------------------------------------------

void SimulatedNode::open_clients() {
  ConnectionId id = 0;
  for (const std::uint64_t tenant : kTenants) {
    server_->clients[++id].tenant = tenant;
    server_->sessions->opened(
        id, {.tenant = tenant, .role = wire::Role::Client, .peer = "a simulation"});
    server_->sessions->received(
        id, wire::make_frame(wire::number(wire::Op::Hello), ++requests_, wire::HelloRequest{}));
    client_turn(id);
  }
}

void SimulatedNode::client_turn(ConnectionId id) {
  Client& client = server_->clients.at(id);
  const bool gives_back = !client.held.empty() && (is_calm_ || world_.happens(300));
  if (gives_back) {
    const lease::LeaseName name = client.held.front();
    client.held.erase(client.held.begin());
    server_->sessions->received(
        id, wire::make_frame(wire::number(wire::Op::LeaseRevoke), ++requests_,
                             wire::RevokeRequest{.id = name.id, .epoch = name.epoch}));
  } else if (!is_calm_ && !client.is_waiting && client.held.size() < kMostHeld) {
    client.is_waiting = true;
    const std::uint32_t queue_pair = queue_pair_of(++requests_);
    asked_[queue_pair] = {.ns = world_.now_ns(), .epoch = server_->epochs[client.tenant]};
    server_->sessions->received(
        id, wire::make_frame(
                wire::number(wire::Op::LeaseAlloc), requests_,
                wire::AllocRequest{.bytes = kBytes,
                                   .gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 9},
                                   .mac = {2, 0, 0, 0, 0, 9},
                                   .qpn = queue_pair}));
  }
  world_.after(server_->life, world_.draw(20, 300) * kNsPerMs, [this, id] { client_turn(id); });
}

void SimulatedNode::hear_client(ConnectionId id, const wire::FrameBytes& bytes) {
  const auto frame = wire::read_frame(bytes);
  const auto at = server_->clients.find(id);
  if (!frame || at == server_->clients.end()) return;
  Client& client = at->second;
  const std::uint16_t op = frame->header.op;
  if (op == wire::kRefused &&
      wire::read_body<wire::Refusal>(*frame)->op == wire::number(wire::Op::LeaseAlloc))
    client.is_waiting = false;
  if (op == wire::answer_to(wire::Op::LeaseAlloc)) {
    const auto answer = *wire::read_body<wire::AllocAnswer>(*frame);
    client.is_waiting = false;
    client.held.push_back({.id = answer.id, .epoch = answer.epoch});
    ++granted_[client.tenant];
    const AskedLease& asked = asked_.at(answer.qpn);
    judge_.told(
        options_.number,
        {.id = answer.id, .tenant = client.tenant, .asked_ns = asked.ns, .epoch = asked.epoch});
  }
  if (op == wire::number(wire::Notice::Revoked) || op == wire::number(wire::Notice::Expired)) {
    const auto ended = *wire::read_body<wire::EndedNotice>(*frame);
    std::erase_if(client.held, [&](const lease::LeaseName& each) { return each.id == ended.id; });
  }
}

}  // namespace portcullis::fleet::simulation
