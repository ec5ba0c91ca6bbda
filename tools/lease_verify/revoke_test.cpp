// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_verify/revoke_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "base/clock.hpp"
#include "prm/enums.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using service::exchange::Grant;

constexpr std::size_t kWord = sizeof(std::uint64_t);
/// Beyond the longest reading of the budget: what a busy host may add.
constexpr std::uint64_t kPatienceNs = 30 * kNsPerSecond;

double ms(std::uint64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerMs); }

Result<void> check_granted(Op op, const pmd::Access& access) {
  const bool granted = op == Op::Write  ? access.remote_write
                       : op == Op::Read ? access.remote_read
                                        : access.remote_atomic;
  if (granted) return {};
  return fail(Errc::InvalidArgument, fmt::format("{} is not granted; the lease allows {}", name(op),
                                                 service::exchange::access_text(access)));
}

class RevokeTest {
 public:
  RevokeTest(Requester& requester, const Grant& grant, const RevokeTestOptions& options)
      : requester_(&requester),
        grant_(&grant),
        options_(&options),
        budget_{grant.timeout, grant.retry} {}

  Result<RevokeObservation> run() {
    seen_.started_ns = now();
    const std::uint64_t end_ns = seen_.started_ns + options_->limit_ms * kNsPerMs;
    while (!seen_.failure) {
      const bool is_over = now() >= end_ns || (options_->stop && options_->stop());
      if (!is_over) PORTCULLIS_TRY(fill());
      if (posted_ns_.empty() || (options_->ends_at_limit && now() >= end_ns)) break;
      PORTCULLIS_TRY(take_one(end_ns));
    }
    return seen_;
  }

 private:
  [[nodiscard]] std::uint64_t now() const { return requester_->clock().now_ns(); }

  /// Whether a client that cooperates has just learned, or knew, that it may post no more.
  bool is_closed() {
    if (seen_.closed_ns == 0 && options_->may_post && !options_->may_post())
      seen_.closed_ns = now();
    return seen_.closed_ns != 0;
  }

  Result<void> fill() {
    while (posted_ns_.size() < options_->depth) {
      const std::uint64_t asked_ns = now();
      if (is_closed()) return {};
      PORTCULLIS_TRY(post(asked_ns));
    }
    return {};
  }

  Result<void> post(std::uint64_t asked_ns) {
    // Slots of a word: what is under way is not overwritten by what comes next.
    const std::size_t offset = (number_ % options_->depth) * kWord;
    ++number_;
    if (options_->op == Op::Write)
      std::memcpy(requester_->buffer().data() + offset, &number_, kWord);
    posted_ns_.push_back(asked_ns);
    seen_.last_post_ns = asked_ns;
    return requester_->post({.op = options_->op,
                             .remote_address = word_address(),
                             .local_offset = offset,
                             .bytes = kWord,
                             .compare_add = 1});
  }

  [[nodiscard]] std::uint64_t word_address() const { return (grant_->address + 7) / 8 * 8; }
  [[nodiscard]] Unanswered unanswered() const {
    constexpr std::uint64_t kPsnMask = (1U << 24U) - 1;
    const std::uint64_t psn =
        requester_->request().client.psn + options_->packets_before + seen_.succeeded;
    return {posted_ns_.size() + 1, word_address(), grant_->rkey, grant_->server.qpn,
            static_cast<std::uint32_t>(psn & kPsnMask)};
  }

  /// The next result. A client that cooperates looks up meanwhile, and does not wait for the budget
  /// of its QP to learn what it can ask for.
  Result<std::optional<WorkResult>> wait(std::uint64_t until_ns) {
    constexpr std::uint64_t kLookNs = 2 * kNsPerMs;
    while (options_->may_post && !is_closed()) {
      const std::uint64_t look_ns = std::min(until_ns, now() + kLookNs);
      PORTCULLIS_TRY_ASSIGN(const auto result, wait_unless(options_->stop, *requester_, look_ns));
      if (result || look_ns == until_ns) return result;
      if (options_->stop && options_->stop())
        return fail(Errc::Busy, "interrupted before an operation was answered");
    }
    return wait_unless(options_->stop, *requester_, until_ns);
  }

