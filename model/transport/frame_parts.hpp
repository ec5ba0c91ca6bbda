// SPDX-License-Identifier: BSD-3-Clause
//
// What the decoders of the two link layers share: everything from the BTH on is the same on both.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <tl/expected.hpp>

#include "model/transport/frame.hpp"

namespace portcullis::model {

/// `bytes` from the BTH to the end of the ICRC, whose value is not looked at.
[[nodiscard]] tl::expected<void, FrameFault> decode_transport(std::span<const std::byte> bytes,
                                                              Packet& packet) noexcept;

/// Where the BTH of an InfiniBand frame stands; nothing when the link header names no transport.
[[nodiscard]] std::optional<std::size_t> infiniband_bth_offset(
    std::span<const std::byte> frame) noexcept;

}  // namespace portcullis::model
