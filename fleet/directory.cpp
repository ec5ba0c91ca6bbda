// SPDX-License-Identifier: BSD-3-Clause
#include "fleet/directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.hpp"
#include "fleet/tenant.hpp"

namespace portcullis::fleet {
namespace {

using nlohmann::json;

constexpr std::size_t kMostName = 64;
constexpr std::uint64_t kMost64Bits = std::numeric_limits<std::uint64_t>::max();

tl::unexpected<Error> malformed(const char* field) {
  return fail(Errc::Malformed, fmt::format("{} is missing, or is not as leased writes it", field));
}

/// A field that is there twice would be read as its last, and by others as its first.
Result<json> parse(std::string_view text) {
  std::vector<std::set<std::string>> fields;  // of the objects that are open
  std::string twice;
  const auto look = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) fields.emplace_back();
    if (event == json::parse_event_t::object_end) fields.pop_back();
    if (event == json::parse_event_t::key &&
        !fields.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  json parsed = json::parse(text, look, false);
  if (!parsed.is_object()) return malformed("the JSON object");
  if (twice.empty()) return parsed;
  return fail(Errc::Malformed, fmt::format("{} is there twice", one_line(twice)));
}

/// Numbers that only identify are hexadecimal texts, as everywhere else.
Result<std::uint64_t> hex(const json& object, const char* field) {
  const auto at = object.find(field);
  if (at == object.end() || !at->is_string()) return malformed(field);
  const auto& text = at->get_ref<const std::string&>();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0)
    return malformed(field);
  return value;
}

Result<std::uint64_t> count(const json& object, const char* field, std::uint64_t most) {
  const auto at = object.find(field);
  if (at == object.end() || !at->is_number_unsigned() || at->get<std::uint64_t>() > most)
    return malformed(field);
  return at->get<std::uint64_t>();
}

std::string text(const json& object, const char* field) {
  const auto at = object.find(field);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string dump(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Isolation> read_isolation(const json& object) {
  constexpr std::uint64_t kMostSeconds = 1'000'000'000;
  if (!object.is_object()) return malformed("isolation");
  Isolation isolation;
  PORTCULLIS_TRY_ASSIGN(isolation.after_s, count(object, "after_s", kMostSeconds));
  PORTCULLIS_TRY_ASSIGN(isolation.stall_s, count(object, "stall_s", kMostSeconds));
  const auto ends_by_ttl = object.find("ends_by_ttl");  // nodes before it did not say
  if (ends_by_ttl != object.end() && !ends_by_ttl->is_boolean()) return malformed("ends_by_ttl");
  isolation.ends_by_ttl = ends_by_ttl != object.end() && ends_by_ttl->get<bool>();
  const auto tenants = object.find("tenants");
  if (tenants == object.end() || !tenants->is_array()) return malformed("tenants");
  for (const json& each : *tenants) {
    if (!each.is_number_unsigned() || each.get<std::uint64_t>() >= kMost64Bits)
      return malformed("tenants");
    isolation.tenants.push_back(each.get<std::uint64_t>());
  }
  return isolation;
}

Result<Amount> read_amount(const json& object) {
  Amount amount;
  PORTCULLIS_TRY_ASSIGN(amount.leases, count(object, "leases", kMost64Bits));
  PORTCULLIS_TRY_ASSIGN(amount.bytes, count(object, "bytes", kMost64Bits));
  return amount;
}

/// A server of an earlier version says none.
Result<std::uint64_t> count_or_0(const json& object, const char* field) {
  return object.contains(field) ? count(object, field, kMost64Bits) : Result<std::uint64_t>(0);
}

bool is_word(std::string_view text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '.' || each == '-' || each == '_';
  });
  return is_plain && !text.empty() && text.size() <= kMostName;
}

/// "07" is not how 7 is written, and would be a second key of it; kNoTenant is nobody's.
std::optional<std::uint64_t> tenant_of(std::string_view text) {
  std::uint64_t tenant = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tenant);
  if (error != std::errc{} || end != text.data() + text.size() || std::to_string(tenant) != text)
    return std::nullopt;
  if (tenant == kNoTenant) return std::nullopt;
  return tenant;
}

std::optional<std::uint64_t> tenant_behind(std::string_view key, std::string_view prefix) {
  if (!key.starts_with(prefix)) return std::nullopt;
  return tenant_of(key.substr(prefix.size()));
}

}  // namespace

std::string epoch_key(std::uint64_t tenant) { return fmt::format("{}{}", kEpochs, tenant); }
std::string member_key(std::string_view name) { return fmt::format("{}{}", kMembers, name); }
std::string session_key(std::string_view name) { return fmt::format("{}{}", kSessions, name); }
std::string outcome_prefix(std::uint64_t tenant) { return fmt::format("{}{}/", kOutcomes, tenant); }
std::string outcome_key(std::uint64_t tenant, std::string_view name) {
  return outcome_prefix(tenant) + std::string(name);
}
std::string offer_key(std::string_view name) { return fmt::format("{}{}", kOffers, name); }
std::string quota_key(std::uint64_t tenant) { return fmt::format("{}{}", kQuotas, tenant); }
std::string share_prefix(std::uint64_t tenant) { return fmt::format("{}{}/", kShares, tenant); }
std::string share_key(std::uint64_t tenant, std::string_view name) {
  return share_prefix(tenant) + std::string(name);
}

