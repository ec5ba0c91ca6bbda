// SPDX-License-Identifier: BSD-3-Clause
#include "light/steps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/cells.hpp"
#include "lease/fence_plan.hpp"
#include "light/command_times.hpp"
#include "light/key_step.hpp"
#include "light/peer_step.hpp"
#include "light/reach_step.hpp"
#include "light/revoke_steps.hpp"
#include "pmd/pci_ids.hpp"
#include "pmd/port.hpp"
#include "prm/init_segment.hpp"
#include "prm/view.hpp"
#include "probes/probe.hpp"
#include "proof/floor_fit.hpp"
#include "proof/session.hpp"
#include "service/exchange/line_channel.hpp"
#include "service/served_port.hpp"
#include "steering/drop_group.hpp"
#include "steering/flow_caps.hpp"
#include "steering/loopback_pair.hpp"
#include "steering/self_test.hpp"

namespace portcullis::light {
namespace {

using WallClock = std::chrono::steady_clock;
using steering::LoopbackPair;
using steering::Shape;

constexpr std::uint32_t kSeveralPackets = 8192;  // of any MTU
/// What a WRITE takes at most that meets silence: 67 ms and seven retries, with room.
constexpr std::uint64_t kAnswerNs = 3 * kNsPerSecond;

constexpr std::array<unsigned, 7> kTimeouts{8, 9, 10, 11, 12, 13, 14};
constexpr std::array<unsigned, 4> kRetries{1, 3, 5, 6};  // 7 may stand for ever

/// Each rests on a promise of its own: A1, A2, A6.
constexpr std::array kAudited{"nak-first", "umr", "indirect"};

/// By each plan with a client on another host, whose NIC may take seconds for each.
constexpr std::uint64_t kMostPeerRevokes = 5;
constexpr std::uint64_t kPeerConnectMs = 10'000;

/// What stops the packets of others is not for a card that serves others.
constexpr std::string_view kOnlyAlone =
    "it stops packets of everybody on the port, whose kernel driver keeps it";

std::string kind_of(const attach::DeviceSpec& spec) {
  if (spec.is_in_process()) return "model";
  if (spec.is_emulated()) return "shm";
  return spec.is_kept() ? "kernel's" : "vfio";
}

bool is_virtual_function(const proof::Session& session) {
  const auto* const function = session.device().function;
  return function != nullptr && function->device_id() == pmd::kConnectX5VfDeviceId;
}

/// struct health_buffer (device.h), which firmware fills when it fails; nothing of a card that its
/// kernel driver keeps.
std::vector<std::string> health_registers(std::span<const std::byte> bar) {
  constexpr prm::Place kBuffer = prm::place<prm::mlx5_init_seg, "health">;
  constexpr unsigned kDwordBits = 32;
  std::vector<std::string> registers;
  if (bar.size() < prm::mlx5_init_seg::bytes) return registers;
  for (const prm::Member& field : prm::mlx5_health_buffer::members) {
    if (field.kind != prm::MemberKind::Field) continue;
    const std::size_t dword = (kBuffer.offset + field.offset) / kDwordBits * sizeof(std::uint32_t);
    const std::uint32_t raw = cells::be32(cells::load_acquire<std::uint32_t>(bar.data() + dword));
    const std::uint32_t value = raw >> (kDwordBits - field.offset % kDwordBits - field.width);
    registers.push_back(fmt::format("{} {:#x}", field.name, value & prm::widest(field.width)));
  }
  return registers;
}

class Run {
 public:
  explicit Run(const Options& options) : options_(&options) {
    session_options_.log = options.log;
    session_options_.on_command = [this](const trace::TraceCommand& command) {
      times_.add(command);
      if (options_->on_command) options_->on_command(command);
    };
    session_options_.check_not_stopped = [this] { return check_time(); };
    facts_.device.kind = kind_of(options.device);
    facts_.device.is_emulated = options.device.is_emulated();
  }

