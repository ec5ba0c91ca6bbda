// SPDX-License-Identifier: BSD-3-Clause
//
// The words of the protocol text that reader and writer share.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "failover/semantics/scenario.hpp"

namespace portcullis::failover::words {

template <class T, std::size_t kCount>
using Words = std::array<std::pair<std::string_view, T>, kCount>;

inline constexpr Words<Opcode, 6> kOpcodes = {{{"WRITE", Opcode::Write},
                                               {"READ", Opcode::Read},
                                               {"FADD", Opcode::FetchAdd},
                                               {"CAS", Opcode::CompareSwap},
                                               {"SEND", Opcode::Send},
                                               {"WRITE_WITH_IMM", Opcode::WriteWithImm}}};
inline constexpr Words<Address::Space, 3> kSpaces = {{{"shared", Address::Space::Shared},
                                                      {"own", Address::Space::Own},
                                                      {"owner_slot", Address::Space::OwnerSlot}}};
inline constexpr Words<Claim, 3> kClaims = {
    {{"done", Claim::Done}, {"not-done", Claim::NotDone}, {"unknown", Claim::Unknown}}};
inline constexpr Words<FenceKind, 2> kFences = {
    {{"epoch", FenceKind::Epoch}, {"mkey", FenceKind::Mkey}}};
/// Conditions without a number.
inline constexpr Words<Condition::Kind, 4> kPlainConditions = {
    {{"always", Condition::Kind::Always},
     {"equals-register", Condition::Kind::EqualsRegister},
     {"owner-is-nobody", Condition::Kind::OwnerIsNobody},
     {"owner-is-me", Condition::Kind::OwnerIsMe}}};
/// Operands without a number.
inline constexpr Words<Operand::Source, 2> kRegisterOperands = {
    {{"register", Operand::Source::Register}, {"register-sequence", Operand::Source::Sequence}}};
inline constexpr Words<ReceiverStep::Kind, 5> kReceiverSteps = {
    {{"await_arrival", ReceiverStep::Kind::AwaitArrival},
     {"await_word", ReceiverStep::Kind::AwaitWord},
     {"consume", ReceiverStep::Kind::Consume},
     {"set", ReceiverStep::Kind::Set},
     {"reuse", ReceiverStep::Kind::Reuse}}};
inline constexpr Words<Act, 10> kActs = {{{"post", Act::Post},
                                          {"await", Act::Await},
                                          {"probe", Act::Probe},
                                          {"assert", Act::Assert},
                                          {"query_psn", Act::QueryPsn},
                                          {"test", Act::Test},
                                          {"fence", Act::Fence},
                                          {"await_fence", Act::AwaitFence},
                                          {"report", Act::Report},
                                          {"end", Act::End}}};
inline constexpr Words<bool, 2> kCounts = {{{"executions", false}, {"effects", true}}};

/// The word for `meaning`, which is one of `list`.
template <class T, std::size_t kCount>
[[nodiscard]] constexpr std::string_view word_of(const Words<T, kCount>& list, T meaning) {
  for (const auto& [word, means] : list)
    if (means == meaning) return word;
  return "?";
}

}  // namespace portcullis::failover::words
