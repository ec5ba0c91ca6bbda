// SPDX-License-Identifier: BSD-3-Clause
//
// What one RDMA operation does to one word of memory: the atomic step under everything else here.
// Pure and small, so that the Coq development (failover/proofs) can be held against it word by
// word.
#pragma once

#include <cstdint>

namespace portcullis::failover {

/// Eight bytes of registered memory. Arithmetic is modulo 2^64, as the verbs define FETCH_AND_ADD.
using Word = std::uint64_t;

/// The opcodes of `enum ibv_wr_opcode` (infiniband/verbs.h) that matter to a retry.
enum class Opcode : std::uint8_t { Write, Read, FetchAdd, CompareSwap, Send, WriteWithImm };

/// One operation on one word. `operand` is the value written, the addend or the swap value;
/// `compare` is read by CompareSwap alone.
struct Operation {
  Opcode opcode = Opcode::Read;
  Word operand = 0;
  Word compare = 0;
};

struct Executed {
  Word memory = 0;  // the word afterwards
  Word result = 0;  // what travels back to the requester
  friend constexpr bool operator==(const Executed&, const Executed&) = default;
};

/// True for the opcodes whose response carries the word as it was before.
[[nodiscard]] constexpr bool returns_word(Opcode opcode) noexcept {
  return opcode == Opcode::Read || opcode == Opcode::FetchAdd || opcode == Opcode::CompareSwap;
}

/// True for the opcodes that name memory by an rkey, and that a dead mkey therefore stops.
[[nodiscard]] constexpr bool carries_rkey(Opcode opcode) noexcept { return opcode != Opcode::Send; }

/// Executes `operation` on a word that holds `memory`. READ, FADD and CAS return the OLD word, and
/// nothing else: a success flag is not on the wire (struct ibv_send_wr.wr.atomic, verbs.h), the
/// requester infers it from `result == compare`. WRITE, SEND and WRITE_WITH_IMM return 0. The
/// receive that SEND and WRITE_WITH_IMM consume is not memory and is not seen here.
[[nodiscard]] constexpr Executed execute(const Operation& operation, Word memory) noexcept {
  switch (operation.opcode) {
    case Opcode::Write:
    case Opcode::WriteWithImm:
      return {operation.operand, 0};
    case Opcode::Read:
      return {memory, memory};
    case Opcode::FetchAdd:
      return {memory + operation.operand, memory};
    case Opcode::CompareSwap:
      return {memory == operation.compare ? operation.operand : memory, memory};
    case Opcode::Send:
      return {memory, 0};
  }
  return {memory, 0};
}

}  // namespace portcullis::failover