Range all_of(std::string_view prefix) {
  return {.key = std::string(prefix), .end = prefix_end(std::string(prefix))};
}

std::optional<std::uint64_t> tenant_of_epoch_key(std::string_view key) {
  return tenant_behind(key, kEpochs);
}
std::optional<std::uint64_t> tenant_of_quota_key(std::string_view key) {
  return tenant_behind(key, kQuotas);
}

std::optional<ShareKey> read_share_key(std::string_view key) {
  if (!key.starts_with(kShares)) return std::nullopt;
  key.remove_prefix(kShares.size());
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto tenant = tenant_of(key.substr(0, slash));
  if (!tenant) return std::nullopt;
  return ShareKey{.tenant = *tenant, .name = std::string(key.substr(slash + 1))};
}

std::string name_of(std::string_view key, std::string_view prefix) {
  return std::string(key.starts_with(prefix) ? key.substr(prefix.size()) : key);
}

Result<void> check_node_name(std::string_view name) {
  // "." and ".." are nobody's name in a path, and keys of etcd are copied into paths.
  if (is_word(name) && name.find_first_not_of('.') != std::string_view::npos) return {};
  return fail(Errc::InvalidArgument,
              fmt::format("node \"{}\": 1 to {} letters, digits, dots, dashes and underscores are "
                          "accepted, and not dots alone",
                          one_line(std::string(name.substr(0, kMostName + 1))), kMostName));
}

Result<void> check_labels(const std::vector<std::string>& labels) {
  constexpr std::size_t kMostLabels = 16;
  if (labels.size() > kMostLabels)
    return fail(Errc::InvalidArgument,
                fmt::format("{} labels; at most {} are accepted", labels.size(), kMostLabels));
  std::vector<std::string_view> keys;
  for (const std::string& each : labels) {
    const std::size_t equals = std::min(each.find('='), each.size());
    const std::string_view key = std::string_view(each).substr(0, equals);
    if (!is_word(key) || equals == each.size() ||
        !is_word(std::string_view(each).substr(equals + 1)))
      return fail(Errc::InvalidArgument,
                  fmt::format("label \"{}\": KEY=VALUE is accepted, each 1 to {} letters, digits, "
                              "dots, dashes and underscores",
                              each.substr(0, 2 * kMostName + 2), kMostName));
    if (std::find(keys.begin(), keys.end(), key) != keys.end())
      return fail(Errc::InvalidArgument, fmt::format("label \"{}\": {} is there twice", each, key));
    keys.push_back(key);
  }
  return {};
}

std::string json_of(const Member& member) {
  json object{{"node", fmt::format("{:x}", member.node)}, {"has_ended", member.has_ended}};
  if (member.isolation) {
    object["isolation"] = {{"after_s", member.isolation->after_s},
                           {"stall_s", member.isolation->stall_s},
                           {"tenants", member.isolation->tenants}};
    if (member.isolation->ends_by_ttl) object["isolation"]["ends_by_ttl"] = true;
  }
  return dump(object);
}

std::string json_of(const Registration& registration) {
  return dump({{"node", fmt::format("{:x}", registration.node)},
               {"incarnation", fmt::format("{:x}", registration.incarnation)},
               {"device", registration.device},
               {"address", registration.address},
               {"socket", registration.socket},
               {"quic", registration.quic},
               {"slots", registration.slots},
               {"version", registration.version},
               {"labels", registration.labels},
               {"memory_bytes", registration.memory_bytes},
               {"residence_ms", registration.residence_ms}});
}

std::string json_of(const Offer& offer) {
  return dump({{"node", fmt::format("{:x}", offer.node)},
               {"leases", offer.left.leases},
               {"bytes", offer.left.bytes}});
}

std::string json_of(const Quota& quota) {
  json object = json::object();
  if (quota.most.leases != kNoLimit) object["leases"] = quota.most.leases;
  if (quota.most.bytes != kNoLimit) object["bytes"] = quota.most.bytes;
  return dump(object);
}

std::string json_of(const Share& share) {
  return dump({{"node", fmt::format("{:x}", share.node)},
               {"leases", share.taken.leases},
               {"bytes", share.taken.bytes}});
}

std::string json_of(const Outcome& outcome) {
  return dump({{"epoch", outcome.epoch},
               {"node", fmt::format("{:x}", outcome.node)},
               {"incarnation", fmt::format("{:x}", outcome.incarnation)},
               {"torn_down", outcome.torn_down},
               {"fenced", outcome.fenced}});
}

bool Isolation::covers(std::uint64_t tenant) const noexcept {
  return tenants.empty() || std::find(tenants.begin(), tenants.end(), tenant) != tenants.end();
}

