// SPDX-License-Identifier: BSD-3-Clause
//
// An event queue, polled and never armed. An entry is the driver's when its owner bit equals the
// pass over the ring; the device must hear of the consumer index at least every 0x80 entries
// (MLX5_NUM_SPARE_EQE), or it takes the queue for full.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/events.hpp"
#include "pmd/object_handle.hpp"
#include "pmd/uar.hpp"

namespace portcullis::pmd {

class EventQueue {
 public:
  /// As MLX5_NUM_ASYNC_EQE of Linux.
  static constexpr std::uint32_t kDefaultLogEntries = 12;

  struct Options {
    std::uint32_t log_entries = kDefaultLogEntries;
    std::uint64_t event_mask = 0;  // bit n: event type n
  };

  /// CREATE_EQ with `uar` for its doorbell. `uar` must outlive the queue.
  [[nodiscard]] static Result<EventQueue> create(const Context& context, const Uar& uar,
                                                 const Options& options);
  EventQueue(EventQueue&&) noexcept = default;
  EventQueue& operator=(EventQueue&&) = delete;
  ~EventQueue();

  [[nodiscard]] std::uint8_t number() const noexcept {
    return static_cast<std::uint8_t>(handle_.id());
  }
  /// The next event, or none. Updates the consumer index when it must; call update_consumer_index
  /// when a burst ends.
  [[nodiscard]] std::optional<Event> poll() noexcept;
  /// Tells the device what has been consumed; nothing when nothing was.
  void update_consumer_index() noexcept;
  /// Events of unknown type so far.
  [[nodiscard]] std::uint64_t unknown_events() const noexcept { return unknown_events_; }
  /// DESTROY_EQ; the destructor does it too, without telling. Done twice is done.
  [[nodiscard]] Result<void> destroy();

 private:
  EventQueue(ObjectHandle handle, const Uar& uar, DmaBuffer ring,
             std::uint32_t log_entries) noexcept;

  void write_doorbell() noexcept;

  DmaBuffer ring_;
  ObjectHandle handle_;
  std::byte* doorbell_;
  std::uint32_t log_entries_;
  std::uint32_t consumer_index_ = 0;
  std::uint32_t announced_index_ = 0;
  std::uint64_t unknown_events_ = 0;
};

}  // namespace portcullis::pmd
