// SPDX-License-Identifier: BSD-3-Clause
//
// What every object of an initialised function needs, handed down by pmd::Function: the device, its
// command channel, DMA memory, and the capabilities that were read at bring-up. A Context outlives
// every object made from it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/device.hpp"
#include "base/dma_memory.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/uar_map.hpp"

namespace portcullis::pmd {

/// The low bytes of memory keys. The index of a destroyed key is given again; the byte is ours, and
/// is what tells an old client's key from the new one. One allocator for a function, whoever makes
/// the keys: a byte comes again after 256 others.
class KeyVariants {
 public:
  [[nodiscard]] std::uint8_t next() noexcept { return next_++; }
  /// The next one is `next`, whatever was given: for who wants a key byte to come again.
  void restart(std::uint8_t next) noexcept { next_ = next; }

 private:
  std::uint8_t next_ = 0;
};

/// From QUERY_HCA_CAP, current values, after SET_HCA_CAP. Names as in cmd_hca_cap and roce_cap.
struct Capabilities {
  std::uint32_t log_max_qp = 0;
  std::uint32_t log_max_qp_sz = 0;
  std::uint32_t log_max_cq = 0;
  std::uint32_t log_max_cq_sz = 0;
  std::uint32_t log_max_eq = 0;
  std::uint32_t log_max_mkey = 0;
  std::uint32_t max_indirection = 0;  // how deep keys may lead to keys; 0: no indirect ones
  std::uint32_t log_max_klm_list_size = 0;
  std::uint32_t log_max_pd = 0;
  std::uint32_t log_max_msg = 0;
  std::uint32_t log_max_ra_req_qp = 0;  // READs and atomics a QP may have outstanding at its peer
  std::uint32_t log_max_ra_res_qp = 0;  // and its peer here
  std::uint32_t atomic = 0;
  std::uint32_t atomic_mode = 1;  // qpc.atomic_mode as get_atomic_mode of mlx5_ib chooses it
  /// The result of an atomic arrives in the host's byte order; otherwise in network order.
  bool atomic_host_order = false;
  std::uint32_t umr_modify_atomic_disabled = 0;
  std::uint32_t max_qp_cnt = 0;  // Q counter sets
  std::uint32_t log_max_transport_domain = 0;
  std::uint32_t log_max_rq = 0;
  std::uint32_t log_max_tir = 0;
  std::uint32_t port_type = 0;  // MLX5_CAP_PORT_TYPE_IB 0, _ETH 1
  std::uint32_t num_ports = 0;
  std::uint32_t cmdif_checksum = 0;  // 3: input and output are signed
  std::uint32_t roce = 0;
  std::uint32_t roce_address_table_size = 0;
  std::uint32_t r_roce_min_src_udp_port = 0;
  std::uint32_t r_roce_max_src_udp_port = 0;
  std::uint32_t vport_group_manager = 0;
  std::uint32_t eth_net_offloads = 0;  // queues of Ethernet frames
  std::uint32_t eswitch_manager = 0;
  std::uint32_t log_max_l2_table = 0;
  std::uint32_t qp_ts_format = 0;            // roce_cap; 0: free running only
  std::uint32_t forced_loopback = 0;         // roce_cap.fl_rc_qp_when_roce_enabled
  std::uint32_t relaxed_ordering_write = 0;  // that a key may ask for; none here does
  std::uint32_t relaxed_ordering_read = 0;
};

class Uar;

struct Context {
  Device device;
  CommandChannel* commands = nullptr;
  DmaArena* arena = nullptr;
  Capabilities caps;
  const UarMap* uars = nullptr;  // null: UARs are pages of the BAR
  const Uar* uar = nullptr;      // the function's own UAR, for objects that bring none
  /// Its kernel driver keeps it: addresses, link, bus mastering and reset are the kernel's.
  bool is_kept = false;
  /// A key that is for one QP names it (mkc.qpn), where the device takes that.
  bool binds_keys = true;
  /// ARP, neighbour solicitation and ping are answered for the port, where it can be done.
  bool answers_neighbours = true;
  /// Packets from the port to itself are forced back (ads.fl).
  bool forces_loopback = false;
  /// The longest frame that its Ethernet port carries, as frame_bytes() counts; 0: nobody asked.
  std::uint32_t frame_bytes = 0;
  std::uint8_t eqn = 0;  // the asynchronous EQ; a CQ that is polled names it too
  /// Low bytes of memory keys; every copy of a context draws from the same ones.
  std::shared_ptr<KeyVariants> key_variants = std::make_shared<KeyVariants>();
};

}  // namespace portcullis::pmd
