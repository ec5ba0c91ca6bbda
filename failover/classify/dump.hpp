// SPDX-License-Identifier: BSD-3-Clause
//
// A dump of work requests as JSON: what a library would print of its send queue after a failure.
//
//   { "regions": [ { "rkey": 4096, "environment": "reuse", "consumer": "notified",
//                    "fenced": false, "unique_tags": false, "nothing_later": false } ],
//     "work_requests": [ { "wr_id": 7, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 4096,
//                          "remote_addr": 1024, "length": 8192, "qp_num": 17,
//                          "status": "IBV_WC_RETRY_EXC_ERR" } ] }
//
// A request may have a "psn", and "evidence": {"applied", "word", "word_before", "holds_source"};
// "queue_pairs" has what was read of responder QPs: {"qp_num", "fenced", "receives",
// "expected_psn", "path_mtu"} (evidence.hpp).
//
// "sg_list" is the sender's own memory, as [{"addr", "length", "lkey"}], and "send_flags" a list of
// names of enum ibv_send_flags.
//
// Work requests stand in posting order. Names are those of struct ibv_send_wr, enum ibv_wr_opcode
// and enum ibv_wc_status (infiniband/verbs.h), all of which are taken. Numbers are decimal, or
// strings of hexadecimal "0x..". A request without status has no completion, one without qp_num may
// be of any QP, one without remote_addr or length may touch anything behind its rkey.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "failover/classify/request.hpp"

namespace portcullis::failover {

/// Malformed, as "FILE:LINE: FIELD: what", with what is accepted: also for evidence that cannot be
/// so, as far as that is seen without exploring. `file` is what messages call the text.
[[nodiscard]] Result<std::vector<OutstandingRequest>> read_dump(std::string_view text,
                                                                std::string_view file);

}  // namespace portcullis::failover
