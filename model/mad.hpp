// SPDX-License-Identifier: BSD-3-Clause
//
// The subnet management agent of an InfiniBand port: MAD_IFC hands it a datagram and takes its
// answer. It answers Get of NodeDescription, NodeInfo, GUIDInfo, PortInfo and P_KeyTable; anything
// else, Set included, comes back as not supported, because the subnet manager is the model's own.
#pragma once

#include <cstddef>
#include <span>

#include "model/port_settings.hpp"

namespace portcullis::model {

inline constexpr std::size_t kMadBytes = 256;

/// `answer` becomes the response to `request`.
void answer_mad(const PortSettings& port, std::span<const std::byte, kMadBytes> request,
                std::span<std::byte, kMadBytes> answer);

}  // namespace portcullis::model
