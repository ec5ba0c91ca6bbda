// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/verify_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "failover/classify/verbs_names.hpp"

namespace portcullis::tools::failover_check {
namespace {

constexpr std::uint64_t kPsnMask = (1U << 24U) - 1;
constexpr std::uint32_t kWordBytes = 8;  // of every operation of a revoke test

Result<JsonCursor> member(const JsonCursor& object, std::string_view field) {
  if (object.has(field)) return object.at(field);
  return object.bad(
      fmt::format("no \"{}\"; a log of `lease-verify --revoke-test --json` that has "
                  "it is accepted",
                  field));
}

Result<std::uint64_t> whole(const JsonCursor& object, std::string_view field, std::uint64_t least,
                            std::uint64_t greatest) {
  PORTCULLIS_TRY_ASSIGN(const JsonCursor at, member(object, field));
  const auto number = at.value().whole;
  if (!number || *number < least || *number > greatest)
    return at.refuse(fmt::format("a whole number from {} to {}", least, greatest));
  return *number;
}

/// As lease-verify calls it, and as a dump does.
Result<std::string_view> opcode_of(const JsonCursor& log) {
  struct Name {
    std::string_view here, in_dump;
  };
  constexpr Name kNames[] = {{"RDMA WRITE", "IBV_WR_RDMA_WRITE"},
                             {"RDMA READ", "IBV_WR_RDMA_READ"},
                             {"FETCH_ADD", "IBV_WR_ATOMIC_FETCH_AND_ADD"}};
  PORTCULLIS_TRY_ASSIGN(const JsonCursor at, member(log, "operation"));
  for (const Name& name : kNames)
    if (at.value().text == name.here) return name.in_dump;
  return at.refuse("one of RDMA WRITE, RDMA READ, FETCH_ADD");
}

/// Of what failed.
Result<std::string_view> status_of(const JsonCursor& log) {
  const JsonCursor at = log.at("status_name");
  for (const failover::StatusName& one : failover::status_names())
    if (at.value().text == one.name && one.outcome != failover::Outcome::Completed)
      return std::string_view(one.name);
  return at.refuse("a status of enum ibv_wc_status that is an error");
}

}  // namespace

bool is_log(std::string_view text) noexcept {
  if (text.starts_with("\n\r\r\n")) return false;  // pcapng, whose length may follow as " {"
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '{';
}

Result<Capture> read_verify_log(std::string_view text, std::string_view file) {
  constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint64_t kMost64 = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t kMostOutstanding = 16;  // --depth
  PORTCULLIS_TRY_ASSIGN(const JsonValue top, parse_json(text, file));
  const JsonCursor log(top, file);
  PORTCULLIS_TRY_ASSIGN(const JsonCursor program, member(log, "program"));
  if (program.value().text != "lease-verify") return program.refuse("lease-verify");
  Capture found;
  PORTCULLIS_TRY_ASSIGN(found.answered_before, whole(log, "succeeded", 0, kMost64));
  CapturedRequest one;
  PORTCULLIS_TRY_ASSIGN(one.opcode, opcode_of(log));
  if (!log.has("status_name") && !log.has("outstanding")) return found;
  PORTCULLIS_TRY(member(log, "status_name"));
  PORTCULLIS_TRY_ASSIGN(one.status, status_of(log));
  PORTCULLIS_TRY_ASSIGN(const JsonCursor outstanding, member(log, "outstanding"));
  PORTCULLIS_TRY(outstanding.expect_object("requests, qp_num, psn, rkey, remote_addr, length"));
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t requests,
                        whole(outstanding, "requests", 1, kMostOutstanding));
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t qp_num, whole(outstanding, "qp_num", 0, kPsnMask));
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t psn, whole(outstanding, "psn", 0, kPsnMask));
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t rkey, whole(outstanding, "rkey", 0, kMost32));
  PORTCULLIS_TRY_ASSIGN(one.remote_addr, whole(outstanding, "remote_addr", 0, kMost64));
  PORTCULLIS_TRY(whole(outstanding, "length", kWordBytes, kWordBytes));
  one.qp_num = static_cast<std::uint32_t>(qp_num);
  one.rkey = static_cast<std::uint32_t>(rkey);
  one.length = kWordBytes;
  one.has_rkey = one.has_length = true;
  one.has_atomic = one.opcode == "IBV_WR_ATOMIC_FETCH_AND_ADD";
  one.compare_add = one.has_atomic ? 1 : 0;
  for (std::uint64_t i = 0; i < requests; ++i) {
    one.psn = static_cast<std::uint32_t>((psn + i) & kPsnMask);  // 8 bytes are one packet
    found.requests.push_back(one);
    one.status = {};  // behind the failure nobody asked for a completion
  }
  return found;
}

}  // namespace portcullis::tools::failover_check
