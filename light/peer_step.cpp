// SPDX-License-Identifier: BSD-3-Clause
#include "light/peer_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "lease/fence_plan.hpp"
#include "light/clock_offset.hpp"
#include "light/revoke_steps.hpp"
#include "proof/floor_fit.hpp"
#include "service/client_desk.hpp"
#include "service/exchange/exchange.hpp"
#include "service/exchange/sweep.hpp"
#include "service/region_watch.hpp"
#include "service/single_lease.hpp"

namespace portcullis::light {
namespace {

namespace exchange = service::exchange;
using exchange::SweepSeen;

/// Of the peer's clock, before and behind each revoke: the quickest of them counts.
constexpr std::uint64_t kClockRounds = 16;
/// Between two looks for a line, which is how late the answer of the peer's clock may be seen.
constexpr std::uint64_t kLookNs = 20 * kNsPerUs;
/// A client that was told to go on writes within this time.
constexpr std::uint64_t kTrafficMs = 2'000;
constexpr std::uint64_t kWarmUpChanges = 3;
/// On top of the time that the peer itself waits.
constexpr std::uint64_t kWordMs = 5'000;

std::uint64_t since(std::uint64_t start, std::uint64_t then) {
  return then > start ? then - start : 0;
}

/// The region is looked at in every wait while this lives.
class Watching {
 public:
  Watching(service::ServedPort& port, std::span<const std::byte> region)
      : port_(&port), watch_(region, port.clock()) {
    port_->watch(&watch_);
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  ~Watching() { port_->watch(nullptr); }
  service::RegionWatch& region() noexcept { return watch_; }
  /// The plan gave the region back.
  void stop() noexcept { port_->watch(nullptr); }

 private:
  service::ServedPort* port_;
  service::RegionWatch watch_;
};

class Asking {
 public:
  Asking(service::ServedPort& port, exchange::LineChannel& channel, const PeerOptions& options,
         PeerFact& to)
      : port_(&port),
        channel_(&channel),
        options_(&options),
        to_(&to),
        desk_(port, channel, [this](std::string_view, const std::string& text) { log(text); }) {}

  Result<void> run() {
    PORTCULLIS_TRY(channel_->send_line(exchange::sweep_hello()));
    PORTCULLIS_TRY_ASSIGN(const std::string line, hear(options_->answer_ms));
    PORTCULLIS_TRY_ASSIGN(const auto peer, exchange::parse_sweep_peer(line));
    to_->is_run = true;
    to_->vendor = peer.vendor;
    to_->part = peer.part;
    to_->firmware = peer.firmware;
    for (const std::string& name : options_->plans) to_->plans.push_back({.plan = name});
    for (PlanFact& plan : to_->plans) PORTCULLIS_TRY(revoke_by(plan));
    PORTCULLIS_TRY(sweep());
    PORTCULLIS_TRY(channel_->send_line(exchange::sweep_end()));
    if (trouble_.empty()) return {};
    return fail(Errc::DeviceFailed, "left out: " + trouble_);
  }

 private:
  [[nodiscard]] std::uint64_t now() const { return port_->clock().now_ns(); }
  void log(const std::string& text) const {
    if (options_->log) options_->log(text);
  }
  /// What was left out, and goes on: the step has failed then. The first is told.
  void leave(const std::string& what) {
    log(what);
    if (trouble_.empty()) trouble_ = what;
  }

  /// The next line. A peer that hangs up, or says nothing for so long, is an error.
  Result<std::string> hear(std::uint64_t limit_ms) {
    const std::uint64_t until_ns = now() + limit_ms * kNsPerMs;
    while (true) {
      PORTCULLIS_TRY_ASSIGN(auto line, channel_->poll_further());
      if (line) return *std::move(line);
      if (options_->check_time) PORTCULLIS_TRY(options_->check_time());
      if (now() >= until_ns)
        return fail(Errc::Timeout, fmt::format("the peer sent no whole line for {} ms", limit_ms));
      PORTCULLIS_TRY(port_->idle(kLookNs));
    }
  }

  // ---- The two clocks --------------------------------------------------------------------------

