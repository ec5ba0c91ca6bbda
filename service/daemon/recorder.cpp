// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/recorder.hpp"

#include <poll.h>

#include <string>
#include <utility>

namespace portcullis::service::daemon {
namespace {

constexpr int kTryAgainMs = 1'000;
constexpr std::size_t kMostTogether = 4'096;

}  // namespace

Recorder::Recorder(std::optional<Journal> journal, std::function<void(Recorded)> tell, LogSink log)
    : journal_(std::move(journal)),
      tell_(std::move(tell)),
      log_(std::move(log)),
      thread_([this] { run(); }) {}

Recorder::~Recorder() {
  stop_ = true;
  inbox_.wake();
  thread_.join();
}

void Recorder::run() {
  while (!stop_) {
    pollfd waited{.fd = inbox_.fd(), .events = POLLIN, .revents = 0};
    (void)::poll(&waited, 1, kept_.empty() ? -1 : kTryAgainMs);
    inbox_.heard();
    write_waiting();
  }
  write_waiting();  // what came with the end
}

void Recorder::write_waiting() {
  if (!kept_.empty()) write_kept();
  for (bool more = true; more;) {
    std::vector<ToRecord> batch;
    while (batch.size() < kMostTogether) {
      auto next = inbox_.take();
      if (!next) break;
      batch.push_back(*std::move(next));
    }
    more = batch.size() == kMostTogether;
    if (!batch.empty()) write_batch(std::move(batch));
  }
}

/// A grant is written or refused; an ending is written, now or later, behind those before it.
void Recorder::write_batch(std::vector<ToRecord> batch) {
  std::vector<Entry> entries = kept_;
  for (const ToRecord& each : batch) entries.push_back(each.entry);
  const Result<void> written = journal_ ? journal_->write(entries) : Result<void>();
  note(written);
  kept_.clear();
  for (const ToRecord& each : batch) {
    if (std::holds_alternative<Record>(each.entry))
      tell_(Recorded{.ticket = each.ticket, .done = written});
  }
  if (written) return;
  for (Entry& each : entries)
    if (std::holds_alternative<Ending>(each)) kept_.push_back(std::move(each));
}

void Recorder::write_kept() {
  const auto written = journal_->write(kept_);
  note(written);
  if (written) kept_.clear();
}

/// One line when it begins, one when it is over.
void Recorder::note(const Result<void>& written) {
  const bool was_lost = is_lost_.exchange(!written);
  if (!log_ || was_lost == !written) return;
  log_(written ? std::string("the journal is written again; leases are granted")
               : written.error().text + "; nothing is granted until it can be written");
}

}  // namespace portcullis::service::daemon
