// SPDX-License-Identifier: BSD-3-Clause
//
// What a port speaks: Ethernet with RoCEv2, or InfiniBand. cmd_hca_cap.port_type says it to a
// driver, and the link layer of every frame follows from it.
#pragma once

#include <cstdint>

namespace portcullis::model {

enum class PortType : std::uint8_t { Ethernet, InfiniBand };

}  // namespace portcullis::model
