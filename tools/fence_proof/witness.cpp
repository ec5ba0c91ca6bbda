// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fence_proof/witness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/dma_bytes.hpp"

namespace portcullis::fence_proof {

std::optional<std::uint32_t> owner_of(std::uint64_t word) noexcept {
  if (word >> 48 != stamp(0, 0) >> 48) return std::nullopt;
  return static_cast<std::uint32_t>(word >> 32 & 0xffff);
}

std::string describe(const Violation& violation) {
  const std::string owner = "lease " + std::to_string(violation.owner);
  const std::string where = fmt::format(" at step {}, {:.6f} ms", violation.step,
                                        static_cast<double>(violation.at_ns) / kNsPerMs);
  switch (violation.kind) {
    case Violation::Kind::ReadAfterOutcome:
      return "the device read the region of " + owner + " after its outcome," + where;
    case Violation::Kind::WriteAfterOutcome:
      return "the device wrote the region of " + owner + " after its outcome," + where;
    case Violation::Kind::ForeignWrite:
      return "words of " + owner + " came into the region of another," + where;
  }
  return {};
}

void Witness::give(std::span<const std::byte> memory, std::uint32_t owner) {
  forget(memory);
  ranges_.push_back({memory.data(), memory.data() + memory.size(), owner, false});
}

void Witness::forbid(std::uint32_t owner) {
  for (Range& range : ranges_)
    if (range.owner == owner) range.forbidden = true;
}

void Witness::forget(std::span<const std::byte> memory) {
  const std::byte* const end = memory.data() + memory.size();
  std::erase_if(ranges_,
                [&](const Range& range) { return range.begin < end && memory.data() < range.end; });
}

void Witness::on_dma(std::span<const std::byte> memory, bool is_write) noexcept {
  for (const Range& range : ranges_) {
    if (memory.data() >= range.end || range.begin >= memory.data() + memory.size()) continue;
    ++seen_;
    late_ += range.forbidden ? 1 : 0;
    if (range.forbidden)
      note(is_write ? Violation::Kind::WriteAfterOutcome : Violation::Kind::ReadAfterOutcome,
           range.owner);
    else if (is_write)
      check_stamps(range, memory);
  }
}

void Witness::check_stamps(const Range& range, std::span<const std::byte> written) noexcept {
  constexpr std::uintptr_t kWord = sizeof(std::uint64_t);
  const std::size_t skip = (kWord - std::bit_cast<std::uintptr_t>(written.data()) % kWord) % kWord;
  for (std::size_t at = skip; at + kWord <= written.size(); at += kWord) {
    const auto owner = owner_of(dma_peek_u64(written.data() + at));
    if (owner && *owner != range.owner) return note(Violation::Kind::ForeignWrite, *owner);
  }
}

void Witness::note(Violation::Kind kind, std::uint32_t owner) noexcept {
  if (!first_) first_ = Violation{kind, owner, step_, clock_ ? clock_->now_ns() : 0};
}

}  // namespace portcullis::fence_proof
