// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ops.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace portcullis::wire {
namespace {

template <class E, std::size_t N>
using Names = std::array<std::pair<E, std::string_view>, N>;

constexpr Names<Op, 10> kOps{{{Op::Hello, "HELLO"},
                              {Op::LeaseAlloc, "LEASE_ALLOC"},
                              {Op::LeaseRenew, "LEASE_RENEW"},
                              {Op::LeaseList, "LEASE_LIST"},
                              {Op::LeaseWatch, "LEASE_WATCH"},
                              {Op::Status, "STATUS"},
                              {Op::LeaseHistory, "LEASE_HISTORY"},
                              {Op::LeaseChallenge, "LEASE_CHALLENGE"},
                              {Op::LeaseRevoke, "LEASE_REVOKE"},
                              {Op::RevokeTenant, "REVOKE_TENANT"}}};
constexpr Names<Notice, 3> kNotices{{{Notice::Revoked, "REVOKED"},
                                     {Notice::Expired, "EXPIRED"},
                                     {Notice::ServerRestarted, "SERVER_RESTARTED"}}};
constexpr Names<Outcome, 4> kOutcomes{{{Outcome::TornDown, "TornDown"},
                                       {Outcome::Fenced, "Fenced"},
                                       {Outcome::NotFound, "NotFound"},
                                       {Outcome::Revoking, "Revoking"}}};
constexpr Names<Memory, 7> kMemory{{{Memory::Unproved, "unproved"},
                                    {Memory::Mkey, "DESTROY_MKEY"},
                                    {Memory::Umr, "UMR"},
                                    {Memory::Unmap, "unmap"},
                                    {Memory::Function, "bus master off"},
                                    {Memory::TenantMkey, "DESTROY_MKEY of the tenant's key"},
                                    {Memory::FunctionReset, "function reset"}}};
constexpr Names<Cause, 7> kCauses{{{Cause::None, "none"},
                                   {Cause::Holder, "holder"},
                                   {Cause::Operator, "operator"},
                                   {Cause::Expired, "expired"},
                                   {Cause::Server, "server"},
                                   {Cause::Restart, "restart"},
                                   {Cause::Challenge, "challenge"}}};
constexpr Names<State, 3> kStates{
    {{State::Active, "ACTIVE"}, {State::Revoking, "REVOKING"}, {State::Fenced, "FENCED"}}};
constexpr Names<Challenge, 3> kChallenges{
    {{Challenge::None, "none"}, {Challenge::Open, "open"}, {Challenge::Met, "met"}}};
constexpr Names<Role, 3> kRoles{
    {{Role::Client, "client"}, {Role::Operator, "operator"}, {Role::Observer, "observer"}}};
constexpr Names<Plan, 6> kPlans{{{Plan::Default, "default"},
                                 {Plan::Seed, "seed"},
                                 {Plan::NakFirst, "nak-first"},
                                 {Plan::Legacy, "legacy"},
                                 {Plan::Umr, "umr"},
                                 {Plan::AccessFlags, "access-flags"}}};
constexpr Names<Code, 12> kCodes{{{Code::Malformed, "malformed"},
                                  {Code::UnknownOp, "unknown op"},
                                  {Code::UnknownVersion, "unknown version"},
                                  {Code::HelloFirst, "HELLO comes first, and once"},
                                  {Code::InvalidValue, "invalid value"},
                                  {Code::NotAllowed, "not allowed"},
                                  {Code::Limit, "limit"},
                                  {Code::NoResources, "no resources"},
                                  {Code::Busy, "busy"},
                                  {Code::Unavailable, "unavailable"},
                                  {Code::NotFound, "not found"},
                                  {Code::Ending, "the server is ending"}}};

template <class E, std::size_t N>
std::string_view find(const Names<E, N>& names, E value) noexcept {
  const auto* at =
      std::find_if(names.begin(), names.end(), [&](const auto& row) { return row.first == value; });
  return at == names.end() ? "unknown" : at->second;
}

constexpr std::array<std::string_view, 13> kSteps{"2ERR_QP",
                                                  "DESTROY_MKEY",
                                                  "SET_FLOW_TABLE_ENTRY",
                                                  "DELETE_FLOW_TABLE_ENTRY",
                                                  "2RST_QP",
                                                  "DESTROY_QP",
                                                  "DEALLOC_PD",
                                                  "unmap",
                                                  "RTS2RTS_QP",
                                                  "bus master off",
                                                  "function reset",
                                                  "UMR",
                                                  "DESTROY_MKEY of the tenant"};

}  // namespace

std::string steps_text(std::uint32_t failed_mask) {
  std::string text;
  const auto add = [&text](std::string_view step) {
    if (!text.empty()) text += '|';
    text += step;
  };
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint32_t mask = std::uint32_t{1} << bit;
    if ((failed_mask & mask) == 0) continue;
    add(bit < kSteps.size() ? std::string(kSteps[bit]) : "bit " + std::to_string(bit));
  }
  return text.empty() ? "none" : text;
}

std::string_view name(Op op) noexcept { return find(kOps, op); }
std::string_view name(Notice notice) noexcept { return find(kNotices, notice); }
std::string_view name(Outcome outcome) noexcept { return find(kOutcomes, outcome); }
std::string_view name(Memory memory) noexcept { return find(kMemory, memory); }
std::string_view name(Cause cause) noexcept { return find(kCauses, cause); }
std::string_view name(State state) noexcept { return find(kStates, state); }
std::string_view name(Challenge challenge) noexcept { return find(kChallenges, challenge); }
std::string_view name(Role role) noexcept { return find(kRoles, role); }
std::string_view name(Plan plan) noexcept { return find(kPlans, plan); }
std::string_view name(Code code) noexcept { return find(kCodes, code); }

bool is_known_op(std::uint16_t op) noexcept { return find(kOps, static_cast<Op>(op)) != "unknown"; }
bool is_known(Plan plan) noexcept { return find(kPlans, plan) != "unknown"; }

}  // namespace portcullis::wire
