// SPDX-License-Identifier: BSD-3-Clause
#include "proof/adversary/mutant.hpp"

#include <algorithm>
#include <array>

namespace portcullis::proof::adversary {
namespace {

constexpr std::array kMutants{
    MutantInfo{Mutant::NoMkeyStep, "no-mkey-step",
               "DESTROY_MKEY is never sent and success is told"},
    MutantInfo{Mutant::OutcomeBeforeOwnership, "outcome-before-ownership",
               "DESTROY_MKEY counts as done while the device still owns it"},
    MutantInfo{Mutant::DeliveryIgnored, "delivery-ignored",
               "a command that came back with a delivery status counts as done"},
    MutantInfo{Mutant::KeyByteKept, "key-byte-kept",
               "the low byte of a key does not change when its index is given again"},
    MutantInfo{Mutant::NumberReusedEarly, "number-reused-early",
               "slot and QP number come back while packets for the old lease still live"},
    MutantInfo{Mutant::A1Off, "a1-off",
               "the card answers DESTROY_MKEY before the DMA under the key is done", "a1-off"},
    MutantInfo{Mutant::ReplayUnchecked, "replay-unchecked",
               "the card serves a READ that is asked for again without a new key check",
               "replay-unchecked"},
    MutantInfo{Mutant::ReadAfterFence, "read-after-fence",
               "the card serves READs that DESTROY_MKEY did not wait for", "read-untracked"},
    MutantInfo{Mutant::DispatchCache, "dispatch-cache",
               "the card goes on serving a QP in error from a cache that looks at no key",
               "dispatch-cache=2000+dispatch-cache-keeps-key"},
    MutantInfo{Mutant::A2Off, "a2-off",
               "the card completes a UMR before the DMA under the key is done", "a2-off", "umr"},
    MutantInfo{Mutant::A5Off, "a5-off",
               "DESTROY_MKEY fails, and the IOMMU lets the device reach what was unmapped",
               "a5-off"},
    MutantInfo{Mutant::A6Off, "a6-off",
               "the card answers DESTROY_MKEY of an indirect key before the DMA through it is done",
               "a6-off", "indirect"},
    MutantInfo{Mutant::LegacyReuse, "legacy-reuse",
               "a packet of the old lease meets its number, which plan legacy gives back at once",
               "", "legacy"},
    MutantInfo{Mutant::KeyByteKeptRead, "key-byte-kept-read",
               "the same as key-byte-kept, and the old client does nothing but READ"},
    MutantInfo{Mutant::KeyByteKeptAtomic, "key-byte-kept-atomic",
               "the same as key-byte-kept, and the old client does nothing but atomics"},
    MutantInfo{Mutant::TimeoutIsSuccess, "timeout-is-success",
               "a command of a fence that was never answered counts as done"},
    MutantInfo{Mutant::RungThreeLeftOut, "rung-3-left-out",
               "DESTROY_MKEY fails, and the region is not unmapped: its outcome proves nothing"},
    MutantInfo{Mutant::UnmapNotDone, "unmap-not-done",
               "DESTROY_MKEY fails, and the region is said to be unmapped and is not"},
    MutantInfo{Mutant::NoGrace, "no-grace",
               "GRACE is 0, and the number rests for the retry budget"},
    MutantInfo{Mutant::NoQuarantine, "no-quarantine",
               "the retry budget is taken for 0, and the number rests for GRACE alone"},
    MutantInfo{Mutant::JoinNotAwaited, "join-not-awaited",
               "a second revoke that joins the first is told TornDown while the first lingers", "",
               "access-flags"},
    MutantInfo{
        Mutant::BusMasterLeftOn, "bus-master-left-on",
        "a drain reads back that bus mastering is off, the card goes on, and the reset fails"},
    MutantInfo{Mutant::DeadEntry, "dead-entry",
               "a key that a group's key still names is given again, and the card looks at no "
               "protection domain below an indirect key",
               "klm-domain-unchecked", "indirect"},
    MutantInfo{Mutant::FakeBelieved, "fake-believed",
               "the kernel that keeps the NIC answers a command by itself, and the device is asked "
               "nothing behind it",
               "", "seed"},
};

}  // namespace

std::span<const MutantInfo> mutants() noexcept { return kMutants; }

std::string_view name(Mutant mutant) noexcept {
  const auto found = std::ranges::find(kMutants, mutant, &MutantInfo::mutant);
  return found == kMutants.end() ? "none" : found->name;
}

Result<Mutant> parse_mutant(std::string_view text) {
  std::string names = "none";
  if (text == names) return Mutant::None;
  for (const MutantInfo& info : kMutants) {
    if (info.name == text) return info.mutant;
    names += ", " + std::string(info.name);
  }
  return fail(Errc::InvalidArgument,
              "mutant '" + std::string(text) + "'; one of " + names + " expected");
}

}  // namespace portcullis::proof::adversary
