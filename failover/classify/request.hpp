// SPDX-License-Identifier: BSD-3-Clause
//
// A work request as it stands in a dump: the members of ibv_send_wr that matter, what its
// completion said, what the application promises about the memory behind its rkey, and what it
// found at the receiver. What the dump does not say is empty here, and never guessed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "failover/protocols/models.hpp"

namespace portcullis::failover {

/// When the receiver reads what a WRITE brings.
enum class Consumer : std::uint8_t {
  Polls,     // it watches the memory itself
  Notified,  // only after a later message that the sender posts once the WRITE is complete
};

/// What the application promises about the memory behind an rkey.
struct Contract {
  Environment environment = Environment::OtherWriters;
  Consumer consumer = Consumer::Polls;
  bool is_fenced = false;        // a fence of the old QPs or mkey is known to be in effect
  bool has_unique_tags = false;  // a word's value never comes back once it was replaced
  /// The sender itself posts nothing more to these bytes while old packets may arrive.
  bool is_nothing_later = false;
  bool are_queues_fenced = false;  // nothing of the old QPs is executed any more, SENDs included
};

/// What its completion says of a request.
enum class Outcome : std::uint8_t {
  Unknown,     // none, WR_FLUSH_ERR, RETRY_EXC_ERR or GENERAL_ERR: executed or not
  Completed,   // IBV_WC_SUCCESS
  Refused,     // the responder answered with an error: its first packets at most were executed
  Unmodelled,  // any other status: what was executed is not modelled
};

/// What a request without a modelled opcode may do to others.
enum class SideEffect : std::uint8_t {
  None,     // nothing at the responder
  Message,  // tells the receiver something
  Any,
};

/// How much of a request the responder executed.
enum class Part : std::uint8_t { Nothing, Some, All };

/// What the application found after the QPs had failed, and behind the fence where there is one.
struct Evidence {
  Part least = Part::Nothing, most = Part::All;  // executed by then
  bool is_queue_fenced = false;                  // nothing of its QP is executed any more
  std::optional<Word> word, word_before;  // of an atomic: what its target held then, and at first
  std::optional<bool> holds_source;       // of a WRITE: its target held the bytes that it carries
  std::string place;                      // "FILE:LINE: FIELD", for whoever must refuse it

  [[nodiscard]] bool is_of_execution() const noexcept {
    return least != Part::Nothing || most != Part::All;
  }
  [[nodiscard]] bool is_of_memory() const noexcept { return word || word_before || holds_source; }
  [[nodiscard]] bool is_any() const noexcept {
    return is_of_execution() || is_of_memory() || is_queue_fenced;
  }
};

/// A run of the sender's own memory.
struct LocalBytes {
  std::uint64_t addr = 0, length = 0;
};

struct OutstandingRequest {
  std::uint64_t wr_id = 0;
  std::optional<Opcode> opcode = Opcode::Write;  // empty: one of verbs.h that is not modelled
  std::string opcode_name;                       // of verbs.h, without IBV_WR_
  SideEffect side_effect = SideEffect::None;     // without an opcode
  std::optional<std::uint64_t> remote_addr;
  std::optional<std::uint64_t> length;
  std::uint32_t rkey = 0;
  std::optional<std::uint32_t> qp_num;
  std::optional<std::uint32_t> psn;  // of its first packet
  Word compare_add = 0;              // addend, or what CAS expects
  Word swap = 0;
  std::optional<std::vector<LocalBytes>> sg_list;
  bool is_inline = false;  // IBV_SEND_INLINE: what it sends was copied when it was posted
  Contract contract;
  Outcome outcome = Outcome::Unknown;
  std::string status_name;  // of verbs.h, without IBV_WC_; empty without a completion
  Evidence evidence;
  std::size_t index = 0;  // in the dump
  std::size_t line = 1;   // of its file
};

[[nodiscard]] constexpr bool notifies(Opcode opcode) noexcept {
  return opcode == Opcode::Send || opcode == Opcode::WriteWithImm;
}
/// A READ or WRITE of nothing.
[[nodiscard]] inline bool is_empty(const OutstandingRequest& r) {
  return (r.opcode == Opcode::Read || r.opcode == Opcode::Write) && r.length == 0U;
}
/// Whether to repost it is to be found out.
[[nodiscard]] inline bool is_candidate(const OutstandingRequest& r) {
  return r.opcode && r.outcome == Outcome::Unknown && !is_empty(r);
}

/// IBV_WC_GENERAL_ERR, which is no status of the specification: Linux's hns leaves the QP as it is
/// (get_cqe_status), so that others of it go on, and nothing follows of their order.
[[nodiscard]] inline bool is_out_of_order(const OutstandingRequest& r) {
  return r.status_name == "GENERAL_ERR";
}
/// No completion says that its QP has stopped.
[[nodiscard]] inline bool may_run_on(const OutstandingRequest& r) {
  return r.status_name.empty() || is_out_of_order(r);
}

[[nodiscard]] constexpr bool is_atomic(Opcode opcode) noexcept {
  return opcode == Opcode::FetchAdd || opcode == Opcode::CompareSwap;
}
[[nodiscard]] constexpr bool carries_data(Opcode opcode) noexcept {
  return opcode == Opcode::Write || opcode == Opcode::WriteWithImm;
}

}  // namespace portcullis::failover
