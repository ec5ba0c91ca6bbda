// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leasectl/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include <nlohmann/json.hpp>

#include "pmd/gid.hpp"
#include "tools/lease_words.hpp"

namespace portcullis::tools::leasectl {
namespace {

using Json = nlohmann::ordered_json;

std::string gid_text(const wire::ByteArray<16>& bytes) {
  pmd::Gid gid;
  for (std::size_t i = 0; i < bytes.size(); ++i) gid.bytes[i] = std::byte{bytes[i]};
  return gid.text();
}

/// In the order of the region's bytes.
std::string nonce_text(const wire::ByteArray<8>& nonce) {
  return fmt::format("{:02x}", fmt::join(nonce, ""));
}

void add_outcome(Json& json, wire::Outcome outcome, wire::Memory memory, wire::Cause cause,
                 std::uint32_t failed_mask) {
  json["outcome"] = wire::name(outcome);
  json["memory"] = wire::name(memory);
  json["cause"] = wire::name(cause);
  json["failed_mask"] = failed_mask;
  if (failed_mask != 0) json["failed"] = wire::steps_text(failed_mask);
}

std::string seconds(std::uint64_t ms) {
  return fmt::format("{}.{:01} s", ms / 1000, ms % 1000 / 100);
}

std::string flags_text(std::uint32_t flags) {
  std::string text;
  if ((flags & wire::kDeviceLost) != 0) text += "\nthe device is lost: nothing is granted";
  if ((flags & wire::kJournalLost) != 0)
    text += "\nthe journal cannot be written: nothing is granted until it can";
  if ((flags & wire::kIsEnding) != 0) text += "\nthe server is ending";
  return text;
}

}  // namespace

std::string time_text(std::uint64_t unix_ms) {
  constexpr std::uint64_t kLatestMs = 253'402'300'799'999;  // of four digits' years
  const auto seconds = static_cast<std::time_t>(std::min(unix_ms, kLatestMs) / 1000);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03}Z", utc, unix_ms % 1000);
}

std::string text_of(const wire::StatusAnswer& status) {
  const char* emulated = (status.flags & wire::kEmulated) != 0 ? ", emulated: not NIC latency" : "";
  return fmt::format(
             "device       {}{}\n"
             "up           {}, incarnation {:x}, {} connections\n"
             "slots        {}: {} held, {} resting, {} fenced\n"
             "so far       {} granted, {} TornDown, {} Fenced; longest revoke {} us",
             wire::text_of(status.device), emulated, seconds(status.uptime_ms), status.incarnation,
             status.connections, status.slots, status.held, status.resting, status.out,
             status.granted, status.torn_down, status.fenced, status.longest_revoke_us) +
         flags_text(status.flags);
}

std::string text_of(std::span<const wire::LeaseRow> rows) {
  std::string text = fmt::format("{:34} {:>8} {:>12} {:>10} {:>10}  {}", "lease", "tenant", "bytes",
                                 "age", "left", "state");
  for (const wire::LeaseRow& row : rows) {
    text += fmt::format("\n{:34} {:>8} {:>12} {:>10} {:>10}  {}", name_text(row.id, row.epoch),
                        row.tenant, row.bytes, seconds(row.age_ms), seconds(row.left_ms),
                        wire::name(row.state));
    if (row.state == wire::State::Fenced)
      text += ": " + outcome_text(row.outcome, row.memory, row.failed_mask);
  }
  return text;
}

std::string text_of(std::span<const wire::HistoryRow> rows) {
  std::string text = fmt::format("{:24} {:34} {:>8} {:>12} {:>12}  {}", "ended", "lease", "tenant",
                                 "bytes", "held", "how");
  for (const wire::HistoryRow& row : rows)
    text += fmt::format(
        "\n{:24} {:34} {:>8} {:>12} {:>12}  {}, ended by {}", time_text(row.ended_unix_ms),
        name_text(row.id, row.epoch), row.tenant, row.bytes, seconds(held_ms(row)),
        outcome_text(row.outcome, row.memory, row.failed_mask), wire::name(row.cause));
  return text;
}

std::string text_of(const wire::AllocAnswer& lease) {
  return fmt::format(
      "{} address={:#x} bytes={} rkey={:#x} gid={} qpn={:#x} psn={:#x} mtu={} timeout={} retry={} "
      "ttl_ms={}",
      name_text(lease.id, lease.epoch), lease.address, lease.bytes, lease.rkey, gid_text(lease.gid),
      lease.qpn, lease.psn, lease.mtu, lease.ack_timeout, lease.retry_count, lease.ttl_ms);
}

std::string text_of(const wire::ChallengeAnswer& challenge) {
  if (challenge.challenge != wire::Challenge::Open) return {};
  return fmt::format("challenge: write {} into its first 8 bytes by RDMA within {} ms",
                     nonce_text(challenge.nonce), challenge.left_ms);
}

std::string text_of(const wire::RevokeAnswer& answer) {
  std::string text = name_text(answer.id, answer.epoch) + " " +
                     outcome_text(answer.outcome, answer.memory, answer.failed_mask);
  if (answer.outcome == wire::Outcome::NotFound) return text;
  return text + fmt::format(", ended by {}, answered after {} us", wire::name(answer.cause),
                            answer.revoke_us);
}