  Result<void> take_one(std::uint64_t end_ns) {
    const std::uint64_t patience_ns = now() + budget_.most_ns() + kPatienceNs;
    const bool ends_before = options_->ends_at_limit && end_ns < patience_ns;
    PORTCULLIS_TRY_ASSIGN(const auto result, wait(ends_before ? end_ns : patience_ns));
    if (!result && ends_before) return {};
    if (!result)
      return fail(Errc::Timeout,
                  fmt::format("the QP told neither success nor failure for {:.0f} ms; its budget "
                              "is {}{}",
                              ms(budget_.most_ns() + kPatienceNs), budget_.least_text(),
                              grant_->retry == 7 ? " (soft-RoCE takes retry 7 for ever)" : ""));
    const std::uint64_t told_ns = now();
    const std::uint64_t posted_ns = posted_ns_.front();
    posted_ns_.pop_front();
    if (result->ok()) {
      ++seen_.succeeded;
      seen_.last_success_post_ns = posted_ns;
      if (seen_.closed_ns == 0) seen_.last_success_ns = told_ns;
    } else {
      seen_.first_failure_ns = told_ns;
      seen_.failed_post_ns = posted_ns;
      seen_.failure = result;
      seen_.unanswered = unanswered();
    }
    return {};
  }

  Requester* requester_;
  const Grant* grant_;
  const RevokeTestOptions* options_;
  Budget budget_;
  RevokeObservation seen_;
  std::deque<std::uint64_t> posted_ns_;
  std::uint64_t number_ = 0;
};

}  // namespace

std::string Budget::least_text() const {
  return fmt::format("({} + 1) x 4.096 us x 2^{} = {:.3f} ms", retry, timeout, ms(least_ns()));
}

std::string Budget::most_text() const {
  return fmt::format("4 times that, as the standard lets a timer run: {:.3f} ms", ms(most_ns()));
}

std::string_view reading(prm::WcStatus status) noexcept {
  switch (status) {
    case prm::WcStatus::RETRY_EXC_ERR:
      return "the responder fell silent; this QP gave up by its own budget";
    case prm::WcStatus::REM_ACCESS_ERR:
      return "the responder refused the key: a NAK in one round trip";
    case prm::WcStatus::REM_INV_REQ_ERR:
      return "the responder refused the right: a NAK in one round trip";
    case prm::WcStatus::RNR_RETRY_EXC_ERR:
      return "the responder was not ready, longer than this QP asks again";
    case prm::WcStatus::WR_FLUSH_ERR:
      return "this QP was in error already";
    default:
      return "neither silence nor a NAK of access";
  }
}

std::optional<std::uint64_t> RevokeObservation::found_ns() const noexcept {
  if (closed_ns == 0) return failure ? std::optional(first_failure_ns) : std::nullopt;
  return failure ? std::min(first_failure_ns, closed_ns) : closed_ns;
}

std::optional<std::uint64_t> RevokeObservation::told_after_ns() const noexcept {
  const auto found = found_ns();
  // What succeeds behind the word of the end is no last success.
  if (!found || succeeded == 0 || last_success_ns == 0) return std::nullopt;
  return *found - last_success_ns;
}

bool RevokeObservation::is_met(std::uint64_t limit_ns) const noexcept {
  const auto told_ns = told_after_ns();
  return told_ns && *told_ns <= limit_ns;
}

std::string RevokeObservation::verdict() const {
  const auto told_ns = told_after_ns();
  if (!told_ns)
    return fmt::format("none: {}",
                       found_ns() ? "nothing succeeded before the failure" : "no failure was seen");
  return fmt::format("sub-second property {}, 2000 ms budget {}: {:.3f} ms from the last success",
                     is_met(kPropertyNs) ? "met" : "NOT met",
                     is_met(kRegressionBudgetNs) ? "met" : "NOT met", ms(*told_ns));
}

std::vector<std::string> RevokeObservation::lines(const Budget& budget, Op op) const {
  std::vector<std::string> text = facts(budget, op);
  text.push_back(fmt::format("{:14} {}", "verdict", verdict()));
  return text;
}

