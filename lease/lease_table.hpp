// SPDX-License-Identifier: BSD-3-Clause
//
// The lease table: which slot holds which lease in which state, and nothing else. No command is
// sent and no memory touched here; whoever does that (lease/lease_manager.hpp) asks the table first
// and tells it afterwards. Every operation is O(1) but the two that touch the whole function;
// taking what is due looks at nothing that is not due but the head of each queue.
//
// Allowed transitions. Everything else is InvalidArgument and changes nothing.
//
//   from             to               who                     why
//   FREE             ACTIVE           grant                   free for longest; epoch + 1
//   ACTIVE           REVOKING         revoke of id and epoch  one fence runs; a second revoke
//                                     or failed grant         joins it
//   REVOKING         PENDING_DESTROY  fence, TornDown         the QPN must outlive packets on
//                                                             their way
//   REVOKING         FENCED           fence, any failure      fail closed: the device may still act
//   REVOKING         FREE             legacy plan             all is destroyed already
//   PENDING_DESTROY  PENDING_DESTROY  sweep, after 2RST_QP    the number rests until the client's
//                                                             retry budget has run out
//   PENDING_DESTROY  FREE             sweep, once due         all is destroyed
//   PENDING_DESTROY  FENCED           sweep, any failure      fail closed
//   any but FREE     FENCED           function lost           bus mastering is off: no fence can
//                                                             run and none is needed
//   any but FREE     PENDING_DESTROY  drain                   the function was reset with bus
//                                                             mastering off: all of it is gone,
//                                                             the name goes on answering
//   PENDING_DESTROY  FREE             function reset,         the drained function serves again
//                                     after a drain
//   FENCED           FREE             function reset          nothing is left in the device
//
// Prohibited transitions.
//
//   from             to               why
//   FREE             REVOKING         there is nothing to fence; the answer is NotFound
//   FREE             PENDING_DESTROY  no objects to destroy
//   FREE             FENCED           a failed grant is ACTIVE, then REVOKING, like any lease
//   ACTIVE           FREE             the device could still write the memory
//   ACTIVE           PENDING_DESTROY  but by a drain: an outcome without a fence
//   ACTIVE           FENCED           nobody has tried to fence it
//   REVOKING         ACTIVE           a fence is never taken back
//   PENDING_DESTROY  ACTIVE           the same
//   PENDING_DESTROY  REVOKING         the outcome was told: it is repeated, never run again
//   PENDING_DESTROY  FREE, FENCED     while not due: a packet on its way could meet a reused QPN
//   FENCED           any but FREE     but by a drain: the device may hold its objects
//   FENCED           FREE             but by a function reset, for the same reason
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "lease/fence_step.hpp"
#include "lease/random_source.hpp"

namespace portcullis::lease {

enum class State : std::uint8_t { Free, Active, Revoking, PendingDestroy, Fenced };
/// "PENDING_DESTROY".
[[nodiscard]] std::string_view name(State state) noexcept;

/// What names a lease. The id carries its slot below 48 bits that nobody can foretell. The epoch
/// counts the leases of that slot from the function's incarnation on, another number for every
/// table that is made anew, and is what a stale revoke is told by. So no table before or after this
/// one has told the same name.
struct Lease {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
  std::uint32_t slot = 0;

  bool operator==(const Lease&) const = default;
};

/// What a client calls a lease by; the slot is the server's.
struct LeaseName {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;

  bool operator==(const LeaseName&) const = default;
};

/// What a revoke met.
struct Claim {
  enum class Kind : std::uint8_t {
    Run,       // the lease was ACTIVE and is REVOKING now: run the fence
    Join,      // a fence is running: wait for its verdict
    Repeat,    // PENDING_DESTROY or FENCED: `verdict` is the recorded one
    NotFound,  // FREE, another epoch, another id or no such slot
  };
  Kind kind = Kind::NotFound;
  std::uint32_t slot = 0;
  std::uint64_t current_epoch = 0;  // of the slot; 0 when there is no such slot
  std::optional<Verdict> verdict;   // Repeat only
};

/// One row for the post-mortem.
struct FencedLease {
  Lease lease;
  Verdict verdict;
  std::uint64_t fenced_at_ns = 0;
};
/// "slot 3 id 0x30003 epoch 7 at 12.5 s: outcome=Fenced failed=DESTROY_MKEY origin=REVOKE ..".
[[nodiscard]] std::string describe(const FencedLease& fenced);

class LeaseTable {
 public:
  static constexpr std::uint32_t kMaxSlots = 65'000;
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  struct Options {
    std::uint32_t slots = 1024;  // 1 to kMaxSlots
    /// Above every epoch that a table before this one has told. 0: the function's incarnation, a
    /// number of 63 bits that nobody can foretell; 1 in a run that is to be repeated.
    std::uint64_t first_epoch = 0;
    std::uint64_t name_seed = 0;  // of the ids; 0: from the system
  };
  [[nodiscard]] static Result<LeaseTable> create(const Options& options);

