// SPDX-License-Identifier: BSD-3-Clause
#include "proof/adversary/world.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "prm/opcodes.hpp"
#include "prm/status.hpp"

namespace portcullis::proof::adversary {
namespace {

constexpr std::uint32_t kPsnMask = 0xffffff;
constexpr std::size_t kClients = 3;  // two leases at a time, and the tenant that follows one
/// While something is held no wait of the driver is longer.
constexpr std::uint64_t kGlanceNs = 20 * kNsPerUs;
constexpr std::uint32_t kLogChanges = 2;  // of keys, at a time
constexpr std::uint32_t kManyPackets = 12;
constexpr std::uint32_t kManyDmas = 3;
/// After this long without an answer a client has sent again, once or twice: T is 4.096 us x
/// 2^timeout.
constexpr std::uint64_t kRetransmitNs = (std::uint64_t{4096} << kAckTimeout) * 3 / 2;

/// How long an outcome keeps a QP number from coming back (docs/hca-contract.md): GRACE, or for as
/// long as the client may send again, 4 T for each of retry + 1 times.
std::uint64_t promised_rest_ns(const RunSpec& spec) {
  constexpr std::uint64_t kBudgetNs =
      4 * (std::uint64_t{4096} << kAckTimeout) * (kRetryCount + std::uint64_t{1});
  return std::max(grace_ms(spec) * kNsPerMs, kBudgetNs);
}

/// "A+B"; none when it is empty.
void add_behaviours(model::Options& options, std::string_view words) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find('+'), words.size());
    options.behaviours.emplace_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

model::Options model_options(const RunSpec& spec, std::shared_ptr<model::Pace> pace) {
  model::Options options;
  options.seed = spec.seed;
  if (is_on_infiniband(spec)) options.port_type = model::PortType::InfiniBand;
  options.behaviours = {"reuse-numbers"};
  if (is_steered(spec)) options.behaviours.emplace_back("rdma-rx-in-path");
  options.pace = std::move(pace);
  options.pcap_path = spec.pcap_path;
  options.trace_path = spec.trace_path;
  if (spec.on_recording_lost) options.on_recording_lost = spec.on_recording_lost;
  for (const MutantInfo& info : mutants())
    if (info.mutant == spec.mutant) add_behaviours(options, info.behaviour);
  return options;
}

}  // namespace

World::World(const RunSpec& spec)
    : spec_(spec),
      random_(spec.seed * 2 + 1),
      adversary_(std::make_shared<Adversary>(spec.seed, spec.holds)),
      deceit_{.mutant = spec.mutant} {}

World::~World() {
  // The destructors of what the driver made are commands too, and nobody is left to lie to.
  deceit_.is_on = false;
  is_over_ = true;
  adversary_->set_mood({});
  if (model_ != nullptr) adversary_->let_all_go(*model_, Adversary::Release::Everything);
}

Result<std::unique_ptr<World>> World::create(const RunSpec& spec) {
  std::unique_ptr<World> world(new World(spec));
  PORTCULLIS_TRY(world->start());
  return world;
}

Result<void> World::start() {
  PORTCULLIS_TRY(bring_up());
  pmd::CommandChannel* commands = function_->context().commands;
  if (is_kept(spec_)) commands = &kept_.emplace(*commands, spec_.mutant == Mutant::FakeBelieved);
  channel_.emplace(*commands, deceit_);
  context_ = function_->context();
  context_->commands = &*channel_;
  PORTCULLIS_TRY_ASSIGN(auto port,
                        attach::Port::create(*context_, {.gid = kPort.gid, .mac = kPort.mac}));
  port_.emplace(std::move(port));
  // Our own numbers are given before any lease's, so that those of a lease come back.
  if (is_steered(spec_)) PORTCULLIS_TRY(steer());
  if (spec_.plan.has(lease::Step::FreeKey)) {
    PORTCULLIS_TRY_ASSIGN(umr_queue_, pmd::UmrQueue::create(*context_, kLogChanges));
    freer_.emplace(*umr_queue_, deceit_);
  }
  for (std::size_t i = 0; i < kClients; ++i) {
    PORTCULLIS_TRY_ASSIGN(auto client, Client::create(*context_, port_->path(), witness_));
    clients_.push_back(std::move(client));
  }
  deceit_.on_key_step = [this] {
    if (std::exchange(awaits_key_step_, false))
      result_.occupancies.push_back(adversary_->occupancy(under_fence_->connection()));
  };
  deceit_.on_key_gone = [this] { is_key_gone_ = true; };
  deceit_.on_qp_reset = [this](std::uint32_t qpn) { on_qp_reset(qpn); };
  deceit_.on_qp_destroyed = [this](std::uint32_t qpn) { on_qp_destroyed(qpn); };
  return start_manager();
}

