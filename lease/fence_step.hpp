// SPDX-License-Identifier: BSD-3-Clause
//
// The steps that a fence is made of, each with its bit in a failed_mask (lease/step_table.hpp says
// all else of them), and the words in which an outcome is told: code, origin, what became of
// steering, and which rung of the ladder proved that no DMA reaches the memory any more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace portcullis::lease {

/// One thing a fence or a sweep does. The value is the bit in failed_mask, so it never changes;
/// bits 0 to 2 are the three commands of the seed plan in their order.
enum class Step : std::uint8_t {
  ErrorQp = 0,            // 2ERR_QP: the QP falls silent; promises nothing about DMA (contract A3)
  DestroyMkey = 1,        // DESTROY_MKEY: no DMA under the key afterwards (A1)
  InstallDrop = 2,        // SET_FLOW_TABLE_ENTRY, action DROP: best effort (A4)
  RemoveDrop = 3,         // DELETE_FLOW_TABLE_ENTRY
  ResetQp = 4,            // 2RST_QP
  DestroyQp = 5,          // DESTROY_QP
  DeallocPd = 6,          // DEALLOC_PD
  UnmapRegion = 7,        // IOMMU unmap of this lease's region only: returns after the flush (A5)
  ClearRights = 8,        // RTS2RTS_QP with rwe, rre and rae 0
  BusMasterOff = 9,       // PCI_COMMAND_MASTER of the whole function
  ResetFunction = 10,     // function level reset
  FreeKey = 11,           // UMR on the driver's own QP: the key is free, no DMA under it (A2)
  DestroyTenantKey = 12,  // DESTROY_MKEY of the indirect key of leases granted together (A6)
  // The next one stands here, and its row in lease/step_table.cpp.
  End,  // no step: how many there are
};
inline constexpr unsigned kSteps = static_cast<unsigned>(Step::End);

using StepMask = std::uint16_t;
static_assert(kSteps <= 16, "every step has a bit in a StepMask");

[[nodiscard]] constexpr StepMask bit(Step step) noexcept {
  return static_cast<StepMask>(1U << static_cast<unsigned>(step));
}
/// "2ERR_QP".
[[nodiscard]] std::string_view name(Step step) noexcept;
/// "2ERR_QP|DESTROY_MKEY"; "none" for 0.
[[nodiscard]] std::string names(StepMask mask);

/// What a revoke answers; the values go over the wire.
enum class Outcome : std::uint8_t {
  TornDown = 0,  // fenced; the slot comes back once the deferred phase is through
  Fenced = 1,    // a step that may not fail failed; the slot is gone until a function reset
  NotFound = 2,  // no such lease, or another epoch
  Revoking = 3,  // none yet: its turn comes; never that of a verdict
};
/// Which path fenced a slot.
enum class Origin : std::uint8_t {
  None = 0,    // not fenced
  Legacy = 1,  // the synchronous path, failed allocations included
  Revoke = 2,  // the immediate phase
  Sweep = 3,   // the deferred phase
};
enum class SteeringState : std::uint8_t {
  Absent,    // no flow steering on this function, or not part of the plan
  Ok,        // the DROP entry stands
  Degraded,  // refused, or not there from the grant on as the plan needs; no outcome rests on it
};
/// Which rung proved that no DMA touches the region for this lease any more.
enum class Proof : std::uint8_t {
  None = 0,        // memory=unproved: the region is never granted again
  Mkey = 1,        // DESTROY_MKEY answered with success
  Umr = 2,         // the UMR that frees the key completed
  Unmap = 3,       // the IOMMU unmap returned
  Function = 4,    // bus mastering off: the function issues no DMA at all
  TenantMkey = 5,  // DESTROY_MKEY of the indirect key, the only one with rights for a peer
};

[[nodiscard]] std::string_view name(Outcome outcome) noexcept;
[[nodiscard]] std::string_view name(Origin origin) noexcept;
[[nodiscard]] std::string_view name(SteeringState steering) noexcept;
/// "unproved", "proved by DESTROY_MKEY", ..
[[nodiscard]] std::string_view name(Proof proof) noexcept;

/// What a fence came to; recorded on the slot and repeated to whoever asks again.
struct Verdict {
  Outcome outcome = Outcome::TornDown;
  Origin origin = Origin::None;
  SteeringState steering = SteeringState::Absent;
  Proof proof = Proof::None;
  StepMask failed_mask = 0;

  bool operator==(const Verdict&) const = default;
};

/// "outcome=TornDown failed=SET_FLOW_TABLE_ENTRY steering=degraded memory=proved by DESTROY_MKEY",
/// with the origin where there is one.
[[nodiscard]] std::string describe(const Verdict& verdict);

}  // namespace portcullis::lease
