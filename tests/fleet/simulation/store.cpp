// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fleet/simulation/store.hpp"

#include <algorithm>

#include "fleet/base64.hpp"

namespace portcullis::fleet::simulation {
namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* field) {
  const auto at = object.find(field);
  return at == object.end() ? std::string() : *from_base64(at->get_ref<const std::string&>());
}

std::uint64_t number_of(const json& object, const char* field) {
  const auto at = object.find(field);
  return at == object.end() ? 0 : std::stoull(at->get_ref<const std::string&>());
}

json entry_of(const std::string& key, const Store::Version& version) {
  return {{"key", to_base64(key)},
          {"value", to_base64(version.value)},
          {"create_revision", std::to_string(version.create_revision)},
          {"mod_revision", std::to_string(version.mod_revision)}};
}

const json& operations_of(const json& txn, const char* which) {
  static const json none = json::array();
  const auto at = txn.find(which);
  return at == txn.end() ? none : *at;
}

}  // namespace

KeyRange range_of(const json& request) {
  return {.key = text_of(request, "key"), .end = text_of(request, "range_end")};
}

bool is_write(const json& txn) {
  const json& operations = operations_of(txn, "success");
  return std::any_of(operations.begin(), operations.end(),
                     [](const json& each) { return each.contains("request_put"); });
}

bool is_serializable(const json& txn) {
  const json& operations = operations_of(txn, "success");
  return !operations.empty() &&
         std::all_of(operations.begin(), operations.end(), [](const json& each) {
           const auto at = each.find("request_range");
           return at != each.end() && at->value("serializable", false);
         });
}

const Store::Version* Store::find(const std::string& key, std::uint64_t revision) const {
  const auto at = keys_.find(key);
  if (at == keys_.end()) return nullptr;
  const auto& versions = at->second;
  const auto last = std::find_if(versions.rbegin(), versions.rend(), [revision](const auto& each) {
    return each.mod_revision <= revision;
  });
  return last == versions.rend() || last->create_revision == 0 ? nullptr : &*last;
}

void Store::write(const std::string& key, Version version) {
  version.mod_revision = revision_;
  changes_.push_back({.revision = revision_, .key = key, .version = version});
  keys_[key].push_back(std::move(version));
}

void Store::put(const std::string& key, const std::string& value, std::uint64_t lease) {
  const Version* before = find(key, revision_);
  ++revision_;
  write(key, {.create_revision = before != nullptr ? before->create_revision : revision_,
              .value = value,
              .lease = lease});
}

void Store::erase(const std::string& key) {
  if (find(key, revision_) == nullptr) return;
  ++revision_;
  write(key, {});
}

void Store::erase_keys_of(std::uint64_t lease) {
  std::vector<std::string> gone;
  for (const auto& [key, versions] : keys_)
    if (const Version* now = find(key, revision_); now != nullptr && now->lease == lease)
      gone.push_back(key);
  if (!gone.empty()) ++revision_;
  for (const std::string& key : gone) write(key, {});
}

json Store::header(std::uint64_t revision) {
  return {{"cluster_id", std::to_string(kCluster)}, {"revision", std::to_string(revision)}};
}

json Store::event_of(const Change& change) {
  if (change.version.create_revision != 0) return {{"kv", entry_of(change.key, change.version)}};
  return {
      {"type", "DELETE"},
      {"kv", {{"key", to_base64(change.key)}, {"mod_revision", std::to_string(change.revision)}}}};
}

json Store::found(const json& range, std::uint64_t revision) const {
  const KeyRange wanted = range_of(range);
  const std::uint64_t since = number_of(range, "min_mod_revision");
  json entries = json::array();
  for (auto at = keys_.lower_bound(wanted.key); at != keys_.end() && wanted.contains(at->first);
       ++at) {
    const Version* version = find(at->first, revision);
    if (version != nullptr && version->mod_revision >= since)
      entries.push_back(entry_of(at->first, *version));
  }
  return entries;
}

/// Of a range: all of its keys; of one key that is not there, revision 0.
bool Store::holds(const json& compare, std::uint64_t revision) const {
  const bool is_mod = compare.at("target") == "MOD";
  const std::uint64_t wanted = number_of(compare, is_mod ? "mod_revision" : "create_revision");
  const bool is_less = compare.at("result") == "LESS";
  const auto matches = [&](std::uint64_t one) { return is_less ? one < wanted : one == wanted; };
  const KeyRange range = range_of(compare);
  bool has_any = false;
  for (auto at = keys_.lower_bound(range.key); at != keys_.end() && range.contains(at->first);
       ++at) {
    const Version* version = find(at->first, revision);
    if (version == nullptr) continue;
    has_any = true;
    if (!matches(is_mod ? version->mod_revision : version->create_revision)) return false;
  }
  return has_any || matches(0);
}

bool Store::hold(const json& txn, std::uint64_t revision) const {
  const json& compares = operations_of(txn, "compare");
  return std::all_of(compares.begin(), compares.end(),
                     [&](const json& each) { return holds(each, revision); });
}

Reply Store::read_at(const json& request, std::uint64_t revision) const {
  const bool succeeds = hold(request, revision);
  json answer{{"header", header(revision)}, {"responses", json::array()}};
  for (const json& each : operations_of(request, succeeds ? "success" : "failure"))
    answer["responses"].push_back(
        {{"response_range", {{"kvs", found(each.at("request_range"), revision)}}}});
  if (succeeds) answer["succeeded"] = true;
  return {.body = answer.dump()};
}

Reply Store::txn(const json& request) {
  if (!is_write(request) || !hold(request, revision_)) return read_at(request, revision_);
  const std::uint64_t before = revision_++;
  json responses = json::array();
  for (const json& each : operations_of(request, "success")) {
    const auto range = each.find("request_range");
    if (range != each.end()) {
      responses.push_back({{"response_range", {{"kvs", found(*range, revision_)}}}});
      continue;
    }
    const json& put = each.at("request_put");
    const std::string key = text_of(put, "key");
    const Version* was = find(key, before);
    write(key, {.create_revision = was != nullptr ? was->create_revision : revision_,
                .value = text_of(put, "value"),
                .lease = number_of(put, "lease")});
    responses.push_back({{"response_put", json::object()}});
  }
  return {.body = json{{"header", header()}, {"succeeded", true}, {"responses", responses}}.dump()};
}

Reply Store::range(const json& request) const {
  return {.body = json{{"header", header()}, {"kvs", found(request, revision_)}}.dump()};
}

}  // namespace portcullis::fleet::simulation
