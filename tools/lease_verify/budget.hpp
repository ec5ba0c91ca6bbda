// SPDX-License-Identifier: BSD-3-Clause
//
// How long a requester goes on asking a responder that is silent: (retry_cnt + 1) sends, each
// waited for at least T = 4.096 us x 2^timeout, and by the standard at most 4 T.
#pragma once

#include <cstdint>
#include <string>

namespace portcullis::tools::lease_verify {

struct Budget {
  std::uint8_t timeout = 0;
  std::uint8_t retry = 0;

  [[nodiscard]] std::uint64_t least_ns() const noexcept {
    return (retry + std::uint64_t{1}) * (std::uint64_t{4096} << timeout);
  }
  [[nodiscard]] std::uint64_t most_ns() const noexcept { return 4 * least_ns(); }
  /// "(6 + 1) x 4.096 us x 2^14 = 469.762 ms".
  [[nodiscard]] std::string least_text() const;
  /// "4 times that, as the standard lets a timer run: 1879.048 ms".
  [[nodiscard]] std::string most_text() const;
};

}  // namespace portcullis::tools::lease_verify
