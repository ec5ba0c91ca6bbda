// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/verbs_names.hpp"

namespace portcullis::failover {

const std::vector<OpcodeName>& opcode_names() {
  // LOCAL_INV and BIND_MW work on the sender's own keys. SEND_WITH_INV is a message, and what it
  // does to a key of the receiver's is not modelled. What DRIVER1 does only its driver knows.
  static const std::vector<OpcodeName> names = {
      {"IBV_WR_RDMA_WRITE", Opcode::Write},
      {"IBV_WR_RDMA_WRITE_WITH_IMM", Opcode::WriteWithImm},
      {"IBV_WR_SEND", Opcode::Send},
      {"IBV_WR_SEND_WITH_IMM", Opcode::Send},
      {"IBV_WR_RDMA_READ", Opcode::Read},
      {"IBV_WR_ATOMIC_CMP_AND_SWP", Opcode::CompareSwap},
      {"IBV_WR_ATOMIC_FETCH_AND_ADD", Opcode::FetchAdd},
      {"IBV_WR_LOCAL_INV", std::nullopt, SideEffect::None},
      {"IBV_WR_BIND_MW", std::nullopt, SideEffect::None},
      {"IBV_WR_SEND_WITH_INV", std::nullopt, SideEffect::Message},
      {"IBV_WR_TSO", std::nullopt, SideEffect::Any},
      {"IBV_WR_DRIVER1", std::nullopt, SideEffect::Any},
      {"IBV_WR_FLUSH", std::nullopt, SideEffect::None},
      {"IBV_WR_ATOMIC_WRITE", std::nullopt, SideEffect::Any}};
  return names;
}

const std::vector<StatusName>& status_names() {
  static const std::vector<StatusName> names = {{"IBV_WC_SUCCESS", Outcome::Completed},
                                                {"IBV_WC_LOC_LEN_ERR"},
                                                {"IBV_WC_LOC_QP_OP_ERR"},
                                                {"IBV_WC_LOC_EEC_OP_ERR"},
                                                {"IBV_WC_LOC_PROT_ERR"},
                                                {"IBV_WC_WR_FLUSH_ERR", Outcome::Unknown},
                                                {"IBV_WC_MW_BIND_ERR"},
                                                {"IBV_WC_BAD_RESP_ERR"},
                                                {"IBV_WC_LOC_ACCESS_ERR"},
                                                {"IBV_WC_REM_INV_REQ_ERR", Outcome::Refused},
                                                {"IBV_WC_REM_ACCESS_ERR", Outcome::Refused},
                                                {"IBV_WC_REM_OP_ERR"},
                                                {"IBV_WC_RETRY_EXC_ERR", Outcome::Unknown},
                                                {"IBV_WC_RNR_RETRY_EXC_ERR", Outcome::Refused},
                                                {"IBV_WC_LOC_RDD_VIOL_ERR"},
                                                {"IBV_WC_REM_INV_RD_REQ_ERR"},
                                                {"IBV_WC_REM_ABORT_ERR"},
                                                {"IBV_WC_INV_EECN_ERR"},
                                                {"IBV_WC_INV_EEC_STATE_ERR"},
                                                {"IBV_WC_FATAL_ERR"},
                                                {"IBV_WC_RESP_TIMEOUT_ERR"},
                                                {"IBV_WC_GENERAL_ERR", Outcome::Unknown},
                                                {"IBV_WC_TM_ERR"},
                                                {"IBV_WC_TM_RNDV_INCOMPLETE"}};
  return names;
}

}  // namespace portcullis::failover