std::string text_of(const wire::RevokeTenantAnswer& answer) {
  return fmt::format("{} TornDown, {} Fenced, after {} us", answer.torn_down, answer.fenced,
                     answer.revoke_us);
}

std::string text_of(const client::News& news) {
  if (const auto* restarted = std::get_if<wire::RestartedNotice>(&news))
    return fmt::format("the server is another: incarnation {:x}, was {:x}", restarted->incarnation,
                       restarted->known_incarnation);
  const auto& ended = std::get<client::LeaseEnded>(news);
  return fmt::format("{} {} tenant {}: {}, ended by {}", wire::name(ended.notice),
                     name_text(ended.body.id, ended.body.epoch), ended.body.tenant,
                     outcome_text(ended.body.outcome, ended.body.memory, ended.body.failed_mask),
                     wire::name(ended.body.cause));
}

std::string json_of(const wire::StatusAnswer& status) {
  return Json{{"device", wire::text_of(status.device)},
              {"emulated", (status.flags & wire::kEmulated) != 0},
              {"device_lost", (status.flags & wire::kDeviceLost) != 0},
              {"journal_lost", (status.flags & wire::kJournalLost) != 0},
              {"ending", (status.flags & wire::kIsEnding) != 0},
              {"incarnation", fmt::format("{:x}", status.incarnation)},
              {"uptime_ms", status.uptime_ms},
              {"connections", status.connections},
              {"slots", status.slots},
              {"held", status.held},
              {"resting", status.resting},
              {"out", status.out},
              {"granted", status.granted},
              {"torn_down", status.torn_down},
              {"fenced", status.fenced},
              {"longest_revoke_us", status.longest_revoke_us}}
      .dump();
}

std::string json_of(std::span<const wire::LeaseRow> rows) {
  std::string text;
  for (const wire::LeaseRow& row : rows) {
    Json json{{"lease", name_text(row.id, row.epoch)},
              {"tenant", row.tenant},
              {"bytes", row.bytes},
              {"age_ms", row.age_ms},
              {"left_ms", row.left_ms},
              {"state", wire::name(row.state)}};
    if (row.state == wire::State::Fenced)
      add_outcome(json, row.outcome, row.memory, row.cause, row.failed_mask);
    text += (text.empty() ? "" : "\n") + json.dump();
  }
  return text;
}

std::string json_of(std::span<const wire::HistoryRow> rows) {
  std::string text;
  for (const wire::HistoryRow& row : rows) {
    Json json{{"lease", name_text(row.id, row.epoch)},
              {"tenant", row.tenant},
              {"bytes", row.bytes},
              {"granted_unix_ms", row.granted_unix_ms},
              {"ended_unix_ms", row.ended_unix_ms}};
    add_outcome(json, row.outcome, row.memory, row.cause, row.failed_mask);
    text += (text.empty() ? "" : "\n") + json.dump();
  }
  return text;
}

std::string json_of(const wire::AllocAnswer& lease) {
  return Json{{"lease", name_text(lease.id, lease.epoch)},
              {"address", lease.address},
              {"bytes", lease.bytes},
              {"rkey", lease.rkey},
              {"gid", gid_text(lease.gid)},
              {"mac", pmd::Mac{.octets = lease.mac}.text()},
              {"qpn", lease.qpn},
              {"psn", lease.psn},
              {"mtu", lease.mtu},
              {"ack_timeout", lease.ack_timeout},
              {"retry_count", lease.retry_count},
              {"access", lease.access},
              {"ttl_ms", lease.ttl_ms}}
      .dump();
}

std::string json_of(const wire::ChallengeAnswer& challenge) {
  if (challenge.challenge != wire::Challenge::Open) return {};
  return Json{{"challenge", nonce_text(challenge.nonce)}, {"left_ms", challenge.left_ms}}.dump();
}

std::string json_of(const wire::RevokeAnswer& answer) {
  Json json{{"lease", name_text(answer.id, answer.epoch)}};
  add_outcome(json, answer.outcome, answer.memory, answer.cause, answer.failed_mask);
  json["revoke_us"] = answer.revoke_us;
  return json.dump();
}

std::string json_of(const wire::RevokeTenantAnswer& answer) {
  return Json{
      {"torn_down", answer.torn_down}, {"fenced", answer.fenced}, {"revoke_us", answer.revoke_us}}
      .dump();
}

std::string json_of(const client::News& news) {
  if (const auto* restarted = std::get_if<wire::RestartedNotice>(&news))
    return Json{{"notice", wire::name(wire::Notice::ServerRestarted)},
                {"incarnation", fmt::format("{:x}", restarted->incarnation)},
                {"known_incarnation", fmt::format("{:x}", restarted->known_incarnation)}}
        .dump();
  const auto& ended = std::get<client::LeaseEnded>(news);
  Json json{{"notice", wire::name(ended.notice)},
            {"lease", name_text(ended.body.id, ended.body.epoch)},
            {"tenant", ended.body.tenant},
            {"unix_ms", ended.body.unix_ms}};
  add_outcome(json, ended.body.outcome, ended.body.memory, ended.body.cause,
              ended.body.failed_mask);
  return json.dump();
}

}  // namespace portcullis::tools::leasectl
