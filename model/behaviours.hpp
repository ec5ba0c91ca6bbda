// SPDX-License-Identifier: BSD-3-Clause
//
// Findings and hypotheses about the card, and misbehaviour, that can be switched on one by one:
// `NAME` or `NAME=VALUE`. Each is a member of Behaviours and a row of the table in behaviours.cpp;
// whoever acts on it reads the member. A timing may switch some on by default, `NAME=off` takes
// one back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis::model {

/// Packets that a port sends to itself, by its own address or forced to (ads.fl).
enum class Loopback : std::uint8_t {
  Refused,     // ads.fl is refused, and not offered
  NeedsLink,   // forced ones are lost while the link is down, too
  ForcedOnly,  // what is not forced is lost
};
/// A key that names a QP (mkc.qpn).
enum class KeyBinding : std::uint8_t {
  Refused,
  Strict,     // it must be the number of a QP of the key's domain, when the key is made
  Unchecked,  // it is taken and not looked at
};

/// What whoever reads a crash dump of a physical function meets (model/vendor_gateway.hpp).
enum class CrashDumpSide : std::uint8_t {
  Absent,   // no vendor specific capability
  Refused,  // nor a space to scan
  Held,     // another has the semaphore of the gateway and never lets go
  Stuck,    // no word is ever answered
};

/// Off is false, or no value.
struct Behaviours {
  bool page_starved = false;
  std::optional<std::uint64_t> slow_init_ms;
  bool never_ready = false;
  bool cmdif_rev_6 = false;
  // The port of an Ethernet function.
  std::optional<std::uint64_t> link_up_ms, pmtu;
  bool vf_needs_uc_list = false;
  bool outside_sm = false;  // of an InfiniBand port
  bool eth_offloads = false;
  std::optional<std::uint64_t> dropless_rq_ms;
  std::optional<Loopback> loopback;
  std::optional<KeyBinding> mkc_qpn;
  bool relaxed_ordering = false;
  bool strict_pci_ordering = false;
  /// PCI_EXP_DEVCTL_RELAX_EN: the function may order its DMA loosely, as far as a key asks for it.
  [[nodiscard]] bool is_pci_relaxed() const noexcept {
    return relaxed_ordering && !strict_pci_ordering;
  }
  std::optional<CrashDumpSide> crash_dump;
  bool reuse_numbers = false;
  std::optional<std::uint64_t> internal_error_at;
  // Of the frames that leave and, by an uplink, come in: see frame_faults() of
  // model/transport/frame_faults.hpp.
  std::optional<double> loss, duplicate, reorder, corrupt;
  std::optional<std::uint64_t> delay_ns;
  std::optional<std::uint64_t> a1_off_ns;  // 0: whatever data_path_ns says
  bool a2_off = false;
  bool a5_off = false;
  bool a6_off = false;
  bool klm_domain_unchecked = false;
  bool replay_unchecked = false;
  bool read_untracked = false;
  std::optional<std::uint64_t> dispatch_cache_ms;
  bool dispatch_cache_keeps_key = false;
  std::optional<std::uint64_t> data_path_ns;
  // Flow steering, model/steering/flow_tables.hpp.
  bool rdma_rx_in_path = false;
  bool nic_rx_bypassed_for_roce = false;
  bool dst_qp_inert = false;
  bool hot_qp_ignores_new_rules = false;
  bool no_occupied_index = false;
  bool no_bth_opcode = false;
  bool bth_opcode_not_parsed = false;
  bool rdma_rx_refused = false;
  bool rdma_rx_silent_null = false;
  bool underlay_root_inert = false;
  // The requester's patience, hypotheses all three.
  std::optional<std::uint64_t> min_ack_timeout, retx_total_ms, retry_total;

  std::string names = "none";  // those in force and those taken back, "a+b=14+c=off"
};

inline const Behaviours no_behaviours;

/// `words` over what `timing` switches on. InvalidArgument naming the word and what is accepted.
[[nodiscard]] Result<Behaviours> find_behaviours(const std::vector<std::string>& words,
                                                 std::string_view timing);

}  // namespace portcullis::model
