// SPDX-License-Identifier: BSD-3-Clause
//
// The tools' command interface behind the vendor specific capability: a control word, a mailbox,
// and in it a register behind two headers. No header of Linux has the interface; its numbers are
// those of mlx_icmd.c and mlx_reg_access.c of iPXE (drivers/infiniband/mlx_utils) and
// mtcr_ul_icmd_cif.c of mstflint, which agree. The headers are those of Linux's EMADs
// (mlxsw/emad.h).
#pragma once

#include <cstdint>

namespace portcullis::prm {

namespace icmd {

// Addresses in vsc::kIcmdSpace (MLX_ICMD_*_ADDR; VCR_*_ADDR).
inline constexpr std::uint32_t kControl = 0x0;
inline constexpr std::uint32_t kMailboxSize = 0x1000;
inline constexpr std::uint32_t kMailbox = 0x100000;
/// ICMD_MAX_CMD_SIZE of mstflint's mtcr_com_defs.h.
inline constexpr std::uint32_t kMailboxBytes = 0x340;

// Of kControl.
inline constexpr std::uint32_t kBusy = 1;
inline constexpr unsigned kStatusShift = 8;  // eight bits
inline constexpr std::uint32_t kStatusMask = std::uint32_t{0xff} << kStatusShift;
inline constexpr unsigned kOpcodeShift = 16;  // sixteen bits

/// FLASH_REG_ACCESS.
inline constexpr std::uint16_t kAccessRegister = 0x9001;

}  // namespace icmd

// ME_ICMD_* (source file only: translate_status of mstflint's mtcr_ul_icmd_cif.c)
enum class IcmdStatus : std::uint8_t { OK = 0, INVALID_OPCODE = 1, INVALID_CMD = 2 };

namespace emad {

// Bytes of the headers: of the operation, of the register behind it.
inline constexpr std::uint32_t kOpBytes = 16;
inline constexpr std::uint32_t kRegBytes = 4;

// MLXSW_ITEM32(emad, op_tlv, ..) and (emad, reg_tlv, ..): of the first dword of either,
inline constexpr unsigned kTypeShift = 27;    // five bits
inline constexpr unsigned kLengthShift = 16;  // eleven bits, dwords with the header
inline constexpr std::uint32_t kLengthMask = 0x7ff;
// of the first of the operation,
inline constexpr unsigned kStatusShift = 8;  // seven bits
inline constexpr std::uint32_t kStatusMask = std::uint32_t{0x7f} << kStatusShift;
// and of the second.
inline constexpr unsigned kRegisterIdShift = 16;  // sixteen bits
inline constexpr std::uint32_t kResponse = std::uint32_t{1} << 15;
inline constexpr unsigned kMethodShift = 8;  // seven bits
inline constexpr std::uint32_t kMethodMask = 0x7f;
inline constexpr std::uint32_t kClassMask = 0xff;

}  // namespace emad

// enum of mlxsw/emad.h: MLXSW_EMAD_TLV_TYPE_OP and _REG, and both lengths in dwords.
inline constexpr std::uint8_t kEmadTypeOp = 1;
inline constexpr std::uint8_t kEmadTypeReg = 3;
inline constexpr std::uint16_t kEmadOpDwords = 4;

// MLXSW_EMAD_OP_TLV_CLASS_REG_ACCESS
inline constexpr std::uint8_t kEmadClassRegAccess = 1;

// MLXSW_EMAD_OP_TLV_METHOD_* (source file only: mlxsw/emad.h)
enum class EmadMethod : std::uint8_t { QUERY = 1, WRITE = 2 };

// MLXSW_EMAD_OP_TLV_STATUS_* (source file only: mlxsw/emad.h)
enum class EmadStatus : std::uint8_t {
  SUCCESS = 0,
  BUSY = 1,
  UNKNOWN_TLV = 3,
  REGISTER_NOT_SUPPORTED = 4,
  CLASS_NOT_SUPPORTED = 5,
  METHOD_NOT_SUPPORTED = 6,
  BAD_PARAMETER = 7,
};

}  // namespace portcullis::prm
