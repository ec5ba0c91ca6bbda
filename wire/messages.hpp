// SPDX-License-Identifier: BSD-3-Clause
//
// The header and the bodies of the lease protocol, member by member (wire/layout.hpp has the
// idiom, wire/ops.hpp the numbers, docs/wire.md the same for who writes another client). Nothing
// here knows what a value means beyond its width: the server checks ranges and says which.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/layout.hpp"
#include "wire/ops.hpp"

namespace portcullis::wire {

struct Header {
  std::uint32_t length = 0;  // of the frame, these 16 bytes included
  std::uint16_t op = 0;
  std::uint16_t version = kVersion;
  std::uint64_t request_id = 0;  // chosen by who asks, repeated by the answer; 0 in a notice
};
template <>
inline constexpr auto kLayout<Header> = layout<16>(field("length", 0, &Header::length),
                                                   field("op", 4, &Header::op),
                                                   field("version", 6, &Header::version),
                                                   field("request_id", 8, &Header::request_id));

/// A frame has at most so many bytes; who sends more is hung up on.
inline constexpr std::size_t kMostFrameBytes = 4096;

/// In place of one tenant: all of them. For who may look at all.
inline constexpr std::uint64_t kEveryTenant = ~std::uint64_t{0};

struct HelloRequest {
  std::uint64_t known_incarnation = 0;  // of the server when it was last seen; 0: never
  ByteArray<32> client_name{};          // printable ASCII, then zeros: for the server's log
};
template <>
inline constexpr auto kLayout<HelloRequest> =
    layout<40>(field("known_incarnation", 0, &HelloRequest::known_incarnation),
               field("client_name", 8, &HelloRequest::client_name));

struct HelloAnswer {
  std::uint64_t incarnation = 0;  // of the server: another number whenever its function was reset
  std::uint64_t tenant = 0;       // the asker's
  std::uint64_t most_bytes = 0;   // of one region
  std::uint64_t default_ttl_ms = 0;
  std::uint64_t most_ttl_ms = 0;
  std::uint64_t orphan_ms = 0;  // a lease outlives its holder's last connection so long at most
  std::uint32_t most_leases = 0;
  Role role = Role::Client;
};
template <>
inline constexpr auto kLayout<HelloAnswer> = layout<56>(
    field("incarnation", 0, &HelloAnswer::incarnation), field("tenant", 8, &HelloAnswer::tenant),
    field("most_bytes", 16, &HelloAnswer::most_bytes),
    field("default_ttl_ms", 24, &HelloAnswer::default_ttl_ms),
    field("most_ttl_ms", 32, &HelloAnswer::most_ttl_ms),
    field("orphan_ms", 40, &HelloAnswer::orphan_ms),
    field("most_leases", 48, &HelloAnswer::most_leases), field("role", 52, &HelloAnswer::role),
    reserved(53, 3));

/// Rights of the client's queue pair, as bits.
inline constexpr std::uint8_t kMayWrite = 1;
inline constexpr std::uint8_t kMayRead = 2;
inline constexpr std::uint8_t kMayAtomic = 4;

struct AllocRequest {
  std::uint64_t bytes = 0;
  std::uint64_t ttl_ms = 0;  // 0: the server's default
  ByteArray<16> gid{};       // the client's, an IPv4 address as ::ffff:a.b.c.d
  ByteArray<6> mac{};
  std::uint16_t mtu = 1024;  // bytes of payload that the client's path takes
  std::uint32_t qpn = 0;     // the client's queue pair
  std::uint32_t psn = 0;     // the first that it will send
  std::uint8_t access = kMayWrite | kMayRead;
  std::uint8_t ack_timeout = 14;  // what the client's queue pair uses
  std::uint8_t retry_count = 6;
};
template <>
inline constexpr auto kLayout<AllocRequest> =
    layout<56>(field("bytes", 0, &AllocRequest::bytes), field("ttl_ms", 8, &AllocRequest::ttl_ms),
               field("gid", 16, &AllocRequest::gid), field("mac", 32, &AllocRequest::mac),
               field("mtu", 38, &AllocRequest::mtu), field("qpn", 40, &AllocRequest::qpn),
               field("psn", 44, &AllocRequest::psn), field("access", 48, &AllocRequest::access),
               field("ack_timeout", 49, &AllocRequest::ack_timeout),
               field("retry_count", 50, &AllocRequest::retry_count), reserved(51, 5));

struct AllocAnswer {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
  std::uint64_t address = 0;  // of the region's first byte, as the client's requests name it
  std::uint64_t bytes = 0;
  std::uint64_t ttl_ms = 0;
  ByteArray<16> gid{};  // the server's
  ByteArray<6> mac{};
  std::uint16_t mtu = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  std::uint32_t rkey = 0;
  std::uint8_t ack_timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t access = 0;
};
template <>
inline constexpr auto kLayout<AllocAnswer> = layout<80>(
    field("id", 0, &AllocAnswer::id), field("epoch", 8, &AllocAnswer::epoch),
    field("address", 16, &AllocAnswer::address), field("bytes", 24, &AllocAnswer::bytes),
    field("ttl_ms", 32, &AllocAnswer::ttl_ms), field("gid", 40, &AllocAnswer::gid),
    field("mac", 56, &AllocAnswer::mac), field("mtu", 62, &AllocAnswer::mtu),
    field("qpn", 64, &AllocAnswer::qpn), field("psn", 68, &AllocAnswer::psn),
    field("rkey", 72, &AllocAnswer::rkey), field("ack_timeout", 76, &AllocAnswer::ack_timeout),
    field("retry_count", 77, &AllocAnswer::retry_count), field("access", 78, &AllocAnswer::access),
    reserved(79, 1));

struct RenewRequest {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
  std::uint64_t ttl_ms = 0;  // from now on; 0: the server's default
};
template <>
inline constexpr auto kLayout<RenewRequest> = layout<24>(field("id", 0, &RenewRequest::id),
                                                         field("epoch", 8, &RenewRequest::epoch),
                                                         field("ttl_ms", 16,
                                                               &RenewRequest::ttl_ms));

struct RenewAnswer {
  std::uint64_t ttl_ms = 0;
};
template <>
inline constexpr auto kLayout<RenewAnswer> = layout<8>(field("ttl_ms", 0, &RenewAnswer::ttl_ms));

/// What the holder of a lease has to write into it, and whether that has been seen.
struct ChallengeRequest {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
};
template <>
inline constexpr auto kLayout<ChallengeRequest> =
    layout<16>(field("id", 0, &ChallengeRequest::id), field("epoch", 8, &ChallengeRequest::epoch));

struct ChallengeAnswer {
  ByteArray<8> nonce{};       // for the region's first bytes, in this order; zeros unless Open
  std::uint64_t left_ms = 0;  // until the lease is revoked; 0 unless Open
  Challenge challenge = Challenge::None;
};
template <>
inline constexpr auto kLayout<ChallengeAnswer> = layout<24>(
    field("nonce", 0, &ChallengeAnswer::nonce), field("left_ms", 8, &ChallengeAnswer::left_ms),
    field("challenge", 16, &ChallengeAnswer::challenge), reserved(17, 7));

struct RevokeRequest {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
  Plan plan = Plan::Default;
};
template <>
inline constexpr auto kLayout<RevokeRequest> = layout<24>(field("id", 0, &RevokeRequest::id),
                                                          field("epoch", 8, &RevokeRequest::epoch),
                                                          field("plan", 16, &RevokeRequest::plan),
                                                          reserved(17, 7));

struct RevokeAnswer {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;      // as asked
  std::uint64_t revoke_us = 0;  // from the request's arrival until the outcome stood
  std::uint32_t failed_mask = 0;
  Outcome outcome = Outcome::NotFound;
  Memory memory = Memory::Unproved;
  Cause cause = Cause::None;  // who ended it; of a lease that had ended before, who did then
};
template <>
inline constexpr auto kLayout<RevokeAnswer> = layout<32>(
    field("id", 0, &RevokeAnswer::id), field("epoch", 8, &RevokeAnswer::epoch),
    field("revoke_us", 16, &RevokeAnswer::revoke_us),
    field("failed_mask", 24, &RevokeAnswer::failed_mask),
    field("outcome", 28, &RevokeAnswer::outcome), field("memory", 29, &RevokeAnswer::memory),
    field("cause", 30, &RevokeAnswer::cause), reserved(31, 1));

struct RevokeTenantRequest {
  std::uint64_t tenant = 0;
};
template <>
inline constexpr auto kLayout<RevokeTenantRequest> = layout<8>(field("tenant", 0,
                                                                     &RevokeTenantRequest::tenant));

/// Comes when every one of them has its outcome.
struct RevokeTenantAnswer {
  std::uint64_t revoke_us = 0;
  std::uint32_t torn_down = 0;
  std::uint32_t fenced = 0;
};
template <>
inline constexpr auto kLayout<RevokeTenantAnswer> =
    layout<16>(field("revoke_us", 0, &RevokeTenantAnswer::revoke_us),
               field("torn_down", 8, &RevokeTenantAnswer::torn_down),
               field("fenced", 12, &RevokeTenantAnswer::fenced));

struct ListRequest {
  std::uint64_t tenant = 0;  // or kEveryTenant
  std::uint64_t cursor = 0;  // 0, or next_cursor of the answer before
};
template <>
inline constexpr auto kLayout<ListRequest> = layout<16>(field("tenant", 0, &ListRequest::tenant),
                                                        field("cursor", 8, &ListRequest::cursor));

/// `count` rows follow.
struct ListAnswer {
  std::uint64_t next_cursor = 0;  // 0: there are no more
  std::uint32_t count = 0;
};
template <>
inline constexpr auto kLayout<ListAnswer> = layout<16>(field("next_cursor", 0,
                                                             &ListAnswer::next_cursor),
                                                       field("count", 8, &ListAnswer::count),
                                                       reserved(12, 4));

/// A lease that is held, is being taken back, or whose slot is out of use. Its key is nobody's
/// business here.
struct LeaseRow {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
  std::uint64_t tenant = 0;
  std::uint64_t bytes = 0;
  std::uint64_t age_ms = 0;
  std::uint64_t left_ms = 0;  // until it ends by itself; 0: it has ended
  std::uint32_t failed_mask = 0;
  State state = State::Active;
  Outcome outcome = Outcome::Revoking;
  Memory memory = Memory::Unproved;
  Cause cause = Cause::None;
};
template <>
inline constexpr auto kLayout<LeaseRow> =
    layout<56>(field("id", 0, &LeaseRow::id), field("epoch", 8, &LeaseRow::epoch),
               field("tenant", 16, &LeaseRow::tenant), field("bytes", 24, &LeaseRow::bytes),
               field("age_ms", 32, &LeaseRow::age_ms), field("left_ms", 40, &LeaseRow::left_ms),
               field("failed_mask", 48, &LeaseRow::failed_mask),
               field("state", 52, &LeaseRow::state), field("outcome", 53, &LeaseRow::outcome),
               field("memory", 54, &LeaseRow::memory), field("cause", 55, &LeaseRow::cause));
/// Of one answer.
inline constexpr std::size_t kMostRows = 64;
static_assert(kBytes<Header> + kBytes<ListAnswer> + kMostRows * kBytes<LeaseRow> <=
              kMostFrameBytes);

/// Leases that have ended, from the server's journal, the newest first.
struct HistoryRequest {
  std::uint64_t tenant = 0;         // or kEveryTenant
  std::uint64_t since_unix_ms = 0;  // those that ended earlier are left out
  /// Those that ended before this one, by time, id and epoch: the last row of the answer before.
  /// All zeros: from the newest on.
  std::uint64_t before_unix_ms = 0;
  std::uint64_t before_id = 0;
  std::uint64_t before_epoch = 0;
  std::uint8_t fenced_only = 0;  // 1: what was TornDown is left out
};
template <>
inline constexpr auto kLayout<HistoryRequest> =
    layout<48>(field("tenant", 0, &HistoryRequest::tenant),
               field("since_unix_ms", 8, &HistoryRequest::since_unix_ms),
               field("before_unix_ms", 16, &HistoryRequest::before_unix_ms),
               field("before_id", 24, &HistoryRequest::before_id),
               field("before_epoch", 32, &HistoryRequest::before_epoch),
               field("fenced_only", 40, &HistoryRequest::fenced_only), reserved(41, 7));

/// `count` rows follow.
struct HistoryAnswer {
  std::uint64_t from_unix_ms = 0;  // of what ended earlier the server may know nothing any more
  std::uint32_t count = 0;
  std::uint8_t has_more = 0;  // 1: older ones
};
template <>
inline constexpr auto kLayout<HistoryAnswer> =
    layout<16>(field("from_unix_ms", 0, &HistoryAnswer::from_unix_ms),
               field("count", 8, &HistoryAnswer::count),
               field("has_more", 12, &HistoryAnswer::has_more), reserved(13, 3));

struct HistoryRow {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
  std::uint64_t tenant = 0;
  std::uint64_t bytes = 0;
  std::uint64_t granted_unix_ms = 0;
  std::uint64_t ended_unix_ms = 0;
  std::uint32_t failed_mask = 0;
  Outcome outcome = Outcome::TornDown;
  Memory memory = Memory::Unproved;
  Cause cause = Cause::None;
};
template <>
inline constexpr auto kLayout<HistoryRow> =
    layout<56>(field("id", 0, &HistoryRow::id), field("epoch", 8, &HistoryRow::epoch),
               field("tenant", 16, &HistoryRow::tenant), field("bytes", 24, &HistoryRow::bytes),
               field("granted_unix_ms", 32, &HistoryRow::granted_unix_ms),
               field("ended_unix_ms", 40, &HistoryRow::ended_unix_ms),
               field("failed_mask", 48, &HistoryRow::failed_mask),
               field("outcome", 52, &HistoryRow::outcome), field("memory", 53, &HistoryRow::memory),
               field("cause", 54, &HistoryRow::cause), reserved(55, 1));
static_assert(kBytes<Header> + kBytes<HistoryAnswer> + kMostRows * kBytes<HistoryRow> <=
              kMostFrameBytes);

/// From the answer on, a notice for every lease of the tenant that ends.
struct WatchRequest {
  std::uint64_t tenant = 0;  // or kEveryTenant
};
template <>
inline constexpr auto kLayout<WatchRequest> = layout<8>(field("tenant", 0, &WatchRequest::tenant));

struct WatchAnswer {
  std::uint64_t incarnation = 0;
};
template <>
inline constexpr auto kLayout<WatchAnswer> = layout<8>(field("incarnation", 0,
                                                             &WatchAnswer::incarnation));

struct StatusRequest {
  std::uint64_t flags = 0;  // none yet
};
template <>
inline constexpr auto kLayout<StatusRequest> = layout<8>(field("flags", 0, &StatusRequest::flags));

inline constexpr std::uint32_t kDeviceLost = 1;   // nothing is granted any more
inline constexpr std::uint32_t kJournalLost = 2;  // nothing is granted until it can be written
inline constexpr std::uint32_t kEmulated = 4;     // the device is a model
inline constexpr std::uint32_t kIsEnding = 8;

struct StatusAnswer {
  std::uint64_t incarnation = 0;
  std::uint64_t uptime_ms = 0;
  std::uint64_t granted = 0;  // since the server started
  std::uint64_t torn_down = 0;
  std::uint64_t fenced = 0;
  std::uint64_t longest_revoke_us = 0;
  std::uint32_t slots = 0;
  std::uint32_t held = 0;     // ACTIVE
  std::uint32_t resting = 0;  // fenced, until their numbers may be used again
  std::uint32_t out = 0;      // FENCED slots
  std::uint32_t connections = 0;
  std::uint32_t flags = 0;
  ByteArray<96> device{};  // text: what it is, and whether figures are emulated
};
template <>
inline constexpr auto kLayout<StatusAnswer> = layout<168>(
    field("incarnation", 0, &StatusAnswer::incarnation),
    field("uptime_ms", 8, &StatusAnswer::uptime_ms), field("granted", 16, &StatusAnswer::granted),
    field("torn_down", 24, &StatusAnswer::torn_down), field("fenced", 32, &StatusAnswer::fenced),
    field("longest_revoke_us", 40, &StatusAnswer::longest_revoke_us),
    field("slots", 48, &StatusAnswer::slots), field("held", 52, &StatusAnswer::held),
    field("resting", 56, &StatusAnswer::resting), field("out", 60, &StatusAnswer::out),
    field("connections", 64, &StatusAnswer::connections), field("flags", 68, &StatusAnswer::flags),
    field("device", 72, &StatusAnswer::device));

/// REVOKED and EXPIRED: a lease has its outcome.
struct EndedNotice {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
  std::uint64_t tenant = 0;
  std::uint64_t unix_ms = 0;  // when the outcome stood, by the server's clock
  std::uint32_t failed_mask = 0;
  Outcome outcome = Outcome::TornDown;
  Memory memory = Memory::Unproved;
  Cause cause = Cause::None;
};
template <>
inline constexpr auto kLayout<EndedNotice> = layout<40>(
    field("id", 0, &EndedNotice::id), field("epoch", 8, &EndedNotice::epoch),
    field("tenant", 16, &EndedNotice::tenant), field("unix_ms", 24, &EndedNotice::unix_ms),
    field("failed_mask", 32, &EndedNotice::failed_mask),
    field("outcome", 36, &EndedNotice::outcome), field("memory", 37, &EndedNotice::memory),
    field("cause", 38, &EndedNotice::cause), reserved(39, 1));

/// The server that the client knew is gone. A notice for each lease of its tenant that ended with
/// it follows.
struct RestartedNotice {
  std::uint64_t incarnation = 0;
  std::uint64_t known_incarnation = 0;  // as the client's HELLO had it
};
template <>
inline constexpr auto kLayout<RestartedNotice> =
    layout<16>(field("incarnation", 0, &RestartedNotice::incarnation),
               field("known_incarnation", 8, &RestartedNotice::known_incarnation));

/// In place of an answer.
struct Refusal {
  Code code = Code::Malformed;
  std::uint16_t op = 0;   // what was refused
  ByteArray<124> text{};  // one line, then zeros
};
template <>
inline constexpr auto kLayout<Refusal> = layout<128>(field("code", 0, &Refusal::code),
                                                     field("op", 2, &Refusal::op),
                                                     field("text", 4, &Refusal::text));

/// What is in a body's text, up to its first zero; bytes that are no printable ASCII as '?'.
[[nodiscard]] std::string text_of(std::span<const std::uint8_t> bytes);
/// Printable ASCII up to the first zero, and nothing but zeros behind it.
[[nodiscard]] bool is_text(std::span<const std::uint8_t> bytes) noexcept;
/// `text`, cut to what fits, then zeros.
void put_text(std::span<std::uint8_t> bytes, std::string_view text) noexcept;

}  // namespace portcullis::wire
