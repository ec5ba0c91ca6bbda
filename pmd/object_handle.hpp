// SPDX-License-Identifier: BSD-3-Clause
//
// One firmware object's id and the command that takes it back. Everything with an id has one of
// these and gets its moves and its undoing from it.
//
// A destroy that failed is reported to whoever asked and may be asked for again, but the destructor
// does not try a second time: on a dead device every object would wait for its own deadline.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/result.hpp"
#include "pmd/command_channel.hpp"

namespace portcullis::pmd {

class ObjectHandle {
 public:
  using Destroy = Result<void> (*)(CommandChannel& channel, std::uint32_t id,
                                   std::uint64_t deadline_ns);

  ObjectHandle() = default;
  ObjectHandle(CommandChannel& channel, std::uint32_t id, Destroy destroy) noexcept
      : channel_(&channel), destroy_(destroy), id_(id) {}
  ObjectHandle(ObjectHandle&& other) noexcept
      : channel_(std::exchange(other.channel_, nullptr)),
        destroy_(other.destroy_),
        id_(other.id_),
        refused_(other.refused_) {}
  ObjectHandle& operator=(ObjectHandle&& other) noexcept {
    if (this != &other) {
      if (is_live() && !refused_) (void)destroy();
      channel_ = std::exchange(other.channel_, nullptr);
      destroy_ = other.destroy_;
      id_ = other.id_;
      refused_ = other.refused_;
    }
    return *this;
  }
  ~ObjectHandle() {
    if (is_live() && !refused_) (void)destroy();
  }

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  /// The device holds the object and this handle is the one to destroy it.
  [[nodiscard]] bool is_live() const noexcept { return channel_ != nullptr; }
  /// A destroy failed: the device may hold the object for ever.
  [[nodiscard]] bool is_refused() const noexcept { return refused_; }

  /// Sends the command, with `deadline_ns` (device clock) or as an UndoScope has it; done twice is
  /// done.
  [[nodiscard]] Result<void> destroy(std::optional<std::uint64_t> deadline_ns = std::nullopt) {
    if (!is_live()) return {};
    if (deadline_ns) return destroy_by(*deadline_ns);
    const UndoScope undoing(*channel_);
    return destroy_by(channel_->default_deadline_ns());
  }
  /// The destructor does not try: the device does not answer.
  void give_up() noexcept { refused_ = true; }
  /// The id; from here on somebody else destroys the object.
  std::uint32_t release() noexcept {
    channel_ = nullptr;
    return id_;
  }

 private:
  [[nodiscard]] Result<void> destroy_by(std::uint64_t deadline_ns) {
    auto done = destroy_(*channel_, id_, deadline_ns);
    refused_ = !done.has_value();
    if (done) channel_ = nullptr;
    return done;
  }

  CommandChannel* channel_ = nullptr;
  Destroy destroy_ = nullptr;
  std::uint32_t id_ = 0;
  bool refused_ = false;
};

}  // namespace portcullis::pmd
