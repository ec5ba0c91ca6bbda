// SPDX-License-Identifier: BSD-3-Clause
//
// The priority of a frame on the wire: that of its tag, or what its DSCP stands for, as the port
// trusts one or the other (qpts_reg).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/port_settings.hpp"

namespace portcullis::model {

/// `otherwise` is that of a frame in which nothing says so.
[[nodiscard]] std::uint8_t priority_of(std::span<const std::byte> frame, const PortSettings& port,
                                       std::uint8_t otherwise = 0) noexcept;

}  // namespace portcullis::model