Result<void> World::bring_up() {
  PORTCULLIS_TRY_ASSIGN(auto opened, attach::OpenDevice::open({model_options(spec_, adversary_)}));
  model_ = opened.model();
  model_->observe_dma(&witness_);
  attach::Function::Options options{.bring_up = {.log_event_entries = 8}};
  options.present = [this](Device device) {
    plain_ = device;
    witness_.set_clock(device.clock);
    space_.emplace(*device.dma, deceit_);
    device.relax = Relax(&World::relax_entry, this);
    device.dma = &*space_;
    bus_.emplace(*plain_->function, deceit_);
    device.function = &*bus_;
    return device;
  };
  auto function = attach::Function::bring_up(std::move(opened), options);
  if (!function) model_ = nullptr;  // it has gone with the function
  PORTCULLIS_TRY_ASSIGN(function_, std::move(function));
  return {};
}

Result<void> World::steer() {
  steering::FlowDrop::Options options;
  if (is_on_infiniband(spec_)) {
    options.choice = steering::choice_for(spec_.plan.entry);
  } else {
    PORTCULLIS_TRY_ASSIGN(options.choice, steering::parse_choice("dst-qp"));
  }
  options.slots = kMostLeases;
  options.loopback = port_->path();
  PORTCULLIS_TRY_ASSIGN(drop_, steering::set_up_rule(*context_, spec_.plan.entry, options, {}));
  if (!drop_) return fail(Errc::Unsupported, "the device has no entry that drops by dst-qp");
  return {};
}

Result<void> World::start_manager() {
  lease::LeaseManager::Options options;
  options.table.slots = kMostLeases;
  options.plan = spec_.plan;
  options.grant.mtu = kMtu;
  options.grant.psn_seed = spec_.seed + 1;
  if (keeps_key_byte(spec_.mutant))
    options.grant.key_byte = [bytes = context_->key_variants] { return bytes->next(); };
  options.grant.gives_named_keys = spec_.mutant == Mutant::DeadEntry;
  options.grace_ms = grace_ms(spec_);
  if (spec_.mutant == Mutant::NumberReusedEarly || spec_.mutant == Mutant::NoGrace)
    options.grace_ms = 0;
  lease::Host host = lease::Host::of(function_->driver());
  host.context = &*context_;
  host.steering = drop_.get();
  if (freer_) host.umr = &*freer_;
  host.on_outcome = [this](const lease::Lease& lease, const lease::Verdict& verdict) {
    on_outcome(lease, verdict);
  };
  PORTCULLIS_TRY_ASSIGN(manager_, lease::LeaseManager::create(std::move(host), options));
  return {};
}

/// Near the wrap half of the time, so that what is on its way stands on both sides of it.
std::uint32_t World::draw_psn() {
  const std::uint32_t near_wrap = kPsnMask - random_.below(250);
  return random_.below(2) == 0 ? near_wrap : random_.below(kPsnMask);
}

lease::GrantRequest World::request_of(const Client& client, std::uint32_t psn) const {
  lease::GrantRequest request;
  request.bytes = kRegionBytes;
  request.peer = client.peer(psn);
  request.access.remote_atomic = true;
  // The client has the patience that it always has.
  const bool is_taken_for_0 =
      spec_.mutant == Mutant::NumberReusedEarly || spec_.mutant == Mutant::NoQuarantine;
  request.ack_timeout = is_taken_for_0 ? 1 : kAckTimeout;
  request.retry_count = is_taken_for_0 ? 0 : kRetryCount;
  return request;
}

Result<void> World::admit(Client& client, std::optional<std::uint32_t> psn) {
  Client* const one = &client;
  if (are_together(spec_)) return admit_together(std::span(&one, 1), psn);
  const std::uint32_t first = psn ? *psn : draw_psn();
  lease::GrantRequest request = request_of(client, first);
  request.log_receives = kLogReceives;
  if (keeps_key_byte(spec_.mutant)) context_->key_variants->restart(0);
  PORTCULLIS_TRY_ASSIGN(const lease::Grant grant, manager_->grant(request));
  return enter(client, grant, first, true);
}

