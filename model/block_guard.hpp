// SPDX-License-Identifier: BSD-3-Clause
//
// The check value of a block of data, byte by byte: the guard of T10-DIF, or a CRC. Each kind has a
// register that a seed starts and a value that the register becomes. What a card does with them:
//
//   T10-DIF CRC   polynomial 0x8bb7, most significant bit first, the seed as it is:
//   pipelining_example
//                 of Mellanox/hw_offload_api_examples has 0xec7d for 512 times 0xa5 from seed
//                 0xffff
//   IP checksum   the complement of the sum, as ip_compute_csum (t10_pi_ip_fn of block/t10-pi.c)
//   CRC32         polynomial 0x04c11db7, most significant bit first, from the complement of the
//   seed
//                 to the complement of the register: the README of dv_signature_offload_api_example
//                 there has 0x15d286f7 for 512 times 0x01 from seed 0xffffffff
//   CRC32C        bits reversed, from the seed to the complement: SPDK's accel_mlx5.c compares
//                 with its software so (accel_mlx5_crc_task_complete)
//   CRC64 XP10    the polynomial is XP10CRC64_POLYNOMIAL of Project Zipline; the rest as CRC32C, a
//                 hypothesis
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace portcullis::model {

enum class GuardKind : std::uint8_t { T10DifCrc, IpChecksum, Crc32, Crc32c, Crc64Xp10 };

class BlockGuard {
 public:
  BlockGuard() = default;
  BlockGuard(GuardKind kind, std::uint64_t seed) noexcept;

  void add(std::span<const std::byte> data) noexcept;
  /// In the low bits: 16, 32 or 64 of them.
  [[nodiscard]] std::uint64_t value() const noexcept;

 private:
  void add_to_sum(std::span<const std::byte> data) noexcept;

  GuardKind kind_ = GuardKind::T10DifCrc;
  std::uint64_t register_ = 0;
  bool is_odd_ = false;  // of the checksum: a word's second byte comes next
};

}  // namespace portcullis::model
