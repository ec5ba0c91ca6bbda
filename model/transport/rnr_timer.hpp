// SPDX-License-Identifier: BSD-3-Clause
//
// How long an RNR NAK asks the requester to wait: the five-bit code of its syndrome, as enum
// ib_rnr_timeout of include/rdma/ib_verbs.h names the times.
#pragma once

#include <array>
#include <cstdint>

namespace portcullis::model {

[[nodiscard]] constexpr std::uint64_t rnr_timer_ns(std::uint32_t code) noexcept {
  constexpr std::array<std::uint32_t, 32> kTensOfUs{
      65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return std::uint64_t{kTensOfUs[code & 31]} * 10'000;
}

}  // namespace portcullis::model