  using Step = Result<void> (Run::*)();
  void take(std::string_view name, Step step) {
    StepFact fact{.name = std::string(name), .state = "running", .why = {}};
    if (options_->on_step) options_->on_step(fact);
    const auto began = WallClock::now();
    until_ = began + std::chrono::milliseconds(options_->step_deadline_ms);
    not_run_ = {};
    if (options_->is_stopped && options_->is_stopped()) not_run_ = "stopped before it";
    Result<void> done;
    if (not_run_.empty()) done = (this->*step)();
    fact.took_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(WallClock::now() - began).count());
    fact.state = !not_run_.empty() ? "not run" : done ? "done" : "failed";
    fact.why = !not_run_.empty() ? not_run_ : done ? "" : done.error().text;
    if (fact.state == "failed" && options_->on_crash_dump) dump(name);
    session_.reset();
    if (options_->on_step) options_->on_step(fact);
    facts_.steps.push_back(std::move(fact));
  }

  /// By the function as it is: a step that has failed has not reset it yet, where it came so far
  /// as to have it.
  void dump(std::string_view step) {
    CrashDumpFact fact{.step = std::string(step), .state = "none", .why = {}};
    const auto dump = read_dump();
    if (dump) {
      fact.state = dump->is_whole ? "whole" : "part";
      fact.space_bytes = dump->space_bytes;
      fact.words = dump->words.size();
      options_->on_crash_dump(fact.step, *dump);
    } else {
      fact.why = dump.error().text;
    }
    facts_.crash_dumps.push_back(std::move(fact));
  }

  [[nodiscard]] bool has_dumped_last() const { return facts_.steps.back().state == "failed"; }

  [[nodiscard]] Facts so_far() const {
    Facts facts = facts_;
    facts.commands = times_.facts();
    return facts;
  }

  // ---- The steps, in their order ---------------------------------------------------------------

  Result<void> bring_up() {
    PORTCULLIS_TRY_ASSIGN(auto* const session, open());
    DeviceFact& device = facts_.device;
    device.firmware = session->driver().firmware_version();
    device.board = session->driver().board_id();
    device.is_emulated = device.is_emulated || session->driver().is_emulated();
    const auto* const function = session->device().function;
    PORTCULLIS_TRY_ASSIGN(const auto port, pmd::query_port_state(*session->context().commands));
    device.link_up = port.link_up;
    device.frame_bytes = session->context().frame_bytes;
    const auto relaxed = function == nullptr ? std::nullopt : function->relaxed_ordering();
    device.relaxed_ordering = !relaxed ? "unknown" : *relaxed ? "on" : "off";
    const pmd::Capabilities& caps = session->context().caps;
    device.keys_may_be_relaxed = caps.relaxed_ordering_write + caps.relaxed_ordering_read != 0;
    return {};
  }

  Result<void> commands() {
    PORTCULLIS_TRY_ASSIGN(auto* const session, open());
    for (std::uint64_t i = 0; i < options_->rounds; ++i) {
      PORTCULLIS_TRY(check_time());
      PORTCULLIS_TRY(LoopbackPair::create(session->context(), session->path()));
    }
    return {};
  }

  Result<void> loopback() {
    PORTCULLIS_TRY_ASSIGN(auto* const session, open());
    PORTCULLIS_TRY_ASSIGN(const auto pair,
                          LoopbackPair::create(session->context(), session->path()));
    LoopbackFact& fact = facts_.loopback;
    fact.is_run = true;
    PORTCULLIS_TRY(pair->post(1));
    PORTCULLIS_TRY_ASSIGN(fact.short_write, succeeds(*pair, fact.met));
    if (!fact.short_write) return {};
    PORTCULLIS_TRY(pair->post_bytes(kSeveralPackets));
    PORTCULLIS_TRY_ASSIGN(fact.long_write, succeeds(*pair, fact.met));
    if (!fact.long_write) return {};
    Histogram times;
    for (std::uint64_t i = 0; i < options_->writes; ++i) {
      PORTCULLIS_TRY(check_time());
      const std::uint64_t start = session->now_ns();
      PORTCULLIS_TRY(pair->post(i));
      PORTCULLIS_TRY_ASSIGN(const bool succeeded, succeeds(*pair, fact.met));
      if (!succeeded) return fail(Errc::DeviceFailed, "a later WRITE met " + fact.met);
      times.record(session->now_ns() - start);
      // Of those that came back, should a later one not.
      fact.writes = times.count();
      fact.median_ns = times.percentile_ns(0.5);
      fact.most_ns = times.max_ns();
    }
    return {};
  }

