// SPDX-License-Identifier: BSD-3-Clause
//
// RTS2RTS_QP without rights: the peer may neither write, read nor do atomics any more. The first
// step of plan access-flags, and a rung of the ladder for a QP that refuses 2ERR_QP; it promises
// nothing about DMA under way.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "pmd/command_channel.hpp"

namespace portcullis::lease {

/// Hands it to the device; 16 bytes of output. The device refuses when the QP is not in RTS.
[[nodiscard]] Result<pmd::Ticket> submit_clear_rights(pmd::CommandChannel& channel,
                                                      std::uint32_t qpn, std::uint32_t pdn,
                                                      pmd::SlotClass slot_class);

}  // namespace portcullis::lease
