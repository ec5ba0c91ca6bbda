// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "base/json.hpp"
#include "failover/classify/evidence.hpp"
#include "failover/classify/meeting.hpp"
#include "failover/classify/verbs_names.hpp"

namespace portcullis::failover {
namespace {

using Dump = std::vector<OutstandingRequest>;

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
  // As the schema says it: of a key and the like leading zeros do not count.
  const bool is_word = greatest == std::numeric_limits<std::uint64_t>::max();
  constexpr std::size_t kMostText = 2 + 16;
  if (is_word && value.text.size() > kMostText) return at.refuse("\"0x..\" of 16 digits at most");
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

constexpr std::string_view kDumpFields = "regions, work_requests, queue_pairs";
constexpr std::string_view kRegionFields =
    "rkey, environment, consumer, fenced, unique_tags, nothing_later";
constexpr std::string_view kRequestFields =
    "wr_id, opcode, qp_num, rkey, remote_addr, length, compare_add, swap, imm_data, "
    "invalidate_rkey, status, psn, evidence, sg_list, send_flags";
constexpr std::string_view kBufferFields = "addr, length, lkey";
constexpr std::string_view kEvidenceFields = "applied, word, word_before, holds_source";
constexpr std::string_view kQueuePairFields = "qp_num, fenced, receives, expected_psn, path_mtu";

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

/// Struct ibv_sge, one after the other.
Result<void> read_buffer(const JsonCursor& value, OutstandingRequest& request) {
  constexpr std::uint64_t kMaxSgeLength = std::numeric_limits<std::uint32_t>::max();
  if (!value.has("sg_list")) return {};
  PORTCULLIS_TRY_ASSIGN(const JsonCursor list, array_of(value, "sg_list"));
  auto& all = request.sg_list.emplace();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonCursor one = list.item(i);
    PORTCULLIS_TRY(one.expect_object(kBufferFields));
    LocalBytes bytes;
    PORTCULLIS_TRY_ASSIGN(bytes.addr, number_of(one, "addr", kMaxWord, std::nullopt));
    PORTCULLIS_TRY_ASSIGN(bytes.length, number_of(one, "length", kMaxSgeLength, std::nullopt));
    PORTCULLIS_TRY(number_if_any(one, "lkey", kMaxRkey));
    if (bytes.length != 0 && bytes.addr + (bytes.length - 1) < bytes.addr)
      return one.at("addr").refuse("one from which all bytes lie below 2^64");
    sum += bytes.length;
    if (bytes.length != 0) all.push_back(bytes);
  }
  if (!request.length && sum > kMaxLength)
    return list.bad(fmt::format("{} bytes; up to {} are accepted", sum, kMaxLength));
  if (!request.length) request.length = sum;
  if (sum != *request.length)
    return list.bad(
        fmt::format("{} bytes; {}, as the request has, are accepted", sum, *request.length));
  return {};
}

/// Of enum ibv_send_flags; all but IBV_SEND_INLINE change nothing that is looked at.
Result<void> read_flags(const JsonCursor& value, OutstandingRequest& request) {
  const Names<bool> flags = {{"IBV_SEND_FENCE", false},
                             {"IBV_SEND_SIGNALED", false},
                             {"IBV_SEND_SOLICITED", false},
                             {"IBV_SEND_INLINE", true},
                             {"IBV_SEND_IP_CSUM", false}};
  if (!value.has("send_flags")) return {};
  PORTCULLIS_TRY_ASSIGN(const JsonCursor list, array_of(value, "send_flags"));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonCursor flag = list.item(i);
    std::string accepted;
    std::optional<bool> is_inline;
    for (const auto& [name, meaning] : flags) {
      if (flag.value().text == name) is_inline = meaning;
      accepted += fmt::format("{}{}", accepted.empty() ? "one of " : ", ", name);
    }
    if (!is_inline) return flag.refuse(accepted);
    if (*is_inline && request.opcode && returns_word(*request.opcode))
      return flag.bad("only what sends bytes may have it");
    request.is_inline = request.is_inline || *is_inline;
  }
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

tl::unexpected<Error> only_of(const JsonCursor& evidence, std::string_view field,
                              std::string_view opcodes) {
  return evidence.at(field).bad(fmt::format("only {} may have it", opcodes));
}

/// What memory held; what was executed is weighed when the whole dump is known.
Result<void> read_evidence(const JsonCursor& value, OutstandingRequest& request) {
  PORTCULLIS_TRY_ASSIGN(const auto psn, number_if_any(value, "psn", kPsnCount - 1));
  if (psn) request.psn = static_cast<std::uint32_t>(*psn);
  if (!value.has("evidence")) return {};
  const JsonCursor found = value.at("evidence");
  PORTCULLIS_TRY(found.expect_object(kEvidenceFields));
  Evidence& evidence = request.evidence;
  evidence.place = fmt::format("{}:{}: {}", found.file(), found.value().line, found.path());
  PORTCULLIS_TRY_ASSIGN(evidence.word, number_if_any(found, "word", kMaxWord));
  PORTCULLIS_TRY_ASSIGN(evidence.word_before, number_if_any(found, "word_before", kMaxWord));
  const bool has_word = request.opcode && is_atomic(*request.opcode);
  for (const char* field : {"word", "word_before"})
    if (found.has(field) && !has_word) return only_of(found, field, "an atomic");
  if (found.has("applied") && request.opcode == Opcode::Read)
    return only_of(found, "applied", "what a receiver can log, so no READ,");
  if (!found.has("holds_source")) return {};
  if (!request.opcode || !carries_data(*request.opcode) || request.length == 0U)
    return only_of(found, "holds_source", "a WRITE of some bytes");
  PORTCULLIS_TRY_ASSIGN(evidence.holds_source, found.at("holds_source").boolean());
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
  PORTCULLIS_TRY(read_buffer(value, request));
  PORTCULLIS_TRY(read_flags(value, request));
  PORTCULLIS_TRY(read_evidence(value, request));
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

Result<QueuePairEvidence> queue_pair_of(const JsonCursor& value) {
  PORTCULLIS_TRY(value.expect_object(kQueuePairFields));
  QueuePairEvidence found;
  PORTCULLIS_TRY_ASSIGN(const auto qp_num, number_of(value, "qp_num", kMaxQpNum, std::nullopt));
  found.qp_num = static_cast<std::uint32_t>(qp_num);
  PORTCULLIS_TRY_ASSIGN(found.is_fenced, flag_of(value, "fenced"));
  PORTCULLIS_TRY_ASSIGN(found.receives, number_if_any(value, "receives", kMaxWord));
  PORTCULLIS_TRY_ASSIGN(const auto psn, number_if_any(value, "expected_psn", kPsnCount - 1));
  if (psn) found.expected_psn = static_cast<std::uint32_t>(*psn);
  if (!value.has("path_mtu")) return found;
  PORTCULLIS_TRY_ASSIGN(const auto mtu, number_of(value, "path_mtu", kMaxWord, std::nullopt));
  const std::uint64_t accepted[] = {256, 512, 1024, 2048, 4096};  // enum ibv_mtu
  if (std::find(std::begin(accepted), std::end(accepted), mtu) == std::end(accepted))
    return value.at("path_mtu").refuse("one of 256, 512, 1024, 2048, 4096");
  found.path_mtu = static_cast<std::uint32_t>(mtu);
  return found;
}

Result<std::vector<QueuePairEvidence>> read_queue_pairs(const JsonCursor& root) {
  std::vector<QueuePairEvidence> all;
  std::set<std::uint32_t> seen;
  if (!root.has("queue_pairs")) return all;
  PORTCULLIS_TRY_ASSIGN(const JsonCursor list, array_of(root, "queue_pairs"));
  for (std::size_t i = 0; i < list.size(); ++i) {
    PORTCULLIS_TRY_ASSIGN(const QueuePairEvidence one, queue_pair_of(list.item(i)));
    if (!seen.insert(one.qp_num).second)
      return list.item(i).at("qp_num").refuse("one that no earlier queue pair has");
    all.push_back(one);
  }
  return all;
}

/// One word of memory was found once, and was one thing before.
Result<void> agree_on_words(const JsonCursor& requests, const Dump& dump) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, Evidence> first;
  for (std::size_t i = 0; i < dump.size(); ++i) {
    const Evidence& evidence = dump[i].evidence;
    if ((!evidence.word && !evidence.word_before) || !dump[i].remote_addr) continue;
    Evidence& known = first[{dump[i].rkey, *dump[i].remote_addr}];
    for (const auto& [field, member] :
         {std::pair{"word", &Evidence::word}, std::pair{"word_before", &Evidence::word_before}}) {
      if (evidence.*member && known.*member && *(evidence.*member) != *(known.*member))
        return requests.item(i)
            .at("evidence")
            .at(field)
            .refuse(fmt::format("{}, as another request of this word has it,", *(known.*member)));
      if (evidence.*member) known.*member = evidence.*member;
    }
  }
  return {};
}

/// All that was said of what was executed, together.
Result<void> weigh_evidence(const JsonCursor& root, const JsonCursor& requests, Dump& dump) {
  PORTCULLIS_TRY_ASSIGN(const auto queue_pairs, read_queue_pairs(root));
  std::vector<std::optional<bool>> applied(dump.size());
  for (std::size_t i = 0; i < dump.size(); ++i) {
    const JsonCursor found = requests.item(i).at("evidence");
    if (!requests.item(i).has("evidence") || !found.has("applied")) continue;
    PORTCULLIS_TRY_ASSIGN(applied[i], found.at("applied").boolean());
  }
  const std::optional<Misfit> misfit = weigh(dump, queue_pairs, applied);
  if (!misfit) return {};
  const bool is_of_request = misfit->of == Misfit::Of::Request;
  const JsonCursor owner = (is_of_request ? requests : root.at("queue_pairs")).item(misfit->number);
  if (misfit->field.empty()) return owner.bad(misfit->accepted);
  const bool is_evidence = misfit->field == "applied";
  return (is_evidence ? owner.at("evidence") : owner).at(misfit->field).refuse(misfit->accepted);
}

/// An error stops an RC QP: what was posted behind it is flushed. Linux's rxe_requester() does so
/// since commit ae720bdb703b, "as per IBTA specification"; the specification was not opened.
Result<void> agree_on_completions(const JsonCursor& requests, Dump dump) {
  const auto contradictions = settle_outcomes(dump);
  for (std::size_t i = 0; i < dump.size(); ++i)
    if (contradictions[i])
      return requests.item(i).at("status").refuse(
          fmt::format("IBV_WC_SUCCESS, or none, beside the IBV_WC_SUCCESS of work_requests[{}], "
                      "which was posted later on the same QP,",
                      *contradictions[i]));
  return {};
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
  PORTCULLIS_TRY(agree_on_completions(requests, dump));
  PORTCULLIS_TRY(agree_on_words(requests, dump));
  PORTCULLIS_TRY(weigh_evidence(root, requests, dump));
  return dump;
}

}  // namespace portcullis::failover
