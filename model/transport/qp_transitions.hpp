// SPDX-License-Identifier: BSD-3-Clause
//
// Creation, transitions and query of a queue pair, as far as its context decides them. What a
// transition takes from its context is what __mlx5_ib_modify_qp sets there (mlx5_ib/qp.c): required
// attributes always, optional ones when opt_param_mask names them (opt_mask of that file).
//
//   command      from   takes always                            takes by opt_param_mask
//   RST2INIT     RST    rre rwe rae, port, pkey_index,
//                       counter_set_id, q_key
//   INIT2INIT    INIT                                           RRE RAE RWE PKEY_INDEX PRI_PORT
//   INIT2RTR     INIT   path, mtu, log_msg_max, remote_qpn,     RRE RAE RWE PKEY_INDEX
//                       next_rcv_psn, log_rra_max, min_rnr_nak
//   RTR2RTS      RTR    next_send_psn, ack_timeout,             RRE RAE RWE RNR_TIMEOUT PM_STATE
//                       retry_count, rnr_retry, log_sra_max,
//                       log_ack_req_freq
//   RTS2RTS      RTS                                            as RTR2RTS, COUNTER_SET_ID;
//                                                               by the second mask UDP_SPORT
//   RTS2SQD      RTS
//   SQD_RTS      SQD                                            RRE RAE RWE RNR_TIMEOUT
//   SQERR2RTS    SQER   rights; RC never comes to that state, UC and UD do
//   2ERR, 2RST   any
//
// UD has no path and takes Q_KEY in all of them.
// Of the table's options two stand for what this card does not offer and are refused:
// ALT_ADDR_PATH (cmd_hca_cap.apm) and LAG_TX_AFF (init2_lag_tx_port_affinity).
// A wrong state is BAD_QP_STATE, anything else that is refused BAD_PARAM.
#pragma once

#include <memory>

#include "model/port_settings.hpp"
#include "model/transport/qp.hpp"
#include "model/transport_port.hpp"
#include "model/verdict.hpp"

namespace portcullis::model {

/// Bytes of receive and send queue together; nothing for a receive queue type that is none.
[[nodiscard]] std::optional<std::uint64_t> work_queue_bytes(prm::ConstView<prm::qpc> context);

/// What a new queue pair says; RST.
Verdict make_qp(const QpCreate& request, std::unique_ptr<Qp>& out);

/// INIT2INIT to RTS2RTS and RST2INIT; the new state and its attributes on success.
Verdict apply_transition(Qp& qp, const QpModify& request, const PortSettings& port,
                         std::uint32_t log_max_msg);

/// Back to RST: nothing of the last connection stays.
void clear_connection(Qp& qp);

void fill_context(const Qp& qp, prm::View<prm::qpc> context);

}  // namespace portcullis::model
