// SPDX-License-Identifier: BSD-3-Clause
#include "client/keeper.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace portcullis::client {
namespace {

constexpr std::uint64_t kMostWaitMs = 100;
constexpr std::uint64_t kTryAgainNs = 200 * kNsPerMs;
/// Less than that is silence on every network, and no sign of anything.
constexpr std::uint64_t kLeastSilenceMs = 1'000;

std::uint64_t now_ns() noexcept { return Clock::wall().now_ns(); }

}  // namespace

Result<std::unique_ptr<Keeper>> Keeper::open(Options options) {
  // Once: a name server may be as far away as the server, later, when gates have to be closed.
  if (auto& quic = options.server.quic; quic && !quic->resolved) {
    PORTCULLIS_TRY_ASSIGN(quic->resolved, UdpAddress::resolve(quic->address, "server"));
  }
  PORTCULLIS_TRY_ASSIGN(
      auto connection,
      Connection::open(options.server, {.name = options.name, .deadline_ms = options.deadline_ms}));
  std::unique_ptr<Keeper> keeper(new Keeper(std::move(options), std::move(connection)));
  if (!keeper->wake_.is_open()) return fail(Errc::System, "eventfd: no descriptor is left");
  return keeper;
}

Keeper::Keeper(Options options, Connection connection)
    : options_(std::move(options)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      server_(connection.server()),
      connection_(std::move(connection)),
      thread_([this] { run(); }) {}

Keeper::~Keeper() {
  stop();
  thread_.join();
  for (auto& [id, held] : held_) held.gate->close();
}

void Keeper::stop() noexcept {
  {
    const std::lock_guard<std::mutex> one(lock_);
    stop_ = true;
  }
  wake();
}

bool Keeper::is_stopped() const {
  const std::lock_guard<std::mutex> one(lock_);
  return stop_;
}

void Keeper::wake() noexcept {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

tl::unexpected<Error> Keeper::gone() const {
  return fail(Errc::DeviceGone, "the server at " + options_.server.text() + " cannot be reached");
}

wire::HelloAnswer Keeper::server() const {
  const std::lock_guard<std::mutex> one(lock_);
  return server_;
}

template <class T>
Result<T> Keeper::have_done(std::function<Result<T>()> what, std::optional<std::uint64_t> most_ms) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  auto done = promise->get_future();
  {
    const std::lock_guard<std::mutex> one(lock_);
    jobs_.emplace_back([promise, what = std::move(what)] { promise->set_value(what()); });
  }
  wake();
  if (most_ms && done.wait_for(std::chrono::milliseconds(*most_ms)) != std::future_status::ready)
    return fail(Errc::Timeout, "no answer in " + std::to_string(*most_ms) + " ms");
  return done.get();
}

Result<KeptLease> Keeper::alloc(const wire::AllocRequest& wanted) {
  return have_done<KeptLease>([this, wanted] { return do_alloc(wanted); });
}

Result<wire::ChallengeAnswer> Keeper::challenge(std::uint64_t id, std::uint64_t epoch,
                                                std::optional<std::uint64_t> most_ms) {
  const auto ask = [this, id, epoch]() -> Result<wire::ChallengeAnswer> {
    if (!connection_) return gone();
    return connection_->challenge({.id = id, .epoch = epoch});
  };
  return have_done<wire::ChallengeAnswer>(ask, most_ms);
}

Result<wire::RevokeAnswer> Keeper::release(std::uint64_t id, std::uint64_t epoch, wire::Plan plan) {
  {
    const std::lock_guard<std::mutex> one(lock_);
    const auto gate = gates_.find({id, epoch});
    if (gate != gates_.end()) gate->second->close();  // whatever the keeper's thread waits for
  }
  const wire::RevokeRequest wanted{.id = id, .epoch = epoch, .plan = plan};
  return have_done<wire::RevokeAnswer>([this, wanted] { return do_release(wanted); });
}

void Keeper::run() {
  attend();
  for (;;) {
    do_jobs();
    look_after();
    {
      const std::lock_guard<std::mutex> one(lock_);
      if (stop_ && jobs_.empty()) return;
    }
    wait(kMostWaitMs);
  }
}

void Keeper::wait(std::uint64_t most_ms) {
  std::uint64_t until_ns = now_ns() + most_ms * kNsPerMs;
  for (const auto& [id, held] : held_)
    until_ns = std::min({until_ns, held.renew_at_ns, ends_ns(held)});
  const std::uint64_t now = now_ns();
  const int left_ms = until_ns <= now ? 0 : static_cast<int>((until_ns - now) / kNsPerMs + 1);
  std::array<pollfd, 2> waited{
      {{.fd = wake_.get(), .events = POLLIN, .revents = 0},
       {.fd = connection_ ? connection_->fd() : -1, .events = POLLIN, .revents = 0}}};
  (void)::poll(waited.data(), waited.size(), left_ms);
  std::uint64_t count = 0;
  (void)!::read(wake_.get(), &count, sizeof count);
}

void Keeper::do_jobs() {
  for (;;) {
    Job next;
    {
      const std::lock_guard<std::mutex> one(lock_);
      if (jobs_.empty()) return;
      next = std::move(jobs_.front());
      jobs_.pop_front();
    }
    next();
    // Others may ask without an end: what is held is looked after between any two.
    look_after();
  }
}

void Keeper::look_after() {
  if (!connection_) come_back();
  ask_for_life();
  hear_news();
  renew_due();
  hear_news();
  lose_overdue();
}

void Keeper::attend() {
  const auto waiting = [this] {
    ask_for_life();
    watch_gates();
  };
  connection_->attend({.waiting = waiting, .news = [this](const News& news) { shut(news); }});
}

void Keeper::shut(const News& news) {
  const auto* ended = std::get_if<LeaseEnded>(&news);
  const auto held = ended == nullptr ? held_.end() : held_.find(ended->body.id);
  if (held != held_.end() && held->second.epoch == ended->body.epoch) held->second.gate->close();
}

/// What is over stays so, though the server is heard again meanwhile.
void Keeper::watch_gates() {
  const std::uint64_t now = now_ns();
  for (auto& [id, held] : held_) {
    if (ends_ns(held) > now) continue;
    held.gate->close();
    held.is_over = true;
  }
}

/// Often enough that a server which answers is never taken for one that is gone.
void Keeper::ask_for_life() {
  if (!connection_ || !connection_->may_fall_silent() || held_.empty()) return;
  connection_->pulse(std::max(server_.orphan_ms, kLeastSilenceMs) / 4);
}

/// When its gate has to be closed at the latest. A server that this side hears nothing of may have
/// ended the connection without this side's knowing, and then what is held orphan_ms later.
std::uint64_t Keeper::ends_ns(const Held& held) const {
  if (held.is_over) return 0;
  if (!connection_ || !connection_->may_fall_silent()) return held.ends_ns;
  const std::uint64_t orphan_ms = std::max(server_.orphan_ms, kLeastSilenceMs);
  return std::min(held.ends_ns, connection_->there_ns() + orphan_ms * kNsPerMs);
}

std::uint64_t Keeper::patience_ms() const {
  const std::uint64_t now = now_ns();
  std::uint64_t most_ms = options_.deadline_ms;
  for (const auto& [id, held] : held_)
    most_ms = std::min(most_ms, ends_ns(held) <= now ? 1 : (ends_ns(held) - now) / kNsPerMs + 1);
  return most_ms;
}

Result<KeptLease> Keeper::do_alloc(const wire::AllocRequest& wanted) {
  if (!connection_) return gone();
  const std::uint64_t asked_ns = now_ns();
  auto granted = connection_->alloc(wanted);
  if (!granted) return tl::unexpected<Error>(granted.error());
  auto gate = std::make_shared<Gate>();
  held_[granted->id] = {.epoch = granted->epoch,
                        .asked_ttl_ms = wanted.ttl_ms,
                        .ttl_ms = granted->ttl_ms,
                        .renew_at_ns = asked_ns + granted->ttl_ms * kNsPerMs / 3,
                        .ends_ns = asked_ns + granted->ttl_ms * kNsPerMs,
                        .gate = gate};
  {
    const std::lock_guard<std::mutex> one(lock_);
    gates_[{granted->id, granted->epoch}] = gate;
  }
  return KeptLease{.grant = *granted, .gate = gate};
}

Result<wire::RevokeAnswer> Keeper::do_release(const wire::RevokeRequest& wanted) {
  const auto held = held_.find(wanted.id);
  if (held != held_.end() && held->second.epoch == wanted.epoch) {
    drop(held);  // its own notice tells nothing new
  }
  if (!connection_) return gone();
  return connection_->revoke(wanted);
}

void Keeper::renew_due() {
  std::vector<std::uint64_t> due;
  for (const auto& [id, held] : held_)
    if (held.renew_at_ns <= now_ns()) due.push_back(id);
  for (const std::uint64_t id : due) {
    const auto at = held_.find(id);
    if (at == held_.end()) continue;  // news of it came while another was renewed
    Held& held = at->second;
    if (!connection_) return;
    const std::uint64_t asked_ns = now_ns();
    const auto renewed =
        connection_->renew({.id = id, .epoch = held.epoch, .ttl_ms = held.asked_ttl_ms});
    if (!renewed) {  // it has just ended, and the news says how; or the server is gone
      held.renew_at_ns = asked_ns + kTryAgainNs;
      if (renewed.error().code != Errc::NotFound) return;
      ask_how_it_ended(id);
      continue;
    }
    held.ttl_ms = renewed->ttl_ms;
    held.renew_at_ns = asked_ns + renewed->ttl_ms * kNsPerMs / 3;
    held.ends_ns = asked_ns + renewed->ttl_ms * kNsPerMs;
  }
}

/// Of a lease that is not there any more: a revoke of it repeats its outcome, where that is known.
void Keeper::ask_how_it_ended(std::uint64_t id) {
  hear_news();
  const auto held = held_.find(id);
  if (held == held_.end() || !connection_) return;
  const auto answer = connection_->revoke({.id = id, .epoch = held->second.epoch});
  if (!answer) return;
  end(id, {.notice = answer->cause == wire::Cause::Expired ? wire::Notice::Expired
                                                           : wire::Notice::Revoked,
           .is_known = answer->outcome != wire::Outcome::NotFound,
           .body = {.id = id,
                    .epoch = answer->epoch,
                    .tenant = server_.tenant,
                    .failed_mask = answer->failed_mask,
                    .outcome = answer->outcome,
                    .memory = answer->memory,
                    .cause = answer->cause}});
}

void Keeper::hear_news() {
  while (connection_) {
    auto news = connection_->next_news(0);
    if (!news) return lose_connection();
    if (!*news) return;
    hear(**news);
  }
}

/// The server ends what this side holds orphan_ms after it has seen the connection end.
void Keeper::lose_connection() {
  const std::uint64_t orphans_end_ns = connection_->there_ns() + server_.orphan_ms * kNsPerMs;
  connection_.reset();
  try_again_ns_ = now_ns();
  for (auto& [id, held] : held_) held.ends_ns = std::min(held.ends_ns, orphans_end_ns);
}

void Keeper::hear(const News& news) {
  const auto* ended = std::get_if<LeaseEnded>(&news);
  if (ended == nullptr) return;  // a notice for each lease follows
  const auto held = held_.find(ended->body.id);
  if (held == held_.end() || held->second.epoch != ended->body.epoch) return;
  end(ended->body.id, {.notice = ended->notice, .is_known = true, .body = ended->body});
}

void Keeper::end(std::uint64_t id, const KeptEnd& how) {
  const auto held = held_.find(id);
  drop(held);
  if (options_.on_ended && !is_stopped()) options_.on_ended(how);
}

void Keeper::drop(std::map<std::uint64_t, Held>::iterator held) {
  held->second.gate->close();
  {
    const std::lock_guard<std::mutex> one(lock_);
    gates_.erase({held->first, held->second.epoch});
  }
  held_.erase(held);
}

/// The server counts a lease's time from later than this side does, so it has not ended there yet:
/// whoever stops posting here stops in time.
void Keeper::lose_overdue() {
  std::vector<std::uint64_t> over;
  for (const auto& [id, held] : held_)
    if (ends_ns(held) <= now_ns()) over.push_back(id);
  for (const std::uint64_t id : over)
    end(id, {.notice = wire::Notice::Expired,
             .is_known = false,
             .body = {.id = id, .epoch = held_[id].epoch}});
}

/// To the same server, whose leases of this client go on; or to another, which says how they ended.
void Keeper::come_back() {
  if (now_ns() < try_again_ns_) return;
  try_again_ns_ = now_ns() + kTryAgainNs;
  auto again = Connection::open(options_.server, {.name = options_.name,
                                                  .known_incarnation = server_.incarnation,
                                                  .deadline_ms = patience_ms()});
  if (!again) return;
  {
    const std::lock_guard<std::mutex> one(lock_);
    server_ = again->server();
  }
  connection_.emplace(*std::move(again));
  attend();
  for (auto& [id, held] : held_) held.renew_at_ns = 0;  // it is an orphan until then
}

}  // namespace portcullis::client