  Result<ClockOffset> look_at_clock() {
    ClockOffset offset;
    for (std::uint64_t i = 0; i < kClockRounds; ++i) {
      const std::uint64_t number = ++clock_questions_;
      const std::uint64_t sent_ns = now();
      PORTCULLIS_TRY(channel_->send_line(exchange::sweep_clock(number)));
      PORTCULLIS_TRY_ASSIGN(const std::string line, hear(options_->answer_ms));
      const std::uint64_t received_ns = now();
      PORTCULLIS_TRY_ASSIGN(const auto clock, exchange::parse_sweep_clock(line));
      PORTCULLIS_TRY(check_number(clock.number, number));
      offset.add(sent_ns, clock.received_ns, clock.sent_ns, received_ns);
      const std::uint64_t way_ns = since(clock.sent_ns - clock.received_ns, received_ns - sent_ns);
      quickest_ns_ = std::min(quickest_ns_, way_ns);
    }
    to_->round_trip_ns = quickest_ns_;
    if (offset.is_possible()) return offset;
    return fail(Errc::Malformed, "the peer's answers are of no one clock; it was set meanwhile?");
  }

  static Result<void> check_number(std::uint64_t is, std::uint64_t wanted) {
    if (is == wanted) return {};
    return fail(Errc::Malformed,
                fmt::format("the peer answers number {}; {} was asked", is, wanted));
  }

  // ---- One lease -------------------------------------------------------------------------------

  /// What both ends saw of its end. None: it was not granted, or its first WRITE did not arrive.
  Result<std::optional<Revoked>> revoke_one(service::SingleLease& lease, const lease::Plan& plan,
                                            const service::LeaseTerms& terms) {
    const std::uint64_t number = ++asked_;
    PORTCULLIS_TRY(channel_->send_line(exchange::sweep_point(number)));
    PORTCULLIS_TRY_ASSIGN(const std::string line, hear(options_->answer_ms));
    PORTCULLIS_TRY(exchange::check_not_failed(line));
    PORTCULLIS_TRY_ASSIGN(const auto request, exchange::parse_request(line));
    PORTCULLIS_TRY(desk_.check_address(request));
    const auto granted = lease.grant(request);
    if (!granted) {
      leave(fmt::format("plan {}: {}", plan.full_name(), granted.error().text));
      PORTCULLIS_TRY(channel_->send_line(exchange::refusal(granted.error().text)));
      return std::nullopt;
    }
    Watching watching(*port_, lease.manager().memory(granted->lease));
    PORTCULLIS_TRY_ASSIGN(const bool is_told, desk_.tell(*granted, terms));
    if (!is_told) return fail(Errc::System, "the peer hung up");
    PORTCULLIS_TRY_ASSIGN(const bool is_reached, has_reached(number));
    if (!is_reached) {
      leave(fmt::format("plan {}: the first WRITE to a lease did not arrive", plan.full_name()));
      return std::nullopt;
    }
    PORTCULLIS_TRY_ASSIGN(const Revoked seen, revoke_under_load(lease, plan, number, watching));
    auto down = lease.manager().tear_down();
    if (!down && plan.best_outcome() == lease::Outcome::TornDown)
      return forward_error(std::move(down));
    return seen;
  }

  Result<bool> has_reached(std::uint64_t number) {
    PORTCULLIS_TRY_ASSIGN(const std::string line, hear(options_->answer_ms));
    PORTCULLIS_TRY_ASSIGN(const auto ready, exchange::parse_sweep_ready(line));
    PORTCULLIS_TRY(check_number(ready.number, number));
    ++to_->leases;
    if (ready.status == 0) ++to_->reached;
    if (ready.status != 0 && to_->unreached_status == 0) to_->unreached_status = ready.status;
    return ready.status == 0;
  }

