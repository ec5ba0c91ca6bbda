// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_verify/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "prm/enums.hpp"
#include "service/exchange/sweep.hpp"

namespace portcullis::tools::lease_verify {
namespace {

namespace exchange = service::exchange;
using exchange::Grant;

/// Between two looks for a line: the answers of this clock are as late as that.
constexpr std::uint64_t kLookNs = 20 * kNsPerUs;
/// What first-light takes between two lines, with a revoke that takes long.
constexpr std::uint64_t kSilenceMs = 120'000;
/// On top of the budget of a queue pair, for a busy host.
constexpr std::uint64_t kAnswerNs = 10 * kNsPerSecond;
constexpr std::size_t kWord = sizeof(std::uint64_t);

class Sweep {
 public:
  Sweep(const Options& options, const World& world, exchange::LineChannel& channel)
      : options_(&options), world_(&world), channel_(&channel) {}

  Result<void> run() {
    // A NIC that is not there is said before anybody is waited for.
    PORTCULLIS_TRY_ASSIGN(requester_, world_->open_requester(*options_));
    say("client", requester_->description());
    say("awaiting", "first-light --peer at " + channel_->peer());
    PORTCULLIS_TRY(await_first_light());
    const std::string asker = channel_->peer();
    say("peer", asker);
    auto served = serve();
    if (!served) (void)channel_->send_line(exchange::sweep_failure(served.error().text));
    channel_->drop();
    return served;
  }

