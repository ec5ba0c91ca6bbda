// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/dump.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <map>

#include "base/json.hpp"
#include "failover/classify/verbs_names.hpp"

namespace portcullis::failover {
namespace {

tl::unexpected<Error> missing(const JsonCursor& object, std::string_view field) {
  return object.bad(fmt::format("no \"{}\"; an object that has it is accepted", field));
}

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (text.size() < 3 || !text.starts_with("0x")) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + 2, end, number, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

Result<std::uint64_t> number_of(const JsonCursor& object, std::string_view field,
                                std::uint64_t greatest, std::optional<std::uint64_t> otherwise) {
  if (!object.has(field) && otherwise) return *otherwise;
  if (!object.has(field)) return missing(object, field);
  const JsonCursor at = object.at(field);
  const JsonValue& value = at.value();
  const auto number = value.whole ? value.whole : hexadecimal(value.text);
  if (!number || *number > greatest)
    return at.refuse(fmt::format("a whole number from 0 to {}, or \"0x..\",", greatest));
  return *number;
}

Result<bool> flag_of(const JsonCursor& object, std::string_view field) {
  if (!object.has(field)) return false;
  return object.at(field).boolean();
}

template <class T>
using Names = std::vector<std::pair<std::string_view, T>>;

/// One of `names`; `otherwise` when the field is absent.
template <class T>
Result<T> name_of_field(const JsonCursor& object, std::string_view field, const Names<T>& names,
                        std::optional<T> otherwise) {
  if (!object.has(field) && otherwise) return *otherwise;
  if (!object.has(field)) return missing(object, field);
  const JsonCursor at = object.at(field);
  std::string accepted;
  for (const auto& [name, meaning] : names) {
    if (at.value().text == name) return meaning;
    accepted += fmt::format("{}{}", accepted.empty() ? "one of " : ", ", name);
  }
  return at.refuse(accepted);
}

const Names<Environment> environment_names = {{"quiet", Environment::Quiet},
                                              {"reuse", Environment::Reuse},
                                              {"other-writers", Environment::OtherWriters},
                                              {"aba", Environment::Aba}};
const Names<Consumer> consumer_names = {{"polls", Consumer::Polls},
                                        {"notified", Consumer::Notified}};
/// One of the entries of a list of verbs.h.
template <class Entry>
Result<Entry> entry_of(const JsonCursor& object, std::string_view field,
                       const std::vector<Entry>& entries) {
  if (!object.has(field)) return missing(object, field);
  const JsonCursor at = object.at(field);
  std::string accepted;
  for (const Entry& entry : entries) {
    if (at.value().text == entry.name) return entry;
    accepted += fmt::format("{}{}", accepted.empty() ? "one of " : ", ", entry.name);
  }
  return at.refuse(accepted);
}

Result<JsonCursor> array_of(const JsonCursor& root, std::string_view field) {
  if (!root.has(field)) return missing(root, field);
  const JsonCursor list = root.at(field);
  PORTCULLIS_TRY(list.expect_array());
  return list;
}

constexpr std::string_view kDumpFields = "regions, work_requests";
constexpr std::string_view kRegionFields =
    "rkey, environment, consumer, fenced, unique_tags, nothing_later";
constexpr std::string_view kRequestFields =
    "wr_id, opcode, qp_num, rkey, remote_addr, length, compare_add, swap, imm_data, "
    "invalidate_rkey, status";

constexpr std::uint64_t kMaxRkey = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMaxQpNum = (1U << 24) - 1;
constexpr std::uint64_t kMaxWord = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 31;  // of one message, RC

Result<std::pair<std::uint64_t, Contract>> region_of(const JsonCursor& region) {
  PORTCULLIS_TRY(region.expect_object(kRegionFields));
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t rkey,
                        number_of(region, "rkey", kMaxRkey, std::nullopt));
  Contract contract;
  PORTCULLIS_TRY_ASSIGN(contract.environment,
                        name_of_field(region, "environment", environment_names, {}));
  PORTCULLIS_TRY_ASSIGN(contract.consumer,
                        name_of_field(region, "consumer", consumer_names, {Consumer::Polls}));
  PORTCULLIS_TRY_ASSIGN(contract.is_fenced, flag_of(region, "fenced"));
  PORTCULLIS_TRY_ASSIGN(contract.has_unique_tags, flag_of(region, "unique_tags"));
  PORTCULLIS_TRY_ASSIGN(contract.is_nothing_later, flag_of(region, "nothing_later"));
  return std::pair{rkey, contract};
}

/// Nothing when the field is absent.
Result<std::optional<std::uint64_t>> number_if_any(const JsonCursor& object, std::string_view field,
                                                   std::uint64_t greatest) {
  if (!object.has(field)) return std::optional<std::uint64_t>();
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t number,
                        number_of(object, field, greatest, std::nullopt));
  return std::optional(number);
}

