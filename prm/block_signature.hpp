// SPDX-License-Identifier: BSD-3-Clause
//
// Signatures of blocks of data that go through a memory key: T10-DIF and CRCs. A byte stream format
// ("BSF") says what blocks and signatures look like in memory and on the wire, a persistent
// signature value ("PSV") where the computation of one begins, and a CQE of its own what did not
// match. Sources: struct mlx5_bsf and its parts, mlx5_seg_set_psv (include/linux/mlx5/qp.h),
// mlx5_sig_err_cqe (device.h), mlx5_ifc_*_psv_*_bits (mlx5_ifc.h), all of Linux 6.1; what only
// rdma-core has names for is said to be its own. tests/prm holds each against those headers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prm/layout.hpp"
#include "prm/wqe.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off

/// What T10-DIF asks for beside, of one domain.
struct mlx5_bsf_inl : Layout<"mlx5_bsf_inl", 0x80,
    Field<"vld_refresh", 0x0, 0x10>,
    Field<"dif_apptag", 0x10, 0x10>,
    Field<"dif_reftag", 0x20, 0x20>,
    Field<"sig_type", 0x40, 0x8>,
    Field<"rp_inv_seed", 0x48, 0x8>,
    Reserved<0x50, 0x18>,
    Field<"dif_inc_ref_guard_check", 0x68, 0x8>,
    Field<"dif_app_bitmask_check", 0x70, 0x10>> {};

/// A UMR brings it behind its translations. Where both domains have the same structure
/// wire_selector is a mask of bytes to copy. Of one signature over all that is transferred ("ext"
/// in the header) nothing here serves anything.
struct mlx5_bsf : Layout<"mlx5_bsf", 0x200,
    Field<"bsf_size_sbs", 0x0, 0x8>,
    Field<"check_byte_mask", 0x8, 0x8>,
    Field<"wire_selector", 0x10, 0x8>,
    Field<"mem_selector", 0x18, 0x8>,
    Field<"raw_data_size", 0x20, 0x20>,
    Field<"w_bfs_psv", 0x40, 0x20>,
    Field<"m_bfs_psv", 0x60, 0x20>,
    Field<"t_init_gen_pro_size", 0x80, 0x20>,
    Field<"rsvd_epi_size", 0xa0, 0x20>,
    Field<"w_tfs_psv", 0xc0, 0x20>,
    Field<"m_tfs_psv", 0xe0, 0x20>,
    Nested<"w_inl", 0x100, mlx5_bsf_inl>,
    Nested<"m_inl", 0x180, mlx5_bsf_inl>> {};

struct mlx5_seg_set_psv : Layout<"mlx5_seg_set_psv", 0x80,
    Field<"psv_num", 0x0, 0x20>,
    Field<"syndrome", 0x20, 0x10>,
    Field<"status", 0x30, 0x10>,
    Field<"transient_sig", 0x40, 0x20>,
    Field<"ref_tag", 0x60, 0x20>> {};

/// A third reading of an entry: its opcode is SIGNATURE_ERR. sig_type and domain are reserved in
/// the kernel's header and named in mlx5_sigerr_cqe of rdma-core's mlx5/cq.c.
struct mlx5_sig_err_cqe : Layout<"mlx5_sig_err_cqe", 0x200,
    Reserved<0x0, 0x80>,
    Field<"expected_trans_sig", 0x80, 0x20>,
    Field<"actual_trans_sig", 0xa0, 0x20>,
    Field<"expected_reftag", 0xc0, 0x20>,
    Field<"actual_reftag", 0xe0, 0x20>,
    Field<"syndrome", 0x100, 0x10>,
    Field<"sig_type", 0x110, 0x8>,
    Field<"domain", 0x118, 0x8>,
    Field<"mkey", 0x120, 0x20>,
    Field<"err_offset", 0x140, 0x40>,
    Reserved<0x180, 0x40>,
    Field<"qpn", 0x1c0, 0x20>,
    Reserved<0x1e0, 0x10>,
    Field<"signature", 0x1f0, 0x8>,
    Field<"op_own", 0x1f8, 0x8>> {};