Result<void> World::admit_together(std::span<Client* const> clients,
                                   std::optional<std::uint32_t> psn) {
  std::vector<std::uint32_t> psns;
  std::vector<lease::GrantRequest> requests;
  for (const Client* client : clients) {
    psns.push_back(psn ? *psn : draw_psn());
    requests.push_back(request_of(*client, psns.back()));
  }
  if (keeps_key_byte(spec_.mutant)) context_->key_variants->restart(0);
  PORTCULLIS_TRY_ASSIGN(const std::vector<lease::Grant> grants, manager_->grant_together(requests));
  for (std::size_t i = 0; i < clients.size(); ++i)
    PORTCULLIS_TRY(enter(*clients[i], grants[i], psns[i], false));
  return {};
}

Result<void> World::enter(Client& client, const lease::Grant& grant, std::uint32_t psn,
                          bool has_receives) {
  witness_.give(manager_->memory(grant.lease), ++serials_);
  PORTCULLIS_TRY(client.connect(grant, serials_, psn, has_receives));
  adversary_->follow(client.connection());
  return serve(client);
}

void World::relax_entry(void* world, std::uint64_t until_ns) noexcept {
  static_cast<World*>(world)->relax(until_ns);
}

void World::relax(std::uint64_t until_ns) noexcept {
  if (is_polling_) return plain_->relax(now_ns());
  witness_.set_step(++step_);
  // The client knows nothing of the fence and goes on.
  if (under_fence_ != nullptr && posting_ && adversary_->below(8) == 0) {
    if (auto posted = under_fence_->post(random_); !posted)
      posting_ = forward_error(std::move(posted));
  }
  // Once the key is gone there should be no DMA left, so what there is may well stay.
  const bool spares_dma = is_key_gone_ || is_stubborn_;
  if (adversary_->may_let_go(spares_dma)) {
    if (adversary_->below(2) == 0) (void)adversary_->let_one_go(*model_, spares_dma);
    until_ns = std::min(until_ns, now_ns() + kGlanceNs);
  }
  plain_->relax(until_ns);
}

Result<void> World::poll_clients() {
  is_polling_ = true;
  Result<void> polled;
  for (const auto& client : clients_) {
    if (polled) polled = client->poll();
    if (polled) polled = serve(*client);
  }
  is_polling_ = false;
  return polled;
}

bool World::is_active(const Client& client) const {
  const lease::Lease& lease = client.grant().lease;
  const lease::LeaseTable& table = manager_->table();
  return table.lease(lease.slot) == lease && table.state(lease.slot) == lease::State::Active;
}

/// The other side of a lease: takes what has come and makes room for more, at every place of the
/// region in turn.
Result<void> World::serve(const Client& client) {
  if (!client.has_receives() || !is_active(client)) return {};
  constexpr std::uint32_t kPlace = kMostPackets * kMtuBytes;
  const lease::Lease& lease = client.grant().lease;
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const auto arrived, manager_->poll_receive(lease));
    if (!arrived) break;
  }
  while (true) {
    const auto posted =
        manager_->post_receive(lease, receives_++ * kPlace % kRegionBytes, kPlace, 0);
    if (!posted && posted.error().code == Errc::Busy) return {};
    PORTCULLIS_TRY(posted);
  }
}

Result<void> World::pass(std::uint64_t ns) {
  const std::uint64_t until_ns = now_ns() + ns;
  while (now_ns() < until_ns) {
    witness_.set_step(++step_);
    plain_->relax(until_ns);
  }
  return poll_clients();
}

std::uint64_t World::posted() const noexcept {
  std::uint64_t posted = 0;
  for (const auto& client : clients_)
    posted += std::accumulate(client->posted().begin(), client->posted().end(), std::uint64_t{0});
  return posted;
}

Result<void> World::finish_operations() {
  const std::uint64_t posted_so_far = posted();
  if (posted_so_far >= spec_.operations) return {};
  return traffic(static_cast<std::uint32_t>(spec_.operations - posted_so_far), {});
}

