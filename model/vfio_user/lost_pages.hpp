// SPDX-License-Identifier: BSD-3-Clause
//
// Mapped files whose pages can be taken away: a client may cut the file of its memory short while
// it is mapped, or its file system may have nothing left to give. An access then is a SIGBUS. While
// a LostPages lives, the mapping turns into zeros instead, the access goes on, and who serves the
// client is told to hang up. Nothing is looked at on the way of an access that succeeds.
#pragma once

#include <cstddef>
#include <span>

namespace portcullis::model::vfio_user {

class LostPages {
 public:
  static constexpr std::size_t kMaxMappings = 1024;

  /// The first of a process takes SIGBUS.
  LostPages();
  /// The last gives it back to who had it.
  ~LostPages();
  LostPages(const LostPages&) = delete;
  LostPages& operator=(const LostPages&) = delete;

  /// A mapping is under its care from now on, until it is forgotten. False: kMaxMappings are.
  [[nodiscard]] static bool watch(std::span<std::byte> mapping) noexcept;
  /// Before it is unmapped.
  static void forget(std::span<std::byte> mapping) noexcept;
  /// True once after pages were missed.
  [[nodiscard]] static bool take() noexcept;
};

}  // namespace portcullis::model::vfio_user
