// SPDX-License-Identifier: BSD-3-Clause
#include "bench/service/single_revokes.hpp"

#include <fmt/format.h>

#include <future>
#include <optional>

#include "base/clock.hpp"
#include "bench/common/interrupt.hpp"
#include "bench/service/lease_load.hpp"
#include "bench/service/leased_process.hpp"

namespace portcullis::bench {
namespace {

using wire::Op;

std::uint64_t now_ns() noexcept { return Clock::wall().now_ns(); }

constexpr std::uint64_t kAnswerNs = 10 * kNsPerSecond;
constexpr std::uint64_t kOpenNs = 60 * kNsPerSecond;

bool is_busy(const wire::Frame& frame) {
  const auto refusal = wire::read_body<wire::Refusal>(frame);
  return frame.header.op == wire::kRefused && refusal && refusal->code == wire::Code::Busy;
}

std::string outcome_text(const wire::RevokeAnswer& answer) {
  return fmt::format("is {}, {}, failed {}, ended by {}, after {} us", name(answer.outcome),
                     name(answer.memory), wire::steps_text(answer.failed_mask), name(answer.cause),
                     answer.revoke_us);
}

/// The next frame that `is_wanted`; others are of no interest.
template <class Wanted>
Result<void> wait_for(Fleet& fleet, const char* what, const Wanted& is_wanted) {
  const std::uint64_t until_ns = now_ns() + kAnswerNs;
  bool has_come = false;
  std::string refusal;
  while (!has_come) {
    if (now_ns() >= until_ns) return fail(Errc::Timeout, fmt::format("{}: no answer", what));
    PORTCULLIS_TRY(fleet.serve(until_ns, [&](std::size_t, const wire::Frame& frame) {
      if (frame.header.op == wire::kRefused && !is_busy(frame))
        if (const auto why = wire::read_body<wire::Refusal>(frame))
          refusal = wire::text_of(why->text);
      has_come = has_come || is_wanted(frame);
    }));
    if (!refusal.empty()) return fail(Errc::Unsupported, fmt::format("{}: {}", what, refusal));
  }
  return {};
}

}  // namespace

Result<SingleRevokes> SingleRevokes::connect(const LeasedProcess& leased, Transport transport) {
  PORTCULLIS_TRY_ASSIGN(auto holder, Fleet::create());
  PORTCULLIS_TRY(holder.open(leased, transport, 1, kOpenNs));
  PORTCULLIS_TRY_ASSIGN(auto revoker, Fleet::create());
  PORTCULLIS_TRY(revoker.open(leased, transport, 1, kOpenNs));
  return SingleRevokes(std::move(holder), std::move(revoker));
}

Result<wire::RevokeRequest> SingleRevokes::grant() {
  wire::RevokeRequest lease;
  while (lease.id == 0) {  // a device or a disk that others keep busy: again
    holder_.ask(0, Op::LeaseAlloc, next_request_++, nowhere_request());
    PORTCULLIS_TRY(wait_for(holder_, "LEASE_ALLOC", [&](const wire::Frame& frame) {
      const auto grant = wire::read_body<wire::AllocAnswer>(frame);
      if (grant) lease = {.id = grant->id, .epoch = grant->epoch};
      return grant || is_busy(frame);
    }));
  }
  return lease;
}

/// When it was answered.
Result<std::uint64_t> SingleRevokes::revoke(const wire::RevokeRequest& lease) {
  std::uint64_t answered_ns = 0;
  std::string otherwise = "is malformed";
  revoker_.ask(0, Op::LeaseRevoke, next_request_++, lease);
  PORTCULLIS_TRY(wait_for(revoker_, "LEASE_REVOKE", [&](const wire::Frame& frame) {
    if (frame.header.op != wire::answer_to(Op::LeaseRevoke)) return false;
    answered_ns = now_ns();
    const auto answer = wire::read_body<wire::RevokeAnswer>(frame);
    if (answer) otherwise = answer->outcome == wire::Outcome::TornDown ? "" : outcome_text(*answer);
    return true;
  }));
  if (!otherwise.empty()) return fail(Errc::DeviceFailed, "the answer to a revoke " + otherwise);
  return answered_ns;
}

/// When that came.
Result<std::uint64_t> SingleRevokes::hear_of_end(const wire::RevokeRequest& lease) {
  std::uint64_t heard_ns = 0;
  PORTCULLIS_TRY(wait_for(holder_, "REVOKED", [&](const wire::Frame& frame) {
    if (frame.header.op != number(wire::Notice::Revoked)) return false;
    heard_ns = now_ns();
    const auto notice = wire::read_body<wire::EndedNotice>(frame);
    return notice && notice->id == lease.id;
  }));
  return heard_ns;
}

Result<void> SingleRevokes::measure(std::uint64_t samples, Pace pace, Histogram& latency) {
  for (std::uint64_t i = 0; i < samples; ++i) {
    PORTCULLIS_TRY(check_not_interrupted());
    PORTCULLIS_TRY_ASSIGN(const auto lease, grant());
    wait_for_turn(pace);
    const std::uint64_t since_ns = now_ns();
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t answered_ns, revoke(lease));
    latency.record(answered_ns - since_ns);
    PORTCULLIS_TRY(hear_of_end(lease));
  }
  return {};
}

Result<SingleRevokes::Notices> SingleRevokes::measure_notices(std::uint64_t samples) {
  Notices notices;
  for (std::uint64_t i = 0; i < samples; ++i) {
    PORTCULLIS_TRY(check_not_interrupted());
    PORTCULLIS_TRY_ASSIGN(const auto lease, grant());
    std::promise<void> listens;
    auto heard = std::async(std::launch::async, [&] {
      listens.set_value();
      return hear_of_end(lease);
    });
    listens.get_future().wait();
    const auto answered_ns = revoke(lease);
    const auto heard_ns = heard.get();
    PORTCULLIS_TRY(answered_ns);
    PORTCULLIS_TRY(heard_ns);
    const bool is_behind = *heard_ns > *answered_ns;
    notices.earlier += is_behind ? 0 : 1;
    notices.behind.record(is_behind ? *heard_ns - *answered_ns : 0);
  }
  return notices;
}

}  // namespace portcullis::bench
