// SPDX-License-Identifier: BSD-3-Clause
#include "lease/lease_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/clock.hpp"
#include "base/entropy.hpp"
#include "lease/deadline.hpp"

namespace portcullis::lease {
namespace {

constexpr unsigned kSlotBits = 16;
static_assert(LeaseTable::kMaxSlots <= 1U << kSlotBits);

constexpr std::uint32_t slot_of(std::uint64_t id) noexcept {
  return static_cast<std::uint32_t>(id & ((std::uint64_t{1} << kSlotBits) - 1));
}

}  // namespace

std::string_view name(State state) noexcept {
  switch (state) {
    case State::Free:
      return "FREE";
    case State::Active:
      return "ACTIVE";
    case State::Revoking:
      return "REVOKING";
    case State::PendingDestroy:
      return "PENDING_DESTROY";
    case State::Fenced:
      return "FENCED";
  }
  return "unknown state";
}

std::string describe(const FencedLease& fenced) {
  return fmt::format("slot {} id {:#x} epoch {} at {} ms: {}", fenced.lease.slot, fenced.lease.id,
                     fenced.lease.epoch, fenced.fenced_at_ns / kNsPerMs, describe(fenced.verdict));
}

Result<LeaseTable> LeaseTable::create(const Options& options) {
  if (options.slots == 0 || options.slots > kMaxSlots)
    return fail(Errc::InvalidArgument, fmt::format("a lease table of {} slots; 1 to {} expected",
                                                   options.slots, kMaxSlots));
  Options numbered = options;
  if (options.first_epoch == 0 && options.name_seed != 0) numbered.first_epoch = 1;
  if (numbered.first_epoch == 0) {
    // The upper half is for those that follow: no epoch wraps.
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t drawn, random_number());
    numbered.first_epoch = drawn >> 1 | 1;
  }
  return LeaseTable(numbered);
}

LeaseTable::LeaseTable(const Options& options) : slots_(options.slots), names_(options.name_seed) {
  for (std::uint32_t slot = 0; slot < options.slots; ++slot) {
    slots_[slot].epoch = options.first_epoch - 1;
    push(free_, slot);
  }
  counts_[static_cast<std::size_t>(State::Free)] = options.slots;
}

Result<Lease> LeaseTable::grant() {
  if (free_.head == kNone)
    return fail(
        Errc::OutOfResources,
        fmt::format(
            "no lease slot is free: of {} slots {} are ACTIVE, {} on their way out, {} FENCED",
            slots(), count(State::Active), count(State::Revoking) + count(State::PendingDestroy),
            fenced_count()));
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t drawn, names_.draw());
  const std::uint32_t slot = pop(free_);
  slots_[slot].id = drawn << kSlotBits | slot;
  ++slots_[slot].epoch;
  slots_[slot].verdict = {};
  set_state(slot, State::Active);
  return lease(slot);
}

Claim LeaseTable::revoke(std::uint64_t id, std::uint64_t epoch) {
  const std::uint32_t slot = slot_of(id);
  if (slot >= slots()) return {};
  const Slot& held = slots_[slot];
  Claim claim{Claim::Kind::NotFound, slot, held.epoch, std::nullopt};
  if (!find(id, epoch)) return claim;
  if (held.state == State::Active) {
    set_state(slot, State::Revoking);
    claim.kind = Claim::Kind::Run;
  } else if (held.state == State::Revoking) {
    claim.kind = Claim::Kind::Join;
  } else {
    claim.kind = Claim::Kind::Repeat;
    claim.verdict = held.verdict;
  }
  return claim;
}

std::optional<std::uint32_t> LeaseTable::find(std::uint64_t id, std::uint64_t epoch) const {
  const std::uint32_t slot = slot_of(id);
  if (slot >= slots()) return std::nullopt;
  const Slot& held = slots_[slot];
  if (held.state == State::Free || held.id != id || held.epoch != epoch) return std::nullopt;
  return slot;
}

Result<void> LeaseTable::torn_down(std::uint32_t slot, const Verdict& verdict,
                                   std::uint64_t fenced_at_ns, std::uint64_t wait_ns) {
  PORTCULLIS_TRY(
      expect(slot, slot < slots() && state(slot) == State::Revoking, "REVOKING expected"));
  slots_[slot].verdict = verdict;
  slots_[slot].fenced_at_ns = fenced_at_ns;
  set_state(slot, State::PendingDestroy);
  park(slot, Place::Grace, wait_ns);
  return {};
}

std::optional<std::uint32_t> LeaseTable::take_due(std::uint64_t now_ns) {
  List* earliest = nullptr;
  for (Wait& wait : waits_) {
    const std::uint32_t head = wait.list.head;
    if (head == kNone || slots_[head].due_ns > now_ns) continue;
    if (earliest == nullptr || slots_[head].due_ns < slots_[earliest->head].due_ns)
      earliest = &wait.list;
  }
  if (earliest == nullptr) return std::nullopt;
  const std::uint32_t slot = pop(*earliest);
  slots_[slot].in_hand = true;
  return slot;
}

Result<void> LeaseTable::quarantine(std::uint32_t slot, std::uint64_t wait_ns) {
  PORTCULLIS_TRY(expect(slot, slot < slots() && slots_[slot].in_hand,
                        "PENDING_DESTROY, due and taken, expected"));
  slots_[slot].in_hand = false;
  park(slot, Place::Quarantine, wait_ns);
  return {};
}

Result<void> LeaseTable::free(std::uint32_t slot) {
  PORTCULLIS_TRY(
      expect(slot, is_releasable(slot), "REVOKING, or PENDING_DESTROY, due and taken, expected"));
  slots_[slot].in_hand = false;
  slots_[slot].place = Place::Nowhere;
  set_state(slot, State::Free);
  push(free_, slot);
  return {};
}

