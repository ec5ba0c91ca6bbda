// SPDX-License-Identifier: BSD-3-Clause
//
// What may be done with a work request whose outcome is unknown: repost, never, or only if a
// condition holds. Nothing is looked up: the request and its surroundings become a model of two
// attempts, and the verdict is what the explorer finds, with the run that shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "failover/explore/explorer.hpp"
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
  bool is_fenced = false;        // a fence of the old QP or mkey is known to be in effect
  bool has_unique_tags = false;  // a word's value never comes back once it was replaced
};

/// The members of ibv_send_wr that matter, and what is known of the outcome.
struct OutstandingRequest {
  std::uint64_t wr_id = 0;
  Opcode opcode = Opcode::Write;
  std::uint64_t remote_addr = 0;
  std::uint32_t rkey = 0;
  std::uint64_t length = 0;
  Word compare_add = 0;  // addend, or what CAS expects
  Word swap = 0;
  Contract contract;
};

enum class Advice : std::uint8_t { Repost, Never, OnlyIf };
enum class Proviso : std::uint8_t { FenceDone, TargetQuiet, TagUnique };

struct Classification {
  Advice advice = Advice::Never;
  std::vector<Proviso> provisos;  // OnlyIf: any one of them is enough
  std::string reason;
  std::string lemma;               // of failover/proofs
  std::uint64_t states = 0;        // explored for the verdict, all attempts together
  std::optional<Machine> machine;  // of the trace
  std::optional<Trace> trace;      // what a repost without the condition can do
};

[[nodiscard]] Result<Classification> classify(const OutstandingRequest& request);

[[nodiscard]] const char* name_of(Advice advice) noexcept;
[[nodiscard]] const char* name_of(Proviso proviso) noexcept;

}  // namespace portcullis::failover
