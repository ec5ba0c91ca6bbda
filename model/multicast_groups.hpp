// SPDX-License-Identifier: BSD-3-Clause
//
// Multicast groups: which queue pairs get what is sent to a GID of many. A queue pair is attached
// by ATTACH_TO_MCG (mlx5_cmd_attach_mcg of mlx5_ib/cmd.c) and gone from its groups when it is
// destroyed.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/port_settings.hpp"
#include "model/verdict.hpp"

namespace portcullis::model {

class MulticastGroups {
 public:
  /// Of a ConnectX-4, as its QUERY_HCA_CAP says (tests/trace/data/connectx4_bringup.trace).
  static constexpr std::uint32_t kLogMax = 21;
  static constexpr std::uint32_t kMostMembers = 48;

  /// Attached twice is attached. NO_RES_ERR where the group or the table is full.
  Verdict attach(const Gid& gid, std::uint32_t qpn);
  /// BAD_RES_ERR for one that is not attached.
  Verdict detach(const Gid& gid, std::uint32_t qpn);
  /// The queue pair is gone.
  void forget(std::uint32_t qpn);
  void clear() noexcept { groups_.clear(); }

  [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }
  /// In the order in which they were attached; null: nobody is.
  [[nodiscard]] const std::vector<std::uint32_t>* members(const Gid& gid) const noexcept;
  /// Whether a group's frames go to this Ethernet address: ip_eth_mc_map of an IPv4 one,
  /// rdma_get_mcast_mac of any other (include/rdma/ib_addr.h).
  [[nodiscard]] bool has_mac(const Mac& mac) const noexcept;

 private:
  std::map<Gid, std::vector<std::uint32_t>> groups_;  // none of them empty
};

}  // namespace portcullis::model
