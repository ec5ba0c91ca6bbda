// SPDX-License-Identifier: BSD-3-Clause
//
// Who says whether a fence held: an observer of the device's DMA that knows nothing of leases. It
// is told which memory belongs to whom, what of it the owner asked to be read or changed, where
// what was read comes to hand, and which memory nobody may touch any more. It notes the first
// access that contradicts that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "model/model.hpp"

namespace portcullis::proof::adversary {

/// Every word a client writes says whose it is.
[[nodiscard]] constexpr std::uint64_t stamp(std::uint32_t owner, std::uint32_t count) noexcept {
  constexpr std::uint64_t kMagic = 0xfe4c;
  return kMagic << 48 | std::uint64_t{owner & 0xffff} << 32 | count;
}
/// None: no client wrote that word.
[[nodiscard]] std::optional<std::uint32_t> owner_of(std::uint64_t word) noexcept;

struct Violation {
  enum class Kind : std::uint8_t {
    ReadAfterOutcome,   // the device read memory of a lease whose outcome stood
    WriteAfterOutcome,  // the device wrote it
    ForeignWrite,       // words of one lease came into the memory of another
    UnaskedRead,        // the device read of a lease what its own client had not asked for
    UnaskedWrite,       // the same of words, neither written nor to be changed by an atomic
    ForeignHands,       // words of one lease came into the hands of another's client
    Unproved,           // an outcome proves nothing, and nothing that was made to fail explains it
    FencedForNothing,   // an outcome is Fenced, and nothing was made to fail
    AnsweredEarly,      // an outcome was told that did not stand
    ResetEarly,         // a QP was reset before GRACE was over
    NumberEarly,        // its number was given back before its rest was over
  };
  Kind kind{};
  std::uint32_t owner = 0;  // whose words, or whose region
  std::uint64_t step = 0;   // of the run
  std::uint64_t at_ns = 0;  // on the device's clock, as packets are recorded

  bool operator==(const Violation&) const = default;
};
[[nodiscard]] std::string describe(const Violation& violation);

class Witness final : public model::DmaObserver {
 public:
  /// Of the run; what is noted carries the number of the step, and the time by `clock`.
  void set_step(std::uint64_t step) noexcept { step_ = step; }
  void set_clock(const Clock& clock) noexcept { clock_ = clock; }

  /// From now on `memory` is `owner`'s; whatever was said of it before is forgotten. What it holds
  /// is stamped with the owner or was changed by an atomic.
  void give(std::span<const std::byte> memory, std::uint32_t owner);
  /// The owner's client asks for so much of its memory, or for an atomic there. That may happen at
  /// any time from now on, and again: a request may be late, and may be sent twice.
  void ask(std::uint32_t owner, std::uint64_t at, std::uint64_t bytes, bool is_atomic);
  /// What `owner`'s client asks for is put there.
  void hold(std::span<const std::byte> hands, std::uint32_t owner);
  /// From now on nobody may touch what is `owner`'s.
  void forbid(std::uint32_t owner);
  /// Nothing is said of `memory` any more.
  void forget(std::span<const std::byte> memory);

  void on_dma(std::span<const std::byte> memory, bool is_write) noexcept override;
  /// What contradicts a promise that is not about DMA alone.
  void object(Violation::Kind kind, std::uint32_t owner) noexcept;
  /// Access that contradicts what was said.
  [[nodiscard]] const std::optional<Violation>& first() const noexcept { return first_; }
  [[nodiscard]] const std::optional<Violation>& objection() const noexcept { return objection_; }
  /// Accesses to regions after their outcome.
  [[nodiscard]] std::uint64_t late() const noexcept { return late_; }
  /// Accesses to memory that is or was somebody's.
  [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }

 private:
  struct Range {
    const std::byte* begin;
    const std::byte* end;
    std::uint32_t owner;
    bool forbidden;
    // By word.
    std::vector<bool> may_read;
    std::vector<bool> may_change;

    [[nodiscard]] bool overlaps(std::span<const std::byte> memory) const noexcept {
      return begin < memory.data() + memory.size() && memory.data() < end;
    }
    [[nodiscard]] std::size_t word_of(const std::byte* at) const noexcept {
      return static_cast<std::size_t>(at - begin) / sizeof(std::uint64_t);
    }
  };
  [[nodiscard]] Violation now(Violation::Kind kind, std::uint32_t owner) const noexcept {
    return {kind, owner, step_, clock_ ? clock_->now_ns() : 0};
  }
  void note(Violation::Kind kind, std::uint32_t owner) noexcept;
  void check_written(const Range& range, std::span<const std::byte> written) noexcept;
  void check_read(const Range& range, std::span<const std::byte> read) noexcept;
  void check_hands(const Range& hands, std::span<const std::byte> written) noexcept;

  std::vector<Range> ranges_;
  std::vector<Range> hands_;
  std::optional<Violation> first_;
  std::optional<Violation> objection_;
  std::optional<Clock> clock_;
  std::uint64_t step_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t seen_ = 0;
};

}  // namespace portcullis::proof::adversary
