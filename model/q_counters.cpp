// SPDX-License-Identifier: BSD-3-Clause
#include "model/q_counters.hpp"

namespace portcullis::model {

using prm::CqeSyndrome;

void QCounters::count_request_error(CqeSyndrome syndrome) noexcept {
  ++req_cqe_error;
  switch (syndrome) {
    case CqeSyndrome::LOCAL_LENGTH_ERR:
      ++req_local_length_error;
      break;
    case CqeSyndrome::LOCAL_QP_OP_ERR:
      ++local_operation_error;
      break;
    case CqeSyndrome::LOCAL_PROT_ERR:
      ++req_local_protection;
      break;
    case CqeSyndrome::WR_FLUSH_ERR:
      ++req_cqe_flush_error;
      break;
    case CqeSyndrome::MW_BIND_ERR:
      ++req_mw_binding;
      break;
    case CqeSyndrome::BAD_RESP_ERR:
      ++req_bad_response;
      break;
    case CqeSyndrome::REMOTE_INVAL_REQ_ERR:
      ++req_remote_invalid_request;
      break;
    case CqeSyndrome::REMOTE_ACCESS_ERR:
      ++req_remote_access_errors;
      break;
    case CqeSyndrome::REMOTE_OP_ERR:
      ++req_remote_operation_errors;
      break;
    case CqeSyndrome::TRANSPORT_RETRY_EXC_ERR:
      ++req_transport_retries_exceeded;
      break;
    default:
      break;
  }
}

void QCounters::count_receive_error(CqeSyndrome syndrome) noexcept {
  ++resp_cqe_error;
  if (syndrome == CqeSyndrome::WR_FLUSH_ERR) ++resp_cqe_flush_error;
  if (syndrome == CqeSyndrome::LOCAL_LENGTH_ERR) ++resp_local_length_error;
  if (syndrome == CqeSyndrome::LOCAL_PROT_ERR) ++resp_local_protection;
}

void QCounters::describe(prm::View<prm::query_q_counter_out> out) const {
#define PORTCULLIS_MODEL_PUT(name) out.put<#name>(name);
  PORTCULLIS_PRM_Q_COUNTERS(PORTCULLIS_MODEL_PUT)
#undef PORTCULLIS_MODEL_PUT
}

std::optional<std::uint32_t> QCounterTable::allocate() {
  const auto id = ids_.allocate();
  if (!id) return std::nullopt;
  sets_[*id] = {};
  live_[*id] = true;
  ++count_;
  return id;
}

void QCounterTable::give_back(std::uint32_t id) {
  live_[id] = false;
  ids_.give_back(id);
  --count_;
}

void QCounterTable::clear() {
  live_ = {};
  ids_.clear();
  count_ = 0;
}

}  // namespace portcullis::model
