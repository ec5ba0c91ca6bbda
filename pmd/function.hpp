// SPDX-License-Identifier: BSD-3-Clause
//
// A function that is up, whoever brought it up: pmd::Hca did from its reset, devx::Function found
// it in its kernel driver's hands. What leases, benchmarks and programs ask of either; control path
// only, for the objects made on a function know its Context alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/events.hpp"
#include "prm/hca_commands.hpp"

namespace portcullis::pmd {

class Function {
 public:
  Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  virtual ~Function() = default;

  /// For the objects made on this function; all of them must be gone before it.
  [[nodiscard]] virtual const Context& context() const noexcept = 0;
  /// "16.35.4506".
  [[nodiscard]] virtual const std::string& firmware_version() const noexcept = 0;
  /// The board's PSID, such as "MT_0000000012"; empty when the device tells none.
  [[nodiscard]] virtual const std::string& board_id() const noexcept = 0;
  /// The ConnectX-5 in software says so in its PSID, behind a PCI slot too.
  [[nodiscard]] bool is_emulated() const noexcept { return board_id() == prm::kModelBoardId; }
  /// Of whoever brought it up; may be empty.
  [[nodiscard]] virtual const LogSink& log() const noexcept = 0;

  /// What the idle path calls: health and events. An error once the function is broken, and ever
  /// after.
  [[nodiscard]] virtual Result<void> poll() = 0;
  /// DeviceGone or DeviceFailed with the reason, once it has been found broken; looks at nothing.
  [[nodiscard]] virtual Result<void> condition() const = 0;
  /// The oldest event nobody has seen. Looks for new ones first.
  [[nodiscard]] virtual std::optional<Event> next_event() = 0;
  /// Below CommandQueue::kFenceSlots no new lease should be granted.
  [[nodiscard]] virtual std::uint32_t fence_slots_available() const noexcept = 0;
  /// Somebody has reset it, or taken it off the bus: from now on every command is answered at once,
  /// with an error. For who does so while objects are left that would each wait for their own.
  virtual void function_was_reset() = 0;
};

}  // namespace portcullis::pmd
