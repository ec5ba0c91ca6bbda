// SPDX-License-Identifier: BSD-3-Clause
//
// One seeded run of random operations between two queue pairs over a wire with faults, held against
// RcReference. Kinds, places, lengths, MTU, PSNs, fences and the fate of every frame are functions
// of the seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/random.hpp"
#include "tests/model/transport/rc_reference.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {

/// What was wrong with a run, one line each; nothing when nothing was.
struct RcVerdict {
  std::vector<std::string> faults;
  std::uint32_t succeeded = 0;  // operations
};

class RcRun {
 public:
  static constexpr std::uint32_t kOperations = 16;

  /// `words` are behaviours of the wire, as a user writes them.
  RcRun(std::uint64_t seed, const std::vector<std::string>& words);
  /// A minute of virtual time at most.
  [[nodiscard]] RcVerdict run();

 private:
  static constexpr std::uint32_t kSlotBytes = 6144;  // local memory, and a receive's
  static constexpr std::uint32_t kRemoteBytes = 3 * 4096;

  void make(std::uint32_t number);
  void post(std::uint32_t number);
  void post_receives(std::uint32_t count);
  [[nodiscard]] std::uint32_t judge_completions(const std::vector<Cqe>& cqes,
                                                RcVerdict& verdict) const;
  void judge_results(std::uint32_t completed, RcVerdict& verdict) const;
  void judge_receives(const std::vector<Cqe>& cqes, std::uint32_t completed,
                      RcVerdict& verdict) const;
  [[nodiscard]] bool is_right(const Cqe& cqe, std::uint32_t number, std::uint32_t receive) const;
  [[nodiscard]] std::span<std::byte> local(std::uint32_t number) const;
  [[nodiscard]] std::span<std::byte> receive(std::uint32_t number) const;

  Random random_;
  Host host_;
  QpOptions options_;
  Region local_ = host_.map(kOperations * kSlotBytes);
  Region remote_ = host_.map(kRemoteBytes);
  Region receives_ = host_.map(kOperations * kSlotBytes);
  std::uint32_t lkey_ = host_.make_key(local_, access::kLocalRead | access::kLocalWrite);
  std::uint32_t rkey_ = host_.make_key(
      remote_, access::kRemoteRead | access::kRemoteWrite | access::kAtomic | access::kLocalWrite);
  std::uint32_t receive_key_ = host_.make_key(receives_, access::kLocalWrite);
  std::uint32_t posted_receives_ = 0;
  std::vector<RcOperation> operations_;
  std::vector<bool> signaled_;
  std::unique_ptr<RcReference> reference_;
};

/// Seeds from `first` on, their faults one behind the other.
[[nodiscard]] RcVerdict run_rc_seeds(std::uint64_t first, std::uint64_t count,
                                     const std::vector<std::string>& words);

}  // namespace portcullis::model::testing