Result<void> LeaseTable::free(std::uint32_t slot, const Verdict& verdict) {
  PORTCULLIS_TRY(free(slot));
  slots_[slot].verdict = verdict;
  return {};
}

Result<void> LeaseTable::fence(std::uint32_t slot, const Verdict& verdict, std::uint64_t now_ns) {
  PORTCULLIS_TRY(
      expect(slot, is_releasable(slot), "REVOKING, or PENDING_DESTROY, due and taken, expected"));
  set_fenced(slot, verdict, now_ns);
  return {};
}

void LeaseTable::function_lost(std::uint64_t now_ns) {
  waits_.clear();
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    Verdict verdict = slots_[slot].verdict;
    const State was = state(slot);
    if (was == State::Free || was == State::Fenced) continue;
    verdict.origin = was == State::PendingDestroy ? Origin::Sweep : Origin::Revoke;
    if (verdict.proof == Proof::None) verdict.proof = Proof::Function;
    set_fenced(slot, verdict, now_ns);
  }
  // A region that stayed within reach of a dead key is out of it now.
  for (std::uint32_t slot = fenced_.head; slot != kNone; slot = slots_[slot].next)
    if (slots_[slot].verdict.proof == Proof::None) slots_[slot].verdict.proof = Proof::Function;
}

void LeaseTable::drained(std::uint64_t now_ns) {
  waits_.clear();
  fenced_ = {};
  is_drained_ = true;
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    Slot& held = slots_[slot];
    if (held.state == State::Free) continue;
    if (held.state == State::Active || held.state == State::Revoking) held.fenced_at_ns = now_ns;
    if (held.verdict.proof == Proof::None) held.verdict.proof = Proof::Function;
    held.in_hand = false;
    held.place = Place::Nowhere;
    set_state(slot, State::PendingDestroy);
  }
}

Result<void> LeaseTable::function_reset() {
  const std::uint32_t alive = count(State::Active) + count(State::Revoking) +
                              (is_drained_ ? 0 : count(State::PendingDestroy));
  if (alive != 0)
    return fail(
        Errc::InvalidArgument,
        fmt::format("a function reset under {} leases that are not FENCED; 0 expected", alive));
  while (fenced_.head != kNone) {
    const std::uint32_t slot = pop(fenced_);
    set_state(slot, State::Free);
    push(free_, slot);
  }
  is_drained_ = false;
  for (std::uint32_t slot = 0; count(State::PendingDestroy) != 0; ++slot) {
    if (state(slot) != State::PendingDestroy) continue;
    set_state(slot, State::Free);
    push(free_, slot);
  }
  return {};
}

std::vector<FencedLease> LeaseTable::fenced_summary() const {
  std::vector<FencedLease> rows;
  rows.reserve(fenced_count());
  for (std::uint32_t slot = fenced_.head; slot != kNone; slot = slots_[slot].next)
    rows.push_back({lease(slot), slots_[slot].verdict, slots_[slot].fenced_at_ns});
  return rows;
}

Lease LeaseTable::lease(std::uint32_t slot) const noexcept {
  return {slots_[slot].id, slots_[slot].epoch, slot};
}

std::size_t LeaseTable::bytes() const noexcept {
  return sizeof *this + slots_.capacity() * sizeof(Slot) + waits_.capacity() * sizeof(Wait);
}

void LeaseTable::push(List& list, std::uint32_t slot) noexcept {
  slots_[slot].next = kNone;
  if (list.head == kNone) {
    list.head = slot;
  } else {
    slots_[list.tail].next = slot;
  }
  list.tail = slot;
}

std::uint32_t LeaseTable::pop(List& list) noexcept {
  const std::uint32_t slot = list.head;
  list.head = slots_[slot].next;
  return slot;
}

void LeaseTable::park(std::uint32_t slot, Place place, std::uint64_t wait_ns) {
  auto wait = std::find_if(waits_.begin(), waits_.end(), [place, wait_ns](const Wait& w) {
    return w.place == place && w.wait_ns == wait_ns;
  });
  if (wait == waits_.end()) wait = waits_.insert(waits_.end(), Wait{place, wait_ns, {}});
  slots_[slot].place = place;
  slots_[slot].due_ns = after_ns(slots_[slot].fenced_at_ns, wait_ns);
  push(wait->list, slot);
}

void LeaseTable::set_state(std::uint32_t slot, State state) noexcept {
  --counts_[static_cast<std::size_t>(slots_[slot].state)];
  ++counts_[static_cast<std::size_t>(state)];
  slots_[slot].state = state;
}

void LeaseTable::set_fenced(std::uint32_t slot, const Verdict& verdict,
                            std::uint64_t now_ns) noexcept {
  slots_[slot].verdict = verdict;
  slots_[slot].verdict.outcome = Outcome::Fenced;
  slots_[slot].fenced_at_ns = now_ns;
  slots_[slot].in_hand = false;
  slots_[slot].place = Place::Nowhere;
  set_state(slot, State::Fenced);
  push(fenced_, slot);
}

bool LeaseTable::is_releasable(std::uint32_t slot) const noexcept {
  return slot < slots() && (state(slot) == State::Revoking || slots_[slot].in_hand);
}

Result<void> LeaseTable::expect(std::uint32_t slot, bool allowed, std::string_view wanted) const {
  if (allowed) return {};
  std::string text = fmt::format("lease slot {}", slot);
  if (slot >= slots()) {
    text += fmt::format(" of {}", slots());
  } else {
    text += " is ";
    text += name(state(slot));
  }
  text += "; ";
  text += wanted;
  return fail(Errc::InvalidArgument, std::move(text));
}

}  // namespace portcullis::lease
