// SPDX-License-Identifier: BSD-3-Clause
#include "fleet/gateway.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "fleet/base64.hpp"

namespace portcullis::fleet {
namespace {

using nlohmann::json;

json of(const Range& range) {
  json body{{"key", to_base64(range.key)}};
  if (!range.end.empty()) body["range_end"] = to_base64(range.end);
  if (range.min_mod_revision != 0)
    body["min_mod_revision"] = std::to_string(range.min_mod_revision);
  if (range.limit != 0) body["limit"] = std::to_string(range.limit);
  return body;
}

json of(const Put& put) {
  json body{{"key", to_base64(put.key)}, {"value", to_base64(put.value)}};
  if (put.lease != 0) body["lease"] = std::to_string(put.lease);
  return body;
}

json of(const std::vector<Operation>& operations) {
  json all = json::array();
  for (const Operation& each : operations) {
    if (const auto* range = std::get_if<Range>(&each))
      all.push_back({{"request_range", of(*range)}});
    if (const auto* put = std::get_if<Put>(&each)) all.push_back({{"request_put", of(*put)}});
  }
  return all;
}

json of(const Compare& compare) {
  const bool is_mod = compare.of == Compare::Of::ModRevision;
  json body{{"key", to_base64(compare.key)},
            {"result", compare.end.empty() ? "EQUAL" : "LESS"},
            {"target", is_mod ? "MOD" : "CREATE"},
            {is_mod ? "mod_revision" : "create_revision", std::to_string(compare.revision)}};
  if (!compare.end.empty()) body["range_end"] = to_base64(compare.end);
  return body;
}

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Errc::Malformed, "etcd's answer: " + what);
}

/// The object in it, or what it has instead.
Result<json> parse(std::string_view text) {
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object())
    return malformed(fmt::format("\"{}\" is no JSON object", text.substr(0, 60)));
  return parsed;
}

/// A number, which may be a text; 0 where it is left out.
Result<std::uint64_t> number(const json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return 0;
  if (at->is_number_unsigned()) return at->get<std::uint64_t>();
  std::uint64_t value = 0;
  if (at->is_string()) {
    const auto& text = at->get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size()) return value;
  }
  return malformed(fmt::format("{} is no number", key));
}

bool flag(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_boolean() && at->get<bool>();
}

std::string text(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

Result<Header> header(const json& object) {
  const auto at = object.find("header");
  if (at == object.end() || !at->is_object()) return malformed("it has no header");
  Header header;
  PORTCULLIS_TRY_ASSIGN(header.cluster, number(*at, "cluster_id"));
  PORTCULLIS_TRY_ASSIGN(header.revision, number(*at, "revision"));
  if (header.cluster == 0) return malformed("it names no cluster");
  return header;
}

Result<KeyValue> key_value(const json& object) {
  if (!object.is_object()) return malformed("an entry is no object");
  KeyValue entry;
  PORTCULLIS_TRY_ASSIGN(entry.key, from_base64(text(object, "key")));
  PORTCULLIS_TRY_ASSIGN(entry.value, from_base64(text(object, "value")));
  PORTCULLIS_TRY_ASSIGN(entry.create_revision, number(object, "create_revision"));
  PORTCULLIS_TRY_ASSIGN(entry.mod_revision, number(object, "mod_revision"));
  return entry;
}

/// The items of an array that may be left out.
Result<std::vector<json>> items(const json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return std::vector<json>{};
  if (!at->is_array()) return malformed(fmt::format("{} is no array", key));
  return std::vector<json>(at->begin(), at->end());
}

Result<std::vector<KeyValue>> entries(const json& object) {
  PORTCULLIS_TRY_ASSIGN(const auto all, items(object, "kvs"));
  std::vector<KeyValue> found;
  for (const json& each : all) {
    PORTCULLIS_TRY_ASSIGN(found.emplace_back(), key_value(each));
  }
  return found;
}

/// What an item of a stream is about.
Result<json> result_of(std::string_view text) {
  PORTCULLIS_TRY_ASSIGN(const json parsed, parse(text));
  const auto at = parsed.find("result");
  if (at != parsed.end() && at->is_object()) return *at;
  const Complaint why = read_complaint(text);
  return malformed(why.text.empty() ? "it has no result" : why.text);
}

Result<LeaseAnswer> lease(const json& object) {
  LeaseAnswer answer;
  PORTCULLIS_TRY_ASSIGN(answer.header, header(object));
  PORTCULLIS_TRY_ASSIGN(answer.id, number(object, "ID"));
  PORTCULLIS_TRY_ASSIGN(answer.ttl_s, number(object, "TTL"));
  if (answer.id == 0) return malformed("it names no lease");
  return answer;
}

Result<WatchEvent> event(const json& object) {
  const auto at = object.is_object() ? object.find("kv") : object.end();
  if (!object.is_object() || at == object.end()) return malformed("an event has no entry");
  WatchEvent event{.is_delete = text(object, "type") == "DELETE"};
  PORTCULLIS_TRY_ASSIGN(event.entry, key_value(*at));
  return event;
}

}  // namespace