  Result<void> reach() {
    PORTCULLIS_TRY_ASSIGN(auto* const session, open());
    const bool is_ethernet = session->context().caps.port_type == prm::number(prm::PortType::ETH);
    ReachOptions asked;
    asked.may_take_link_down =
        is_ethernet && !options_->device.is_kept() && !is_virtual_function(*session);
    asked.check_time = [this] { return check_time(); };
    return ask_of_ways(session->context(), session->path(), asked, facts_.reach);
  }

  Result<void> key() {
    PORTCULLIS_TRY_ASSIGN(auto* const session, open());
    PORTCULLIS_TRY_ASSIGN(facts_.key, ask_of_key(session->context(), session->path()));
    return {};
  }

  Result<void> entries() {
    if (options_->device.is_kept()) return leave(kOnlyAlone);
    PORTCULLIS_TRY_ASSIGN(const bool is_quick,
                          answers_within(steering::SelfTestOptions{}.quiet_ms));
    if (!is_quick) return {};
    for (const Shape shape : {Shape::DstQp, Shape::ClientFlow, Shape::Opcode, Shape::OpcodeClass}) {
      PORTCULLIS_TRY(check_time());
      PORTCULLIS_TRY_ASSIGN(auto* const session, open());
      PORTCULLIS_TRY_ASSIGN(EntryFact fact, entry_of(*session, shape));
      facts_.entries.push_back(std::move(fact));
    }
    return {};
  }

  Result<void> probes() {
    if (options_->device.is_kept()) return leave(kOnlyAlone);
    PORTCULLIS_TRY_ASSIGN(const bool is_quick, answers_within(probes::Options{}.quiet_ms));
    if (!is_quick) return {};
    Result<void> worst;
    for (const probes::Probe probe : probes::kProbes) {
      PORTCULLIS_TRY(check_time());
      PORTCULLIS_TRY_ASSIGN(auto* const session, open());
      auto report = probes::run(probe, session->context(), {.loopback = session->path()});
      if (!report) {
        facts_.probes.push_back(
            {.probe = std::string(probes::name(probe)), .refusal = report.error().text});
        worst = tl::unexpected(report.error());
        continue;
      }
      facts_.probes.push_back({.probe = std::string(probes::name(probe)),
                               .observed = report->observed,
                               .verdict = report->verdict,
                               .as_seen = report->as_seen});
    }
    return worst;
  }

  Result<void> plans() {
    return for_each_plan(lease::names_of_plans(options_->device.is_kept()),
                         [this](const lease::Plan& plan) -> Result<void> {
                           PORTCULLIS_TRY_ASSIGN(auto* const session, open());
                           PORTCULLIS_TRY_ASSIGN(PlanFact fact,
                                                 revoke_by(*session, plan, options_->revokes));
                           facts_.plans.push_back(std::move(fact));
                           return {};
                         });
  }

  Result<void> floor() {
    FloorTally tally;
    PORTCULLIS_TRY_ASSIGN(auto* const session, open());
    for (const unsigned timeout : kTimeouts)
      for (const unsigned retry : kRetries)
        PORTCULLIS_TRY(ask_floor(*session, timeout, retry, tally));
    facts_.floor = tally.fact();
    return {};
  }

