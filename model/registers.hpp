// SPDX-License-Identifier: BSD-3-Clause
//
// The initialisation segment from the device's side. The BAR is plain memory, so a driver's store
// to a read-only register takes; it is put right again with the next step, as the low byte of
// cmdq_addr_l_sz is after the driver has written the queue's address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/device.hpp"
#include "model/profile.hpp"
#include "prm/enums.hpp"
#include "prm/init_segment.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class InitSegment {
 public:
  static constexpr std::uint32_t kLogCommandSlots = 5;
  static constexpr std::uint32_t kLogCommandStride = 6;
  static constexpr std::uint32_t kHwId = 0x20d;  // of a ConnectX-5

  /// `bar` is BAR0 from its start. `cmdif_rev` is what the device claims to speak.
  InitSegment(std::span<std::byte> bar, std::uint32_t cmdif_rev,
              const FirmwareVersion& firmware) noexcept;

  /// Reset values; `initializing` is set until set_ready().
  void power_on(std::uint64_t now_ns) noexcept;
  void set_ready() noexcept;
  [[nodiscard]] bool is_ready() const noexcept { return ready_; }

  /// The command doorbell: takes the vector that was stored last; 0: nobody rang.
  [[nodiscard]] std::uint32_t take_doorbell() const noexcept;
  [[nodiscard]] Iova command_queue() const noexcept;
  [[nodiscard]] prm::NicInterface nic_interface() const noexcept;

  /// Restores what is read-only in cmdq_addr_l_sz; cheap when nobody wrote it.
  void restore_queue_sizes() const noexcept;
  /// Timer, health counter, and every read-only register as the device has it.
  void show_time(std::uint64_t now_ns) noexcept;

  void set_health(std::uint8_t synd) noexcept;
  [[nodiscard]] std::uint8_t health() const noexcept { return synd_; }
  void freeze_counter() noexcept { frozen_ = true; }

 private:
  void show_identity() const noexcept;
  void show_health() const noexcept;

  prm::Registers<prm::mlx5_init_seg> registers_;
  std::span<std::byte> bytes_;
  std::uint32_t cmdif_rev_;
  FirmwareVersion firmware_;
  std::uint64_t next_restore_ns_ = 0;
  std::uint32_t counter_ = 0;
  std::uint8_t synd_ = 0;
  bool ready_ = false;
  bool frozen_ = false;
};

}  // namespace portcullis::model
