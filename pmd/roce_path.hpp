// SPDX-License-Identifier: BSD-3-Clause
//
// The way from one RC QP to its peer over RoCEv2, and how it stands in an address path. A peer on
// the same port is reached as any other: by the port's own GID and MAC, on an InfiniBand port by
// its own LID.
#pragma once

#include <cstdint>

#include "pmd/gid.hpp"
#include "prm/numbers.hpp"

namespace portcullis::pmd {

struct RocePath {
  Gid remote_gid;
  Mac remote_mac;                         // of the peer, or of the router on the way
  std::uint8_t source_address_index = 0;  // of the RoCE address table
  std::uint8_t hop_limit = 64;
  std::uint8_t traffic_class = 0;  // DSCP above two bits of ECN
  std::uint32_t flow_label = 0;    // 20 bits; 0: the UDP source port follows from the QP numbers
  std::uint8_t priority = 0;       // 802.1p, 0 to 7
  /// The peer is on this port, and packets come back whatever the address and the link (ads.fl).
  bool is_forced_back = false;
  /// Of the peer where the port is InfiniBand; that alone leads there, everything above is RoCE's.
  std::uint16_t remote_lid = 0;
};

/// The UDP source port of a connection: from the flow label, or when that is 0 from both QP numbers
/// (rdma_get_udp_sport of include/rdma/ib_verbs.h). 0xc000 to 0xffff, the same on both sides.
[[nodiscard]] std::uint16_t udp_source_port(std::uint32_t flow_label, prm::QpNumber local_qpn,
                                            prm::QpNumber remote_qpn) noexcept;

}  // namespace portcullis::pmd