  Result<void> audit() {
    const auto offered = lease::names_of_plans(options_->device.is_kept());
    std::vector<std::string> names;
    for (const std::string_view name : kAudited)
      if (std::ranges::find(offered, name) != offered.end()) names.emplace_back(name);
    return for_each_plan(names, [this](const lease::Plan& plan) { return audit_of(plan); });
  }

  Result<void> peer() {
    if (options_->device.is_in_process())
      return leave(
          "a model in this process has no wire to another host; hca-server --shm PATH --wire SPEC "
          "and --device shm:PATH have");
    PORTCULLIS_TRY_ASSIGN(
        const auto port,
        service::ServedPort::open(options_->device, {.address = options_->peer.address,
                                                     .log = session_options_.log,
                                                     .on_command = session_options_.on_command}));
    if (session_options_.log) session_options_.log("peer: " + port->neighbour_advice());
    const auto idle = [this, &port](std::uint64_t most_ns) {
      return port->idle(most_ns).has_value() && check_time().has_value();
    };
    auto channel = service::exchange::connect_tcp(options_->peer.server, kPeerConnectMs, idle,
                                                  "lease-verify --sweep");
    if (!channel) return leave(without_peer_name(channel.error().text));
    PeerOptions asked{.plans = lease::names_of_plans(options_->device.is_kept()),
                      .revokes = std::min(options_->revokes, kMostPeerRevokes),
                      .check_time = [this] { return check_time(); },
                      .log = session_options_.log};
    for (const unsigned timeout : kTimeouts)
      for (const unsigned retry : kRetries) asked.points.emplace_back(timeout, retry);
    auto done = ask_peer(*port, **channel, asked, facts_.peer);
    if (!done) done.error().text = without_peer_words(done.error());
    return done;
  }

  Result<void> come_up_again() {
    facts_.end.is_run = true;
    auto session = open();
    facts_.end.comes_up_again = session.has_value();
    facts_.end.health = session ? "good" : session.error().text;
    if (!session) return forward_error(std::move(session));
    facts_.end.registers = health_registers((*session)->device().bar);
    auto condition = (*session)->driver().poll();
    if (!condition) facts_.end.health = condition.error().text;
    return condition;
  }

 private:
  /// Until the next one, or until the step is over: the one before is reset.
  [[nodiscard]] Result<proof::Session*> open() {
    session_.reset();
    PORTCULLIS_TRY_ASSIGN(session_, proof::Session::open(options_->device, session_options_));
    // What conclusions of any step go by, also where step bring-up is left out.
    facts_.device.clock = session_->device().clock.name();
    facts_.device.is_virtual_function = is_virtual_function(*session_);
    facts_.device.is_ethernet =
        session_->context().caps.port_type == prm::number(prm::PortType::ETH);
    return session_.get();
  }

  [[nodiscard]] Result<pmd::CrashDump> read_dump() const {
    if (options_->device.is_kept())
      return fail(Errc::Unsupported,
                  "its kernel driver has the capability; devlink health dump show pci/BDF reporter "
                  "fw_fatal reads it there");
    const pmd::CrashDumpOptions how{.is_stopped = options_->is_stopped};
    if (session_) return pmd::read_crash_dump(session_->device(), how);
    PORTCULLIS_TRY_ASSIGN(auto opened, attach::OpenDevice::open(options_->device));
    return pmd::read_crash_dump(opened.device(), how);
  }

  [[nodiscard]] Result<void> check_time() const {
    if (options_->is_stopped && options_->is_stopped()) return fail(Errc::Busy, "stopped");
    if (WallClock::now() < until_) return {};
    return fail(Errc::Timeout,
                fmt::format("not done within its {} ms", options_->step_deadline_ms));
  }

  /// Nobody is named in a bundle who has not asked to be.
  [[nodiscard]] std::string without_peer_name(std::string text) const {
    const std::string& server = options_->peer.server;
    if (options_->peer.keeps_name) return text;
    const std::string host = "host \"" + server.substr(0, server.rfind(':')) + "\"";
    for (const std::string& name : {server, host})
      for (std::size_t at = 0; (at = text.find(name)) != std::string::npos;)
        text.replace(at, name.size(), "the peer");
    return text;
  }

