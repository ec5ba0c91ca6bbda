// SPDX-License-Identifier: BSD-3-Clause
#include "light/revoke_steps.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "proof/tenancy.hpp"

namespace portcullis::light {
namespace {

/// The floor document saw 1.4 s on every path.
constexpr std::uint64_t kPatienceNs = 4 * kNsPerSecond;

/// One lease and what its client saw.
struct Seen {
  std::optional<lease::Verdict> verdict;  // none: the revoke failed before it had one
  std::uint64_t outcome_ns = 0;           // all from the revoke
  std::optional<std::uint64_t> failure_ns;
  int status = 0;
  std::uint64_t last_change_ns = 0;  // 0: none after the revoke
  bool is_served_late = false;
};

std::uint64_t since(std::uint64_t start, std::uint64_t then) {
  return then > start ? then - start : 0;
}

Result<Seen> revoke_one(proof::Session& session, const lease::Plan& plan,
                        proof::TenancyOptions options) {
  Seen seen;
  std::uint64_t start = 0;
  std::uint64_t stood = 0;
  options.entry = plan.entry;
  options.on_outcome = [&](std::size_t, const lease::Verdict& verdict) {
    if (seen.verdict) return;  // the end of the round is another one
    seen.verdict = verdict;
    stood = session.now_ns();
  };
  if (plan.is_for_groups()) {
    options.are_together = true;
    options.mode = proof::RevokeMode::Batched;
  }
  PORTCULLIS_TRY_ASSIGN(const auto tenancy, proof::Tenancy::create(session, options));
  PORTCULLIS_TRY(tenancy->grant_all());
  PORTCULLIS_TRY(tenancy->start_traffic());
  start = session.now_ns();
  auto revoked = tenancy->revoke_all(plan);
  if (!revoked && !seen.verdict) return forward_error(std::move(revoked));
  proof::Client& client = tenancy->client(0);
  if (plan.has_grace) client.watch_region();
  const std::uint64_t outcome = session.now_ns();
  const auto& observed = client.seen();
  PORTCULLIS_TRY(
      session.run_until(start + kPatienceNs, [&observed] { return observed.failure.has_value(); }));
  seen.outcome_ns = since(start, stood);
  if (observed.failure) {
    seen.failure_ns = since(start, observed.failure_ns);
    seen.status = static_cast<int>(observed.failure->status);
  }
  seen.last_change_ns = since(start, observed.last_change_ns);
  seen.is_served_late = plan.has_grace && observed.last_change_ns > outcome;
  PORTCULLIS_TRY(tenancy->finish());
  return seen;
}

template <class Fact>
void note_late(const Revoked& one, Fact& to) {
  if (!one.is_served_late) return;
  ++to.served_late;
  to.last_change_ns = std::max(to.last_change_ns, one.last_change_ns);
  to.late_ns = std::max(to.late_ns, one.late_ns());
}

/// The one that the verdict names. Of several that fit alike the plainer one is meant: a fixed
/// total below every budget is a least total as well.
proof::FloorFit explanation_of(const proof::FloorVerdict& verdict) {
  const auto named =
      std::ranges::find(verdict.fits, verdict.mechanism, &proof::FloorFit::mechanism);
  if (named != verdict.fits.end()) return *named;
  proof::FloorFit plainest;
  for (const proof::FloorFit& fit : verdict.fits)
    if (fit.is_accepted && (plainest.mechanism.empty() || fit.mechanism == "fixed total"))
      plainest = fit;
  return plainest;
}

}  // namespace

void PlanTally::add(const Revoked& one) {
  ++fact_.revokes;
  if (one.outcome == lease::Outcome::TornDown) ++fact_.torn_down;
  if (one.outcome == best_) ++fact_.as_promised;
  if (one.is_watched) ++fact_.watched;
  note_late(one, fact_);
  outcome_.record(one.outcome_ns);
  if (!one.failure_ns) return;
  failure_.record(*one.failure_ns);
  fact_.client_uncertainty_ns = std::max(fact_.client_uncertainty_ns, one.failure_uncertainty_ns);
  ++statuses_[one.status];
}

PlanFact PlanTally::fact() const {
  PlanFact fact = fact_;
  fact.median_ns = outcome_.percentile_ns(0.5);
  fact.most_ns = outcome_.max_ns();
  fact.failed_clients = failure_.count();
  fact.client_median_ns = failure_.percentile_ns(0.5);
  const auto most =
      std::ranges::max_element(statuses_, {}, [](const auto& status) { return status.second; });
  if (most != statuses_.end()) fact.status = most->first;
  return fact;
}

void FloorTally::add(const Revoked& one, proof::FloorPoint terms) {
  if (one.outcome == lease::Outcome::TornDown) ++counted_.torn_down;
  note_late(one, counted_);
  terms.is_nak = one.failure_ns && !one.is_served_late && is_refusal(one.status);
  if (one.failure_ns && !terms.is_nak && one.status != prm::number(prm::WcStatus::RETRY_EXC_ERR)) {
    ++counted_.other_endings;
    return;
  }
  terms.failure_ns = one.failure_ns;
  terms.uncertainty_ns = one.failure_uncertainty_ns;
  terms.is_served_late = one.is_served_late;
  terms.last_change_ns = one.last_change_ns;
  terms.outcome_ns = one.outcome_ns;
  points_.push_back(terms);
}

FloorFact FloorTally::fact() const {
  FloorFact fact = counted_;
  if (points_.empty()) return fact;
  const proof::FloorVerdict verdict = proof::explain_floor(points_);
  const auto fits = std::ranges::count_if(verdict.fits, &proof::FloorFit::is_accepted);
  const auto budget = std::ranges::find(verdict.fits, "budget", &proof::FloorFit::mechanism);
  const proof::FloorFit explanation = explanation_of(verdict);
  fact.is_run = true;
  fact.points = points_.size();
  fact.mechanism = verdict.mechanism;
  fact.explanation = explanation.mechanism;
  fact.value = explanation.value;
  fact.budget_fits = budget != verdict.fits.end() && budget->is_possible;
  fact.fits = static_cast<std::uint64_t>(fits);
  fact.why = verdict.why;
  return fact;
}

Result<PlanFact> revoke_by(proof::Session& session, const lease::Plan& plan,
                           std::uint64_t revokes) {
  PlanTally tally(plan);
  for (std::uint64_t i = 0; i < revokes; ++i) {
    PORTCULLIS_TRY_ASSIGN(
        const Seen seen, revoke_one(session, plan, {.timeout = kPlanTimeout, .retry = kPlanRetry}));
    tally.add({.outcome = seen.verdict->outcome,
               .outcome_ns = seen.outcome_ns,
               .failure_ns = seen.failure_ns,
               .status = seen.status,
               .is_watched = plan.has_grace,
               .is_served_late = seen.is_served_late,
               .last_change_ns = seen.last_change_ns});
  }
  return tally.fact();
}

bool is_refusal(std::int64_t status) noexcept {
  return status == prm::number(prm::WcStatus::REM_INV_REQ_ERR) ||
         status == prm::number(prm::WcStatus::REM_ACCESS_ERR) ||
         status == prm::number(prm::WcStatus::REM_OP_ERR);
}

Result<void> ask_floor(proof::Session& session, unsigned timeout, unsigned retry, FloorTally& to) {
  PORTCULLIS_TRY_ASSIGN(const Seen seen, revoke_one(session, lease::seed_plan(),
                                                    {.timeout = static_cast<std::uint8_t>(timeout),
                                                     .retry = static_cast<std::uint8_t>(retry)}));
  to.add({.outcome = seen.verdict->outcome,
          .outcome_ns = seen.outcome_ns,
          .failure_ns = seen.failure_ns,
          .status = seen.status,
          .is_watched = true,
          .is_served_late = seen.is_served_late,
          .last_change_ns = seen.last_change_ns},
         {.timeout = timeout, .retry = retry, .deadline_ns = kPatienceNs});
  return {};
}

}  // namespace portcullis::light
