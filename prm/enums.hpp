// SPDX-License-Identifier: BSD-3-Clause
//
// Values of fields. Each enum says in the comment above it how the kernel spells its enumerators;
// tests/prm reads that comment, finds the name in the headers of Linux 6.1 and compares the value.
// "name()" exists where a value is shown to people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace portcullis::prm {

/// An enumerator as the number that a field takes.
template <class E>
requires std::is_enum_v<E>
[[nodiscard]] constexpr auto number(E value) noexcept {
  return static_cast<std::underlying_type_t<E>>(value);
}

// ---- queue pairs ----

// MLX5_QP_STATE_* (qp.h; qpc.state). mlx5_ifc.h calls 7 MLX5_QPC_STATE_SQD and rdma-core's calls 5
// MLX5_QPC_STATE_SQDRAINED: a send queue that drains is 7, one that is drained 5. query_qp_attr of
// mlx5_ib/qp.c reads both as SQD, and 7 as sq_draining.
enum class QpState : std::uint8_t {
  RST = 0,
  INIT = 1,
  RTR = 2,
  RTS = 3,
  SQER = 4,
  SQD = 5,
  ERR = 6,
  SQ_DRAINING = 7,
  SUSPENDED = 9,
};
[[nodiscard]] std::string_view name(QpState state) noexcept;

// MLX5_QP_ST_* (qp.h; qpc.st)
enum class QpServiceType : std::uint8_t { RC = 0x0, UC = 0x1, UD = 0x2, XRC = 0x3, REG_UMR = 0xc };

// MLX5_QP_PM_* (qp.h; qpc.pm_state)
enum class QpPathMigration : std::uint8_t { ARMED = 0, REARM = 1, MIGRATED = 3 };

// MLX5_QPC_MTU_* (mlx5_ifc.h; qpc.mtu)
enum class QpcMtu : std::uint8_t {
  MTU_256 = 1,   // MLX5_QPC_MTU_256_BYTES
  MTU_512 = 2,   // MLX5_QPC_MTU_512_BYTES
  MTU_1024 = 3,  // MLX5_QPC_MTU_1K_BYTES
  MTU_2048 = 4,  // MLX5_QPC_MTU_2K_BYTES
  MTU_4096 = 5,  // MLX5_QPC_MTU_4K_BYTES
};
[[nodiscard]] constexpr std::uint32_t bytes_of(QpcMtu mtu) noexcept { return 128u << number(mtu); }

// MLX5_* (qp.h; qpc.rq_type)
enum class QpRqType : std::uint8_t {
  NON_ZERO_RQ = 0,
  SRQ_RQ = 1,
  CRQ_RQ = 2,
  ZERO_LEN_RQ = 3,
};

// MLX5_QP_OPTPAR_* (qp.h; opt_param_mask of the transitions)
enum class QpOptPar : std::uint32_t {
  ALT_ADDR_PATH = 1u << 0,
  RRE = 1u << 1,
  RAE = 1u << 2,
  RWE = 1u << 3,
  PKEY_INDEX = 1u << 4,
  Q_KEY = 1u << 5,
  RNR_TIMEOUT = 1u << 6,
  PRIMARY_ADDR_PATH = 1u << 7,
  SRA_MAX = 1u << 8,
  RRA_MAX = 1u << 9,
  PM_STATE = 1u << 10,
  RETRY_COUNT = 1u << 12,
  RNR_RETRY = 1u << 13,
  ACK_TIMEOUT = 1u << 14,
  LAG_TX_AFF = 1u << 15,
  PRI_PORT = 1u << 16,
  SRQN = 1u << 18,
  CQN_RCV = 1u << 19,
  DC_HS = 1u << 20,
  DC_KEY = 1u << 21,
  COUNTER_SET_ID = 1u << 25,
};
/// `RRE | RWE | ..` as opt_param_mask takes it.
[[nodiscard]] constexpr std::uint32_t operator|(QpOptPar a, QpOptPar b) noexcept {
  return number(a) | number(b);
}
[[nodiscard]] constexpr std::uint32_t operator|(std::uint32_t a, QpOptPar b) noexcept {
  return a | number(b);
}

// MLX5_QPC_ATOMIC_MODE_* (mlx5_ifc.h; qpc.atomic_mode)
enum class QpcAtomicMode : std::uint8_t { IB_SPEC = 1, ONLY_8B = 2, UP_TO_8B = 3 };

