// SPDX-License-Identifier: BSD-3-Clause
#include "late/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include "base/dma_bytes.hpp"
#include "late/server.hpp"
#include "late/writer.hpp"
#include "lease/lease_manager.hpp"
#include "model/transport/headers.hpp"
#include "pfc/bound/pause_times.hpp"

namespace portcullis::late {
namespace {

constexpr std::size_t kClient = 0;
constexpr std::size_t kOther = 1;
constexpr std::size_t kOwner = 2;  // of the leases
constexpr std::uint32_t kOldTenant = 1;
constexpr std::uint32_t kNextTenant = 2;
constexpr std::uint32_t kOtherTenant = 3;
constexpr std::uint64_t kRegionBytes = kPageBytes;
constexpr std::uint64_t kEarlyAt = 0;  // where the WRITEs go
constexpr std::uint64_t kLateAt = 512;
constexpr std::uint64_t kOwnAt = 1024;
constexpr std::uint64_t kGlanceNs = 50 * kNsPerUs;
constexpr std::uint64_t kPatienceNs = 2 * kNsPerSecond;
constexpr std::uint32_t kPsnMask = 0xffffff;
constexpr double kMostMs = 20'000;  // of a run
constexpr std::size_t kNotSent = ~std::size_t{0};
/// Of every client but the one that is to give up: patience for any load.
constexpr std::uint8_t kPatientTimeout = 14;
constexpr std::uint8_t kPatientRetries = 6;

std::vector<std::byte> copy_of(std::span<const std::byte> memory) {
  std::vector<std::byte> bytes(memory.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = dma_peek(memory.data() + i);
  return bytes;
}

std::uint64_t difference(std::span<const std::byte> memory, std::span<const std::byte> before) {
  std::uint64_t changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    changed += dma_peek(memory.data() + i) != before[i] ? 1 : 0;
  return changed;
}

class Run {
 public:
  Run(const Setup& setup, const Trial& trial) : setup_(setup), trial_(trial), random_(setup.seed) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Result<Seen> run() {
    PORTCULLIS_TRY(bring_up());
    PORTCULLIS_TRY(admit_first());
    pass_until(begin_ns_ + setup_.settle_ms * kNsPerMs);
    PORTCULLIS_TRY(send_late());
    PORTCULLIS_TRY(fence());
    PORTCULLIS_TRY(await_end());
    PORTCULLIS_TRY(look_behind());
    return conclude();
  }

 private:
  // Before.
  Result<void> bring_up();
  Result<void> start_manager();
  Result<void> admit_first();
  [[nodiscard]] lease::GrantRequest request_of(const Writer& writer, std::uint32_t psn) const;
  Result<void> expect_arrival(Writer& writer, std::uint64_t at, const char* what);
  // The WRITE and the fence.
  Result<void> send_late();
  Result<void> fence();
  // Behind it.
  Result<void> await_end();
  Result<void> poll();
  Result<void> admit_next();
  void look_at_arrival(const Passage& passage);
  Result<void> look_behind();
  Result<void> try_own_write();
  [[nodiscard]] Met what_it_met() const;
  Seen conclude();

  [[nodiscard]] Server* owner() const noexcept {
    return servers_.size() > kOwner ? servers_[kOwner].get() : nullptr;
  }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return loop_->now_ns(); }
  [[nodiscard]] std::uint32_t draw_psn() {
    return static_cast<std::uint32_t>(random_()) & kPsnMask;
  }
  [[nodiscard]] bool is_stopped() const noexcept {
    return setup_.is_stopped != nullptr && *setup_.is_stopped;
  }
  /// The time passes, with whatever happens in it.
  void pass_until(std::uint64_t until_ns) {
    while (now_ns() < until_ns && !is_stopped()) owner()->context().device.relax(until_ns);
  }
  [[nodiscard]] double since_fence_us(std::uint64_t at_ns) const noexcept {
    return (static_cast<double>(at_ns) - static_cast<double>(seen_.fenced_ns)) / 1000;
  }
  [[nodiscard]] const Passage& late() const noexcept { return wire_->passages()[late_]; }

  const Setup& setup_;
  const Trial& trial_;
  std::mt19937_64 random_;
  Seen seen_;
  // Destroyed from the last to the first.
  std::shared_ptr<model::EventLoop> loop_;
  proof::adversary::Witness witness_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::unique_ptr<SwitchedWire> wire_;
  std::optional<Writer> old_;
  std::optional<Writer> next_;
  std::optional<Writer> other_;
  std::unique_ptr<lease::LeaseManager> manager_;
  std::uint64_t begin_ns_ = 0;   // of the fabric
  std::size_t late_ = kNotSent;  // among the passages
  std::uint32_t late_psn_ = 0;
  std::span<const std::byte> region_;  // of the lease that was fenced
  std::vector<std::byte> region_before_;
  std::vector<std::byte> next_before_;
  std::optional<Met> found_;  // where it arrived
  bool has_failed_ = false;   // the client knows
};

Result<void> Run::bring_up() {
  loop_ = std::make_shared<model::EventLoop>(model::Execution::Stepped, setup_.seed);
  PORTCULLIS_TRY_ASSIGN(const Ring ring, make_ring(setup_.ring));
  std::vector<SwitchedWire::Station> stations;
  for (std::size_t i = 0; i < kServers; ++i) {
    Server::Options options{.number = static_cast<std::uint8_t>(i + 1), .seed = setup_.seed};
    // What firmware may do at worst: a number that was given back is the next to be given.
    if (i == kOwner) options.behaviours = {"reuse-numbers"};
    PORTCULLIS_TRY_ASSIGN(auto server, Server::bring_up(loop_, options));
    stations.push_back({server->wire(), server->address().mac.octets});
    servers_.push_back(std::move(server));
  }
  witness_.set_clock(loop_->clock());
  owner()->model().observe_dma(&witness_);
  PORTCULLIS_TRY(start_manager());
  pfc::packet::RunOptions options;
  options.until = static_cast<pfc::packet::Picoseconds>(kMostMs * 1e9);
  options.packet_bytes = pfc::bound::kLargestRoceFrame;
  constexpr pfc::packet::Picoseconds kSamplePs = 20'000'000;
  if (trial_.samples) options.sample_every = kSamplePs;
  PORTCULLIS_TRY_ASSIGN(wire_, SwitchedWire::create(ring, options, loop_, std::move(stations)));
  wire_->on_arrival([this](const Passage& passage) { look_at_arrival(passage); });
  begin_ns_ = now_ns();
  return {};
}

Result<void> Run::start_manager() {
  lease::LeaseManager::Options options;
  options.table = {.slots = 2, .first_epoch = 1};
  options.grant.psn_seed = setup_.seed;
  options.grace_ms = trial_.grace_ms;
  options.residence_ms = trial_.residence_ms;
  if (!trial_.has_fresh_key_byte) options.grant.key_byte = [] { return std::uint8_t{0x5a}; };
  PORTCULLIS_TRY_ASSIGN(manager_,
                        lease::LeaseManager::create(lease::Host::of(owner()->driver()), options));
  return {};
}

lease::GrantRequest Run::request_of(const Writer& writer, std::uint32_t psn) const {
  lease::GrantRequest request;
  request.bytes = kRegionBytes;
  request.peer = writer.peer(psn);
  request.tenant = writer.owner();
  const bool gives_up = writer.owner() == kOldTenant;
  request.ack_timeout = gives_up ? kImpatientTimeout : kPatientTimeout;
  request.retry_count = gives_up ? kImpatientRetries : kPatientRetries;
  return request;
}

/// A lease for the client, and one for the third server's; each WRITEs once through the fabric
/// while that is empty, so that it is known to.
Result<void> Run::admit_first() {
  const auto admit = [this](std::optional<Writer>& writer, std::size_t home,
                            std::uint32_t tenant) -> Result<void> {
    PORTCULLIS_TRY_ASSIGN(auto made, Writer::create(*servers_[home], tenant));
    writer.emplace(std::move(made));
    const std::uint32_t psn = draw_psn();
    PORTCULLIS_TRY_ASSIGN(const auto grant, manager_->grant(request_of(*writer, psn)));
    witness_.give(manager_->memory(grant.lease), tenant);
    return writer->connect(grant, *owner(), psn);
  };
  PORTCULLIS_TRY(admit(other_, kOther, kOtherTenant));
  PORTCULLIS_TRY(admit(old_, kClient, kOldTenant));
  PORTCULLIS_TRY(expect_arrival(*other_, kEarlyAt, "the other server's first WRITE"));
  const std::size_t first = wire_->passages().size();
  PORTCULLIS_TRY(expect_arrival(*old_, kEarlyAt, "the client's first WRITE"));
  const Passage& passage = wire_->passages()[first];
  seen_.first_us = static_cast<double>(passage.ended_ns - passage.sent_ns) / 1000;
  return {};
}

Result<void> Run::expect_arrival(Writer& writer, std::uint64_t at, const char* what) {
  const auto memory = manager_->memory(writer.grant().lease).subspan(at, Writer::kWriteBytes);
  const std::vector<std::byte> before = copy_of(memory);
  PORTCULLIS_TRY(writer.post(at));
  PORTCULLIS_TRY_ASSIGN(const auto completion, writer.wait(kPatienceNs));
  if (!completion.ok())
    return fail(Errc::DeviceFailed, fmt::format("{}: {}", what, pmd::describe(completion)));
  if (difference(memory, before) == 0)
    return fail(Errc::DeviceFailed, fmt::format("{} was acknowledged and changed nothing", what));
  return {};
}

/// It has left its server when this returns, or is never going to.
Result<void> Run::send_late() {
  late_ = wire_->passages().size();
  late_psn_ = old_->next_psn();
  PORTCULLIS_TRY(old_->post(kLateAt));
  pass_until(now_ns() + kGlanceNs);
  while (late_ < wire_->passages().size() && late().from != kClient) ++late_;
  if (late_ == wire_->passages().size())
    return fail(Errc::DeviceFailed, "the client's server sent nothing");
  return {};
}

Result<void> Run::fence() {
  const lease::Lease& lease = old_->grant().lease;
  region_ = manager_->memory(lease);
  const lease::RevokeAnswer answer = manager_->revoke(lease.id, lease.epoch);
  if (answer.outcome != lease::Outcome::TornDown)
    return fail(Errc::DeviceFailed, "the lease was not torn down");
  witness_.forbid(kOldTenant);
  region_before_ = copy_of(region_);
  seen_.fenced_ns = now_ns();
  seen_.fabric_fence_us = wire_->fabric_us(seen_.fenced_ns);
  return {};
}

/// Until what was late has come, if it does, and the tenant that follows has the slot.
Result<void> Run::await_end() {
  const std::uint64_t longest_ms = trial_.rest_ms() + setup_.patience_ms;
  const std::uint64_t until_ns = now_ns() + longest_ms * kNsPerMs;
  while (now_ns() < until_ns && !is_stopped()) {
    pass_until(now_ns() + kGlanceNs);
    PORTCULLIS_TRY(poll());
    if (next_ && late().fate != Passage::Fate::UnderWay) break;
  }
  pass_until(now_ns() + kGlanceNs);
  return {};
}

Result<void> Run::poll() {
  manager_->poll();
  PORTCULLIS_TRY_ASSIGN(const auto completion, old_->poll());
  if (completion && !std::exchange(has_failed_, true)) {
    seen_.client_status = completion->status;
    seen_.client_us = since_fence_us(now_ns());
  }
  const lease::Lease& lease = old_->grant().lease;
  if (manager_->table().state(lease.slot) == lease::State::Free) {
    witness_.forget(region_);  // it is nobody's, and its memory may be anything by now
    return admit_next();
  }
  if (!next_) seen_.changed_before = difference(region_, region_before_);
  return {};
}

/// At once, on the same server: the address of whoever sends tells two tenants of one host apart by
/// nothing.
Result<void> Run::admit_next() {
  PORTCULLIS_TRY_ASSIGN(auto made, Writer::create(*servers_[kClient], kNextTenant));
  next_.emplace(std::move(made));
  const std::uint32_t psn = trial_.has_fresh_psn ? draw_psn() : late_psn_;
  PORTCULLIS_TRY_ASSIGN(const auto grant, manager_->grant(request_of(*next_, psn)));
  const std::span<std::byte> region = manager_->memory(grant.lease);
  dma_fill(region, std::byte{0xa5});
  next_before_ = copy_of(region);
  witness_.give(region, kNextTenant);
  seen_.has_next = true;
  seen_.next_us = since_fence_us(now_ns());
  seen_.same_number = grant.qpn == old_->grant().qpn;
  seen_.same_key = grant.rkey == old_->grant().rkey;
  return next_->connect(grant, *owner(), psn);
}

/// In the moment before its server gets it: who has its number now?
void Run::look_at_arrival(const Passage& passage) {
  if (late_ >= wire_->passages().size() || &passage != &late()) return;
  const lease::Lease& lease = old_->grant().lease;
  const lease::LeaseTable& table = manager_->table();
  if (next_) {
    found_ = Met::LiveKey;  // unless the answer says otherwise
  } else if (table.state(lease.slot) == lease::State::Active) {
    found_ = Met::LiveLease;
  } else {
    const bool is_in_error = table.state(lease.slot) == lease::State::PendingDestroy &&
                             !table.is_quarantined(lease.slot);
    found_ = is_in_error ? Met::Error : Met::Reset;
  }
}

/// The answer is what the owner of the leases sends in the moment in which the WRITE arrives. One
/// whose PSN is another's gets a NAK, an acknowledgement as what came before, or none.
Met Run::what_it_met() const {
  if (!found_) return Met::Nothing;
  if (*found_ != Met::LiveKey || seen_.changed_next > 0) return *found_;
  const auto& passages = wire_->passages();
  const auto answer = std::ranges::find_if(passages, [this](const Passage& passage) {
    return passage.from == kOwner && passage.to == kClient &&
           passage.handed_ns >= late().ended_ns && passage.handed_ns < late().ended_ns + kNsPerUs;
  });
  const bool is_refused =
      answer != passages.end() && answer->syndrome == model::syndrome::kNakRemoteAccessError;
  return is_refused ? Met::DeadKey : Met::WrongPsn;
}

Result<void> Run::look_behind() {
  seen_.compared_us = since_fence_us(now_ns());
  if (next_) {
    seen_.changed_next = difference(manager_->memory(next_->grant().lease), next_before_);
    seen_.violation = witness_.first();
    PORTCULLIS_TRY(try_own_write());
  } else {
    seen_.violation = witness_.first();
  }
  seen_.is_other_undisturbed =
      expect_arrival(*other_, kOwnAt, "the other server's last WRITE").has_value();
  return {};
}

/// What the next tenant's own first WRITE comes to: the control, and what a stale packet costs.
Result<void> Run::try_own_write() {
  const auto memory = manager_->memory(next_->grant().lease).subspan(kOwnAt, Writer::kWriteBytes);
  const std::vector<std::byte> before = copy_of(memory);
  PORTCULLIS_TRY(next_->post(kOwnAt));
  PORTCULLIS_TRY_ASSIGN(const auto completion, next_->wait(kPatienceNs));
  if (!completion.ok()) {
    seen_.own = OwnWrite::Failed;
  } else {
    seen_.own = difference(memory, before) > 0 ? OwnWrite::Written : OwnWrite::Unwritten;
  }
  return {};
}

Seen Run::conclude() {
  seen_.late = late();
  seen_.met = what_it_met();
  seen_.sent_us = since_fence_us(late().sent_ns);
  seen_.arrived_us = since_fence_us(late().ended_ns);
  seen_.fabric = wire_->finish();
  return std::move(seen_);
}

}  // namespace

const char* describe(Met met) noexcept {
  switch (met) {
    case Met::Nothing:
      return "never came";
    case Met::LiveLease:
      return "its own lease";
    case Met::Error:
      return "QP in error";
    case Met::Reset:
      return "QP in RESET";
    case Met::DeadKey:
      return "dead key";
    case Met::WrongPsn:
      return "another PSN";
    case Met::LiveKey:
      return "live key";
  }
  return "";
}

const char* describe(OwnWrite own) noexcept {
  switch (own) {
    case OwnWrite::None:
      return "none";
    case OwnWrite::Written:
      return "arrived";
    case OwnWrite::Unwritten:
      return "lost, yet acknowledged";
    case OwnWrite::Failed:
      return "failed";
  }
  return "";
}

Result<Seen> run(const Setup& setup, const Trial& trial) { return Run(setup, trial).run(); }

}  // namespace portcullis::late
