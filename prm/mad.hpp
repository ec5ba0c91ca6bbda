// SPDX-License-Identifier: BSD-3-Clause
//
// Management datagrams of an InfiniBand port, as MAD_IFC carries them: struct ib_smp, ib_port_info
// and ib_node_info of include/rdma/ib_smi.h of Linux 6.1; tests/prm holds each against that header.
// Fields that share a byte there are named here one by one. The four of ib_port_info behind the
// round trip latency are in no header; mlx5_query_mad_ifc_port of mlx5_ib's mad.c reads them.
#pragma once

#include "prm/layout.hpp"

namespace portcullis::prm {

// clang-format off
struct ib_smp : Layout<"ib_smp", 0x800,
    Field<"base_version", 0x0, 0x8>,
    Field<"mgmt_class", 0x8, 0x8>,
    Field<"class_version", 0x10, 0x8>,
    Field<"method", 0x18, 0x8>,
    Field<"status", 0x20, 0x10>,
    Field<"hop_ptr", 0x30, 0x8>,
    Field<"hop_cnt", 0x38, 0x8>,
    Field<"tid", 0x40, 0x40>,
    Field<"attr_id", 0x80, 0x10>,
    Reserved<0x90, 0x10>,
    Field<"attr_mod", 0xa0, 0x20>,
    Field<"mkey", 0xc0, 0x40>,
    Field<"dr_slid", 0x100, 0x10>,
    Field<"dr_dlid", 0x110, 0x10>,
    Reserved<0x120, 0xe0>,
    Bytes<"data", 0x200, 0x200>,
    Bytes<"initial_path", 0x400, 0x200>,
    Bytes<"return_path", 0x600, 0x200>> {};

struct ib_port_info : Layout<"ib_port_info", 0x200,
    Field<"mkey", 0x0, 0x40>,
    Field<"gid_prefix", 0x40, 0x40>,
    Field<"lid", 0x80, 0x10>,
    Field<"sm_lid", 0x90, 0x10>,
    Field<"cap_mask", 0xa0, 0x20>,
    Field<"diag_code", 0xc0, 0x10>,
    Field<"mkey_lease_period", 0xd0, 0x10>,
    Field<"local_port_num", 0xe0, 0x8>,
    Field<"link_width_enabled", 0xe8, 0x8>,
    Field<"link_width_supported", 0xf0, 0x8>,
    Field<"link_width_active", 0xf8, 0x8>,
    Field<"link_speed_supported", 0x100, 0x4>,
    Field<"port_state", 0x104, 0x4>,
    Field<"port_physical_state", 0x108, 0x4>,
    Field<"link_down_default", 0x10c, 0x4>,
    Field<"mkey_protection", 0x110, 0x2>,
    Reserved<0x112, 0x3>,
    Field<"lmc", 0x115, 0x3>,
    Field<"link_speed_active", 0x118, 0x4>,
    Field<"link_speed_enabled", 0x11c, 0x4>,
    Field<"neighbor_mtu", 0x120, 0x4>,
    Field<"master_sm_sl", 0x124, 0x4>,
    Field<"vl_cap", 0x128, 0x4>,
    Field<"init_type", 0x12c, 0x4>,
    Field<"vl_high_limit", 0x130, 0x8>,
    Field<"vl_arb_high_cap", 0x138, 0x8>,
    Field<"vl_arb_low_cap", 0x140, 0x8>,
    Field<"init_type_reply", 0x148, 0x4>,
    Field<"mtu_cap", 0x14c, 0x4>,
    Field<"vl_stall_count", 0x150, 0x3>,
    Field<"hoq_life", 0x153, 0x5>,
    Field<"operational_vls", 0x158, 0x4>,
    Field<"enforcement", 0x15c, 0x4>,
    Field<"mkey_violations", 0x160, 0x10>,
    Field<"pkey_violations", 0x170, 0x10>,
    Field<"qkey_violations", 0x180, 0x10>,
    Field<"guid_cap", 0x190, 0x8>,
    Field<"client_reregister", 0x198, 0x1>,
    Reserved<0x199, 0x2>,
    Field<"subnet_timeout", 0x19b, 0x5>,
    Reserved<0x1a0, 0x3>,
    Field<"resp_time_value", 0x1a3, 0x5>,
    Field<"local_phy_errors", 0x1a8, 0x4>,
    Field<"overrun_errors", 0x1ac, 0x4>,
    Field<"max_credit_hint", 0x1b0, 0x10>,
    Reserved<0x1c0, 0x8>,
    Field<"link_roundtrip_latency", 0x1c8, 0x18>,
    Field<"cap_mask2", 0x1e0, 0x10>,
    Field<"link_speed_ext_active", 0x1f0, 0x4>,
    Field<"link_speed_ext_supported", 0x1f4, 0x4>,
    Reserved<0x1f8, 0x3>,
    Field<"link_speed_ext_enabled", 0x1fb, 0x5>> {};

struct ib_node_info : Layout<"ib_node_info", 0x140,
    Field<"base_version", 0x0, 0x8>,
    Field<"class_version", 0x8, 0x8>,
    Field<"node_type", 0x10, 0x8>,
    Field<"num_ports", 0x18, 0x8>,
    Field<"system_image_guid", 0x20, 0x40>,
    Field<"node_guid", 0x60, 0x40>,
    Field<"port_guid", 0xa0, 0x40>,
    Field<"partition_cap", 0xe0, 0x10>,
    Field<"device_id", 0xf0, 0x10>,
    Field<"revision", 0x100, 0x20>,
    Field<"local_port_num", 0x120, 0x8>,
    Field<"vendor_id", 0x128, 0x18>> {};
// clang-format on

}  // namespace portcullis::prm