  /// The same of an error that may have words of the peer in it: the screen alone has those.
  [[nodiscard]] std::string without_peer_words(const Error& error) const {
    const bool may_quote = error.code == Errc::Malformed || error.code == Errc::InvalidArgument ||
                           error.code == Errc::CommandFailed;
    if (options_->peer.keeps_name || !may_quote) return without_peer_name(error.text);
    if (options_->to_user) options_->to_user("peer: " + error.text);
    return "the peer said what is not accepted; its words stand on the screen alone";
  }

  Result<void> leave(std::string_view why) {
    not_run_ = why;
    return {};
  }

  /// Silence of `quiet_ms` says something only where a WRITE is answered much sooner. False: it is
  /// not, and the step is left.
  [[nodiscard]] Result<bool> answers_within(std::uint64_t quiet_ms) {
    PORTCULLIS_TRY_ASSIGN(auto* const session, open());
    PORTCULLIS_TRY_ASSIGN(const auto pair,
                          LoopbackPair::create(session->context(), session->path()));
    PORTCULLIS_TRY(pair->post(1));
    PORTCULLIS_TRY_ASSIGN(const auto status, pair->outcome(quiet_ms * kNsPerMs / 2));
    if (status == prm::WcStatus::SUCCESS) return true;
    PORTCULLIS_TRY(leave(fmt::format(
        "without any entry a WRITE over loopback met {} within {} ms, so silence of {} ms says "
        "nothing",
        status ? prm::name(*status) : "silence", quiet_ms / 2, quiet_ms)));
    return false;
  }

  /// The oldest WRITE of `pair`; `met` says what else it met.
  [[nodiscard]] static Result<bool> succeeds(LoopbackPair& pair, std::string& met) {
    PORTCULLIS_TRY_ASSIGN(const auto status, pair.outcome(kAnswerNs));
    if (status == prm::WcStatus::SUCCESS) return true;
    met = status ? std::string(prm::name(*status)) : "silence";
    return false;
  }

  [[nodiscard]] Result<EntryFact> entry_of(proof::Session& session, Shape shape) {
    EntryFact fact{.shape = std::string(steering::name(shape))};
    const pmd::Context& context = session.context();
    PORTCULLIS_TRY_ASSIGN(const auto caps,
                          steering::query_domain(context, prm::FlowTableType::RDMA_RX));
    fact.is_offered = caps.ft_support && steering::is_offered(shape, caps);
    auto group = steering::DropGroup::create(context, {.shape = shape});
    if (!group) {
      fact.refusal = group.error().text;
      return fact;
    }
    const auto met = steering::self_test(context, *group, {.loopback = session.path()});
    // Else the entry was taken, and the WRITE that asked of it told nothing.
    fact.is_installed = met || met.error().code == Errc::DeviceFailed;
    if (met) {
      fact.stops_new = met->stops_new;
      fact.stops_running = met->stops_running;
      fact.recovers = met->recovers;
    } else {
      fact.refusal = met.error().text;
    }
    PORTCULLIS_TRY(group->destroy());
    return fact;
  }

  /// One that fails costs the others nothing; the last error is the step's.
  template <class Ask>
  [[nodiscard]] Result<void> for_each_plan(const std::vector<std::string>& names, Ask&& ask) {
    Result<void> worst;
    for (const std::string& name : names) {
      PORTCULLIS_TRY(check_time());
      PORTCULLIS_TRY_ASSIGN(const auto plan, lease::parse_plan(name));
      if (auto done = ask(plan); !done)
        worst = fail(done.error().code, "plan " + name + ": " + done.error().text);
    }
    return worst;
  }