  Result<Revoked> revoke_under_load(service::SingleLease& lease, const lease::Plan& plan,
                                    std::uint64_t number, Watching& watching) {
    PORTCULLIS_TRY_ASSIGN(const ClockOffset before, look_at_clock());
    const std::uint64_t limit_ms = options_->patience_ms + kTrafficMs;
    const std::uint64_t went_ns = now();
    PORTCULLIS_TRY(
        channel_->send_line(to_line(exchange::SweepGo{.number = number, .limit_ms = limit_ms})));
    PORTCULLIS_TRY(wait_for_traffic(watching.region()));
    const lease::Grant& granted = lease.granted();
    const std::uint64_t revoke_ns = now();
    const auto answer = lease.manager().revoke(granted.lease.id, granted.lease.epoch, plan);
    const std::uint64_t outcome_ns = now();
    const bool is_watched = !lease.manager().memory(granted.lease).empty();
    if (is_watched)
      watching.region().freeze();
    else
      watching.stop();
    PORTCULLIS_TRY_ASSIGN(const std::string line, hear(limit_ms + kWordMs));
    PORTCULLIS_TRY_ASSIGN(const SweepSeen told, exchange::parse_sweep_seen(line));
    PORTCULLIS_TRY(check_number(told.number, number));
    PORTCULLIS_TRY_ASSIGN(const ClockOffset behind, look_at_clock());
    const ClockOffset offset = ClockOffset::between(before, behind);
    PORTCULLIS_TRY(check_times(told, offset, went_ns));
    PORTCULLIS_TRY(check_limit(told, limit_ms, went_ns));
    const bool is_served_late = is_watched && watching.region().first_difference().has_value();
    note(told, offset, answer.outcome, outcome_ns, is_served_late || !is_watched);
    Revoked seen{.outcome = answer.outcome,
                 .outcome_ns = outcome_ns - revoke_ns,
                 .failure_ns = {},
                 .status = told.status,
                 .is_watched = is_watched,
                 .is_served_late = is_served_late,
                 .last_change_ns = since(revoke_ns, watching.region().last_change_ns())};
    PORTCULLIS_TRY(take_failure(told, offset, revoke_ns, seen));
    return seen;
  }

  /// The client writes, and goes on to: a word of it now is none that was waited for.
  Result<void> wait_for_traffic(const service::RegionWatch& region) {
    const std::uint64_t until_ns = now() + kTrafficMs * kNsPerMs;
    while (true) {
      PORTCULLIS_TRY_ASSIGN(const auto line, channel_->poll_further());
      if (line) {
        PORTCULLIS_TRY_ASSIGN(const SweepSeen seen, exchange::parse_sweep_seen(*line));
        return failed_before(seen.status);
      }
      if (region.changes() >= kWarmUpChanges) return {};
      if (options_->check_time) PORTCULLIS_TRY(options_->check_time());
      if (now() >= until_ns)
        return fail(Errc::Timeout,
                    fmt::format("the peer's WRITEs did not go on within {} ms", kTrafficMs));
      PORTCULLIS_TRY(port_->idle(kLookNs));
    }
  }

  /// Between which times by our clock the client failed. A fence makes nobody fail before it, so
  /// what lies before the revoke is not left open.
  static Result<void> take_failure(const SweepSeen& told, const ClockOffset& offset,
                                   std::uint64_t revoke_ns, Revoked& to) {
    if (told.first_failure_ns == 0) return {};
    const auto failed = static_cast<std::int64_t>(told.first_failure_ns);
    const auto began = static_cast<std::int64_t>(revoke_ns);
    const std::int64_t latest_ns = failed - offset.least_ns - began;
    if (latest_ns < 0) return failed_before(told.status);
    const std::int64_t earliest_ns = std::max<std::int64_t>(0, failed - offset.most_ns - began);
    to.failure_ns = static_cast<std::uint64_t>(earliest_ns + (latest_ns - earliest_ns) / 2);
    to.failure_uncertainty_ns = static_cast<std::uint64_t>(latest_ns - earliest_ns + 1) / 2;
    return {};
  }

  static tl::unexpected<Error> failed_before(int status) {
    return fail(Errc::DeviceFailed,
                fmt::format("the peer's client met status {} before any revoke", status));
  }

  /// What the peer says of the time between two looks at its clock was between them.
  Result<void> check_times(const SweepSeen& told, const ClockOffset& offset,
                           std::uint64_t went_ns) const {
    const std::uint64_t now_ns = now();
    for (const std::uint64_t time_ns : {told.last_success_ns, told.first_failure_ns}) {
      if (time_ns == 0) continue;
      const auto least = static_cast<std::int64_t>(time_ns) - offset.most_ns;
      const auto most = static_cast<std::int64_t>(time_ns) - offset.least_ns;
      if (most < static_cast<std::int64_t>(went_ns) || least > static_cast<std::int64_t>(now_ns))
        return fail(Errc::Malformed,
                    "the peer tells a time that its own clock did not have meanwhile");
    }
    return {};
  }

