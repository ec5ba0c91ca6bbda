// SPDX-License-Identifier: BSD-3-Clause
//
// What a function says that its flow tables can do: the capability page FLOW_TABLE, one domain of
// it. It gives candidates, no certainty: on one firmware bth_dst_qp was offered and inert, and
// DPDK and rdma-core refuse bth_opcode on a generation where it was seen to work. A self-test
// decides (steering/self_test.hpp).
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "prm/flow_enums.hpp"

namespace portcullis::steering {

/// Names as in flow_table_prop_layout and flow_table_fields_supported.
struct DomainCaps {
  bool ft_support = false;
  bool flow_modify_en = false;
  bool modify_root = false;
  bool bth_dst_qp = false;
  bool bth_opcode = false;  // of RDMA_RX alone: ft_field_support_2
  bool outer_sip = false;
  bool outer_udp_sport = false;
  bool outer_udp_dport = false;
};

/// QUERY_HCA_CAP, current values. A function without nic_flow_table has no such page: all zero.
[[nodiscard]] Result<DomainCaps> query_domain(const pmd::Context& context,
                                              prm::FlowTableType domain);

}  // namespace portcullis::steering
