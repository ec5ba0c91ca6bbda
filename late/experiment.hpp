// SPDX-License-Identifier: BSD-3-Clause
//
// One run: a lease on the last server of the ring, a client on the first, and a WRITE that a pause
// holds back until the lease has been taken away. What stands between it and the tenant that
// follows is the number's rest, the key's low byte and the first PSN; each can be left out, by the
// options that the lease manager has for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "late/ring.hpp"
#include "late/switched_wire.hpp"
#include "lease/fence_plan.hpp"
#include "lease/number_rest.hpp"
#include "pfc/packet/options.hpp"
#include "prm/cqe.hpp"
#include "proof/adversary/witness.hpp"

namespace portcullis::late {

/// The client whose WRITE is late gives up after one try and 4.096 us x 2^this, or up to four times
/// that.
inline constexpr std::uint8_t kImpatientTimeout = 5;
inline constexpr std::uint8_t kImpatientRetries = 0;

/// What all runs have in common.
struct Setup {
  RingOptions ring;
  /// From the beginning until the WRITE that is to be held back: the loads have filled the fabric.
  std::uint64_t settle_ms = 10;
  /// How long behind the rest of the number the WRITE is waited for, at most.
  std::uint64_t patience_ms = 200;
  std::uint64_t seed = 1;
  /// Once it is set a run hurries to its end, and shows nothing. May be null.
  const std::atomic<bool>* is_stopped = nullptr;
};

/// What of the rules for the next tenant is kept.
struct Trial {
  /// LeaseManager::Options: with what the client may send they are how long the number rests.
  std::uint64_t grace_ms = 5'000;
  std::uint64_t residence_ms = 0;
  bool has_fresh_key_byte = true;  // else every key of an index has the same byte
  bool has_fresh_psn = true;       // else the next tenant begins with the PSN of what is late
  bool samples = false;            // of the fabric, for a picture

  /// How long the number rests, rounded up.
  [[nodiscard]] std::uint64_t rest_ms() const noexcept {
    const std::uint64_t rest_ns =
        lease::number_rest_ns({grace_ms, residence_ms}, kImpatientTimeout, kImpatientRetries);
    return (rest_ns + kNsPerMs - 1) / kNsPerMs;
  }
};

/// What a late WRITE found where it was sent to.
enum class Met : std::uint8_t {
  Nothing,    // it never arrived
  LiveLease,  // its own lease, not fenced yet: it was not late
  Error,      // the QP in error: GRACE
  Reset,      // the QP in RESET, or gone: the number rests, or is nobody's
  DeadKey,    // the next tenant's QP, which said that the key is none
  WrongPsn,   // the same, which took it for another's
  LiveKey,    // the same, and the key was the next tenant's
};
[[nodiscard]] const char* describe(Met met) noexcept;

/// What became of the next tenant's own first WRITE.
enum class OwnWrite : std::uint8_t {
  None,       // there was no next tenant
  Written,    // its bytes are there
  Unwritten,  // acknowledged, and its bytes are not
  Failed,     // with an error
};
[[nodiscard]] const char* describe(OwnWrite own) noexcept;

/// Times from the fence's outcome on, negative before, unless they say otherwise.
struct Seen {
  double first_us = 0;  // a WRITE through the empty fabric, from its first bit to its last
  Passage late;         // the WRITE that was to be held back
  std::uint64_t fenced_ns = 0;
  double sent_us = 0;
  double arrived_us = 0;
  double next_us = 0;      // the next tenant was granted
  double compared_us = 0;  // whether bytes had changed was looked at
  bool has_next = false;
  bool same_number = false;  // of the next tenant and the lease before
  bool same_key = false;
  Met met = Met::Nothing;
  std::uint64_t changed_before = 0;  // bytes of the fenced lease's region, from its outcome on
  std::uint64_t changed_next = 0;    // of the next tenant's, before it wrote anything itself
  std::optional<proof::adversary::Violation> violation;  // what the observer of DMA says of both
  OwnWrite own = OwnWrite::None;
  prm::WcStatus client_status = prm::WcStatus::SUCCESS;  // what the client was told of its WRITE
  double client_us = 0;
  bool is_other_undisturbed = false;  // a third server's lease, under the same load
  pfc::packet::RunReport fabric;
  double fabric_fence_us = 0;  // of the fabric's clock, as its samples are

  [[nodiscard]] double lateness_us() const noexcept { return arrived_us - sent_us; }
  /// It was sent before the outcome, a pause held it back, and it came behind the outcome.
  [[nodiscard]] bool is_held_back() const noexcept {
    return late.fate == Passage::Fate::Arrived && sent_us < 0 && arrived_us > 0 &&
           late.paused_ns > 0;
  }
  [[nodiscard]] bool has_changed() const noexcept {
    return changed_before + changed_next > 0 || violation.has_value();
  }
};

/// A function of its arguments. An error where the run could not be made; whatever it comes to is
/// in Seen.
[[nodiscard]] Result<Seen> run(const Setup& setup, const Trial& trial);

}  // namespace portcullis::late