struct create_psv_in : Layout<"create_psv_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"num_psv", 0x40, 0x4>,
    Reserved<0x44, 0x4>,
    Field<"pd", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct create_psv_out : Layout<"create_psv_out", 0x100,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x48>,
    Field<"psv0_index", 0x88, 0x18>,
    Reserved<0xa0, 0x8>,
    Field<"psv1_index", 0xa8, 0x18>,
    Reserved<0xc0, 0x8>,
    Field<"psv2_index", 0xc8, 0x18>,
    Reserved<0xe0, 0x8>,
    Field<"psv3_index", 0xe8, 0x18>> {};

struct destroy_psv_in : Layout<"destroy_psv_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"psvn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_psv_out : Layout<"destroy_psv_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

// clang-format on

// bsf_size_sbs: how much of the BSF is there, above "same block structure" (mlx5_set_bsf of
// mlx5_ib/wr.c; MLX5_BSF_SIZE_* and MLX5_BSF_SBS_SHIFT of rdma-core's mlx5/wqe.h).
[[nodiscard]] constexpr std::uint32_t bsf_size(std::uint32_t bsf_size_sbs) noexcept {
  return bsf_size_sbs >> 6;
}
inline constexpr std::uint32_t kBsfWithInline = 2;
inline constexpr std::uint8_t kBsfSameStructure = 1 << 4;

// w_bfs_psv and m_bfs_psv: a block format selector above the number of a PSV, as
// mlx5_umr_crc_bfs of rdma-core's mlx5/qp.c builds it. 0 where the inline section says the format.
inline constexpr std::uint32_t kPsvMask = 0xffffff;
inline constexpr std::uint32_t kBfsShift = 24;
inline constexpr std::uint32_t kBfsTypeMask = 0xf0;
inline constexpr std::uint32_t kBfsCrc32 = 0x20;
inline constexpr std::uint32_t kBfsCrc32c = 0x40;
inline constexpr std::uint32_t kBfsCrc64Xp10 = 0x50;
inline constexpr std::uint32_t kBfsRepeat = 0x2;
inline constexpr std::uint32_t kBfsSeedZero = 0x1;

// mlx5_bsf_inl.
inline constexpr std::uint32_t kBsfInlValid = 1 << 15;    // MLX5_BSF_INL_VALID
inline constexpr std::uint32_t kBsfRefreshDif = 1 << 14;  // MLX5_BSF_REFRESH_DIF
inline constexpr std::uint32_t kBsfIncReftag = 1 << 6;    // MLX5_BSF_INC_REFTAG
inline constexpr std::uint32_t kBsfApptagEscape = 0x1;    // MLX5_BSF_APPTAG_ESCAPE
inline constexpr std::uint32_t kBsfApprefEscape = 0x2;    // MLX5_BSF_APPREF_ESCAPE
inline constexpr std::uint32_t kBsfRepeatBlock = 1 << 7;  // MLX5_BSF_REPEAT_BLOCK
inline constexpr std::uint32_t kBsfSeed = 1 << 3;         // of rdma-core's mlx5/wqe.h
inline constexpr std::uint32_t kDifCrc = 0x1;             // MLX5_DIF_CRC
inline constexpr std::uint32_t kDifChecksum = 0x2;        // MLX5_DIF_IPCS

// check_byte_mask and a copy mask: a bit for each byte of a signature, the first of T10-DIF and the
// most significant of a CRC uppermost (mlx5dv_wr_set_mkey_sig_block(3)).
inline constexpr std::uint32_t kSignatureGuard = 0xc0;  // MLX5_CPY_GRD_MASK
inline constexpr std::uint32_t kSignatureApp = 0x30;    // MLX5_CPY_APP_MASK
inline constexpr std::uint32_t kSignatureRef = 0x0f;    // MLX5_CPY_REF_MASK

// mlx5_sig_err_cqe: get_sig_err_item of mlx5_ib/cq.c, MLX5_SIGERR_CQE_* of rdma-core's
// mlx5/verbs.c.
inline constexpr std::uint32_t kGuardError = 1 << 13;
inline constexpr std::uint32_t kApptagError = 1 << 12;
inline constexpr std::uint32_t kReftagError = 1 << 11;
inline constexpr std::uint32_t kSignatureOfBlock = 0;
inline constexpr std::uint32_t kWireDomain = 0;
inline constexpr std::uint32_t kMemoryDomain = 1;

/// opt_param_mask of INIT2INIT_QP: qpc.drain_sigerr counts. Of rdma-core's
/// mlx5_modify_qp_drain_sigerr alone.
inline constexpr std::uint32_t kOptParDrainSigerr = 1 << 11;

}  // namespace portcullis::prm
