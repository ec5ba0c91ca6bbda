// SPDX-License-Identifier: BSD-3-Clause
//
// Clients of leased that send anything, and a device and a journal that answer in any order, late
// or with failure. Whatever comes: each request has one answer at most, nobody closed is spoken to,
// no lease is revoked by who may not, none has two outcomes, and once the server ends and all is
// answered nothing is held. libFuzzer drives it in the asan build; elsewhere corpus_test.cpp runs
// the corpus once.
//
// An input is a row of steps: a byte that says which, a byte for whom, a byte of length, and that
// many bytes, which the step reads as it needs.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "service/daemon/sessions.hpp"
#include "wire/frame.hpp"

namespace {

using namespace portcullis::service::daemon;
namespace wire = portcullis::wire;
using portcullis::Clock;
using portcullis::Errc;

constexpr std::size_t kStepHeader = 3;
constexpr std::size_t kMaxSteps = 512;
constexpr std::size_t kPeers = 6;

enum class Step : std::uint8_t { Open, Close, Raw, Request, Device, Journal, Expire, Wait, End };
constexpr std::uint8_t kSteps = 9;

void require(bool held) {
  if (!held) std::abort();
}

class Target {
 public:
  Target() {
    sessions_ = std::make_unique<Sessions>(
        Beginning{.incarnation = 1, .past = {}}, limits(false),
        Facts{.gid = portcullis::pmd::Gid::from_ipv4(192, 0, 2, 1),
              .mac = {.octets = {2, 0, 0, 0, 0, 1}},
              .description = {}},
        SessionPorts{.ask = [this](Request request) { asked_.push_back(std::move(request)); },
                     .look_up = [this](const LookUp& wanted) { looked_up_.push_back(wanted); },
                     .send = [this](ConnectionId to,
                                    const wire::FrameBytes& frame) { note_sent(to, frame); },
                     .hang_up = [this](ConnectionId id) { hung_up_.insert(id); },
                     .log = {},
                     .clock = Clock::simulated(&Target::now, this)});
  }

  void take(Step step, std::uint8_t whom, std::span<const std::byte> bytes) {
    const std::size_t peer = whom % kPeers;
    const ConnectionId id = ids_[peer];
    switch (step) {
      case Step::Open:
        return open(peer, whom);
      case Step::Close:
        return close(id);
      case Step::Raw:
        return hear(id, bytes);
      case Step::Request:
        return request(id, bytes);
      case Step::Device:
        return device(whom);
      case Step::Journal:
        return journal(whom);
      case Step::Expire:
        return expire(whom);
      case Step::Wait:
        now_ns_ += std::uint64_t{whom} * 100'000'000;
        return sessions_->set_limits(limits(whom % 2 == 1));  // they were read again
      case Step::End:
        return sessions_->end();
    }
  }

  /// The server ends, and everybody answers.
  void finish() {
    sessions_->end();
    for (int i = 0; i < 10'000 && !(asked_.empty() && unrecorded_.empty()); ++i) {
      device(0);
      journal(0);
    }
    require(held_.empty());
    require(sessions_->has_ended());
  }

 private:
  static Limits limits(bool challenges) {
    Limits made;
    made.tenant_leases = 8;
    made.requests = 8;
    made.challenge_ms = challenges ? 1'000 : 0;
    return made;
  }
  static std::uint64_t now(const void* target) noexcept {
    return static_cast<const Target*>(target)->now_ns_;
  }

  /// Tenants 0 to 2; one peer an operator, one an observer.
  void open(std::size_t peer, std::uint8_t whom) {
    if (open_.contains(ids_[peer])) return;
    const ConnectionId id = ++last_connection_;  // none is ever given twice
    ids_[peer] = id;
    open_[id] = {};
    const auto role = peer == 4   ? wire::Role::Operator
                      : peer == 5 ? wire::Role::Observer
                                  : wire::Role::Client;
    sessions_->opened(id, {.tenant = whom % 3U, .role = role, .peer = {}});
  }
  void close(ConnectionId id) {
    if (open_.erase(id) == 0) return;
    sessions_->closed(id);
  }
  void hear(ConnectionId id, std::span<const std::byte> bytes) {
    if (!open_.contains(id) || hung_up_.contains(id)) return;
    if (bytes.size() >= wire::kBytes<wire::Header>)
      ++open_[id]
             [wire::decode<wire::Header>(bytes.first<wire::kBytes<wire::Header>>())->request_id];
    sessions_->received(id, bytes);
  }
  /// Op, then the body; "lease" members are of a lease that there is, where the input says so.
  void request(ConnectionId id, std::span<const std::byte> bytes) {
    if (bytes.size() < 2) return;
    const auto op = static_cast<std::uint16_t>(0x0200 | static_cast<std::uint8_t>(bytes[0]));
    std::vector<std::byte> body(bytes.begin() + 2, bytes.end());
    if (!names_.empty() && body.size() == 24) {
      const auto& name = names_[static_cast<std::uint8_t>(bytes[1]) % names_.size()];
      wire::encode(wire::RenewRequest{.id = name.id, .epoch = name.epoch},
                   std::span(body).first(24));
      body[16] = bytes[1] & std::byte{7};
    }
    if (!names_.empty() && op == wire::number(wire::Op::LeaseChallenge) && body.size() == 16) {
      const auto& name = names_[static_cast<std::uint8_t>(bytes[1]) % names_.size()];
      wire::encode(wire::ChallengeRequest{.id = name.id, .epoch = name.epoch}, body);
    }
    wire::FrameBytes frame(wire::kBytes<wire::Header> + body.size());
    wire::encode(wire::Header{.length = static_cast<std::uint32_t>(frame.size()),
                              .op = op,
                              .request_id = ++last_request_},
                 frame);
    std::copy(body.begin(), body.end(), frame.begin() + 16);
    hear(id, frame);
  }