  /// A client that met no failure went on until the limit; clocks differ by less than a part in 50.
  Result<void> check_limit(const SweepSeen& told, std::uint64_t limit_ms,
                           std::uint64_t went_ns) const {
    constexpr std::uint64_t kParts = 50;
    const std::uint64_t least_ns = limit_ms * kNsPerMs / kParts * (kParts - 1);
    if (told.first_failure_ns != 0 || since(went_ns, now()) >= least_ns) return {};
    return fail(
        Errc::Malformed,
        fmt::format("the peer tells of no failure within {} ms, which are not over", limit_ms));
  }

  /// Whether a WRITE that was posted behind the outcome succeeded, as far as the clocks tell. What
  /// a peer claims of it our own memory must bear out, where it can be seen: `may_be_so`. A client
  /// that had no success at all is no evidence.
  void note(const SweepSeen& told, const ClockOffset& offset, lease::Outcome outcome,
            std::uint64_t outcome_ns, bool may_be_so) {
    to_->clock_uncertainty_ns = std::max(to_->clock_uncertainty_ns, offset.uncertainty_ns());
    if (outcome != lease::Outcome::TornDown || told.last_success_ns == 0) return;
    ++to_->ended;
    const auto posted = static_cast<std::int64_t>(told.last_success_post_ns);
    const auto stood = static_cast<std::int64_t>(outcome_ns);
    if (posted - offset.most_ns > stood && may_be_so)
      ++to_->posted_late;
    else if (posted - offset.least_ns > stood)
      ++to_->perhaps_late;
  }

  // ---- Plans and points ------------------------------------------------------------------------

  /// None where the function has not what the plan needs.
  std::unique_ptr<service::SingleLease> lease_by(const lease::Plan& plan,
                                                 const service::LeaseTerms& terms) {
    auto lease =
        service::SingleLease::create(*port_, {.plan = plan, .terms = terms}, options_->log);
    if (lease) return *std::move(lease);
    leave(fmt::format("plan {}: {}", plan.full_name(), lease.error().text));
    return nullptr;
  }

  Result<void> revoke_by(PlanFact& to) {
    PORTCULLIS_TRY_ASSIGN(const auto plan, lease::parse_plan(to.plan));
    const service::LeaseTerms terms{.timeout = kPlanTimeout, .retry = kPlanRetry};
    PlanTally tally(plan);
    for (std::uint64_t i = 0; i < options_->revokes; ++i) {
      const auto lease = lease_by(plan, terms);
      if (lease == nullptr) break;
      PORTCULLIS_TRY_ASSIGN(const auto seen, revoke_one(*lease, plan, terms));
      if (!seen) break;
      tally.add(*seen);
    }
    to = tally.fact();
    return {};
  }

  Result<void> sweep() {
    FloorTally tally;
    for (const auto& [timeout, retry] : options_->points) {
      const service::LeaseTerms terms{.timeout = timeout, .retry = retry};
      const auto lease = lease_by(lease::seed_plan(), terms);
      if (lease == nullptr) return {};
      PORTCULLIS_TRY_ASSIGN(const auto seen, revoke_one(*lease, lease::seed_plan(), terms));
      if (!seen) return {};
      tally.add(
          *seen,
          {.timeout = timeout, .retry = retry, .deadline_ns = options_->patience_ms * kNsPerMs});
    }
    to_->floor = tally.fact();
    return {};
  }

  service::ServedPort* port_;
  exchange::LineChannel* channel_;
  const PeerOptions* options_;
  PeerFact* to_;
  service::ClientDesk desk_;
  std::string trouble_;
  std::uint64_t asked_ = 0;
  std::uint64_t clock_questions_ = 0;
  std::uint64_t quickest_ns_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace

Result<void> ask_peer(service::ServedPort& port, exchange::LineChannel& channel,
                      const PeerOptions& options, PeerFact& to) {
  return Asking(port, channel, options, to).run();
}

}  // namespace portcullis::light
