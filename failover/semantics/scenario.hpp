// SPDX-License-Identifier: BSD-3-Clause
//
// A scenario as an author writes it: the work requests of one client, the program that posts them
// and decides what to do after a timeout, and what surrounds it: receiver CPU, other writers,
// limits of the network. Every client runs the same program. Declarative; semantics/machine.hpp
// compiles it.
//
// What happens, and what a sender may know of it:
//   requester  posts a work request; waits until it completed or timed out; nothing else is seen
//   network    may lose a packet or an acknowledgement, deliver late (after the sender's timeout)
//              and deliver twice; a transport's own retransmission is a duplicate
//   responder  a packet whose PSN is the ePSN of its QP executes; an older one is acknowledged
//   again
//              without executing (READ reads again, an atomic answers from the responder's cache);
//              a newer one is dropped. So a QP executes a prefix of what was posted, in order
//   fence      an order to the responder that takes effect some time after it was given; from then
//              on its QP refuses what arrives
//   death      the responder's NIC acknowledges what it has received of a QP and dies before it is
//              in memory: the sender sees completions, and nothing of this QP is executed any more
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "failover/semantics/operation.hpp"

namespace portcullis::failover {

/// Tags name who wrote a word and when: tag(client, sequence), both from 0 and 1 on.
[[nodiscard]] constexpr Word tag_of(unsigned client, unsigned sequence) noexcept {
  return (Word{client} + 1) << 32 | sequence;
}

struct Address {
  enum class Space : std::uint8_t {
    Shared,     // one cell for all
    Own,        // the client's own cell of that number
    OwnerSlot,  // that cell of the client whose tag the register holds
  };
  Space space = Space::Shared;
  unsigned cell = 0;
};

/// An operand: known when the program is written, or taken from the register when it is posted.
struct Operand {
  enum class Source : std::uint8_t {
    Constant,  // `word`
    OwnTag,    // tag_of(client, word)
    Register,  // the value that the register holds
    Sequence,  // the sequence of the tag in the register
  };
  Source source = Source::Constant;
  Word word = 0;
};

/// One posting. Two work requests with the same `operation` are two attempts at one logical
/// operation; that identity is what at-most-once counts.
struct WorkRequest {
  std::string name;
  unsigned operation = 0;
  Opcode opcode = Opcode::Write;
  Address address;
  Operand operand;
  Operand compare;
  unsigned queue = 0;    // QP; PSNs follow the order of this list within a queue
  unsigned packets = 1;  // packet i of a WRITE goes to cell + i
  /// Own cell that becomes 1 in the same step in which the request executes.
  std::optional<unsigned> log_cell;
  /// The responder executes it only while `log_cell` is 0.
  bool is_deduplicated = false;
  /// An attempt at `operation`; false for what a protocol adds on its own behalf.
  bool is_counted = true;
  /// Memory of the sender's own: what it sends is read from there each time that it is sent, its
  /// answer is written there. Who gives none does not ask what becomes of it.
  std::optional<unsigned> buffer;
};

/// A question about a value that just came back.
struct Condition {
  enum class Kind : std::uint8_t {
    Always,
    Equals,
    OwnTag,
    EqualsRegister,
    OwnerIsNobody,
    OwnerIsMe
  };
  Kind kind = Kind::Always;
  Word word = 0;  // Equals: the word; OwnTag: the sequence
};

enum class Act : std::uint8_t {
  Post,        // `work_request`, then next
  Await,       // its completion: condition of its result ? next : otherwise; or on_timeout
  Probe,       // READ `address` (repeated until answered): condition ? next : otherwise
  Assert,      // what `address` holds must satisfy the condition, then next; nobody learns of it
  QueryPsn,    // ask the responder: is ePSN past `work_request`? next : otherwise
  Test,        // of the register: condition ? next : otherwise
  Decide,      // the policy's bit for `decision` ? next : otherwise
  Fence,       // order a fence of `queue`, then next
  AwaitFence,  // until it is in effect, then next
  Report,      // `claim` about `operation` to the application, then next
  Take,        // use `buffer` for something else from now on, then next
  End,
};

enum class Claim : std::uint8_t {
  Done,     // it happened: exactly once is due
  NotDone,  // it did not, and will not
  Unknown,  // an error; nothing is promised but at-most-once
};

struct Instruction {
  Act act = Act::End;
  unsigned work_request = 0;
  unsigned queue = 0;
  unsigned buffer = 0;
  Address address;
  Condition condition;
  bool keeps = false;  // the value goes to the register
  unsigned next = 0;
  unsigned otherwise = 0;
  unsigned on_timeout = 0;
  bool may_complete = true;  // Await: false where it is known that no completion came
  bool may_time_out = true;  // Await: false where it is known that one did
  /// Probe, QueryPsn: the answer that is known to have come; no run goes on with the other one.
  std::optional<bool> known;
  unsigned packets = 0;  // QueryPsn: of the request that ePSN must be past; 0: all of them
  unsigned decision = 0;
  /// Decide: the number of the value in the register is added to `decision`.
  bool decides_by_register = false;
  unsigned operation = 0;
  Claim claim = Claim::Done;
  /// Probe: only when the receiver CPU has nothing left to do (an assumption on its speed).
  bool after_receiver = false;
};

/// One step of the receiver CPU that belongs to a client; steps run in order, each once.
struct ReceiverStep {
  enum class Kind : std::uint8_t {
    AwaitArrival,  // a receive completion (SEND or WRITE_WITH_IMM)
    AwaitWord,     // polls own `cell` until it holds `word`
    Consume,       // reads `count` own cells from `cell`; each must hold `word`
    Set,           // `count` own cells from `cell` := `word`
    Reuse,         // the same, and whoever writes there later writes a ghost
  };
  Kind kind = Kind::Set;
  unsigned cell = 0;
  unsigned count = 1;
  Word word = 0;
};

/// Another actor's atomic step on a cell, at most `budget` times in all.
struct EnvironmentStep {
  std::string name;
  Address address;
  std::optional<Word> when;  // only while the cell holds this
  Word becomes = 0;
};

enum class Violation : std::uint8_t {
  None,
  AtMostOnce,             // a second execution (or effect) of one operation
  ExactlyOnce,            // reported done, but never executed
  Result,                 // the application was told the opposite of what happened
  GhostWrite,             // old data over a buffer that its owner reused
  TornRead,               // the consumer saw a part of a WRITE
  DuplicateNotification,  // a second receive for one operation
  Linearizability,        // no order of the operations explains results and memory
  PlacementOrder,         // a request undid what a later one of its QP had placed
  Assertion,              // an Assert of the program does not hold
  ChangedSource,          // what a buffer held once it was taken was executed
  LateAnswer,             // an answer came into a buffer that had been taken
  NoProgress,             // of a run that liveness.hpp found: a client can never come to its end
};

enum class FenceKind : std::uint8_t {
  Epoch,  // the responder QP refuses every packet
  Mkey,   // the rkey is dead: a SEND still passes
};

/// Bounds of the network and the faults, per client.
struct Limits {
  unsigned late = 1;        // packets that may outlive the sender's timeout
  unsigned duplicates = 0;  // extra copies
  unsigned timeouts = 1;
  unsigned deaths = 0;  // queues whose responder NIC may die between acknowledging and placing
};

struct Scenario {
  std::string name;
  unsigned clients = 1;
  unsigned shared_cells = 1;
  unsigned own_cells = 0;
  Word initial_shared = 0;
  std::vector<WorkRequest> work_requests;
  std::vector<Instruction> program;
  std::vector<ReceiverStep> receiver;
  std::vector<EnvironmentStep> environment;
  unsigned environment_budget = 0;
  FenceKind fence_kind = FenceKind::Epoch;
  std::vector<unsigned> closed_queues;  // whose fence is an Epoch, whatever `fence_kind` says
  Limits limits;
  unsigned operations = 1;      // logical operations of a client
  bool counts_effects = false;  // an execution that changes nothing is none
  /// Off: the bare transition system, no counting, nothing is a violation.
  bool is_monitored = true;
  /// Keeps the history of the operations and judges it when all is settled.
  bool has_history = false;
  /// What a QP placed is not undone by an earlier request of it: PlacementOrder. The order is that
  /// of the operations whose first attempts share a queue.
  bool judges_placement_order = false;
  /// The judge keeps a client's operations in the order of their numbers, as RC and a sender that
  /// waits do: what an earlier one did must not undo, nor show after, what a later one did.
  bool keeps_posting_order = false;
  /// An answer is one request's alone, and so is a completion: a QP is an order of execution only.
  bool answers_one_by_one = false;
  /// Operations whose answers come before the reuse, in the judge's order: the message that allowed
  /// it was posted after them.
  std::vector<unsigned> before_reuse;
  /// Of operations without an answer, what is known all the same, and the judge may not leave open.
  std::vector<unsigned> surely_executed, surely_not;
  std::uint64_t policy = 0;  // bit d answers decision d
};

[[nodiscard]] const char* name_of(Opcode opcode) noexcept;
[[nodiscard]] const char* name_of(Violation violation) noexcept;

}  // namespace portcullis::failover
