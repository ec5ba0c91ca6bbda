// SPDX-License-Identifier: BSD-3-Clause
//
// Capability pages: what the model offers, what SET_HCA_CAP made of it, and the limits that the
// engines are built with. A capability that the model does not implement reads as zero, so a driver
// that heeds capabilities never asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/behaviours.hpp"
#include "model/port_type.hpp"
#include "model/verdict.hpp"
#include "prm/device_memory_commands.hpp"
#include "prm/enums.hpp"
#include "prm/ethernet_cap.hpp"
#include "prm/flow_cap.hpp"
#include "prm/hca_cap.hpp"
#include "prm/pacing_commands.hpp"
#include "prm/view.hpp"
#include "trace/device_profile.hpp"

namespace portcullis::model {

class Capabilities {
 public:
  static constexpr std::uint32_t kLogMaxQp = 17;
  static constexpr std::uint32_t kLogMaxCq = 16;
  static constexpr std::uint32_t kLogMaxEq = 6;
  static constexpr std::uint32_t kLogMaxMkey = 18;
  static constexpr std::uint32_t kLogMaxPd = 17;
  static constexpr std::uint32_t kLogMaxUmem = 16;
  static constexpr std::uint32_t kLogMaxUctx = 12;
  static constexpr std::uint32_t kLogMaxMsg = 30;
  static constexpr std::uint32_t kLogMaxL2Table = 7;
  static constexpr std::uint32_t kLogMaxUcList = 7;
  static constexpr std::uint32_t kLogMaxMcList = 9;
  static constexpr std::uint32_t kLogMaxVlanList = 9;
  static constexpr std::size_t kPageBytes = prm::cmd_hca_cap::bytes;

  /// `profile` may be null; what its device did not offer is not offered, nor what the model cannot
  /// do.
  Capabilities(bool virtual_function, PortType port_type, const Behaviours& behaviours,
               const trace::DeviceProfile* profile);

  void power_on();
  /// Copies a page to `capability`, which is zeroed.
  Verdict query(prm::CapType type, prm::CapMode mode, std::span<std::byte> capability) const;
  /// Every field must be what it is or at most its maximum; otherwise nothing changes. Of the
  /// atomic page only the byte order of results can be set, and the rest is passed over: Linux
  /// leaves it 0.
  Verdict set(prm::CapType type, std::span<const std::byte> capability);

  /// Linux may make an interface of IP over InfiniBand with queues like those of Ethernet.
  [[nodiscard]] bool offers_ipoib() const noexcept {
    return general_.get<"ipoib_enhanced_offloads">() != 0;
  }
  /// cmdif_checksum is 3: input is verified, output is signed.
  [[nodiscard]] bool checksums() const noexcept {
    return general_.get<"cmdif_checksum">() == kChecksumBoth;
  }
  /// INIT_HCA leaves the link to PAOS.
  [[nodiscard]] bool link_stays_down() const noexcept {
    return general_.get<"disable_link_up">() != 0;
  }
  [[nodiscard]] bool offers_fast_teardown() const noexcept {
    return general_.get<"fast_teardown">() != 0;
  }
  /// The driver has asked to hear of a reset that loads the firmware again (handle_hca_cap of
  /// mlx5/core/main.c), and may start one.
  [[nodiscard]] bool hears_of_firmware_reset() const noexcept {
    return general_.get<"pci_sync_for_fw_update_event">() != 0;
  }
  /// What an atomic fetched goes to memory in the host's order (SET_HCA_CAP, atomic).
  [[nodiscard]] const bool* host_endian_atomics() const noexcept { return &host_endian_atomics_; }
  [[nodiscard]] bool is_virtual_function() const noexcept { return virtual_function_; }
  /// General objects of that type can be made.
  [[nodiscard]] bool has_object_type(std::uint32_t type) const noexcept {
    return type < 64 && (general_.get<"general_obj_types">() >> type & 1) != 0;
  }
  /// All zero: it has none.
  [[nodiscard]] const prm::Buffer<prm::device_mem_cap>& device_memory() const noexcept {
    return device_memory_;
  }
  /// The page of type QOS; all zero where `qos` does not say that there is one.
  [[nodiscard]] const prm::Buffer<prm::qos_cap>& qualities() const noexcept { return qualities_; }
  /// The general page (GET_CUR).
  [[nodiscard]] const prm::Buffer<prm::cmd_hca_cap>& in_force() const noexcept { return general_; }

 private:
  /// Of steering by a program's own entries nothing is missing.
  [[nodiscard]] bool has_all_of_steering() const;
  void withhold_steering();

  static constexpr std::uint32_t kChecksumBoth = 3;

  bool virtual_function_;
  prm::Buffer<prm::cmd_hca_cap> general_max_;
  prm::Buffer<prm::cmd_hca_cap> general_start_;  // after power-on
  prm::Buffer<prm::cmd_hca_cap> general_;
  prm::Buffer<prm::roce_cap> roce_max_;
  prm::Buffer<prm::roce_cap> roce_start_;
  prm::Buffer<prm::roce_cap> roce_;
  prm::Buffer<prm::flow_table_nic_cap> flow_tables_;                 // read only
  prm::Buffer<prm::per_protocol_networking_offload_caps> ethernet_;  // read only, as the next
  prm::Buffer<prm::per_protocol_networking_offload_caps> ipoib_;
  prm::Buffer<prm::device_mem_cap> device_memory_;  // read only
  prm::Buffer<prm::qos_cap> qualities_;             // the same
  bool host_endian_atomics_ = false;
};

}  // namespace portcullis::model
