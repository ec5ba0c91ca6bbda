// SPDX-License-Identifier: BSD-3-Clause
//
// The vendor specific capability of a physical function: the gateway through which Linux reads a
// crash dump (mlx5/core/lib/pci_vsc.c), and tools give commands (model/icmd.hpp). A semaphore that
// takes a mark only when it is free, a counter that never repeats, spaces that are there or not,
// and words that are asked for with the flag clear and answered with it set. Scanning passes over
// what cannot be read.
#pragma once

#include <linux/pci_regs.h>

#include <cstdint>
#include <optional>

#include "model/behaviours.hpp"
#include "model/icmd.hpp"
#include "prm/vendor_space.hpp"

namespace portcullis::model {

class VendorGateway {
 public:
  /// What can be scanned, with a hole in the middle.
  static constexpr std::uint32_t kSpaceBytes = 0x4000;
  static constexpr std::uint32_t kHoleFrom = 0x1000;
  static constexpr std::uint32_t kHoleTo = 0x3000;
  static constexpr std::uint32_t kOthersMark = 0x0badc0de;

  /// Where the capability stands in configuration space, as `lspci -vv` shows it on a ConnectX-5.
  static constexpr std::uint32_t kAt = 0xc0;

  /// `core`: whose registers commands reach; nullptr: there is no space for commands.
  explicit VendorGateway(std::optional<CrashDumpSide> side, Core* core = nullptr) noexcept;

  /// Back to power-on: nobody holds anything, but for who never lets go.
  void reset() noexcept;
  /// A virtual function has none.
  [[nodiscard]] static bool is_there(bool virtual_function,
                                     std::optional<CrashDumpSide> side) noexcept {
    return !virtual_function && side != CrashDumpSide::Absent;
  }
  /// Its first dword, with `next` in the list.
  [[nodiscard]] static constexpr std::uint32_t header(std::uint32_t next) noexcept {
    constexpr unsigned kNextShift = 8;
    constexpr unsigned kLengthShift = 16;
    return PCI_CAP_ID_VNDR | next << kNextShift | prm::vsc::kBytes << kLengthShift;
  }

  /// `offset` from the capability's beginning, of one of the five registers behind its header. A
  /// read of the counter changes it.
  [[nodiscard]] std::uint32_t read(std::uint32_t offset) noexcept;
  void write(std::uint32_t offset, std::uint32_t value);
  /// Of one byte or two: iPXE stores the space and reads the status so (mlx_pci_gw_set_space).
  void write_part(std::uint32_t offset, std::uint32_t value, std::uint32_t bytes);
  [[nodiscard]] std::uint32_t read_part(std::uint32_t offset, std::uint32_t bytes) noexcept;

  /// What stands at an address of the space that is scanned.
  [[nodiscard]] static std::uint32_t word_at(std::uint32_t address) noexcept;

 private:
  [[nodiscard]] bool has_space(std::uint16_t space) const noexcept;
  void ask(std::uint32_t address) noexcept;
  void tell(std::uint32_t address);
  [[nodiscard]] std::uint32_t word(std::uint32_t address) noexcept;
  [[nodiscard]] std::uint32_t* semaphore(std::uint32_t address) noexcept;

  std::optional<CrashDumpSide> side_;
  std::uint32_t counter_ = 0;
  std::uint32_t semaphore_ = 0;
  std::uint32_t sw_reset_ = 0;        // the semaphore of resets
  std::uint32_t icmd_semaphore_ = 0;  // and that of commands
  std::uint16_t space_ = 0;
  bool says_size_ = false;  // since the space was chosen nothing was asked for
  std::uint32_t address_ = 0;
  std::uint32_t data_ = 0;
  std::optional<Icmd> icmd_;
};

}  // namespace portcullis::model
