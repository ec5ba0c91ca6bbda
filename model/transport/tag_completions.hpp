// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of an entry of a tag list that a message has taken when its queue pair goes to ERR,
// and how a queue pair comes to have a list at all.
//
// An entry ends with TM_MSG_COMPLETION_CANCELED, a hypothesis about a name: libmlx5 takes it for
// the end of an entry (mlx5_cqe_app_op_tm_is_complete of rdma-core's mlx5/cq.c) with the status
// IBV_WC_TM_RNDV_INCOMPLETE. An error completion it cannot be: of a receive that has one libmlx5
// takes the number for a WQE of the queue, and of a request for one of a send queue that the queue
// pair does not have (mlx5_parse_cqe).
#pragma once

#include <cstdint>

#include "model/cq.hpp"
#include "model/shared_receives.hpp"
#include "model/tag_matching/tag_report.hpp"
#include "prm/cqe.hpp"

namespace portcullis::model {

struct Engine;
struct Qp;
struct Work;

/// `qp` is new: if it receives by an XRQ, that one's CQ and list are its own from now on.
void join_xrq(Qp& qp, SharedReceives& receives);
/// A completion of the XRQ's CQ that says `report`, which must stay until it is written.
[[nodiscard]] Completion tag_completion(const Qp& qp, prm::CqeOpcode opcode,
                                        const TagReport& report);
/// Entry `index` will not be filled.
void cancel_entry(const Engine& engine, const Qp& qp, std::uint16_t index);
/// The entry of the message that is coming in, if it has one.
void cancel_message(const Engine& engine, Qp& qp);
/// The entry whose completion waits in a lane; false: it is no entry's.
bool cancel_work(const Engine& engine, Qp& qp, const Work& work);

}  // namespace portcullis::model