std::string prefix_end(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');  // etcd: from the key on, to the last
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

Compare unchanged_since(const Range& what, std::uint64_t revision) {
  return {
      .key = what.key, .of = Compare::Of::ModRevision, .revision = revision + 1, .end = what.end};
}

std::string json_of(const Range& range) { return of(range).dump(); }

std::string json_of(const Txn& txn) {
  json compare = json::array();
  for (const Compare& each : txn.compare) compare.push_back(of(each));
  return json{{"compare", compare}, {"success", of(txn.success)}, {"failure", of(txn.failure)}}
      .dump();
}

std::string json_of_lease_grant(std::uint64_t ttl_s) {
  return json{{"TTL", std::to_string(ttl_s)}}.dump();
}

std::string json_of_lease(std::uint64_t id) { return json{{"ID", std::to_string(id)}}.dump(); }

// One stream carries several: the gateway takes the body for as many requests as there are objects
// in it (tried on etcd 3.4.23).
std::string json_of_watch(const std::vector<Range>& what, std::uint64_t from_revision) {
  std::string all;
  for (const Range& each : what) {
    json body{{"key", to_base64(each.key)}, {"start_revision", std::to_string(from_revision)}};
    if (!each.end.empty()) body["range_end"] = to_base64(each.end);
    all += (all.empty() ? "" : "\n") + json{{"create_request", body}}.dump();
  }
  return all;
}

std::string json_of_user(const std::string& user, const std::string& password) {
  // What is no UTF-8 is replaced, and refused by etcd.
  return json{{"name", user}, {"password", password}}.dump(-1, ' ', false,
                                                           json::error_handler_t::replace);
}

Result<RangeAnswer> read_range(std::string_view json_text) {
  PORTCULLIS_TRY_ASSIGN(const json parsed, parse(json_text));
  RangeAnswer answer;
  PORTCULLIS_TRY_ASSIGN(answer.header, header(parsed));
  PORTCULLIS_TRY_ASSIGN(answer.found, entries(parsed));
  answer.has_more = flag(parsed, "more");
  return answer;
}

Result<TxnAnswer> read_txn(std::string_view json_text) {
  PORTCULLIS_TRY_ASSIGN(const json parsed, parse(json_text));
  TxnAnswer answer;
  PORTCULLIS_TRY_ASSIGN(answer.header, header(parsed));
  answer.has_succeeded = flag(parsed, "succeeded");
  PORTCULLIS_TRY_ASSIGN(const auto responses, items(parsed, "responses"));
  for (const json& each : responses) {
    auto& found = answer.found.emplace_back();
    answer.has_more.push_back(false);
    const auto range = each.is_object() ? each.find("response_range") : each.end();
    if (!each.is_object() || range == each.end()) continue;
    PORTCULLIS_TRY_ASSIGN(found, entries(*range));
    answer.has_more.back() = flag(*range, "more");
  }
  return answer;
}

Result<LeaseAnswer> read_lease_grant(std::string_view json_text) {
  PORTCULLIS_TRY_ASSIGN(const json parsed, parse(json_text));
  PORTCULLIS_TRY_ASSIGN(const auto answer, lease(parsed));
  if (answer.ttl_s == 0) return malformed("it grants no time");
  return answer;
}

Result<LeaseAnswer> read_keep_alive(std::string_view json_text) {
  PORTCULLIS_TRY_ASSIGN(const json result, result_of(json_text));
  return lease(result);
}

Result<WatchAnswer> read_watch(std::string_view line) {
  PORTCULLIS_TRY_ASSIGN(const json result, result_of(line));
  WatchAnswer answer;
  PORTCULLIS_TRY_ASSIGN(answer.header, header(result));
  answer.is_created = flag(result, "created");
  answer.is_canceled = flag(result, "canceled");
  PORTCULLIS_TRY_ASSIGN(answer.compact_revision, number(result, "compact_revision"));
  PORTCULLIS_TRY_ASSIGN(const auto events, items(result, "events"));
  for (const json& each : events) {
    PORTCULLIS_TRY_ASSIGN(answer.events.emplace_back(), event(each));
  }
  return answer;
}

Result<std::string> read_token(std::string_view json_text) {
  PORTCULLIS_TRY_ASSIGN(const json parsed, parse(json_text));
  std::string token = text(parsed, "token");
  if (token.empty()) return malformed("it has no token");
  return token;
}

Complaint read_complaint(std::string_view json_text) {
  const json parsed = json::parse(json_text, nullptr, false);
  if (!parsed.is_object()) return {};
  // Of a stream the complaint is an object of its own.
  const auto at = parsed.find("error");
  const json& of = at != parsed.end() && at->is_object() ? *at : parsed;
  Complaint complaint{.code = 0, .text = text(of, "message")};
  if (complaint.text.empty()) complaint.text = text(of, "error");
  for (const char* key : {"code", "grpc_code"}) {
    const auto code = of.find(key);
    if (code != of.end() && code->is_number_integer()) complaint.code = code->get<int>();
  }
  return complaint;
}

}  // namespace portcullis::fleet
