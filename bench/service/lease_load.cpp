// SPDX-License-Identifier: BSD-3-Clause
#include "bench/service/lease_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "bench/common/interrupt.hpp"
#include "service/daemon/journal.hpp"

namespace portcullis::bench {
namespace {

using wire::Op;

std::uint64_t now_ns() noexcept { return Clock::wall().now_ns(); }

/// So long that no lease ends by itself while it is measured.
constexpr std::uint64_t kTtlMs = 3'600'000;
constexpr std::size_t kAskedAtOnce = 256;
constexpr std::uint64_t kAnswerNs = 30 * kNsPerSecond;
constexpr std::uint64_t kSliceNs = 10 * kNsPerMs;

std::uint64_t late_ns(std::uint64_t due_ns) noexcept {
  const std::uint64_t now = now_ns();
  return now > due_ns ? now - due_ns : 0;
}

}  // namespace

wire::AllocRequest nowhere_request() {
  wire::AllocRequest request{.bytes = kRegionBytes, .ttl_ms = kTtlMs, .qpn = 0x11};
  request.gid = {0xfe, 0x80};
  request.gid[15] = 0x99;
  request.mac = {2, 0, 0, 0, 0, 9};
  return request;
}

void LeaseLoad::blame(const std::string& what) {
  if (fault_count_++ == 0) first_fault_ = what;
}

// ---- Asking ------------------------------------------------------------------------------------

void LeaseLoad::ask_alloc(std::uint64_t due_ns) {
  const std::size_t line = turn_++ % fleet_->size();
  const std::uint64_t request = next_request_++;
  asked_[request] = {.op = Op::LeaseAlloc, .due_ns = due_ns, .line = line};
  ++allocs;
  fleet_->ask(line, Op::LeaseAlloc, request, nowhere_request());
}

void LeaseLoad::ask_revoke(std::uint64_t due_ns) {
  if (held_.empty()) return;
  std::swap(held_[random_() % held_.size()], held_.back());
  const std::uint64_t id = held_.back();
  held_.pop_back();
  const Known& lease = leases_.at(id);
  const std::size_t line = (lease.holder + revokes % 2) % fleet_->size();
  const std::uint64_t request = next_request_++;
  asked_[request] = {.op = Op::LeaseRevoke, .due_ns = due_ns, .id = id, .line = line};
  ++revokes;
  fleet_->ask(line, Op::LeaseRevoke, request, wire::RevokeRequest{.id = id, .epoch = lease.epoch});
}

// ---- Hearing -----------------------------------------------------------------------------------

void LeaseLoad::hear(std::size_t line, const wire::Frame& frame) {
  const std::uint16_t op = frame.header.op;
  if (frame.header.request_id == 0) return hear_notice(line, frame);
  if (op == wire::answer_to(Op::LeaseList)) return hear_list(frame);
  const auto at = asked_.find(frame.header.request_id);
  if (at == asked_.end()) return blame("an answer to what nobody asked, or a second one");
  if (at->second.line != line) blame("an answer on another connection");
  if (op == wire::kRefused) return hear_refused(frame);
  if (op != wire::answer_to(at->second.op)) return blame("an answer to another request");
  at->second.op == Op::LeaseAlloc ? hear_granted(frame) : hear_revoked(frame);
}

/// A device or a disk that others keep busy is no loss: it was said, and may be asked again.
void LeaseLoad::hear_refused(const wire::Frame& frame) {
  const Asked asked = asked_.extract(frame.header.request_id).mapped();
  const auto refusal = wire::read_body<wire::Refusal>(frame);
  if (!refusal) return blame("a refusal: " + wire::text_of(refusal.error().text));
  if (asked.op != Op::LeaseAlloc || refusal->code != wire::Code::Busy)
    return blame("refused: " + wire::text_of(refusal->text));
  ++busy;
  if (counts_) alloc.record(late_ns(asked.due_ns));
}

void LeaseLoad::hear_granted(const wire::Frame& frame) {
  const Asked asked = asked_.extract(frame.header.request_id).mapped();
  const auto grant = wire::read_body<wire::AllocAnswer>(frame);
  if (!grant) return blame("a grant: " + wire::text_of(grant.error().text));
  if (counts_) alloc.record(late_ns(asked.due_ns));
  const bool is_new =
      leases_
          .emplace(grant->id,
                   Known{.epoch = grant->epoch, .holder = asked.line, .told = {}, .cause = {}})
          .second;
  if (!is_new) return blame(fmt::format("id {:x} was granted twice", grant->id));
  held_.push_back(grant->id);
}

void LeaseLoad::hear_revoked(const wire::Frame& frame) {
  const Asked asked = asked_.extract(frame.header.request_id).mapped();
  const auto answer = wire::read_body<wire::RevokeAnswer>(frame);
  if (!answer) return blame("an outcome: " + wire::text_of(answer.error().text));
  revoke.record(late_ns(asked.due_ns));
  server_us = std::max(server_us, answer->revoke_us);
  Known& lease = leases_.at(asked.id);
  lease.told = answer->outcome;
  lease.cause = answer->cause;
  fenced += answer->outcome == wire::Outcome::Fenced ? 1 : 0;
  if (answer->id != asked.id || answer->epoch != lease.epoch) blame("an outcome of another lease");
  if (answer->outcome == wire::Outcome::NotFound)
    blame(fmt::format("lease {:x} was granted and is NotFound", asked.id));
}

void LeaseLoad::hear_notice(std::size_t line, const wire::Frame& frame) {
  const auto notice = wire::read_body<wire::EndedNotice>(frame);
  if (!notice) return blame("a notice: " + wire::text_of(notice.error().text));
  const auto lease = leases_.find(notice->id);
  if (lease == leases_.end()) return blame("a notice of a lease that nobody was granted");
  if (lease->second.holder != line) blame("a notice to who holds another lease");
  if (std::exchange(lease->second.was_noticed, true)) blame("a lease that ended twice");
}

void LeaseLoad::hear_list(const wire::Frame& frame) {
  const auto list = wire::read_list(frame);
  asked_.erase(frame.header.request_id);
  if (!list) return blame("a list: " + wire::text_of(list.error().text));
  for (const wire::LeaseRow& row : list->rows) listed_[row.id] = row;
  list_cursor_ = list->next_cursor;
}

// ---- Phases ------------------------------------------------------------------------------------

Result<void> LeaseLoad::serve(std::uint64_t until_ns) {
  PORTCULLIS_TRY(check_not_interrupted());
  return fleet_->serve(until_ns,
                       [this](std::size_t line, const wire::Frame& frame) { hear(line, frame); });
}

Result<void> LeaseLoad::wait_for_answers(std::uint64_t until_ns) {
  while (!asked_.empty() && now_ns() < until_ns)
    PORTCULLIS_TRY(serve(std::min(until_ns, now_ns() + kSliceNs)));
  return {};
}

/// They come by other connections than the revoker's answer, so nothing says which is heard first.
Result<void> LeaseLoad::wait_for_notices(std::uint64_t until_ns) {
  while (unnoticed() > 0 && now_ns() < until_ns)
    PORTCULLIS_TRY(serve(std::min(until_ns, now_ns() + kSliceNs)));
  return {};
}

Result<void> LeaseLoad::fill(std::size_t leases, std::uint64_t most_ns) {
  const std::uint64_t until_ns = now_ns() + most_ns;
  while (held_.size() < leases) {
    if (fault_count_ > 0) return fail(Errc::OutOfResources, missing());
    if (now_ns() >= until_ns)
      return fail(Errc::Timeout, fmt::format("{} of {} leases in time", held_.size(), leases));
    while (asked_.size() < kAskedAtOnce && held_.size() + asked_.size() < leases)
      ask_alloc(now_ns());
    PORTCULLIS_TRY(serve(now_ns() + kSliceNs));
  }
  return {};
}

/// An alloc and half a period later a revoke.
Result<void> LeaseLoad::run(std::uint32_t rate, std::uint64_t for_ns) {
  counts_ = true;
  const std::uint64_t half_ns = kNsPerSecond / (2 * std::uint64_t{rate});
  const std::uint64_t start_ns = now_ns();
  const std::uint64_t steps = for_ns / half_ns;
  for (std::uint64_t step = 0; step < steps;) {
    const std::uint64_t due_ns = start_ns + step * half_ns;
    if (due_ns > now_ns()) {
      PORTCULLIS_TRY(serve(due_ns));
      continue;
    }
    step % 2 == 0 ? ask_alloc(due_ns) : ask_revoke(due_ns);
    // Who is late catches up, and hears what has come all the same.
    if (++step % 16 == 0) PORTCULLIS_TRY(serve(0));
  }
  PORTCULLIS_TRY(wait_for_answers(now_ns() + kAnswerNs));
  PORTCULLIS_TRY(wait_for_notices(now_ns() + kAnswerNs));
  counts_ = false;
  return {};
}

Result<std::string> LeaseLoad::differs_from_list(std::uint64_t most_ns) {
  const std::uint64_t until_ns = now_ns() + most_ns;
  do {
    const std::uint64_t request = next_request_++;
    asked_[request] = {.op = Op::LeaseList, .due_ns = now_ns()};
    fleet_->ask(0, Op::LeaseList, request,
                wire::ListRequest{.tenant = wire::kEveryTenant, .cursor = list_cursor_});
    PORTCULLIS_TRY(wait_for_answers(until_ns));
    if (!asked_.empty()) return fail(Errc::Timeout, "LEASE_LIST: no answer");
  } while (list_cursor_ != 0);
  for (const std::uint64_t id : held_) {
    const auto row = listed_.find(id);
    if (row == listed_.end()) return fmt::format("lease {:x} is held and not listed", id);
    if (row->second.epoch != leases_.at(id).epoch || row->second.state != wire::State::Active)
      return fmt::format("lease {:x} is listed as another, or as {}", id,
                         wire::name(row->second.state));
  }
  if (listed_.size() != held_.size() + fenced)
    return fmt::format("{} leases are listed; {} are held and {} Fenced", listed_.size(),
                       held_.size(), fenced);
  return std::string();
}

Result<void> LeaseLoad::hear_the_end(std::uint64_t most_ns) {
  const std::uint64_t until_ns = now_ns() + most_ns;
  fleet_->expect_the_end();
  while (!fleet_->have_all_ended()) {
    if (now_ns() >= until_ns) return fail(Errc::Timeout, "the server ends no connection");
    PORTCULLIS_TRY(serve(now_ns() + kSliceNs));
  }
  return {};
}

std::string LeaseLoad::missing() const {
  if (fault_count_ > 0) return fmt::format("{} ({} such)", first_fault_, fault_count_);
  if (granted() + busy != allocs && asked_.empty())
    return fmt::format("of {} allocs {} were granted and {} refused", allocs, granted(), busy);
  if (!asked_.empty())
    return fmt::format("{} requests were not answered within {} s", asked_.size(),
                       kAnswerNs / kNsPerSecond);
  if (const auto count = unnoticed(); count > 0)
    return fmt::format("{} holders were not told of the end within {} s", count,
                       kAnswerNs / kNsPerSecond);
  return {};
}

std::size_t LeaseLoad::unnoticed() const {
  return static_cast<std::size_t>(std::ranges::count_if(leases_, [](const auto& each) {
    return each.second.told.has_value() && !each.second.was_noticed;
  }));
}

Result<std::string> LeaseLoad::differs_from_journal(const std::string& path) {
  PORTCULLIS_TRY_ASSIGN(auto journal, service::daemon::Journal::open(path));
  wire::HistoryRequest wanted{.tenant = wire::kEveryTenant};
  std::map<std::uint64_t, wire::HistoryRow> ended;
  for (bool has_more = true; has_more;) {
    PORTCULLIS_TRY_ASSIGN(const auto history, journal.look_up(wanted, 0, 0));
    for (const wire::HistoryRow& row : history.rows)
      if (!ended.emplace(row.id, row).second)
        return fmt::format("lease {:x} is in the journal twice", row.id);
    has_more = history.has_more && !history.rows.empty();
    if (!has_more) break;
    const wire::HistoryRow& last = history.rows.back();
    wanted.before_unix_ms = last.ended_unix_ms;
    wanted.before_id = last.id;
    wanted.before_epoch = last.epoch;
  }
  for (const auto& [id, lease] : leases_) {
    const auto row = ended.find(id);
    if (row == ended.end() || row->second.epoch != lease.epoch)
      return fmt::format("lease {:x} has no outcome in the journal", id);
    const bool is_as_told =
        lease.told ? row->second.outcome == *lease.told && row->second.cause == *lease.cause
                   : row->second.cause == wire::Cause::Server;
    fenced_at_end += row->second.outcome == wire::Outcome::Fenced ? 1 : 0;
    if (!is_as_told) return fmt::format("lease {:x} ended otherwise than was told", id);
  }
  if (ended.size() != leases_.size())
    return fmt::format("the journal has {} leases, {} were granted", ended.size(), leases_.size());
  return std::string();
}

}  // namespace portcullis::bench
