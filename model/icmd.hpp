// SPDX-License-Identifier: BSD-3-Clause
//
// The tools' command interface of a physical function (prm/icmd.hpp): what stands in its space, and
// the one command that it knows, a register's access. It works before any driver has come, which
// is why iPXE sets the link's speed by it (golan_set_link_speed of golan.c).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "prm/icmd.hpp"

namespace portcullis::model {

class Core;

class Icmd {
 public:
  explicit Icmd(Core& core) noexcept : core_(core) {}

  void reset() noexcept;
  [[nodiscard]] std::uint32_t read(std::uint32_t address) const noexcept;
  /// A store of the busy bit runs the command, which has ended when this returns.
  void write(std::uint32_t address, std::uint32_t value);

 private:
  [[nodiscard]] prm::IcmdStatus run(std::uint16_t opcode);
  [[nodiscard]] prm::EmadStatus access_register();
  [[nodiscard]] std::uint32_t word(std::size_t at) const noexcept;
  void put_word(std::size_t at, std::uint32_t value) noexcept;

  Core& core_;
  std::uint32_t control_ = 0;
  std::array<std::byte, prm::icmd::kMailboxBytes> mailbox_{};  // words in big-endian order
};

}  // namespace portcullis::model