  void device(std::uint8_t how) {
    if (asked_.empty()) return;
    const Request next = std::move(asked_.front());
    asked_.pop_front();
    std::visit([&](const auto& each) { answer(each, how); }, next);
  }
  void answer(const Alloc& alloc, std::uint8_t how) {
    if (how % 4 == 3)
      return sessions_->hear(
          NotGranted{.ticket = alloc.ticket, .why = {Errc::OutOfResources, "full", {}}});
    const portcullis::lease::LeaseName name{.id = ++last_lease_, .epoch = last_lease_ + 7};
    names_.push_back(name);
    held_[name.id] = alloc.wanted.tenant;
    unrecorded_.push_back(alloc.ticket);
    portcullis::lease::Grant grant{.lease = {.id = name.id, .epoch = name.epoch}};
    grant.bytes = alloc.wanted.bytes;
    sessions_->hear(Granted{
        .ticket = alloc.ticket,
        .record = {.name = name, .tenant = alloc.wanted.tenant, .bytes = alloc.wanted.bytes},
        .grant = grant});
  }
  void answer(const Renew& renew, std::uint8_t) {
    if (held_.contains(renew.name.id))
      return sessions_->hear(Renewed{.ticket = renew.ticket, .done = {}});
    sessions_->hear(
        Renewed{.ticket = renew.ticket, .done = portcullis::fail(Errc::NotFound, "gone")});
  }
  void answer(const Revoke& revoke, std::uint8_t how) {
    for (const auto& name : revoke.names) end_lease(name, revoke.cause, how);
  }
  /// Seen in time, or too late.
  void answer(const Challenge& challenge, std::uint8_t how) {
    if (how % 2 == 0) return sessions_->hear(ChallengeMet{.name = challenge.name});
    end_lease(challenge.name, wire::Cause::Challenge, how);
  }
  void end_lease(portcullis::lease::LeaseName name, wire::Cause cause, std::uint8_t how) {
    const auto held = held_.find(name.id);
    if (held == held_.end()) return;  // its outcome has been told
    const std::uint64_t tenant = held->second;
    held_.erase(held);
    sessions_->hear(
        Ended{{.name = name,
               .tenant = tenant,
               .outcome = how % 4 == 2 ? wire::Outcome::Fenced : wire::Outcome::TornDown,
               .cause = cause}});
  }
  void journal(std::uint8_t how) {
    for (const LookUp& each : std::exchange(looked_up_, {}))
      sessions_->hear(Looked{.ticket = each.ticket,
                             .found = how % 2 == 0
                                          ? portcullis::Result<wire::History>(wire::History{})
                                          : portcullis::fail(Errc::System, "injected")});
    if (unrecorded_.empty()) return;
    const Ticket ticket = unrecorded_.front();
    unrecorded_.pop_front();
    if (how % 4 == 1)
      return sessions_->hear(
          Recorded{.ticket = ticket, .done = portcullis::fail(Errc::System, "disk full")});
    sessions_->hear(Recorded{.ticket = ticket, .done = {}});
  }
  void expire(std::uint8_t which) {
    if (names_.empty()) return;
    end_lease(names_[which % names_.size()], wire::Cause::Expired, which);
  }

  void note_sent(ConnectionId to, const wire::FrameBytes& bytes) {
    require(open_.contains(to));
    const auto frame = wire::read_frame(bytes);
    require(frame.has_value());
    const std::uint64_t id = frame->header.request_id;
    const bool is_answer = (frame->header.op & wire::kAnswerBit) != 0;
    if (!is_answer || id == 0) return;
    const auto asked = open_[to].find(id);
    require(asked != open_[to].end() && asked->second > 0);
    --asked->second;
  }

  std::uint64_t now_ns_ = 1'000'000'000;
  std::array<ConnectionId, kPeers> ids_{};
  ConnectionId last_connection_ = 0;
  std::uint64_t last_request_ = 0;
  std::uint64_t last_lease_ = 0;
  std::map<ConnectionId, std::map<std::uint64_t, int>> open_;  // answers that are owed
  std::set<ConnectionId> hung_up_;
  std::deque<Request> asked_;
  std::deque<Ticket> unrecorded_;
  std::vector<LookUp> looked_up_;
  std::map<std::uint64_t, std::uint64_t> held_;  // lease id to tenant
  std::vector<portcullis::lease::LeaseName> names_;
  std::unique_ptr<Sessions> sessions_;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  Target target;
  std::span<const std::uint8_t> left(data, bytes);
  for (std::size_t i = 0; i < kMaxSteps && left.size() >= kStepHeader; ++i) {
    const auto step = static_cast<Step>(left[0] % kSteps);
    const std::uint8_t whom = left[1];
    const std::size_t length = std::min<std::size_t>(left[2], left.size() - kStepHeader);
    const auto taken = left.subspan(kStepHeader, length);
    target.take(step, whom, std::as_bytes(taken));
    left = left.subspan(kStepHeader + length);
  }
  target.finish();
  return 0;
}
