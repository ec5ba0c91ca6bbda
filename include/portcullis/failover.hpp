// SPDX-License-Identifier: BSD-3-Clause
//
// Which requests of a failed send queue may be posted again. A dump is JSON (docs/failover.md has
// its fields): what a library would print of its outstanding requests, with what the application
// promises about the memory. The advice is what the explorer finds for all requests that meet in
// the same bytes, not a rule by opcode.
//
// Example, failover.cpp:
//   PORTCULLIS_TRY_ASSIGN(const auto dump, Dump::parse(kJson, "dump.json"));
//   PORTCULLIS_TRY_ASSIGN(const auto advice, classify(dump));
//   for (const RequestAdvice& one : advice)
//     std::cout << one.wr_id << ' ' << name(one.advice) << ": " << one.reason << '\n';
#pragma once

#include <portcullis/export.hpp>
#include <portcullis/result.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis {

/// Work requests whose outcome is unknown, in posting order.
class PORTCULLIS_API Dump {
 public:
  struct Impl;

  /// A move copies: what was moved from is the same still. It costs no more than a count.
  Dump(const Dump&) = default;
  /// The same.
  Dump& operator=(const Dump&) = default;
  ~Dump() = default;

  /// Malformed, as "FILE:LINE: FIELD: what", with what is accepted; `file` is what messages call
  /// the text.
  [[nodiscard]] static Result<Dump> parse(std::string_view json, std::string_view file);

  /// How many requests it has.
  [[nodiscard]] std::size_t size() const noexcept;
  /// For the other functions of this library.
  [[nodiscard]] const Impl& impl() const noexcept { return *impl_; }

 private:
  explicit Dump(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;  // never changes
};

/// Whether a request may be posted again.
enum class Advice : std::uint8_t {
  Repost,    // no run that was explored shows that it was posted twice
  Never,     // a run does, whatever is promised
  OnlyIf,    // a run does, and none does where one of `one_of` is promised
  NoAdvice,  // not looked at: not modelled, contradictory, too much to explore, or stopped
};
/// "repost", "never", "only-if", "no-advice".
[[nodiscard]] PORTCULLIS_API std::string_view name(Advice advice) noexcept;

/// What a repost takes for granted.
struct Condition {
  std::string text;                   // such as "posted in order"
  std::vector<std::size_t> requests;  // of the dump, from 0, that it speaks of
};

/// Whether the sender may use the memory of a request, its sg_list, for something else.
struct BufferAdvice {
  /// The word, as `buffer.advice` of --format json has it.
  enum class Answer : std::uint8_t {
    None,      // it has no buffer
    Reuse,     // no run sends from it again to any effect, nor writes an answer into it
    OnlyIf,    // a run does, and none does where one of `one_of` is promised
    NoAdvice,  // not looked at: not modelled, or stopped
  };
  Answer answer = Answer::None;                  // the word
  std::vector<Condition> conditions;             // Reuse, OnlyIf: all of them
  std::vector<std::vector<std::string>> one_of;  // OnlyIf: all of any one of these lists, too
  std::string reason;                            // one line for a person
  std::vector<std::size_t> shared_with;          // requests of the dump that still need these bytes
  std::string counterexample;                    // what a reuse can do as things stand, or empty
};

/// About one request of the dump.
struct RequestAdvice {
  std::uint64_t wr_id = 0;  // as the dump has it
  std::string opcode;       // "WRITE", "FADD", ..; unmodelled ones as in verbs.h, without IBV_WR_
  Advice advice = Advice::NoAdvice;              // the word
  std::vector<Condition> conditions;             // Repost, OnlyIf: all of them
  std::vector<std::vector<std::string>> one_of;  // OnlyIf: all of any one of these lists, too
  std::string reason;                            // one line for a person
  std::string lemma;                             // of failover/proofs, where one covers the request
  std::uint64_t states = 0;                      // explored for the verdict
  bool is_by_rule = false;                       // of classify_by_rules(), and no run is told
  std::string counterexample;  // what a repost can do as things stand, step by step; or empty
  BufferAdvice buffer;         // of the memory that it sends from, or that its answer goes to
};

/// One for each request, in the order of the dump. The advice holds when every request with the
/// advice to repost is reposted, and no other. `stop` is asked now and then; once it is true, what
/// is left gets no advice. Its sources: docs/failover.md, and the theorems of failover/proofs.
[[nodiscard]] PORTCULLIS_API Result<std::vector<RequestAdvice>> classify(
    const Dump& dump, const std::atomic<bool>* stop = nullptr);

/// The same without exploring, for who must fail fast: microseconds a request. What no rule covers,
/// such as requests that meet in the same bytes, gets no advice.
[[nodiscard]] PORTCULLIS_API Result<std::vector<RequestAdvice>> classify_by_rules(const Dump& dump);

}  // namespace portcullis
