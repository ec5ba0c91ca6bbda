// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_verify/leased_lease.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "prm/enums.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using service::exchange::Grant;

constexpr std::uint64_t kAnswerMs = 5'000;  // five times what a revoke may take
constexpr std::chrono::milliseconds kAskAgain{20};
constexpr std::chrono::milliseconds kLookAgain{2};  // the server looks about every millisecond

std::uint64_t now_ns() noexcept { return Clock::wall().now_ns(); }

std::uint8_t bits_of(const pmd::Access& access) noexcept {
  const auto bit = [](bool is_granted, std::uint8_t of) { return is_granted ? of : 0; };
  return static_cast<std::uint8_t>(bit(access.remote_write, wire::kMayWrite) |
                                   bit(access.remote_read, wire::kMayRead) |
                                   bit(access.remote_atomic, wire::kMayAtomic));
}

wire::AllocRequest wanted(const LeasedOptions& options, const service::exchange::Request& request) {
  wire::AllocRequest alloc{.bytes = options.bytes, .ttl_ms = options.ttl_ms};
  std::transform(request.client.gid.bytes.begin(), request.client.gid.bytes.end(),
                 alloc.gid.begin(),
                 [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  alloc.mac = request.client.mac.octets;
  alloc.mtu = static_cast<std::uint16_t>(request.mtu);
  alloc.qpn = request.client.qpn;
  alloc.psn = request.client.psn;
  alloc.access = bits_of(options.access);
  alloc.ack_timeout = static_cast<std::uint8_t>(options.timeout);
  alloc.retry_count = static_cast<std::uint8_t>(options.retry);
  return alloc;
}

/// What a server says is not trusted, over whatever it came: it is what a line may say, or refused.
Result<Grant> grant_of(const wire::AllocAnswer& answer) {
  Grant grant;
  grant.server.qpn = answer.qpn;
  grant.server.psn = answer.psn;
  std::transform(answer.gid.begin(), answer.gid.end(), grant.server.gid.bytes.begin(),
                 [](std::uint8_t byte) { return std::byte{byte}; });
  grant.server.mac.octets = answer.mac;
  grant.mtu = answer.mtu;
  grant.rkey = answer.rkey;
  grant.address = answer.address;
  grant.length = answer.bytes;
  grant.timeout = answer.ack_timeout;
  grant.retry = answer.retry_count;
  grant.access = {.remote_write = (answer.access & wire::kMayWrite) != 0,
                  .remote_read = (answer.access & wire::kMayRead) != 0,
                  .remote_atomic = (answer.access & wire::kMayAtomic) != 0};
  return service::exchange::parse_grant(to_line(grant));
}

/// `ask` until it is answered otherwise than by "not there yet" or "again later".
template <class Ask>
auto ask_again(std::uint64_t until_ns, const std::function<bool()>& stop, Ask ask) {
  auto answer = ask();
  while (!answer && (answer.error().code == Errc::NotFound || answer.error().code == Errc::Busy) &&
         now_ns() < until_ns && !(stop && stop())) {
    std::this_thread::sleep_for(kAskAgain);
    answer = ask();
  }
  return answer;
}

/// One WRITE of what stands in the buffer's first bytes, and its completion.
Result<void> write_nonce(Requester& requester, const Grant& grant, const wire::ByteArray<8>& nonce,
                         std::uint64_t most_ms, const std::function<bool()>& stop) {
  std::memcpy(requester.buffer().data(), nonce.data(), nonce.size());
  PORTCULLIS_TRY(requester.post({.op = Op::Write,
                                 .remote_address = grant.address,
                                 .local_offset = 0,
                                 .bytes = nonce.size()}));
  const std::uint64_t until_ns = requester.clock().now_ns() + most_ms * kNsPerMs;
  PORTCULLIS_TRY_ASSIGN(const auto result, wait_unless(stop, requester, until_ns));
  if (!result)
    return fail(Errc::Timeout, fmt::format("the challenge's WRITE has no completion after {} ms, "
                                           "which the server allows",
                                           most_ms));
  if (result->ok()) return {};
  return fail(Errc::CommandFailed,
              fmt::format("the challenge's WRITE: {} ({})", prm::name(result->status),
                          prm::number(result->status)));
}

}  // namespace

Result<std::unique_ptr<LeasedLease>> LeasedLease::open(const LeasedOptions& options,
                                                       const service::exchange::Request& request,
                                                       std::uint64_t wait_ms,
                                                       const std::function<bool()>& stop) {
  const std::uint64_t until_ns = now_ns() + wait_ms * kNsPerMs;
  std::unique_ptr<LeasedLease> lease(new LeasedLease);
  const client::Keeper::Options keeper{
      .server = options.server,
      .name = "lease-verify",
      .deadline_ms = kAnswerMs,
      .on_ended = [held = lease.get()](const client::KeptEnd& how) { held->note(how); }};
  PORTCULLIS_TRY_ASSIGN(lease->keeper_,
                        ask_again(until_ns, stop, [&] { return client::Keeper::open(keeper); }));
  PORTCULLIS_TRY_ASSIGN(lease->kept_, ask_again(until_ns, stop, [&] {
                          return lease->keeper_->alloc(wanted(options, request));
                        }));
  PORTCULLIS_TRY_ASSIGN(lease->grant_, grant_of(lease->kept_.grant));
  return lease;
}

Result<std::optional<std::uint64_t>> LeasedLease::meet_challenge(
    Requester& requester, const std::function<bool()>& stop) {
  const std::uint64_t began_ns = now_ns();
  PORTCULLIS_TRY_ASSIGN(auto told, keeper_->challenge(id(), epoch()));
  if (told.challenge == wire::Challenge::None) return std::nullopt;
  const std::uint64_t until_ns = began_ns + told.left_ms * kNsPerMs;
  if (told.challenge == wire::Challenge::Open)
    PORTCULLIS_TRY(write_nonce(requester, grant_, told.nonce, told.left_ms, stop));
  while (told.challenge == wire::Challenge::Open) {
    if (stop && stop()) return fail(Errc::Busy, "interrupted before the challenge was met");
    if (now_ns() > until_ns + kAnswerMs * kNsPerMs)
      return fail(Errc::Timeout,
                  "the server has not seen the challenge's number, though the WRITE "
                  "succeeded");
    std::this_thread::sleep_for(kLookAgain);
    PORTCULLIS_TRY_ASSIGN(told, keeper_->challenge(id(), epoch()));
  }
  return now_ns() - began_ns;
}

std::optional<Ended> LeasedLease::wait_for_end(std::uint64_t most_ms) {
  std::unique_lock<std::mutex> one(lock_);
  changed_.wait_for(one, std::chrono::milliseconds(most_ms), [this] { return ended_.has_value(); });
  return ended_;
}

Result<wire::RevokeAnswer> LeasedLease::end() { return keeper_->release(id(), epoch()); }

void LeasedLease::note(const client::KeptEnd& how) {
  const std::lock_guard<std::mutex> one(lock_);
  ended_ = Ended{.how = how, .at_ns = now_ns()};
  changed_.notify_all();
}

Result<std::unique_ptr<Revoker>> Revoker::start(const client::ServerAddress& server,
                                                const LeasedLease& lease, std::uint64_t after_ms) {
  PORTCULLIS_TRY_ASSIGN(
      auto connection,
      client::Connection::open(server, {.name = "lease-verify", .deadline_ms = kAnswerMs}));
  std::unique_ptr<Revoker> revoker(new Revoker(std::move(connection)));
  const wire::RevokeRequest wanted{.id = lease.id(), .epoch = lease.epoch()};
  revoker->thread_ =
      std::thread([held = revoker.get(), wanted, after_ms] { held->run(wanted, after_ms); });
  return revoker;
}

void Revoker::run(wire::RevokeRequest wanted, std::uint64_t after_ms) {
  {
    std::unique_lock<std::mutex> one(lock_);
    const std::chrono::milliseconds after(after_ms);
    if (changed_.wait_for(one, after, [this] { return stop_; })) return;
  }
  const std::uint64_t asked_ns = now_ns();
  auto answer = connection_.revoke(wanted);
  asked_ = Asked{.asked_ns = asked_ns, .answered_ns = now_ns(), .answer = std::move(answer)};
}

void Revoker::stop() {
  {
    const std::lock_guard<std::mutex> one(lock_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<Revoker::Asked> Revoker::finish() {
  stop();
  return asked_;
}

}  // namespace portcullis::tools::lease_verify
