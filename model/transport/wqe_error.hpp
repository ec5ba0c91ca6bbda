// SPDX-License-Identifier: BSD-3-Clause
//
// Error completions of the send half: the syndrome, and the vendor syndrome that cards were seen to
// put beside it. Vendor syndromes are unpublished; each comes from a field log, 0 where none was
// found. Nothing may depend on them.
#pragma once

#include "model/transport/qp.hpp"

namespace portcullis::model::wqe_error {

inline constexpr WqeError kLocalLength{prm::CqeSyndrome::LOCAL_LENGTH_ERR, 0};
inline constexpr WqeError kLocalQpOperation{prm::CqeSyndrome::LOCAL_QP_OP_ERR, 0};
// Juniper/warp17 issue 81: "9D005304"
inline constexpr WqeError kLocalProtection{prm::CqeSyndrome::LOCAL_PROT_ERR, 0x53};
// open-mpi/ompi issue 95: status 5, "vendor error 249"
inline constexpr WqeError kFlush{prm::CqeSyndrome::WR_FLUSH_ERR, 0xf9};
inline constexpr WqeError kMemoryBind{prm::CqeSyndrome::MW_BIND_ERR, 0};
inline constexpr WqeError kBadResponse{prm::CqeSyndrome::BAD_RESP_ERR, 0};
// openucx/ucx issue 4176: "00008a12", "vendor_err 138"
inline constexpr WqeError kRemoteInvalidRequest{prm::CqeSyndrome::REMOTE_INVAL_REQ_ERR, 0x8a};
// openucx/ucx issue 1569, ofiwg/libfabric issue 4283: "00008813"
inline constexpr WqeError kRemoteAccess{prm::CqeSyndrome::REMOTE_ACCESS_ERR, 0x88};
// openucx/ucx issue 5472: "synd 0x14 vend 0x89"
inline constexpr WqeError kRemoteOperation{prm::CqeSyndrome::REMOTE_OP_ERR, 0x89};
// openucx/ucx issue 2973: "synd 0x15 vend 0x81"
inline constexpr WqeError kRetryExceeded{prm::CqeSyndrome::TRANSPORT_RETRY_EXC_ERR, 0x81};
inline constexpr WqeError kRnrRetryExceeded{prm::CqeSyndrome::RNR_RETRY_EXC_ERR, 0};

}  // namespace portcullis::model::wqe_error