Result<Member> read_member(std::string_view json_text) {
  PORTCULLIS_TRY_ASSIGN(const json parsed, parse(json_text));
  Member member;
  PORTCULLIS_TRY_ASSIGN(member.node, hex(parsed, "node"));
  const auto ended = parsed.find("has_ended");
  if (ended == parsed.end() || !ended->is_boolean()) return malformed("has_ended");
  member.has_ended = ended->get<bool>();
  const auto isolation = parsed.find("isolation");
  if (isolation == parsed.end()) return member;
  PORTCULLIS_TRY_ASSIGN(member.isolation, read_isolation(*isolation));
  return member;
}

Result<Registration> read_registration(std::string_view json_text) {
  PORTCULLIS_TRY_ASSIGN(const json parsed, parse(json_text));
  Registration registration;
  PORTCULLIS_TRY_ASSIGN(registration.node, hex(parsed, "node"));
  PORTCULLIS_TRY_ASSIGN(registration.incarnation, hex(parsed, "incarnation"));
  registration.device = text(parsed, "device");
  registration.address = text(parsed, "address");
  registration.socket = text(parsed, "socket");
  registration.quic = text(parsed, "quic");
  registration.version = text(parsed, "version");
  PORTCULLIS_TRY_ASSIGN(const auto slots,
                        count(parsed, "slots", std::numeric_limits<std::uint32_t>::max()));
  registration.slots = static_cast<std::uint32_t>(slots);
  PORTCULLIS_TRY_ASSIGN(registration.memory_bytes, count_or_0(parsed, "memory_bytes"));
  PORTCULLIS_TRY_ASSIGN(registration.residence_ms, count_or_0(parsed, "residence_ms"));
  const auto labels = parsed.find("labels");
  if (labels == parsed.end()) return registration;
  if (!labels->is_array()) return malformed("labels");
  for (const json& each : *labels) {
    if (!each.is_string()) return malformed("labels");
    registration.labels.push_back(each.get<std::string>());
  }
  return registration;
}

Result<Offer> read_offer(std::string_view json_text) {
  PORTCULLIS_TRY_ASSIGN(const json parsed, parse(json_text));
  Offer offer;
  PORTCULLIS_TRY_ASSIGN(offer.node, hex(parsed, "node"));
  PORTCULLIS_TRY_ASSIGN(offer.left, read_amount(parsed));
  return offer;
}

/// What is left out has no limit; what cannot be read is no quota, and nothing is granted by it.
Result<Quota> read_quota(std::string_view json_text) {
  PORTCULLIS_TRY_ASSIGN(const json parsed, parse(json_text));
  Quota quota;
  if (parsed.contains("leases")) {
    PORTCULLIS_TRY_ASSIGN(quota.most.leases, count(parsed, "leases", kMost64Bits));
  }
  if (parsed.contains("bytes")) {
    PORTCULLIS_TRY_ASSIGN(quota.most.bytes, count(parsed, "bytes", kMost64Bits));
  }
  return quota;
}

Result<Share> read_share(std::string_view json_text) {
  PORTCULLIS_TRY_ASSIGN(const json parsed, parse(json_text));
  Share share;
  PORTCULLIS_TRY_ASSIGN(share.node, hex(parsed, "node"));
  PORTCULLIS_TRY_ASSIGN(share.taken, read_amount(parsed));
  return share;
}

Result<Outcome> read_outcome(std::string_view json_text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  PORTCULLIS_TRY_ASSIGN(const json parsed, parse(json_text));
  Outcome outcome;
  PORTCULLIS_TRY_ASSIGN(outcome.epoch, count(parsed, "epoch", kMost64Bits));
  PORTCULLIS_TRY_ASSIGN(outcome.node, hex(parsed, "node"));
  PORTCULLIS_TRY_ASSIGN(outcome.incarnation, hex(parsed, "incarnation"));
  PORTCULLIS_TRY_ASSIGN(const auto torn_down, count(parsed, "torn_down", kMost));
  PORTCULLIS_TRY_ASSIGN(const auto fenced, count(parsed, "fenced", kMost));
  outcome.torn_down = static_cast<std::uint32_t>(torn_down);
  outcome.fenced = static_cast<std::uint32_t>(fenced);
  return outcome;
}

Holders::Holders(const std::vector<KeyValue>& members, const std::vector<KeyValue>& sessions) {
  for (const KeyValue& each : members)
    if (const auto member = read_member(each.value); member && !member->has_ended)
      members_[name_of(each.key, kMembers)] = member->node;
  for (const KeyValue& each : sessions) {
    const auto session = read_registration(each.value);
    sessions_[name_of(each.key, kSessions)] = session ? std::optional(session->node) : std::nullopt;
  }
}

bool Holders::may_hold(const std::string& name, std::uint64_t node) const {
  const auto member = members_.find(name);
  return (member != members_.end() && member->second == node) || has_session(name, node);
}

bool Holders::has_session(const std::string& name, std::uint64_t node) const {
  const auto session = sessions_.find(name);
  return session != sessions_.end() && session->second.value_or(node) == node;
}

}  // namespace portcullis::fleet
