// SPDX-License-Identifier: BSD-3-Clause
//
// Fence plans: by which commands, in which order, a lease is taken back. What the client sees
// depends on the order alone; what the plan promises does not. docs/revocation.md is the whole
// story.
//
//   plan            its client sees                              best outcome
//   seed            silence, then its retry budget runs out      TornDown
//   nak-first       a remote access NAK in one round trip        TornDown
//   umr             as nak-first; the key freed by a UMR         TornDown
//   indirect        as nak-first; one key for all leases that    TornDown
//                   were granted together
//   access-flags    a NAK of its rights                          TornDown
//   legacy          silence; everything destroyed at once        TornDown
//   allow-replace, allow-modify, underlay   as seed              TornDown
//   drop-only       silence; the ladder proves the memory        Fenced
//
// Example, leases.cpp:
//   PORTCULLIS_TRY_ASSIGN(const auto plan, FencePlan::parse("nak-first"));
//   std::cout << plan.name() << ": " << plan.steps() << '\n';
#pragma once

#include <portcullis/export.hpp>
#include <portcullis/result.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace portcullis {

/// One of the plans above, by name.
class PORTCULLIS_API FencePlan {
 public:
  /// "seed".
  FencePlan() : name_("seed") {}
  /// A move copies: what was moved from is the same plan still.
  FencePlan(const FencePlan&) = default;
  /// The same.
  FencePlan& operator=(const FencePlan&) = default;
  ~FencePlan() = default;
  /// NAME, or NAME+overlap: its commands issued together, and what the client sees a matter of
  /// luck. InvalidArgument names the value and what is accepted.
  [[nodiscard]] static Result<FencePlan> parse(std::string_view name);
  /// Every plan, without +overlap.
  [[nodiscard]] static std::vector<FencePlan> all();

  /// "nak-first", "seed+overlap".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// "DESTROY_MKEY, 2ERR_QP": in their order for one lease.
  [[nodiscard]] std::string steps() const;
  /// False: whatever succeeds, the outcome is Fenced at best, and the slot is not used again before
  /// a function reset.
  [[nodiscard]] bool can_tear_down() const;
  /// False: its entry has to stand from the grant on, so the manager must be created with it
  /// (LeaseOptions::plan). A lease of another manager is fenced by its steps without that entry,
  /// and the answer is RevokeAnswer::is_steering_degraded.
  [[nodiscard]] bool is_for_any_lease() const;

  /// The same commands in the same order.
  bool operator==(const FencePlan&) const = default;

 private:
  explicit FencePlan(std::string name) : name_(std::move(name)) {}

  std::string name_;  // a plan that is there
};

}  // namespace portcullis
