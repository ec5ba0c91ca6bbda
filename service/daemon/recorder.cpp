// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/recorder.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>

#include <string>
#include <utility>

#include "base/clock.hpp"

namespace portcullis::service::daemon {
namespace {

/// Where cores are few a revoke goes before what is written to a disk: of a core that others want
/// too the journal's thread gets a third of what each of them gets (sched(7): 1.25 for each step).
constexpr int kNice = 5;
constexpr int kTryAgainMs = 1'000;
constexpr int kLookAgainMs = 60'000;
constexpr std::size_t kMostTogether = 4'096;
constexpr int kRoundsBetween = 64;  // of writing, between two of forgetting
constexpr std::size_t kForgetAtOnce = 2'048;

}  // namespace

Recorder::Recorder(std::optional<Journal> journal, Options options)
    : journal_(std::move(journal)), options_(std::move(options)), thread_([this] { run(); }) {}

Recorder::~Recorder() {
  stop_ = true;
  inbox_.wake();
  thread_.join();
}

void Recorder::run() {
  (void)::pthread_setname_np(::pthread_self(), "journal");
  (void)::setpriority(PRIO_PROCESS, 0, kNice);  // of this thread alone: setpriority(2), C library
  while (!stop_) {
    pollfd waited{.fd = inbox_.fd(), .events = POLLIN, .revents = 0};
    const int most_ms = is_lost_ ? kTryAgainMs : kLookAgainMs;
    const bool may_wait = inbox_.may_wait();
    const bool is_idle = ::poll(&waited, 1, may_wait ? most_ms : 0) == 0 && may_wait;
    inbox_.heard();
    if (is_lost_ && Clock::wall().now_ns() >= try_again_ns_) try_again();
    write_waiting();
    answer_waiting();
    if (is_idle || ++rounds_ >= kRoundsBetween) forget_old();
  }
  if (is_lost_) try_again();
  write_waiting();  // what came with the end
}

void Recorder::write_waiting() {
  for (bool more = true; more;) {
    std::vector<ToRecord> batch;
    while (batch.size() < kMostTogether) {
      auto next = inbox_.take();
      if (!next) break;
      batch.push_back(*next);
    }
    more = batch.size() == kMostTogether;
    if (!batch.empty()) write_batch(batch);
  }
}

void Recorder::look_up(const LookUp& wanted) {
  questions_.put(wanted);
  inbox_.wake();
}

/// Whoever is to be granted a lease waits for one question at most.
void Recorder::answer_waiting() {
  while (const auto next = questions_.take()) {
    options_.found({.ticket = next->ticket, .found = found(next->wanted)});
    write_waiting();
  }
}

Result<wire::History> Recorder::found(const wire::HistoryRequest& wanted) {
  if (!journal_) return fail(Errc::Unsupported, "the server keeps no journal");
  return journal_->look_up(wanted, options_.unix_ms(), options_.keep_ms);
}

/// A grant is written or refused; an ending is written, now or later, behind those before it.
void Recorder::write_batch(const std::vector<ToRecord>& batch) {
  std::vector<Entry> entries;
  for (const ToRecord& each : batch) entries.push_back(each.entry);
  Result<void> written;
  if (is_lost_)
    written = fail(Errc::System, "the journal could not be written when it was tried last");
  else if (journal_)
    note(written = timed_write(entries));
  for (const ToRecord& each : batch)
    if (std::holds_alternative<Record>(each.entry))
      options_.tell(Recorded{.ticket = each.ticket, .done = written});
  if (written) return;
  for (const Entry& each : entries)
    if (std::holds_alternative<Ending>(each)) kept_.push_back(each);
}

Result<void> Recorder::timed_write(const std::vector<Entry>& entries) {
  const std::uint64_t since_ns = Clock::wall().now_ns();
  auto written = journal_->write(entries);
  if (options_.wrote) options_.wrote(Clock::wall().now_ns() - since_ns);
  return written;
}

/// What is kept may be nothing, or nothing that changes the file: a real write says whether it can
/// be written again.
void Recorder::try_again() {
  Result<void> written = journal_->probe();
  if (written && !kept_.empty()) written = journal_->write(kept_);
  note(written);
  if (written) kept_.clear();
}

void Recorder::forget_old() {
  rounds_ = 0;
  if (!journal_ || is_lost_ || options_.keep_ms == 0) return;
  const std::uint64_t now_ms = options_.unix_ms();
  if (now_ms < options_.keep_ms) return;
  const auto forgotten = journal_->forget(now_ms - options_.keep_ms, kForgetAtOnce);
  if (!forgotten) note(tl::unexpected<Error>(forgotten.error()));
}

/// One line when it begins, one when it is over.
void Recorder::note(const Result<void>& written) {
  const bool was_lost = is_lost_.exchange(!written);
  if (!written) try_again_ns_ = Clock::wall().now_ns() + kTryAgainMs * kNsPerMs;
  if (!options_.log || was_lost == !written) return;
  options_.log(written ? std::string("the journal is written again; leases are granted")
                       : written.error().text + "; nothing is granted until it can be written");
}

}  // namespace portcullis::service::daemon
