// SPDX-License-Identifier: BSD-3-Clause
//
// A command channel that times what goes through it: from before the slot is filled until the
// output is decoded. Stands between the objects of pmd and the command queue, so that each command
// is measured with the very bytes the driver sends.
#pragma once

#include <cstdint>
#include <optional>

#include "base/device.hpp"
#include "pmd/passing_channel.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::bench {

class TimedChannel final : public pmd::PassingChannel {
 public:
  /// Both must outlive it. Times commands with `opcode` only.
  TimedChannel(pmd::CommandChannel& inner, const Device& device, prm::Opcode opcode) noexcept
      : PassingChannel(inner), device_(&device), opcode_(opcode) {}

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override;
  [[nodiscard]] Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override;

  /// The time of the last such command, once.
  [[nodiscard]] std::optional<std::uint64_t> take() noexcept;

 private:
  const Device* device_;
  prm::Opcode opcode_;
  std::optional<std::uint64_t> started_ns_;
  std::optional<std::uint64_t> took_ns_;
};

}  // namespace portcullis::bench
