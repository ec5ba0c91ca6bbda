// SPDX-License-Identifier: BSD-3-Clause
//
// A scenario made ready to run: operands resolved for every client, the 64-bit words that can ever
// occur numbered, every field placed in a packed state. What a word becomes when a work request
// executes is computed once, by execute() of operation.hpp on the real 64-bit words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "failover/semantics/packed.hpp"
#include "failover/semantics/scenario.hpp"

namespace portcullis::failover {

/// The number of a word in Machine::words.
using WordIndex = std::uint8_t;

inline constexpr unsigned kMaxClients = 8;
inline constexpr unsigned kMaxWords = 200;  // distinct values; their index fits a byte
inline constexpr unsigned kMaxPackets = 4;  // of one WRITE
inline constexpr std::uint8_t kNobody = 255;

/// A work request's life as its sender and the network see it.
enum Phase : std::uint8_t {
  kIdle = 0,    // not posted
  kPosted = 1,  // outstanding, no acknowledgement on its way
  kAcked = 2,   // an acknowledgement is on its way
  kClosed = 3,  // completed, or its QP is in error: acknowledgements are ignored
};

struct RequestFields {
  Field phase;
  Field executed;  // packets that the responder executed, in order
  Field result;    // of the execution, until the sender has it
  Field content;   // the register when it was posted, if an operand or the address needs it
  Field copies[kMaxPackets];
  Field changed[kMaxPackets];  // copies that were read from the buffer once it was taken
};

struct ClientFields {
  Field pc, reg, late, duplicates, timeouts, deaths;
  Field receiver, arrivals;
  std::vector<RequestFields> requests;
  std::vector<Field> fences;    // per queue: 0 none, 1 ordered, 2 in effect
  std::vector<Field> dead;      // per queue: its responder NIC died
  std::vector<Field> taken;     // per buffer
  std::vector<Field> cells;     // own cells
  std::vector<Field> counts;    // per operation: executed (or had an effect)
  std::vector<Field> disowned;  // per operation: reported as not done
  std::vector<Field> answers;   // per operation: what the application was told (with a history)
  std::uint64_t busy[kMaxStateWords] = {};  // bits of phases, copies and fences
};

/// A work request of one client with its operands resolved.
struct Request {
  Opcode opcode = Opcode::Read;
  Address::Space space = Address::Space::Shared;
  std::uint8_t cell = 0;
  std::uint8_t packets = 1;
  std::uint8_t queue = 0;
  std::uint8_t operation = 0;
  std::uint8_t order = 0;      // the queue of the operation's first attempt
  std::uint8_t place = 0;      // that attempt's among all work requests
  std::int16_t previous = -1;  // on the same queue
  bool has_result = false;
  bool has_content = false;
  bool is_acknowledged_by_later = false;
  bool notifies = false;  // consumes a receive
  bool is_fenced = true;
  std::int8_t log_cell = -1;
  std::int8_t buffer = -1;
  bool is_deduplicated = false;
  bool is_counted = true;
  std::vector<WordIndex> after;  // [content * words + memory]
};

/// A condition as a set of word numbers, or a comparison with the register.
struct Accepts {
  bool equals_register = false;
  std::vector<bool> words;
};

struct Step {
  Instruction instruction;
  Accepts accepts;
};

struct ClientProgram {
  std::vector<Request> requests;
  std::vector<Step> steps;
};

struct EnvironmentRule {
  std::uint8_t step = 0;    // of the scenario
  std::uint8_t client = 0;  // whose cell it is, for an own cell
  Field cell;
  int when = -1;  // word number, -1 for any
  WordIndex becomes = 0;
};

struct ReceiverRule {
  ReceiverStep::Kind kind = ReceiverStep::Kind::Set;
  std::uint8_t cell = 0, count = 1;
  WordIndex word = 0;
};

/// A run of bits that belongs to a client, at the same place in each client's block.
struct Piece {
  Field field;
};

struct Machine {
  Scenario scenario;
  std::vector<Word> words;           // [0] is what every cell holds first, unless set otherwise
  std::vector<std::uint8_t> owner;   // of the tag with that number, kNobody for other words
  std::vector<ClientFields> fields;  // per client
  std::vector<ClientProgram> clients;
  std::vector<Field> shared;
  Field environment_budget;
  std::vector<Field> log;  // history, when kept: codes of semantics/history.hpp, 0 from the end on
  std::vector<EnvironmentRule> environment;
  std::vector<ReceiverRule> receiver;
  std::vector<std::vector<Piece>> pieces;  // per client
  WordIndex one = 0;                       // of the word 1, when a log needs it
  bool has_tags = false;                   // a permutation of clients renames words too
  bool has_slots = false;                  // clients reach into each other's own cells
  unsigned bits = 0;
  unsigned state_words = 0;     // 1 .. kMaxStateWords
  unsigned last_word_bits = 0;  // used in the last of them
  AnyState initial;

  [[nodiscard]] unsigned word_count() const noexcept { return static_cast<unsigned>(words.size()); }
};

/// Fails with InvalidArgument, naming the member and what is accepted, when the scenario refers to
/// what it does not have, or needs more values or bits than a machine holds.
[[nodiscard]] Result<Machine> compile(Scenario scenario);

}  // namespace portcullis::failover
