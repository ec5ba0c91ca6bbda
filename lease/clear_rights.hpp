// SPDX-License-Identifier: BSD-3-Clause
//
// RTS2RTS_QP without rights: the peer may neither write, read nor do atomics any more. A rung of
// the ladder for a QP that refuses 2ERR_QP; it promises nothing about DMA under way.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "pmd/command_channel.hpp"

namespace portcullis::lease {

/// Sends it in a fence slot. The device refuses when the QP is not in RTS.
[[nodiscard]] Result<void> clear_rights(pmd::CommandChannel& channel, std::uint32_t qpn,
                                        std::uint32_t pdn, std::uint64_t deadline_ns);

}  // namespace portcullis::lease
