// SPDX-License-Identifier: BSD-3-Clause
//
// Doorbells: where they stand in a UAR page, what is written to them, and the doorbell records in
// host memory beside them. Sources: include/linux/mlx5/doorbell.h, cq.h, qp.h; mlx5/core/eq.c
// (MLX5_EQ_DOORBELL_OFFSET) and lib/eq.h (eq_update_ci); mlx5/core/uar.c (map_offset);
// mlx5_arm_cq of rdma-core.
#pragma once

#include <cstddef>
#include <cstdint>

namespace portcullis::prm {

/// One UAR, with log_uar_page_sz 0; UAR n stands at BAR0 + n pages (uar2pfn of mlx5/core/uar.c).
inline constexpr std::size_t kUarPageBytes = 4096;
[[nodiscard]] constexpr std::size_t uar_offset(std::uint32_t uar) noexcept {
  return std::size_t{uar} * kUarPageBytes;
}

// Offsets in a UAR page, in bytes. The CQ and SQ doorbells are 8 bytes wide, the EQ's are 4.
inline constexpr std::size_t kCqDoorbell = 0x20;  // MLX5_CQ_DOORBELL
inline constexpr std::size_t kEqDoorbellArm = 0x40;
inline constexpr std::size_t kEqDoorbellNoArm = 0x48;
inline constexpr std::size_t kBfOffset = 0x800;  // MLX5_BF_OFFSET

/// The SQ doorbell alternates between the two halves of a BlueFlame register of
/// 2^log_bf_reg_size bytes (9 on ConnectX-5): 0x800, 0x900, 0x800, ..
[[nodiscard]] constexpr std::size_t bf_buffer_bytes(std::uint32_t log_bf_reg_size) noexcept {
  return log_bf_reg_size == 0 ? 0 : std::size_t{1} << log_bf_reg_size >> 1;
}
/// BlueFlame register `index` of a UAR page; four a page, of which two are for general use
/// (device.h, MLX5_BFREGS_PER_UAR).
[[nodiscard]] constexpr std::size_t bf_offset(std::uint32_t index,
                                              std::uint32_t log_bf_reg_size) noexcept {
  return kBfOffset + (std::size_t{index} << log_bf_reg_size);
}

// Doorbell records: pairs of big-endian dwords in host memory. qpc.dbr_addr and cqc.dbr_addr point
// at dword 0.
inline constexpr std::size_t kDoorbellRecordBytes = 8;
inline constexpr std::size_t kRcvDbr = 0;  // MLX5_RCV_DBR
inline constexpr std::size_t kSndDbr = 1;  // MLX5_SND_DBR
/// Of a CQ (MLX5_CQ_SET_CI, MLX5_CQ_ARM_DB of rdma-core; set_ci_db, arm_db of Linux).
inline constexpr std::size_t kCqSetCi = 0;
inline constexpr std::size_t kCqArmDb = 1;
/// Byte of a record's dword.
[[nodiscard]] constexpr std::size_t record_byte(std::size_t dword) noexcept { return dword * 4; }

// Which completion the armed CQ reports: any, or solicited ones.
inline constexpr std::uint32_t kCqDbReqNot = 0u << 24;     // MLX5_CQ_DB_REQ_NOT
inline constexpr std::uint32_t kCqDbReqNotSol = 1u << 24;  // MLX5_CQ_DB_REQ_NOT_SOL

/// Consumer index of a CQ record, 24 bits.
[[nodiscard]] constexpr std::uint32_t cq_consumer_index(std::uint32_t ci) noexcept {
  return ci & 0xffffff;
}
/// The arm record; also the upper half of the CQ doorbell. `arm_sn` counts the CQ's events.
[[nodiscard]] constexpr std::uint32_t cq_arm_record(std::uint32_t arm_sn, std::uint32_t request,
                                                    std::uint32_t ci) noexcept {
  return (arm_sn & 3) << 28 | request | cq_consumer_index(ci);
}
/// What goes to kCqDoorbell as one big-endian quadword.
[[nodiscard]] constexpr std::uint64_t cq_doorbell(std::uint32_t arm_record,
                                                  std::uint32_t cqn) noexcept {
  return std::uint64_t{arm_record} << 32 | cqn;
}
[[nodiscard]] constexpr std::uint32_t cq_arm_sn(std::uint32_t arm_record) noexcept {
  return arm_record >> 28 & 3;
}
[[nodiscard]] constexpr bool cq_arm_solicited(std::uint32_t arm_record) noexcept {
  return (arm_record & kCqDbReqNotSol) != 0;
}
[[nodiscard]] constexpr std::uint32_t cq_doorbell_cqn(std::uint64_t doorbell) noexcept {
  return static_cast<std::uint32_t>(doorbell) & 0xffffff;
}

/// What goes to an EQ doorbell as one big-endian dword.
[[nodiscard]] constexpr std::uint32_t eq_doorbell(std::uint8_t eqn, std::uint32_t ci) noexcept {
  return std::uint32_t{eqn} << 24 | (ci & 0xffffff);
}
[[nodiscard]] constexpr std::uint8_t eq_doorbell_eqn(std::uint32_t doorbell) noexcept {
  return static_cast<std::uint8_t>(doorbell >> 24);
}
[[nodiscard]] constexpr std::uint32_t eq_doorbell_ci(std::uint32_t doorbell) noexcept {
  return doorbell & 0xffffff;
}

/// The 16-bit producer index of an RQ record, in WQEs (mlx5_post_recv of rdma-core).
[[nodiscard]] constexpr std::uint32_t rq_producer_index(std::uint32_t posted) noexcept {
  return posted & 0xffff;
}
/// The 16-bit producer index of an SQ record, in basic blocks (mlx5_ib, finish_wqe: cur_post).
[[nodiscard]] constexpr std::uint32_t sq_producer_index(std::uint32_t posted_blocks) noexcept {
  return posted_blocks & 0xffff;
}

}  // namespace portcullis::prm
