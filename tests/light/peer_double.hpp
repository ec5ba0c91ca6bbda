// SPDX-License-Identifier: BSD-3-Clause
//
// lease-verify --sweep without a network: its client is a queue pair on a second address of the
// port that revokes, its clock the port's, set otherwise and at another pace, and its lines take
// time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/exchange/sweep.hpp"
#include "service/served_port.hpp"
#include "tests/tools/lease_serve/remote_client.hpp"

namespace portcullis::light::testing {

class PeerDouble final : public service::exchange::LineChannel {
 public:
  explicit PeerDouble(service::ServedPort& port) : port_(&port) {}

  std::int64_t ahead_ns = 0;      // of the port's clock, at its zero
  std::int64_t drift_ppm = 0;     // and from then on
  std::uint64_t there_ns = 0;     // what a line to it takes
  std::uint64_t back_ns = 0;      // and one of its own
  std::uint8_t first_status = 0;  // that it says its first WRITE met
  /// What it says, as it would have said it; may return anything, or nothing.
  std::function<std::optional<std::string>(std::string)> tamper = {};
  std::function<void(service::exchange::SweepSeen&)> tamper_seen = {};
  std::optional<std::uint64_t> hangs_up_after = {};  // so many lines
  bool is_over = false;                              // it was told so
  std::uint64_t leases = 0;
  std::uint64_t went_ns = 0;  // it was told to go on, by its own clock
  /// When clients failed, by the port's own clock.
  std::vector<std::uint64_t> failures_ns = {};

  /// Of the port's clock to this one's.
  [[nodiscard]] std::uint64_t theirs(std::uint64_t ns) const {
    constexpr std::int64_t kMillion = 1'000'000;
    const auto at = static_cast<std::int64_t>(ns);
    return static_cast<std::uint64_t>(at + ahead_ns + at / kMillion * drift_ppm);
  }

  Result<std::optional<std::string>> poll_line() override {
    pump();
    if (said_.empty() || said_.front().first > now()) {
      if (hangs_up_after && spoken_ >= *hangs_up_after)
        return fail(Errc::Malformed, "script: it hung up without a line");
      return std::nullopt;
    }
    std::string line = std::move(said_.front().second);
    said_.pop_front();
    return line;
  }
  Result<void> send_line(std::string_view line) override {
    const std::string_view kind = service::exchange::kind_of(line);
    if (kind == "sweep-hello") say(to_line(service::exchange::SweepPeer{0x2c9, 4119, "16.1"}));
    if (kind == "sweep-point") begin(line);
    if (kind == "lease-grant") connect(line);
    if (kind == "sweep-clock") tell_time(line);
    if (kind == "sweep-go") go(line);
    if (kind == "sweep-end") is_over = true;
    return {};
  }
  void drop() override {}
  bool is_peer_gone() override { return false; }
  std::string peer() const override { return "script"; }

 private:
  enum class Phase : std::uint8_t { Idle, Reaching, Waiting, Going };

  [[nodiscard]] std::uint64_t now() const { return port_->clock().now_ns(); }

  void say(std::string line, std::uint64_t after_ns = 0) {
    if (hangs_up_after && spoken_ >= *hangs_up_after) return;
    ++spoken_;
    std::optional<std::string> told = std::move(line);
    if (tamper) told = tamper(*std::move(told));
    if (told) said_.emplace_back(now() + after_ns + back_ns, *std::move(told));
  }

  void begin(std::string_view line) {
    number_ = service::exchange::parse_sweep_point(line).value();
    writer_.reset();
    writer_.emplace(port_->driver().context(), port_->address().mac);
    phase_ = Phase::Idle;
    say(writer_->request());
  }
  void connect(std::string_view line) {
    writer_->connect(service::exchange::parse_grant(line).value());
    seen_ = {.number = number_};
    phase_ = Phase::Reaching;
    ++leases;
  }
  void tell_time(std::string_view line) {
    const std::uint64_t at_ns = theirs(now() + there_ns);
    const auto number = service::exchange::parse_clock_question(line).value();
    say(to_line(service::exchange::SweepClock{number, at_ns, at_ns}), there_ns);
  }
  void go(std::string_view line) {
    const auto asked = service::exchange::parse_sweep_go(line).value();
    until_ns_ = now() + asked.limit_ms * kNsPerMs;
    went_ns = theirs(now());
    phase_ = Phase::Going;
  }

  void pump() {
    if (phase_ != Phase::Reaching && phase_ != Phase::Going) return;
    const std::uint64_t before = writer_->written;
    const std::uint64_t looked_ns = now();
    writer_->go_on();
    if (writer_->written > before) {
      seen_.succeeded = writer_->written;
      seen_.last_success_ns = theirs(now());
      seen_.last_success_post_ns = theirs(posted_ns_);
      posted_ns_ = looked_ns;
    } else if (writer_->written == 0 && posted_ns_ == 0) {
      posted_ns_ = looked_ns;
    }
    if (phase_ == Phase::Reaching && writer_->written != 0) {
      phase_ = Phase::Waiting;
      say(to_line(service::exchange::SweepReady{number_, first_status}));
    }
    if (phase_ == Phase::Going && (writer_->failure || now() >= until_ns_)) end();
  }

  void end() {
    phase_ = Phase::Idle;
    if (writer_->failure) {
      failures_ns.push_back(now());
      seen_.failed_post_ns = theirs(posted_ns_);
      seen_.first_failure_ns = theirs(now());
      seen_.status = static_cast<std::uint8_t>(prm::number(*writer_->failure));
    }
    if (tamper_seen) tamper_seen(seen_);
    say(to_line(seen_));
  }

  service::ServedPort* port_;
  std::optional<tools::testing::Writer> writer_;
  std::deque<std::pair<std::uint64_t, std::string>> said_;  // when it arrives, and what
  std::uint64_t spoken_ = 0;
  std::uint64_t number_ = 0;
  Phase phase_ = Phase::Idle;
  std::uint64_t until_ns_ = 0;
  std::uint64_t posted_ns_ = 0;
  service::exchange::SweepSeen seen_;
};

}  // namespace portcullis::light::testing
