// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fleet/fake_store.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "fleet/base64.hpp"

namespace portcullis::fleet {
namespace {

using nlohmann::json;
using Entries = std::map<std::string, FakeStore::Entry>;

std::string text_of(const json& object, const char* field) {
  return *from_base64(object.value(field, std::string()));
}

/// All from `key` up to `range_end`, or that key alone.
std::vector<Entries::const_iterator> found(const Entries& entries, const json& range) {
  const std::string key = text_of(range, "key");
  const std::string end = text_of(range, "range_end");
  std::vector<Entries::const_iterator> all;
  for (auto at = entries.lower_bound(key); at != entries.end(); ++at) {
    if (end.empty() ? at->first != key : at->first >= end) break;
    all.push_back(at);
  }
  return all;
}

bool holds(const Entries& entries, const json& compare) {
  const bool is_mod = compare.at("target") == "MOD";
  const auto wanted =
      std::stoull(compare.at(is_mod ? "mod_revision" : "create_revision").get<std::string>());
  const bool is_less = compare.at("result") == "LESS";
  const auto matches = [&](std::uint64_t revision) {
    return is_less ? revision < wanted : revision == wanted;
  };
  const auto those = found(entries, compare);
  if (those.empty()) return matches(0);
  return std::all_of(those.begin(), those.end(), [&](const auto& each) {
    return matches(is_mod ? each->second.mod_revision : each->second.create_revision);
  });
}

bool is_write(const std::string& body) { return body.find("request_put") != std::string::npos; }

}  // namespace

FakeStore::FakeStore()
    : gateway_(std::make_unique<FakeGateway>(
          [this](const FakeGateway::Asked& asked) { return answer(asked); })) {}

std::unique_ptr<Etcd> FakeStore::client(const std::vector<std::string>& others) const {
  std::vector<std::string> endpoints{gateway_->url()};
  endpoints.insert(endpoints.end(), others.begin(), others.end());
  return *Etcd::create({.endpoints = std::move(endpoints), .deadline_ms = 60'000});
}

std::uint64_t FakeStore::put(const std::string& key, const std::string& value) {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  Entry& entry = entries_[key];
  entry.value = value;
  entry.lease.clear();  // a put without one takes the key from it (etcd's PutRequest.lease)
  entry.mod_revision = ++revision_;
  if (entry.create_revision == 0) entry.create_revision = revision_;
  return revision_;
}

void FakeStore::erase(const std::string& key) {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  entries_.erase(key);
  ++revision_;
}

void FakeStore::go_back_to(std::uint64_t revision) {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  revision_ = revision;
}

FakeStore::Backup FakeStore::backup() const {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  return {.entries = entries_, .revision = revision_, .leases = leases_};
}

void FakeStore::restore(const Backup& backup) {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  entries_ = backup.entries;
  revision_ = backup.revision;
  leases_ = backup.leases;
}

void FakeStore::end_leases() {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  leases_.clear();
  std::erase_if(entries_, [](const auto& each) { return !each.second.lease.empty(); });
  ++revision_;
}

std::optional<FakeStore::Entry> FakeStore::get(const std::string& key) const {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  const auto at = entries_.find(key);
  return at == entries_.end() ? std::nullopt : std::optional(at->second);
}

void FakeStore::next_write(Fate fate) {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  fate_ = fate;
}

void FakeStore::release() {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  for (const std::string& each : std::exchange(held_back_, {})) (void)done(each);
}

void FakeStore::before_next_write(std::function<void()> act) {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  act_ = std::move(act);
}

std::uint64_t FakeStore::writes() const {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  return writes_;
}

void FakeStore::limit_operations(std::size_t most) {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  most_operations_ = most;
}

bool FakeStore::has_too_many(const std::string& body) const {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  const json txn = json::parse(body);
  const auto count = [&txn](const char* of) { return txn.value(of, json::array()).size(); };
  return std::max({count("compare"), count("success"), count("failure")}) > most_operations_;
}

std::string FakeStore::done(const std::string& body) {
  const json txn = json::parse(body);
  const json compares = txn.value("compare", json::array());
  const bool succeeds = std::all_of(compares.begin(), compares.end(),
                                    [this](const json& each) { return holds(entries_, each); });
  json responses = json::array();
  const json operations = txn.value(succeeds ? "success" : "failure", json::array());
  const bool changes = std::any_of(operations.begin(), operations.end(),
                                   [](const json& each) { return each.contains("request_put"); });
  if (changes) ++revision_;
  for (const json& each : operations) {
    if (each.contains("request_put")) {
      Entry& entry = entries_[text_of(each["request_put"], "key")];
      entry.value = text_of(each["request_put"], "value");
      entry.lease = each["request_put"].value("lease", std::string());
      entry.mod_revision = revision_;
      if (entry.create_revision == 0) entry.create_revision = revision_;
      responses.push_back({{"response_put", json::object()}});
      continue;
    }
    json kvs = json::array();
    const json& range = each["request_range"];
    const auto limit = std::stoull(range.value("limit", std::string("0")));
    const auto all = found(entries_, range);
    for (const auto& at : all) {
      if (limit != 0 && kvs.size() == limit) break;
      kvs.push_back({{"key", to_base64(at->first)},
                     {"value", to_base64(at->second.value)},
                     {"create_revision", std::to_string(at->second.create_revision)},
                     {"mod_revision", std::to_string(at->second.mod_revision)}});
    }
    const bool has_more = kvs.size() < all.size();
    responses.push_back({{"response_range", {{"kvs", std::move(kvs)}, {"more", has_more}}}});
  }
  json answer{{"header", {{"cluster_id", "1"}, {"revision", std::to_string(revision_)}}},
              {"responses", responses}};
  if (succeeds) answer["succeeded"] = true;
  return answer.dump();
}

FakeGateway::Answer FakeStore::answer_lease(const FakeGateway::Asked& asked) {
  const std::lock_guard<std::recursive_mutex> one(lock_);
  json answer{{"header", {{"cluster_id", "1"}, {"revision", std::to_string(revision_)}}}};
  const json body = json::parse(asked.body);
  if (asked.path == "/v3/lease/grant") {
    answer["ID"] = *leases_.insert(std::to_string(++last_lease_)).first;
    answer["TTL"] = body.at("TTL");
    return {.body = answer.dump()};
  }
  answer["ID"] = body.at("ID");
  if (asked.path == "/v3/lease/keepalive") {
    if (leases_.contains(body.at("ID"))) answer["TTL"] = "10";  // of one that is over it says none
    return {.body = json{{"result", answer}}.dump()};
  }
  const std::string ended = body.at("ID");
  leases_.erase(ended);
  std::erase_if(entries_, [&](const auto& each) { return each.second.lease == ended; });
  return {.body = answer.dump()};
}

FakeGateway::Answer FakeStore::answer(const FakeGateway::Asked& asked) {
  if (asked.path.starts_with("/v3/lease/")) return answer_lease(asked);
  if (asked.path == "/v3/watch") return {.is_silent = true};
  if (asked.path == "/v3/kv/range") {
    const std::lock_guard<std::recursive_mutex> one(lock_);
    json txn{{"success", json::array()}};
    txn["success"].push_back({{"request_range", json::parse(asked.body)}});
    json answer = json::parse(done(txn.dump()));
    json body = answer["responses"][0]["response_range"];
    body["header"] = answer["header"];
    return {.body = body.dump()};
  }
  if (has_too_many(asked.body))
    return {.status = 400,  // as etcd 3.4.23 answers
            .body = R"({"error":"etcdserver: too many operations in txn request","code":3})"};
  if (!is_write(asked.body)) {
    const std::lock_guard<std::recursive_mutex> one(lock_);
    return {.body = done(asked.body)};
  }
  std::unique_lock<std::recursive_mutex> one(lock_);
  if (const auto act = std::exchange(act_, nullptr)) act();
  ++writes_;
  FakeGateway::Answer silence{.status = 503, .body = R"({"error":"it does not answer","code":14})"};
  switch (std::exchange(fate_, Fate::Answered)) {
    case Fate::Answered:
      break;
    case Fate::Unanswered:
      (void)done(asked.body);
      return silence;
    case Fate::HeldBack:
      held_back_.push_back(asked.body);
      return silence;
    case Fate::Refused:
      return {.status = 429,  // as etcd 3.4.23 answers with its quota-backend-bytes reached
              .body = R"({"error":"etcdserver: mvcc: database space exceeded","code":8})"};
  }
  return {.body = done(asked.body)};
}

}  // namespace portcullis::fleet