// MLX5_TIMESTAMP_FORMAT_* (mlx5_ifc.h; qpc.ts_format)
enum class QpcTimestampFormat : std::uint8_t { FREE_RUNNING = 0, DEFAULT = 1, REAL_TIME = 2 };

// ---- memory keys ----

// MLX5_MKC_ACCESS_MODE_* (mlx5_ifc.h; mkc.access_mode_1_0, and access_mode_4_2 above it)
enum class MkcAccessMode : std::uint8_t { PA = 0, MTT = 1, KLMS = 2, KSM = 3 };

// MLX5_* (device.h; the low bits of an MTT entry)
enum class MttAccess : std::uint8_t { EN_RD = 1, EN_WR = 2 };

/// Local key of a data segment that ends a receive WQE's list (qp.h).
inline constexpr std::uint32_t kInvalidLkey = 0x100;  // MLX5_INVALID_LKEY

/// mkc.qpn of a key that any QP of its PD may use (mlx5_ib, set_mkc_access_pd_addr_fields).
inline constexpr std::uint32_t kMkcQpnAny = 0xffffff;

// ---- bring-up and teardown ----

// MLX5_QUERY_PAGES_IN_OP_MOD_* (mlx5_ifc.h)
enum class QueryPagesOpMod : std::uint8_t { BOOT_PAGES = 1, INIT_PAGES = 2, REGULAR_PAGES = 3 };

// MLX5_MANAGE_PAGES_IN_OP_MOD_* (mlx5_ifc.h)
enum class ManagePagesOpMod : std::uint8_t {
  ALLOCATION_FAIL = 0,
  ALLOCATION_SUCCESS = 1,
  HCA_RETURN_PAGES = 2,
};

// MLX5_TEARDOWN_HCA_IN_PROFILE_* (mlx5_ifc.h)
enum class TeardownProfile : std::uint8_t {
  GRACEFUL_CLOSE = 0,
  FORCE_CLOSE = 1,
  PREPARE_FAST_TEARDOWN = 2,
};

// MLX5_CAP_* (device.h, mlx5_cap_type; op_mod of QUERY_HCA_CAP and SET_HCA_CAP is cap_op_mod())
enum class CapType : std::uint8_t {
  GENERAL = 0x0,
  ETHERNET_OFFLOADS = 0x1,
  ODP = 0x2,
  ATOMIC = 0x3,
  ROCE = 0x4,
  IPOIB_ENHANCED_OFFLOADS = 0x6,
  FLOW_TABLE = 0x7,
  QOS = 0xc,
  DEV_MEM = 0xf,
  GENERAL_2 = 0x20,
};

// HCA_CAP_OPMOD_* (device.h, mlx5_cap_mode)
enum class CapMode : std::uint8_t { GET_MAX = 0, GET_CUR = 1 };

/// op_mod of QUERY_HCA_CAP; SET_HCA_CAP takes the one of GET_MAX (mlx5_core_get_caps_mode,
/// set_caps).
[[nodiscard]] constexpr std::uint16_t cap_op_mod(CapType type,
                                                 CapMode mode = CapMode::GET_MAX) noexcept {
  return static_cast<std::uint16_t>(number(type) << 1 | number(mode));
}

// MLX5_CAP_PORT_TYPE_* (mlx5_ifc.h; cmd_hca_cap.port_type)
enum class PortType : std::uint8_t { IB = 0, ETH = 1 };

// MLX5_INITIAL_SEG_NIC_INTERFACE_* (mlx5_ifc.h; bits 10:8 of cmdq_addr_l_sz)
enum class NicInterface : std::uint8_t {
  FULL_DRIVER = 0,
  DISABLED = 1,
  NO_DRAM_NIC = 2,
  SW_RESET = 7,  // newer than Linux 6.1
};

// MLX5_ACCESS_REGISTER_IN_OP_MOD_* (mlx5_ifc.h)
enum class AccessRegisterOpMod : std::uint8_t { WRITE = 0, READ = 1 };

// MLX5_REG_* (driver.h; access_register_in.register_id)
enum class RegisterId : std::uint16_t {
  PMTU = 0x5003,
  PTYS = 0x5004,
  PAOS = 0x5006,
  PPCNT = 0x5008,
  PVLC = 0x500f,
  NODE_DESC = 0x6001,
  HOST_ENDIANNESS = 0x7004,
  DTOR = 0xc00e,
};

/// register_host_endianness.he of a little-endian host (device.h, MLX5_SET_HOST_ENDIANNESS).
inline constexpr std::uint32_t kHostLittleEndian = 0;

