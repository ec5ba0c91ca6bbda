// SPDX-License-Identifier: BSD-3-Clause
//
// One seeded transfer between two queue pairs over a wire with faults, and what it came to. Kinds
// of messages, their lengths and what happens to every frame are functions of the seed.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "model/random.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {

/// Behaviours, as a user writes them.
using Words = std::vector<std::string>;

/// What one run comes to.
struct Outcome {
  std::uint32_t wrong = 0;      // messages that completed and whose bytes are not there
  std::uint32_t hanging = 0;    // messages without a completion
  std::uint32_t succeeded = 0;  // messages that completed well
  std::uint64_t frames = 0;
  std::uint64_t ended_ns = 0;
  auto operator<=>(const Outcome&) const = default;
  Outcome& operator+=(const Outcome& run) {
    wrong += run.wrong;
    hanging += run.hanging;
    succeeded += run.succeeded;
    frames += run.frames;
    return *this;
  }
};

class Transfer {
 public:
  static constexpr std::uint32_t kMessages = 12;

  Transfer(std::uint64_t seed, const Words& words);
  /// A minute of virtual time at most.
  [[nodiscard]] Outcome run();

 private:
  static constexpr std::uint32_t kSlotBytes = 3 * kMtu;  // one message each
  enum class Kind : std::uint8_t { Write, WriteImmediate, Send, Read, FetchAdd };
  static constexpr std::uint32_t kKinds = 5;

  [[nodiscard]] static std::uint64_t address(const Region& region, std::uint32_t slot);
  void post(std::uint32_t slot);
  [[nodiscard]] bool arrived(std::uint32_t slot) const;
  [[nodiscard]] bool counts_right(std::uint64_t done) const;
  [[nodiscard]] bool strayed() const;

  Random random_;
  Host host_;
  Region from_ = host_.map(kMessages * kSlotBytes);
  Region to_ = host_.map(kMessages * kSlotBytes);
  Region counter_ = host_.map(4096);
  std::uint32_t lkey_ = host_.make_key(from_, access::kLocalRead | access::kRemoteRead);
  std::uint32_t rkey_ = host_.make_key(to_, access::kRemoteWrite | access::kLocalWrite);
  std::uint32_t counter_key_ = host_.make_key(counter_, access::kAtomic);
  std::array<Kind, kMessages> kinds_{};
  std::array<std::uint32_t, kMessages> lengths_{};
  std::array<std::uint64_t, kMessages> originals_{};  // what a FETCH_ADD must find
  std::uint64_t adds_ = 0;
};

/// Seeds from `first` on; each that is wrong or hangs is a failure of its own.
[[nodiscard]] Outcome run_seeds(std::uint64_t first, std::uint64_t count, const Words& words);

}  // namespace portcullis::model::testing
