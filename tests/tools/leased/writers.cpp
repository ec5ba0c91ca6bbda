// SPDX-License-Identifier: BSD-3-Clause
#include "tests/tools/leased/writers.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/device.hpp"
#include "model/transport/headers.hpp"

namespace portcullis::testing {
namespace {

using model::BthOpcode;
using model::psn_add;
using model::psn_distance;

constexpr std::uint64_t kBetweenFramesNs = 20'000;    // of all together
constexpr std::uint64_t kBetweenTurnsNs = 1'000'000;  // of one
constexpr std::uint64_t kUnansweredNs = 20'000'000;   // then from the first unanswered on
constexpr std::int32_t kWindow = 4;
constexpr std::size_t kMostWrong = 20;

struct Payload {
  std::uint64_t nonce = 0;  // of the lease's challenge, where it is the region's first word
  std::uint64_t magic = Writers::kMagic;
  std::uint64_t tag = 0;
  std::uint64_t sequence = 0;
  std::array<std::uint64_t, 4> rest{};
};
static_assert(sizeof(Payload) == Writers::kPayload);

}  // namespace

void Writers::set_addresses(const Addresses& addresses) {
  const std::lock_guard one(mutex_);
  addresses_ = addresses;
}

void Writers::add(const Target& target) {
  const std::lock_guard one(mutex_);
  model::Path path;
  path.source_ip = addresses_.client_gid;
  path.dest_ip = addresses_.port_gid;
  path.source_mac = addresses_.client_mac;
  path.dest_mac = addresses_.port_mac;
  path.hop_limit = 64;
  path.udp_sport = 0xc000;
  path.dest_qpn = target.qpn;
  if (writers_.size() == kMost) writers_.pop_front();
  writers_.push_back({.target = target,
                      .frames = model::FrameTemplate(path),
                      .next = target.psn,
                      .acknowledged = target.psn});
}

void Writers::meet(std::uint64_t tag, std::uint64_t nonce) {
  const std::lock_guard one(mutex_);
  for (Writer& writer : writers_)
    if (writer.target.tag == tag) writer.nonce = nonce;
}

std::uint64_t Writers::sent() const {
  const std::lock_guard one(mutex_);
  return sent_;
}

std::vector<Moment> Writers::refused() const {
  const std::lock_guard one(mutex_);
  return refused_;
}

std::optional<std::size_t> Writers::receive(std::span<std::byte> frame) {
  const std::lock_guard one(mutex_);
  const std::uint64_t now_ns = Clock::wall().now_ns();
  if (now_ns - last_ns_ < kBetweenFramesNs) return std::nullopt;
  for (std::size_t tried = 0; tried < writers_.size(); ++tried) {
    Writer& writer = writers_[turn_++ % writers_.size()];
    if (now_ns - writer.asked_ns < kBetweenTurnsNs) continue;
    if (now_ns - writer.asked_ns > kUnansweredNs) writer.next = writer.acknowledged;
    if (psn_distance(writer.next, writer.acknowledged) >= kWindow) continue;
    last_ns_ = writer.asked_ns = now_ns;
    ++sent_;
    return build(writer, frame);
  }
  return std::nullopt;
}

std::size_t Writers::build(Writer& writer, std::span<std::byte> frame) const {
  const std::uint32_t psn = std::exchange(writer.next, psn_add(writer.next, 1));
  const Payload payload{.nonce = writer.nonce, .tag = writer.target.tag, .sequence = psn};
  std::memcpy(frame.data() + writer.frames.payload_offset(BthOpcode::WriteOnly), &payload,
              sizeof payload);
  // A challenge is met by whichever of the next ones arrives.
  const std::uint64_t places = writer.nonce == 0 ? writer.target.bytes / kPayload : 1;
  model::PacketHeader header;
  header.opcode = BthOpcode::WriteOnly;
  header.ack_request = true;
  header.psn = psn;
  header.va = writer.target.address + psn % places * kPayload;
  header.rkey = writer.target.rkey;
  header.dma_length = kPayload;
  return writer.frames.finish(frame, header, kPayload);
}

/// An acknowledgement, or a NAK that says from where on; what concerns nothing that is under way
/// is passed over, as a requester does.
bool Writers::send(std::span<const std::byte> frame) {
  const auto packet = model::decode(frame);
  if (!packet || packet->operation() != BthOpcode::Acknowledge) return true;
  const std::lock_guard one(mutex_);
  for (Writer& writer : writers_) {
    if (writer.target.own_qpn != packet->dest_qpn) continue;
    const std::int32_t behind = psn_distance(packet->psn, writer.acknowledged);
    if (behind < 0 || psn_distance(packet->psn, writer.next) >= 0) continue;
    if ((packet->syndrome & model::syndrome::kTypeMask) == model::syndrome::kAck) {
      writer.acknowledged = psn_add(packet->psn, 1);
    } else if (packet->syndrome == model::syndrome::kNakPsnSequenceError) {
      writer.next = writer.acknowledged = packet->psn;
    } else if (packet->syndrome == model::syndrome::kNakRemoteAccessError &&
               !std::exchange(writer.is_refused, true)) {
      refused_.push_back({.tag = writer.target.tag, .ns = Clock::wall().now_ns()});
    }
  }
  return true;
}

void Judge::note(std::string what) {
  if (report_.wrong.size() < kMostWrong) report_.wrong.push_back(std::move(what));
}

void Judge::on_dma(std::span<const std::byte> memory, bool is_write) noexcept {
  if (!is_write || memory.size() != Writers::kPayload) return;
  Payload payload;
  std::memcpy(&payload, memory.data(), sizeof payload);
  if (payload.magic != Writers::kMagic) return;
  const std::lock_guard one(mutex_);
  ++report_.landed;
  if (!is_owned_) ++report_.landed_orphaned;
  const std::string who = "client " + std::to_string(payload.tag);
  const auto found = leases_.find(payload.tag);
  if (found == leases_.end()) return note(who + ": a WRITE landed before its grant was told");
  landed_.push_back({.tag = payload.tag, .ns = Clock::wall().now_ns()});
  Lease& lease = found->second;
  ++lease.landed;
  if (lease.has_ended) note(who + ": a byte changed after " + lease.how);
  const std::uintptr_t page = std::bit_cast<std::uintptr_t>(memory.data()) / kPageBytes;
  if (const auto unproved = unproved_.find(page); unproved != unproved_.end())
    note(who + ": given memory of client " + std::to_string(unproved->second) +
         ", which nothing has proved");
  const auto [at, is_new] = pages_.try_emplace(page, payload.tag);
  if (is_new) return lease.pages.push_back(page);
  if (at->second != payload.tag)
    note(who + ": changed memory of client " + std::to_string(at->second) +
         ", whose lease is held");
}

void Judge::grant(std::uint64_t tag) {
  const std::lock_guard one(mutex_);
  leases_.insert_or_assign(tag, Lease{});
}

void Judge::end(std::uint64_t tag, bool is_proved) {
  const std::lock_guard one(mutex_);
  const auto found = leases_.find(tag);
  if (found == leases_.end()) return;
  found->second.has_ended = true;
  found->second.how = "its outcome was told";
  for (const std::uintptr_t page : found->second.pages) {
    if (!is_proved) unproved_.insert_or_assign(page, tag);
    if (const auto at = pages_.find(page); at != pages_.end() && at->second == tag)
      pages_.erase(at);
  }
}

void Judge::reset() {
  const std::lock_guard one(mutex_);
  ++report_.resets;
  pages_.clear();
  unproved_.clear();
  for (auto& [tag, lease] : leases_)
    if (!std::exchange(lease.has_ended, true)) lease.how = "the function was reset";
}

void Judge::owner(bool is_there) {
  const std::lock_guard one(mutex_);
  is_owned_ = is_there;
  if (is_there) ++report_.owners;
}

Judge::Report Judge::report() const {
  const std::lock_guard one(mutex_);
  return report_;
}

std::vector<Moment> Judge::landed() const {
  const std::lock_guard one(mutex_);
  return landed_;
}

std::uint64_t Judge::landed_of(std::uint64_t tag) const {
  const std::lock_guard one(mutex_);
  const auto found = leases_.find(tag);
  return found == leases_.end() ? 0 : found->second.landed;
}

}  // namespace portcullis::testing
