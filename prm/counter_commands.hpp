// SPDX-License-Identifier: BSD-3-Clause
//
// Q counters: what a set of queue pairs met. Source of every layout here: struct
// mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux 6.1; tests/prm holds each against
// that header. Linux 6.12 names one field more, at 0x760: req_rnr_retries_exceeded.
#pragma once

#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct alloc_q_counter_in : Layout<"alloc_q_counter_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>> {};

struct alloc_q_counter_out : Layout<"alloc_q_counter_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x18>,
    Field<"counter_set_id", 0x58, 0x8>,
    Reserved<0x60, 0x20>> {};

struct dealloc_q_counter_in : Layout<"dealloc_q_counter_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x18>,
    Field<"counter_set_id", 0x58, 0x8>,
    Reserved<0x60, 0x20>> {};

struct dealloc_q_counter_out : Layout<"dealloc_q_counter_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct query_q_counter_in : Layout<"query_q_counter_in", 0x100,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x80>,
    Field<"clear", 0xc0, 0x1>,
    Reserved<0xc1, 0x37>,
    Field<"counter_set_id", 0xf8, 0x8>> {};

struct query_q_counter_out : Layout<"query_q_counter_out", 0x800,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Field<"rx_write_requests", 0x80, 0x20>,
    Reserved<0xa0, 0x20>,
    Field<"rx_read_requests", 0xc0, 0x20>,
    Reserved<0xe0, 0x20>,
    Field<"rx_atomic_requests", 0x100, 0x20>,
    Reserved<0x120, 0x20>,
    Field<"rx_dct_connect", 0x140, 0x20>,
    Reserved<0x160, 0x20>,
    Field<"out_of_buffer", 0x180, 0x20>,
    Reserved<0x1a0, 0x20>,
    Field<"out_of_sequence", 0x1c0, 0x20>,
    Reserved<0x1e0, 0x20>,
    Field<"duplicate_request", 0x200, 0x20>,
    Reserved<0x220, 0x20>,
    Field<"rnr_nak_retry_err", 0x240, 0x20>,
    Reserved<0x260, 0x20>,
    Field<"packet_seq_err", 0x280, 0x20>,
    Reserved<0x2a0, 0x20>,
    Field<"implied_nak_seq_err", 0x2c0, 0x20>,
    Reserved<0x2e0, 0x20>,
    Field<"local_ack_timeout_err", 0x300, 0x20>,
    Reserved<0x320, 0xa0>,
    Field<"resp_local_length_error", 0x3c0, 0x20>,
    Field<"req_local_length_error", 0x3e0, 0x20>,
    Field<"resp_local_qp_error", 0x400, 0x20>,
    Field<"local_operation_error", 0x420, 0x20>,
    Field<"resp_local_protection", 0x440, 0x20>,
    Field<"req_local_protection", 0x460, 0x20>,
    Field<"resp_cqe_error", 0x480, 0x20>,
    Field<"req_cqe_error", 0x4a0, 0x20>,
    Field<"req_mw_binding", 0x4c0, 0x20>,
    Field<"req_bad_response", 0x4e0, 0x20>,
    Field<"req_remote_invalid_request", 0x500, 0x20>,
    Field<"resp_remote_invalid_request", 0x520, 0x20>,
    Field<"req_remote_access_errors", 0x540, 0x20>,
    Field<"resp_remote_access_errors", 0x560, 0x20>,
    Field<"req_remote_operation_errors", 0x580, 0x20>,
    Field<"req_transport_retries_exceeded", 0x5a0, 0x20>,
    Field<"cq_overflow", 0x5c0, 0x20>,
    Field<"resp_cqe_flush_error", 0x5e0, 0x20>,
    Field<"req_cqe_flush_error", 0x600, 0x20>,
    Reserved<0x620, 0x20>,
    Field<"roce_adp_retrans", 0x640, 0x20>,
    Field<"roce_adp_retrans_to", 0x660, 0x20>,
    Field<"roce_slow_restart", 0x680, 0x20>,
    Field<"roce_slow_restart_cnps", 0x6a0, 0x20>,
    Field<"roce_slow_restart_trans", 0x6c0, 0x20>,
    Reserved<0x6e0, 0x120>> {};

// clang-format on
}  // namespace portcullis::prm

// X(field), in the order of the answer: what an RC queue pair can raise of query_q_counter_out.
#define PORTCULLIS_PRM_Q_COUNTERS(X) \
  X(rx_write_requests)               \
  X(rx_read_requests)                \
  X(rx_atomic_requests)              \
  X(out_of_buffer)                   \
  X(out_of_sequence)                 \
  X(duplicate_request)               \
  X(rnr_nak_retry_err)               \
  X(packet_seq_err)                  \
  X(implied_nak_seq_err)             \
  X(local_ack_timeout_err)           \
  X(resp_local_length_error)         \
  X(req_local_length_error)          \
  X(resp_local_qp_error)             \
  X(local_operation_error)           \
  X(resp_local_protection)           \
  X(req_local_protection)            \
  X(resp_cqe_error)                  \
  X(req_cqe_error)                   \
  X(req_mw_binding)                  \
  X(req_bad_response)                \
  X(req_remote_invalid_request)      \
  X(resp_remote_invalid_request)     \
  X(req_remote_access_errors)        \
  X(resp_remote_access_errors)       \
  X(req_remote_operation_errors)     \
  X(req_transport_retries_exceeded)  \
  X(cq_overflow)                     \
  X(resp_cqe_flush_error)            \
  X(req_cqe_flush_error)
