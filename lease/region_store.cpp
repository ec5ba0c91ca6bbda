// SPDX-License-Identifier: BSD-3-Clause
#include "lease/region_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/dma_bytes.hpp"

namespace portcullis::lease {
namespace {

Result<std::uint64_t> whole_pages(std::uint64_t bytes) {
  if (bytes > std::numeric_limits<std::uint64_t>::max() - kPageBytes)
    return fail(Errc::InvalidArgument,
                fmt::format("a lease of {} bytes; less than 2^64 - 4096 expected", bytes));
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

Result<DmaMemory> RegionStore::take(TenantId tenant, std::uint64_t bytes) {
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t whole, whole_pages(bytes));
  PORTCULLIS_TRY(check_quota(tenant, whole));
  auto region = make(whole);
  if (region) charged_[tenant] += whole;
  return region;
}

Result<void> RegionStore::check_quota(TenantId tenant, std::uint64_t bytes) const {
  const std::uint64_t quota = options_.tenant_quota_bytes;
  const std::uint64_t used = bytes_of(tenant);
  if (quota == 0 || (used <= quota && bytes <= quota - used)) return {};
  return fail(
      Errc::OutOfResources,
      fmt::format(
          "no grant: tenant {} holds {} of its quota of {} bytes, and {} more were asked for",
          tenant, used, quota, bytes));
}

Result<DmaMemory> RegionStore::make(std::uint64_t bytes) {
  const auto kept = clean_.find(bytes);
  if (kept == clean_.end()) return DmaMemory::create(*space_, bytes);
  PORTCULLIS_TRY(kept->second.back().map());
  DmaMemory region = std::move(kept->second.back());
  kept->second.pop_back();
  if (kept->second.empty()) clean_.erase(kept);
  kept_bytes_ -= bytes;
  return region;
}

void RegionStore::give_back(TenantId tenant, DmaMemory region) {
  const std::uint64_t bytes = region.bytes().size();
  if (auto charge = charged_.find(tenant); charge != charged_.end()) {
    charge->second -= std::min(charge->second, bytes);
    if (charge->second == 0) charged_.erase(charge);
  }
  if (region.is_mapped() || kept_bytes_ + bytes > options_.keep_bytes) return;
  kept_bytes_ += bytes;
  dirty_.push_back({std::move(region)});
}

bool RegionStore::scrub() {
  if (dirty_.empty()) return false;
  Dirty& next = dirty_.back();
  const auto rest = next.region.bytes().subspan(next.zeroed);
  const auto piece = rest.first(std::min(rest.size(), kScrubBytes));
  dma_fill(piece, std::byte{0});
  next.zeroed += piece.size();
  if (next.zeroed == next.region.bytes().size()) {
    clean_[next.region.bytes().size()].push_back(std::move(next.region));
    dirty_.pop_back();
  }
  return true;
}

std::uint64_t RegionStore::bytes_of(TenantId tenant) const noexcept {
  const auto charge = charged_.find(tenant);
  return charge == charged_.end() ? 0 : charge->second;
}

}  // namespace portcullis::lease