  /// FREE to ACTIVE. OutOfResources when no slot is free; the text says how the slots are used.
  [[nodiscard]] Result<Lease> grant();
  /// ACTIVE to REVOKING when id and epoch match; otherwise nothing changes and the claim says why.
  [[nodiscard]] Claim revoke(std::uint64_t id, std::uint64_t epoch);
  /// REVOKING to PENDING_DESTROY: due for the sweep `wait_ns` after `fenced_at_ns`. Times may not
  /// go back between two calls with one `wait_ns`.
  [[nodiscard]] Result<void> torn_down(std::uint32_t slot, const Verdict& verdict,
                                       std::uint64_t fenced_at_ns, std::uint64_t wait_ns);
  /// The slot due for longest, now in the sweep's hand: free(), fence() or quarantine() must
  /// follow. None when nothing is due.
  [[nodiscard]] std::optional<std::uint32_t> take_due(std::uint64_t now_ns);
  /// In hand, back into PENDING_DESTROY with its QP in RESET: due `wait_ns` after its fence.
  [[nodiscard]] Result<void> quarantine(std::uint32_t slot, std::uint64_t wait_ns);
  /// REVOKING, or PENDING_DESTROY in hand, to FREE. The verdict is kept until the next grant.
  [[nodiscard]] Result<void> free(std::uint32_t slot);
  [[nodiscard]] Result<void> free(std::uint32_t slot, const Verdict& verdict);
  /// REVOKING, or PENDING_DESTROY in hand, to FENCED; the verdict's outcome becomes Fenced.
  [[nodiscard]] Result<void> fence(std::uint32_t slot, const Verdict& verdict,
                                   std::uint64_t now_ns);
  /// Bus mastering is off: every lease becomes FENCED, with its memory proved. O(slots).
  void function_lost(std::uint64_t now_ns);
  /// Bus mastering is off and the function was reset, so that nothing is left of any lease: each
  /// waits in PENDING_DESTROY for function_reset(), with the outcome that it was told, or TornDown.
  /// O(slots).
  void drained(std::uint64_t now_ns);
  [[nodiscard]] bool is_drained() const noexcept { return is_drained_; }
  /// The function was reset and is up again: FENCED to FREE, and what was drained. InvalidArgument
  /// while any lease is in another state.
  [[nodiscard]] Result<void> function_reset();
  /// Numbers of leases that a reset ended may not come back earlier (device clock).
  void rest_until(std::uint64_t until_ns) noexcept {
    rests_until_ns_ = std::max(rests_until_ns_, until_ns);
  }
  [[nodiscard]] std::uint64_t rests_until_ns() const noexcept { return rests_until_ns_; }

  [[nodiscard]] std::uint32_t slots() const noexcept {
    return static_cast<std::uint32_t>(slots_.size());
  }
  [[nodiscard]] std::uint32_t count(State state) const noexcept {
    return counts_[static_cast<std::size_t>(state)];
  }
  [[nodiscard]] std::uint32_t fenced_count() const noexcept { return count(State::Fenced); }
  /// Every fenced lease, in the order of fencing.
  [[nodiscard]] std::vector<FencedLease> fenced_summary() const;
  /// The slot whose lease has this id and epoch, ended or not; none when it is FREE or another's.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t id, std::uint64_t epoch) const;
  /// Of a slot below slots().
  [[nodiscard]] State state(std::uint32_t slot) const noexcept { return slots_[slot].state; }
  [[nodiscard]] Lease lease(std::uint32_t slot) const noexcept;
  [[nodiscard]] const Verdict& verdict(std::uint32_t slot) const noexcept {
    return slots_[slot].verdict;
  }
  /// When its outcome stood.
  [[nodiscard]] std::uint64_t fenced_at_ns(std::uint32_t slot) const noexcept {
    return slots_[slot].fenced_at_ns;
  }
  /// 2RST_QP has been done: the slot is in its second wait.
  [[nodiscard]] bool is_quarantined(std::uint32_t slot) const noexcept {
    return slots_[slot].place == Place::Quarantine;
  }
  /// What the table holds in memory.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Where a slot of PENDING_DESTROY is.
  enum class Place : std::uint8_t { Nowhere, Grace, Quarantine };
  struct Slot {
    std::uint64_t id = 0;
    std::uint64_t epoch = 0;
    std::uint64_t fenced_at_ns = 0;
    std::uint64_t due_ns = 0;
    std::uint32_t next = kNone;  // in the one list it stands in
    Verdict verdict;
    State state = State::Free;
    Place place = Place::Nowhere;
    bool in_hand = false;
  };
  static_assert(sizeof(Slot) * kMaxSlots <= kMaxBytes);

  /// First in, first out, through Slot::next.
  struct List {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };
  /// Slots that wait equally long stand in the order in which they become due, so a list is enough;
  /// waits are few (GRACE and the retry budgets in use).
  struct Wait {
    Place place = Place::Grace;
    std::uint64_t wait_ns = 0;
    List list;
  };

  explicit LeaseTable(const Options& options);

  void push(List& list, std::uint32_t slot) noexcept;
  std::uint32_t pop(List& list) noexcept;
  void park(std::uint32_t slot, Place place, std::uint64_t wait_ns);
  void set_state(std::uint32_t slot, State state) noexcept;
  void set_fenced(std::uint32_t slot, const Verdict& verdict, std::uint64_t now_ns) noexcept;
  [[nodiscard]] Result<void> expect(std::uint32_t slot, bool allowed,
                                    std::string_view wanted) const;
  [[nodiscard]] bool is_releasable(std::uint32_t slot) const noexcept;

  std::vector<Slot> slots_;
  std::vector<Wait> waits_;
  List free_;
  List fenced_;
  std::array<std::uint32_t, 5> counts_{};
  RandomSource names_;
  std::uint64_t rests_until_ns_ = 0;
  bool is_drained_ = false;
};

}  // namespace portcullis::lease
