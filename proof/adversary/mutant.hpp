// SPDX-License-Identifier: BSD-3-Clause
//
// What could be wrong with a fence, or with the card under it. Each is a run like any other with
// one thing broken, and the proof must find it: one that finds nothing in them would find nothing
// anywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace portcullis::proof::adversary {

enum class Mutant : std::uint8_t {
  None,
  NoMkeyStep,              // DESTROY_MKEY is never sent
  OutcomeBeforeOwnership,  // success is told while the device still owns the command
  DeliveryIgnored,         // a delivery status is taken for success
  KeyByteKept,             // a new key has the low byte of the old one
  NumberReusedEarly,       // a QP number comes back while packets for it may still live
  A1Off,                   // the card breaks promise A1
  ReplayUnchecked,         // the card serves a READ again without a look at the key
  ReadAfterFence,          // the card serves READs that DESTROY_MKEY did not wait for
  DispatchCache,           // the card serves a QP in error, and looks at no key
  A2Off,                   // the card breaks promise A2
  A5Off,                   // the IOMMU breaks promise A5
  A6Off,                   // the card breaks promise A6
  LegacyReuse,             // plan legacy gives a QP number back though packets for it still live
  KeyByteKeptRead,         // KeyByteKept, and the old client does nothing but READ
  KeyByteKeptAtomic,       // KeyByteKept, and the old client does nothing but atomics
  TimeoutIsSuccess,        // what was never answered is taken for success
  RungThreeLeftOut,        // a failed fence does not unmap the region
  UnmapNotDone,            // a region is said to be unmapped, and is not
  NoGrace,                 // the deferred phase begins at once
  NoQuarantine,            // the number does not rest as long as the client may send again
  JoinNotAwaited,          // who joins a revoke is told its outcome while it runs
  BusMasterLeftOn,         // a drain is told that bus mastering is off, and it is not (A7)
  DeadEntry,               // a key that an indirect one still names is given again
  FakeBelieved,            // what a kernel answers for a device that it takes for broken is taken
};

struct MutantInfo {
  Mutant mutant;
  std::string_view name;
  std::string_view what;
  std::string_view behaviour = "";  // of the model, A+B; empty: the model is as ever
  std::string_view plan = "";       // the one that rests on what is broken; empty: every plan does
};

[[nodiscard]] constexpr bool keeps_key_byte(Mutant mutant) noexcept {
  return mutant == Mutant::KeyByteKept || mutant == Mutant::KeyByteKeptRead ||
         mutant == Mutant::KeyByteKeptAtomic || mutant == Mutant::DeadEntry;
}
/// Whether it must be found by what the device did to memory. Else what was answered is enough: a
/// fence that proves nothing harms nobody by itself.
[[nodiscard]] constexpr bool is_found_by_dma(Mutant mutant) noexcept {
  return mutant != Mutant::None && mutant != Mutant::RungThreeLeftOut;
}
/// All but None.
[[nodiscard]] std::span<const MutantInfo> mutants() noexcept;
[[nodiscard]] std::string_view name(Mutant mutant) noexcept;
/// InvalidArgument names the value and those accepted.
[[nodiscard]] Result<Mutant> parse_mutant(std::string_view text);

}  // namespace portcullis::proof::adversary
