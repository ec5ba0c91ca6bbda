// SPDX-License-Identifier: BSD-3-Clause
//
// Who hears of a fence's key step at the two instants that matter to an audit: before the device is
// told, and when the device has answered that the key is gone, before the driver does anything
// else. By the outcome more has happened, and what was written in between would look as if it had
// always been there. Stands between the lease code and the command queue or the UMR queue.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "lease/key_freer.hpp"
#include "pmd/passing_channel.hpp"

namespace portcullis::proof {

/// Each hears the key's index. Both may be empty.
struct KeyEvents {
  std::function<void(prm::MkeyIndex index)> on_step = {};
  std::function<void(prm::MkeyIndex index)> on_gone = {};
};

class KeyTapChannel final : public pmd::PassingChannel {
 public:
  /// Both must outlive it. Hears of the DESTROY_MKEY of fences, and of no other.
  KeyTapChannel(pmd::CommandChannel& inner, const KeyEvents& events) noexcept
      : PassingChannel(inner), events_(&events) {}

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override;
  [[nodiscard]] Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override;

 private:
  const KeyEvents* events_;
  std::unordered_map<std::uint32_t, prm::MkeyIndex> keys_;  // that a slot takes away
};

class KeyTapFreer final : public lease::KeyFreer {
 public:
  /// Both must outlive it.
  KeyTapFreer(lease::KeyFreer& inner, const KeyEvents& events) noexcept
      : inner_(&inner), events_(&events) {}

  [[nodiscard]] Result<void> free_key(prm::Rkey key, std::uint64_t deadline_ns) override;

 private:
  lease::KeyFreer* inner_;
  const KeyEvents* events_;
};

}  // namespace portcullis::proof
