// SPDX-License-Identifier: BSD-3-Clause
#include "proof/audit.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/dma_bytes.hpp"
#include "pmd/q_counter.hpp"
#include "proof/session.hpp"
#include "proof/tenancy.hpp"

namespace portcullis::proof {
namespace {

/// What stood when the device answered for the key of one lease, and at its outcome.
struct AtOutcome {
  std::uint64_t time_ns = 0;
  std::uint64_t posted = 0;
  std::vector<std::byte> bytes;  // nothing may change from here on; empty: nothing to compare
  bool is_from_answer = false;
  bool is_load_known = false;
};

std::vector<std::byte> copy_of(std::span<const std::byte> region) {
  std::vector<std::byte> bytes(region.size());
  if (!region.empty()) dma_copy(bytes.data(), region.data(), region.size());
  return bytes;
}

class Auditor {
 public:
  Auditor(Session& session, const lease::Plan& plan, const AuditOptions& options, PlanAudit& audit)
      : session_(&session), plan_(plan), options_(&options), audit_(&audit) {}

  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;
  ~Auditor() { is_over_ = true; }

  Result<void> prepare() {
    if (auto counter = pmd::QCounter::create(session_->context()))
      counter_.emplace(std::move(*counter));
    audit_->has_counter = counter_.has_value();
    TenancyOptions tenancy;
    tenancy.leases = options_->leases;
    tenancy.timeout = static_cast<std::uint8_t>(options_->timeout);
    tenancy.retry = static_cast<std::uint8_t>(options_->retry);
    tenancy.entry = plan_.entry;
    tenancy.counter_set = counter_ ? counter_->id() : std::uint8_t{0};
    if (plan_.is_for_groups()) {
      tenancy.are_together = true;
      tenancy.mode = RevokeMode::Batched;
    }
    tenancy.write_interval_ns = options_->interval_ns;
    tenancy.on_key_step = [this](std::size_t index) { note_load(index); };
    tenancy.on_key_gone = [this](std::size_t index) { freeze(index); };
    tenancy.on_outcome = [this](std::size_t index, const lease::Verdict& verdict) {
      note(index, verdict);
    };
    PORTCULLIS_TRY_ASSIGN(tenancy_, Tenancy::create(*session_, tenancy));
    return {};
  }

  /// Grants, lets write, revokes, watches.
  Result<void> round() {
    at_.assign(options_->leases, {});
    base_.clear();
    for (std::size_t i = 0; i < options_->leases; ++i)
      base_.push_back(tenancy_->client(i).posted());
    PORTCULLIS_TRY(tenancy_->grant_all());
    PORTCULLIS_TRY(tenancy_->start_traffic());
    PORTCULLIS_TRY(tenancy_->revoke_all(plan_));
    is_over_ = true;
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t before, counted());
    PORTCULLIS_TRY(session_->run_until(session_->now_ns() + options_->watch_ms * kNsPerMs,
                                       [] { return false; }));
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t after, counted());
    audit_->counted += after - before;
    for (std::size_t i = 0; i < at_.size(); ++i) judge(i);
    is_over_ = false;
    return tenancy_->finish();
  }

 private:
  /// A plan that falls back takes a second key step; what counts is the first.
  void note_load(std::size_t index) {
    if (is_over_ || std::exchange(at_[index].is_load_known, true)) return;
    if (posted(index) > tenancy_->client(index).seen().writes) ++audit_->under_load;
  }

  /// At the answer, before the driver does anything else.
  void freeze(std::size_t index) {
    if (is_over_) return;
    AtOutcome& at = at_[index];
    at.bytes = copy_of(tenancy_->region(index));
    at.is_from_answer = true;
    if (tenancy_->client(index).has_region_changed()) ++audit_->unsettled;
  }

  /// At the very moment that the outcome stands.
  void note(std::size_t index, const lease::Verdict& verdict) {
    if (is_over_ || index >= at_.size()) return;
    AtOutcome& at = at_[index];
    at.time_ns = session_->now_ns();
    at.posted = posted(index);
    if (!at.is_from_answer) at.bytes = copy_of(tenancy_->region(index));
    note_load(index);
    audit_->note(verdict);
  }

  void judge(std::size_t index) {
    const AtOutcome& at = at_[index];
    const Client::Observation& seen = tenancy_->client(index).seen();
    const std::vector<std::byte> bytes = copy_of(tenancy_->region(index));
    const bool is_watched = !bytes.empty() && !at.bytes.empty();  // else the plan gave it back
    if (is_watched) ++audit_->watched;
    if (is_watched && at.is_from_answer) ++audit_->from_answer;
    if (is_watched && bytes != at.bytes) ++audit_->changed;
    if (seen.writes > at.posted) audit_->executed += seen.writes - at.posted;
    if (seen.last_success_ns > at.time_ns)
      audit_->last_success_ns =
          std::max(audit_->last_success_ns, seen.last_success_ns - at.time_ns);
    if (seen.failure) ++audit_->statuses[static_cast<int>(seen.failure->status)];
  }

  [[nodiscard]] std::uint64_t posted(std::size_t index) const {
    return tenancy_->client(index).posted() - base_[index];
  }
  Result<std::uint32_t> counted() const {
    return counter_ ? requests_counted(*counter_) : Result<std::uint32_t>(0U);
  }

  Session* session_;
  lease::Plan plan_;
  const AuditOptions* options_;
  PlanAudit* audit_;
  std::optional<pmd::QCounter> counter_;
  std::vector<AtOutcome> at_;
  std::vector<std::uint64_t> base_;
  bool is_over_ = false;  // the round's outcomes stand: what ends now is the round itself
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

Result<std::uint32_t> requests_counted(const pmd::QCounter& counter) {
  PORTCULLIS_TRY_ASSIGN(const auto values, counter.query());
  return values.rx_write_requests + values.rx_read_requests + values.rx_atomic_requests;
}

Result<PlanAudit> audit(const attach::DeviceSpec& device, const lease::Plan& plan,
                        const AuditOptions& options) {
  PlanAudit audit;
  audit.plan = plan.full_name();
  while (audit.fences < options.fences) {
    PORTCULLIS_TRY_ASSIGN(const auto session, Session::open(device, options.session));
    Auditor auditor(*session, plan, options, audit);
    PORTCULLIS_TRY(auditor.prepare());
    const std::uint64_t until = std::min(options.fences, audit.fences + kFencesPerSession);
    while (audit.fences < until) PORTCULLIS_TRY(auditor.round());
  }
  return audit;
}

}  // namespace portcullis::proof
