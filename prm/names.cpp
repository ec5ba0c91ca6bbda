// SPDX-License-Identifier: BSD-3-Clause
//
// Names of the values that people read: states, events, completion syndromes, health.
#include "prm/cqe.hpp"
#include "prm/enums.hpp"
#include "prm/flow_enums.hpp"
#include "prm/wqe.hpp"

namespace portcullis::prm {

#define PORTCULLIS_PRM_NAME(type, id) \
  case type::id:                      \
    return #id

std::string_view name(QpState value) noexcept {
  switch (value) {
    PORTCULLIS_PRM_NAME(QpState, RST);
    PORTCULLIS_PRM_NAME(QpState, INIT);
    PORTCULLIS_PRM_NAME(QpState, RTR);
    PORTCULLIS_PRM_NAME(QpState, RTS);
    PORTCULLIS_PRM_NAME(QpState, SQER);
    PORTCULLIS_PRM_NAME(QpState, SQD);
    PORTCULLIS_PRM_NAME(QpState, ERR);
    PORTCULLIS_PRM_NAME(QpState, SQ_DRAINING);
    PORTCULLIS_PRM_NAME(QpState, SUSPENDED);
  }
  return "UNKNOWN";
}

std::string_view name(EventType value) noexcept {
  switch (value) {
    PORTCULLIS_PRM_NAME(EventType, COMP);
    PORTCULLIS_PRM_NAME(EventType, PATH_MIG);
    PORTCULLIS_PRM_NAME(EventType, COMM_EST);
    PORTCULLIS_PRM_NAME(EventType, SQ_DRAINED);
    PORTCULLIS_PRM_NAME(EventType, CQ_ERROR);
    PORTCULLIS_PRM_NAME(EventType, WQ_CATAS_ERROR);
    PORTCULLIS_PRM_NAME(EventType, PATH_MIG_FAILED);
    PORTCULLIS_PRM_NAME(EventType, INTERNAL_ERROR);
    PORTCULLIS_PRM_NAME(EventType, PORT_CHANGE);
    PORTCULLIS_PRM_NAME(EventType, CMD);
    PORTCULLIS_PRM_NAME(EventType, PAGE_REQUEST);
    PORTCULLIS_PRM_NAME(EventType, PAGE_FAULT);
    PORTCULLIS_PRM_NAME(EventType, NIC_VPORT_CHANGE);
    PORTCULLIS_PRM_NAME(EventType, WQ_INVAL_REQ_ERROR);
    PORTCULLIS_PRM_NAME(EventType, WQ_ACCESS_ERROR);
    PORTCULLIS_PRM_NAME(EventType, SRQ_CATAS_ERROR);
    PORTCULLIS_PRM_NAME(EventType, SRQ_LAST_WQE);
    PORTCULLIS_PRM_NAME(EventType, SRQ_RQ_LIMIT);
    PORTCULLIS_PRM_NAME(EventType, PORT_MODULE_EVENT);
    PORTCULLIS_PRM_NAME(EventType, TEMP_WARN_EVENT);
    PORTCULLIS_PRM_NAME(EventType, DB_BF_CONGESTION);
    PORTCULLIS_PRM_NAME(EventType, STALL_EVENT);
    PORTCULLIS_PRM_NAME(EventType, GENERAL_EVENT);
  }
  return "UNKNOWN";
}

std::string_view name(FlowTableType value) noexcept {
  switch (value) {
    PORTCULLIS_PRM_NAME(FlowTableType, NIC_RX);
    PORTCULLIS_PRM_NAME(FlowTableType, NIC_TX);
    PORTCULLIS_PRM_NAME(FlowTableType, FDB);
    PORTCULLIS_PRM_NAME(FlowTableType, RDMA_RX);
    PORTCULLIS_PRM_NAME(FlowTableType, RDMA_TX);
  }
  return "UNKNOWN";
}

std::string_view name(CqeOpcode value) noexcept {
  switch (value) {
    PORTCULLIS_PRM_NAME(CqeOpcode, REQ);
    PORTCULLIS_PRM_NAME(CqeOpcode, RESP_WR_IMM);
    PORTCULLIS_PRM_NAME(CqeOpcode, RESP_SEND);
    PORTCULLIS_PRM_NAME(CqeOpcode, RESP_SEND_IMM);
    PORTCULLIS_PRM_NAME(CqeOpcode, RESP_SEND_INV);
    PORTCULLIS_PRM_NAME(CqeOpcode, RESIZE_CQ);
    PORTCULLIS_PRM_NAME(CqeOpcode, NO_PACKET);
    PORTCULLIS_PRM_NAME(CqeOpcode, SIGNATURE_ERR);
    PORTCULLIS_PRM_NAME(CqeOpcode, REQ_ERR);
    PORTCULLIS_PRM_NAME(CqeOpcode, RESP_ERR);
    PORTCULLIS_PRM_NAME(CqeOpcode, INVALID);
  }
  return "UNKNOWN";
}

std::string_view name(CqeSyndrome value) noexcept {
  switch (value) {
    PORTCULLIS_PRM_NAME(CqeSyndrome, LOCAL_LENGTH_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, LOCAL_QP_OP_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, LOCAL_PROT_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, WR_FLUSH_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, MW_BIND_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, BAD_RESP_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, LOCAL_ACCESS_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, REMOTE_INVAL_REQ_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, REMOTE_ACCESS_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, REMOTE_OP_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, TRANSPORT_RETRY_EXC_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, RNR_RETRY_EXC_ERR);
    PORTCULLIS_PRM_NAME(CqeSyndrome, REMOTE_ABORTED_ERR);
  }
  return "UNKNOWN";
}

std::string_view name(WqeOpcode value) noexcept {
  switch (value) {
    PORTCULLIS_PRM_NAME(WqeOpcode, NOP);
    PORTCULLIS_PRM_NAME(WqeOpcode, SEND_INVAL);
    PORTCULLIS_PRM_NAME(WqeOpcode, RDMA_WRITE);
    PORTCULLIS_PRM_NAME(WqeOpcode, RDMA_WRITE_IMM);
    PORTCULLIS_PRM_NAME(WqeOpcode, SEND);
    PORTCULLIS_PRM_NAME(WqeOpcode, SEND_IMM);
    PORTCULLIS_PRM_NAME(WqeOpcode, RDMA_READ);
    PORTCULLIS_PRM_NAME(WqeOpcode, ATOMIC_CS);
    PORTCULLIS_PRM_NAME(WqeOpcode, ATOMIC_FA);
    PORTCULLIS_PRM_NAME(WqeOpcode, LOCAL_INVAL);
    PORTCULLIS_PRM_NAME(WqeOpcode, SET_PSV);
    PORTCULLIS_PRM_NAME(WqeOpcode, UMR);
    PORTCULLIS_PRM_NAME(WqeOpcode, TAG_MATCHING);
  }
  return "UNKNOWN";
}

std::string_view name(HealthSyndrome value) noexcept {
  switch (value) {
    PORTCULLIS_PRM_NAME(HealthSyndrome, NONE);
    PORTCULLIS_PRM_NAME(HealthSyndrome, FW_INTERNAL_ERR);
    PORTCULLIS_PRM_NAME(HealthSyndrome, DEAD_IRISC);
    PORTCULLIS_PRM_NAME(HealthSyndrome, HW_FATAL_ERR);
    PORTCULLIS_PRM_NAME(HealthSyndrome, FW_CRC_ERR);
    PORTCULLIS_PRM_NAME(HealthSyndrome, ICM_FETCH_PCI_ERR);
    PORTCULLIS_PRM_NAME(HealthSyndrome, ICM_PAGE_ERR);
    PORTCULLIS_PRM_NAME(HealthSyndrome, ASYNCHRONOUS_EQ_BUF_OVERRUN);
    PORTCULLIS_PRM_NAME(HealthSyndrome, EQ_IN_ERR);
    PORTCULLIS_PRM_NAME(HealthSyndrome, EQ_INV);
    PORTCULLIS_PRM_NAME(HealthSyndrome, FFSER_ERR);
    PORTCULLIS_PRM_NAME(HealthSyndrome, HIGH_TEMP_ERR);
    PORTCULLIS_PRM_NAME(HealthSyndrome, ICM_PCI_POISONED_ERR);
  }
  return "UNKNOWN";
}

#undef PORTCULLIS_PRM_NAME

std::string_view name(WcOpcode value) noexcept {
  switch (value) {
    case WcOpcode::SEND:
      return "IBV_WC_SEND";
    case WcOpcode::RDMA_WRITE:
      return "IBV_WC_RDMA_WRITE";
    case WcOpcode::RDMA_READ:
      return "IBV_WC_RDMA_READ";
    case WcOpcode::COMP_SWAP:
      return "IBV_WC_COMP_SWAP";
    case WcOpcode::FETCH_ADD:
      return "IBV_WC_FETCH_ADD";
    case WcOpcode::LOCAL_INV:
      return "IBV_WC_LOCAL_INV";
    case WcOpcode::RECV:
      return "IBV_WC_RECV";
    case WcOpcode::RECV_RDMA_WITH_IMM:
      return "IBV_WC_RECV_RDMA_WITH_IMM";
    case WcOpcode::DRIVER1:
      return "IBV_WC_DRIVER1";
  }
  return "UNKNOWN";
}

std::string_view name(WcStatus value) noexcept {
  switch (value) {
    case WcStatus::SUCCESS:
      return "IBV_WC_SUCCESS";
    case WcStatus::LOC_LEN_ERR:
      return "IBV_WC_LOC_LEN_ERR";
    case WcStatus::LOC_QP_OP_ERR:
      return "IBV_WC_LOC_QP_OP_ERR";
    case WcStatus::LOC_EEC_OP_ERR:
      return "IBV_WC_LOC_EEC_OP_ERR";
    case WcStatus::LOC_PROT_ERR:
      return "IBV_WC_LOC_PROT_ERR";
    case WcStatus::WR_FLUSH_ERR:
      return "IBV_WC_WR_FLUSH_ERR";
    case WcStatus::MW_BIND_ERR:
      return "IBV_WC_MW_BIND_ERR";
    case WcStatus::BAD_RESP_ERR:
      return "IBV_WC_BAD_RESP_ERR";
    case WcStatus::LOC_ACCESS_ERR:
      return "IBV_WC_LOC_ACCESS_ERR";
    case WcStatus::REM_INV_REQ_ERR:
      return "IBV_WC_REM_INV_REQ_ERR";
    case WcStatus::REM_ACCESS_ERR:
      return "IBV_WC_REM_ACCESS_ERR";
    case WcStatus::REM_OP_ERR:
      return "IBV_WC_REM_OP_ERR";
    case WcStatus::RETRY_EXC_ERR:
      return "IBV_WC_RETRY_EXC_ERR";
    case WcStatus::RNR_RETRY_EXC_ERR:
      return "IBV_WC_RNR_RETRY_EXC_ERR";
    case WcStatus::LOC_RDD_VIOL_ERR:
      return "IBV_WC_LOC_RDD_VIOL_ERR";
    case WcStatus::REM_INV_RD_REQ_ERR:
      return "IBV_WC_REM_INV_RD_REQ_ERR";
    case WcStatus::REM_ABORT_ERR:
      return "IBV_WC_REM_ABORT_ERR";
    case WcStatus::INV_EECN_ERR:
      return "IBV_WC_INV_EECN_ERR";
    case WcStatus::INV_EEC_STATE_ERR:
      return "IBV_WC_INV_EEC_STATE_ERR";
    case WcStatus::FATAL_ERR:
      return "IBV_WC_FATAL_ERR";
    case WcStatus::RESP_TIMEOUT_ERR:
      return "IBV_WC_RESP_TIMEOUT_ERR";
    case WcStatus::GENERAL_ERR:
      return "IBV_WC_GENERAL_ERR";
  }
  return "UNKNOWN";
}

WcStatus wc_status(CqeSyndrome syndrome) noexcept {
  switch (syndrome) {
    case CqeSyndrome::LOCAL_LENGTH_ERR:
      return WcStatus::LOC_LEN_ERR;
    case CqeSyndrome::LOCAL_QP_OP_ERR:
      return WcStatus::LOC_QP_OP_ERR;
    case CqeSyndrome::LOCAL_PROT_ERR:
      return WcStatus::LOC_PROT_ERR;
    case CqeSyndrome::WR_FLUSH_ERR:
      return WcStatus::WR_FLUSH_ERR;
    case CqeSyndrome::MW_BIND_ERR:
      return WcStatus::MW_BIND_ERR;
    case CqeSyndrome::BAD_RESP_ERR:
      return WcStatus::BAD_RESP_ERR;
    case CqeSyndrome::LOCAL_ACCESS_ERR:
      return WcStatus::LOC_ACCESS_ERR;
    case CqeSyndrome::REMOTE_INVAL_REQ_ERR:
      return WcStatus::REM_INV_REQ_ERR;
    case CqeSyndrome::REMOTE_ACCESS_ERR:
      return WcStatus::REM_ACCESS_ERR;
    case CqeSyndrome::REMOTE_OP_ERR:
      return WcStatus::REM_OP_ERR;
    case CqeSyndrome::TRANSPORT_RETRY_EXC_ERR:
      return WcStatus::RETRY_EXC_ERR;
    case CqeSyndrome::RNR_RETRY_EXC_ERR:
      return WcStatus::RNR_RETRY_EXC_ERR;
    case CqeSyndrome::REMOTE_ABORTED_ERR:
      return WcStatus::REM_ABORT_ERR;
  }
  return WcStatus::GENERAL_ERR;
}

std::string_view meaning(HealthSyndrome synd) noexcept {
  switch (synd) {
    case HealthSyndrome::NONE:
      return "no error";
    case HealthSyndrome::FW_INTERNAL_ERR:
      return "firmware internal error";
    case HealthSyndrome::DEAD_IRISC:
      return "irisc not responding";
    case HealthSyndrome::HW_FATAL_ERR:
      return "unrecoverable hardware error";
    case HealthSyndrome::FW_CRC_ERR:
      return "firmware CRC error";
    case HealthSyndrome::ICM_FETCH_PCI_ERR:
      return "ICM fetch PCI error";
    case HealthSyndrome::ICM_PAGE_ERR:
      return "ICM page error";
    case HealthSyndrome::ASYNCHRONOUS_EQ_BUF_OVERRUN:
      return "async EQ buffer overrun";
    case HealthSyndrome::EQ_IN_ERR:
      return "EQ error";
    case HealthSyndrome::EQ_INV:
      return "invalid EQ referenced";
    case HealthSyndrome::FFSER_ERR:
      return "FFSER error";
    case HealthSyndrome::HIGH_TEMP_ERR:
      return "high temperature";
    case HealthSyndrome::ICM_PCI_POISONED_ERR:
      return "ICM fetch PCI data poisoned error";
  }
  return "unrecognized error";
}

}  // namespace portcullis::prm
