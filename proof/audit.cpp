// SPDX-License-Identifier: BSD-3-Clause
#include "proof/audit.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "pmd/q_counter.hpp"
#include "proof/session.hpp"
#include "proof/stream_look.hpp"
#include "proof/tenancy.hpp"

namespace portcullis::proof {
namespace {

class Auditor {
 public:
  Auditor(Session& session, const lease::Plan& plan, const AuditOptions& options, PlanAudit& audit)
      : session_(&session),
        plan_(plan),
        options_(&options),
        audit_(&audit),
        judged_(audit.fences) {}

  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;
  ~Auditor() {
    is_over_ = true;
    session_->set_background({});
  }

  Result<void> prepare() {
    if (auto counter = pmd::QCounter::create(session_->context()))
      counter_.emplace(std::move(*counter));
    audit_->has_counter = counter_.has_value();
    audit_->load_lcore = session_->load_lcore();
    TenancyOptions tenancy;
    tenancy.leases = options_->leases;
    tenancy.timeout = static_cast<std::uint8_t>(options_->timeout);
    tenancy.retry = static_cast<std::uint8_t>(options_->retry);
    tenancy.warm_up_deadline_s = options_->warm_up_deadline_s;
    tenancy.entry = plan_.entry;
    tenancy.counter_set = counter_ ? counter_->id() : std::uint8_t{0};
    if (plan_.is_for_groups()) {
      tenancy.are_together = true;
      tenancy.mode = RevokeMode::Batched;
    }
    tenancy.has_streams = true;
    tenancy.on_key_step = [this](std::size_t index) { note_command(index); };
    tenancy.on_key_gone = [this](std::size_t index) { note_answer(index); };
    tenancy.on_outcome = [this](std::size_t index, const lease::Verdict& verdict) {
      note_outcome(index, verdict);
    };
    PORTCULLIS_TRY_ASSIGN(tenancy_, Tenancy::create(*session_, tenancy));
    return {};
  }

  /// Grants, lets write and read, revokes, watches.
  Result<void> round() {
    PORTCULLIS_TRY(tenancy_->grant_all());
    PORTCULLIS_TRY(tenancy_->start_traffic());
    may_stop_ = false;
    auto seen = fence_and_watch();
    may_stop_ = true;
    return seen;
  }
  /// What ends a wait before the first revoke of a round.
  [[nodiscard]] Result<void> check_not_stopped() const {
    if (!may_stop_ || !options_->stop || !options_->stop()) return {};
    return fail(Errc::Busy, "stopped");
  }

 private:
  Result<void> fence_and_watch() {
    watch_all();
    PORTCULLIS_TRY(tenancy_->revoke_all(plan_));
    is_over_ = true;
    session_->set_background({});
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t before, counted());
    PORTCULLIS_TRY(session_->run_until(session_->now_ns() + options_->watch_ms * kNsPerMs,
                                       [] { return false; }));
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t after, counted());
    audit_->counted += after - before;
    session_->clear_clients();
    for (std::size_t i = 0; i < watches_.size(); ++i) judge(i);
    return tenancy_->finish();
  }

  /// One fence, from the traffic before it on.
  struct Watch {
    StreamLook look;
    bool has_command = false;     // the key's; without one the revoke's begin stands for it
    bool is_from_answer = false;  // for the key; without one the outcome stands for it
    std::uint64_t look_ns = 0;
    std::uint64_t outcome_ns = 0;  // when it stood
  };

  void watch_all() {
    watches_.clear();
    for (std::size_t i = 0; i < options_->leases; ++i) {
      watches_.push_back({StreamLook(*tenancy_->client(i).stream(), tenancy_->region(i))});
      watches_.back().look.at_command();
    }
    is_over_ = false;
    session_->set_background([this]() -> Result<void> {
      for (Watch& watch : watches_)
        if (!watch.look.is_answered()) watch.look.follow();
      return {};
    });
  }

  /// A plan that falls back takes a second key step; what counts is the first.
  void note_command(std::size_t index) {
    if (is_over_ || std::exchange(watches_[index].has_command, true)) return;
    watches_[index].look.at_command();
  }

  /// At the answer for the key, before the driver does anything else.
  void note_answer(std::size_t index) {
    if (is_over_ || watches_[index].look.is_answered()) return;
    watches_[index].is_from_answer = true;
    look(watches_[index]);
  }

  /// Writes and reads are first by turns, as what is later of the two is looked at later.
  void look(Watch& watch) {
    using First = StreamLook::First;
    watch.look.at_answer((++looks_ & 1) != 0 ? First::Writes : First::Reads);
    // A stepped model stands still from the step that answers on.
    if (!session_->device().clock.is_virtual())
      watch.look_ns = session_->now_ns() - session_->last_look_ns();
  }

  /// At the very moment that the outcome stands. A plan that took no key has its look now, unless
  /// the memory has gone back.
  void note_outcome(std::size_t index, const lease::Verdict& verdict) {
    if (is_over_ || index >= watches_.size()) return;
    Watch& watch = watches_[index];
    if (!watch.look.is_answered() && !tenancy_->region(index).empty()) look(watch);
    watch.outcome_ns = session_->now_ns();
    audit_->note(verdict);
  }