Result<void> read_verbs(const JsonCursor& value, OutstandingRequest& request) {
  PORTCULLIS_TRY_ASSIGN(const OpcodeName opcode, entry_of(value, "opcode", opcode_names()));
  request.opcode = opcode.opcode;
  request.opcode_name = opcode.name.substr(std::string_view("IBV_WR_").size());
  request.side_effect = opcode.side_effect;
  if (!value.has("status")) return {};
  PORTCULLIS_TRY_ASSIGN(const StatusName status, entry_of(value, "status", status_names()));
  request.outcome = status.outcome;
  request.status_name = status.name.substr(std::string_view("IBV_WC_").size());
  return {};
}

Result<void> read_place(const JsonCursor& value, OutstandingRequest& request) {
  constexpr std::uint64_t kWordBytes = 8;
  PORTCULLIS_TRY_ASSIGN(request.length, number_if_any(value, "length", kMaxLength));
  if (!request.length && request.opcode && is_atomic(*request.opcode)) request.length = kWordBytes;
  PORTCULLIS_TRY_ASSIGN(request.remote_addr, number_if_any(value, "remote_addr", kMaxWord));
  PORTCULLIS_TRY_ASSIGN(const auto qp_num, number_if_any(value, "qp_num", kMaxQpNum));
  if (qp_num) request.qp_num = static_cast<std::uint32_t>(*qp_num);
  return {};
}

Result<OutstandingRequest> request_of(const JsonCursor& value,
                                      const std::map<std::uint64_t, Contract>& contracts) {
  PORTCULLIS_TRY(value.expect_object(kRequestFields));
  OutstandingRequest request;
  request.line = value.value().line;
  PORTCULLIS_TRY_ASSIGN(request.wr_id, number_of(value, "wr_id", kMaxWord, std::nullopt));
  PORTCULLIS_TRY(read_verbs(value, request));
  PORTCULLIS_TRY(read_place(value, request));
  using Default = std::optional<std::uint64_t>;
  const bool is_add = request.opcode == Opcode::FetchAdd;
  const bool is_swap = request.opcode == Opcode::CompareSwap;
  PORTCULLIS_TRY_ASSIGN(request.compare_add, number_of(value, "compare_add", kMaxWord,
                                                       is_add || is_swap ? Default() : Default(0)));
  PORTCULLIS_TRY_ASSIGN(request.swap,
                        number_of(value, "swap", kMaxWord, is_swap ? Default() : Default(0)));
  const bool needs_rkey = request.opcode && carries_rkey(*request.opcode);
  if (!needs_rkey && !value.has("rkey")) return request;
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t rkey, number_of(value, "rkey", kMaxRkey, std::nullopt));
  request.rkey = static_cast<std::uint32_t>(rkey);
  if (!needs_rkey) return request;
  const auto contract = contracts.find(rkey);
  if (contract == contracts.end()) return value.at("rkey").refuse("one that \"regions\" describes");
  request.contract = contract->second;
  return request;
}

}  // namespace

Result<std::vector<OutstandingRequest>> read_dump(std::string_view text, std::string_view file) {
  PORTCULLIS_TRY_ASSIGN(const JsonValue top, parse_json(text, file));
  const JsonCursor root(top, file);
  PORTCULLIS_TRY(root.expect_object(kDumpFields));
  PORTCULLIS_TRY_ASSIGN(const JsonCursor regions, array_of(root, "regions"));
  std::map<std::uint64_t, Contract> contracts;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    PORTCULLIS_TRY_ASSIGN(auto read, region_of(regions.item(i)));
    if (!contracts.insert(read).second)
      return regions.item(i).at("rkey").refuse("one that no earlier region has");
  }
  PORTCULLIS_TRY_ASSIGN(const JsonCursor requests, array_of(root, "work_requests"));
  std::vector<OutstandingRequest> dump;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    PORTCULLIS_TRY_ASSIGN(OutstandingRequest one, request_of(requests.item(i), contracts));
    dump.push_back(std::move(one));
  }
  return dump;
}

}  // namespace portcullis::failover
