// SPDX-License-Identifier: BSD-3-Clause
//
// BAR0: 32 MiB of anonymous memory that the kernel commits page by page as it is touched.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.hpp"

namespace portcullis::model {

class Bar {
 public:
  static constexpr std::size_t kBytes = std::size_t{32} << 20;

  /// OutOfResources when the memory cannot be reserved.
  [[nodiscard]] static Result<Bar> create();
  Bar(Bar&& other) noexcept;
  Bar& operator=(Bar&&) = delete;
  ~Bar();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// The first `bytes` as they read when the card was pulled.
  void fill_with_ones(std::size_t bytes = kBytes) const noexcept;

 private:
  explicit Bar(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

}  // namespace portcullis::model
