// SPDX-License-Identifier: BSD-3-Clause
//
// Where a bridge has heard addresses, without VLANs. An entry is old after the time that Linux's
// bridge takes unless told otherwise (BR_DEFAULT_AGEING_TIME of linux/if_bridge.h: 300 s). A full
// table forgets its oldest entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>

#include "base/clock.hpp"
#include "model/port_settings.hpp"

namespace portcullis::model {

class MacTable {
 public:
  static constexpr std::uint64_t kAgeingNs = 300 * kNsPerSecond;
  static constexpr std::size_t kMost = 4096;

  /// A frame from `address` came in by `port`. A group's address is nobody's.
  void learn(const Mac& address, std::size_t port, std::uint64_t now_ns) {
    if ((address[0] & 1) != 0) return;
    if (entries_.size() == kMost && !entries_.contains(address)) forget_oldest();
    entries_[address] = {port, now_ns};
  }
  /// Nothing: it was not heard, or long ago.
  [[nodiscard]] std::optional<std::size_t> find(const Mac& address,
                                                std::uint64_t now_ns) const noexcept {
    const auto found = entries_.find(address);
    if (found == entries_.end() || now_ns - found->second.heard_ns >= kAgeingNs)
      return std::nullopt;
    return found->second.port;
  }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::size_t port = 0;
    std::uint64_t heard_ns = 0;
  };
  void forget_oldest() {
    auto oldest = entries_.begin();
    for (auto each = entries_.begin(); each != entries_.end(); ++each)
      if (each->second.heard_ns < oldest->second.heard_ns) oldest = each;
    entries_.erase(oldest);
  }

  std::map<Mac, Entry> entries_;
};

/// The address that stands at `at` in a frame that has it.
[[nodiscard]] inline Mac mac_at(std::span<const std::byte> frame, std::size_t at) noexcept {
  Mac address;
  std::memcpy(address.data(), &frame[at], address.size());
  return address;
}

}  // namespace portcullis::model
