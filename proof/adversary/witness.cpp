// SPDX-License-Identifier: BSD-3-Clause
#include "proof/adversary/witness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/dma_bytes.hpp"

namespace portcullis::proof::adversary {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

/// Calls judge(word) for each whole word of `touched` between `begin` and `end`, until one returns
/// true.
template <class Judge>
void find_word(std::span<const std::byte> touched, const std::byte* begin, const std::byte* end,
               Judge judge) {
  const std::byte* at = std::max(touched.data(), begin);
  const std::byte* const to = std::min(touched.data() + touched.size(), end);
  at += (kWord - std::bit_cast<std::uintptr_t>(at) % kWord) % kWord;
  for (; at + kWord <= to; at += kWord)
    if (judge(at)) return;
}

}  // namespace

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
    case Violation::Kind::UnaskedRead:
      return "the device read of " + owner + " what its client had not asked for," + where;
    case Violation::Kind::UnaskedWrite:
      return "the device changed words of " + owner + " as its client had not asked," + where;
    case Violation::Kind::ForeignHands:
      return "words of " + owner + " came to the client of another," + where;
    case Violation::Kind::Unproved:
      return "the outcome of " + owner + " proves nothing though every rung was open," + where;
    case Violation::Kind::FencedForNothing:
      return owner + " was fenced though nothing had failed," + where;
    case Violation::Kind::AnsweredEarly:
      return "an outcome of " + owner + " was told before it stood," + where;
    case Violation::Kind::ResetEarly:
      return "the QP of " + owner + " was reset before GRACE was over," + where;
    case Violation::Kind::NumberEarly:
      return "the QP number of " + owner + " was given back before its rest was over," + where;
  }
  return {};
}

void Witness::give(std::span<const std::byte> memory, std::uint32_t owner) {
  forget(memory);
  const std::size_t words = memory.size() / kWord;
  ranges_.push_back({memory.data(), memory.data() + memory.size(), owner, false,
                     std::vector<bool>(words), std::vector<bool>(words)});
}

void Witness::ask(std::uint32_t owner, std::uint64_t at, std::uint64_t bytes, bool is_atomic) {
  for (Range& range : ranges_) {
    if (range.owner != owner) continue;
    auto& asked = is_atomic ? range.may_change : range.may_read;
    for (std::size_t word = at / kWord; word < (at + bytes + kWord - 1) / kWord; ++word)
      if (word < asked.size()) asked[word] = true;
  }
}

void Witness::hold(std::span<const std::byte> hands, std::uint32_t owner) {
  std::erase_if(hands_, [&](const Range& range) { return range.overlaps(hands); });
  hands_.push_back({hands.data(), hands.data() + hands.size(), owner, false, {}, {}});
}

void Witness::forbid(std::uint32_t owner) {
  for (Range& range : ranges_)
    if (range.owner == owner) range.forbidden = true;
}

void Witness::forget(std::span<const std::byte> memory) {
  std::erase_if(ranges_, [&](const Range& range) { return range.overlaps(memory); });
}

void Witness::on_dma(std::span<const std::byte> memory, bool is_write) noexcept {
  for (const Range& hands : hands_)
    if (is_write && hands.overlaps(memory)) check_hands(hands, memory);
  for (const Range& range : ranges_) {
    if (!range.overlaps(memory)) continue;
    ++seen_;
    late_ += range.forbidden ? 1 : 0;
    if (range.forbidden)
      note(is_write ? Violation::Kind::WriteAfterOutcome : Violation::Kind::ReadAfterOutcome,
           range.owner);
    else if (is_write)
      check_written(range, memory);
    else
      check_read(range, memory);
  }
}

/// The lease's own words, or what an atomic left where its client asked for one. An atomic of
/// another, which leaves no stamp, is told by the place.
void Witness::check_written(const Range& range, std::span<const std::byte> written) noexcept {
  find_word(written, range.begin, range.end, [&](const std::byte* at) {
    const auto owner = owner_of(dma_peek_u64(at));
    const bool is_foreign = owner && *owner != range.owner;
    const bool is_unasked = !owner && !range.may_change[range.word_of(at)];
    if (is_foreign) note(Violation::Kind::ForeignWrite, *owner);
    if (is_unasked) note(Violation::Kind::UnaskedWrite, range.owner);
    return is_foreign || is_unasked;
  });
}

void Witness::check_read(const Range& range, std::span<const std::byte> read) noexcept {
  find_word(read, range.begin, range.end, [&](const std::byte* at) {
    const std::size_t word = range.word_of(at);
    const bool is_asked = range.may_read[word] || range.may_change[word];
    if (!is_asked) note(Violation::Kind::UnaskedRead, range.owner);
    return !is_asked;
  });
}

void Witness::check_hands(const Range& hands, std::span<const std::byte> written) noexcept {
  find_word(written, hands.begin, hands.end, [&](const std::byte* at) {
    const auto owner = owner_of(dma_peek_u64(at));
    const bool is_foreign = owner && *owner != hands.owner;
    if (is_foreign) note(Violation::Kind::ForeignHands, *owner);
    return is_foreign;
  });
}

void Witness::note(Violation::Kind kind, std::uint32_t owner) noexcept {
  if (!first_) first_ = now(kind, owner);
}

void Witness::object(Violation::Kind kind, std::uint32_t owner) noexcept {
  if (!objection_) objection_ = now(kind, owner);
}

}  // namespace portcullis::proof::adversary