  Result<void> audit_of(const lease::Plan& plan) {
    proof::AuditOptions asked;
    asked.fences = options_->fences;
    asked.session = session_options_;
    asked.on_fence = options_->on_fence;
    PORTCULLIS_TRY_ASSIGN(const auto found, proof::audit(options_->device, plan, asked));
    constexpr std::array kVerdicts{"held", "broken", "no evidence"};
    AuditFact fact{.plan = found.plan,
                   .verdict = kVerdicts[static_cast<std::size_t>(found.verdict())],
                   .fences = found.fences,
                   .under_load = found.under_load,
                   .watched = found.watched,
                   .late_writes = found.changed,
                   .late_reads = found.read_late,
                   .foreign = found.foreign,
                   .executed = found.executed,
                   .counted = found.counted,
                   .look_median_ns = found.load.look_ns.percentile_ns(0.5),
                   .look_most_ns = found.load.look_ns.max_ns()};
    for (const auto& [outcome, count] : found.outcomes)
      if (outcome.find(", failed") != std::string::npos) fact.fell_back += count;
    facts_.audits.push_back(std::move(fact));
    return {};
  }

  const Options* options_;
  proof::SessionOptions session_options_;
  CommandTimes times_;
  std::unique_ptr<proof::Session> session_;  // of the step that is taken
  Facts facts_;
  WallClock::time_point until_;
  std::string not_run_;  // why the step in hand is left out; empty: it is not
};

struct Row {
  std::string_view name;
  Run::Step step;
};

constexpr std::array kSteps{
    Row{kBringUpStep, &Run::bring_up},
    Row{"commands", &Run::commands},
    Row{"loopback", &Run::loopback},
    Row{"reach", &Run::reach},
    Row{"key", &Run::key},
    Row{"entries", &Run::entries},
    Row{"probes", &Run::probes},
    Row{"plans", &Run::plans},
    Row{"floor", &Run::floor},
    Row{"audit", &Run::audit},
    Row{kPeerStep, &Run::peer},
    Row{"end", &Run::come_up_again},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kSteps.size()> names{};
  std::ranges::transform(kSteps, names.begin(), &Row::name);
  return names;
}();

}  // namespace

std::span<const std::string_view> step_names() noexcept { return kNames; }

Result<std::vector<std::string>> parse_steps(std::string_view text) {
  std::vector<std::string> steps;
  for (std::size_t end = 0; end != std::string_view::npos; text.remove_prefix(end + 1)) {
    end = text.find(',');
    const std::string_view word = text.substr(0, end);
    if (std::ranges::find(kNames, word) == kNames.end())
      return fail(Errc::InvalidArgument,
                  fmt::format("step \"{}\"; {} expected", word, fmt::join(kNames, ", ")));
    steps.emplace_back(word);
    if (end == std::string_view::npos) break;
  }
  return steps;
}

Facts run(const Options& options) {
  Run run(options);
  const auto is_asked = [&options](std::string_view name) {
    if (name == kPeerStep && options.peer.server.empty()) return false;
    return options.steps.empty() || std::ranges::find(options.steps, name) != options.steps.end();
  };
  for (const Row* row = kSteps.begin(); row != kSteps.end(); ++row) {
    if (!is_asked(row->name)) continue;
    if (options.on_facts) {
      Facts facts = run.so_far();
      facts.steps.push_back(
          {.name = std::string(row->name), .state = "failed", .why = "the program ended in it"});
      for (const Row* left = row + 1; left != kSteps.end(); ++left)
        if (is_asked(left->name))
          facts.steps.push_back({.name = std::string(left->name),
                                 .state = "not run",
                                 .why = "the program ended before it"});
      options.on_facts(facts);
    }
    run.take(row->name, row->step);
    const bool is_last =
        std::none_of(row + 1, kSteps.end(), [&](const Row& later) { return is_asked(later.name); });
    if (options.on_crash_dump && is_last && !run.has_dumped_last()) run.dump(row->name);
  }
  return run.so_far();
}

}  // namespace portcullis::light
