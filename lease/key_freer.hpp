// SPDX-License-Identifier: BSD-3-Clause
//
// What a fence asks of a UMR queue pair: to free one key, so that nothing can use it any more,
// without a firmware command. That no DMA under the key is pending when the request completes is
// contract A2. A function without such a queue pair has no KeyFreer: plan umr then falls back to
// DESTROY_MKEY.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "prm/numbers.hpp"

namespace portcullis::lease {

class KeyFreer {
 public:
  virtual ~KeyFreer() = default;
  /// Frees `key` (index and variant) and returns by `deadline_ns` (device clock). The key's index
  /// stays taken: DESTROY_MKEY gives it back.
  [[nodiscard]] virtual Result<void> free_key(prm::Rkey key, std::uint64_t deadline_ns) = 0;
};

}  // namespace portcullis::lease
