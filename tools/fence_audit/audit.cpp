// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fence_audit/audit.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/dma_bytes.hpp"
#include "bench/common/session.hpp"
#include "bench/common/tenancy.hpp"
#include "pmd/q_counter.hpp"

namespace portcullis::tools::fence_audit {
namespace {

using bench::Session;
using bench::Tenancy;

/// What stood at the outcome of one lease.
struct AtOutcome {
  std::uint64_t time_ns = 0;
  std::uint64_t posted = 0;
  std::vector<std::byte> bytes;  // empty: the plan gave the region back
};

std::vector<std::byte> copy_of(std::span<const std::byte> region) {
  std::vector<std::byte> bytes(region.size());
  if (!region.empty()) dma_copy(bytes.data(), region.data(), region.size());
  return bytes;
}

class Auditor {
 public:
  Auditor(Session& session, const lease::Plan& plan, const Options& options, PlanAudit& audit)
      : session_(&session), plan_(plan), options_(&options), audit_(&audit) {}

  Result<void> prepare() {
    if (auto counter = pmd::QCounter::create(session_->context()))
      counter_.emplace(std::move(*counter));
    audit_->has_counter = counter_.has_value();
    bench::TenancyOptions tenancy;
    tenancy.leases = options_->leases;
    tenancy.timeout = static_cast<std::uint8_t>(options_->timeout);
    tenancy.retry = static_cast<std::uint8_t>(options_->retry);
    tenancy.entry = plan_.entry;
    tenancy.counter_set = counter_ ? counter_->id() : std::uint8_t{0};
    if (plan_.is_for_groups()) {
      tenancy.are_together = true;
      tenancy.mode = bench::RevokeMode::Batched;
    }
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
  /// At the very moment that the outcome stands.
  void note(std::size_t index, const lease::Verdict& verdict) {
    if (is_over_ || index >= at_.size()) return;
    AtOutcome& at = at_[index];
    at.time_ns = session_->now_ns();
    at.posted = posted(index);
    at.bytes = copy_of(tenancy_->region(index));
    audit_->note(verdict);
    if (at.posted > tenancy_->client(index).seen().writes) ++audit_->under_load;
  }

  void judge(std::size_t index) {
    const AtOutcome& at = at_[index];
    const bench::Client::Observation& seen = tenancy_->client(index).seen();
    if (!at.bytes.empty()) ++audit_->watched;
    if (!at.bytes.empty() && copy_of(tenancy_->region(index)) != at.bytes) ++audit_->changed;
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
  const Options* options_;
  PlanAudit* audit_;
  std::optional<pmd::QCounter> counter_;
  std::unique_ptr<Tenancy> tenancy_;
  std::vector<AtOutcome> at_;
  std::vector<std::uint64_t> base_;
  bool is_over_ = false;  // the round's outcomes stand: what ends now is the round itself
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

Result<PlanAudit> audit(const DeviceSpec& device, const lease::Plan& plan, const Options& options) {
  PlanAudit audit;
  audit.plan = plan.full_name();
  while (audit.fences < options.fences) {
    PORTCULLIS_TRY_ASSIGN(const auto session, Session::open(device));
    Auditor auditor(*session, plan, options, audit);
    PORTCULLIS_TRY(auditor.prepare());
    const std::uint64_t until = std::min(options.fences, audit.fences + kFencesPerSession);
    while (audit.fences < until) PORTCULLIS_TRY(auditor.round());
  }
  return audit;
}

}  // namespace portcullis::tools::fence_audit