 private:
  [[nodiscard]] std::uint64_t now() const { return requester_->clock().now_ns(); }
  void say(std::string_view what, const std::string& text) const {
    world_->print(fmt::format("{:14} {}", what, text));
  }
  [[nodiscard]] exchange::Idle idle() const {
    return [this](std::uint64_t most_ns) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(most_ns, kLookNs)));
      return !world_->stop();
    };
  }

  Result<void> await_first_light() {
    const std::uint64_t until_ns = wall_.now_ns() + options_->wait_ms * kNsPerMs;
    while (true) {
      const std::uint64_t now_ns = wall_.now_ns();
      const std::uint64_t left_ms = until_ns > now_ns ? (until_ns - now_ns) / kNsPerMs : 0;
      auto line = exchange::wait_for_line(*channel_, left_ms, exchange::sleep_unless(world_->stop));
      if (!line && (line.error().code == Errc::Busy || wall_.now_ns() >= until_ns))
        return forward_error(std::move(line));
      auto hello = line ? exchange::parse_sweep_hello(*line)
                        : Result<void>(tl::unexpected<Error>(line.error()));
      if (hello) return channel_->send_line(to_line(requester_->nic()));
      say("refused", fmt::format("{}: {}", channel_->peer(), hello.error().text));
      (void)channel_->send_line(exchange::sweep_failure(hello.error().text));  // it may be gone
      channel_->drop();
    }
  }

  Result<std::string> hear(std::uint64_t limit_ms) {
    const std::uint64_t until_ns = wall_.now_ns() + limit_ms * kNsPerMs;
    const exchange::Idle idle = this->idle();
    while (true) {
      PORTCULLIS_TRY_ASSIGN(auto line, channel_->poll_further());
      if (line) return *std::move(line);
      if (wall_.now_ns() >= until_ns)
        return fail(Errc::Timeout,
                    fmt::format("{}: no line within {} ms", channel_->peer(), limit_ms));
      if (!idle(kLookNs)) return fail(Errc::Busy, "interrupted");
    }
  }

  Result<void> serve() {
    while (true) {
      PORTCULLIS_TRY_ASSIGN(const std::string line, hear(kSilenceMs));
      const std::string_view kind = exchange::kind_of(line);
      if (kind == exchange::kind_of(exchange::sweep_end())) break;
      if (kind == exchange::kind_of(exchange::sweep_clock(0))) {
        PORTCULLIS_TRY(answer_clock(line));
      } else if (kind == exchange::kind_of(exchange::sweep_point(0))) {
        PORTCULLIS_TRY(take_lease(line));
      } else {
        PORTCULLIS_TRY(go_on(line));
      }
    }
    say("sweep", fmt::format("{} leases", leases_));
    return {};
  }

  Result<void> answer_clock(const std::string& line) {
    const std::uint64_t received_ns = now();
    PORTCULLIS_TRY_ASSIGN(const auto number, exchange::parse_clock_question(line));
    return channel_->send_line(to_line(
        exchange::SweepClock{.number = number, .received_ns = received_ns, .sent_ns = now()}));
  }

  /// A queue pair of its own for each, to RTS, and one WRITE to see that it arrives.
  Result<void> take_lease(const std::string& line) {
    PORTCULLIS_TRY_ASSIGN(number_, exchange::parse_sweep_point(line));
    grant_.reset();
    if (is_used_) {
      requester_.reset();
      PORTCULLIS_TRY_ASSIGN(requester_, world_->open_requester(*options_));
    }
    PORTCULLIS_TRY(channel_->send_line(to_line(requester_->request())));
    PORTCULLIS_TRY_ASSIGN(const std::string answer, hear(kSilenceMs));
    auto granted = exchange::parse_grant(answer);
    if (!granted && granted.error().code == Errc::CommandFailed) {
      say("refused", granted.error().text);
      return {};
    }
    PORTCULLIS_TRY_ASSIGN(grant_, std::move(granted));
    is_used_ = true;
    PORTCULLIS_TRY(requester_->connect(*grant_));
    PORTCULLIS_TRY_ASSIGN(const WorkResult first, write_one());
    if (!first.ok())
      say(fmt::format("lease {}", number_),
          fmt::format("the first WRITE met {} {}: not reached", prm::number(first.status),
                      prm::name(first.status)));
    return channel_->send_line(to_line(exchange::SweepReady{
        .number = number_, .status = static_cast<std::uint8_t>(prm::number(first.status))}));
  }

  Result<WorkResult> write_one() {
    if (requester_->buffer().size() < kWord)
      return fail(Errc::InvalidArgument, "a buffer of less than a word");
    const Budget budget{grant_->timeout, grant_->retry};
    PORTCULLIS_TRY(
        requester_->post({.op = Op::Write,
                          .remote_address = (grant_->address + kWord - 1) / kWord * kWord,
                          .local_offset = 0,
                          .bytes = kWord}));
    PORTCULLIS_TRY_ASSIGN(const auto result, wait_unless(world_->stop, *requester_,
                                                         now() + budget.most_ns() + kAnswerNs));
    if (result) return *result;
    return fail(Errc::Timeout, "the first WRITE told neither success nor failure");
  }

  Result<void> go_on(const std::string& line) {
    PORTCULLIS_TRY_ASSIGN(const auto go, exchange::parse_sweep_go(line));
    if (!grant_ || go.number != number_)
      return fail(Errc::Malformed, fmt::format("{}: number={}, which has no lease",
                                               exchange::kind_of(line), go.number));
    RevokeTestOptions wanted{.limit_ms = go.limit_ms, .ends_at_limit = true};
    wanted.stop = world_->stop;
    PORTCULLIS_TRY_ASSIGN(const auto seen, watch_revoke(*requester_, *grant_, wanted));
    grant_.reset();
    ++leases_;
    say(fmt::format("lease {}", number_), text_of(seen));
    return channel_->send_line(to_line(exchange::SweepSeen{
        .number = number_,
        .succeeded = seen.succeeded,
        .last_success_ns = seen.last_success_ns,
        .last_success_post_ns = seen.last_success_post_ns,
        .failed_post_ns = seen.failed_post_ns,
        .first_failure_ns = seen.first_failure_ns,
        .status = seen.failure ? static_cast<std::uint8_t>(prm::number(seen.failure->status))
                               : std::uint8_t{0}}));
  }

  static std::string text_of(const RevokeObservation& seen) {
    const std::string wrote = fmt::format("{} WRITEs", seen.succeeded);
    if (!seen.failure) return wrote + ", and no failure in the time given";
    return fmt::format("{}, then {} {}, {:.3f} ms after it was posted", wrote,
                       prm::number(seen.failure->status), prm::name(seen.failure->status),
                       static_cast<double>(seen.first_failure_ns - seen.failed_post_ns) /
                           static_cast<double>(kNsPerMs));
  }

  const Options* options_;
  const World* world_;
  exchange::LineChannel* channel_;
  Clock wall_ = Clock::wall();
  std::unique_ptr<Requester> requester_;
  bool is_used_ = false;  // its queue pair has had a lease
  std::uint64_t number_ = 0;
  std::optional<Grant> grant_;
  std::uint64_t leases_ = 0;
};

}  // namespace

Result<void> sweep(const Options& options, const World& world, exchange::LineChannel& channel) {
  return Sweep(options, world, channel).run();
}

Result<void> run_sweep(const Options& options, const World& world) {
  PORTCULLIS_TRY_ASSIGN(const auto channel, exchange::listen_tcp(options.listen));
  return sweep(options, world, *channel);
}

}  // namespace portcullis::tools::lease_verify
