// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "failover/classify/json_lines.hpp"

namespace portcullis::failover {
namespace {

tl::unexpected<Error> refuse(const JsonValue& value, std::string_view field,
                             std::string_view accepted) {
  std::string shown(value.kind());
  if (const auto* text = std::get_if<std::string>(&value.value))
    shown = fmt::format("'{}'", text->substr(0, 60));
  if (const auto* number = std::get_if<std::uint64_t>(&value.value))
    shown = fmt::format("{}", *number);
  return fail(Errc::Malformed, fmt::format("line {}: field \"{}\" is {}, accepted is {}",
                                           value.line, field, shown, accepted));
}

tl::unexpected<Error> missing(const JsonValue& object, std::string_view field) {
  return fail(Errc::Malformed,
              fmt::format("line {}: field \"{}\" is missing, accepted is an object that has it",
                          object.line, field));
}

Result<std::uint64_t> number_of(const JsonValue& object, std::string_view field,
                                std::uint64_t greatest, std::optional<std::uint64_t> otherwise) {
  const JsonValue* value = object.find(field);
  if (value == nullptr && otherwise) return *otherwise;
  if (value == nullptr) return missing(object, field);
  const std::string accepted = fmt::format("a number from 0 to {}, or \"0x..\"", greatest);
  std::uint64_t number = 0;
  if (const auto* plain = std::get_if<std::uint64_t>(&value->value)) {
    number = *plain;
  } else {
    const auto* text = std::get_if<std::string>(&value->value);
    if (text == nullptr || text->size() < 3 || !text->starts_with("0x"))
      return refuse(*value, field, accepted);
    const char* end = text->data() + text->size();
    const auto parsed = std::from_chars(text->data() + 2, end, number, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end) return refuse(*value, field, accepted);
  }
  if (number > greatest) return refuse(*value, field, accepted);
  return number;
}

Result<bool> flag_of(const JsonValue& object, std::string_view field) {
  const JsonValue* value = object.find(field);
  if (value == nullptr) return false;
  const bool* flag = std::get_if<bool>(&value->value);
  if (flag == nullptr) return refuse(*value, field, "true or false");
  return *flag;
}

template <class T>
using Names = std::vector<std::pair<std::string_view, T>>;

/// One of `names`; `otherwise` when the field is absent.
template <class T>
Result<T> name_of_field(const JsonValue& object, std::string_view field, const Names<T>& names,
                        std::optional<T> otherwise) {
  const JsonValue* value = object.find(field);
  if (value == nullptr && otherwise) return *otherwise;
  if (value == nullptr) return missing(object, field);
  const auto* text = std::get_if<std::string>(&value->value);
  std::string accepted;
  for (const auto& [name, meaning] : names) {
    if (text != nullptr && *text == name) return meaning;
    accepted += fmt::format("{}{}", accepted.empty() ? "one of " : ", ", name);
  }
  return refuse(*value, field, accepted);
}

const Names<Environment> environment_names = {{"quiet", Environment::Quiet},
                                              {"reuse", Environment::Reuse},
                                              {"other-writers", Environment::OtherWriters},
                                              {"aba", Environment::Aba}};
const Names<Consumer> consumer_names = {{"polls", Consumer::Polls},
                                        {"notified", Consumer::Notified}};
const Names<Opcode> opcode_names = {{"IBV_WR_RDMA_WRITE", Opcode::Write},
                                    {"IBV_WR_RDMA_WRITE_WITH_IMM", Opcode::WriteWithImm},
                                    {"IBV_WR_SEND", Opcode::Send},
                                    {"IBV_WR_SEND_WITH_IMM", Opcode::Send},
                                    {"IBV_WR_RDMA_READ", Opcode::Read},
                                    {"IBV_WR_ATOMIC_CMP_AND_SWP", Opcode::CompareSwap},
                                    {"IBV_WR_ATOMIC_FETCH_AND_ADD", Opcode::FetchAdd}};
const Names<Outcome> status_names = {
    {"IBV_WC_SUCCESS", Outcome::Completed},       {"IBV_WC_RETRY_EXC_ERR", Outcome::Unknown},
    {"IBV_WC_WR_FLUSH_ERR", Outcome::Unknown},    {"IBV_WC_REM_ACCESS_ERR", Outcome::Refused},
    {"IBV_WC_REM_INV_REQ_ERR", Outcome::Refused}, {"IBV_WC_RNR_RETRY_EXC_ERR", Outcome::Refused}};

Result<void> known_fields_only(const JsonValue& object, std::string_view what,
                               const std::vector<std::string_view>& known) {
  const auto* members = std::get_if<JsonValue::Object>(&object.value);
  if (members == nullptr) return refuse(object, what, "an object");
  for (std::size_t i = 0; i < members->names.size(); ++i) {
    const std::string& name = members->names[i];
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(Errc::Malformed,
                  fmt::format("line {}: field \"{}\" is unknown, accepted are {}",
                              members->values[i].line, name.substr(0, 60), fmt::join(known, ", ")));
  }
  return {};
}

Result<const JsonValue::Array*> array_of(const JsonValue& root, std::string_view field) {
  const JsonValue* value = root.find(field);
  if (value == nullptr) return missing(root, field);
  const auto* array = std::get_if<JsonValue::Array>(&value->value);
  if (array == nullptr) return refuse(*value, field, "an array");
  return array;
}

constexpr std::uint64_t kMaxRkey = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMaxWord = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 31;  // of one message, RC

Result<std::pair<std::uint64_t, Contract>> region_of(const JsonValue& region) {
  PORTCULLIS_TRY(known_fields_only(region, "regions",
                                   {"rkey", "environment", "consumer", "fenced", "unique_tags"}));
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t rkey,
                        number_of(region, "rkey", kMaxRkey, std::nullopt));
  Contract contract;
  PORTCULLIS_TRY_ASSIGN(contract.environment,
                        name_of_field(region, "environment", environment_names, {}));
  PORTCULLIS_TRY_ASSIGN(contract.consumer,
                        name_of_field(region, "consumer", consumer_names, {Consumer::Polls}));
  PORTCULLIS_TRY_ASSIGN(contract.is_fenced, flag_of(region, "fenced"));
  PORTCULLIS_TRY_ASSIGN(contract.has_unique_tags, flag_of(region, "unique_tags"));
  return std::pair{rkey, contract};
}

Result<DumpedRequest> request_of(const JsonValue& value,
                                 const std::map<std::uint64_t, Contract>& contracts) {
  PORTCULLIS_TRY(known_fields_only(value, "work_requests",
                                   {"wr_id", "opcode", "rkey", "remote_addr", "length",
                                    "compare_add", "swap", "imm_data", "status"}));
  DumpedRequest dumped;
  dumped.line = value.line;
  OutstandingRequest& request = dumped.request;
  PORTCULLIS_TRY_ASSIGN(request.wr_id, number_of(value, "wr_id", kMaxWord, std::nullopt));
  PORTCULLIS_TRY_ASSIGN(request.opcode, name_of_field(value, "opcode", opcode_names, {}));
  PORTCULLIS_TRY_ASSIGN(dumped.outcome,
                        name_of_field(value, "status", status_names, {Outcome::Unknown}));
  const bool is_atomic =
      request.opcode == Opcode::FetchAdd || request.opcode == Opcode::CompareSwap;
  using Default = std::optional<std::uint64_t>;
  PORTCULLIS_TRY_ASSIGN(request.length, number_of(value, "length", kMaxLength, Default(8)));
  PORTCULLIS_TRY_ASSIGN(request.remote_addr, number_of(value, "remote_addr", kMaxWord, Default(0)));
  PORTCULLIS_TRY_ASSIGN(request.compare_add, number_of(value, "compare_add", kMaxWord,
                                                       is_atomic ? Default() : Default(0)));
  const bool is_swap = request.opcode == Opcode::CompareSwap;
  PORTCULLIS_TRY_ASSIGN(request.swap,
                        number_of(value, "swap", kMaxWord, is_swap ? Default() : Default(0)));
  if (!carries_rkey(request.opcode)) return dumped;
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t rkey, number_of(value, "rkey", kMaxRkey, std::nullopt));
  request.rkey = static_cast<std::uint32_t>(rkey);
  const auto contract = contracts.find(rkey);
  if (contract == contracts.end())
    return refuse(*value.find("rkey"), "rkey", "one that \"regions\" describes");
  request.contract = contract->second;
  return dumped;
}

}  // namespace

Result<std::vector<DumpedRequest>> read_dump(std::string_view text) {
  PORTCULLIS_TRY_ASSIGN(const JsonValue root, parse_json(text));
  PORTCULLIS_TRY(known_fields_only(root, "dump", {"regions", "work_requests"}));
  PORTCULLIS_TRY_ASSIGN(const JsonValue::Array* regions, array_of(root, "regions"));
  std::map<std::uint64_t, Contract> contracts;
  for (const JsonValue& region : regions->items) {
    PORTCULLIS_TRY_ASSIGN(auto read, region_of(region));
    if (!contracts.insert(read).second)
      return refuse(*region.find("rkey"), "rkey", "one that no earlier region has");
  }
  PORTCULLIS_TRY_ASSIGN(const JsonValue::Array* requests, array_of(root, "work_requests"));
  std::vector<DumpedRequest> dumped;
  for (const JsonValue& request : requests->items) {
    PORTCULLIS_TRY_ASSIGN(DumpedRequest one, request_of(request, contracts));
    dumped.push_back(one);
  }
  return dumped;
}

}  // namespace portcullis::failover