/// set_issi_in.current_issi that this interface is written against; bit 1 of supported_issi_dw0
/// offers it (mlx5_core_set_issi).
inline constexpr std::uint32_t kIssi = 1;
/// cmd_interface_rev that Linux accepts (CMD_IF_REV of mlx5/core/cmd.c).
inline constexpr std::uint32_t kCmdInterfaceRev = 5;
/// cmd_queue_entry.type (device.h).
inline constexpr std::uint32_t kPciCmdXport = 7;  // MLX5_PCI_CMD_XPORT
/// Most slots that a command queue has (device.h).
inline constexpr std::uint32_t kMaxCommands = 32;  // MLX5_MAX_COMMANDS
/// Payload of a mailbox block (device.h).
inline constexpr std::size_t kCmdDataBlockBytes = 512;  // MLX5_CMD_DATA_BLOCK_SIZE
/// Bytes of input or output that stand in the queue entry itself (struct mlx5_cmd_layout, in, out).
inline constexpr std::size_t kCmdInlineBytes = 16;
/// Alignment of mailbox blocks: next_pointer_31_10 has no lower bits.
inline constexpr std::size_t kMailboxAlignmentBytes = 1024;

// ---- ports and RoCE addresses ----

// MLX5_ROCE_VERSION_* (device.h; roce_addr_layout.roce_version)
enum class RoceVersion : std::uint8_t {
  V1 = 0,  // MLX5_ROCE_VERSION_1
  V2 = 2,  // MLX5_ROCE_VERSION_2
};

// MLX5_ROCE_L3_TYPE_* (device.h; roce_addr_layout.roce_l3_type)
enum class RoceL3Type : std::uint8_t { IPV4 = 0, IPV6 = 1 };

// MLX5_PORT_* (driver.h, enum port_state_policy; paos_reg.admin_status and oper_status)
enum class PortStatus : std::uint8_t { UP = 1, DOWN = 2 };

// MLX5_PTYS_* (driver.h; ptys_reg.proto_mask)
enum class PtysProtocol : std::uint8_t { IB = 1, EN = 4 };

// MLX5_VPORT_STATE_OP_MOD_* (mlx5_ifc.h)
enum class VportStateOpMod : std::uint8_t { VNIC_VPORT = 0, ESW_VPORT = 1, UPLINK = 2 };

// MLX5_NVPRT_LIST_TYPE_* (device.h; nic_vport_context.allowed_list_type)
enum class NvprtListType : std::uint8_t { UC = 0, MC = 1, VLAN = 2 };

// VPORT_STATE_* (device.h; query_vport_state_out.state)
enum class VportState : std::uint8_t { DOWN = 0, UP = 1 };

// ---- event and completion queues ----

// MLX5_EVENT_TYPE_* (device.h, enum mlx5_event; eqe.event_type, event_bitmask)
enum class EventType : std::uint8_t {
  COMP = 0x00,
  PATH_MIG = 0x01,
  COMM_EST = 0x02,
  SQ_DRAINED = 0x03,
  CQ_ERROR = 0x04,
  WQ_CATAS_ERROR = 0x05,
  PATH_MIG_FAILED = 0x07,
  INTERNAL_ERROR = 0x08,
  PORT_CHANGE = 0x09,
  CMD = 0x0a,
  PAGE_REQUEST = 0x0b,
  PAGE_FAULT = 0x0c,
  NIC_VPORT_CHANGE = 0x0d,
  WQ_INVAL_REQ_ERROR = 0x10,
  WQ_ACCESS_ERROR = 0x11,
  SRQ_CATAS_ERROR = 0x12,
  SRQ_LAST_WQE = 0x13,
  SRQ_RQ_LIMIT = 0x14,
  PORT_MODULE_EVENT = 0x16,
  TEMP_WARN_EVENT = 0x17,
  DB_BF_CONGESTION = 0x1a,
  STALL_EVENT = 0x1b,
  GENERAL_EVENT = 0x22,
};
[[nodiscard]] std::string_view name(EventType type) noexcept;

// MLX5_PORT_CHANGE_SUBTYPE_* (device.h; eqe.event_sub_type of PORT_CHANGE)
enum class PortChangeSubtype : std::uint8_t {
  DOWN = 1,
  ACTIVE = 4,
  INITIALIZED = 5,
  LID = 6,
  PKEY = 7,
  GUID = 8,
  CLIENT_REREG = 9,
};

// MLX5_GENERAL_SUBTYPE_* (device.h; eqe.event_sub_type of GENERAL_EVENT)
enum class GeneralSubtype : std::uint8_t { PCI_SYNC_FOR_FW_UPDATE_EVENT = 0x8 };

