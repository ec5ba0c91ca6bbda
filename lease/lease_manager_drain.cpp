// SPDX-License-Identifier: BSD-3-Clause
//
// Everything at once: the whole function is taken from its leases, first its DMA, then all that it
// holds. No command is sent here, so that it takes as long for 64,990 leases as for one.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lease/lease_manager.hpp"

namespace portcullis::lease {

Result<std::size_t> LeaseManager::drain() {
  if (torn_down_)
    return fail(Errc::InvalidArgument, "no drain: this lease manager has been torn down");
  is_draining_ = true;
  PciFunction& function = *host_.context->device.function;
  if (auto off = function.set_bus_master(false); !off) {
    Error error = std::move(off).error();
    if (!function_lost_) make_wait(asked_, claim_all(), options_.plan);
    error.text += fmt::format(
        "; no drain: bus mastering is not shown to be off, and {} leases are fenced one after the "
        "other",
        table_.count(State::Revoking));
    return tl::unexpected<Error>(std::move(error));
  }
  (void)claim_all();
  if (auto reset = function.reset(); !reset) {
    Error error = std::move(reset).error();
    lose_function();
    error.text +=
        fmt::format("; bus mastering is off, and {} leases stay FENCED until the function is reset",
                    table_.fenced_count());
    return tl::unexpected<Error>(std::move(error));
  }
  const std::vector<Lease> ended = leave_function();
  table_.drained(now_ns());
  table_.rest_until(rest_of_all_ns());
  leave_group("the function was drained");
  if (host_.log)
    host_.log(fmt::format("drain: the function was reset; {} leases ended", ended.size()));
  if (host_.on_function_reset) host_.on_function_reset();
  if (host_.on_outcome)
    for (const Lease& lease : ended) host_.on_outcome(lease, table_.verdict(lease.slot));
  return ended.size();
}

std::vector<std::uint32_t> LeaseManager::claim_all() {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; slot < table_.slots(); ++slot) {
    if (table_.state(slot) != State::Active) continue;
    const Lease lease = table_.lease(slot);
    (void)table_.revoke(lease.id, lease.epoch);
    slots.push_back(slot);
  }
  return slots;
}

std::vector<Lease> LeaseManager::leave_function() {
  function_lost_ = true;
  std::vector<Lease> open;
  for (std::uint32_t slot = 0; slot < table_.slots(); ++slot)
    if (table_.state(slot) == State::Revoking) open.push_back(table_.lease(slot));
  for (const auto& running : running_) {
    for (const std::uint32_t slot : running->slots) holdings_[slot]->fence.reset();
    running->has_ended = true;
  }
  running_.clear();
  return open;
}

std::uint64_t LeaseManager::rest_of_all_ns() const noexcept {
  std::uint64_t until_ns = 0;
  for (std::uint32_t slot = 0; slot < table_.slots(); ++slot)
    if (table_.state(slot) != State::Free && holdings_[slot])
      until_ns =
          std::max(until_ns, after_ns(table_.fenced_at_ns(slot), holdings_[slot]->quarantine_ns));
  return until_ns;
}

}  // namespace portcullis::lease