std::vector<std::string> RevokeObservation::facts(const Budget& budget, Op op) const {
  std::vector<std::string> text;
  const auto since = [&](std::uint64_t ns) { return ms(ns - started_ns); };
  text.push_back(
      fmt::format("{:14} {} of {} succeeded, 8 bytes each", "operations", succeeded, name(op)));
  text.push_back(last_success_ns == 0
                     ? fmt::format("{:14} none", "last success")
                     : fmt::format("{:14} at {:.3f} ms", "last success", since(last_success_ns)));
  if (closed_ns != 0)
    text.push_back(fmt::format("{:14} at {:.3f} ms, by its own word", "stopped", since(closed_ns)));
  if (!failure) {
    text.push_back(fmt::format("{:14} none: {}", "first failure",
                               closed_ns != 0 ? "what was under way succeeded"
                                              : "the lease was not revoked in this time"));
  } else {
    std::string line =
        fmt::format("{:14} at {:.3f} ms, {:.3f} ms after it was posted", "first failure",
                    since(first_failure_ns), ms(first_failure_ns - failed_post_ns));
    if (last_success_ns != 0)
      line +=
          fmt::format(", {:.3f} ms after the last success", ms(first_failure_ns - last_success_ns));
    text.push_back(std::move(line));
    text.push_back(fmt::format("{:14} {} {}, vendor syndrome {:#x}", "status",
                               prm::number(failure->status), prm::name(failure->status),
                               failure->vendor_syndrome));
    text.push_back(fmt::format("{:14} {}", "reading", reading(failure->status)));
  }
  text.push_back(fmt::format("{:14} {}", "least budget", budget.least_text()));
  text.push_back(fmt::format("{:14} {}", "most budget", budget.most_text()));
  return text;
}

nlohmann::ordered_json RevokeObservation::object(const Budget& budget, Op op) const {
  nlohmann::ordered_json all{{"program", "lease-verify"},
                             {"operation", name(op)},
                             {"succeeded", succeeded},
                             {"started_ns", started_ns},
                             {"last_success_ns", last_success_ns},
                             {"timeout", budget.timeout},
                             {"retry", budget.retry},
                             {"least_budget_ns", budget.least_ns()},
                             {"most_budget_ns", budget.most_ns()}};
  if (closed_ns != 0) all["closed_ns"] = closed_ns;
  if (failure) {
    all["first_failure_ns"] = first_failure_ns;
    all["failed_post_ns"] = failed_post_ns;
    all["status"] = prm::number(failure->status);
    all["status_name"] = prm::name(failure->status);
    all["vendor_syndrome"] = failure->vendor_syndrome;
  }
  if (unanswered)
    all["outstanding"] = {{"requests", unanswered->requests},
                          {"qp_num", unanswered->qp_num},
                          {"psn", unanswered->psn},
                          {"rkey", unanswered->rkey},
                          {"remote_addr", unanswered->remote_addr},
                          {"length", kWord}};
  if (const auto told_ns = told_after_ns()) {
    all["told_after_ns"] = *told_ns;
    all["sub_second_met"] = is_met(kPropertyNs);
    all["budget_met"] = is_met(kRegressionBudgetNs);
  }
  return all;
}

std::string RevokeObservation::json(const Budget& budget, Op op) const {
  return file_text(object(budget, op));
}

std::string file_text(const nlohmann::ordered_json& object) {
  constexpr int kIndent = 2;
  return object.dump(kIndent) + "\n";
}

Result<RevokeObservation> watch_revoke(Requester& requester, const Grant& grant,
                                       const RevokeTestOptions& options) {
  PORTCULLIS_TRY(check_granted(options.op, grant.access));
  if (options.depth == 0 || options.depth * kWord > requester.buffer().size())
    return fail(Errc::InvalidArgument, fmt::format("depth {}; 1 to {} is accepted", options.depth,
                                                   requester.buffer().size() / kWord));
  return RevokeTest(requester, grant, options).run();
}

}  // namespace portcullis::tools::lease_verify
