// SPDX-License-Identifier: BSD-3-Clause
//
// The command interface: the queue entry, mailbox blocks, and the header that every command shares.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct cmd_queue_entry : Layout<"cmd_queue_entry", 0x200,
    Field<"type", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"input_length", 0x20, 0x20>,
    Field<"input_mailbox_pointer_63_32", 0x40, 0x20>,
    Field<"input_mailbox_pointer_31_9", 0x60, 0x17>,
    Reserved<0x77, 0x9>,
    Bytes<"command_input_inline_data", 0x80, 0x80>,
    Bytes<"command_output_inline_data", 0x100, 0x80>,
    Field<"output_mailbox_pointer_63_32", 0x180, 0x20>,
    Field<"output_mailbox_pointer_31_9", 0x1a0, 0x17>,
    Reserved<0x1b7, 0x9>,
    Field<"output_length", 0x1c0, 0x20>,
    Field<"token", 0x1e0, 0x8>,
    Field<"signature", 0x1e8, 0x8>,
    Reserved<0x1f0, 0x8>,
    Field<"status", 0x1f8, 0x7>,
    Field<"ownership", 0x1ff, 0x1>> {};

struct cmd_if_box : Layout<"cmd_if_box", 0x1200,
    Bytes<"mailbox_data", 0x0, 0x1000>,
    Reserved<0x1000, 0x180>,
    Field<"next_pointer_63_32", 0x1180, 0x20>,
    Field<"next_pointer_31_10", 0x11a0, 0x16>,
    Reserved<0x11b6, 0xa>,
    Field<"block_number", 0x11c0, 0x20>,
    Reserved<0x11e0, 0x8>,
    Field<"token", 0x11e8, 0x8>,
    Field<"ctrl_signature", 0x11f0, 0x8>,
    Field<"signature", 0x11f8, 0x8>> {};

struct cmd_in : Layout<"cmd_in", 0x40,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>> {};

struct cmd_out : Layout<"cmd_out", 0x60,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Field<"command_output", 0x40, 0x20>> {};

/// The answer of a command that gives nothing back but its status.
template <Name N>
using status_out = Layout<N, 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>>;

/// A command on what belongs to a vport: the head that most of them have, then their own.
template <Name N, unsigned Bits, class... Own>
using vport_in = Layout<N, Bits,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"other_vport", 0x40, 0x1>,
    Reserved<0x41, 0xf>,
    Field<"vport_number", 0x50, 0x10>,
    Own...>;

// clang-format on
}  // namespace portcullis::prm