// MLX5_SYNC_RST_STATE_* (device.h; mlx5_eqe_sync_fw_update.sync_rst_state, its low four bits)
enum class SyncResetState : std::uint8_t { RESET_REQUEST = 0, RESET_NOW = 1 };

// MLX5_EVENT_QUEUE_TYPE_* (device.h; qp_events.type)
enum class EventQueueType : std::uint8_t { QP = 0, RQ = 1, SQ = 2, DCT = 6 };

// MLX5_EQC_ST_* (mlx5_ifc.h; eqc.st)
enum class EqState : std::uint8_t { ARMED = 0x9, FIRED = 0xa };

// MLX5_CQC_CQE_SZ_* (mlx5_ifc.h; cqc.cqe_sz)
enum class CqeSize : std::uint8_t {
  B64 = 0,   // MLX5_CQC_CQE_SZ_64_BYTES
  B128 = 1,  // MLX5_CQC_CQE_SZ_128_BYTES
};

// MLX5_CQC_STATUS_* (mlx5_ifc.h; cqc.status)
enum class CqStatus : std::uint8_t { OK = 0x0, CQ_OVERFLOW = 0x9, CQ_WRITE_FAIL = 0xa };

// MLX5_CQC_ST_* (mlx5_ifc.h; cqc.st)
enum class CqState : std::uint8_t {
  SOLICITED_NOTIFICATION_REQUEST_ARMED = 0x6,
  NOTIFICATION_REQUEST_ARMED = 0x9,
  FIRED = 0xa,
};

// MLX5_CQ_PERIOD_MODE_* (mlx5_ifc.h; cqc.cq_period_mode)
enum class CqPeriodMode : std::uint8_t { START_FROM_EQE = 0, START_FROM_CQE = 1 };

// MLX5_MODIFY_CQ_IN_OP_MOD_* (mlx5_ifc.h; modify_cq_in.op_mod)
enum class ModifyCqOpMod : std::uint16_t { MODIFY_CQ = 0x0, RESIZE_CQ = 0x1 };

// What MODIFY_CQ changes (cq.h; modify_cq_in.modify_field_select_resize_field_select).
inline constexpr std::uint32_t kCqModifyPeriod = 1 << 0;   // MLX5_CQ_MODIFY_PERIOD
inline constexpr std::uint32_t kCqModifyCount = 1 << 1;    // MLX5_CQ_MODIFY_COUNT
inline constexpr std::uint32_t kCqModifyOverrun = 1 << 2;  // MLX5_CQ_MODIFY_OVERRUN
// The same of its op_mod RESIZE_CQ.
inline constexpr std::uint32_t kCqResizeLogSize = 1 << 0;     // MLX5_MODIFY_CQ_MASK_LOG_SIZE
inline constexpr std::uint32_t kCqResizePageOffset = 1 << 1;  // MLX5_MODIFY_CQ_MASK_PG_OFFSET
inline constexpr std::uint32_t kCqResizePageSize = 1 << 2;    // MLX5_MODIFY_CQ_MASK_PG_SIZE

/// Entries that an EQ must have beyond those that can be outstanding, and so the most that may be
/// consumed before the consumer index is written (eq.h).
inline constexpr std::uint32_t kNumSpareEqe = 0x80;  // MLX5_NUM_SPARE_EQE

// ---- health ----

// MLX5_INITIAL_SEG_HEALTH_SYNDROME_* (mlx5_ifc.h; health_buffer.synd)
enum class HealthSyndrome : std::uint8_t {
  NONE = 0x0,  // no name in the header: no error
  FW_INTERNAL_ERR = 0x1,
  DEAD_IRISC = 0x7,
  HW_FATAL_ERR = 0x8,
  FW_CRC_ERR = 0x9,
  ICM_FETCH_PCI_ERR = 0xa,
  ICM_PAGE_ERR = 0xb,
  ASYNCHRONOUS_EQ_BUF_OVERRUN = 0xc,
  EQ_IN_ERR = 0xd,
  EQ_INV = 0xe,
  FFSER_ERR = 0xf,
  HIGH_TEMP_ERR = 0x10,
  ICM_PCI_POISONED_ERR = 0x12,  // newer than Linux 6.1
};
[[nodiscard]] std::string_view name(HealthSyndrome synd) noexcept;
/// "irisc not responding" (hsynd_str of mlx5/core/health.c).
[[nodiscard]] std::string_view meaning(HealthSyndrome synd) noexcept;

}  // namespace portcullis::prm
