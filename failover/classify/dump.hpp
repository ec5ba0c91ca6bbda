// SPDX-License-Identifier: BSD-3-Clause
//
// A dump of work requests as JSON: what a library would print of its send queue after a failure.
//
//   { "regions": [ { "rkey": 4096, "environment": "reuse", "consumer": "notified",
//                    "fenced": false, "unique_tags": false } ],
//     "work_requests": [ { "wr_id": 7, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 4096,
//                          "remote_addr": 1024, "length": 8192,
//                          "status": "IBV_WC_RETRY_EXC_ERR" } ] }
//
// Names are those of struct ibv_send_wr and enum ibv_wc_status (infiniband/verbs.h). Numbers are
// decimal, or strings of hexadecimal "0x..". A request without status has no completion.
#pragma once

#include <string_view>

#include "failover/classify/classify.hpp"

namespace portcullis::failover {

/// What its completion says of a request.
enum class Outcome : std::uint8_t {
  Unknown,    // none, IBV_WC_WR_FLUSH_ERR or IBV_WC_RETRY_EXC_ERR: executed or not
  Completed,  // IBV_WC_SUCCESS
  Refused,    // the responder answered with an error: it was not executed, and will not be
};

struct DumpedRequest {
  OutstandingRequest request;
  Outcome outcome = Outcome::Unknown;
  std::size_t line = 1;
};

/// Malformed, as "FILE:LINE: FIELD: what", with what is accepted. `file` is what messages call the
/// text.
[[nodiscard]] Result<std::vector<DumpedRequest>> read_dump(std::string_view text,
                                                           std::string_view file);

}  // namespace portcullis::failover