  void judge(std::size_t index) {
    const Watch& watch = watches_[index];
    const StreamLook& look = watch.look;
    const Client& client = tenancy_->client(index);
    const Client::Observation& seen = client.seen();
    FenceRecord record{.number = ++judged_,
                       .in_flight_at_command = look.in_flight_at_command(),
                       .landed_by_answer = look.is_answered() ? look.landed_by_answer() : 0,
                       .in_flight_at_answer = look.in_flight_at_answer(),
                       .reads_at_command = look.reads_at_command(),
                       .reads_at_answer = look.reads_at_answer(),
                       .look_ns = watch.look_ns};
    record.reads_served = look.reads_served();
    if (look.is_answered()) {
      record.late_reads = client.stream()->bytes_read(Stream::kAfter);
      record.has_executed_later = look.has_later_success();
      record.is_watched = !tenancy_->region(index).empty();  // else the plan gave it back
    }
    if (record.is_watched) {
      const StreamLook::Found found = look.judge();
      record.late_writes = found.late;
      record.foreign_words = found.foreign;
      record.has_executed_later |= found.posted_after != 0;
    }
    if (record.is_watched && watch.is_from_answer) ++audit_->from_answer;
    if (seen.last_success_ns > watch.outcome_ns)
      audit_->last_success_ns =
          std::max(audit_->last_success_ns, seen.last_success_ns - watch.outcome_ns);
    if (seen.failure) ++audit_->statuses[static_cast<int>(seen.failure->status)];
    audit_->note(record);
    if (options_->on_fence) options_->on_fence(audit_->plan, record);
  }

  Result<std::uint32_t> counted() const {
    return counter_ ? requests_counted(*counter_) : Result<std::uint32_t>(0U);
  }

  Session* session_;
  lease::Plan plan_;
  const AuditOptions* options_;
  PlanAudit* audit_;
  std::optional<pmd::QCounter> counter_;
  std::vector<Watch> watches_;
  std::uint64_t looks_ = 0;
  std::uint64_t judged_;
  bool may_stop_ = true;
  bool is_over_ = true;  // the round's outcomes stand: what ends now is the round itself
  // Goes first: its end may fence what a round that failed has left, and tells of it here.
  std::unique_ptr<Tenancy> tenancy_;
};

}  // namespace

void PlanAudit::note(const lease::Verdict& verdict) {
  ++fences;
  std::string outcome(lease::name(verdict.outcome));
  if (verdict.failed_mask != 0) outcome += ", failed " + lease::names(verdict.failed_mask);
  ++outcomes[outcome + ", memory " + std::string(lease::name(verdict.proof))];
}

void PlanAudit::note(const FenceRecord& record) {
  if (record.is_under_load()) ++under_load;
  if (record.is_watched) ++watched;
  if (record.late_writes != 0) ++changed;
  if (record.late_reads != 0) ++read_late;
  if (record.has_executed_later) ++executed;
  if (record.foreign_words != 0) ++foreign;
  load.in_flight_at_command.record(record.in_flight_at_command);
  load.landed_by_answer.record(record.landed_by_answer);
  load.in_flight_at_answer.record(record.in_flight_at_answer);
  load.reads_at_command.record(record.reads_at_command);
  load.reads_served.record(record.reads_served);
  load.reads_at_answer.record(record.reads_at_answer);
  load.look_ns.record(record.look_ns);
}

AuditVerdict PlanAudit::verdict() const noexcept {
  if (!holds()) return AuditVerdict::Broken;
  return fences != 0 && share_under_load() >= kLeastShareUnderLoad ? AuditVerdict::Held
                                                                   : AuditVerdict::NoEvidence;
}

Result<std::uint32_t> requests_counted(const pmd::QCounter& counter) {
  PORTCULLIS_TRY_ASSIGN(const auto values, counter.query());
  return values.rx_write_requests + values.rx_read_requests + values.rx_atomic_requests;
}

Result<PlanAudit> audit(const attach::DeviceSpec& device, const lease::Plan& plan,
                        const AuditOptions& options) {
  PlanAudit audit;
  audit.plan = plan.full_name();
  SessionOptions session_options = options.session;
  session_options.wants_load_core = true;
  const auto is_stopped = [&options] { return options.stop && options.stop(); };
  Auditor* at_work = nullptr;
  if (options.stop)
    session_options.check_not_stopped = [&at_work] {
      return at_work != nullptr ? at_work->check_not_stopped() : Result<void>();
    };
  while (audit.fences < options.fences && !is_stopped()) {
    PORTCULLIS_TRY_ASSIGN(const auto session, Session::open(device, session_options));
    Auditor auditor(*session, plan, options, audit);
    PORTCULLIS_TRY(auditor.prepare());
    at_work = &auditor;
    const std::uint64_t until = std::min(options.fences, audit.fences + kFencesPerSession);
    Result<void> done;
    while (done && audit.fences < until && !is_stopped()) done = auditor.round();
    at_work = nullptr;
    const bool was_stopped = !done && done.error().code == Errc::Busy && is_stopped();
    if (!done && !was_stopped) return tl::unexpected<Error>(done.error());
  }
  return audit;
}

}  // namespace portcullis::proof