Result<void> World::traffic(std::uint32_t operations, const Adversary::Mood& mood) {
  adversary_->set_mood(mood);
  const std::uint64_t until = posted() + operations;
  for (std::uint32_t idle = 0; posted() < until && idle < 4 * operations; ++idle) {
    Client& client = *clients_[random_.below(static_cast<std::uint32_t>(clients_.size()))];
    if (client.connection().serial != 0) PORTCULLIS_TRY(client.post(random_));
    if (adversary_->held_count() > 8 || random_.below(4) == 0)
      (void)adversary_->let_one_go(*model_);
    if (random_.below(3) == 0) PORTCULLIS_TRY(pass(random_.below(2'000)));
  }
  return {};
}

Result<void> World::hoard(Client& client, std::uint32_t rounds) {
  // What was held up before goes its way first, or it would stand in the way.
  PORTCULLIS_TRY(settle(Adversary::Release::Mortal));
  PORTCULLIS_TRY(pass(kRetransmitNs));
  if (random_.below(6) == 0) return hoard_read(client);
  const bool wants_duplicates = random_.below(3) == 0;
  if (wants_duplicates) {  // carried out, and the client never hears of it
    adversary_->set_mood({.response = 256});
    PORTCULLIS_TRY(client.post(random_));
    PORTCULLIS_TRY(pass(kNsPerUs));
  }
  // The DMA first, which needs a way past the check; then the packets behind it.
  Adversary::Mood mood{.wire = random_.below(64),
                       .check = 192 + random_.below(64),
                       .memory = 128 + random_.below(128),
                       .response = random_.below(64)};
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const Occupancy now = adversary_->occupancy(client.connection());
    if (now.packets >= kManyPackets && now.dmas >= kManyDmas) break;
    const bool has_dma = now.dmas >= kManyDmas || round > rounds / 2;
    adversary_->set_mood(has_dma ? mood : Adversary::Mood{.wire = 4, .memory = 192});
    PORTCULLIS_TRY(client.post(random_));
    PORTCULLIS_TRY(pass(random_.below(2'000)));
  }
  if (!wants_duplicates) return {};
  mood.check = 256;
  adversary_->set_mood(mood);
  return pass(kRetransmitNs);
}

Result<void> World::reach_over(Client& neighbour, const Client& old, Operation operation) {
  PORTCULLIS_TRY_ASSIGN(const bool is_posted,
                        neighbour.reach(operation, old.grant().address + kVault));
  result_.reached_over += is_posted ? 1 : 0;
  return pass(kNsPerMs);
}

/// A READ that was served, whose data never came: nothing but its repetition is on its way.
Result<void> World::hoard_read(Client& client) {
  adversary_->set_mood({.response = 256});
  PORTCULLIS_TRY(client.post(Operation::Read, 1 + random_.below(kMostPackets), 0));
  PORTCULLIS_TRY(pass(kNsPerUs));
  adversary_->set_mood({.check = 256, .memory = 256});
  return pass(kRetransmitNs);
}

/// What the ladder is for: in some runs the key step fails, by whatever takes it, or 2ERR_QP does;
/// or DMA stays pending for as long as the fence runs, so that nothing which waits for it comes to
/// an end. Now and then the region cannot be unmapped either, and nothing is left to promise.
Result<void> World::break_key_step() {
  using Kind = model::CommandFaultRule::Kind;
  if (kept_) break_in_the_kernels_eyes();
  constexpr auto kBadRes = prm::number(prm::CommandStatus::BAD_RES_ERR);
  const std::uint16_t destroy_mkey = prm::number(prm::Opcode::DESTROY_MKEY);
  model::CommandFaultRule rule{.opcode = destroy_mkey, .status = kBadRes};
  switch (spec_.mutant) {
    case Mutant::DeliveryIgnored:
      rule.kind = Kind::DeliveryStatus;
      rule.status = prm::number(prm::DeliveryStatus::TOK_ERR);
      break;
    case Mutant::A5Off:
    case Mutant::RungThreeLeftOut:
    case Mutant::UnmapNotDone:
      break;
    case Mutant::TimeoutIsSuccess:
      is_stubborn_ = makes_fail_ = true;
      return {};
    default:
      return fails_commands(spec_) ? break_any(rule) : Result<void>{};
  }
  makes_fail_ = true;
  model_->inject(rule);
  return break_umr_queue();
}

Result<void> World::break_any(model::CommandFaultRule rule) {
  using Kind = model::CommandFaultRule::Kind;
  makes_fail_ = true;
  is_stubborn_ = random_.below(2) == 0;
  deceit_.refuses_unmap = random_.below(4) == 0;
  if (is_stubborn_ && random_.below(2) == 0) return {};
  if (random_.below(2) == 0) PORTCULLIS_TRY(break_umr_queue());
  if (random_.below(2) == 0) {
    rule.kind = random_.below(2) == 0 ? Kind::NeverReturns : Kind::Status;
    rule.status = prm::number(prm::CommandStatus::BAD_SYS_STATE_ERR);
    if (random_.below(2) == 0) rule.opcode = prm::number(prm::Opcode::QP_2ERR);
  }
  model_->inject(rule);
  return {};
}

/// From any command of the fence on, or behind its last.
void World::break_in_the_kernels_eyes() {
  constexpr std::uint32_t kCommands = 4;  // of the longest plan, but for its queries
  makes_fail_ = true;
  kept_->break_behind(random_.below(kCommands + 1));
}

/// A UMR on a key that does not exist: the queue is in error and takes no more.
Result<void> World::break_umr_queue() {
  if (!umr_queue_) return {};
  constexpr prm::Rkey kNoSuchKey{0xffff'ff00};
  const auto refused = umr_queue_->free_key(kNoSuchKey, now_ns() + kNsPerMs);
  if (refused || !umr_queue_->is_in_error())
    return fail(Errc::DeviceFailed, "the device freed a key that does not exist");
  return {};
}

Result<void> World::revoke(std::span<Client* const> clients) {
  PORTCULLIS_TRY(break_key_step());
  return take_away(clients, Way::ByName);
}

/// Now and then bus mastering stays on, and the reset fails, which it must where it would end what
/// a mutant lets go on.
Result<void> World::drain(std::span<Client* const> clients) {
  const std::uint32_t draw = random_.below(4);
  deceit_.refuses_bus_master = spec_.mutant == Mutant::None && draw == 0;
  deceit_.refuses_reset = spec_.mutant != Mutant::None || draw == 1;
  makes_fail_ = makes_fail_ || deceit_.refuses_reset;
  return take_away(clients, Way::Drain);
}

Result<void> World::take_away(std::span<Client* const> clients, Way way) {
  const std::uint32_t refused_before = deceit_.unmaps_refused;
  under_fence_ = clients.front();
  awaits_key_step_ = true;
  deceit_.is_on = true;
  if (way == Way::Drain)
    result_.drained += static_cast<std::uint32_t>(manager_->drain().value_or(0));
  const std::vector<lease::RevokeAnswer> answers = answer(clients);
  deceit_.is_on = false;
  if (kept_) kept_->mend();
  under_fence_ = nullptr;
  awaits_key_step_ = is_key_gone_ = is_stubborn_ = deceit_.refuses_unmap = false;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    note(*clients[i], answers[i]);
    const bool is_unproved = answers[i].verdict.proof == lease::Proof::None;
    if (is_unproved && deceit_.unmaps_refused == refused_before)
      witness_.object(Violation::Kind::Unproved, clients[i]->connection().serial);
  }
  PORTCULLIS_TRY(posting_);
  return umr_queue_ && umr_queue_->is_in_error() ? umr_queue_->recover() : Result<void>{};
}

std::vector<lease::RevokeAnswer> World::answer(std::span<Client* const> clients) {
  std::vector<lease::LeaseName> names;
  for (const Client* client : clients)
    names.push_back({client->grant().lease.id, client->grant().lease.epoch});
  if (clients.size() == 1 && joins_fences(spec_))
    if (const auto answer = start(*clients.front(), names.front())) return {*answer};
  return manager_->revoke_batch(names, spec_.plan);
}

/// Begins the revoke and does not wait: none while it lingers, and whoever asks next joins it.
std::optional<lease::RevokeAnswer> World::start(const Client& client,
                                                const lease::LeaseName& name) {
  if (auto answer = manager_->start_revoke(name.id, name.epoch, spec_.plan)) return answer;
  ++result_.joined;
  if (deceit_.lies(Mutant::JoinNotAwaited))
    note(client, {lease::Outcome::TornDown, name.epoch, {.proof = lease::Proof::Mkey}});
  for (std::uint32_t i = random_.below(8); i > 0; --i) relax(now_ns() + kGlanceNs);
  return std::nullopt;
}

/// From here on the witness holds the outcome against the device.
void World::on_outcome(const lease::Lease& lease, const lease::Verdict& verdict) {
  if (is_over_) return;
  const auto client = std::ranges::find_if(
      clients_, [&lease](const auto& one) { return one->grant().lease == lease; });
  if (client == clients_.end()) return;
  const bool is_torn_down = verdict.outcome == lease::Outcome::TornDown;
  const std::uint32_t serial = (*client)->connection().serial;
  Promise& promise = promises_[serial];
  promise.qpn = (*client)->grant().qpn;
  if (is_torn_down && spec_.plan.has_grace) {
    promise.grace_until_ns = now_ns() + grace_ms(spec_) * kNsPerMs;
    promise.rests_until_ns = now_ns() + promised_rest_ns(spec_);
  }
  if (verdict.proof != lease::Proof::None) witness_.forbid(serial);
}

/// What the caller of a revoke is told. A mutant's is a lie, which the witness takes at its word.
void World::note(const Client& client, const lease::RevokeAnswer& answer) {
  const std::uint32_t serial = client.connection().serial;
  const bool is_torn_down = answer.outcome == lease::Outcome::TornDown;
  ++(is_torn_down ? result_.torn_down : result_.fenced);
  result_.steered += answer.verdict.steering == lease::SteeringState::Ok ? 1 : 0;
  if (!promises_.contains(serial)) witness_.object(Violation::Kind::AnsweredEarly, serial);
  if (!is_torn_down && !makes_fail_) witness_.object(Violation::Kind::FencedForNothing, serial);
  if (answer.verdict.proof == lease::Proof::None)
    ++result_.unproved;
  else
    witness_.forbid(serial);
}

void World::on_qp_reset(std::uint32_t qpn) {
  if (is_over_) return;
  for (const auto& [serial, promise] : promises_)
    if (prm::number(promise.qpn) == qpn && now_ns() < promise.grace_until_ns)
      witness_.object(Violation::Kind::ResetEarly, serial);
}

void World::on_qp_destroyed(std::uint32_t qpn) {
  if (is_over_) return;
  for (const auto& [serial, promise] : promises_)
    if (prm::number(promise.qpn) == qpn && now_ns() < promise.rests_until_ns)
      witness_.object(Violation::Kind::NumberEarly, serial);
}

bool World::is_resting(const Client& client) const {
  const auto promise = promises_.find(client.connection().serial);
  return promise != promises_.end() && now_ns() < promise->second.rests_until_ns;
}

/// The idle path, a few times: what it has sent is answered in between.
Result<void> World::poll_leases() {
  constexpr int kRounds = 6;  // as many commands as the deferred phase of a slot has
  for (int round = 0; round < kRounds; ++round) {
    manager_->poll();
    PORTCULLIS_TRY(pass(kNsPerUs));
  }
  return {};
}

/// The next of the last instants at which a QP may not be reset, or its number not given back.
std::uint64_t World::next_brink_ns() const {
  std::uint64_t next_ns = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [serial, promise] : promises_)
    for (const std::uint64_t until_ns : {promise.grace_until_ns, promise.rests_until_ns})
      if (until_ns > now_ns() + 1) next_ns = std::min(next_ns, until_ns - 1);
  return next_ns;
}

/// Looks often at first, when only a number that does not rest could come back, then ever less, and
/// on every brink.
Result<bool> World::wait_until_free(std::uint32_t slot, std::uint64_t ms) {
  constexpr std::uint64_t kFirstNs = 100 * kNsPerUs;
  constexpr std::uint64_t kLongestNs = 250 * kNsPerMs;
  const auto is_free = [&] { return manager_->table().state(slot) == lease::State::Free; };
  const std::uint64_t until_ns = now_ns() + ms * kNsPerMs;
  for (std::uint64_t step_ns = kFirstNs; !is_free() && now_ns() < until_ns;
       step_ns = std::min(2 * step_ns, kLongestNs)) {
    PORTCULLIS_TRY(pass(std::min(step_ns, next_brink_ns() - now_ns())));
    (void)adversary_->let_one_go(*model_);
    PORTCULLIS_TRY(poll_leases());
  }
  return is_free();
}

Result<void> World::settle(Adversary::Release release) {
  adversary_->set_mood({});
  adversary_->let_all_go(*model_, release);
  return pass(100 * kNsPerUs);
}

RunResult World::result() const {
  RunResult result = result_;
  result.objection = witness_.objection();
  result.violation = witness_.first();
  if (!result.violation && !is_found_by_dma(spec_.mutant)) result.violation = result.objection;
  for (const auto& client : clients_) {
    for (std::size_t i = 0; i < kOperations.size(); ++i) {
      result.posted[i] += client->posted()[i];
      result.succeeded[i] += client->succeeded()[i];
    }
  }
  result.faked = kept_ ? kept_->faked() : 0;
  result.holds = adversary_->holds();
  result.steps = step_;
  result.late = witness_.late();
  result.touched = witness_.seen();
  return result;
}

}  // namespace portcullis::proof::adversary
