// SPDX-License-Identifier: BSD-3-Clause
//
// How a firmware command travels. The command queue of pmd/command_queue.hpp is one channel; DevX
// on a NIC that stays with its kernel driver will be another. Control path only.
//
// Success means one thing: the hardware gave the slot back with delivery status 0 and the output's
// status is 0. Whatever else happens is an Error: CommandFailed with the CommandFault when the
// device answered otherwise, Timeout when it did not answer (the slot and its memory stay in
// quarantine), DeviceFailed or DeviceGone when the function is known to be broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {

/// False when the device has not done what it was told and will not: it refused, or was never told.
/// Otherwise nobody knows.
[[nodiscard]] inline bool may_have_happened(const Error& error) noexcept {
  switch (error.code) {
    case Errc::Timeout:
    case Errc::Malformed:
    case Errc::DeviceFailed:
    case Errc::DeviceGone:
      return true;
    default:
      return error.command && error.command->delivery_status != 0;
  }
}

/// Which slots a command may take. Firmware pages and fences have their own, so that a revoke never
/// queues behind anything (design: the last slot for pages, three before it for fences).
enum class SlotClass : std::uint8_t { Common, Fence, Pages };

/// A command in flight. Every ticket must be awaited, and once: a slot is used again, and a channel
/// whose slots are few tells by the serial number that the command is another now.
struct Ticket {
  std::uint32_t slot = 0;
  std::uint32_t serial = 0;  // CommandQueue gives none of those whose low byte is 0
};

class CommandChannel {
 public:
  virtual ~CommandChannel() = default;

  /// Fills a slot, hands it to the device, rings. `in` is the whole input with its header, at least
  /// 16 bytes; `out_bytes` the output's length, at least 8 (status and syndrome; ENABLE_HCA's has
  /// 12). Busy when no slot of that class is free, InvalidArgument for lengths.
  [[nodiscard]] virtual Result<Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                              SlotClass slot_class) = 0;
  /// Waits until the device answers or `deadline_ns` (device clock) passes. Copies the output to
  /// `out`, also when status is not 0.
  [[nodiscard]] virtual Result<void> await(Ticket ticket, std::span<std::byte> out,
                                           std::uint64_t deadline_ns) = 0;
  /// Looks, without waiting, whether await() would return at once. A channel that cannot tell says
  /// so by true, and its await() waits.
  [[nodiscard]] virtual bool is_done(Ticket ticket) const noexcept {
    (void)ticket;
    return true;
  }
  /// now + the command deadline of this function (60 s, or what the device's registers say).
  [[nodiscard]] virtual std::uint64_t default_deadline_ns() const = 0;
  /// Between the two, what is sent takes something back and nobody has set a deadline: see
  /// UndoScope. They nest. A channel whose waits are somebody else's goes on as ever.
  virtual void begin_undoing() noexcept {}
  virtual void end_undoing() noexcept {}

  /// submit and await in one.
  [[nodiscard]] Result<void> execute(std::span<const std::byte> in, std::span<std::byte> out,
                                     SlotClass slot_class, std::uint64_t deadline_ns) {
    PORTCULLIS_TRY_ASSIGN(const Ticket ticket, submit(in, out.size(), slot_class));
    return await(ticket, out, deadline_ns);
  }
};

/// While one that is on lives, what is sent takes something back and nobody has set a deadline: the
/// default one comes soon, and a device that has gone silent is sent nothing
/// (pmd/undo_patience.hpp).
class UndoScope {
 public:
  explicit UndoScope(CommandChannel& channel, bool is_on = true) noexcept
      : channel_(is_on ? &channel : nullptr) {
    if (channel_ != nullptr) channel_->begin_undoing();
  }
  UndoScope(const UndoScope&) = delete;
  UndoScope& operator=(const UndoScope&) = delete;
  ~UndoScope() {
    if (channel_ != nullptr) channel_->end_undoing();
  }

 private:
  CommandChannel* channel_;
};

/// InvalidArgument that names the field whose value did not fit. Nothing was sent.
[[nodiscard]] tl::unexpected<Error> too_wide(std::string_view layout, std::string_view field);

/// Runs one command with fixed-size input and output; an input value too wide for its field is
/// InvalidArgument naming the field, and nothing is sent.
template <class Out, class In>
[[nodiscard]] Result<prm::Buffer<Out>> run(CommandChannel& channel, const prm::Buffer<In>& in,
                                           std::uint64_t deadline_ns,
                                           SlotClass slot_class = SlotClass::Common) {
  if (in.overflow() != nullptr) return too_wide(In::name.view(), in.overflow());
  prm::Buffer<Out> out;
  PORTCULLIS_TRY(channel.execute(in.all(), out.all(), slot_class, deadline_ns));
  return out;
}

template <class Out, class In>
[[nodiscard]] Result<prm::Buffer<Out>> run(CommandChannel& channel, const prm::Buffer<In>& in) {
  return run<Out>(channel, in, channel.default_deadline_ns());
}

}  // namespace portcullis::pmd
