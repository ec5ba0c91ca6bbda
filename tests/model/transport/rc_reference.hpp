// SPDX-License-Identifier: BSD-3-Clause
//
// What RC promises about memory, and no more: requests of a queue pair happen in the order of
// posting, each once, a READ maybe again and later; when it fails, everything before the failure
// has happened, and of what follows some beginning. Knows nothing of packets but their size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace portcullis::model::testing {

enum class RcKind : std::uint8_t { Write, WriteImmediate, Send, SendImmediate, Read, Add, Swap };

struct RcOperation {
  RcKind kind = RcKind::Write;
  std::uint32_t at = 0;  // in the remote memory, or for a SEND in its receive
  std::uint32_t length = 0;
  std::vector<std::byte> data;  // of a WRITE or SEND
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;
  std::uint32_t immediate = 0;

  [[nodiscard]] bool writes() const {
    return kind == RcKind::Write || kind == RcKind::WriteImmediate;
  }
  [[nodiscard]] bool is_atomic() const { return kind == RcKind::Add || kind == RcKind::Swap; }
  [[nodiscard]] bool takes_receive() const {
    return kind == RcKind::WriteImmediate || kind == RcKind::Send || kind == RcKind::SendImmediate;
  }
};

class RcReference {
 public:
  RcReference(std::span<const std::byte> memory, std::uint32_t mtu)
      : mtu_(mtu), states_{{memory.begin(), memory.end()}} {}

  /// The next operation in the order of posting.
  void post(const RcOperation& operation);
  /// The word at `at` after all that was posted.
  [[nodiscard]] std::uint64_t word(std::uint32_t at) const;
  /// What atomic `number` finds.
  [[nodiscard]] std::uint64_t original(std::size_t number) const;
  /// Whether READ `number` may return `data`: every byte as it was then or later.
  [[nodiscard]] bool may_read(std::size_t number, std::span<const std::byte> data) const;
  /// Whether memory may be so when the first `completed` operations have completed.
  [[nodiscard]] bool may_be(std::span<const std::byte> memory, std::size_t completed) const;

 private:
  [[nodiscard]] bool is_begun(std::span<const std::byte> memory, std::size_t number) const;

  std::uint32_t mtu_;
  std::vector<RcOperation> operations_;
  std::vector<std::vector<std::byte>> states_;  // before each operation, and after the last
};

}  // namespace portcullis::model::testing
