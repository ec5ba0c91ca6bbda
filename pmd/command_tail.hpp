// SPDX-License-Identifier: BSD-3-Clause
//
// Commands that end in a list of 64-bit addresses: pas[] of CREATE_CQ and CREATE_QP, the MTT list
// of CREATE_MKEY. The list follows the fixed part at once, big-endian.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "base/cells.hpp"
#include "pmd/command_channel.hpp"

namespace portcullis::pmd {

/// The whole input: `in`, then `tail`.
template <class In>
[[nodiscard]] std::vector<std::byte> with_tail(const prm::Buffer<In>& in,
                                               std::span<const std::uint64_t> tail) {
  std::vector<std::byte> bytes(In::bytes + tail.size_bytes());
  std::memcpy(bytes.data(), in.all().data(), In::bytes);
  std::byte* at = bytes.data() + In::bytes;
  for (const std::uint64_t address : tail) {
    const std::uint64_t raw = cells::be64(address);
    std::memcpy(at, &raw, sizeof raw);
    at += sizeof raw;
  }
  return bytes;
}

/// As pmd::run, with a list behind the fixed input.
template <class Out, class In>
[[nodiscard]] Result<prm::Buffer<Out>> run_with_tail(CommandChannel& channel,
                                                     const prm::Buffer<In>& in,
                                                     std::span<const std::uint64_t> tail,
                                                     std::uint64_t deadline_ns,
                                                     SlotClass slot_class = SlotClass::Common) {
  if (in.overflow() != nullptr) return too_wide(In::name.view(), in.overflow());
  prm::Buffer<Out> out;
  PORTCULLIS_TRY(channel.execute(with_tail(in, tail), out.all(), slot_class, deadline_ns));
  return out;
}

template <class Out, class In>
[[nodiscard]] Result<prm::Buffer<Out>> run_with_tail(CommandChannel& channel,
                                                     const prm::Buffer<In>& in,
                                                     std::span<const std::uint64_t> tail) {
  return run_with_tail<Out>(channel, in, tail, channel.default_deadline_ns());
}

}  // namespace portcullis::pmd
